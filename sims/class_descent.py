"""Gradient descent on the C-class Unconstrained Jacobians Model, from noise and from beside each known shape.

One orthogonal input of norm delta per class, mean softmax cross-entropy. For every run: the rank [M1], how far
the blocks are from symmetric, equal and balanced with the classifier [M2, M4, U5, U5', new], the spectrum, and
which known shape it is [M3, M5, new]. A run that ends at the simplex proves nothing about optimality: it is a
strict local minimum where others are lower.
"""

from __future__ import annotations

import math

import numpy as np
import torch
import xarray as xr

from sims import command
from sims.minimise import minimise
from sims.ujm import DescentConfig, check_common, penalty, propagate, random_starts
from theory import class_model
from theory.arguments import ArgumentError, whole_number

STARTS = ("noise", *class_model.SHAPES)
BASINS = ("simplex", "paired", "other", "unconverged")
# Gradient of objective / lam; curvatures are of order 1e-1 at the known minima.
_GRADIENT_TOLERANCE = 1e-5
# Relative, on singular values.
_AGREEMENT = 1e-4


def descend_classes(config: DescentConfig) -> xr.Dataset:
    """Descend the C-class model; a Dataset over (seed, block, k).

    Holds ``basin``, ``start``, ``objective``, ``rank`` (of the classifier, which is every block's) and
    defects. Starts take turns: noise, beside the simplex, beside the cross-polytope (even C).
    ``singular_values`` are those of the block mean. Raises ArgumentError for bad arguments, and for
    dim < classes, where orthogonal inputs do not fit and M4 is false.
    """
    check_common(config)
    classes = whole_number("classes", config.classes, least=2)
    if config.dim < classes:
        raise ArgumentError("dim", config.dim, f"must be at least classes = {classes}: the inputs are orthogonal")
    starts, depth, dim, decay = config.starts, config.depth, config.dim, config.weight_decay
    shapes = class_model.compare_shapes(depth, classes, decay, config.input_norm)
    known = [shapes.simplex] + ([shapes.cross_polytope] if shapes.cross_polytope and classes > 2 else [])
    generator = torch.Generator().manual_seed(config.seed)
    jacobians, classifier = (each.detach() for each in random_starts(config, generator, (classes, dim)))
    kind = np.arange(starts) % (len(known) + 1)
    _move_beside(known, kind, config, generator, jacobians, classifier)
    inputs = config.input_norm * torch.eye(dim, classes, dtype=torch.float64)
    values, gradient = torch.zeros(starts, dtype=torch.float64), torch.zeros(starts, dtype=torch.float64)
    # Adam's first steps would carry a start out of the basin it was put beside; L-BFGS alone stays in it.
    for here, steps in ((kind == 0, config.steps), (kind > 0, 0)):
        chosen = torch.from_numpy(np.flatnonzero(here))
        if len(chosen):
            parts = [each[chosen].clone().requires_grad_() for each in (jacobians, classifier)]
            values[chosen], gradient[chosen] = _descend_group(parts, inputs, decay, steps)
            jacobians[chosen], classifier[chosen] = (part.detach() for part in parts)
    final, final_classifier = jacobians, classifier
    gram = final_classifier.mT @ final_classifier
    spectrum = torch.linalg.svdvals(final.mean(1)).numpy()
    strengths = torch.linalg.svdvals(final_classifier).numpy()
    balance = torch.zeros(starts, dtype=torch.float64)
    if depth > 1:
        after, before = final[:, 1:], final[:, :-1]
        balance = (after + after.mT @ after - before - before @ before.mT).flatten(2).norm(dim=2).amax(1)
    per_seed = {
        "objective": (values * decay).numpy(),
        "gradient_norm": gradient.numpy(),
        "start": kind,
        "rank": (strengths > 1e-5 * strengths[:, :1]).sum(1),
        "balance_defect": balance.numpy(),
        "symmetry_defect": (final - final.mT).flatten(2).norm(dim=2).amax(1).numpy(),
        "classifier_defect": (final + final @ final - gram[:, None]).flatten(2).norm(dim=2).amax(1).numpy(),
        "equality_defect": (final - final.mean(1, keepdim=True)).flatten(2).norm(dim=2).amax(1).numpy(),
        "basin": _basins(spectrum, gradient.numpy(), config),
    }
    return xr.Dataset(
        {
            **{name: ("seed", value) for name, value in per_seed.items()},
            "jacobians": (("seed", "block", "row", "column"), final.numpy()),
            "classifier": (("seed", "class", "column"), final_classifier.numpy()),
            "singular_values": (("seed", "k"), spectrum),
        },
        coords={"seed": np.arange(starts), "block": np.arange(1, depth + 1)},
        attrs={"depth": depth, "weight_decay": decay, "input_norm": config.input_norm, "classes": classes,
               "start_names": list(STARTS), "basin_names": list(BASINS),
               "gradient_definition": "norm of the gradient of objective / weight decay"},
    )  # fmt: skip


