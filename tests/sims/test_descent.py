"""sims.descent: descent agrees with the closed form, shows both basins, and sees M1, M2, M4, M5 with C classes."""

import json

import numpy as np
import pytest

from sims import class_descent, descent, plots
from tests import tolerances
from tests.strategies import generator
from theory import ArgumentError, class_model, unconstrained


def test_the_default_run_agrees_with_the_closed_form():
    dataset = descent.descend(descent.DescentConfig(depth=8, dim=5, weight_decay=0.05, input_norm=1.0))
    assert descent.agrees(dataset)
    assert (dataset["basin"] == 0).all()
    assert float(dataset["distance"].max()) < tolerances.DESCENT_DISTANCE
    (row,) = descent.rows(dataset)
    best = unconstrained.global_optimum(8, 0.05, 1.0)
    assert row["basin"] == "global minimum"
    assert row["fraction"] == 1
    assert (row["s_least"], row["s_greatest"]) == pytest.approx((best.s, best.s), abs=tolerances.DESCENT_DISTANCE)
    assert row["second_singular_value"] < tolerances.DESCENT_DISTANCE
    assert row["alignment"] == pytest.approx(1, abs=tolerances.DESCENT_DISTANCE)
    assert row["objective"] == pytest.approx(best.objective, abs=tolerances.DESCENT_DISTANCE**2)


def test_both_basins_are_shown_and_the_deep_one_is_global():
    config = descent.DescentConfig(depth=16, weight_decay=0.6, input_norm=0.1, starts=24)
    dataset = descent.descend(config)
    deep, shallow = descent.rows(dataset)
    assert (deep["basin"], shallow["basin"]) == ("global minimum", "local minimum")
    assert (deep["closed_form_s"], shallow["closed_form_s"]) == pytest.approx((0.26271, 0.00909), abs=5e-6)
    assert deep["runs"] > 0
    assert shallow["runs"] > 0
    assert deep["runs"] + shallow["runs"] == 24
    assert max(deep["distance"], shallow["distance"]) < tolerances.DESCENT_DISTANCE
    assert descent.agrees(dataset)


def test_random_models_of_either_label_end_in_a_closed_form_minimum():
    rng = generator(4)
    for _ in range(4):
        config = descent.DescentConfig(
            depth=int(rng.integers(1, 6)), dim=int(rng.integers(2, 5)), weight_decay=10 ** rng.uniform(-2, -0.3),
            input_norm=10 ** rng.uniform(-0.5, 0.5), label=int(rng.choice([1, -1])), starts=8,
            seed=int(rng.integers(99)),
        )  # fmt: skip
        dataset = descent.descend(config)
        assert descent.agrees(dataset)
        assert float(dataset["distance"].where(dataset["basin"] >= 0).max()) < tolerances.DESCENT_DISTANCE
        assert float(dataset["alignment"].min()) > 1 - tolerances.DESCENT_DISTANCE


def test_one_seed_gives_one_result_and_another_seed_another():
    config = descent.DescentConfig(depth=2, dim=2, starts=4, steps=20)
    first, again = descent.descend(config), descent.descend(config)
    other = descent.descend(descent.DescentConfig(depth=2, dim=2, starts=4, steps=20, seed=1))
    assert first.identical(again)
    assert not np.array_equal(first["jacobians"], other["jacobians"])


def test_a_false_closed_form_is_noticed(monkeypatch):
    true = unconstrained.minima

    def shifted(*arguments):
        return tuple(
            unconstrained.StationaryPoint(p.s * 1.001, p.omega, p.margin, p.objective) for p in true(*arguments)
        )

    monkeypatch.setattr(descent.unconstrained, "minima", shifted)
    config = descent.DescentConfig(depth=2, dim=2, starts=4)
    dataset = descent.descend(config)
    assert not descent.agrees(dataset)
    assert descent.main(["--depth", "2", "--dim", "2", "--starts", "4", "--json"]) == 1


def test_in_one_dimension_a_flipped_minimum_is_called_other():
    """The counterexample of U6 at D = 1 is reached by descent, and is no failure of the closed form."""
    config = descent.DescentConfig(
        depth=1, dim=1, weight_decay=0.088875, input_norm=0.344501, starts=24, smallest_scale=1.0, largest_scale=4.0
    )
    dataset = descent.descend(config)
    assert descent.agrees(dataset)
    other = dataset.isel(seed=np.flatnonzero(dataset["basin"].values == descent.OTHER))
    assert other.sizes["seed"] > 0
    assert other["singular_values"].values == pytest.approx(2.12469, abs=1e-5)


