"""Gradient descent on the Unconstrained Jacobians Model, from many starts at once, against its closed form.

Binary model [RA Def. 3.2]: minimise ``log(1 + exp(-y w^T prod(I + J_i) Delta)) + lam/2 (sum |J_i|_F^2 + |w|^2)``
over all J_i and w. Every minimum is ``J_i = s u u^T``, ``w = y omega u`` [RA Thm 3.3 for one global optimum; U2,
U6, new, for all minima at dim >= 2]. Inside the first-order transition there are two [U7, new], and descent
reaches either. With ``--classes C`` the C-class model is descended instead (see sims.class_descent).

Example: python -m sims.descent --depth 16 --dim 5 --weight-decay 0.6 --input-norm 0.1
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
import xarray as xr

from sims import class_descent, command, plots, records
from sims.minimise import minimise
from sims.ujm import DescentConfig, check_common, penalty, propagate, random_starts
from theory import unconstrained
from theory.arguments import ArgumentError

OTHER, UNCONVERGED = -1, -2
# Gradient of objective / lam. Curvatures of objective / lam are of order 1e-1 and more at a minimum.
_GRADIENT_TOLERANCE = 1e-6
# A run belongs to a minimum when it ends this near to it, relative to the size of the minimum.
_AGREEMENT = 1e-5


def descend(config: DescentConfig) -> xr.Dataset:
    """Descend the binary model; a Dataset over (seed, block, k, row, column, minimum).

    Per seed: the final ``jacobians``, ``classifier``, ``objective``, ``gradient_norm`` (of objective / lam),
    ``singular_values`` (by block and rank k), ``alignment`` (least ``u^T J_i u / |J_i|_F`` over blocks; 1 iff
    every J_i is a positive multiple of u u^T), ``distance`` to the nearest closed-form minimum, and ``basin``
    (its index, -1 for another stationary point, -2 if unconverged). Raises ArgumentError for bad arguments.
    """
    minima = unconstrained.minima(config.depth, config.weight_decay, config.input_norm)
    check_common(config)
    if config.label not in (1, -1):
        raise ArgumentError("label", config.label, "must be 1 or -1")
    depth, dim, decay = config.depth, config.dim, config.weight_decay
    generator = torch.Generator().manual_seed(config.seed)
    direction = torch.randn(dim, generator=generator, dtype=torch.float64)
    direction /= direction.norm()
    jacobians, classifier = random_starts(config, generator, (dim,))
    data = (config.input_norm * direction).expand(config.starts, dim)

    def objectives() -> torch.Tensor:
        out = propagate(jacobians, data[..., None])[..., 0]
        margin = config.label * (classifier * out).sum(1)
        return torch.nn.functional.softplus(-margin) / decay + penalty(jacobians, classifier)

    values, gradient = minimise(objectives, [jacobians, classifier], steps=config.steps)
    final, final_classifier = jacobians.detach(), classifier.detach()
    aligned = torch.einsum("a,slab,b->sl", direction, final, direction) / final.flatten(2).norm(dim=2)
    distances = torch.stack(
        [
            torch.sqrt(
                (final - point.s * torch.outer(direction, direction)).square().sum((1, 2, 3))
                + (final_classifier - config.label * point.omega * direction).square().sum(1)
            )
            for point in minima
        ],
        dim=1,
    )
    sizes = torch.tensor([(depth * point.s**2 + point.omega**2) ** 0.5 for point in minima], dtype=torch.float64)
    distance, nearest = distances.min(1)
    basin = torch.where(distance <= _AGREEMENT * torch.clamp(sizes[nearest], min=1.0), nearest, OTHER)
    basin = torch.where(gradient <= _GRADIENT_TOLERANCE, basin, UNCONVERGED)
    return xr.Dataset(
        {
            "jacobians": (("seed", "block", "row", "column"), final.numpy()),
            "classifier": (("seed", "row"), final_classifier.numpy()),
            "objective": ("seed", (values * decay).numpy()),
            "gradient_norm": ("seed", gradient.numpy(), {"definition": "of objective / weight decay"}),
            "singular_values": (("seed", "block", "k"), torch.linalg.svdvals(final).numpy()),
            "alignment": ("seed", aligned.amin(1).numpy(), {"definition": "least u^T J_i u / |J_i|_F over blocks"}),
            "distance": ("seed", distance.numpy(), {"definition": "Frobenius, to the nearest closed-form minimum"}),
            "basin": ("seed", basin.numpy(), {"definition": "index of the minimum; -1 other, -2 unconverged"}),
            "minimum_s": ("minimum", [point.s for point in minima]),
            "minimum_objective": ("minimum", [point.objective for point in minima]),
        },
        coords={"seed": np.arange(config.starts), "block": np.arange(1, depth + 1)},
        attrs={"depth": depth, "weight_decay": decay, "input_norm": config.input_norm},
    )


def rows(dataset: xr.Dataset) -> list[dict]:
    """One plain dictionary for each closed-form minimum, by objective, then "other" and "unconverged" if any."""
    order = np.argsort(dataset["minimum_objective"].values, kind="stable")
    names = {int(index): "global minimum" if rank == 0 else "local minimum" for rank, index in enumerate(order)}
    names |= {OTHER: "other", UNCONVERGED: "unconverged"}
    result = []
    for basin, name in names.items():
        here = dataset.isel(seed=np.flatnonzero(dataset["basin"].values == basin))
        row = {"basin": name, "runs": here.sizes["seed"], "fraction": here.sizes["seed"] / dataset.sizes["seed"]}
        if basin >= 0:
            row |= {"closed_form_s": float(dataset["minimum_s"][basin]),
                    "closed_form_objective": float(dataset["minimum_objective"][basin])}  # fmt: skip
        elif not here.sizes["seed"]:
            continue
        if here.sizes["seed"]:
            top = here["singular_values"].isel(k=0)
            row |= {
                "s_least": float(top.min()),
                "s_greatest": float(top.max()),
                "second_singular_value": float(here["singular_values"].isel(k=1).max()) if here.sizes["k"] > 1 else 0.0,
                "alignment": float(here["alignment"].min()),
                "distance": float(here["distance"].max()),
                "gradient_norm": float(here["gradient_norm"].max()),
                "objective": float(here["objective"].min()),
            }
        result.append(row)
    return result


def agrees(dataset: xr.Dataset) -> bool:
    """Whether the closed form passed: some run converged, none went below it, none ended elsewhere (dim >= 2).

    At dim = 1 flipped minima exist [U6's counterexample, new], so "other" is no failure there.
    """
    basin = dataset["basin"].values
    least = float(dataset["minimum_objective"].min())
    below = bool((dataset["objective"].values < least - 1e-9 * max(1.0, least)).any())
    elsewhere = dataset.sizes["row"] > 1 and bool((basin == OTHER).any())
    return bool((basin >= 0).any()) and not below and not elsewhere


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point of ``python -m sims.descent``; returns the exit code (1: what is proved failed)."""
    config, output = command.parse(DescentConfig, "sims.descent", __doc__ or "", argv)
    plots.check_path(output.plot)
    if output.out:
        records.check_vacant(output.out, overwrite=output.overwrite)
    if config.classes is None:
        dataset = descend(config)
        table, passed = rows(dataset), agrees(dataset)
        result = {"rows": table, "agrees": passed}
        show = _show
        figure = plots.descent
    else:
        dataset = class_descent.descend_classes(config)
        result = {
            "known_shapes": class_descent.known_shapes(config),
            "rows": class_descent.rows(dataset),
            "agrees": class_descent.agrees(dataset),
        }
        show = class_descent.show
        figure = plots.class_descent
    if output.json:
        command.print_json(result)
    else:
        show(config, result)
    if output.plot:
        plots.save(figure(dataset), output.plot)
    if output.out:
        records.save(output.out, "descent", config, dataset, overwrite=output.overwrite)
    return 0 if result["agrees"] else 1


def _show(config: DescentConfig, result: dict) -> None:
    command.print_table(
        f"UJM, binary: L = {config.depth}, D = {config.dim}, lam = {config.weight_decay:g}, "
        f"delta = {config.input_norm:g}, {config.starts} starts",
        ["basin", "fraction", "s (closed form)", "s (descent)", "second s", "alignment", "distance",
         "gradient", "objective"],
        [_cells(row) for row in result["rows"]],
        note="distance to the closed form and gradient of objective / lam: the largest in the basin; second s: "
        "largest; alignment: least. " + ("Closed form confirmed." if result["agrees"] else "CLOSED FORM FAILED."),
    )  # fmt: skip


def _cells(row: dict) -> list[str]:
    closed = f"{row['closed_form_s']:.8f}" if "closed_form_s" in row else "-"
    head = [row["basin"], f"{row['fraction']:.3f}", closed]
    if not row["runs"]:
        return [*head, *["-"] * 5, f"({row['closed_form_objective']:.8f})"]
    span = f"{row['s_least']:.8f}" + ("" if row["s_greatest"] - row["s_least"] < 1e-8 else f"..{row['s_greatest']:.8f}")
    return [*head, span, f"{row['second_singular_value']:.1e}", f"{row['alignment']:.8f}",
            f"{row['distance']:.1e}", f"{row['gradient_norm']:.1e}", f"{row['objective']:.8f}"]  # fmt: skip


if __name__ == "__main__":
    command.run(main)
