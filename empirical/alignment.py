"""RA1-RA4 of a linearised network, each beside the value that random orientations would give.

Conventions: N inputs, L blocks, width D, C classes, K = C - 1 directions. Blocks and depth count from 1.
A ratio whose denominator vanishes (a block that is dead at an input) is 0: no alignment is credited to it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import xarray as xr

from empirical.jacobians import Linearisation
from theory.arguments import ArgumentError, whole_number

# RA4 is fitted from this block on. RA Fig. 4b says "after RA begins" and shows block 5 of 16; fixed in advance here,
# since a window chosen by eye makes any slope.
FIRST_FITTED_BLOCK = 3


@dataclass(frozen=True)
class Metric:
    """One number of a report with everything it must be read with.

    ``value`` is a mean over ``n`` inputs and ``spread`` its standard deviation over them; ``null`` and
    ``null_spread`` are the same metric where only chance is at work, as ``null_definition`` says.
    """

    name: str
    value: float
    spread: float
    n: int
    null: float
    null_spread: float
    null_definition: str


def measure_alignment(lin: Linearisation, classes: int, *, seed: int = 0) -> xr.Dataset:
    """RA1-RA4 by input and block, and their nulls; dimensions input, block, other_block.

    Variables ending in ``_null`` hold the same metric after chance took over: RA1, steps of the same lengths in
    random directions (a random walk); RA2, every J_i replaced by Q_i J_i R_i with random orthogonal Q_i, R_i (same
    singular values); RA3, a Gaussian matrix of the same size; RA4, the blocks in random order.
    ``classes`` C >= 2 sets K = min(C - 1, D). Raises ArgumentError for fewer than two blocks.
    """
    classes = whole_number("classes", classes, least=2)
    inputs, depth, width, _ = lin.jacobians.shape
    if depth < 2:
        raise ArgumentError("depth", depth, "alignment compares blocks; at least 2 are needed")
    directions = min(classes - 1, width)
    rng = np.random.default_rng(seed)
    left, values, right = np.linalg.svd(lin.jacobians)
    right = np.swapaxes(right, -1, -2)
    active = lin.points[:, :-1] > 0
    walk = random_walk(lin.points, rng)
    turned, turn_left, turn_right = scramble(lin.jacobians, rng)
    left, right = left[..., :directions], right[..., :directions]
    gaussian = np.linalg.svd(rng.standard_normal((inputs, width, width)), compute_uv=False)
    shuffled = rng.permuted(values[..., 0], axis=1)

    pair = ("input", "block", "other_block")
    variables = {}
    for suffix, points, jacobians, u, v in (
        ("", lin.points, lin.jacobians, left, right),
        ("_null", walk, turned, turn_left @ left, np.swapaxes(turn_right, -1, -2) @ right),
    ):
        for name, value in straightness(points).items():
            variables[name + suffix] = ("input", value)
        for name, value in pairwise_alignment(jacobians, u, v, values).items():
            variables[name + suffix] = (pair, value)
        variables["left_right" + suffix] = (("input", "block"), left_right(jacobians, active))
    variables["top_energy"] = (("input", "block"), _share(values, directions))
    variables["top_energy_null"] = ("input", _share(gaussian, directions))
    variables["singular_value"] = (("input", "block", "k"), values)
    variables["shuffled_top_value_null"] = (("input", "block"), shuffled)
    return xr.Dataset(
        variables,
        coords={
            "input": np.arange(inputs),
            "block": np.arange(1, depth + 1),
            "other_block": np.arange(1, depth + 1),
            "k": np.arange(1, width + 1),
        },
        attrs={"classes": classes, "directions": directions, "first_fitted_block": FIRST_FITTED_BLOCK, "seed": seed},
    )


def straightness(points: np.ndarray) -> dict[str, np.ndarray]:
    """RA1 by input, from ``points`` (N, L+1, D): four metrics, each an array (N,).

    ``straightness`` |h_{L+1} - h_1| / sum |step| (null 1/sqrt(L)); ``step_cosine`` mean cosine of consecutive steps
    (null 0); ``linear_r2`` R^2 of h_i linear in i; ``first_component`` share of the first principal component, which
    is 6/pi^2 = .61 for *any* long random walk and is therefore shown, never judged.
    """
    steps = np.diff(points, axis=1)
    lengths = np.linalg.norm(steps, axis=-1)
    inner = np.einsum("nid,nid->ni", steps[:, 1:], steps[:, :-1])
    depth = np.arange(points.shape[1]) - (points.shape[1] - 1) / 2
    centred = points - points.mean(axis=1, keepdims=True)
    slope = np.einsum("i,nid->nd", depth, centred) / (depth @ depth)
    total = (centred**2).sum(axis=(1, 2))
    left_over = ((centred - depth[:, None] * slope[:, None, :]) ** 2).sum(axis=(1, 2))
    principal = np.linalg.svd(centred, compute_uv=False)
    return {
        "straightness": _ratio(np.linalg.norm(points[:, -1] - points[:, 0], axis=-1), lengths.sum(axis=1)),
        "step_cosine": _ratio(inner, lengths[:, 1:] * lengths[:, :-1]).mean(axis=1),
        "linear_r2": _ratio(total - left_over, total),
        "first_component": _ratio(principal[:, 0] ** 2, (principal**2).sum(axis=1)),
    }


def pairwise_alignment(
    jacobians: np.ndarray, left: np.ndarray, right: np.ndarray, values: np.ndarray
) -> dict[str, np.ndarray]:
    """RA2 from ``M = U_j^T J_i V_j``: three metrics, each (N, L, L) over (input, block i, other block j).

    Shapes: ``jacobians`` (N, L, D, D), ``left`` and ``right`` (N, L, D, K), ``values`` (N, L, D).
    ``diagonal_fraction`` sum_k M_kk^2 / |M|_F^2 (null 1/K; blind to scale and sign), ``capture`` |M|_F^2 / sum_K s_k^2
    (null (K/D)^2), ``signed_alignment`` sum_k M_kk / sum_K s_k (null 0; J_2 = -J_1 gives -1).
    """
    directions = left.shape[-1]
    onto = np.einsum("nide,njel->nijdl", jacobians, right, optimize=True)
    panels = np.einsum("njdk,nijdl->nijkl", left, onto, optimize=True)
    diagonal = np.einsum("nijkk->nijk", panels)
    energy = (panels**2).sum(axis=(-1, -2))
    top = values[..., :directions]
    return {
        "diagonal_fraction": _ratio((diagonal**2).sum(axis=-1), energy),
        "capture": _ratio(energy, (top**2).sum(axis=-1)[:, :, None]),
        "signed_alignment": _ratio(diagonal.sum(axis=-1), top.sum(axis=-1)[:, :, None]),
    }


def left_right(jacobians: np.ndarray, active: np.ndarray) -> np.ndarray:
    """RA2, left against right in one block: ``tr(J A) / |J A|_*`` with A the diagonal of ``active`` inputs; (N, L).

    1 iff J A is symmetric positive semidefinite. Inactive inputs are left out since a post-activation gate fixes
    their columns without any training; without this restriction an aligned network reads about .6. Null 0.
    """
    restricted = jacobians * active[:, :, None, :]
    nuclear = np.linalg.svd(restricted, compute_uv=False).sum(axis=-1)
    return _ratio(np.einsum("nidd->ni", restricted), nuclear)


def depth_fit(top_values: np.ndarray, first_block: int = FIRST_FITTED_BLOCK) -> dict[str, float]:
    """RA4: fit 1/s_1 (s_1 averaged over inputs) against depth from ``first_block`` on.

    ``top_values``: (N, L). Returns ``slope`` and ``r2`` of the line, and ``exponent``, the slope of log s_1 against
    log i. The slope decides: 1 under RA4. An untrained network with BatchNorm has a good line too, of slope
    near 0 and exponent -1/2, because the variance of its stream grows linearly. Raises ArgumentError for fewer than 3 fitted blocks or a
    block whose Jacobian vanishes at every input.
    """
    mean = top_values.mean(axis=0)
    depth = np.arange(1, mean.size + 1)
    if mean.size - first_block + 1 < 3:
        raise ArgumentError("depth", mean.size, f"RA4 is fitted from block {first_block} on and needs 3 blocks there")
    if (mean == 0).any():
        block = int(depth[mean == 0][0])
        raise ArgumentError(f"J_{block}", 0.0, "vanishes at every input, so 1/s_1 does not exist; measure fewer blocks")
    fitted = slice(first_block - 1, None)
    slope, intercept = np.polyfit(depth[fitted], 1 / mean[fitted], 1)
    residual = 1 / mean[fitted] - slope * depth[fitted] - intercept
    spread = 1 / mean[fitted] - (1 / mean[fitted]).mean()
    exponent = np.polyfit(np.log(depth[fitted]), np.log(mean[fitted]), 1)[0]
    # A constant 1/s_1 is explained perfectly by a flat line.
    explained = 1 - (residual @ residual) / (spread @ spread) if spread @ spread > 0 else 1.0
    return {"slope": float(slope), "r2": float(explained), "exponent": float(exponent)}


def scramble(jacobians: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """``Q_i J_i R_i`` with Haar-random orthogonal Q_i, R_i for each input and block; returns it with Q and R.

    Keeps every singular value and destroys every orientation: the control for alignment and for path lengths.
    """
    turn_left, turn_right = _orthogonal(jacobians.shape, rng), _orthogonal(jacobians.shape, rng)
    return turn_left @ jacobians @ turn_right, turn_left, turn_right


def random_walk(points: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Trajectories with the step lengths of ``points`` (N, L+1, D) and uniformly random directions."""
    lengths = np.linalg.norm(np.diff(points, axis=1), axis=-1, keepdims=True)
    directions = rng.standard_normal((*lengths.shape[:2], points.shape[-1]))
    directions /= np.linalg.norm(directions, axis=-1, keepdims=True)
    return np.concatenate([points[:, :1], points[:, :1] + np.cumsum(lengths * directions, axis=1)], axis=1)


