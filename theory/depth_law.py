"""The depth law of the spin-glass picture: eps_r, the weight of the paths of length r [LS Eq. 16].

    eps_r = C(p-1, r-1) beta^r / z,   r = 1..p,   sum_r eps_r^2 = 1.

``eps`` are amplitudes; ``pi_r = eps_r^2`` is the energy law, and the moments here are moments of ``pi``.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from theory.arguments import real_array, real_number, whole_number

# 10^8 entries are 0.8 GB an array, and a few are alive at once.
_LARGEST_DEPTH = 10**8


def log_epsilon(p: int, beta: float | Fraction) -> np.ndarray:
    """Natural logarithm of the amplitudes eps_r [LS Eq. 16, recovered].

    Parameters: depth ``p >= 1``; path gain ``beta >= 0`` (a float or a Fraction). Returns a float64 array
    of shape (p,); entry ``r - 1`` belongs to path length r. ``beta = 0`` is the limit beta -> 0+: only
    r = 1 survives, the others are ``-inf``.

    Accuracy: absolute error of log eps_r at most 1e-13 (p <= 60) and 1e-9 (p <= 10^6), over the band that
    carries the mass. Raises ArgumentError for bad p or beta, and for p > 10^8 (the array would not fit).
    """
    p = whole_number("p", p, most=_LARGEST_DEPTH)
    gain = _path_gain(beta)
    if gain == 0:
        return np.concatenate(([0.0], np.full(p - 1, -np.inf)))
    # eps_{r+1} / eps_r = beta (p - r) / r. Summing the logarithms outwards from the mode keeps every partial
    # sum as small as the value it stands for, so nothing cancels (log-gamma would lose 9 digits at p = 10^6).
    r = np.arange(1, p, dtype=np.float64)
    log_ratio = math.log(gain) + np.log((p - r) / r)
    mode = modes(p, beta)[0]
    log_eps = np.zeros(p)
    log_eps[mode:] = np.cumsum(log_ratio[mode - 1 :])
    log_eps[: mode - 1] = -np.cumsum(log_ratio[: mode - 1][::-1])[::-1]
    log_eps -= 0.5 * math.log(float(np.sum(np.exp(2 * log_eps))))
    return log_eps


def epsilon(p: int, beta: float) -> np.ndarray:
    """Amplitudes eps_r with ``sum eps_r^2 = 1`` [LS Eq. 16, recovered]; float64, shape (p,), entry r-1 belongs to r.

    Amplitudes below 1e-308 underflow to 0; ``log_epsilon`` keeps them. Raises as ``log_epsilon`` does.
    """
    return np.exp(log_epsilon(p, beta))


def energy(p: int, beta: float) -> np.ndarray:
    """Energy law ``pi_r = eps_r^2``, a probability law on r = 1..p; float64, shape (p,)."""
    return np.exp(2 * log_epsilon(p, beta))


def modes(p: int, beta: float | Fraction) -> tuple[int, ...]:
    """Path lengths with the largest eps_r: one, or two neighbours at a tie [new].

    LS Theorem 1 assumes that ``m = beta p / (1 + beta)`` is an integer. That is exactly the tie: for
    1 <= m <= p-1 the maximum is attained at m *and* m + 1; otherwise the mode is ``floor(m) + 1``.

    A Fraction is taken exactly. A float stands for every number that rounds to it, so beta = 0.1 at p = 11
    is the tie (1, 2) although the double nearest to 0.1 is not 1/10. Any size of p is allowed.
    """
    p = whole_number("p", p)
    rounded = _path_gain(beta)
    exact, half_ulp = (
        (beta, Fraction(0)) if isinstance(beta, Fraction) else (Fraction(rounded), Fraction(math.ulp(rounded)) / 2)
    )
    # eps_{m+1} = eps_m exactly when beta = m / (p - m).
    m = exact * p / (1 + exact)
    nearest = round(m)
    if 1 <= nearest <= p - 1 and abs(Fraction(nearest, p - nearest) - exact) <= half_ulp:
        return (nearest, nearest + 1)
    return (min(math.floor(m) + 1, p),)


def mean(p: int, beta: float) -> float:
    """Mean path length ``nu' = sum r eps_r^2`` under the energy law [LS Def. 3]; in units of layers, 1 <= mean <= p."""
    weights = energy(p, beta)
    return float(weights @ np.arange(1, weights.size + 1))


