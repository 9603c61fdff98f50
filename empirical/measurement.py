"""Measure a network: linearise it, then RA1-RA4 and the path-length law, each with its null, in one data set."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np
import torch
import xarray as xr
from threadpoolctl import threadpool_limits
from torch import Tensor, nn

from empirical import alignment, paths
from empirical.alignment import Metric
from empirical.blocks import Block, blocks_of
from empirical.jacobians import linearise, representation
from empirical.training import evaluating
from theory.arguments import ArgumentError, whole_number


def measure(
    model: nn.Module,
    inputs: Tensor,
    *,
    stem: Callable[[Tensor], Tensor] | None = None,
    blocks: Sequence[Block] | nn.ModuleList | None = None,
    classes: int | None = None,
    labels: Tensor | None = None,
    k: int = 20,
    seed: int = 0,
    progress: bool = False,
) -> xr.Dataset:
    """RA1-RA4 and the path-length law of ``model`` at ``inputs``, with nulls; float64 on the CPU.

    ``model``: this project's networks, or any network with equal-width residual blocks on vectors if ``stem`` (maps
    inputs to h_1) and ``blocks`` (``[ResidualBlock(branch, gate), ...]``, in order) are given. ``inputs``: (N, ...),
    held-out ones, finite; ``labels`` (N,) only colour the pictures. ``classes`` defaults to the number of logits.
    ``k``: how many singular directions the panel of the first input shows. ``seed`` draws the nulls.

    Returns an xarray.Dataset over input, block, other_block, k, r, prediction; ``summarise`` makes a table of it.
    The model's mode, dtype, device and buffers are left as they were. Raises ArgumentError naming what is wrong:
    no blocks, NaN in weights or inputs, a block that changes the width, fewer than two classes.
    """
    k = whole_number("k", k)
    blocks = blocks_of(model) if blocks is None else blocks
    stem = getattr(model, "stem", None) if stem is None else stem
    if stem is None:
        raise ArgumentError("stem", stem, "the model has no `stem`; pass stem=..., the map from inputs to h_1")
    start = representation(stem, inputs)
    lin = linearise(blocks, start, progress=progress)
    if classes is None:
        classes = _logits(model, inputs[:1]).shape[-1]
    # Batches of small SVDs: handing each to several threads costs up to twenty times what it saves.
    with threadpool_limits(1):
        dataset = xr.merge(
            [
                alignment.measure_alignment(lin, classes, seed=seed),
                paths.measure_paths(lin, seed=seed),
                _first_input_panel(lin.jacobians[0], min(k, lin.jacobians.shape[-1])),
                xr.Dataset({"points": (("input", "layer", "coordinate"), lin.points)}),
                xr.Dataset({} if labels is None else {"label": ("input", np.asarray(labels))}),
            ],
            combine_attrs="no_conflicts",
        )
    dataset.attrs |= {"dtype": "float64", "width": lin.points.shape[-1], "solver": "dense SVD"}
    return dataset


def summarise(dataset: xr.Dataset) -> list[Metric]:
    """The table of a measurement: each metric with value, spread over inputs, n, null, and what the null is."""
    return alignment.summarise_alignment(dataset) + paths.summarise_paths(dataset)


def as_records(metrics: Sequence[Metric]) -> list[dict]:
    """Metrics as plain dictionaries, for JSON."""
    return [dataclasses.asdict(metric) for metric in metrics]


def _first_input_panel(jacobians: np.ndarray, k: int) -> xr.Dataset:
    """``|U_{j,k}^T J_i V_{j,k}|`` of one input, what RA Fig. 2 shows; dimensions block, other_block, row, column."""
    left, _, right = np.linalg.svd(jacobians)
    panel = np.einsum("jdk,ide,jle->ijkl", left[..., :k], jacobians, right[:, :k], optimize=True)
    return xr.Dataset(
        {
            "panel": (
                ("block", "other_block", "row", "column"),
                np.abs(panel),
                {"definition": "|U_j^T J_i V_j|, input 0"},
            )
        }
    )


def _logits(model: nn.Module, inputs: Tensor) -> Tensor:
    parameter = next(model.parameters())
    with evaluating(model), torch.no_grad():
        return model(inputs.to(parameter.device, parameter.dtype))
