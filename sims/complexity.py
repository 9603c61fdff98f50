"""Complexity of the ResNet spin glass against beta [LS Fig. 1(f)], and the exact numbers at finite N.

theta_k is the exponent of the expected number of critical points of index k of the mixture eps_r(beta). LS Eq. 31
(recovered) is drawn as printed beside the true value: below beta_c the landscape is trivial (R < 1), Eq. 31 turns
negative, and yet every function has a minimum [new]. (1/N) log E Crt_N is exact at every N [Kac-Rice, new]. All
exponents are annealed: of the expected number, not of a typical one.

Example: python -m sims.complexity --p 10 100 --n 5 50 500 --plot fig1f.png
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import xarray as xr
from tqdm import tqdm

from sims import command, plots, records
from theory import complexity
from theory.arguments import ArgumentError, one_of, real_number, whole_number
from theory.kac_rice import expected_critical_points
from theory.mixtures import LAWS, Mixture, trivial_threshold

_ROWS = 9


@dataclass(frozen=True)
class ComplexityConfig:
    """Which mixtures, and at which sizes."""

    p: tuple[int, ...] = (10, 100)
    """Depths of the networks, each at least 2."""
    law: Literal["printed", "independent"] = "printed"
    """Depth law: LS Eq. 16, or that of independent layers."""
    n: tuple[int, ...] = (5, 50, 500)
    """Sizes N of the exact E Crt_N."""
    index: int = 0
    """Morse index k of theta_k."""
    least_beta: float = 0.005
    """The path gain beta runs from here ..."""
    most_beta: float = 3.0
    """... to here, evenly in logarithm,"""
    points: int = 49
    """in this many values."""
    seed: int = 0
    """Recorded with the run; nothing is drawn."""


def complexity_dataset(config: ComplexityConfig) -> xr.Dataset:
    """Exponents over (p, beta) and ``log_expected_per_n`` = (1/N) log E Crt_N over (p, beta, n); thresholds by p.

    ``printed`` (LS Eq. 31), ``true`` (theta_k of ``index``), ``total`` (all indices), ``R``, and by p
    ``trivial_threshold`` = beta_c. Raises ArgumentError for bad options.
    """
    for name, values in (("p", config.p), ("n", config.n)):
        if not values:
            raise ArgumentError(name, values, "give at least one value")
    depths = [whole_number("p", p, least=2) for p in config.p]
    sizes = [whole_number("n", n, least=2) for n in config.n]
    law, index = one_of("law", config.law, LAWS), whole_number("index", config.index, least=0)
    least = real_number("least_beta", config.least_beta, above=0.0)
    betas = np.geomspace(least, real_number("most_beta", config.most_beta, above=least),
                         whole_number("points", config.points, least=2))  # fmt: skip
    mixtures = [[Mixture.from_depth_law(p, float(beta), law=law) for beta in betas] for p in depths]
    exact = np.empty((len(depths), len(betas), len(sizes)))
    places = list(np.ndindex(exact.shape))
    for i, j, m in tqdm(places, desc="Kac-Rice", leave=False, disable=None):
        exact[i, j, m] = expected_critical_points(sizes[m], mixtures[i][j]).log_value / sizes[m]
    both = [[complexity.ls_equation_31(mixture, index) for mixture in row] for row in mixtures]
    grid = ("p", "beta")
    return xr.Dataset(
        {
            "printed": (grid, [[each.printed for each in row] for row in both], {"source": "LS Eq. 31 (recovered)"}),
            "true": (grid, [[each.true for each in row] for row in both], {"source": "theta_k (new for R < 1)"}),
            "total": (grid, [[complexity.total(mixture) for mixture in row] for row in mixtures]),
            "R": (grid, [[mixture.ratio for mixture in row] for row in mixtures]),
            "regime": (grid, [[mixture.regime for mixture in row] for row in mixtures]),
            "log_expected_per_n": ((*grid, "n"), exact, {"definition": "(1/N) log E Crt_N, exact"}),
            "trivial_threshold": ("p", [trivial_threshold(p, law) for p in depths]),
        },
        coords={"p": depths, "beta": betas, "n": sizes},
        attrs={"law": law, "index": index},
    )


def rows(dataset: xr.Dataset) -> list[dict]:
    """One plain dictionary for each (p, beta)."""
    return [
        {
            "p": int(p), "beta": float(beta), "R": float(at["R"]), "regime": str(at["regime"].item()),
            "printed": float(at["printed"]), "true": float(at["true"]), "total": float(at["total"]),
            "log_expected_per_n": {str(int(n)): float(at["log_expected_per_n"].sel(n=n)) for n in dataset["n"].values},
        }
        for p in dataset["p"].values
        for beta in dataset["beta"].values
        for at in [dataset.sel(p=p, beta=beta)]
    ]  # fmt: skip


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point of ``python -m sims.complexity``; returns the exit code."""
    config, output = command.parse(ComplexityConfig, "sims.complexity", __doc__ or "", argv)
    plots.check_path(output.plot)
    if output.out:
        records.check_vacant(output.out, overwrite=output.overwrite)
    dataset = complexity_dataset(config)
    if output.plot:
        plots.save(plots.complexity(dataset), output.plot)
    if output.out:
        records.save(output.out, "complexity", config, dataset, overwrite=output.overwrite)
    thresholds = {str(int(p)): float(dataset["trivial_threshold"].sel(p=p)) for p in dataset["p"].values}
    finite = {p: beta if np.isfinite(beta) else None for p, beta in thresholds.items()}
    if output.json:
        command.print_json({"trivial_threshold": finite, "rows": rows(dataset)})
        return 0
    chosen = np.unique(np.linspace(0, dataset.sizes["beta"] - 1, _ROWS).astype(int))
    command.print_table(
        f"Complexity, {config.law} depth law, index {config.index}",
        ["p", "beta", "R", "regime", "LS Eq. 31", "theta_k", "theta, all", *(f"N = {n}" for n in config.n)],
        [
            [str(row["p"]), f"{row['beta']:.4g}", f"{row['R']:.4g}", row["regime"], f"{row['printed']:+.4f}",
             f"{row['true']:+.4f}", f"{row['total']:.4f}", *(f"{value:.4f}" for value in row["log_expected_per_n"].values())]
            for row in rows(dataset.isel(beta=chosen))
        ],
        note="Last columns: (1/N) log E Crt_N, exact. LS Eq. 31 as printed (paper), theta_k and theta new below beta_c = "
        + ", ".join(f"{beta:.6g} (p = {p})" for p, beta in thresholds.items())
        + f". {len(chosen)} of {dataset.sizes['beta']} betas shown; --json gives all.",
    )  # fmt: skip
    return 0


if __name__ == "__main__":
    command.run(main)
