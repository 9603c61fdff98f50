import json

import numpy as np
import pytest

from sims import epsilon, records
from sims.epsilon import EpsilonConfig, depth_law_dataset
from tests import naive, tolerances
from theory import ArgumentError, depth_law


def layer_file(folder, scales):
    path = folder / "scales.txt"
    path.write_text("\n".join(map(str, scales)) + "\n\n")
    return str(path)


def test_independent_layers_reach_another_fraction(run_main):
    # Section 8, statement 6: printed eps_r^2 is the coherent law, not that of independent weights.
    _, printed = run_main(epsilon.main, "--beta", 0.5, "--p", 1000, "--law", "independent", "--json")
    (row,) = json.loads(printed)["rows"]
    assert row["limit"] == pytest.approx(0.2)
    assert row["claim"] == pytest.approx(1 / 3)
    assert row["depth_fraction"] == pytest.approx(1 / 1000 + 0.2 * 999 / 1000)


def test_a_common_batchnorm_scale_stays_at_log_p(run_main):
    # Section 8, statement 9.
    options = ("--law", "batchnorm", "--beta", 1, "--scale", 0.3, 1, 5, 1e9, "--json")
    _, printed = run_main(epsilon.main, *options)
    for row, mean in zip(json.loads(printed)["rows"], (3.254, 5.187, 6.114, 6.177), strict=True):
        assert row["mean"] == pytest.approx(mean, abs=tolerances.PRINTED_THREE_DECIMALS)
        assert row["depth_fraction"] < row["claim"]


def test_the_shift_shows_the_law_the_claim_and_what_batchnorm_reaches():
    shift = epsilon.shift(EpsilonConfig(beta=(0.5,), scale=(0.1, 10.0)))
    assert shift["c"].values[[0, -1]] == pytest.approx([0.1, 10.0])
    assert (shift["low"] <= shift["mean"]).all()
    assert (shift["mean"] <= shift["high"]).all()
    middle = shift.isel(c=40)
    assert float(middle["mean"].item()) == pytest.approx(depth_law.mean(100, 0.5))
    assert float(middle["claim"].item()) == pytest.approx(100 / 3)
    law = depth_law.energy(100, 0.5)
    inside = law[int(middle["low"].item()) - 1 : int(middle["high"].item())].sum()
    assert 0.95 <= inside < 0.98
    assert float(shift["batchnorm"].max()) < shift.attrs["batchnorm_most"] == pytest.approx(6.177, abs=1e-3)


@pytest.mark.parametrize("law", epsilon.LAWS)
def test_equal_layer_scales_are_a_scale(law, tmp_path):
    plain = depth_law_dataset(EpsilonConfig(beta=(0.7,), p=12, scale=(1.5,), law=law))
    listed = depth_law_dataset(EpsilonConfig(beta=(0.7,), p=12, law=law, layer_scales=layer_file(tmp_path, [1.5] * 12)))
    np.testing.assert_allclose(listed["epsilon"], plain["epsilon"], rtol=tolerances.DEPTH_LAW_RELATIVE)
    assert int(listed["mode"].item()) == int(plain["mode"].item())
    assert np.isnan(listed["limit"]).all()


def test_layer_scales_against_subsets(tmp_path):
    scales = np.array([2.0, 0.3, 1.1, 0.0, 0.8])
    found = depth_law_dataset(EpsilonConfig(beta=(0.9,), p=5, scale=(2.0,), layer_scales=layer_file(tmp_path, scales)))
    expected = naive.elementary_symmetric(1.8 * scales[1:])
    np.testing.assert_allclose(
        found["epsilon"][0, 0], expected / np.linalg.norm(expected), rtol=tolerances.SUBSETS_RELATIVE
    )
    independent = depth_law_dataset(
        EpsilonConfig(beta=(1.8,), p=5, law="independent", layer_scales=layer_file(tmp_path, scales))
    )
    energy = naive.elementary_symmetric((1.8 * scales[1:]) ** 2)
    np.testing.assert_allclose(
        independent["epsilon"][0, 0] ** 2, energy / energy.sum(), rtol=tolerances.SUBSETS_RELATIVE
    )


def test_mixed_signs_have_two_peaks(tmp_path, run_main):
    # Section 8, statement 11: (1 + t)(1 - t) = 1 - t^2 has no middle.
    path = layer_file(tmp_path, [1, 1, -1])
    _, printed = run_main(epsilon.main, "--beta", 1, "--p", 3, "--layer-scales", path, "--json")
    assert json.loads(printed)["rows"][0]["modes"] == [1, 3]
    with pytest.raises(ArgumentError, match="negative scales need --law printed"):
        epsilon.main(["--beta", "1", "--p", "3", "--layer-scales", path, "--law", "independent"])


def test_runs_and_pictures(tmp_path, run_main):
    path = layer_file(tmp_path, [1.0, 2.0, 3.0])
    options = ("--beta", 1, 2, "--p", 3, "--layer-scales", path, "--scale", 0.5, 2, "--out", tmp_path / "run")
    code, table = run_main(epsilon.main, *options, "--plot", tmp_path / "f.svg")
    assert code == 0
    assert "LS's limit" in table
    assert records.load(tmp_path / "run", "epsilon").dataset["layer_scale"].values.tolist() == [1, 2, 3]
    assert b"<svg" in (tmp_path / "f.svg").read_bytes()


@pytest.mark.parametrize(
    ("content", "message"),
    [("1\n2\n", "holds 2 numbers for p = 3 layers; pass --p 2"), ("1\ntwo\n3\n", "line 2 is no number: two"),
     ("1\n\nnan\n", "line 3 must be finite"), (None, "cannot be read")],
)  # fmt: skip
def test_a_bad_file_is_named_with_its_line(tmp_path, content, message):
    path = tmp_path / "scales.txt"
    if content is not None:
        path.write_text(content)
    with pytest.raises(ArgumentError, match=message) as error:
        epsilon.main(["--p", "3", "--layer-scales", str(path)])
    assert "\n" not in str(error.value)


def test_an_unknown_law_is_named():
    with pytest.raises(ArgumentError, match="law = squared: must be one of"):
        epsilon.main(["--law", "squared"])
