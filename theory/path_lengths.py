"""Path-length laws: what ties the two papers together.

    prod_i (D_i + t J_i) = sum_r t^r E_r,

and E_r collects the paths through exactly r residual branches. Two normalisations are in use. A *sum law*
has P_r = |E_r a| / sum |E_r a| (for aligned non-negative gains: a probability law of path counts). An
*energy law* has pi_r = |E_r a|^2 / sum |E_r a|^2, which is what the spin-glass paper's eps_r^2 is.
"""

from __future__ import annotations

import numpy as np
from scipy import stats

from theory.arguments import ArgumentError, real_array, real_number, whole_number


def elementary_symmetric(gains: np.ndarray) -> np.ndarray:
    """Elementary symmetric polynomials ``e_0..e_L`` of ``gains``: coefficients of ``prod_i (1 + g_i t)`` [P2].

    ``gains``: real, shape (L,), any sign. Returns float64, shape (L+1,). Coefficients are un-normalised;
    raises ArgumentError where one exceeds 1.8e308 (for non-negative gains ``poisson_binomial`` never does).
    """
    gains = real_array("gains", gains, ndim=1)
    coefficients = np.zeros(gains.size + 1)
    coefficients[0] = 1.0
    with np.errstate(over="ignore", invalid="ignore"):
        for i, gain in enumerate(gains):
            coefficients[1 : i + 2] += gain * coefficients[: i + 1]
    if not np.isfinite(coefficients).all():
        raise ArgumentError("gains", gains, "coefficients overflow; scale the gains, or use poisson_binomial")
    return coefficients


def poisson_binomial(gains: np.ndarray) -> np.ndarray:
    """Sum law of r for aligned rank-one Jacobians with singular values ``gains`` [P2, new]; float64, shape (L+1,).

    ``P_r = e_r(g) / prod(1 + g_i)``: the Poisson-binomial law with success probabilities ``g_i / (1 + g_i)``.
    ``gains``: finite, non-negative, shape (L,). Raises ArgumentError otherwise.
    """
    gains = real_array("gains", gains, ndim=1, least=0.0)
    return _law(stats.poisson_binom(gains / (1 + gains)).pmf(np.arange(gains.size + 1)))


def binomial(depth: int, beta: float) -> np.ndarray:
    """Sum law of r at the optimum of the UJM [P3]: ``C(L, r) beta^r / (1 + beta)^L``; float64, shape (L+1,).

    Its square, normalised, is the LS energy law with p = L + 1 and path length r + 1. ``depth >= 1``, ``beta >= 0``.
    """
    depth = whole_number("depth", depth)
    beta = real_number("beta", beta, least=0.0)
    return _law(stats.binom.pmf(np.arange(depth + 1), depth, beta / (1 + beta)))


def stirling(depth: int) -> np.ndarray:
    """Sum law of r under Residual Alignment with ``s_i = 1/i`` [P4, new]; float64, shape (L+1,).

    ``P_r = c(L+1, r+1) / (L+1)!`` with c the unsigned Stirling numbers of the first kind. Mean
    ``H_{L+1} - 1`` and variance ``H_{L+1} - H^(2)_{L+1}``: an ensemble of depth about log L, not a fraction of L.
    """
    depth = whole_number("depth", depth)
    return poisson_binomial(1 / np.arange(1, depth + 1))


def energy_law(amplitudes: np.ndarray) -> np.ndarray:
    """Energy law ``pi_r = a_r^2 / sum a^2`` of path amplitudes [definition]; float64, same shape, last axis is r.

    Raises ArgumentError if all amplitudes along the last axis vanish (there is then no path to speak of).
    """
    amplitudes = real_array("amplitudes", amplitudes)
    largest = np.abs(amplitudes).max(axis=-1, keepdims=True)
    if (largest == 0).any():
        raise ArgumentError("amplitudes", amplitudes, "all path amplitudes are zero, so they define no law")
    energies = (amplitudes / largest) ** 2
    return energies / energies.sum(axis=-1, keepdims=True)


def path_coefficients(jacobians: np.ndarray, skips: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """``E_r a`` for r = 0..L, from ``prod_i (D_i + t J_i) a = sum_r t^r E_r a`` [P1]; exact in every coefficient.

    Shapes: ``jacobians`` (..., L, D, D) with block 1 first (it acts first), ``skips`` (..., L, D), the
    diagonals of the D_i (all ones for pre-activation blocks, gates for post-activation, zeros without skip),
    ``vector`` (..., D). Returns float64 (..., L+1, D). L batched products.
    """
    jacobians = real_array("jacobians", jacobians)
    skips = real_array("skips", skips)
    vector = real_array("vector", vector)
    if jacobians.ndim < 3 or jacobians.shape[-1] != jacobians.shape[-2]:
        raise ArgumentError("jacobians", jacobians, "must have shape (..., L, D, D) with square blocks")
    *batch, depth, width, _ = jacobians.shape
    if skips.shape != (*batch, depth, width):
        raise ArgumentError("skips", skips, f"must have shape {(*batch, depth, width)} to go with the jacobians")
    if vector.shape != (*batch, width):
        raise ArgumentError("vector", vector, f"must have shape {(*batch, width)} to go with the jacobians")
    paths = np.zeros((*batch, depth + 1, width))
    paths[..., 0, :] = vector
    for i in range(depth):
        # E_r <- D_i E_r + J_i E_{r-1}; after i blocks only r <= i is occupied.
        through_branch = paths[..., : i + 1, :] @ np.swapaxes(jacobians[..., i, :, :], -1, -2)
        paths[..., : i + 1, :] *= skips[..., i, None, :]
        paths[..., 1 : i + 2, :] += through_branch
    return paths


def total_variation(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Total-variation distance ``1/2 sum_r |P_r - Q_r|`` of two laws along the last axis, broadcast over the others."""
    return 0.5 * np.abs(np.asarray(first) - np.asarray(second)).sum(axis=-1)


def _law(probabilities: np.ndarray) -> np.ndarray:
    # Library laws are normalised to rounding; a last division makes the sum exact to one ulp.
    return probabilities / probabilities.sum()


def rank_one_path_amplitudes(jacobians, skips, vector, direction):
    """Temporary stand-in until the branch `paths` lands."""
    amplitudes = np.zeros((*skips.shape[:-2], skips.shape[-2] + 1))
    bypass = vector
    for i in range(skips.shape[-2]):
        g = np.einsum("...de,...d->...e", jacobians[..., i, :, :], direction)
        keep = (direction * skips[..., i, :] * direction).sum(-1)
        new = amplitudes * keep[..., None]
        new[..., 2:] += (g * direction).sum(-1)[..., None] * amplitudes[..., 1:-1]
        new[..., 1] += (g * bypass).sum(-1)
        amplitudes, bypass = new, skips[..., i, :] * bypass
    amplitudes[..., 0] = np.linalg.norm(bypass, axis=-1)
    return np.abs(amplitudes)
