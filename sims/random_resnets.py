"""Which random ResNet has the depth law eps_r? Networks are run, and their output energy measured by path length.

LS Eq. 16 (recovered) says that paths of length r carry the energy eps_r^2 ~ C(p-1, r-1)^2 beta^2r, and the spin
glass needs the outputs Y_r of different r to be independent. Six ways of filling a network with weights are
measured against the law that each really has [new] and against the printed one, at
the beta that LS states and at the beta that suits it best. Exit code 1: a scheme missed its own law.

independent: every W_l Gaussian; tied: one Gaussian W in all residual layers; tuple: an input for each tuple of
unique weights [LS Eq. 13]; path: an input for each path (A1); latin: w_{(i+j) mod Lambda} (exact A2-A3); placed:
each edge takes one of Lambda weights at random.

Example: python -m sims.random_resnets --scheme independent --gates 0.7 --plot energy.png
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
import xarray as xr
from scipy import optimize, stats
from tqdm import tqdm

from sims import command, plots, records, resnet_schemes, scheme_laws
from sims.resnet_schemes import Ensemble
from theory import depth_law
from theory.arguments import ArgumentError, one_of, real_number, whole_number

# Chance that one run calls a true law false, over all its comparisons.
_FALSE_ALARM = 1e-3
# Correlations between lengths that finite width leaves are O(1/n); a claim of independence means less than this.
_CORRELATED = 0.1
_LARGEST_SIGNAL = 200_000
_NUMBERS_AT_ONCE = 4_000_000
_SHARED = ("tuple", "latin", "placed")


@dataclass(frozen=True)
class RandomResnetsConfig:
    """Which networks to draw, and how many."""

    scheme: Literal["independent", "tied", "tuple", "path", "latin", "placed"] = "independent"
    """How weights (and inputs) are drawn."""
    gates: float = 1.0
    """Chance rho that a neuron's gate is open, 0 < rho <= 1."""
    average_gates: bool = False
    """Put rho in place of every gate [LS Eq. 10] instead of drawing gates."""
    gain: float = 1.0
    """s > 0 of an ungated branch: sqrt(n) sd(W), or n C / sqrt(Lambda); LS's beta is rho s."""
    p: int = 6
    """Depth in layers; paths have length 1..p."""
    width: int | None = None
    """Neurons n a layer; 64 if not given, 3 for path (which walks all n (1+n)^(p-1) paths)."""
    unique: int = 4
    """Lambda unique weights, for tuple, latin (where it must divide n) and placed."""
    networks: int = 2000
    """Random networks, at least 2."""
    seed: int = 0
    """Seed of weights, inputs and gates."""


def ensemble(config: RandomResnetsConfig) -> Ensemble:
    """The checked ensemble of a configuration. Raises ArgumentError, naming the option and the remedy."""
    scheme = one_of("scheme", config.scheme, resnet_schemes.SCHEMES)
    p = whole_number("p", config.p, least=2, most=64)
    width = whole_number("width", config.width if config.width is not None else (3 if scheme == "path" else 64))
    unique = whole_number("unique", config.unique)
    rho = real_number("gates", config.gates, above=0.0)
    if rho > 1:
        raise ArgumentError("gates", rho, "is a probability; give at most 1")
    averaged = config.average_gates
    if scheme in _SHARED and rho < 1 and not averaged:
        raise ArgumentError("gates", rho, f"the {scheme} scheme is stated for averaged gates; add --average-gates")
    if scheme == "latin" and width % unique:
        raise ArgumentError("unique", unique, f"must divide the width {width}, so that weights are used equally")
    size = {"path": float(width) * (1 + float(width)) ** (p - 1), "tuple": float(unique) ** p}.get(scheme, 0.0)
    if size > _LARGEST_SIGNAL:
        name = "width" if scheme == "path" else "unique"
        raise ArgumentError(name, width if scheme == "path" else unique,
                            f"needs {size:.1e} inputs a network at p = {p}; choose a smaller {name} or p")  # fmt: skip
    whole_number("networks", config.networks, least=2)
    whole_number("seed", config.seed, least=0)
    return Ensemble(p, width, unique, real_number("gain", config.gain, above=0.0), rho, averaged)


