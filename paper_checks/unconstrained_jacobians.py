"""Checks of the Unconstrained Jacobians Model, binary [RA Thm 3.3] and with C classes, by descent against closed forms."""

from __future__ import annotations

from functools import cache

import numpy as np
import torch
import xarray as xr

from paper_checks.evidence import Evidence
from paper_checks.verdicts import Criterion, Finding
from sims.class_descent import BASINS, descend_classes
from sims.descent import DescentConfig, descend
from sims.ujm import random_starts
from theory import class_model, unconstrained

# (depth, width, weight decay, input norm): one minimum; two minima, the deep one global; two, the shallow one global.
MODELS = ((1, 3, 0.1, 1.0), (4, 4, 0.1, 1.0), (8, 5, 0.05, 1.0), (16, 5, 0.6, 0.1), (16, 5, 0.9, 0.1))


def theorem_3_3(evidence: Evidence) -> Finding:
    """RA Theorem 3.3: a global optimum of the UJM is aligned, rank one, with equal singular values."""
    runs = [
        (descend(DescentConfig(*model, starts=32, steps=300)), unconstrained.global_optimum(model[0], *model[2:]))
        for model in MODELS
    ]
    gap, misalignment, second, unequal = [], [], [], []
    for dataset, optimum in runs:
        best = dataset.isel(seed=int(dataset.objective.values.argmin()))
        gap.append(abs(float(best.objective) - optimum.objective))
        misalignment.append(1 - float(best.alignment))
        second.append(float(best.singular_values.isel(k=1).max()))
        unequal.append(float(best.singular_values.isel(k=0).max() - best.singular_values.isel(k=0).min()))
    starts = len(runs) * 32
    what = f"models, best of 32 starts each ({starts} descents)"
    reason = "descent stops at a gradient of 1e-6 of the decay"

    def worst(name: str, values: list[float], why: str, null: float | None = None) -> Criterion:
        return Criterion(name, max(values), len(values), what, why, high=1e-6, spread=float(np.std(values)), null=null)

    random_alignment = 1 - 1 / np.sqrt(MODELS[2][1])
    criteria = (
        worst(
            "distance of the least objective found from the closed form",
            gap,
            "values agree far below the objective; " + reason,
        ),
        worst("1 - alignment with Delta at that optimum", misalignment, reason, null=float(random_alignment)),
        worst("second singular value at that optimum", second, "rank one; " + reason),
        worst("spread of the top singular values over blocks", unequal, "equal; " + reason),
    )
    landed = [float((dataset.basin >= 0).mean()) for dataset, _ in runs]
    note = (
        f"{100 * float(np.mean(landed)):.0f} % of the starts end in a closed-form minimum. The theorem says that one global optimum has "
        "this form; every one does [U2, new]. Its proof cites a trace inequality for full-rank matrices and takes existence for granted."
    )
    return Finding(criteria, note)


def every_descent_is_aligned(evidence: Evidence) -> Finding:
    """U2 and U7: no descent goes below the closed form, and inside the transition both minima are reached."""
    dataset = descend(DescentConfig(16, 5, 0.6, 0.1, starts=32))
    minima = unconstrained.minima(16, 0.6, 0.1)
    optimum = unconstrained.global_optimum(16, 0.6, 0.1)
    below = float((optimum.objective - dataset.objective).max())
    reached = len({int(basin) for basin in dataset.basin.values if basin >= 0})
    distance = float(dataset.distance.where(dataset.basin >= 0).max())
    criteria = (
        Criterion("how far any descent goes below the closed form", below, 32, "descents", "rounding of the objective",
                  high=1e-9, spread=float(dataset.objective.std())),
        Criterion("minima reached", reached, 32, "descents", "both of the two that U3 has here", low=1.5, null=1.0),
        Criterion("largest distance to the nearest closed-form minimum", distance, 32, "descents",
                  "descent stops at a gradient of 1e-6 of the decay", high=1e-5),
    )  # fmt: skip
    s = " and ".join(f"{point.s:.5f}" for point in minima)
    note = f"L = 16, lam = 0.6, delta = 0.1: minima at s = {s}; global is s = {optimum.s:.5f}. A single descent cannot tell."
    return Finding(criteria, note)


