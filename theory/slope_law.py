"""The slope law: equal steps make 1/|J_i^T dhat| linear in depth, so RA1 implies RA4 [T4, new].

Conventions as in ``theory.equispacing``; branches may be affine or nonlinear, the identity does not ask.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from theory.arguments import ArgumentError, real_array, real_number, unit_vectors, whole_number
from theory.equispacing import shared_direction_jacobians


@dataclass(frozen=True)
class AffineBlocks:
    """Blocks ``h_{i+1} = h_i + J_i h_i + b_i``: ``jacobians`` (L, D, D), ``biases`` (L, D), and ``points`` (L+1, D)."""

    jacobians: np.ndarray
    biases: np.ndarray
    points: np.ndarray


def affine_blocks(
    start: ArrayLike, step: ArrayLike, depth: int, right: ArrayLike, linear_fraction: float
) -> AffineBlocks:
    """Equal steps from affine branches with one right direction and one linear fraction [T4, new].

    ``J_i = dhat g_i^T`` with ``g_i = phi |d| v / (v.h_i)`` and ``b_i = (1 - phi) d`` step by d from each
    ``h_i = h_1 + (i-1) d``, so 1/|g_i| has the slope ``(v.dhat)/phi`` in i: T2 is phi = 1.

    ``start`` h_1 and ``step`` d: (D,), d not zero; ``right`` v: (D,), unit norm, with v.h_i > 0 for i = 1..L;
    ``linear_fraction`` phi > 0. Raises ArgumentError otherwise.
    """
    depth = whole_number("depth", depth)
    start, step = real_array("start", start, ndim=1), real_array("step", step, ndim=1)
    right = unit_vectors("right", right, shape=start.shape)
    linear_fraction = real_number("linear_fraction", linear_fraction, above=0.0)
    if step.shape != start.shape:
        raise ArgumentError("step", step, f"must have the length of start, {start.size}")
    length = np.linalg.norm(step)
    if length == 0:
        raise ArgumentError("step", step, "must not be zero")
    points = start + np.outer(np.arange(depth + 1), step)
    seen = points[:-1] @ right
    if (seen <= 0).any():
        raise ArgumentError("right", right, f"v.h_i must stay positive, but is {seen.min():g} at some block")
    jacobians = shared_direction_jacobians(linear_fraction * length / seen, step / length, right)
    return AffineBlocks(jacobians, np.tile((1 - linear_fraction) * step, (depth, 1)), points)


@dataclass(frozen=True)
class SlopeLaw:
    """T4 read off a trajectory, one entry a block, float64 (..., L).

    ``inverse_gain`` 1/|g_i|; ``predicted`` (vhat_i.h_i)/(phi_i |d|); ``cosine`` rho_i = vhat_i.dhat;
    ``linear_fraction`` phi_i; ``slopes`` rho_i/phi_i, the slope of 1/|g_i| in i where vhat and phi are constant.
    """

    inverse_gain: np.ndarray
    predicted: np.ndarray
    cosine: np.ndarray
    linear_fraction: np.ndarray

    @property
    def slopes(self) -> np.ndarray:
        """The local slope of 1/|g_i| against depth that T4 predicts, ``rho_i / phi_i``."""
        return self.cosine / self.linear_fraction


def slope_law(points: ArrayLike, jacobians: ArrayLike) -> SlopeLaw:
    """RA1 implies RA4: with equal steps d, ``1/|g_i| = (vhat_i.h_i)/(phi_i |d|)``, ``g_i = J_i^T dhat`` [T4, new].

    d is the mean step, ``dhat = d/|d|``, ``vhat_i = g_i/|g_i|``, ``phi_i = (dhat.J_i h_i)/(dhat.(h_{i+1} - h_i))``
    the part of the step that the linearised branch makes. No assumption on the activation: pre- or
    post-activation, the identity is exact for equal steps, and otherwise ``predicted / inverse_gain`` is
    ``dhat.(h_{i+1} - h_i) / |d|``. It therefore tests RA1 and fixes the slope; it is no evidence of its own.
    ``|g_i| <= s_1(J_i)``, equal iff dhat is a top left singular vector of J_i.

    ``points``: (..., L+1, D); ``jacobians``: (..., L, D, D), of each block at its input. To leave out early
    blocks pass slices of both. Raises ArgumentError for shapes that do not fit, for a mean step of zero, and
    for a block whose linear part or whose step is blind to dhat (g_i.h_i = 0, or no move along d).
    """
    points, jacobians = real_array("points", points), real_array("jacobians", jacobians)
    if points.ndim < 2 or points.shape[-2] < 2:
        raise ArgumentError("points", points, "must have shape (..., L+1, D) with at least two points")
    *batch, count, width = points.shape
    if jacobians.shape != (*batch, count - 1, width, width):
        raise ArgumentError("jacobians", jacobians, f"must have shape {(*batch, count - 1, width, width)}")
    step = (points[..., -1, :] - points[..., 0, :]) / (count - 1)
    length = np.linalg.norm(step, axis=-1)
    if (length == 0).any():
        raise ArgumentError("points", points, "first and last point coincide, so there is no mean step")
    direction = step / length[..., None]
    seen = np.einsum("...d,...lde->...le", direction, jacobians)  # g_i
    linear = (seen * points[..., :-1, :]).sum(axis=-1)  # dhat . J_i h_i = g_i . h_i
    moved = np.einsum("...ld,...d->...l", np.diff(points, axis=-2), direction)
    blind = np.argwhere((linear == 0) | (moved == 0))
    if blind.size:
        block = int(blind[0][-1])
        raise ArgumentError(
            f"jacobians[{block}]", jacobians, "this block does not act along the mean step; leave it out"
        )
    gain = np.linalg.norm(seen, axis=-1)
    fraction = linear / moved
    return SlopeLaw(
        inverse_gain=1 / gain,
        predicted=linear / gain / (fraction * length[..., None]),
        cosine=np.einsum("...le,...e->...l", seen, direction) / gain,
        linear_fraction=fraction,
    )
