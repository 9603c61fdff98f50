"""The depth law eps_r of a residual network seen as a spin glass, and its shift with the BatchNorm scale C.

eps_r = C(p-1, r-1) beta^r / z is the weight of the paths of length r [LS Eq. 16, recovered]. The table gives,
for each beta, where the law peaks (two values at a tie), its largest amplitude, mean and standard deviation
under pi = eps^2, the depth fraction mean / p and its limit, beta/(1+beta) in LS Theorem 1.

--law independent is the law of independent layers, --law batchnorm that of branches with exact BatchNorm whose
common scale is beta C [both new]: LS reads a depth fraction off that scale, but the mean depth stays near log p.
--layer-scales gives every layer its own scale, times beta C. With several --scale the picture shows the shift.

Example: python -m sims.epsilon --beta 0.1 0.5 2 --p 100 --plot fig1.png
Example: python -m sims.epsilon --beta 1 --scale 0.1 1 10 --law batchnorm --plot shift.png
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import xarray as xr

from sims import command, plots, records
from theory import depth_law, layer_laws, path_lengths
from theory.arguments import ArgumentError, one_of, real_number, whole_number

LAWS = ("printed", "independent", "batchnorm")
# Amplitudes this near to the largest, relatively, are tied with it (layer scales; the plain laws tie exactly).
_TIE = 1e-12
_CURVE_POINTS = 81
_BAND = 0.95


@dataclass(frozen=True)
class EpsilonConfig:
    """Which depth laws to compute."""

    beta: tuple[float, ...] = (0.1, 0.5, 2.0)
    """Path gains beta = rho n C / sqrt(Lambda), each >= 0."""
    p: int = 100
    """Depth of the network in layers; paths have length 1..p."""
    scale: tuple[float, ...] = (1.0,)
    """BatchNorm scales C > 0; each multiplies every beta."""
    law: Literal["printed", "independent", "batchnorm"] = "printed"
    """LS Eq. 16; independent layers; or exact BatchNorm with common scale beta C."""
    layer_scales: str | None = None
    """A file with p numbers, one a line: scales lambda_1..lambda_p of the layers (negative ones only for printed)."""
    seed: int = 0
    """Recorded with the run; the law is exact, nothing is drawn."""


def depth_law_dataset(config: EpsilonConfig) -> xr.Dataset:
    """The laws as an xarray.Dataset over (beta, scale, r): epsilon, and by (beta, scale) its peak and moments.

    Raises ArgumentError for bad beta, p, scale, law or layer scales.
    """
    p = whole_number("p", config.p)
    one_of("law", config.law, LAWS)
    for name, values in (("beta", config.beta), ("scale", config.scale)):
        if not values:
            raise ArgumentError(name, values, "give at least one value")
    betas = [real_number("beta", beta, least=0.0) for beta in config.beta]
    scales = [real_number("scale", scale, above=0.0) for scale in config.scale]
    gains = [[real_number("beta * scale", beta * scale, least=0.0) for scale in scales] for beta in betas]
    layers = None if config.layer_scales is None else read_layer_scales(config.layer_scales, p)
    eps = np.array([[amplitudes(config.law, p, gain, layers) for gain in row] for row in gains])
    modes = [[_modes(config.law, gain, each, layers) for gain, each in zip(*pair, strict=True)]
             for pair in zip(gains, eps, strict=True)]  # fmt: skip
    r, energy = np.arange(1, p + 1), eps**2
    mean = energy @ r
    by_pair = ("beta", "scale")
    source = {"printed": "LS Eq. 16 (recovered)", "independent": "independent layers (new)",
              "batchnorm": "exact BatchNorm, linear branches (new)"}[config.law]  # fmt: skip
    dataset = xr.Dataset(
        {
            "epsilon": (
                (*by_pair, "r"), eps, {"definition": "amplitude eps_r, sum of squares 1", "source": source}
            ),
            "mode": (by_pair, np.array([[pair[0] for pair in row] for row in modes])),
            "tied_mode": (by_pair, np.array([[pair[-1] for pair in row] for row in modes])),
            "mean": (by_pair, mean),
            "sd": (by_pair, np.sqrt(np.sum(energy * (r - mean[..., None]) ** 2, axis=-1))),
            "limit": (by_pair, np.array([[_limit(config.law, gain, layers) for gain in row] for row in gains])),
            "claim": (
                by_pair, np.array([[depth_law.depth_fraction_limit(gain) for gain in row] for row in gains]),
                {"definition": "depth fraction beta C / (1 + beta C) of LS Theorem 1"},
            ),
        },
        coords={"beta": betas, "scale": scales, "r": r},
        attrs={"p": p, "law": config.law},
    )  # fmt: skip
    return dataset if layers is None else dataset.assign(layer_scale=("layer", layers))


def amplitudes(law: str, p: int, gain: float, layers: np.ndarray | None = None) -> np.ndarray:
    """eps_r of a law at path gain ``gain`` = beta C; float64, shape (p,). ``layers``: lambda_1..lambda_p or None.

    Raises ArgumentError for negative layer scales outside the printed law.
    """
    if layers is None:
        if law == "printed":
            return depth_law.epsilon(p, gain)
        return np.sqrt(layer_laws.independent_energy(p, gain) if law == "independent"
                       else layer_laws.batchnorm_energy(p, gain))  # fmt: skip
    if law == "printed":
        return layer_laws.scaled_epsilon(layers, gain)
    if (layers < 0).any():
        raise ArgumentError("layer_scales", layers, "signs cancel in energies; negative scales need --law printed")
    if law == "independent":
        # Independent layers add energies: the product is prod (1 + (beta lambda_l)^2 t).
        return np.sqrt(path_lengths.poisson_binomial((gain * layers[1:]) ** 2)) if p > 1 else np.ones(1)
    return np.sqrt(layer_laws.batchnorm_energy(p, gain * layers[1:])) if p > 1 else np.ones(1)


def read_layer_scales(path: str, p: int) -> np.ndarray:
    """The p numbers of a file, one a line; blank lines are passed over. Raises ArgumentError naming the line."""
    try:
        lines = Path(path).read_text().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ArgumentError(
            "layer_scales", path, f"cannot be read ({type(error).__name__}); name a text file"
        ) from None
    scales = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            scales.append(float(line))
        except ValueError:
            raise ArgumentError("layer_scales", path, f"line {number} is no number: {line.strip()[:40]}") from None
        if not math.isfinite(scales[-1]):
            raise ArgumentError("layer_scales", path, f"line {number} must be finite: {line.strip()[:40]}")
    if len(scales) != p:
        raise ArgumentError(
            "layer_scales", path, f"holds {len(scales)} numbers for p = {p} layers; pass --p {len(scales)}"
        )
    return np.array(scales)


def shift(config: EpsilonConfig) -> xr.Dataset:
    """The shift with C, on a fine grid between the smallest and the largest scale; a Dataset over (beta, c).

    ``mean``, and ``low`` and ``high``, between which 95 percent of the energy lies, in layers; ``claim``, LS's
    p beta C / (1 + beta C); ``batchnorm``, the mean of the exact BatchNorm law at common scale beta C.
    """
    p, layers = config.p, None if config.layer_scales is None else read_layer_scales(config.layer_scales, config.p)
    grid = np.geomspace(min(config.scale), max(config.scale), _CURVE_POINTS)
    gains = np.multiply.outer(np.array(config.beta), grid)
    energy = np.array([[amplitudes(config.law, p, gain, layers) ** 2 for gain in row] for row in gains])
    below = np.cumsum(energy, axis=-1)
    return xr.Dataset(
        {
            "mean": (("beta", "c"), energy @ np.arange(1, p + 1)),
            "low": (("beta", "c"), 1 + (below < (1 - _BAND) / 2).sum(-1)),
            "high": (("beta", "c"), 1 + (below < (1 + _BAND) / 2).sum(-1)),
            "claim": (("beta", "c"), p * gains / (1 + gains)),
            "batchnorm": (("beta", "c"), [[layer_laws.batchnorm_mean(p, gain) for gain in row] for row in gains]),
        },
        coords={"beta": list(config.beta), "c": grid},
        attrs={"p": p, "law": config.law, "batchnorm_most": layer_laws.batchnorm_mean(p, math.inf)},
    )


def _modes(law: str, gain: float, eps: np.ndarray, layers: np.ndarray | None) -> tuple[int, ...]:
    if law == "printed" and layers is None:
        return depth_law.modes(len(eps), gain)
    size = np.abs(eps)
    return tuple(int(r) for r in np.flatnonzero(size >= size.max() * (1 - _TIE)) + 1)


def _limit(law: str, gain: float, layers: np.ndarray | None) -> float:
    """Limit of mean / p as p grows; none (NaN) for a given list of layer scales."""
    if layers is not None:
        return math.nan
    if law == "batchnorm":
        return 0.0
    return depth_law.depth_fraction_limit(gain) if law == "printed" else layer_laws.independent_depth_fraction(gain)


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
                "limit": None if math.isnan(float(at["limit"])) else float(at["limit"]),
                "claim": float(at["claim"]),
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
        plots.save(plots.depth_laws(dataset, shift(config) if len(config.scale) > 1 else None), output.plot)
    if output.out:
        records.save(output.out, "epsilon", config, dataset, overwrite=output.overwrite)
    if output.json:
        command.print_json({"p": config.p, "law": config.law, "rows": table})
    else:
        command.print_table(
            f"Depth law: {dataset['epsilon'].attrs['source']}, p = {config.p}",
            ["beta", "scale C", "mode", "max eps", "mean r", "sd", "depth fraction", "limit", "LS's limit"],
            [
                [f"{row['beta']:g}", f"{row['scale']:g}", " = ".join(map(str, row["modes"])),
                 f"{row['max_epsilon']:.4f}", f"{row['mean']:.4f}", f"{row['sd']:.4f}",
                 f"{row['depth_fraction']:.4f}", "-" if row["limit"] is None else f"{row['limit']:.4f}", f"{row['claim']:.4f}"]
                for row in table
            ],
            note="mean and sd of r under pi = eps^2; depth fraction = mean / p; limit: of this law as p grows; "
            "LS's limit = beta C / (1 + beta C)",
        )  # fmt: skip
    return 0


if __name__ == "__main__":
    command.run(main)