@pytest.mark.parametrize("classes", [3, 4])
def test_c_classes_from_noise_and_from_both_shapes(classes):
    config = descent.DescentConfig(depth=8, dim=5, weight_decay=0.02, input_norm=2.0, classes=classes, starts=12)
    dataset = class_descent.descend_classes(config)
    assert class_descent.agrees(dataset)
    assert (dataset["rank"] == class_model.rank_bound(classes)).all()
    for name in ("balance_defect", "symmetry_defect", "classifier_defect", "equality_defect"):
        assert float(dataset[name].max()) < tolerances.CLASS_DESCENT_DEFECT
    rows = class_descent.rows(dataset)
    starts = {row["start"] for row in rows}
    assert starts == ({"noise", "simplex", "cross-polytope"} if classes == 4 else {"noise", "simplex"})
    known = {each["shape"]: each["objective"] for each in class_descent.known_shapes(config)}
    for row in rows:
        assert row["basin"] in ("simplex", "paired", "other")
        if row["basin"] in known:
            assert row["objective"] == pytest.approx(known[row["basin"]], abs=tolerances.CLASS_DESCENT_OBJECTIVE)
    assert any(row["basin"] == "simplex" for row in rows)


def test_deep_four_classes_find_the_paired_minimum_below_the_simplex():
    config = descent.DescentConfig(depth=16, dim=4, weight_decay=0.02, input_norm=2.0, classes=4, starts=9)
    rows = class_descent.rows(class_descent.descend_classes(config))
    best = {row["basin"]: row["objective"] for row in rows}
    assert best["paired"] < 0.016951318
    assert best["paired"] < best["simplex"]
    assert {row["basin"] for row in rows if row["start"] == "cross-polytope"} == {"paired"}
    assert {row["basin"] for row in rows if row["start"] == "simplex"} == {"simplex"}


def test_sixty_four_seeds_of_sixteen_blocks(benchmark):
    config = descent.DescentConfig(depth=16, dim=8, weight_decay=0.02, input_norm=2.0, classes=4, starts=64, steps=20)
    assert benchmark(class_descent.descend_classes, config).sizes["seed"] == 64


def test_the_command_prints_saves_and_draws(run_main, tmp_path):
    options = ["--depth", 2, "--dim", 2, "--starts", 4]
    code, text = run_main(descent.main, *options, "--plot", tmp_path / "run.png", "--out", tmp_path / "run")
    assert code == 0
    assert "global minimum" in text
    assert "Closed form confirmed" in text
    assert (tmp_path / "run.png").stat().st_size > 1000
    assert (tmp_path / "run" / "measurements.nc").exists()
    code, text = run_main(descent.main, *options, "--json")
    assert code == 0
    assert json.loads(text)["rows"][0]["fraction"] == 1


def test_the_command_covers_the_class_model(run_main, tmp_path):
    options = ["--depth", 2, "--dim", 3, "--classes", 3, "--starts", 4, "--input-norm", 2]
    code, text = run_main(descent.main, *options, "--plot", tmp_path / "run.svg", "--out", tmp_path / "run")
    assert code == 0
    assert "M1, M2, M4 hold" in text
    code, text = run_main(descent.main, *options, "--json")
    assert json.loads(text)["agrees"] is True


@pytest.mark.parametrize(
    ("options", "name"),
    [(["--depth", "0"], "depth"), (["--dim", "0"], "dim"), (["--weight-decay", "-1"], "weight_decay"),
     (["--input-norm", "0"], "input_norm"), (["--label", "2"], "label"), (["--starts", "0"], "starts"),
     (["--seed", "-1"], "seed"), (["--smallest-scale", "2"], "largest_scale"), (["--classes", "1"], "classes"),
     (["--classes", "9"], "dim"), (["--plot", "x.txt"], "plot")],
)  # fmt: skip
def test_bad_arguments_are_named(options, name):
    with pytest.raises(ArgumentError, match=f"{name} = "):
        descent.main(options)


def test_nothing_converged_is_a_failed_check():
    dataset = descent.descend(descent.DescentConfig(depth=2, dim=2, starts=4))
    dataset["basin"][:] = descent.UNCONVERGED
    assert not descent.agrees(dataset)
    assert [row["basin"] for row in descent.rows(dataset)] == ["global minimum", "unconverged"]
    assert plots.descent(dataset) is not None