def _descend_group(
    parameters: list[torch.Tensor], inputs: torch.Tensor, decay: float, steps: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """Descend one group of starts in place; returns its values of objective / lam and gradient norms."""
    jacobians, classifier = parameters
    data = inputs.expand(len(jacobians), *inputs.shape)
    labels = torch.arange(inputs.shape[1]).expand(len(jacobians), inputs.shape[1])

    def objectives() -> torch.Tensor:
        logits = classifier @ propagate(jacobians, data)
        loss = torch.nn.functional.cross_entropy(logits, labels, reduction="none").mean(1)
        return loss / decay + penalty(jacobians, classifier)

    return minimise(objectives, parameters, steps=steps, polish=300, memory=8, label="class descent")


def rows(dataset: xr.Dataset) -> list[dict]:
    """One plain dictionary for each (start, basin, objective) that occurred, the most frequent first."""
    digits = np.round(dataset["objective"].values, 7)
    keys = list(zip(dataset["start"].values.tolist(), dataset["basin"].values.tolist(), digits.tolist(), strict=True))
    result = []
    for key in sorted(set(keys)):
        here = dataset.isel(seed=[index for index, each in enumerate(keys) if each == key])
        result.append({
            "start": STARTS[key[0]], "basin": BASINS[key[1]], "runs": here.sizes["seed"],
            "objective": float(here["objective"].min()),
            "rank": sorted({int(rank) for rank in here["rank"].values}),
            "singular_values": here["singular_values"].mean("seed").values[: dataset.attrs["classes"]].tolist(),
            **{name: float(here[name].max()) for name in
               ("balance_defect", "symmetry_defect", "classifier_defect", "equality_defect", "gradient_norm")},
        })  # fmt: skip
    return sorted(result, key=lambda row: (STARTS.index(row["start"]), -row["runs"]))


def known_shapes(config: DescentConfig) -> list[dict]:
    """The closed-form shapes with their objectives, for comparison; ``note`` says what is proved of each."""
    arguments = (config.depth, whole_number("classes", config.classes, least=2), config.weight_decay, config.input_norm)
    shapes = class_model.compare_shapes(*arguments)
    optimal = "global optimum (proved)" if shapes.proved_optimal else "stationary; not proved optimal"
    result = [{"shape": "simplex", "objective": shapes.simplex.objective, "s": shapes.simplex.s, "note": optimal}]
    if shapes.cross_polytope is not None and arguments[1] > 2:
        result.append({"shape": "cross-polytope", "objective": shapes.cross_polytope.objective,
                       "s": shapes.cross_polytope.s, "note": "stationary within its shape only"})  # fmt: skip
        paired = class_model.paired_point(*arguments)
        if paired is not None:
            result.append({"shape": "paired", "objective": paired.objective, "s": paired.large,
                           "note": f"stationary; small s = {paired.small:.6g}"})  # fmt: skip
    return result


def agrees(dataset: xr.Dataset) -> bool:
    """Whether what is proved held: some run converged, and those have rank C-1 [M1] and small defects [M2, M4].

    Also no run below the simplex where that is the proved optimum (C = 2 or L = 1) [M3].
    """
    attrs = dataset.attrs
    converged = dataset.isel(seed=np.flatnonzero(dataset["basin"].values != BASINS.index("unconverged")))
    if not converged.sizes["seed"]:
        return False
    bounded = all(
        float(converged[name].max()) < 1e-3
        for name in ("balance_defect", "symmetry_defect", "classifier_defect", "equality_defect")
    )
    shapes = class_model.compare_shapes(attrs["depth"], attrs["classes"], attrs["weight_decay"], attrs["input_norm"])
    below = shapes.proved_optimal and bool((converged["objective"] < shapes.simplex.objective * (1 - 1e-9)).any())
    ranks_hold = bool((converged["rank"] == class_model.rank_bound(attrs["classes"])).all())
    return bounded and not below and ranks_hold


def show(config: DescentConfig, result: dict) -> None:
    """Print the known shapes and the runs as two tables."""
    command.print_table(
        f"Known shapes: C = {config.classes}, L = {config.depth}, lam = {config.weight_decay:g}, "
        f"delta = {config.input_norm:g}",
        ["shape", "s", "objective", "what is proved"],
        [[each["shape"], f"{each['s']:.8f}", f"{each['objective']:.9f}", each["note"]]
         for each in result["known_shapes"]],
    )  # fmt: skip
    command.print_table(
        f"Descent, D = {config.dim}, {config.starts} starts",
        ["start", "basin", "runs", "objective", "rank", "singular values", "U5", "symmetry", "J+J²-WᵀW", "equality",
         "gradient"],
        [[row["start"], row["basin"], str(row["runs"]), f"{row['objective']:.9f}", ",".join(map(str, row["rank"])),
          " ".join(f"{each:.4f}" for each in row["singular_values"][:8]),
          *(f"{row[name]:.0e}" for name in ("balance_defect", "symmetry_defect", "classifier_defect",
                                            "equality_defect", "gradient_norm"))]
         for row in result["rows"]],
        note="Defects (largest over runs and blocks): U5 balance, U5' symmetry and classifier, M4 equality. "
        + ("M1, M2, M4 hold." if result["agrees"] else "M1, M2 OR M4 FAILED."),
    )  # fmt: skip


def _move_beside(
    known: list[class_model.ClassPoint], kind: np.ndarray, config: DescentConfig,
    generator: torch.Generator, jacobians: torch.Tensor, classifier: torch.Tensor,
) -> None:  # fmt: skip
    """Replace the starts of kind 1, 2, .. by the exact shape plus a perturbation of relative size 0.01."""
    for index, point in enumerate(known, 1):
        here = torch.from_numpy(np.flatnonzero(kind == index))
        logits = class_model.shape_logits(point.shape, classifier.shape[1], point.amplitude)
        for target, exact in zip(
            (jacobians, classifier),
            class_model.realisation(logits, config.depth, config.input_norm, config.dim),
            strict=True,
        ):
            size = 0.01 * float(np.abs(exact).max())
            noise = torch.randn(target[here].shape, generator=generator, dtype=torch.float64)
            target[here] = torch.from_numpy(exact) + size * noise


def _basins(spectrum: np.ndarray, gradient: np.ndarray, config: DescentConfig) -> np.ndarray:
    """Index into BASINS for each run, by its singular values."""
    classes = spectrum.shape[1] if config.classes is None else config.classes
    arguments = (config.depth, classes, config.weight_decay, config.input_norm)
    expected = [("simplex", [point.s] * point.rank) for point in class_model.class_family(*arguments)]
    if classes % 2 == 0 and classes > 2 and (paired := class_model.paired_point(*arguments)):
        expected.append(("paired", [paired.large] * (classes // 2) + [paired.small] * (classes // 2 - 1)))
    basin = np.full(len(spectrum), BASINS.index("other"))
    for name, values in expected:
        target = np.zeros(spectrum.shape[1])
        target[: len(values)] = values
        basin[np.abs(spectrum - target).max(1) < _AGREEMENT * max(values)] = BASINS.index(name)
    basin[~(gradient < _GRADIENT_TOLERANCE * math.sqrt(classes))] = BASINS.index("unconverged")
    return basin