def variance(p: int, beta: float) -> float:
    """Variance of the path length under the energy law, LS's ``alpha^2 = nu'' + nu' - nu'^2`` [identity new]."""
    weights = energy(p, beta)
    r = np.arange(1, weights.size + 1)
    return float(weights @ (r - weights @ r) ** 2)


def scale_derivative(p: int, beta: float) -> np.ndarray:
    """``C d eps_r / dC = (r - nu') eps_r``, the normaliser included [new]; float64, shape (p,).

    LS states ``d eps_r / dC = r eps_r / C`` on the way to Eq. 19. That is right for ``z eps_r`` only: with
    sum eps_r^2 = 1 it would make the constant sum move by 2 nu'. ``beta`` is proportional to C, so this is
    also ``beta d eps_r / d beta``.
    """
    eps = epsilon(p, beta)
    r = np.arange(1, eps.size + 1)
    return (r - (eps**2) @ r) * eps


def printed_scale_derivative(p: int, beta: float) -> np.ndarray:
    """``C d eps_r / dC = r eps_r`` as LS prints it before Eq. 19 [paper; contradicts sum eps^2 = 1]; shape (p,)."""
    eps = epsilon(p, beta)
    return np.arange(1, eps.size + 1) * eps


def log_normaliser(p: int, beta: float) -> float:
    """``log z``, where ``z^2 = sum_r C(p-1, r-1)^2 beta^(2r)`` [LS Eq. 16; Legendre form new].

    With b = beta^2, n = p - 1: ``z^2 = b (1-b)^n P_n((1+b)/(1-b))``, P_n the Legendre polynomial. Relative error
    1e-13 up to p = 10^4. Raises ArgumentError for bad p and for beta = 0, where z = 0.
    """
    beta = real_number("beta", beta, above=0.0)
    # z eps_1 = beta.
    return math.log(beta) - float(log_epsilon(p, beta)[0])


def generating_function(p: int, beta: float, t: ArrayLike) -> np.ndarray:
    """``sum_r z eps_r t^r = beta t (1 + beta t)^(p-1)``, of the un-normalised amplitudes [new]; shape of t.

    At t = 1 the residual network of gain beta without noise. ``inf`` where it exceeds 1.8e308. Raises ArgumentError.
    """
    p = whole_number("p", p)
    gain = _path_gain(beta)
    t = real_array("t", t)
    with np.errstate(over="ignore"):
        return gain * t * (1 + gain * t) ** (p - 1.0)


def asymptotic_mean_and_variance(p: int, beta: float) -> tuple[float, float]:
    """Mean and variance of r for deep networks, to O(1/p) and O(1) [new].

    ``1 + (p-1) beta/(1+beta) - (1-beta)/(4(1+beta))`` and ``(p-1) beta / (2(1+beta)^2)``: half the variance of the
    binomial with chance beta/(1+beta).
    """
    n = whole_number("p", p) - 1
    beta = real_number("beta", beta, above=0.0)
    q = beta / (1 + beta)
    return 1 + n * q - (1 - q - q) / 4, n * q / (2 * (1 + beta))


def depth_fraction_limit(beta: float) -> float:
    """``beta / (1 + beta)``, the limit of mode / p and of mean / p as p grows [LS Thm 1, recovered]."""
    beta = _path_gain(beta)
    return beta / (1 + beta)


def gain_range_of_mode(p: int, mode: int) -> tuple[float, float]:
    """The open interval of beta in which ``mode`` is the only argmax of eps_r [sharp form of LS Lemma 4, new].

    ``((k-1) / (p-k+1), k / (p-k))``, with infinity as upper end for k = p. Since beta is proportional to the
    scale C, every depth 1..p is reached by some C, which is what Lemma 4 states.
    """
    p = whole_number("p", p)
    k = whole_number("mode", mode, most=p)
    return (k - 1) / (p - k + 1), k / (p - k) if k < p else math.inf


def _path_gain(beta: float | Fraction) -> float:
    return real_number("beta", beta, least=0.0)
