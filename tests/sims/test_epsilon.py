import json

import numpy as np
import pytest

from sims import epsilon, records
from tests import tolerances
from theory import ArgumentError, depth_law

REFERENCE = {
    0.1: ([10], 0.4391, 9.7922, 2.0281),
    0.5: ([34], 0.3460, 33.9162, 3.3250),
    2.0: ([67], 0.3460, 67.0838, 3.3250),
}


def test_the_table_reproduces_ls_figure_1(run_main):
    code, printed = run_main(epsilon.main, "--beta", 0.1, 0.5, 2, "--p", 100, "--json")
    assert code == 0
    for row in json.loads(printed)["rows"]:
        modes, peak, mean, sd = REFERENCE[row["beta"]]
        assert row["modes"] == modes
        for name, value in (("max_epsilon", peak), ("mean", mean), ("sd", sd)):
            assert row[name] == pytest.approx(value, abs=tolerances.PRINTED_FOUR_DECIMALS)
        assert row["limit"] == pytest.approx(row["beta"] / (1 + row["beta"]))
        assert row["depth_fraction"] == pytest.approx(row["mean"] / 100)


def test_beta_alone_works_and_a_tie_shows_both_modes(run_main):
    code, table = run_main(epsilon.main, "--beta", 0.5)
    assert code == 0
    assert "33.9162" in table
    _, table = run_main(epsilon.main, "--beta", 0.5, "--p", 99)
    assert "33 = 34" in table


def test_the_scale_multiplies_beta(run_main):
    _, printed = run_main(epsilon.main, "--beta", 0.5, "--scale", 0.25, 1, 4, "--json")
    rows = json.loads(printed)["rows"]
    assert [row["scale"] for row in rows] == [0.25, 1, 4]
    for row in rows:
        assert row["mean"] == pytest.approx(depth_law.mean(100, 0.5 * row["scale"]))
    assert rows[0]["mean"] < rows[1]["mean"] < rows[2]["mean"]


def test_a_run_and_a_picture_are_saved(run_main, tmp_path):
    run_main(epsilon.main, "--scale", 1, 2, "--out", tmp_path / "run", "--plot", tmp_path / "fig.svg")
    dataset = records.load(tmp_path / "run", "epsilon").dataset
    assert dict(dataset.sizes) == {"beta": 3, "scale": 2, "r": 100}
    np.testing.assert_allclose((dataset.epsilon**2).sum("r"), 1)
    assert b"<svg" in (tmp_path / "fig.svg").read_bytes()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--beta", "-1"], "beta = -1.0: must be a finite number at least 0"),
        (["--beta", "nan"], "beta = nan"),
        (["--beta", "inf"], "beta = inf"),
        (["--beta"], r"beta = \(\): give at least one value"),
        (["--p", "0"], "p = 0: must be a whole number at least 1"),
        (["--p", "2.5"], "--p = 2.5: .*--help"),
        (["--scale", "0"], "scale = 0.0: must be a finite number greater than 0"),
        (["--beta", "1e300", "--scale", "1e300"], r"beta \* scale = inf"),
        (["--plot", "fig.gif"], r"plot = fig.gif: must end in .png"),
        (["--betta", "1"], "options = --betta, 1: not known"),
    ],
)
def test_bad_options_are_named_in_one_line(options, message):
    with pytest.raises(ArgumentError, match=message) as error:
        epsilon.main(options)
    assert "\n" not in str(error.value)