def measure(config: RandomResnetsConfig) -> xr.Dataset:
    """Energy by path length against the laws; a Dataset over (r, other_r, law).

    By r: ``energy`` = E Y_r^2 and its standard error; ``share`` of the sum, and its standard error (a ratio of
    means, by linearisation). By (law, r): the ``predicted`` share and ``z`` (tied: allowing for finite width); law
    is "scheme" (its own), "printed" (LS Eq. 16 at beta = rho s) or "printed, best beta" (the beta whose mean length is the measured
    one, in ``best_beta``). By (r, other_r): ``correlation`` of Y_r and Y_other_r, and its standard error.
    Raises ArgumentError for bad options.
    """
    drawn = ensemble(config)
    weights = resnet_schemes.unique_weights(drawn, config.seed)
    chunk = max(2, _NUMBERS_AT_ONCE // _numbers_a_network(config.scheme, drawn))
    sizes = [min(chunk, config.networks - start) for start in range(0, config.networks, chunk)]
    seeds = np.random.SeedSequence(config.seed).generate_state(len(sizes))
    products = []
    for size, seed in zip(tqdm(sizes, desc="networks", leave=False, disable=None), seeds, strict=True):
        output = resnet_schemes.outputs(config.scheme, drawn, size, weights, int(seed))
        products.append(torch.einsum("brn,bsn->brs", output, output) / output.shape[-1])
    pairs = torch.cat(products).numpy()
    energies = np.einsum("brr->br", pairs)
    mean, count = energies.mean(0), config.networks
    share = mean / mean.sum()
    # Energies that are multiples of one variable have shares without spread; rounding is then the error.
    share_se = np.maximum(_standard_error(energies - share * energies.sum(1, keepdims=True)) / mean.sum(), 1e-12)
    # A share feels the bias of its own energy and of the sum.
    bias = scheme_laws.finite_width_error(config.scheme, drawn)
    total_se = np.hypot(share_se, share * (bias + share @ bias))
    scale = np.sqrt(np.outer(mean, mean))
    correlation = pairs.mean(0) / scale
    # The same linearisation: a correlation of 1 by construction then has no error.
    relative = energies / mean
    spread = _standard_error(pairs / scale - correlation * (relative[:, :, None] + relative[:, None]) / 2)
    beta = drawn.rho * drawn.gain
    best = _best_beta(drawn.p, float(share @ np.arange(1, drawn.p + 1)))
    own = scheme_laws.energies(config.scheme, drawn, weights.numpy())
    laws = np.array([own / own.sum(), depth_law.energy(drawn.p, beta), depth_law.energy(drawn.p, best)])
    return xr.Dataset(
        {
            "energy": ("r", mean, {"definition": "E Y_r^2 over networks"}),
            "energy_standard_error": ("r", _standard_error(energies)),
            "share": ("r", share),
            "share_standard_error": ("r", share_se),
            "predicted": (("law", "r"), laws),
            "z": (("law", "r"), (share - laws) / total_se),
            "correlation": (("r", "other_r"), correlation),
            "correlation_standard_error": (("r", "other_r"), spread),
        },
        coords={"r": np.arange(1, drawn.p + 1), "law": ["scheme", "printed", "printed, best beta"]},
        attrs={
            "scheme": config.scheme, "p": drawn.p, "width": drawn.width, "networks": count, "beta": beta,
            "best_beta": best, "threshold": float(stats.norm.isf(_FALSE_ALARM / (2 * drawn.p))),
        },
    )  # fmt: skip


def verdict(dataset: xr.Dataset) -> dict:
    """Whether the scheme met its own law, and whether eps_r as printed is what it measures; plain numbers.

    A law holds when max |z| over r is at most ``threshold`` (Bonferroni over the p shares, false alarm 1e-3).
    ``printed`` needs LS's own beta and outputs of different lengths that are not correlated.
    """
    threshold, worst = dataset.attrs["threshold"], abs(dataset["z"]).max("r").values
    between = dataset["correlation"].values - np.eye(dataset.sizes["r"])
    index = np.unravel_index(np.abs(between).argmax(), between.shape)
    spread = float(dataset["correlation_standard_error"].values[index])
    uncorrelated = abs(between[index]) - threshold * spread <= _CORRELATED
    return {
        "scheme_law": bool(worst[0] <= threshold), "scheme_law_max_z": float(worst[0]),
        "printed": bool(worst[1] <= threshold and uncorrelated), "printed_max_z": float(worst[1]),
        "printed_at_best_beta_max_z": float(worst[2]), "best_beta": dataset.attrs["best_beta"],
        "beta": dataset.attrs["beta"], "largest_correlation": float(between[index]),
        "correlation_standard_error": spread, "lengths_uncorrelated": bool(uncorrelated),
        "threshold": threshold, "comparisons": dataset.sizes["r"], "networks": dataset.attrs["networks"],
    }  # fmt: skip


def rows(dataset: xr.Dataset) -> list[dict]:
    """One plain dictionary for each path length."""
    result = []
    for index, r in enumerate(dataset["r"].values):
        at = dataset.isel(r=index)
        row = {"r": int(r)}
        row |= {name: float(at[name]) for name in ("energy", "energy_standard_error", "share", "share_standard_error")}
        for law, key in (("scheme", "law"), ("printed", "printed"), ("printed, best beta", "best_printed")):
            row |= {key: float(at["predicted"].sel(law=law)), f"{key}_z": float(at["z"].sel(law=law))}
        result.append(row)
    return result


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point of ``python -m sims.random_resnets``; returns the exit code (1: a scheme missed its own law)."""
    config, output = command.parse(RandomResnetsConfig, "sims.random_resnets", __doc__ or "", argv)
    plots.check_path(output.plot)
    if output.out:
        records.check_vacant(output.out, overwrite=output.overwrite)
    dataset = measure(config)
    table, found = rows(dataset), verdict(dataset)
    if output.plot:
        plots.save(plots.energy_by_length(dataset), output.plot)
    if output.out:
        records.save(output.out, "random_resnets", config, dataset, overwrite=output.overwrite)
    if output.json:
        command.print_json({"rows": table, "verdict": found})
    else:
        command.print_table(
            f"{config.scheme}: energy by path length, {config.networks} networks, n = {dataset.attrs['width']}, "
            f"LS's beta = {found['beta']:g}",
            ["r", "energy", "share", "its law", "z", "printed", "z", f"best beta {found['best_beta']:.4g}", "z"],
            [
                [str(row["r"]), f"{row['energy']:.4g} +- {row['energy_standard_error']:.1g}",
                 f"{row['share']:.4f} +- {row['share_standard_error']:.1g}",
                 f"{row['law']:.4f}", f"{row['law_z']:+.3g}", f"{row['printed']:.4f}", f"{row['printed_z']:+.3g}",
                 f"{row['best_printed']:.4f}", f"{row['best_printed_z']:+.3g}"]
                for row in table
            ],
            note=_note(found),
        )  # fmt: skip
    return 0 if found["scheme_law"] else 1


def _note(found: dict) -> str:
    own = "confirmed" if found["scheme_law"] else "FAILED"
    return (
        f"The scheme's own law (new): {own}, max |z| {found['scheme_law_max_z']:.3g}. "
        f"eps_r as printed (paper) is what this scheme measures: {'yes' if found['printed'] else 'no'} "
        f"(max |z| {found['printed_max_z']:.3g} at LS's beta, {found['printed_at_best_beta_max_z']:.3g} at the best; "
        f"bound {found['threshold']:.1f} for {found['comparisons']} comparisons; n = {found['networks']}; "
        f"largest correlation between lengths {found['largest_correlation']:+.3f} "
        f"+- {found['correlation_standard_error']:.1g})."
    )


def _numbers_a_network(scheme: str, drawn: Ensemble) -> int:
    if scheme == "tuple":
        return drawn.unique**drawn.p
    if scheme == "path":
        return drawn.width**drawn.p + drawn.p * drawn.width**2
    return drawn.width**2 + drawn.p * drawn.width


def _standard_error(samples: np.ndarray) -> np.ndarray:
    return samples.std(0, ddof=1) / math.sqrt(len(samples))


def _best_beta(p: int, mean_length: float) -> float:
    """The beta at which the printed law has this mean: the mean grows with beta, from 1 to p."""

    def excess(log_beta: float) -> float:
        return depth_law.mean(p, math.exp(log_beta)) - mean_length

    return math.exp(float(optimize.brentq(excess, -40.0, 40.0)))  # type: ignore[arg-type]


if __name__ == "__main__":
    command.run(main)
