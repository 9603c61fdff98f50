"""Where the depth law sits: its exact form as a sum of coin tosses, tail bounds, and the band that carries the mass.

All of these hold for the printed law ``pi_r = eps_r^2`` at any beta > 0; LS Theorem 2 states the limit only, and for
integer band ends. s = r - 1 counts residual branches, n = p - 1 of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from scipy.special import rel_entr, roots_legendre

from theory import depth_law
from theory.arguments import ArgumentError, real_number, whole_number

# Gauss nodes cost n^2; at 4001 layers they take seconds.
_MOST_NODES = 4001
# The band has about sqrt(p) entries per standard deviation: 10^7 at this depth.
_LARGEST_DEPTH = 10**12


def branch_probabilities(p: int, beta: float) -> np.ndarray:
    """q_1..q_n with ``r = 1 + sum_i Bernoulli(q_i)``, independent, exactly [new]; float64, shape (p-1,).

    ``q_i = b / (b + tau_i)``, ``b = beta^2``, ``tau_i = (1 - x_i) / (1 + x_i)``, x_i the Gauss-Legendre nodes of
    order n: the zeros of the generating function ``(1-b)^n P_n((1+b)/(1-b))`` are real and negative. Hence
    ``E r = 1 + sum q_i`` and ``alpha^2 = sum q_i (1 - q_i)``. For p <= 4001 (nodes cost n^2). Ascending order.
    """
    n = whole_number("p", p, most=_MOST_NODES) - 1
    beta = real_number("beta", beta, least=0.0)
    if n == 0:
        return np.empty(0)
    nodes = roots_legendre(n)[0]
    # b / tau = (beta / sqrt tau)^2 as the square of a tangent: no overflow at any beta.
    angle = np.arctan(beta * np.sqrt((1 + nodes) / (1 - nodes)))
    return np.sin(angle) ** 2


def relative_entropy_bound(p: int, beta: float, fraction: float) -> float:
    """``(n+1) exp(-2 n D(a, q))``, at most 1: bounds the mass beyond s = n a, away from q [new].

    ``fraction`` a in [0, 1], q = beta/(1+beta), D the relative entropy of two coins; bounds ``pi(s >= n a)`` for
    a > q and ``pi(s <= n a)`` for a < q. By Chernoff for the amplitudes, squared, over Cauchy-Schwarz for the
    normaliser: the exponential rate 2 D is exact. Raises ArgumentError.
    """
    n = whole_number("p", p) - 1
    q = depth_law.depth_fraction_limit(beta)
    a = real_number("fraction", fraction, least=0.0)
    if a > 1:
        raise ArgumentError("fraction", fraction, "must be between 0 and 1")
    with np.errstate(divide="ignore"):
        entropy = float(rel_entr(a, q) + rel_entr(1 - a, 1 / (1 + beta)))
    return min(1.0, (n + 1) * math.exp(-2 * n * entropy)) if n else 1.0


def hoeffding_bound(p: int, distance: float) -> float:
    """``2 exp(-2 n t^2)``, at most 1: bounds ``pi(|s - E s| >= n t)`` for every beta [new].

    Hoeffding's inequality for ``branch_probabilities``; ``distance`` t >= 0 as a fraction of n = p - 1.
    """
    n = whole_number("p", p) - 1
    return min(1.0, 2 * math.exp(-2 * n * real_number("distance", distance, least=0.0) ** 2))


@dataclass(frozen=True, eq=False)
class Window:
    """The band ``first..last`` of path lengths and log eps_r on it; the mass outside is at most ``missing``."""

    first: int
    last: int
    log_epsilon: np.ndarray = field(repr=False)
    missing: float
    mean: float
    variance: float


def window(p: int, beta: float, missing: float = 1e-12) -> Window:
    """The depth law on the band that carries ``1 - missing`` of the mass, for depths beyond any array [new].

    The band is the mode plus and minus Hoeffding's distance, then cut where the tails fall below ``missing``; about
    ``14 sqrt(p)`` entries at most, p <= 10^12. ``log_epsilon`` is normalised on the band (error ``missing``). Mean and
    variance of r are those of the band. Raises ArgumentError for bad p, beta, or ``missing`` outside [1e-14, 1).
    """
    p = whole_number("p", p, most=_LARGEST_DEPTH)
    gain = real_number("beta", beta, least=0.0)
    missing = real_number("missing", missing, least=1e-14)
    if missing >= 1:
        raise ArgumentError("missing", missing, "must be below 1")
    if gain == 0 or p == 1:
        return Window(1, 1, np.zeros(1), missing, 1.0, 0.0)
    mode = depth_law.modes(p, beta)[0]
    # A tenth of the budget goes to Hoeffding; a mode of such a sum is less than 1 from its mean (Darroch).
    reach = math.ceil(math.sqrt((p - 1) * math.log(20 / missing) / 2)) + 1
    first, last = max(1, mode - reach), min(p, mode + reach)
    r = np.arange(first, last, dtype=np.float64)
    # One rounding of the ratio, not of log beta, so that nothing adds up over the band.
    ratio = (p - r) / r
    log_ratio = np.log(gain * ratio) if 1e-100 < gain < 1e100 else math.log(gain) + np.log(ratio)
    log_eps = np.zeros(last - first + 1)
    log_eps[mode - first + 1 :] = np.cumsum(log_ratio[mode - first :])
    log_eps[: mode - first] = -np.cumsum(log_ratio[: mode - first][::-1])[::-1]
    masses = np.exp(2 * log_eps)
    total = float(masses.sum())
    kept = (np.cumsum(masses) > 0.4 * missing * total) & (np.cumsum(masses[::-1])[::-1] > 0.4 * missing * total)
    first, last = first + int(kept.argmax()), last - int(kept[::-1].argmax())
    log_eps, masses = log_eps[kept], masses[kept]
    total = float(masses.sum())
    away = np.arange(first, last + 1) - float(mode)
    shift = float(masses @ away) / total
    variance = float(masses @ (away - shift) ** 2) / total
    return Window(first, last, log_eps - 0.5 * math.log(total), missing, mode + shift, variance)
