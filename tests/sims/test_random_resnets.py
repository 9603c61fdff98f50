import itertools
import json
import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from sims import random_resnets, records, resnet_schemes, scheme_laws
from sims.random_resnets import RandomResnetsConfig, measure, verdict
from sims.resnet_schemes import Ensemble
from tests import naive, strategies, tolerances
from theory import ArgumentError, depth_law


@given(seed=strategies.seeds, depth=st.integers(1, 5), width=st.integers(1, 4))
def test_the_polynomial_pass_is_the_sum_over_paths(seed, depth, width):
    rng = strategies.generator(seed)
    matrices, start = rng.standard_normal((depth, width, width)), rng.standard_normal(width)
    branches = [lambda state, w=w: state @ w.T for w in torch.from_numpy(matrices)]
    got = resnet_schemes.polynomial_pass(torch.from_numpy(start)[None], branches)[0].numpy()
    walked = naive.path_coefficients(matrices, np.ones((depth, width)), start)
    np.testing.assert_allclose(got, walked, rtol=0, atol=tolerances.SUBSETS_RELATIVE * np.abs(walked).max() * width**5)


CASES = {
    "independent": RandomResnetsConfig("independent", width=32, gain=1.3),
    "independent, drawn gates": RandomResnetsConfig("independent", gates=0.6, width=32, gain=1.3),
    "independent, averaged gates": RandomResnetsConfig("independent", gates=0.6, average_gates=True, width=32),
    "tied": RandomResnetsConfig("tied", gain=0.8),
    "tied, drawn gates": RandomResnetsConfig("tied", gates=0.6, gain=1.3),
    "tuple": RandomResnetsConfig("tuple", gates=0.5, average_gates=True, gain=2.0, networks=3000),
    "path": RandomResnetsConfig("path", gain=1.2, networks=3000),
    "path, drawn gates": RandomResnetsConfig("path", gates=0.6, gain=1.2, networks=3000),
    "latin": RandomResnetsConfig("latin", gates=0.7, average_gates=True, networks=50),
    "placed, Lambda << n": RandomResnetsConfig("placed", unique=4, networks=1000),
    "placed, Lambda = n": RandomResnetsConfig("placed", unique=64, networks=1000),
    "placed, Lambda >> n": RandomResnetsConfig("placed", unique=4096, networks=1000),
}
PRINTED = {"tied", "tuple"}


@pytest.fixture(scope="module")
def measured():
    return {name: measure(config) for name, config in CASES.items()}


@pytest.mark.parametrize("name", CASES)
def test_each_scheme_has_its_law_and_only_coherent_ones_the_printed_one(measured, name):
    # Section 8, statement 6: eps_r^2 as printed is the coherent law, not that of independent weights.
    dataset = measured[name]
    assert np.abs(dataset["z"].sel(law="scheme")).max() < tolerances.STANDARD_ERRORS
    assert verdict(dataset)["scheme_law"]
    assert verdict(dataset)["printed"] == (name in PRINTED)


def test_no_beta_makes_independent_weights_printed(measured):
    for name in ("independent", "path", "placed, Lambda >> n"):
        found = verdict(measured[name])
        assert found["printed_at_best_beta_max_z"] > found["threshold"]
    found = verdict(measured["tied"])
    assert found["printed_at_best_beta_max_z"] < found["threshold"]


def test_shared_weights_make_one_variable_of_all_lengths(measured):
    # Section 8, statement 5: exact A3 makes A1 maximally false.
    np.testing.assert_allclose(
        np.abs(measured["latin"]["correlation"]), 1, rtol=0, atol=tolerances.PROPAGATION_RELATIVE
    )
    shares = measured["latin"]["share"]
    law = measured["latin"]["predicted"].sel(law="scheme")
    np.testing.assert_allclose(shares, law, rtol=tolerances.LATIN_SHARE_RELATIVE)
    for name, correlated in (("placed, Lambda << n", True), ("tied", False), ("tuple", False), ("independent", False)):
        assert verdict(measured[name])["lengths_uncorrelated"] != correlated


def test_the_energy_itself_is_the_laws_not_only_its_shape(measured):
    for name, factor in (("independent", 1.0), ("tied", 1.0), ("tuple", 1.0), ("path", 1.0)):
        config = CASES[name]
        drawn = random_resnets.ensemble(config)
        law = scheme_laws.energies(config.scheme, drawn, np.ones(1)) * factor
        z = (measured[name]["energy"] - law) / measured[name]["energy_standard_error"]
        assert np.abs(z).max() < tolerances.STANDARD_ERRORS


