"""Pictures of simulations. Figures are built without pyplot, so no display and no global state is needed."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sims import records
from theory import unconstrained
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


def depth_laws(dataset: xr.Dataset, shift: xr.Dataset | None = None) -> Figure:
    """LS Fig. 1(a-c), one panel for each beta, one colour for each scale C; below it, if given, the shift with C."""
    p, betas, scales = dataset.attrs["p"], dataset["beta"].values, dataset["scale"].values
    columns = min(len(betas), 3)
    rows = -(-len(betas) // columns)
    figure = Figure(figsize=(4.2 * columns, 3.3 * rows * (1 if shift is None else 2)), layout="constrained")
    axes = np.atleast_1d(figure.subplots(rows * (1 if shift is None else 2), columns, squeeze=False)).ravel()
    r = dataset["r"].values
    for i, (panel, beta) in enumerate(zip(axes, betas, strict=False)):
        for j, scale in enumerate(scales):
            at, colour = dataset.isel(beta=i, scale=j), COLOURS[j % len(COLOURS)]
            modes = sorted({int(at["mode"]), int(at["tied_mode"])})
            panel.plot(r, at["epsilon"], color=colour, lw=1.6,
                       label=f"C = {scale:g}: mode {' and '.join(map(str, modes))}")  # fmt: skip
            panel.fill_between(r, at["epsilon"], color=colour, alpha=0.15)
            panel.axvline(p * float(at["claim"]), color=colour, lw=0.9, ls=":")
        panel.set_title(f"β = {beta:g}, p = {p}")
        panel.set_xlabel("path length r")
        panel.legend(fontsize=7, frameon=False, ncols=2, loc="upper center")
        panel.set_ylim(min(0.0, 1.1 * float(dataset["epsilon"].min())), 1.0)
    lower = rows * columns
    if shift is not None:
        for i, panel in enumerate(axes[lower : lower + len(betas)]):
            _shift_panel(panel, dataset.isel(beta=i), shift.isel(beta=i))
        figure.legend(*axes[lower].get_legend_handles_labels(), loc="outside lower center", fontsize=7,
                      ncols=min(3, 2 * columns), frameon=False)  # fmt: skip
    for panel in (*axes[len(betas) : lower], *axes[lower + len(betas) :]):
        panel.set_visible(False)
    axes[0].set_ylabel("amplitude ε_r  (Σ ε² = 1)")
    source = dataset["epsilon"].attrs["source"]
    figure.suptitle(f"Depth law ε_r, {source}\ndotted: p·βC/(1+βC), the limit of LS Theorem 1", fontsize=10)
    return figure


def _shift_panel(panel: Axes, laws: xr.Dataset, shift: xr.Dataset) -> None:
    """Mean, 95 percent band and modes of the path length against C, LS's claim, and what a common BatchNorm reaches."""
    p, most = shift.attrs["p"], shift.attrs["batchnorm_most"]
    panel.fill_between(shift["c"], shift["low"], shift["high"], color=COLOURS[0], alpha=0.2, label="95% of the energy")
    panel.plot(shift["c"], shift["mean"], color=COLOURS[0], lw=1.6, label=f"mean, {shift.attrs['law']} law")
    panel.plot(laws["scale"], laws["mode"], "o", color=COLOURS[0], mfc="none", ms=5, label="mode")
    panel.plot(shift["c"], shift["claim"], ":", color=COLOURS[6], label="LS's claim p·βC/(1+βC)")
    panel.plot(shift["c"], shift["batchnorm"], "--", color=COLOURS[1], label="mean, common BatchNorm scale λ = βC")
    panel.axhline(most, color=COLOURS[1], lw=0.8, label=f"its limit λ → ∞: 1 + H = {most:.2f}")
    panel.set_xscale("log")
    panel.set_xticks(laws["scale"].values, [f"{scale:g}" for scale in laws["scale"].values])
    panel.set_xticks([], minor=True)
    panel.set_yscale("log")
    panel.set_ylim(0.9, 1.2 * p)
    panel.set_xlabel("scale C")
    panel.set_ylabel("path length r")


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


