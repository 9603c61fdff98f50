"""What every stationary point of the Unconstrained Jacobians Model satisfies, and what every minimum does.

For any number of classes, inputs and differentiable loss, with J_1..J_L (L, D, D) and classifier W (C, D), or w (D,):

* balance: ``J_{i+1} + J_{i+1}^T J_{i+1} = J_i + J_i J_i^T`` [U5, new; its continuous-depth limit dA/dt = A A^T - A^T A
  is in Taghvaei, Kim & Mehta 2017];
* ``J_i`` symmetric and ``J_i + J_i^2 = W^T W`` [U5', new]: eigenvalues are s_k or -1-s_k ("flipped");
* if D > rank W, a flip has negative curvature, so at a local minimum all blocks are one matrix [U6, new].

The defects below are the residuals of these statements, zero exactly where they hold.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from theory.arguments import ArgumentError, real_array, real_number

# A point handed in as stationary may carry an optimiser's residual, not more.
_STATIONARY = 1e-6


@dataclass(frozen=True)
class NegativeCurvature:
    """A direction along which the objective bends down, and its curvature, which bounds the least eigenvalue.

    ``jacobians`` (L, D, D) and ``classifier`` (shape of W) form a direction of unit norm; ``bound`` is its exact second
    derivative ``lam (1 - (1+s) sqrt(N/(1+N))) < 0``, so the Hessian's least eigenvalue is at most that. ``block`` is
    the flipped block used (counted from 1) and ``s`` the singular value behind the flip.
    """

    jacobians: np.ndarray
    classifier: np.ndarray
    bound: float
    block: int
    s: float


def balance_defect(jacobians: np.ndarray) -> np.ndarray:
    """Frobenius norm of ``J_{i+1} + J_{i+1}^T J_{i+1} - J_i - J_i J_i^T`` for i = 1..L-1 [U5, new]; float64 (L-1,)."""
    jacobians = _blocks(jacobians)
    transposed = jacobians.swapaxes(1, 2)
    after, before = jacobians + transposed @ jacobians, jacobians + jacobians @ transposed
    return np.linalg.norm(after[1:] - before[:-1], axis=(1, 2))


def symmetry_defect(jacobians: np.ndarray) -> np.ndarray:
    """Frobenius norm of ``J_i - J_i^T`` for each block [U5', new]; float64 (L,)."""
    jacobians = _blocks(jacobians)
    return np.linalg.norm(jacobians - jacobians.swapaxes(1, 2), axis=(1, 2))


def classifier_defect(jacobians: np.ndarray, classifier: np.ndarray) -> np.ndarray:
    """Frobenius norm of ``J_i + J_i^2 - W^T W`` for each block [U5', new]; float64 (L,). W is (C, D), or w is (D,)."""
    jacobians, classifier = _point(jacobians, classifier)
    gram = classifier.T @ classifier
    return np.linalg.norm(jacobians + jacobians @ jacobians - gram, axis=(1, 2))


def minimum_from_classifier(classifier: np.ndarray) -> np.ndarray:
    """The block ``-I/2 + (I/4 + W^T W)^(1/2)`` that every block equals at a local minimum with D > rank W [U6, new].

    Symmetric, positive semidefinite, float64 (D, D). ``classifier``: W (C, D), or w (D,). Eigenvalues are
    ``s_k = 2 omega_k^2 / (1 + sqrt(1 + 4 omega_k^2))``, which loses no digits for small omega_k.
    """
    matrix = np.atleast_2d(real_array("classifier", classifier))
    _, omega, right = np.linalg.svd(matrix, full_matrices=False)
    s = 2 * omega**2 / (1 + np.sqrt(1 + 4 * omega**2))
    return right.T * s @ right


def negative_curvature(jacobians: np.ndarray, classifier: np.ndarray, weight_decay: float) -> NegativeCurvature | None:
    """The explicit descent direction at a stationary point with a flip, or None without flips [U6, new].

    The last flipped block i has ``J_i v = -(1+s) v``; with m = L - i and a unit e in ker W the direction is
    ``J_i += a e v^T + b_i v e^T``, ``J_j += b_j v e^T`` (j > i), ``W += c (W v / omega) e^T`` with ``n.(b, c) = 0`` for
    ``n = (1, (1+s)^-1, .., (1+s)^-m, (1+s)^-m / omega)``, which keeps the logits to first order. With
    ``N = sum_{r=1..m} (1+s)^(-2r) + (1+s)^(-2m) / (s(1+s))`` its curvature is ``lam (1 - (1+s) sqrt(N/(1+N)))``.

    Of several flipped directions in that block the one with the lowest bound is used. Any stationary point of any
    differentiable loss will do; no data are needed. Raises ArgumentError where the point is not stationary
    (U5' fails) and where rank W = D: the statement is false there.
    """
    weight_decay = real_number("weight_decay", weight_decay, above=0.0)
    jacobians, matrix = _point(jacobians, classifier)
    scale = 1 + float(np.abs(jacobians).max()) ** 2
    if max(symmetry_defect(jacobians).max(), classifier_defect(jacobians, matrix).max()) > _STATIONARY * scale:
        raise ArgumentError("jacobians", jacobians, "not a stationary point: J_i = J_i^T and J_i + J_i^2 = W^T W fail")
    # At a stationary point the eigenvalues are at least 0 or at most -1.
    spectra, frames = np.linalg.eigh((jacobians + jacobians.swapaxes(1, 2)) / 2)
    flipped = np.flatnonzero(spectra[:, 0] < -0.5)
    if not flipped.size:
        return None
    kernel = _kernel_direction(matrix)
    block = int(flipped[-1])
    candidates = [
        _curvature_along(jacobians, matrix, weight_decay, block, frames[block][:, k], -1 - spectra[block, k], kernel)
        for k in np.flatnonzero(spectra[block] < -0.5)
    ]
    lowest = min(candidates, key=lambda each: each.bound)
    return NegativeCurvature(
        lowest.jacobians, lowest.classifier.reshape(np.shape(classifier)), lowest.bound, block + 1, lowest.s
    )


def _curvature_along(
    jacobians: np.ndarray, matrix: np.ndarray, weight_decay: float, block: int, v: np.ndarray, s: float, e: np.ndarray
) -> NegativeCurvature:
    later = len(jacobians) - 1 - block
    omega = math.sqrt(s * (1 + s))
    normal = np.append((1 + s) ** -np.arange(later + 1.0), (1 + s) ** -float(later) / omega)
    # (b, c): the first unit vector projected on the plane n.(b, c) = 0; its length there is sqrt(N / (1 + N)).
    total = float(normal @ normal)
    weights = -normal / total
    weights[0] += 1
    cosine = math.sqrt(weights[0])
    weights /= cosine
    direction = np.zeros_like(jacobians)
    direction[block] = np.outer(e, v)
    direction[block:] += weights[:-1, None, None] * np.outer(v, e)
    turned = weights[-1] * np.outer(matrix @ v / omega, e)
    # Both halves, a and (b, c), have norm one.
    return NegativeCurvature(
        direction / math.sqrt(2), turned / math.sqrt(2), weight_decay * (1 - (1 + s) * cosine), block, float(s)
    )


def _kernel_direction(matrix: np.ndarray) -> np.ndarray:
    """A unit vector that W sends to 0."""
    dim = matrix.shape[1]
    _, omega, right = np.linalg.svd(matrix, full_matrices=True)
    if (omega > 1e-10 * max(1.0, float(omega[0]))).sum() == dim:
        raise ArgumentError("classifier", matrix, f"has rank D = {dim}; U6 needs D > rank W and is false without it")
    return right[-1]


def _blocks(jacobians: np.ndarray) -> np.ndarray:
    jacobians = real_array("jacobians", jacobians, ndim=3)
    if jacobians.shape[1] != jacobians.shape[2]:
        raise ArgumentError("jacobians", jacobians, "each block must be square: (L, D, D)")
    return jacobians


def _point(jacobians: np.ndarray, classifier: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    jacobians, matrix = _blocks(jacobians), np.atleast_2d(real_array("classifier", classifier))
    if matrix.ndim != 2 or matrix.shape[1] != jacobians.shape[2]:
        raise ArgumentError("classifier", matrix, f"must be (C, D) or (D,) with D = {jacobians.shape[2]}")
    return jacobians, matrix
