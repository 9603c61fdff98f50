"""Path-length laws: what ties the two papers together.

    prod_i (D_i + t J_i) = sum_r t^r E_r,

and E_r collects the paths through exactly r residual branches. Two normalisations are in use. A *sum law*
has P_r = |E_r a| / sum |E_r a| (for aligned non-negative gains: a probability law of path counts). An
*energy law* has pi_r = |E_r a|^2 / sum |E_r a|^2, which is what the spin-glass paper's eps_r^2 is.
``poisson_binomial``, ``binomial``, ``stirling`` and ``ewens`` are sum laws; ``incoherent`` is an energy law;
``sum_law`` and ``energy_law`` turn amplitudes (or a sum law) into either.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from theory.arguments import ArgumentError, real_array, real_number, unit_vectors, whole_number


def elementary_symmetric(gains: ArrayLike) -> np.ndarray:
    """Elementary symmetric polynomials ``e_0..e_L`` of ``gains``: coefficients of ``prod_i (1 + g_i t)`` [P2].

    ``gains``: real, any sign, shape (..., L). Returns float64, shape (..., L+1), un-normalised. Relative
    accuracy about 2 L ulp where the gains have one sign; mixed signs can cancel. Raises ArgumentError where a
    coefficient exceeds 1.8e308 (``log_elementary_symmetric`` and ``poisson_binomial`` never do).
    """
    gains = _vectors("gains", gains)
    with np.errstate(over="ignore", invalid="ignore"):
        coefficients = _product_of_linear_factors(np.ones_like(gains), gains)
    if not np.isfinite(coefficients).all():
        raise ArgumentError("gains", gains, "coefficients overflow; use log_elementary_symmetric or poisson_binomial")
    return coefficients


def log_elementary_symmetric(gains: ArrayLike) -> np.ndarray:
    """Natural logarithms of ``e_0..e_L`` for non-negative ``gains``: no overflow, no lost tail [P2]; shape (..., L+1).

    ``gains``: shape (..., L). Relative accuracy of the logarithm 1e-12 at L = 5000; ``-inf`` where e_r = 0.
    Raises ArgumentError for negative gains.
    """
    gains = _vectors("gains", gains, least=0.0)
    with np.errstate(divide="ignore"):
        log_gains = np.log(gains)
    log_coefficients = np.full((*gains.shape[:-1], gains.shape[-1] + 1), -np.inf)
    log_coefficients[..., 0] = 0.0
    for i in range(gains.shape[-1]):
        taken = log_gains[..., i, None] + log_coefficients[..., : i + 1]
        log_coefficients[..., 1 : i + 2] = np.logaddexp(log_coefficients[..., 1 : i + 2], taken)
    return log_coefficients


def poisson_binomial(gains: ArrayLike) -> np.ndarray:
    """Sum law of r for aligned rank-one Jacobians with singular values ``gains`` [P2, new]; float64, shape (..., L+1).

    ``P_r = e_r(g) / prod(1 + g_i)``: the Poisson-binomial law with success probabilities ``g_i / (1 + g_i)``.
    ``gains``: finite, non-negative, shape (..., L). Every P_r above 1e-300 has relative accuracy of about 3 L
    ulp, the tails included. Raises ArgumentError for negative gains.
    """
    gains = _vectors("gains", gains, least=0.0)
    # 1/(1+g), not 1 - g/(1+g): the latter keeps no digit of a small failure probability. The recursion is
    # scipy's own (stats.poisson_binom, which takes probabilities and is 40 times slower at L = 5000).
    return _law(_product_of_linear_factors(1 / (1 + gains), gains / (1 + gains)))


def binomial(depth: int, beta: float) -> np.ndarray:
    """Sum law of r at the optimum of the UJM [P3]: ``C(L, r) beta^r / (1 + beta)^L``; float64, shape (L+1,).

    Its ``energy_law`` is the LS energy law with p = L + 1 and path length r + 1. ``depth >= 1``, ``beta >= 0``.
    Every P_r above 1e-290 has relative accuracy 1e-12 up to L = 5000. Raises ArgumentError for bad arguments.
    """
    depth = whole_number("depth", depth)
    beta = real_number("beta", beta, least=0.0)
    if beta > 1:
        # The law of the branches not taken: a success probability near 1 would round away its complement.
        return binomial(depth, 1 / beta)[::-1]
    return _law(stats.binom.pmf(np.arange(depth + 1), depth, beta / (1 + beta)))


def stirling(depth: int) -> np.ndarray:
    """Sum law of r under Residual Alignment with ``s_i = 1/i`` [P4, new]; float64, shape (L+1,).

    ``P_r = c(L+1, r+1) / (L+1)!`` with c the unsigned Stirling numbers of the first kind. Mean
    ``H_{L+1} - 1`` and variance ``H_{L+1} - H^(2)_{L+1}``: an ensemble of depth about log L, not a fraction of L.
    """
    return ewens(depth, 1.0)


def ewens(depth: int, scale: float) -> np.ndarray:
    """Sum law of r under RA when every branch is multiplied by ``scale`` [P5, new]; float64, shape (L+1,).

    ``P_r ~ scale^r c(L+1, r+1)``: r + 1 counts the cycles of an Ewens permutation of L + 1 letters with
    parameter ``scale``. Mean ``sum_i scale / (scale + i)``, i = 1..L. ``depth >= 1``, ``scale >= 0``.
    """
    depth = whole_number("depth", depth)
    scale = real_number("scale", scale, least=0.0)
    return poisson_binomial(scale / np.arange(1, depth + 1))


def incoherent(frobenius_norms: ArrayLike, width: int) -> np.ndarray:
    """Energy law of r for independent, right-orthogonally invariant Jacobians, no gates [P6]; shape (..., L+1).

    ``E|E_r a|^2 = |a|^2 e_r(|J_i|_F^2 / D)``, normalised over r: a law of expected energies, to be set beside
    ``energy_law`` of measured amplitudes, not beside a sum law. Left invariance does not suffice.
    ``frobenius_norms`` |J_i|_F: (..., L), non-negative; ``width`` D >= 1. Raises ArgumentError otherwise.
    """
    norms = _vectors("frobenius_norms", frobenius_norms, least=0.0) / np.sqrt(whole_number("width", width))
    # g/(1+g) for g = norm^2, through the hypotenuse so that no square overflows.
    hypotenuse = np.hypot(1, norms)
    return _law(_product_of_linear_factors(hypotenuse**-2.0, (norms / hypotenuse) ** 2))


def sum_law(amplitudes: ArrayLike) -> np.ndarray:
    """Sum law ``P_r = |a_r| / sum |a|`` of path amplitudes [definition]; float64, same shape, last axis is r.

    Raises ArgumentError if all amplitudes along the last axis vanish (there is then no path to speak of).
    """
    return _law(_relative_to_largest(amplitudes))


def energy_law(amplitudes: ArrayLike) -> np.ndarray:
    """Energy law ``pi_r = a_r^2 / sum a^2`` of path amplitudes [definition]; float64, same shape, last axis is r.

    Raises ArgumentError if all amplitudes along the last axis vanish (there is then no path to speak of).
    """
    return _law(_relative_to_largest(amplitudes) ** 2)


def mean_and_variance(law: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Mean and variance of r under a law on r = 0..L, along the last axis [definition]; float64 arrays of shape (...).

    ``law``: (..., L+1), non-negative, of sum 1; which law (sum or energy) is the caller's. In units of
    residual branches; LS counts layers, r + 1. Raises ArgumentError for what is no law.
    """
    law = _vectors("law", law, least=0.0)
    if (np.abs(law.sum(axis=-1) - 1) > 1e-9).any():
        raise ArgumentError("law", law, "must sum to 1 along the last axis; see sum_law and energy_law")
    r = np.arange(law.shape[-1])
    mean = law @ r
    return mean, (law * (r - mean[..., None]) ** 2).sum(axis=-1)


