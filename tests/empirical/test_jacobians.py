import copy

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from empirical import ResidualBlock, datasets
from empirical.blocks import blocks_of
from empirical.jacobians import linearise, representation
from empirical.models import NetworkConfig, build
from empirical.training import calibrate
from tests import tolerances
from theory import ArgumentError

configs = st.builds(
    NetworkConfig,
    width=st.integers(1, 12),
    depth=st.integers(1, 4),
    activation=st.sampled_from(["post", "pre"]),
    skip=st.booleans(),
)


def calibrated(config: NetworkConfig, seed: int, features: int = 5):
    network = build(config, features, 3, seed=seed)
    inputs = torch.randn(40, features, generator=torch.Generator().manual_seed(seed))
    calibrate(network, inputs)
    return network, inputs


def whole_block_jacobian(block, h):
    return torch.func.vmap(torch.func.jacrev(lambda x: block(x[None])[0]))(h)


@given(configs, st.integers(0, 1000))
@settings(max_examples=30)
def test_closed_forms_equal_autograd_of_the_whole_block(config, seed):
    network, inputs = calibrated(config, seed)
    lin = linearise(network.blocks, representation(network.stem, inputs[:3]))
    exact = copy.deepcopy(network).double().eval()
    h = exact.stem(inputs[:3].double())
    for i, block in enumerate(exact.blocks):
        whole = whole_block_jacobian(block, h).detach().numpy()
        skip = lin.skips[:, i, :, None] * np.eye(config.width)
        np.testing.assert_allclose(lin.jacobians[:, i] + skip, whole, atol=tolerances.JACOBIAN_ABSOLUTE)
        np.testing.assert_allclose(lin.points[:, i], h.detach().numpy(), atol=tolerances.JACOBIAN_ABSOLUTE)
        h = block(h)


@given(configs, st.integers(0, 1000))
@settings(max_examples=20)
def test_the_general_route_equals_the_closed_form(config, seed):
    network, inputs = calibrated(config, seed)
    h = representation(network.stem, inputs[:3])
    closed = linearise(network.blocks, h)
    general = linearise([ResidualBlock(b.branch, b.gate, b.skip) for b in network.blocks], h)
    for name in ("points", "jacobians", "skips"):
        np.testing.assert_allclose(getattr(general, name), getattr(closed, name), atol=tolerances.JACOBIAN_ABSOLUTE)


def test_measuring_leaves_the_network_untouched():
    network, inputs = calibrated(NetworkConfig(width=6, depth=3), 0)
    network.train()
    before = {name: tensor.clone() for name, tensor in network.state_dict().items()}
    linearise(network.blocks, representation(network.stem, inputs))
    assert all(module.training for module in network.modules())
    for name, tensor in network.state_dict().items():
        assert tensor.dtype == before[name].dtype
        assert torch.equal(tensor, before[name])


def test_an_in_place_activation_neither_crashes_nor_writes_on_the_stream():
    torch.manual_seed(0)
    plain = nn.Sequential(nn.ReLU(), nn.Linear(5, 5), nn.LeakyReLU(0.2))
    in_place = nn.Sequential(nn.ReLU(inplace=True), plain[1], nn.LeakyReLU(0.2, inplace=True))
    h = torch.randn(4, 5)
    kept = h.clone()
    results = [
        linearise([ResidualBlock(branch, nn.ReLU(inplace=flag))], h)
        for branch, flag in ((plain, False), (in_place, True))
    ]
    assert torch.equal(h, kept)
    np.testing.assert_array_equal(results[0].jacobians, results[1].jacobians)
    np.testing.assert_array_equal(results[0].points, results[1].points)


def test_training_mode_batchnorm_in_a_branch_is_measured_in_evaluation_mode_and_stays_bit_identical():
    branch = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4)).train()
    before = copy.deepcopy(branch.state_dict())
    linearise([ResidualBlock(branch)], torch.randn(3, 4))
    assert branch[1].training
    assert all(torch.equal(branch.state_dict()[name], tensor) for name, tensor in before.items())


def test_a_vanishing_branch_has_a_zero_jacobian():
    branch = nn.Linear(3, 3)
    nn.init.zeros_(branch.weight)
    lin = linearise([ResidualBlock(branch)], torch.randn(2, 3))
    np.testing.assert_array_equal(lin.jacobians, 0)
    np.testing.assert_array_equal(lin.skips, 1)


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_a_weight_that_is_not_finite_is_named(bad):
    network, inputs = calibrated(NetworkConfig(width=4, depth=3), 0)
    h = representation(network.stem, inputs)
    with torch.no_grad():
        network.blocks[1].linear2.weight[0, 0] = bad
    with pytest.raises(ArgumentError, match=r"block 2: linear2\.weight = .*not finite"):
        linearise(network.blocks, h)


def test_inputs_that_are_not_finite_or_not_normalised_are_named():
    network, inputs = calibrated(NetworkConfig(width=4, depth=2), 0)
    broken = inputs.clone()
    broken[0, 0] = float("nan")
    with pytest.raises(ArgumentError, match=r"inputs = nan: .*not finite"):
        representation(network.stem, broken)
    with pytest.raises(ArgumentError, match="normalise"):
        linearise(network.blocks, torch.full((2, 4), 1e6))


def test_bad_shapes_are_named():
    with pytest.raises(ArgumentError, match="at least one residual block"):
        linearise([], torch.zeros(1, 2))
    with pytest.raises(ArgumentError, match=r"h = \(3,\)"):
        linearise([ResidualBlock(nn.Linear(3, 3))], torch.zeros(3))
    with pytest.raises(ArgumentError, match=r"block 1 = .*keep the shape"):
        linearise([ResidualBlock(nn.Linear(3, 4))], torch.zeros(2, 3))


def test_jacobians_that_would_not_fit_are_refused_before_they_are_made():
    with pytest.raises(ArgumentError, match="GiB"):
        linearise([ResidualBlock(nn.Identity())], torch.zeros(1, 30_000))


def test_a_network_without_blocks_lists_what_was_seen():
    with pytest.raises(ArgumentError, match="Linear, ReLU, Sequential"):
        blocks_of(nn.Sequential(nn.Linear(2, 2), nn.ReLU()))


def test_digits_are_embedded_and_split_without_overlap():
    split = datasets.load("digits")
    assert split.train_inputs.shape == (1437, 64)
    assert split.test_inputs.shape == (360, 64)
    assert split.classes == 10
    assert float(split.train_inputs.mean()) == pytest.approx(0, abs=1e-5)
    assert float(split.train_inputs.std()) == pytest.approx(1, abs=1e-3)
    with pytest.raises(ArgumentError, match="data = cifar11: must be one of digits"):
        datasets.load("cifar11")
