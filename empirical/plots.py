"""Pictures of training and measurement."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from empirical.alignment import depth_fit
from sims.plots import COLOURS

MAP = "magma"


def learning_curve(history: xr.Dataset) -> Figure:
    """Training loss and held-out accuracy by epoch."""
    figure = Figure(figsize=(7, 3.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.semilogy(history.epoch, history.loss, color=COLOURS[0])
    left.set(xlabel="epoch", ylabel="training loss (nats)")
    right.plot(history.epoch, history.test_accuracy, color=COLOURS[1])
    right.set(xlabel="epoch", ylabel="held-out accuracy", ylim=(0, 1.02))
    return figure


def measurement_overview(dataset: xr.Dataset) -> Figure:
    """One measurement at a glance: trajectories, U^T J V panels, 1/s_1 against depth, path-length law."""
    figure = Figure(figsize=(11, 9), layout="constrained")
    axes = figure.subplots(2, 2)
    trajectories(axes[0, 0], dataset.points.values, labels=dataset.label.values if "label" in dataset else None)
    panel_grid(axes[0, 1], dataset)
    inverse_singular_values(axes[1, 0], {"measured": dataset.singular_value.isel(k=0).values})
    path_law(axes[1, 1], dataset)
    return figure


def trajectories(axes: Axes, points: np.ndarray, *, labels: np.ndarray | None = None, seed: int = 0) -> None:
    """RA Fig. 1: representations (N, L+1, D) projected on two random orthonormal directions, one line an input."""
    frame, _ = np.linalg.qr(np.random.default_rng(seed).standard_normal((points.shape[-1], 2)))
    flat = points @ frame
    for index, line in enumerate(flat):
        colour = COLOURS[0] if labels is None else f"C{int(labels[index]) % 10}"
        axes.plot(line[:, 0], line[:, 1], "-o", color=colour, lw=0.8, ms=2, alpha=0.75)
    axes.set(
        xlabel="random direction 1",
        ylabel="random direction 2",
        title=f"h_1 … h_{points.shape[1]} of {len(flat)} inputs",
    )


def panel_grid(axes: Axes, dataset: xr.Dataset, *, k: int | None = None, title: str | None = None) -> None:
    """RA Fig. 2: |U_j^T J_i V_j| of one input, block i down, j across, each panel scaled to its largest entry."""
    panels = dataset.panel.values[..., :k, :k]
    depth, size = panels.shape[0], panels.shape[-1]
    largest = panels.max(axis=(-1, -2), keepdims=True)
    scaled = np.divide(panels, largest, out=np.zeros_like(panels), where=largest > 0)
    # A square root lifts the weaker diagonals into view.
    axes.imshow(np.sqrt(scaled).transpose(0, 2, 1, 3).reshape(depth * size, depth * size), cmap=MAP, vmin=0, vmax=1)
    for edge in np.arange(1, depth) * size - 0.5:
        axes.axhline(edge, color="white", lw=0.5)
        axes.axvline(edge, color="white", lw=0.5)
    centres = np.arange(depth) * size + (size - 1) / 2
    axes.set_xticks(centres, [str(i + 1) for i in range(depth)])
    axes.set_yticks(centres, [str(i + 1) for i in range(depth)])
    axes.set(xlabel="block j (vectors)", ylabel="block i (Jacobian)")
    axes.set_title(title or f"√|U_jᵀ J_i V_j|, top {size}, one input")


def inverse_singular_values(axes: Axes, top_values: dict[str, np.ndarray]) -> None:
    """RA Fig. 4b: 1/s_1 against depth, a series for each (N, L) array; bars: quartiles over inputs; line: the fit."""
    for index, (name, values) in enumerate(top_values.items()):
        colour = COLOURS[index % len(COLOURS)]
        depth = np.arange(1, values.shape[1] + 1)
        fit = depth_fit(values)
        axes.plot(depth, 1 / values.mean(axis=0), "o", color=colour, ms=4, label=f"{name}: slope {fit['slope']:.2f}")
        low, high = np.quantile(values, [0.25, 0.75], axis=0)
        axes.vlines(depth, 1 / high, 1 / np.maximum(low, 1e-12), color=colour, lw=1, alpha=0.6)
        fitted = depth[2:]
        line = fit["slope"] * (fitted - fitted.mean()) + (1 / values.mean(axis=0))[2:].mean()
        axes.plot(fitted, line, color=colour, lw=1)
    axes.set(xlabel="block i", ylabel="1 / s_1", title="Reciprocal of the top singular value")
    axes.legend(fontsize=8, frameon=False)


def path_law(axes: Axes, dataset: xr.Dataset, *, title: str = "Path-length law along h_1") -> None:
    """Measured energy law (bars: mean, whiskers: quartiles over inputs) and every prediction with its distance."""
    law = dataset.energy_law
    mean = law.mean("input").values
    low, high = np.quantile(law.values, [0.25, 0.75], axis=0)
    axes.bar(
        dataset.r, mean, color="0.82", width=0.8, label=f"measured, mean r = {float(dataset.mean_depth.mean()):.2f}"
    )
    axes.vlines(dataset.r, low, high, color="0.4", lw=1)
    for index, prediction in enumerate(dataset.prediction.values):
        chosen = dataset.sel(prediction=prediction)
        label = f"{prediction}: TV {float(chosen.distance.mean()):.3f}"
        axes.plot(
            dataset.r,
            chosen.predicted_law.mean("input"),
            "-o",
            ms=3,
            lw=1.2,
            color=COLOURS[index % len(COLOURS)],
            label=label,
        )
    axes.set(xlabel="residual branches r on the path", ylabel="energy share", title=title, ylim=(0, 1))
    axes.legend(fontsize=7, frameon=False)