def summarise_alignment(dataset: xr.Dataset) -> list[Metric]:
    """The metrics of ``measure_alignment`` averaged over blocks (pairs i != j for RA2) and inputs, with their nulls."""
    different = dataset.block != dataset.other_block
    deep = dataset.block > dataset.sizes["block"] // 2
    walk, turned = "steps of the same lengths, random directions", "J_i -> Q_i J_i R_i, random orientations"
    metrics = [
        *(_metric(f"RA1 {label}", dataset[name], dataset[f"{name}_null"], walk) for name, label in _RA1),
        *(
            _metric(
                f"RA2 {label}, i != j",
                dataset[name].where(different).mean(("block", "other_block")),
                dataset[f"{name}_null"].where(different).mean(("block", "other_block")),
                turned,
            )
            for name, label in _RA2
        ),
        _metric(
            "RA2 left-right, second half",
            dataset.left_right.where(deep).mean("block"),
            dataset.left_right_null.where(deep).mean("block"),
            turned,
        ),
        _metric(
            f"RA3 energy in the top {dataset.attrs['directions']}",
            dataset.top_energy.mean("block"),
            dataset.top_energy_null,
            "a Gaussian matrix of the same size",
        ),
    ]
    if dataset.sizes["block"] - dataset.attrs["first_fitted_block"] >= 2:
        metrics.extend(_depth_metrics(dataset))
    return metrics