def path_coefficients(jacobians: ArrayLike, skips: ArrayLike, vector: ArrayLike) -> np.ndarray:
    """``E_r a`` for r = 0..L, from ``prod_i (D_i + t J_i) a = sum_r t^r E_r a`` [P1]; exact in every coefficient.

    Shapes: ``jacobians`` (..., L, D, D) with block 1 first (it acts first), ``skips`` (..., L, D), the
    diagonals of the D_i (all ones for pre-activation blocks, gates for post-activation, zeros without skip),
    ``vector`` (..., D). Returns float64 (..., L+1, D). L batched products. Raises ArgumentError for shapes
    that do not fit and for overflow.
    """
    jacobians, skips, vector = _blocks(jacobians, skips, vector)
    *batch, depth, width, _ = jacobians.shape
    paths = np.zeros((*batch, depth + 1, width))
    paths[..., 0, :] = vector
    with np.errstate(over="ignore", invalid="ignore"):
        for i in range(depth):
            # E_r <- D_i E_r + J_i E_{r-1}; after i blocks only r <= i is occupied.
            through_branch = paths[..., : i + 1, :] @ np.swapaxes(jacobians[..., i, :, :], -1, -2)
            paths[..., : i + 1, :] *= skips[..., i, None, :]
            paths[..., 1 : i + 2, :] += through_branch
    return _finite(paths, jacobians)


