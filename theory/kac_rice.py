"""Expected numbers of critical points of a mixed spin glass on S^(N-1), exactly at finite N [section 4.1, new].

    E Crt_N = 2 sqrt 2 R^(N/2) / sqrt(R+1) * int rho_N(x) exp(-(R-1) x^2 / (4(R+1))) dx,

rho_N the GOE_N one-point density. For index k, E over the (k+1)-th smallest eigenvalue replaces the integral. With
energies H <= N u, a factor ``Phi((sqrt N u - c x) / s)`` stands inside, ``c = nu' sqrt(nu'') / (nu' + nu'')`` and
``s^2 = alpha^2 / (nu' + nu'')``. Without energies only R matters. LS has the limit of large N alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, cast

import numpy as np
from scipy import stats
from scipy.special import log_ndtr, logsumexp

from theory import goe
from theory.arguments import real_number, whole_number
from theory.mixtures import Mixture

Method = Literal["closed form", "quadrature", "sampled"]

_NODES, _NODE_WEIGHTS = np.polynomial.legendre.leggauss(64)
# 64 nodes resolve exp(ikx) over a panel of width w to rounding for k w / 2 <= 44; the density oscillates with
# k = 2 sqrt N. Panels are also kept below 12 units, where a Gaussian of unit width is resolved to rounding.
_WAVES_PER_PANEL = 44.0
_WIDEST_PANEL = 12.0
# Standard deviations of the integrand kept on either side: exp(-12^2 / 2) = 5e-32.
_REACH = 12.0
# Where the cut in energy falls from 1 to 0, in units of its width.
_CUT = np.array([-12.0, -6.0, -3.0, 0.0, 3.0, 6.0, 12.0])


@dataclass(frozen=True)
class CriticalPoints:
    """An expected number of critical points: ``value``, its ``standard_error`` (0 unless sampled) and the ``method``.

    ``log_value`` stays finite where the value exceeds 1.8e308 and is then inf.
    """

    value: float
    standard_error: float
    method: Method
    log_value: float


def expected_critical_points(
    n: int,
    mixture: Mixture,
    index: int | None = None,
    below: float | None = None,
    *,
    samples: int = 20_000,
    seed: int = 0,
) -> CriticalPoints:
    """Expected number of critical points of the field on S^(n-1), n >= 2 [section 4.1, new].

    ``index``: only those with that many negative Hessian eigenvalues, 0..n-1 (minima are 0); all if None.
    ``below``: only those with energy H <= n u for ``u = below`` (field f <= sqrt(n) u at unit variance).
    Totals are exact, with or without ``below``: quadrature, relative error below 1e-9 up to n = 2000 (for
    R < 1e-6, where nearly everything is the two ends of a linear field, 1e-16 n / R). By index: closed form at
    n = 2, 3 without ``below``, otherwise ``samples`` spectra drawn from ``seed``, with a standard error. Its
    few heavy terms make the error itself uncertain for minima at R > 1 and n of some hundreds, and for index
    1..n-2 at R < 1 and n of some dozens. Any R, on both sides of 1. Raises ArgumentError.
    """
    n = whole_number("n", n, least=2)
    below = None if below is None else real_number("below", below)
    if index is not None:
        index = whole_number("index", index, least=0, most=n - 1)
        return expected_by_index(n, mixture, below, samples=samples, seed=seed)[index]
    if mixture.second == 0:
        return _exactly(sum(_linear_field(n, k, below) for k in range(n)))
    log_value = _log_prefactor(n, mixture.ratio) + _log_integral(n, mixture, below, upper_half_only=False)
    return CriticalPoints(_exp(log_value), 0.0, "quadrature", log_value)


def expected_by_index(
    n: int, mixture: Mixture, below: float | None = None, *, samples: int = 20_000, seed: int = 0
) -> tuple[CriticalPoints, ...]:
    """``expected_critical_points`` for every index 0..n-1, from one sample of spectra; a tuple of length n.

    Estimates of different indices share their spectra. For R < 1 minima and maxima sit far outside the bulk, at
    eigenvalues that no sample contains: there they are the exact integral over their side minus what the
    others have on it.
    """
    n = whole_number("n", n, least=2)
    below = None if below is None else real_number("below", below)
    samples = whole_number("samples", samples, least=2)
    seed = whole_number("seed", seed, least=0)
    if mixture.second == 0:
        return tuple(_exactly(_linear_field(n, k, below)) for k in range(n))
    if below is None and n <= 3:
        return tuple(_exactly(value) for value in _closed_forms(n, mixture.ratio))
    x = goe.sampled_eigenvalues(n, samples, np.random.default_rng(seed))
    log_scale = _log_prefactor(n, mixture.ratio)
    weights = np.exp(log_scale + _log_tilt(mixture, x) + _log_cut(n, mixture, below, x))
    if mixture.excess < 0:
        left, right = weights * (x < 0), weights * (x >= 0)
        first = left[:, 1:].sum(axis=1) - right[:, 0]
        last = right[:, :-1].sum(axis=1) - left[:, -1]
        weights[:, 0] = _exp(log_scale + _log_integral(n, mixture, below, mirrored=True)) - first
        weights[:, -1] = _exp(log_scale + _log_integral(n, mixture, below)) - last
    if below is None:
        weights = (weights + weights[:, ::-1]) / 2  # index k and n-1-k are equal in law
    means, errors = weights.mean(axis=0), weights.std(axis=0, ddof=1) / math.sqrt(samples)
    return tuple(
        CriticalPoints(float(mean), float(error), "sampled", _log(float(mean)))
        for mean, error in zip(means, errors, strict=True)
    )


def _closed_forms(n: int, ratio: float) -> list[float]:
    if n == 2:
        return [math.sqrt(3 * ratio + 1)] * 2
    saddles = 4 * ratio**1.5 / math.sqrt(3 * ratio + 1)
    return [1 + saddles / 2, saddles, 1 + saddles / 2]


def _linear_field(n: int, index: int, below: float | None) -> float:
    """nu'' = 0: one minimum of height -|g| and one maximum of height |g|, |g| chi-distributed."""
    if index not in (0, n - 1):
        return 0.0
    if below is None:
        return 1.0
    level = math.sqrt(n) * below
    return float(stats.chi.sf(-level, n) if index == 0 else stats.chi.cdf(level, n))


def _log_prefactor(n: int, ratio: float) -> float:
    return math.log(2 * math.sqrt(2)) + 0.5 * n * math.log(ratio) - 0.5 * math.log1p(ratio)


def _log_tilt(mixture: Mixture, x: np.ndarray) -> np.ndarray:
    return -mixture.excess * x**2 / (4 * (mixture.ratio + 1))


def _log_cut(n: int, mixture: Mixture, below: float | None, x: np.ndarray) -> np.ndarray:
    if below is None:
        return np.zeros_like(x)
    centre, width = _cut_in_x(n, mixture, below)
    if width == 0:  # a pure model: the eigenvalue fixes the energy
        return np.where(x <= centre, 0.0, -np.inf)
    return log_ndtr((centre - x) / width)


def _cut_in_x(n: int, mixture: Mixture, below: float) -> tuple[float, float]:
    total = mixture.first + mixture.second
    slope = mixture.first * math.sqrt(mixture.second) / total
    return math.sqrt(n) * below / slope, math.sqrt(mixture.variance / total) / slope


def _log_integral(
    n: int, mixture: Mixture, below: float | None, *, mirrored: bool = False, upper_half_only: bool = True
) -> float:
    """log of int rho_n tilt cut over x >= 0, over x <= 0 if mirrored, or over the whole line."""
    edges = _panels(n, mixture, below)
    if not upper_half_only:
        edges = np.union1d(-edges, edges)
    elif mirrored:
        edges = -edges[::-1]
    half_widths = np.diff(edges)[:, None] / 2
    x = (edges[:-1, None] + half_widths) + half_widths * _NODES
    logs = goe.log_density(n, x) + _log_tilt(mixture, x) + _log_cut(n, mixture, below, x)
    return cast(float, logsumexp(logs, b=half_widths * _NODE_WEIGHTS))


def _panels(n: int, mixture: Mixture, below: float | None) -> np.ndarray:
    """Ends of panels on x >= 0 that resolve the density, its tail outside the bulk, and the cut in energy."""
    ratio = mixture.ratio
    edge = 2 * math.sqrt(n)
    # Outside the bulk the integrand is about x^(n-1) exp(-R x^2 / (2(R+1))).
    farthest = max(edge, math.sqrt((n - 1) * (ratio + 1) / ratio))
    cuts = np.empty(0)
    if below is not None:
        centre, width = _cut_in_x(n, mixture, below)
        cuts = np.abs(centre + width * _CUT)
        farthest = max(farthest, abs(centre))
    farthest += _REACH * math.sqrt((ratio + 1) / ratio)
    finest = min(_WIDEST_PANEL, _WAVES_PER_PANEL / math.sqrt(n))
    ends = list(np.linspace(0.0, edge, math.ceil(edge / finest) + 1))
    while ends[-1] < farthest:
        ends.append(ends[-1] + max(finest, 4 * ends[-1] / math.sqrt(2 * n)))
    return np.unique(np.concatenate((ends, cuts[cuts < farthest])))


def _exactly(value: float) -> CriticalPoints:
    return CriticalPoints(value, 0.0, "closed form", _log(value))


def _exp(logarithm: float) -> float:
    return math.exp(logarithm) if logarithm < math.log(1.7e308) else math.inf


def _log(value: float) -> float:
    return math.log(value) if value > 0 else -math.inf
