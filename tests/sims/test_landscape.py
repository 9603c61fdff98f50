import json
import math

import numpy as np
import pytest

from sims import critical_points, landscape, records
from sims.landscape import LandscapeConfig, count, verdict
from tests import tolerances
from theory import ArgumentError
from theory.mixtures import trivial_threshold

# Seeds are the defaults; nothing was chosen by its outcome. R is on both sides of 1.
CASES = {
    "pure 3, N = 2": LandscapeConfig(n=2, instances=1000),
    "pure 4, N = 2": LandscapeConfig(p=4, n=2, instances=1000),
    "ResNet 0.1, N = 2": LandscapeConfig(p=10, beta=0.1, n=2, instances=1000),
    "ResNet 2, N = 2": LandscapeConfig(p=10, beta=2.0, n=2, instances=500),
    "pure 3, N = 3": LandscapeConfig(n=3, instances=200),
    "pure 4, N = 3": LandscapeConfig(p=4, n=3, instances=80),
    "ResNet 0.1, N = 3": LandscapeConfig(p=10, beta=0.1, n=3, instances=50),
    "independent 0.2, N = 3": LandscapeConfig(p=10, beta=0.2, law="independent", n=3, instances=50),
    "pure 3, N = 4": LandscapeConfig(n=4, instances=60),
}
TRIVIAL = {"ResNet 0.1, N = 2", "ResNet 0.1, N = 3", "independent 0.2, N = 3"}


@pytest.fixture(scope="module")
def counted():
    return {name: count(config) for name, config in CASES.items()}


@pytest.mark.parametrize("name", CASES)
def test_counts_by_index_are_those_of_kac_rice(counted, name):
    dataset = counted[name]
    assert abs(dataset["z"]).max() < tolerances.STANDARD_ERRORS
    assert abs(dataset.attrs["total_z"]) < tolerances.STANDARD_ERRORS
    assert dataset["complete"].all()
    assert verdict(dataset)["agrees"]
    assert (dataset.attrs["R"] < 1) == (name in TRIVIAL)
    assert (dataset.attrs["regime"] == "trivial") == (name in TRIVIAL)


@pytest.mark.parametrize("name", CASES)
def test_morse_and_euler_hold_in_every_instance(counted, name):
    dataset = counted[name]
    counts, n = dataset["counts"].values, dataset.attrs["n"]
    signs = (-1) ** np.arange(n)
    assert (counts @ signs == (2 if n % 2 else 0)).all()
    assert (dataset["euler_sum"] == dataset.attrs["euler_characteristic"]).all()
    # Weak Morse inequalities on a sphere, and the strong ones: partial alternating sums.
    assert (counts[:, 0] >= 1).all()
    assert (counts[:, -1] >= 1).all()
    for k in range(1, n - 1):
        partial = (counts[:, : k + 1] @ signs[: k + 1]) * (-1) ** k
        assert (partial >= (-1) ** k).all()


def test_pure_odd_models_have_antipodes_of_opposite_index(counted):
    for name in ("pure 3, N = 3", "pure 3, N = 4"):
        counts = counted[name]["counts"].values
        assert (counts == counts[:, ::-1]).all()


def test_expected_numbers_are_the_closed_forms(counted):
    for name, dataset in counted.items():
        ratio = dataset.attrs["R"]
        if name.endswith("N = 2"):
            expected = 2 * math.sqrt(3 * ratio + 1)
        elif name.endswith("N = 3"):
            expected = 2 + 8 * ratio**1.5 / math.sqrt(3 * ratio + 1)
        else:
            continue
        assert dataset.attrs["total_kac_rice"] == pytest.approx(expected, rel=tolerances.QUADRATURE_RELATIVE)


def test_counts_below_an_energy_are_those_of_kac_rice(counted):
    for name, dataset in counted.items():
        energy, n = dataset["energy"].values, dataset.attrs["n"]
        for bound in (-0.8, -0.3, 0.0, 0.5):
            below = (energy <= bound).sum(1)  # the padding, NaN, is never below
            expected = landscape.expected_critical_points(n, landscape.mixture(CASES[name]), below=bound).value
            error = below.std(ddof=1) / math.sqrt(len(below))
            assert abs(below.mean() - expected) < tolerances.STANDARD_ERRORS * error, (name, bound)


