import dataclasses

import numpy as np
import pytest
import torch

from empirical import checkpoints, measurement
from empirical.datasets import load
from empirical.models import NetworkConfig, build
from empirical.training import RECIPES, TrainingConfig, accuracy, calibrate, check, train
from theory import ArgumentError

SHORT = dataclasses.replace(RECIPES["micro"], epochs=2)


@pytest.fixture(scope="module")
def short():
    return train(SHORT)


def test_training_is_repeatable_and_the_seed_matters(short):
    again, other = train(SHORT), train(dataclasses.replace(SHORT, seed=1))
    for name, tensor in short.network.state_dict().items():
        assert torch.equal(tensor, again.network.state_dict()[name])
    assert not torch.equal(short.network.head.weight, other.network.head.weight)
    assert short.test_accuracy > 0.8


def test_history_starts_before_training_and_is_finite(short):
    assert list(short.history.epoch) == [0, 1, 2]
    assert np.isfinite(short.history.loss).all()
    assert float(short.history.loss[-1]) < float(short.history.loss[0])


def test_nobody_elses_random_numbers_are_drawn():
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    train(dataclasses.replace(SHORT, epochs=0))
    assert torch.equal(torch.rand(3), expected)


def test_weight_decay_on_matrices_spares_vectors():
    decayed = {"weight_decay": 0.5, "learning_rate": 0.01, "epochs": 1}
    spared = train(dataclasses.replace(SHORT, decayed="matrices", **decayed)).network
    everything = train(dataclasses.replace(SHORT, **decayed)).network
    scales = [network.blocks[0].norm1.weight.detach().mean() for network in (spared, everything)]
    assert scales[0] > scales[1]


def test_divergence_stops_keeps_the_last_good_state_and_is_refused_by_measuring(tmp_path):
    wild = dataclasses.replace(RECIPES["prequick"], learning_rate=1e6, epochs=3)
    result = train(wild)
    assert result.diverged
    assert result.history.sizes["epoch"] < 4
    assert all(bool(torch.isfinite(tensor).all()) for tensor in result.network.state_dict().values())
    checkpoints.save_training(tmp_path / "wild", wild, result, device="cpu")
    from empirical.measure import main

    with pytest.raises(ArgumentError, match="diverged, so a verdict on alignment is refused"):
        main([str(tmp_path / "wild")])
    assert not (tmp_path / "wild" / "measurement").exists()


def test_calibration_makes_the_statistics_those_of_the_data():
    split = load()
    network = build(NetworkConfig(depth=1), 64, 10, seed=0)
    calibrate(network, split.train_inputs)
    linear, norm = network.stem[0], network.stem[1]
    preactivation = linear(split.train_inputs)
    torch.testing.assert_close(norm.running_mean, preactivation.mean(0), atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(norm.running_var, preactivation.var(0), atol=1e-4, rtol=1e-4)
    assert norm.momentum == 0.1
    assert not network.training


def test_accuracy_restores_each_modules_own_mode():
    split = load()
    network = build(NetworkConfig(depth=1), 64, 10, seed=0).train()
    network.stem.eval()
    before = network.state_dict()["stem.1.running_mean"].clone()
    accuracy(network, split.test_inputs, split.test_labels)
    assert network.training
    assert not network.stem.training
    assert torch.equal(network.state_dict()["stem.1.running_mean"], before)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"weight_decay": -1.0}, "weight_decay = -1.0"),
        ({"learning_rate": 0.0}, "learning_rate = 0.0"),
        ({"learning_rate": float("nan")}, "learning_rate = nan"),
        ({"momentum": 1.0}, "momentum = 1.0"),
        ({"epochs": -1}, "epochs = -1"),
        ({"batch": 1}, "batch = 1"),
        ({"seed": -1}, "seed = -1"),
        ({"data": "mnist"}, "data = mnist"),
        ({"decayed": "some"}, "decayed = some"),
        ({"network": NetworkConfig(depth=0)}, "depth = 0"),
        ({"network": NetworkConfig(width=0)}, "width = 0"),
        ({"batch": 2000}, "batch = 2000: must be at most the 1437"),
    ],
)
def test_settings_that_cannot_be_trained_are_named(change, message):
    with pytest.raises(ArgumentError, match=message):
        train(dataclasses.replace(SHORT, **change))


def test_runs_round_trip(short, tmp_path):
    folder = checkpoints.save_training(tmp_path / "run", SHORT, short, device="cpu")
    config, loaded = checkpoints.load_training(folder)
    assert config == SHORT
    assert loaded.test_accuracy == short.test_accuracy
    inputs = load().test_inputs
    assert torch.equal(loaded.network(inputs), short.network(inputs))


def test_wrappers_prefixes_are_stripped_at_the_start_of_names_only():
    assert checkpoints._plain("module._orig_mod.blocks.0.weight") == "blocks.0.weight"
    assert checkpoints._plain("_orig_mod.encoder.module.weight") == "encoder.module.weight"


def test_weights_that_do_not_fit_are_refused(short, tmp_path):
    other = dataclasses.replace(SHORT, network=NetworkConfig(width=32))
    folder = checkpoints.save_training(tmp_path / "run", other, short, device="cpu")
    with pytest.raises(ArgumentError, match="do not fit the configuration"):
        checkpoints.load_training(folder)


def test_every_recipe_is_valid():
    for config in RECIPES.values():
        check(config)
    assert RECIPES["quick"] == TrainingConfig()


def test_measuring_is_repeatable_leaves_predictions_alone_and_needs_no_labels(short):
    inputs = load().test_inputs[:4]
    before = short.network(inputs)
    first, second = (measurement.measure(short.network, inputs) for _ in range(2))
    assert torch.equal(short.network(inputs), before)
    assert first.identical(second)
    assert first.attrs["classes"] == 10
    assert all(np.isfinite(first[name]).all() for name in first.data_vars)
    again = measurement.measure(short.network, inputs, seed=1)
    np.testing.assert_array_equal(first.straightness, again.straightness)
    assert not np.array_equal(first.straightness_null, again.straightness_null)


@pytest.mark.slow
def test_quick_recipe_shows_residual_alignment_on_unseen_seeds():
    inputs = load().test_inputs[:32]
    for seed in (101, 102):
        trained = train(dataclasses.replace(RECIPES["quick"], seed=seed))
        table = {m.name: m.value for m in measurement.summarise(measurement.measure(trained.network, inputs))}
        assert trained.test_accuracy > 0.95
        assert table["RA1 straightness"] > 0.95
        assert table["RA2 diagonal energy fraction, i != j"] > 0.6
        assert 0.8 < table["RA4 slope of 1/s_1"] < 1.2
        assert table["path law, distance to rank-one, P7"] < 0.15