@given(p=st.integers(2, 7), rho=st.floats(0.1, 1), gain=st.floats(0.1, 3))
def test_tied_law_is_the_sum_over_pairs_of_patterns(p, rho, gain):
    drawn = scheme_laws.energies("tied", Ensemble(p, 8, 4, gain, rho, False), np.ones(1))
    averaged = scheme_laws.energies("tied", Ensemble(p, 8, 4, gain, rho, True), np.ones(1))
    for r in range(1, p + 1):
        patterns = list(itertools.combinations(range(p - 1), r - 1))
        pairs = sum(
            rho ** (2 * r - 1 - sum(a == b for a, b in zip(one, other, strict=True)))
            for one in patterns
            for other in patterns
        )
        assert drawn[r - 1] == pytest.approx(pairs * gain ** (2 * r), rel=tolerances.MOMENT_RELATIVE)
    np.testing.assert_allclose(
        averaged / averaged.sum(), depth_law.energy(p, rho * gain), rtol=tolerances.MOMENT_RELATIVE
    )


@given(seed=strategies.seeds, p=st.integers(2, 6))
def test_placed_law_has_the_coherent_and_the_incoherent_end(seed, p):
    rng = strategies.generator(seed)
    r = np.arange(1, p + 1)
    patterns = np.array([math.comb(p - 1, k) for k in range(p)])
    one = scheme_laws.energies("placed", Ensemble(p, 16, 1, 1.0, 1.0, True), np.full(1, 1 / 16))
    np.testing.assert_allclose(one / one.sum(), depth_law.energy(p, 1.0), rtol=tolerances.MOMENT_RELATIVE)
    centred = rng.standard_normal(50)
    centred -= centred.mean()
    many = scheme_laws.energies("placed", Ensemble(p, 16, 50, 1.0, 1.0, True), centred)
    expected = patterns * (16 * centred.var()) ** r
    np.testing.assert_allclose(many / many.sum(), expected / expected.sum(), rtol=tolerances.MOMENT_RELATIVE)


def test_one_tied_matrix_has_its_law_up_to_the_fourth_power_of_length_over_width_squared():
    # A bias of r^2 / n might be expected; that of a narrow network is seen, and shrinks fourfold where n doubles.
    biases = []
    for width in (8, 16):
        config = RandomResnetsConfig("tied", width=width, networks=20_000)
        dataset, drawn = measure(config), random_resnets.ensemble(config)
        law = scheme_laws.energies("tied", drawn, np.ones(1))
        bias, spread = dataset["energy"] / law - 1, dataset["energy_standard_error"] / law
        allowed = scheme_laws.finite_width_error("tied", drawn)
        assert (bias < allowed + tolerances.STANDARD_ERRORS * spread).all()
        assert float(bias[-1]) > 10 * float(spread[-1])
        biases.append(float(bias[-1]))
        assert verdict(dataset)["scheme_law"]
    assert 3 < biases[0] / biases[1] < 6


def test_lambda_equal_to_one_is_the_printed_law_of_one_variable():
    dataset = measure(RandomResnetsConfig("placed", unique=1, networks=20))
    np.testing.assert_allclose(dataset["share"], depth_law.energy(6, 1.0), rtol=tolerances.PROPAGATION_RELATIVE)
    assert not verdict(dataset)["printed"]
    assert not verdict(dataset)["lengths_uncorrelated"]


def test_the_same_seed_gives_the_same_networks():
    first, again, other = (
        measure(RandomResnetsConfig("independent", width=4, networks=10, seed=seed)) for seed in (3, 3, 4)
    )
    assert first.identical(again)
    assert not first.identical(other)


def test_the_command_saves_a_run_and_a_picture_and_fails_with_its_law(run_main, tmp_path, monkeypatch):
    options = ("--scheme", "tied", "--width", 16, "--networks", 200, "--json")
    code, printed = run_main(random_resnets.main, *options, "--out", tmp_path / "r", "--plot", tmp_path / "f.svg")
    assert code == 0
    assert json.loads(printed)["verdict"]["scheme_law"]
    assert records.load(tmp_path / "r", "random_resnets").dataset.sizes["r"] == 6
    assert b"<svg" in (tmp_path / "f.svg").read_bytes()
    monkeypatch.setattr(scheme_laws, "energies", lambda *_: np.arange(1.0, 7.0))
    assert run_main(random_resnets.main, *options)[0] == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--scheme", "dense"], "scheme = dense: must be one of"),
        (["--gates", "0"], "gates = 0.0: must be a finite number greater than 0"),
        (["--gates", "1.5"], "gates = 1.5: is a probability"),
        (["--scheme", "latin", "--gates", "0.5"], "gates = 0.5: .*--average-gates"),
        (["--scheme", "latin", "--unique", "5"], "unique = 5: must divide the width 64"),
        (["--scheme", "path", "--width", "64"], "width = 64: needs .* inputs"),
        (["--scheme", "tuple", "--unique", "64"], "unique = 64: needs .* inputs"),
        (["--p", "1"], "p = 1: must be a whole number between 2 and 64"),
        (["--networks", "1"], "networks = 1"),
        (["--gain", "-1"], "gain = -1.0"),
    ],
)
def test_bad_options_are_named_in_one_line(options, message):
    with pytest.raises(ArgumentError, match=message) as error:
        random_resnets.main(options)
    assert "\n" not in str(error.value)
