"""Pictures of simulations. Figures are built without pyplot, so no display and no global state is needed."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from sims import records
from theory import depth_law, unconstrained
from theory.arguments import ArgumentError

# Okabe & Ito: distinguishable with any colour vision, and in print.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_FORMATS = (".png", ".svg", ".pdf")


def check_path(path: str | None) -> None:
    """Raise ArgumentError now for a file name that ``save`` would refuse later."""
    if path is not None and Path(path).suffix.lower() not in _FORMATS:
        raise ArgumentError("plot", path, "must end in " + ", ".join(_FORMATS))


def save(figure: Figure, path: str | Path) -> Path:
    """Write the figure atomically; the file name's ending chooses the format. Returns its path."""
    check_path(str(path))
    buffer = io.BytesIO()
    figure.savefig(buffer, format=Path(path).suffix.lower()[1:], dpi=150)
    return records.write_bytes(path, buffer.getvalue())


def depth_laws(p: int, betas: Sequence[float], scales: Sequence[float]) -> Figure:
    """LS Fig. 1(a-c), one panel for each beta; each scale C in ``scales`` shifts the law to beta C."""
    columns = min(len(betas), 3)
    rows = -(-len(betas) // columns)
    figure = Figure(figsize=(4.2 * columns, 3.3 * rows), layout="constrained")
    axes = np.atleast_1d(figure.subplots(rows, columns, sharey=True)).ravel()
    r = np.arange(1, p + 1)
    for panel, beta in zip(axes, betas, strict=False):
        for index, scale in enumerate(scales):
            eps = depth_law.epsilon(p, beta * scale)
            colour = COLOURS[index % len(COLOURS)]
            label = f"C = {scale:g}: mode {_mode_text(p, beta * scale)}"
            panel.plot(r, eps, color=colour, lw=1.6, label=label)
            panel.fill_between(r, eps, color=colour, alpha=0.15)
            panel.axvline(p * depth_law.depth_fraction_limit(beta * scale), color=colour, lw=0.9, ls=":")
        panel.set_title(f"β = {beta:g}, p = {p}")
        panel.set_xlabel("path length r")
        panel.legend(fontsize=7, frameon=False, ncols=2, loc="upper center")
        panel.set_ylim(0, 1.0)
    for panel in axes[len(betas) :]:
        panel.set_visible(False)
    axes[0].set_ylabel("amplitude ε_r  (Σ ε² = 1)")
    figure.suptitle("Depth law ε_r; dotted: p·βC/(1+βC), the limit of LS Theorem 1", fontsize=10)
    return figure


def _mode_text(p: int, beta: float) -> str:
    return " and ".join(str(mode) for mode in depth_law.modes(p, beta))


def descent(dataset: xr.Dataset) -> Figure:
    """Where the runs of sims.descent ended: objective against s along the aligned family, and s by block."""
    depth, decay, norm = (dataset.attrs[name] for name in ("depth", "weight_decay", "input_norm"))
    top = dataset["singular_values"].isel(k=0)
    roots = dataset["minimum_s"].values
    figure = Figure(figsize=(8.4, 3.4), layout="constrained")
    curve, blocks = figure.subplots(1, 2)
    s = np.linspace(0, 1.3 * max(roots.max(), float(top.max())), 400)
    curve.plot(s, [unconstrained.objective(each, depth, decay, norm) for each in s], color="0.4", lw=1.2)
    for index, name in enumerate([*(f"minimum s = {root:.4g}" for root in roots), "other", "unconverged"]):
        basin = index if index < len(roots) else len(roots) - 1 - index
        here = np.flatnonzero(dataset["basin"].values == basin)
        if not len(here) and basin < 0:
            continue
        colour = COLOURS[index % len(COLOURS)]
        ends, runs = top.isel(seed=here), dataset["objective"].isel(seed=here)
        curve.plot(ends.mean("block"), runs, "o", color=colour, ms=5, label=f"{name}: {len(here)} runs")
        blocks.plot(dataset["block"], ends.T, color=colour, lw=0.8, alpha=0.6)
        if basin >= 0:
            blocks.axhline(roots[basin], color=colour, lw=0.9, ls=":")
    curve.set_xlabel("s (mean over blocks)")
    curve.set_ylabel("objective")
    curve.legend(fontsize=7, frameon=False)
    blocks.set_xlabel("block i")
    blocks.set_ylabel("top singular value of J_i")
    figure.suptitle("Descent on the UJM; grey: objective along J_i = s u uᵀ; dotted: closed form", fontsize=10)
    return figure


def class_descent(dataset: xr.Dataset) -> Figure:
    """Where the runs of the C-class descent ended: the spectrum of a block against its objective, by start."""
    figure = Figure(figsize=(8.4, 3.4), layout="constrained")
    spectra, objectives = figure.subplots(1, 2)
    ranks = np.arange(1, dataset.attrs["classes"] + 1)
    for index in range(len(dataset.attrs["start_names"])):
        here = dataset.isel(seed=np.flatnonzero(dataset["start"].values == index))
        if not here.sizes["seed"]:
            continue
        colour = COLOURS[index % len(COLOURS)]
        spectra.plot(ranks, here["singular_values"].values[:, : len(ranks)].T, color=colour, lw=0.8, alpha=0.6)
        objectives.plot(here["objective"], np.full(here.sizes["seed"], index), "o", color=colour, alpha=0.5)
    spectra.set_xlabel("rank k")
    spectra.set_ylabel("singular value of the mean block")
    objectives.set_yticks(range(len(dataset.attrs["start_names"])), dataset.attrs["start_names"])
    objectives.set_xlabel("objective")
    figure.suptitle(f"Descent on the {dataset.attrs['classes']}-class UJM, by start", fontsize=10)
    return figure


def energy_by_length(dataset: xr.Dataset) -> Figure:
    """Measured energy shares of sims.random_resnets, the scheme's law and the printed law; and the z-scores."""
    figure = Figure(figsize=(8.4, 3.6), layout="constrained")
    shares, scores = figure.subplots(1, 2)
    r, threshold = dataset["r"].values, dataset.attrs["threshold"]
    names = ("its own law [new]", f"printed, LS's β = {dataset.attrs['beta']:.3g}",
             f"printed, best β = {dataset.attrs['best_beta']:.3g}")  # fmt: skip
    for index, (name, style) in enumerate(zip(names, ("-", "--", ":"), strict=True)):
        at = dataset.isel(law=index)
        shares.plot(r, at["predicted"], style, color=COLOURS[index], label=name)
        scores.plot(r, at["z"].clip(-1000, 1000), style, marker="os^"[index], ms=4, color=COLOURS[index], label=name)
    shares.errorbar(r, dataset["share"], 3 * dataset["share_standard_error"], fmt="ko", ms=4, label="measured, ± 3 se")
    shares.set_ylabel("share of the energy E Y_r²")
    scores.axhspan(-threshold, threshold, color="0.9")
    scores.set_yscale("symlog", linthresh=threshold)
    scores.set_yticks([-1000, -100, -10, 0, 10, 100, 1000])
    scores.set_ylim(-2000, 2000)
    scores.set_ylabel(f"z, cut at ±1000; grey: |z| ≤ {threshold:.1f}")
    for panel in (shares, scores):
        panel.set_xlabel("path length r")
        panel.set_xticks(r[:: -(-len(r) // 12)])
    shares.legend(fontsize=7, frameon=False)
    figure.suptitle(
        f"Scheme “{dataset.attrs['scheme']}”: {dataset.attrs['networks']} networks, width {dataset.attrs['width']}",
        fontsize=10,
    )
    return figure
