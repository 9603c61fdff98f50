"""The depth law eps_r of a residual network seen as a spin glass, and its shift with the BatchNorm scale C.

eps_r = C(p-1, r-1) beta^r / z is the weight of the paths of length r [LS Eq. 16, recovered]. The table gives,
for each beta, where the law peaks (two values at a tie), its largest amplitude, mean and standard deviation
under pi = eps^2, the depth fraction mean / p and the limit beta/(1+beta) of LS Theorem 1.

Example: python -m sims.epsilon --beta 0.1 0.5 2 --p 100 --plot fig1.png
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import xarray as xr

from sims import command, plots, records
from theory import depth_law
from theory.arguments import ArgumentError, real_number, whole_number


@dataclass(frozen=True)
class EpsilonConfig:
    """Which depth laws to compute."""

    beta: tuple[float, ...] = (0.1, 0.5, 2.0)
    """Path gains beta = rho n C / sqrt(Lambda), each >= 0."""
    p: int = 100
    """Depth of the network in layers; paths have length 1..p."""
    scale: tuple[float, ...] = (1.0,)
    """BatchNorm scales C > 0; each multiplies every beta."""
    seed: int = 0
    """Recorded with the run; the law is exact, nothing is drawn."""


def depth_law_dataset(config: EpsilonConfig) -> xr.Dataset:
    """The laws as an xarray.Dataset over (beta, scale, r): epsilon, and by (beta, scale) its peak and moments.

    Raises ArgumentError for bad beta, p or scale.
    """
    p = whole_number("p", config.p)
    for name, values in (("beta", config.beta), ("scale", config.scale)):
        if not values:
            raise ArgumentError(name, values, "give at least one value")
    betas = [real_number("beta", beta, least=0.0) for beta in config.beta]
    scales = [real_number("scale", scale, above=0.0) for scale in config.scale]
    gains = [[real_number("beta * scale", beta * scale, least=0.0) for scale in scales] for beta in betas]
    modes = [[depth_law.modes(p, gain) for gain in row] for row in gains]
    by_pair = ("beta", "scale")
    return xr.Dataset(
        {
            "epsilon": (
                (*by_pair, "r"),
                np.array([[depth_law.epsilon(p, gain) for gain in row] for row in gains]),
                {"definition": "amplitude eps_r, sum of squares 1", "source": "LS Eq. 16 (recovered)"},
            ),
            "mode": (by_pair, np.array([[pair[0] for pair in row] for row in modes])),
            "tied_mode": (by_pair, np.array([[pair[-1] for pair in row] for row in modes])),
            "mean": (by_pair, np.array([[depth_law.mean(p, gain) for gain in row] for row in gains])),
            "sd": (by_pair, np.array([[math.sqrt(depth_law.variance(p, gain)) for gain in row] for row in gains])),
            "limit": (by_pair, np.array([[depth_law.depth_fraction_limit(gain) for gain in row] for row in gains])),
        },
        coords={"beta": betas, "scale": scales, "r": np.arange(1, p + 1)},
        attrs={"p": p},
    )


def rows(dataset: xr.Dataset) -> list[dict]:
    """One plain dictionary for each (beta, scale): what the table and ``--json`` show."""
    result = []
    for i, beta in enumerate(dataset.beta.values):
        for j, scale in enumerate(dataset.scale.values):
            at = dataset.isel(beta=i, scale=j)
            result.append({
                "beta": float(beta),
                "scale": float(scale),
                "modes": sorted({int(at["mode"]), int(at["tied_mode"])}),
                "max_epsilon": float(at["epsilon"].max()),
                "mean": float(at["mean"]),
                "sd": float(at["sd"]),
                "depth_fraction": float(at["mean"]) / dataset.attrs["p"],
                "limit": float(at["limit"]),
            })  # fmt: skip
    return result


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point of ``python -m sims.epsilon``; returns the exit code."""
    config, output = command.parse(EpsilonConfig, "sims.epsilon", __doc__ or "", argv)
    plots.check_path(output.plot)
    if output.out:
        records.check_vacant(output.out, overwrite=output.overwrite)
    dataset = depth_law_dataset(config)
    table = rows(dataset)
    if output.plot:
        plots.save(plots.depth_laws(config.p, config.beta, config.scale), output.plot)
    if output.out:
        records.save(output.out, "epsilon", config, dataset, overwrite=output.overwrite)
    if output.json:
        command.print_json({"p": config.p, "rows": table})
    else:
        command.print_table(
            f"Depth law of LS Eq. 16 (recovered), p = {config.p}",
            ["beta", "scale C", "mode", "max eps", "mean r", "sd", "depth fraction", "limit"],
            [
                [f"{row['beta']:g}", f"{row['scale']:g}", " = ".join(map(str, row["modes"])),
                 f"{row['max_epsilon']:.4f}", f"{row['mean']:.4f}", f"{row['sd']:.4f}",
                 f"{row['depth_fraction']:.4f}", f"{row['limit']:.4f}"]
                for row in table
            ],
            note="mean and sd of r under pi = eps^2; depth fraction = mean / p; limit = beta C / (1 + beta C)",
        )  # fmt: skip
    return 0


if __name__ == "__main__":
    command.run(main)