@cache
def _class_descents() -> list[xr.Dataset]:
    """The C-class model descended: L = 1 (simplex proved optimal) and two deep ones; D >= C throughout."""
    return [
        descend_classes(DescentConfig(depth, dim, 0.02, 2.0, starts=24, classes=classes))
        for depth, dim, classes in ((1, 4, 4), (16, 4, 3), (16, 6, 4))
    ]


def class_model_rank_and_symmetry(evidence: Evidence) -> Finding:
    """M1, U5': in the C-class model blocks end symmetric, balanced with the classifier, of rank C - 1."""
    converged = [
        data.isel(seed=np.flatnonzero(data.basin.values != BASINS.index("unconverged"))) for data in _class_descents()
    ]
    runs = sum(data.sizes["seed"] for data in converged)
    excess = [int(rank) - (data.attrs["classes"] - 1) for data in converged for rank in data["rank"].values]
    defects = {
        name: max(float(data[name].max()) for data in converged)
        for name in ("symmetry_defect", "classifier_defect", "equality_defect")
    }
    random = DescentConfig(16, 6, 0.02, 2.0, starts=24, classes=4)
    starts, _ = random_starts(random, torch.Generator().manual_seed(0), (4, 6))
    asymmetry = (starts - starts.mT).detach().flatten(2).norm(dim=2).amax(1)
    reason = "descent stops at a gradient of about 1e-5 of the decay; curvatures are of order .1"
    criteria = (
        Criterion("largest |rank - (C - 1)|", max(abs(each) for each in excess), runs, "converged descents",
                  "a rank is a whole number; RA3 says C", high=0.5, null=1.0),
        Criterion("largest |J - J^T|", defects["symmetry_defect"], runs, "converged descents", reason, high=1e-3,
                  null=float(asymmetry.median())),
        Criterion("largest |J + J^2 - W^T W|", defects["classifier_defect"], runs, "converged descents", reason, high=1e-3),
        Criterion("largest difference between blocks", defects["equality_defect"], runs, "converged descents", reason,
                  high=1e-3),
    )  # fmt: skip
    note = "C = 3 and 4, L = 1 and 16. Null of symmetry: the random starts. RA3's bound C is one more than the model needs."
    return Finding(criteria, note)


def equal_singular_values_are_not_preferred(evidence: Evidence) -> Finding:
    """M5: at depth the C-class model prefers few large singular values over the simplex's C - 1 equal ones."""
    shallow, _, deep = _class_descents()

    def lead(data: xr.Dataset) -> float:
        arguments = (data.attrs["depth"], data.attrs["classes"], data.attrs["weight_decay"], data.attrs["input_norm"])
        simplex = class_model.compare_shapes(*arguments).simplex.objective
        return simplex - float(data.objective.min())

    criteria = (
        Criterion("simplex objective minus the least found, L = 16", lead(deep), deep.sizes["seed"], "descents",
                  "above what descent's gradient of 1e-5 can be off", low=1e-6, null=lead(shallow),
                  spread=float(deep.objective.std())),
        Criterion("the same at L = 1", lead(shallow), shallow.sizes["seed"], "descents",
                  "there the simplex is the proved optimum", low=-1e-6, high=1e-9),
    )  # fmt: skip
    paired = class_model.paired_point(16, 4, 0.02, 2.0)
    note = (
        "C = 4, weight decay 0.02, input norm 2. The simplex stays a local minimum, so a descent that ends there proves "
        "nothing. "
        + (f"The paired point, two large and one small singular value, has {paired.objective:.6f}." if paired else "")
    )
    return Finding(criteria, note)
