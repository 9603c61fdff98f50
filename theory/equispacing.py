"""Equispaced representations: RA Theorem 3.1, its converse, and the slope law, in numbers.

Conventions: ``h_1..h_{L+1}`` are points in R^D, stored as an array (L+1, D); block i maps
``h_{i+1} = (I + J_i) h_i`` (pre-activation, exact linearisation); Jacobians are stored as (L, D, D), block 1
first. "Equispaced" means equal step *vectors*; equal distances alone can fold back on a line.
The same statements in symbols are in ``theory.derivations``.
"""

from __future__ import annotations

import numpy as np

from theory.arguments import ArgumentError, real_array, real_number, whole_number

# A direction handed in as "unit" may carry the rounding of its own normalisation, not more.
_UNIT_TOLERANCE = 1e-10


def aligned_jacobians(singular_values: np.ndarray, direction: np.ndarray) -> np.ndarray:
    """``J_i = s_i u u^T``: rank one, aligned across depth and left with right [RA2, RA3]; float64 (L, D, D).

    ``singular_values``: (L,), finite; ``direction`` u: (D,), unit norm. Raises ArgumentError otherwise.
    """
    direction = _unit("direction", direction)
    return shared_direction_jacobians(singular_values, direction, direction)


def shared_direction_jacobians(singular_values: np.ndarray, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """``J_i = s_i u v^T`` with one shared left and one shared right direction [T2, new]; float64 (L, D, D).

    ``singular_values``: (L,); ``left`` u and ``right`` v: (D,), unit norm. Raises ArgumentError otherwise.
    """
    singular_values = real_array("singular_values", singular_values, ndim=1)
    left = _unit("left", left)
    right = _unit("right", right, left.size)
    return singular_values[:, None, None] * np.outer(left, right)


def inverse_depth_singular_values(depth: int) -> np.ndarray:
    """``s_i = 1/i``, i = 1..L [RA4]; float64 (L,)."""
    return 1 / np.arange(1, whole_number("depth", depth) + 1)


def equispaced_singular_values(depth: int, first: float, cosine: float) -> np.ndarray:
    """The only singular values that equispace, ``1/s_i = 1/s_1 + (i-1) rho`` [T2, new]; float64 (L,).

    ``first`` s_1 > 0; ``cosine`` rho = u.v in [-1, 1]. The slope of 1/s against depth *is* the cosine between
    the left and right directions: 1 gives RA4, 0 constant singular values. For rho < 0 this needs
    ``1/s_1 + (L-1) rho > 0``; ArgumentError says so.
    """
    depth = whole_number("depth", depth)
    first = real_number("first", first, above=0.0)
    cosine = real_number("cosine", cosine, least=-1.0)
    if cosine > 1:
        raise ArgumentError("cosine", cosine, "must lie between -1 and 1")
    inverse = 1 / first + np.arange(depth) * cosine
    if inverse[-1] <= 0:
        raise ArgumentError(
            "depth", depth, f"1/s_i = 1/{first:g} + (i-1) ({cosine:g}) must stay positive; use fewer blocks"
        )
    return 1 / inverse


def propagate(jacobians: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Representations ``h_{i+1} = (I + J_i) h_i`` from ``start`` h_1 (D,); float64 (L+1, D)."""
    jacobians = real_array("jacobians", jacobians, ndim=3)
    start = real_array("start", start, ndim=1)
    if jacobians.shape[1:] != (start.size, start.size):
        raise ArgumentError("start", start, f"must have length {jacobians.shape[-1]}, and each Jacobian be square")
    points = np.empty((len(jacobians) + 1, start.size))
    points[0] = start
    for i, jacobian in enumerate(jacobians):
        points[i + 1] = points[i] + jacobian @ points[i]
    return points


def predicted_line(start: np.ndarray, depth: int, first: float, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """``h_k = h_1 + (k-1) s_1 (v.h_1) u``, k = 1..L+1 [T2, new; RA Thm 3.1 is u = v, s_1 = 1]; float64 (L+1, D).

    Holds when the singular values are ``equispaced_singular_values(depth, first, u.v)``.
    """
    depth = whole_number("depth", depth)
    first = real_number("first", first, above=0.0)
    start = real_array("start", start, ndim=1)
    left, right = _unit("left", left), _unit("right", right, left.size)
    if start.size != left.size:
        raise ArgumentError("start", start, f"must have length {left.size}, that of left and right")
    return start + np.outer(np.arange(depth + 1), first * (right @ start) * left)


def equispacing_defect(points: np.ndarray) -> float:
    """Largest deviation of a step from the mean step, relative to the mean length of a step; 0 iff equispaced.

    ``points``: (L+1, D) with L >= 1. Raises ArgumentError for points that never move.
    """
    points = real_array("points", points, ndim=2)
    if len(points) < 2:
        raise ArgumentError("points", points, "needs at least two points")
    steps = np.diff(points, axis=0)
    scale = np.linalg.norm(steps, axis=1).mean()
    if scale == 0:
        raise ArgumentError("points", points, "all points coincide, so equal spacing is undefined")
    return float(np.linalg.norm(steps - steps.mean(axis=0), axis=1).max() / scale)


def _unit(name: str, vector: np.ndarray, length: int | None = None) -> np.ndarray:
    vector = real_array(name, vector, ndim=1)
    if length is not None and vector.size != length:
        raise ArgumentError(name, vector, f"must have the length of left, {length}")
    norm = float(np.linalg.norm(vector))
    if abs(norm - 1) > _UNIT_TOLERANCE:
        raise ArgumentError(name, vector, f"must have unit norm, has {norm:g}; divide by its norm")
    return vector
