"""Critical points of sampled spin-glass Hamiltonians, counted by index against the exact Kac-Rice numbers.

The Hamiltonian is LS's [Eqs. 26-28, recovered], r = 1 included: pure p-spin, or with --beta the mixture of a
ResNet's depth law. All critical points of every instance are found and checked by the Euler characteristic of
the sphere; instances that fail it are reported and left out. Exit code 1: Kac-Rice missed, or more than 1 in 100
instances incomplete. With --descend: gradient descent at any N and p instead (every draw exact, see
sims.lazy_reveal), energies H / N against the annealed thresholds.

Example: python -m sims.landscape --p 3 --n 5 --instances 100
Example: python -m sims.landscape --p 50 --beta 1 --n 400 --descend --plot descent.png
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
import xarray as xr
from scipy import stats
from tqdm import tqdm

from sims import command, critical_points, hamiltonians, lazy_reveal, plots, records
from theory import complexity
from theory.arguments import ArgumentError, real_number, whole_number
from theory.kac_rice import CriticalPoints, expected_by_index, expected_critical_points
from theory.mixtures import Mixture

_FALSE_ALARM = 1e-3
_NUMBERS_AT_ONCE = 4_000_000
_LARGEST_STEPS = 40
_LARGEST_COUNT = 5000
_MOST_INCOMPLETE = 0.01


@dataclass(frozen=True)
class LandscapeConfig:
    """Which Hamiltonians to sample, and what to do with them."""

    p: int = 3
    """Largest degree; without --beta the pure p-spin model."""
    beta: float | None = None
    """Take the mixture of a ResNet of depth p with this path gain."""
    law: Literal["printed", "independent"] = "printed"
    """Which depth law --beta means: LS Eq. 16, or that of independent layers."""
    n: int | None = None
    """Variables N; the sphere is S^{N-1}. If not given, 5 to count and 400 to descend."""
    instances: int = 100
    """Hamiltonians, at least 2 (with --descend: runs, each on its own Hamiltonian)."""
    starts: int | None = None
    """Newton starts a round and instance; six times the expected number of points if not given."""
    descend: bool = False
    """Descend instead of counting."""
    steps: int = 12
    """Gradient steps, at most 40 and below N."""
    rate: float = 0.5
    """Step size in units of 1 / sqrt(N nu''), half the inverse of the Hessian's largest bulk eigenvalue."""
    seed: int = 0
    """Seed of Hamiltonians and starts."""

    @property
    def size(self) -> int:
        """N: the one given, or one that suits the work."""
        return self.n if self.n is not None else 400 if self.descend else 5


def mixture(config: LandscapeConfig) -> Mixture:
    """The mixture of a configuration. Raises ArgumentError."""
    p = whole_number("p", config.p)
    if config.beta is None:
        return Mixture.pure(p)
    return Mixture.from_depth_law(p, config.beta, law=config.law)