def _depth_metrics(dataset: xr.Dataset) -> list[Metric]:
    """RA4 as metrics: value from the mean over inputs, spread from fits input by input, null from shuffled depth."""
    top = dataset.singular_value.isel(k=0).values
    alive = top[(top > 0).all(axis=1)]
    single = [depth_fit(row[None]) for row in alive]
    shuffled = [depth_fit(row[None]) for row in dataset.shuffled_top_value_null.values if (row > 0).all()]
    pooled = depth_fit(top)
    return [
        Metric(
            f"RA4 {label}",
            pooled[key],
            _sd([fit[key] for fit in single]),
            len(top),
            _mean([fit[key] for fit in shuffled]),
            _sd([fit[key] for fit in shuffled]),
            "the same blocks in random order",
        )
        for key, label in (("slope", "slope of 1/s_1"), ("r2", "R^2 of 1/s_1"), ("exponent", "log s_1 / log i"))
    ]


_RA1 = (
    ("straightness", "straightness"),
    ("step_cosine", "cosine of consecutive steps"),
    ("linear_r2", "R^2 of h_i linear in i"),
    ("first_component", "first principal component"),
)
_RA2 = (
    ("diagonal_fraction", "diagonal energy fraction"),
    ("capture", "capture"),
    ("signed_alignment", "signed alignment"),
)


def _metric(name: str, values: xr.DataArray, null: xr.DataArray, definition: str) -> Metric:
    by_input, null_by_input = values.values, null.values
    return Metric(
        name,
        float(by_input.mean()),
        _sd(by_input),
        by_input.size,
        float(null_by_input.mean()),
        _sd(null_by_input),
        definition,
    )


def _mean(values) -> float:
    return float(np.mean(values)) if len(values) else 0.0


def _sd(values) -> float:
    return float(np.std(values, ddof=1)) if len(values) > 1 else 0.0


def _ratio(numerator: np.ndarray, denominator: np.ndarray) -> np.ndarray:
    numerator, denominator = np.broadcast_arrays(numerator, denominator)
    return np.divide(numerator, denominator, out=np.zeros(numerator.shape), where=denominator != 0)


def _share(values: np.ndarray, directions: int) -> np.ndarray:
    energy = values**2
    return _ratio(energy[..., :directions].sum(axis=-1), energy.sum(axis=-1))


def _orthogonal(shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    q, r = np.linalg.qr(rng.standard_normal(shape))
    return q * np.sign(np.einsum("...dd->...d", r))[..., None, :]