def test_below_the_threshold_every_function_still_has_a_minimum(counted):
    # Section 8, statement 7: LS Eq. 31 is negative there, as if minima were exponentially rare.
    beta = 0.05
    assert beta < trivial_threshold(10)
    dataset = count(LandscapeConfig(p=10, beta=beta, n=3, instances=40))
    ratio = dataset.attrs["R"]
    assert math.log(ratio) / 2 - (ratio - 1) / (ratio + 1) < 0
    assert (dataset["counts"].isel(index=0) >= 1).all()
    assert verdict(dataset)["agrees"]


def test_an_incomplete_instance_is_left_out_and_named(monkeypatch, run_main):
    complete = critical_points.find

    def one_point_lost(*arguments):
        found = complete(*arguments)
        first = found[0]
        found[0] = critical_points.CriticalPoints(first.points[1:], first.values[1:], first.index[1:], False)
        return found

    monkeypatch.setattr(critical_points, "find", one_point_lost)
    dataset = count(LandscapeConfig(n=2, instances=50))
    assert verdict(dataset)["incomplete_instances"] == [0]
    assert not verdict(dataset)["agrees"]
    kept = dataset["counts"].values[1:]
    np.testing.assert_allclose(dataset["mean"], kept.mean(0))
    code, table = run_main(landscape.main, "--n", 2, "--instances", 50)
    assert code == 1
    assert "1 incomplete and left out (instances 0)" in " ".join(table.split())


def test_a_wrong_number_is_noticed(monkeypatch, run_main):
    # Independent layers' Hamiltonians against the printed law's numbers.
    printed = landscape.mixture(LandscapeConfig(p=10, beta=0.5))
    by_index, total = landscape.expected_by_index, landscape.expected_critical_points
    monkeypatch.setattr(landscape, "expected_by_index", lambda n, _: by_index(n, printed))
    monkeypatch.setattr(landscape, "expected_critical_points", lambda n, _: total(n, printed))
    options = ("--p", 10, "--beta", 0.5, "--law", "independent", "--n", 2, "--instances", 500)
    assert run_main(landscape.main, *options)[0] == 1


def test_runs_pictures_and_json(run_main, tmp_path):
    options = ("--n", 3, "--instances", 10, "--out", tmp_path / "run", "--plot", tmp_path / "f.svg", "--json")
    code, printed = run_main(landscape.main, *options)
    assert code == 0
    assert json.loads(printed)["rows"][-1]["index"] == "all"
    assert records.load(tmp_path / "run", "landscape").dataset.sizes["instance"] == 10
    assert b"<svg" in (tmp_path / "f.svg").read_bytes()


def test_descent_command(run_main, tmp_path):
    options = ("--descend", "--p", 50, "--beta", 1, "--n", 400, "--instances", 3, "--plot", tmp_path / "f.svg")
    code, printed = run_main(landscape.main, *options, "--json")
    assert code == 0
    rows = json.loads(printed)["rows"]
    assert [row["step"] for row in rows] == list(range(13))
    assert rows[-1]["energy"] < rows[0]["energy"] - 1
    assert b"<svg" in (tmp_path / "f.svg").read_bytes()


def test_each_work_has_a_size_that_suits_it():
    assert landscape.LandscapeConfig().size == 5
    assert landscape.LandscapeConfig(descend=True).size == 400
    assert landscape.LandscapeConfig(descend=True, n=60).size == 60


@pytest.mark.slow
@pytest.mark.parametrize(
    "config",
    [LandscapeConfig(), LandscapeConfig(n=8, instances=24), LandscapeConfig(p=4, instances=30),
     LandscapeConfig(p=10, beta=0.1, instances=40), LandscapeConfig(p=10, beta=0.5, n=3, instances=200)],
    ids=["pure 3, N = 5", "pure 3, N = 8", "pure 4, N = 5", "ResNet 0.1, N = 5", "ResNet 0.5, N = 3"],
)  # fmt: skip
def test_counts_by_index_in_higher_dimension(config):
    assert verdict(count(config))["agrees"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--n", "1"], "n = 1: must be a whole number at least 2"),
        (["--n", "40"], "n = 40: .* critical points an instance are expected; choose a smaller n"),
        (["--instances", "1"], "instances = 1: must be a whole number at least 2"),
        (["--starts", "0"], "starts = 0"),
        (["--beta", "-1"], "beta = -1.0"),
        (["--descend", "--n", "4"], "steps = 12: must be a whole number between 1 and 3"),
        (["--descend", "--n", "100", "--rate", "0"], "rate = 0.0"),
        (["--p", "0"], "p = 0"),
    ],
)
def test_bad_options_are_named_in_one_line(options, message):
    with pytest.raises(ArgumentError, match=message) as error:
        landscape.main(options)
    assert "\n" not in str(error.value)
