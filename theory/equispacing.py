"""Equispaced representations: RA Theorem 3.1, its converse, any rank, and stability, in numbers.

Conventions: ``h_1..h_{L+1}`` are points in R^D, stored as an array (L+1, D); block i maps
``h_{i+1} = (I + J_i) h_i`` (pre-activation, exact linearisation); Jacobians are stored as (L, D, D), block 1
first. "Equispaced" means equal step *vectors*; equal distances alone can fold back on a line.
Affine branches (T4) are in ``theory.slope_law``, the same statements in symbols in ``theory.derivations``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from theory.arguments import ArgumentError, real_array, real_number, unit_vectors, whole_number

# An orthonormal basis may carry the rounding of the decomposition it came from, not more.
_ORTHONORMAL_TOLERANCE = 1e-10


def aligned_jacobians(singular_values: ArrayLike, direction: ArrayLike) -> np.ndarray:
    """``J_i = s_i u u^T``: rank one, aligned across depth and left with right [RA2, RA3]; float64 (L, D, D).

    ``singular_values``: (L,), finite; ``direction`` u: (D,), unit norm. Raises ArgumentError otherwise.
    """
    direction = unit_vectors("direction", direction)
    return shared_direction_jacobians(singular_values, direction, direction)


def shared_direction_jacobians(singular_values: ArrayLike, left: ArrayLike, right: ArrayLike) -> np.ndarray:
    """``J_i = s_i u v^T`` with one shared left and one shared right direction [T2, new]; float64 (L, D, D).

    ``singular_values``: (L,); ``left`` u and ``right`` v: (D,), unit norm. Raises ArgumentError otherwise.
    """
    singular_values = real_array("singular_values", singular_values, ndim=1)
    left = unit_vectors("left", left)
    right = unit_vectors("right", right, shape=left.shape)
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


def shared_basis_jacobians(coefficients: ArrayLike, basis: ArrayLike) -> np.ndarray:
    """``J_i = U diag(l_i1..l_im) U^T`` with one orthonormal basis for every block [T3, new]; float64 (L, D, D).

    ``coefficients`` l: (L, m), any sign; ``basis`` U: (D, m), orthonormal columns. Raises ArgumentError otherwise.
    """
    coefficients = real_array("coefficients", coefficients, ndim=2)
    basis = _orthonormal("basis", basis, coefficients.shape[1])
    return np.einsum("dj,ij,ej->ide", basis, coefficients, basis)


def equispaced_coefficients(depth: int, offsets: ArrayLike) -> np.ndarray:
    """``l_ij = 1/(i - 1 + a_j)``: what equispaces in each direction of a shared basis [T3, new]; float64 (L, m).

    For an h_1 with no zero coordinate the only other choice is l_ij = 0 for all i (leave that direction out).
    ``offsets`` a: (m,), none of 0, -1, .., -(L-1). Negative offsets give negative coefficients; l = -1 can
    stand in the last block only (a = -L). Raises ArgumentError otherwise.
    """
    depth = whole_number("depth", depth)
    offsets = real_array("offsets", offsets, ndim=1)
    inverse = np.arange(depth)[:, None] + offsets
    if (inverse == 0).any():
        raise ArgumentError(
            "offsets", offsets, f"must not hold 0, -1, .., -{depth - 1}: l = 1/(i - 1 + a) would be 1/0"
        )
    return 1 / inverse


def propagate(jacobians: ArrayLike, start: ArrayLike, biases: ArrayLike | None = None) -> np.ndarray:
    """Representations ``h_{i+1} = h_i + J_i h_i (+ b_i)`` from ``start`` h_1 (D,); float64 (L+1, D).

    ``jacobians``: (L, D, D); ``biases``: (L, D), or None for exactly linear branches.
    Raises ArgumentError for shapes that do not chain.
    """
    jacobians = real_array("jacobians", jacobians, ndim=3)
    start = real_array("start", start, ndim=1)
    if jacobians.shape[1:] != (start.size, start.size):
        raise ArgumentError("start", start, f"must have length {jacobians.shape[-1]}, and each Jacobian be square")
    shape = (len(jacobians), start.size)
    shifts = np.zeros(shape) if biases is None else real_array("biases", biases, ndim=2)
    if shifts.shape != shape:
        raise ArgumentError("biases", shifts, f"must have shape {shape} to go with the jacobians")
    points = np.empty((len(jacobians) + 1, start.size))
    points[0] = start
    for i, (jacobian, shift) in enumerate(zip(jacobians, shifts, strict=True)):
        points[i + 1] = points[i] + jacobian @ points[i] + shift
    return points


def predicted_line(start: ArrayLike, depth: int, first: float, left: ArrayLike, right: ArrayLike) -> np.ndarray:
    """``h_k = h_1 + (k-1) s_1 (v.h_1) u``, k = 1..L+1 [T2, new; RA Thm 3.1 is u = v, s_1 = 1]; float64 (L+1, D).

    Holds when the singular values are ``equispaced_singular_values(depth, first, u.v)``.
    """
    depth = whole_number("depth", depth)
    first = real_number("first", first, above=0.0)
    start = real_array("start", start, ndim=1)
    left = unit_vectors("left", left)
    right = unit_vectors("right", right, shape=left.shape)
    if start.size != left.size:
        raise ArgumentError("start", start, f"must have length {left.size}, that of left and right")
    return start + np.outer(np.arange(depth + 1), first * (right @ start) * left)


def predicted_line_in_basis(start: ArrayLike, depth: int, offsets: ArrayLike, basis: ArrayLike) -> np.ndarray:
    """``h_k = h_1 + (k-1) sum_j (u_j.h_1 / a_j) u_j``, k = 1..L+1 [T3, new]; float64 (L+1, D).

    Holds for ``shared_basis_jacobians(equispaced_coefficients(depth, offsets), basis)``. Arguments as there.
    """
    first = equispaced_coefficients(depth, offsets)[0]
    basis = _orthonormal("basis", basis, first.size)
    start = real_array("start", start, ndim=1)
    if start.size != len(basis):
        raise ArgumentError("start", start, f"must have length {len(basis)}, that of the basis vectors")
    return start + np.outer(np.arange(depth + 1), basis @ (first * (basis.T @ start)))


def equispacing_defect(points: ArrayLike) -> float:
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


def stability_bound(errors: ArrayLike, start_norm: float = 1.0) -> np.ndarray:
    """Largest distance of h_k from the ideal line if ``J_i = (1/i) u u^T + E_i``, ``||E_i||_2 <= e_i`` [T5, new].

    ``|h_k - h_k^ideal| <= |h_1| k (prod_{i<k} (1 + e_i i/(i+1)) - 1)``, k = 1..L+1: float64 (L+1,), the first 0.
    Sharp: equality for ``E_i = e_i u u^T`` and h_1 parallel to u. Small errors do not cancel (expm1 of a sum
    of log1p). ``errors`` e: (L,), non-negative; ``start_norm`` |h_1| >= 0. Raises ArgumentError otherwise.
    """
    errors = real_array("errors", errors, ndim=1, least=0.0)
    start_norm = real_number("start_norm", start_norm, least=0.0)
    i = np.arange(1, errors.size + 1)
    growth = np.concatenate(([0.0], np.cumsum(np.log1p(errors * (i / (i + 1))))))
    return start_norm * np.arange(1, errors.size + 2) * np.expm1(growth)


def _orthonormal(name: str, basis: ArrayLike, columns: int) -> np.ndarray:
    basis = real_array(name, basis, ndim=2)
    if basis.shape[1] != columns:
        raise ArgumentError(name, basis, f"must have {columns} columns, one for each direction")
    defect = np.abs(basis.T @ basis - np.eye(columns)).max()
    if defect > _ORTHONORMAL_TOLERANCE:
        raise ArgumentError(name, basis, f"columns must be orthonormal (off by {defect:g}); take a QR decomposition")
    return basis
