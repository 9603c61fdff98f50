"""Gradient descent on a mixed spherical Hamiltonian of any size, drawing only what the path looks at.

At points u_1..u_k an isotropic Gaussian field with Cov = nu(<u, v>) has

    Cov(d_i f(u), f(v)) = nu'(t) v_i,   Cov(d_i f(u), d_j f(v)) = nu'(t) delta_ij + nu''(t) v_i u_j,   t = <u, v>.

Inside span(u_1..u_k), f and the gradients' components are one small Gaussian vector. Across it, the gradients'
components are independent over directions, with covariance nu'(<u_a, u_b>) between points, and independent of
that vector. Conditioning on all that is known makes each step exact, although the path depends on what it saw
[new]. k steps cost N k^2 + k^7 for any degree; nothing of size N^p is stored.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from theory.arguments import real_array, real_number, whole_number

# Homogeneous fields obey Euler's relation f = <u, grad f> / p, so covariances may be singular.
_RANK = 1e-11


@dataclass(frozen=True)
class Path:
    """One descent: ``points`` (k, N), ``values`` f (k,), Euclidean ``gradients`` (k, N); ``slopes`` (k,) tangential."""

    points: np.ndarray
    values: np.ndarray
    gradients: np.ndarray

    @property
    def slopes(self) -> np.ndarray:
        """Norms of the tangential gradients."""
        radial = (self.gradients * self.points).sum(1, keepdims=True)
        return np.linalg.norm(self.gradients - radial * self.points, axis=1)


def descend(n: int, weights: np.ndarray, steps: int, rate: float, rng: np.random.Generator) -> Path:
    """Gradient descent ``u <- normalise(u - rate * tangential gradient)`` from a uniform point of S^{n-1}.

    ``weights`` = eps_r^2, r = 1..p. The path has ``steps + 1`` points, fewer than ``n``. Raises ArgumentError
    for bad n, weights, steps or rate.
    """
    n = whole_number("n", n, least=2)
    weights = real_array("weights", weights, ndim=1, least=0.0)
    steps = whole_number("steps", steps, most=n - 1)
    rate = real_number("rate", rate, above=0.0)
    start = rng.standard_normal(n)
    points = (start / np.linalg.norm(start))[None]
    values, gradients = np.zeros(0), np.zeros((0, n))
    for _ in range(steps + 1):
        value, gradient = reveal(weights, points, values, gradients, rng)
        values, gradients = np.append(values, value), np.vstack([gradients, gradient])
        here = points[-1]
        moved = here - rate * (gradient - (gradient @ here) * here)
        points = np.vstack([points, moved / np.linalg.norm(moved)])
    return Path(points[:-1], values, gradients)


def reveal(
    weights: np.ndarray, points: np.ndarray, values: np.ndarray, gradients: np.ndarray, rng: np.random.Generator
) -> tuple[float, np.ndarray]:
    """f and its Euclidean gradient at the last of ``points`` (k, N), given both at the k - 1 before.

    ``values`` (k-1,), ``gradients`` (k-1, N). The conditional law is exact if each point was chosen by looking
    at no more than the values and gradients at the points before it.
    """
    basis = np.linalg.qr(points.T)[0].T
    coordinates = points @ basis.T
    inner = coordinates @ coordinates.T
    # In the span: (f, gradient components) of each point, k + 1 numbers for each of k points.
    covariance = _in_span_covariance(weights, coordinates, inner)
    known = np.column_stack([values, gradients @ basis.T]).ravel()
    drawn = _conditional(covariance, known[:, None], rng)[:, 0]
    # Across it: the same regression for each direction, rows being points.
    across = gradients - (gradients @ basis.T) @ basis
    row = _conditional(derivative(weights, inner, 1), across, rng)[0]
    row = row - (row @ basis.T) @ basis
    return float(drawn[0]), drawn[1:] @ basis + row


def derivative(weights: np.ndarray, t: np.ndarray, order: int) -> np.ndarray:
    """``nu(t)``, ``nu'(t)`` or ``nu''(t)`` for order 0, 1, 2, elementwise."""
    polynomial = np.polynomial.Polynomial(np.concatenate(([0.0], weights)))
    return (polynomial.deriv(order) if order else polynomial)(t)


def _in_span_covariance(weights: np.ndarray, coordinates: np.ndarray, inner: np.ndarray) -> np.ndarray:
    """Covariance of (f, d_1 f, .., d_k f) over k points in R^k; (k (k+1), k (k+1)), point by point."""
    k = len(coordinates)
    nu, first, second = (derivative(weights, inner, order) for order in range(3))
    blocks = np.empty((k, k + 1, k, k + 1))
    blocks[:, 0, :, 0] = nu
    # Cov(f(u_a), d_j f(u_b)) = nu' (u_a)_j and Cov(d_i f(u_a), f(u_b)) = nu' (u_b)_i.
    blocks[:, 0, :, 1:] = first[:, :, None] * coordinates[:, None, :]
    blocks[:, 1:, :, 0] = np.einsum("ab,bi->aib", first, coordinates)
    blocks[:, 1:, :, 1:] = np.einsum("ab,ij->aibj", first, np.eye(k)) + np.einsum(
        "ab,bi,aj->aibj", second, coordinates, coordinates
    )
    return blocks.reshape(k * (k + 1), k * (k + 1))


def _conditional(covariance: np.ndarray, known: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw the last entries of a Gaussian vector given the first; ``known`` (m, columns), columns independent."""
    m = len(known)
    # To unit variances first: f has variance 1, a gradient's component up to nu''.
    scale = np.sqrt(np.diag(covariance))
    correlation = covariance / np.outer(scale, scale)
    gain = np.linalg.pinv(correlation[:m, :m], rcond=_RANK, hermitian=True) @ correlation[:m, m:]
    rest = correlation[m:, m:] - correlation[m:, :m] @ gain
    variances, axes = np.linalg.eigh((rest + rest.T) / 2)
    noise = rng.standard_normal((len(rest), known.shape[1]))
    drawn = gain.T @ (known / scale[:m, None]) + axes @ (np.sqrt(np.maximum(variances, 0.0))[:, None] * noise)
    return drawn * scale[m:, None]