def rank_one_path_amplitudes(
    jacobians: ArrayLike, skips: ArrayLike, vector: ArrayLike, direction: ArrayLike
) -> np.ndarray:
    """Path amplitudes |E_r a| if each J_i acts as ``dhat g_i^T``, ``g_i = J_i^T dhat`` [P7, new]; float64 (..., L+1).

    Entry 0 is |E_0 a| = |prod_i D_i a|, entry r >= 1 is |c_r| with ``E_r a = c_r dhat``,
    ``c_r <- (dhat . D_i dhat) c_r + (g_i . dhat) c_{r-1}``, where ``g_i . (D_{i-1} .. D_1 a)`` enters for r = 1.
    Exact when ``J_i = dhat g_i^T`` and ``D_i dhat`` is parallel to dhat (0/1 gates in ``J_i = D_i W_i != 0``
    imply it); an approximation, without any fit, otherwise. Un-normalised: compare ``energy_law`` of this with
    ``energy_law`` of the norms of ``path_coefficients``, or ``sum_law`` with ``sum_law``. Where r = 0 carries
    most of the energy the two are close whatever the orientations: look at the mean of r as well.

    Shapes as in ``path_coefficients``; ``direction`` dhat (..., D) of unit norm, the direction of the common
    step. Raises ArgumentError for shapes that do not fit, for a direction that is not unit, and for overflow.
    """
    jacobians, skips, vector = _blocks(jacobians, skips, vector)
    direction = unit_vectors("direction", direction, shape=vector.shape)
    depth = jacobians.shape[-3]
    seen = np.einsum("...d,...lde->...le", direction, jacobians)  # g_i
    kept = np.einsum("...d,...ld,...d->...l", direction, skips, direction)  # dhat . D_i dhat
    passed = np.einsum("...ld,...d->...l", seen, direction)  # g_i . dhat
    skipped = vector  # D_{i-1} .. D_1 a
    amplitudes = np.zeros((*vector.shape[:-1], depth + 1))  # c_r; c_0 stays 0, for E_0 a is no multiple of dhat
    with np.errstate(over="ignore", invalid="ignore"):
        for i in range(depth):
            through_branch = passed[..., i, None] * amplitudes[..., 1 : i + 1]
            entering = (seen[..., i, :] * skipped).sum(axis=-1)
            amplitudes[..., 1 : i + 1] *= kept[..., i, None]
            amplitudes[..., 2 : i + 2] += through_branch
            amplitudes[..., 1] += entering
            skipped *= skips[..., i, :]
        amplitudes[..., 0] = np.linalg.norm(skipped, axis=-1)
    return np.abs(_finite(amplitudes, jacobians))


def total_variation(first: ArrayLike, second: ArrayLike) -> np.ndarray:
    """Total-variation distance ``1/2 sum_r |P_r - Q_r|`` of two laws along the last axis, broadcast over the others.

    Compare like with like: two sum laws or two energy laws. Raises ArgumentError if their lengths differ.
    """
    first, second = _vectors("first", first), _vectors("second", second)
    if first.shape[-1] != second.shape[-1]:
        raise ArgumentError("second", second, f"must have a last axis of length {first.shape[-1]}, that of first")
    return 0.5 * np.abs(first - second).sum(axis=-1)


def _product_of_linear_factors(constants: np.ndarray, slopes: np.ndarray) -> np.ndarray:
    """Coefficients of ``prod_i (a_i + b_i t)`` over the last axis; no subtraction if all are non-negative."""
    *batch, depth = constants.shape
    coefficients = np.zeros((*batch, depth + 1))
    coefficients[..., 0] = 1.0
    for i in range(depth):
        taken = slopes[..., i, None] * coefficients[..., : i + 1]
        coefficients[..., : i + 1] *= constants[..., i, None]
        coefficients[..., 1 : i + 2] += taken
    return coefficients


def _vectors(name: str, value: ArrayLike, least: float | None = None) -> np.ndarray:
    array = real_array(name, value, least=least)
    if array.ndim == 0:
        raise ArgumentError(name, float(array), "must be an array with at least one axis")
    return array


def _blocks(jacobians: ArrayLike, skips: ArrayLike, vector: ArrayLike) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
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
    return jacobians, skips, vector


def _finite(paths: np.ndarray, jacobians: np.ndarray) -> np.ndarray:
    if not np.isfinite(paths).all():
        raise ArgumentError("jacobians", jacobians, "path coefficients exceed 1.8e308; scale vector and jacobians down")
    return paths


def _relative_to_largest(amplitudes: ArrayLike) -> np.ndarray:
    amplitudes = np.abs(_vectors("amplitudes", amplitudes))
    largest = amplitudes.max(axis=-1, keepdims=True)
    if (largest == 0).any():
        raise ArgumentError("amplitudes", amplitudes, "all path amplitudes are zero, so they define no law")
    return amplitudes / largest


def _law(weights: np.ndarray) -> np.ndarray:
    # Library laws are normalised to rounding; a last division makes the sum exact to one ulp.
    return weights / weights.sum(axis=-1, keepdims=True)
