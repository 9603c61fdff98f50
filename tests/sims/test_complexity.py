import json
import math

import numpy as np
import pytest

from sims import complexity, records
from sims.complexity import ComplexityConfig, complexity_dataset
from tests import tolerances
from theory import ArgumentError
from theory.mixtures import trivial_threshold

# p = 10, printed law: beta, R, theta_total, theta_0, regime.
REFERENCE = [
    (0.05, 0.318194, 0.0, 0.0, "trivial"),
    (0.1, 0.818182, 0.0, 0.0, "trivial"),
    (0.2, 1.603242, 0.236014, 0.004287, "full mixture"),
    (0.5, 3.182149, 0.578778, 0.057001, "pure-like"),
    (1.0, 4.716578, 0.775542, 0.125401, "pure-like"),
    (2.0, 6.238664, 0.915383, 0.191677, "pure-like"),
]


@pytest.mark.parametrize(("beta", "ratio", "total", "minima", "regime"), REFERENCE)
def test_the_table_of_a_ten_layer_network(beta, ratio, total, minima, regime):
    dataset = complexity_dataset(ComplexityConfig(p=(10,), n=(2,), least_beta=beta, most_beta=2 * beta, points=2)).isel(
        p=0, beta=0
    )
    for name, value in (("R", ratio), ("total", total), ("true", minima)):
        assert float(dataset[name]) == pytest.approx(value, abs=tolerances.PRINTED_SIX_DECIMALS)
    assert dataset["regime"].item() == regime
    exact = float(dataset["log_expected_per_n"].item())
    assert exact == pytest.approx(math.log(2 * math.sqrt(3 * ratio + 1)) / 2, abs=tolerances.PRINTED_SIX_DECIMALS)


def test_eq_31_is_negative_where_every_function_has_a_minimum():
    # Section 8, statement 7: below beta_c, and only there, the printed value is not the true one.
    dataset = complexity_dataset(ComplexityConfig(p=(10, 50), n=(3,), points=25))
    for p in (10, 50):
        at = dataset.sel(p=p)
        trivial = dataset["beta"].values < trivial_threshold(p)
        assert trivial.any()
        assert not trivial.all()
        assert (at["printed"].values[trivial] < 0).all()
        assert (at["true"].values[trivial] == 0).all()
        np.testing.assert_array_equal(at["printed"].values[~trivial], at["true"].values[~trivial])


def test_the_exponent_at_finite_size_comes_down_to_the_limit():
    dataset = complexity_dataset(ComplexityConfig(p=(10,), n=(10, 100, 1000), points=9))
    excess = dataset["log_expected_per_n"] - dataset["total"]
    assert (excess.diff("n") < 0).all()
    assert (excess > 0).all()
    assert float(excess.sel(n=1000).max()) < 0.02


def test_deeper_laws_leave_the_trivial_regime_at_smaller_beta(run_main):
    _, printed = run_main(complexity.main, "--p", 10, 100, "--n", 2, "--points", 3, "--json")
    thresholds = json.loads(printed)["trivial_threshold"]
    assert thresholds["10"] == pytest.approx(0.120407, abs=tolerances.PRINTED_SIX_DECIMALS)
    assert thresholds["100"] == pytest.approx(0.0101727, abs=tolerances.PRINTED_SIX_DECIMALS)
    _, printed = run_main(complexity.main, "--p", 2, "--n", 2, "--points", 3, "--json")
    assert json.loads(printed)["trivial_threshold"] == {"2": None}


def test_runs_and_pictures(run_main, tmp_path):
    options = ("--p", 5, "--n", 3, 20, "--points", 9, "--law", "independent", "--index", 1)
    code, table = run_main(complexity.main, *options, "--out", tmp_path / "run", "--plot", tmp_path / "f.svg")
    assert code == 0
    assert "LS Eq. 31" in table
    assert dict(records.load(tmp_path / "run", "complexity").dataset.sizes) == {"p": 1, "beta": 9, "n": 2}
    assert b"<svg" in (tmp_path / "f.svg").read_bytes()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--p"], r"p = \(\): give at least one value"),
        (["--p", "1"], "p = 1: must be a whole number at least 2"),
        (["--n", "1"], "n = 1"),
        (["--least-beta", "0"], "least_beta = 0.0"),
        (["--most-beta", "0.001"], "most_beta = 0.001: must be a finite number greater than 0.005"),
        (["--points", "1"], "points = 1"),
        (["--index", "-1"], "index = -1"),
        (["--law", "batchnorm"], "law = batchnorm: must be one of"),
    ],
)
def test_bad_options_are_named_in_one_line(options, message):
    with pytest.raises(ArgumentError, match=message) as error:
        complexity.main(options)
    assert "\n" not in str(error.value)