def count(config: LandscapeConfig) -> xr.Dataset:
    """Critical points of every instance; a Dataset over (instance, index, point).

    By (instance, index): ``counts``. By instance: ``complete`` (Euler holds and nothing new turned up) and
    ``euler_sum``. By (instance, point), padded with NaN and -1: ``energy`` H / N and ``morse_index``. By index:
    ``mean`` and ``standard_error`` over complete instances, ``kac_rice``, ``kac_rice_standard_error`` and ``z``;
    the same for all indices together as attributes ``total_...``. Raises ArgumentError for bad options.
    """
    drawn, n, instances = mixture(config), whole_number("n", config.size, least=2), config.instances
    whole_number("instances", instances, least=2)
    whole_number("seed", config.seed, least=0)
    total = expected_critical_points(n, drawn)
    if total.value > _LARGEST_COUNT:
        raise ArgumentError("n", n, f"{total.value:.3g} critical points an instance are expected; choose a smaller n")
    by_index = expected_by_index(n, drawn)
    starts = max(64, math.ceil(6 * total.value)) if config.starts is None else whole_number("starts", config.starts)
    generator = torch.Generator().manual_seed(config.seed)
    sampled = hamiltonians.sample(n, drawn.weights, instances, generator)
    chunk = max(1, _NUMBERS_AT_ONCE // (starts * len(sampled.exponents)))
    found = []
    for first in tqdm(range(0, instances, chunk), desc="instances", leave=False, disable=None):
        found += critical_points.find(sampled.part(slice(first, first + chunk)), starts, generator, drawn.ratio + 1)
    counts = np.array([points.counts() for points in found])
    complete = np.array([points.complete for points in found])
    kept = counts[complete]
    if len(kept) < 2:
        raise ArgumentError("starts", starts, f"only {len(kept)} instances are complete; give more starts")
    comparisons = n + 1
    mean, error, z = _compared(kept, by_index)
    total_mean, total_error, total_z = _compared(kept.sum(1, keepdims=True), (total,))
    return xr.Dataset(
        {
            "counts": (("instance", "index"), counts),
            "complete": ("instance", complete, {"definition": "Euler relation holds, last round found nothing new"}),
            "euler_sum": ("instance", [points.euler_sum() for points in found]),
            "energy": (("instance", "point"), _padded([points.values / math.sqrt(n) for points in found], np.nan)),
            "morse_index": (("instance", "point"), _padded([points.index for points in found], -1)),
            "mean": ("index", mean),
            "standard_error": ("index", error),
            "kac_rice": ("index", [each.value for each in by_index]),
            "kac_rice_standard_error": ("index", [each.standard_error for each in by_index]),
            "z": ("index", z),
        },
        coords={"index": np.arange(n)},
        attrs={
            "n": n, "p": config.p, "R": drawn.ratio, "regime": drawn.regime, "starts": starts,
            "euler_characteristic": critical_points.euler_characteristic(n),
            "total_mean": total_mean[0], "total_standard_error": total_error[0], "total_kac_rice": total.value,
            "total_z": total_z[0], "threshold": float(stats.norm.isf(_FALSE_ALARM / (2 * comparisons))),
        },
    )  # fmt: skip


def descend(config: LandscapeConfig) -> xr.Dataset:
    """Gradient descent from random points; a Dataset over (run, step): ``energy`` H / N and ``slope`` / sqrt(N).

    Raises ArgumentError for bad options.
    """
    drawn = mixture(config)
    n = whole_number("n", config.size, least=2)
    steps = whole_number("steps", config.steps, most=min(_LARGEST_STEPS, n - 1))
    runs = whole_number("instances", config.instances)
    rate = real_number("rate", config.rate, above=0.0) / math.sqrt(n * max(drawn.second, drawn.first))
    whole_number("seed", config.seed, least=0)
    streams = np.random.SeedSequence(config.seed).spawn(runs)
    paths = [
        lazy_reveal.descend(n, drawn.weights, steps, rate, np.random.default_rng(stream))
        for stream in tqdm(streams, desc="runs", leave=False, disable=None)
    ]
    return xr.Dataset(
        {
            "energy": (("run", "step"), np.array([path.values for path in paths]) / math.sqrt(n)),
            "slope": (("run", "step"), np.array([path.slopes for path in paths]) / math.sqrt(n)),
        },
        coords={"step": np.arange(steps + 1)},
        attrs={
            "n": n,
            "p": config.p,
            "R": drawn.ratio,
            "regime": drawn.regime,
            "bulk_energy": complexity.bulk_energy(drawn),
        },
    )


def rows(dataset: xr.Dataset) -> list[dict]:
    """One plain dictionary for each index and one for all; after --descend one for each step."""
    if "step" in dataset.dims:
        runs = dataset.sizes["run"]
        return [
            {"step": int(step), "energy": float(at["energy"].mean()), "energy_sd": float(at["energy"].std()),
             "slope": float(at["slope"].mean()), "runs": runs}
            for step, at in dataset.groupby("step")
        ]  # fmt: skip
    names = ("mean", "standard_error", "kac_rice", "z")
    result = [{"index": int(k), **{name: float(dataset[name][k]) for name in names}} for k in dataset["index"].values]
    return [*result, {"index": "all", **{name: float(dataset.attrs[f"total_{name}"]) for name in names}}]


def verdict(dataset: xr.Dataset) -> dict:
    """Whether the counts are those of Kac-Rice: max |z| within the bound and at most 1 instance in 100 incomplete."""
    worst = max(float(abs(dataset["z"]).max()), abs(dataset.attrs["total_z"]))
    incomplete = int((~dataset["complete"]).sum())
    few = incomplete <= _MOST_INCOMPLETE * dataset.sizes["instance"]
    return {
        "agrees": bool(worst <= dataset.attrs["threshold"] and few), "max_z": worst,
        "threshold": dataset.attrs["threshold"], "comparisons": dataset.sizes["index"] + 1,
        "instances": dataset.sizes["instance"], "incomplete": incomplete,
        "incomplete_instances": np.flatnonzero(~dataset["complete"].values).tolist(),
        "R": dataset.attrs["R"], "regime": dataset.attrs["regime"], "starts": dataset.attrs["starts"],
    }  # fmt: skip


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point of ``python -m sims.landscape``; returns the exit code (1: Kac-Rice missed)."""
    config, output = command.parse(LandscapeConfig, "sims.landscape", __doc__ or "", argv)
    plots.check_path(output.plot)
    if output.out:
        records.check_vacant(output.out, overwrite=output.overwrite)
    dataset = descend(config) if config.descend else count(config)
    table, found = rows(dataset), None if config.descend else verdict(dataset)
    if output.plot:
        plots.save(plots.landscape(dataset), output.plot)
    if output.out:
        records.save(output.out, "landscape", config, dataset, overwrite=output.overwrite)
    if output.json:
        command.print_json({"rows": table, "verdict": found})
    elif found is None:
        command.print_table(
            f"Descent by lazy reveal: N = {config.size}, p = {config.p}, {dataset.attrs['regime']}",
            ["step", "H / N", "sd over runs", "|grad| / sqrt N"],
            [[str(row["step"]), *(f"{row[name]:.4f}" for name in ("energy", "energy_sd", "slope"))] for row in table],
            note=f"{config.instances} runs, each on its own Hamiltonian; -E'_inf = {-dataset.attrs['bulk_energy']:.4f} "
            "is the annealed energy below which typical critical points have a fixed index.",
        )
    else:
        command.print_table(
            f"Critical points on S^{config.size - 1}: p = {config.p}, R = {found['R']:.4g} ({found['regime']})",
            ["index", "found", "Kac-Rice", "z"],
            [
                [str(row["index"]), f"{row['mean']:.4f} +- {row['standard_error']:.4f}", f"{row['kac_rice']:.4f}",
                 f"{row['z']:+.2f}"]
                for row in table
            ],
            note=_note(found),
        )  # fmt: skip
    return 0 if found is None or found["agrees"] else 1


def _note(found: dict) -> str:
    which = f" (instances {', '.join(map(str, found['incomplete_instances'][:10]))})" if found["incomplete"] else ""
    return (
        f"{found['instances']} instances, {found['incomplete']} incomplete and left out{which}; max |z| {found['max_z']:.2f}, "
        f"bound {found['threshold']:.2f} for {found['comparisons']} comparisons. Kac-Rice (new at finite N) "
        + ("confirmed." if found["agrees"] else "MISSED.")
    )


def _compared(counts: np.ndarray, expected: Sequence[CriticalPoints]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Means over instances (columns of ``counts``), standard errors and z against Kac-Rice."""
    instances = len(counts)
    mean = counts.mean(0)
    # Counts are whole: a mean that never varied is still known to no better than one count in all instances.
    error = np.maximum(counts.std(0, ddof=1) / math.sqrt(instances), 1 / instances)
    value = np.array([each.value for each in expected])
    return mean, error, (mean - value) / np.hypot(error, [each.standard_error for each in expected])


def _padded(lists: list[np.ndarray], fill: float) -> np.ndarray:
    longest = max(map(len, lists))
    return np.array([np.pad(each, (0, longest - len(each)), constant_values=fill) for each in lists])


if __name__ == "__main__":
    command.run(main)