def landscape(dataset: xr.Dataset) -> Figure:
    """Counts by index against Kac-Rice and the energies of the points; or, after --descend, energy by step."""
    figure = Figure(figsize=(8.4, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    if "step" in dataset.dims:
        step = dataset["step"].values
        for panel, name, label in ((left, "energy", "H / N"), (right, "slope", "|tangential gradient| / √N")):
            panel.plot(step, dataset[name].T, color="0.75", lw=0.7)
            panel.plot(step, dataset[name].mean("run"), "o-", color=COLOURS[0], ms=4, label="mean over runs")
            panel.set_xlabel("gradient step")
            panel.set_ylabel(label)
        left.axhline(-dataset.attrs["bulk_energy"], color=COLOURS[1], ls=":", label="−E′∞ (annealed)")
        right.set_ylim(bottom=0)
        left.legend(fontsize=7, frameon=False)
        figure.suptitle(f"Descent by lazy reveal, N = {dataset.attrs['n']}, p = {dataset.attrs['p']}", fontsize=10)
        return figure
    index = dataset["index"].values
    left.bar(index, dataset["kac_rice"], width=0.7, color=COLOURS[5], label="Kac-Rice")
    left.errorbar(
        index, dataset["mean"], 3 * dataset["standard_error"], fmt="ko", ms=4, capsize=3, label="found, ± 3 se"
    )
    left.set_xticks(index)
    left.set_xlabel("Morse index")
    left.set_ylabel("critical points an instance")
    left.legend(fontsize=7, frameon=False)
    left.set_ylim(0, 1.25 * float((dataset["mean"] + 3 * dataset["standard_error"]).max()))
    complete = dataset.isel(instance=np.flatnonzero(dataset["complete"].values))
    energy, morse = complete["energy"].values, complete["morse_index"].values
    edges = np.linspace(np.nanmin(energy), np.nanmax(energy), 41)
    right.hist([energy[morse == k] for k in index], edges, stacked=True, histtype="stepfilled",
               color=[COLOURS[k % len(COLOURS)] for k in index], label=[f"index {k}" for k in index])  # fmt: skip
    right.set_xlabel("energy H / N")
    right.set_ylabel("critical points")
    right.legend(fontsize=7, frameon=False)
    title = (
        f"N = {dataset.attrs['n']}, p = {dataset.attrs['p']}, R = {dataset.attrs['R']:.3g} ({dataset.attrs['regime']})"
    )
    figure.suptitle(f"{title}: {complete.sizes['instance']} of {dataset.sizes['instance']} instances", fontsize=10)
    return figure


def complexity(dataset: xr.Dataset) -> Figure:
    """LS Fig. 1(f): theta_k against beta, one column for each p; below it the exact (1/N) log E Crt_N. Grey: R < 1."""
    depths, beta = dataset["p"].values, dataset["beta"].values
    figure = Figure(figsize=(4.4 * len(depths), 6.4), layout="constrained")
    axes = figure.subplots(2, len(depths), squeeze=False, sharex=True, sharey="row")
    for column, p in enumerate(depths):
        at, (upper, lower) = dataset.sel(p=p), axes[:, column]
        upper.plot(beta, at["true"], color=COLOURS[0], lw=1.8, label=f"θ_k, k = {dataset.attrs['index']}")
        upper.plot(beta, at["printed"], "--", color=COLOURS[1], lw=1.2, label="LS Eq. 31 as printed")
        upper.axhline(0, color="0.5", lw=0.6)
        for index, n in enumerate(dataset["n"].values):
            lower.plot(beta, at["log_expected_per_n"].sel(n=n), color=COLOURS[2 + index % 4], lw=1.8, label=f"N = {n}")
        lower.plot(beta, at["total"], "--", color=COLOURS[6], lw=1.0, label="N → ∞")
        threshold = float(at["trivial_threshold"])
        for panel in (upper, lower):
            # The threshold may be infinite or outside the range of beta.
            end = min(threshold, float(beta[-1]))
            if end > beta[0]:
                panel.axvspan(float(beta[0]), end, color="0.9")
            panel.set_xscale("log")
            panel.set_xlim(float(beta[0]), float(beta[-1]))
        upper.set_title(f"p = {p}, β_c = {threshold:.4g}", fontsize=10)
        lower.set_xlabel("β")
    axes[0, 0].set_ylabel("exponent of index-k points")
    axes[1, 0].set_ylabel("(1/N) log E Crt_N, exact")
    for panel in axes[:, 0]:
        panel.legend(fontsize=7, frameon=False, loc="upper left")
    figure.suptitle(
        f"Annealed complexity of the ResNet mixture,\n{dataset.attrs['law']} depth law; grey: trivial, R < 1",
        fontsize=10,
    )
    return figure
