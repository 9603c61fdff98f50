"""Expected numbers of critical points of a mixed spin glass on S^(N-1), exactly at finite N [new].

    E Crt_N = 2 sqrt 2 R^(N/2) / sqrt(R+1) * int rho_N(x) exp(-(R-1) x^2 / (4(R+1))) dx,

rho_N the GOE_N one-point density. For index k, E over the (k+1)-th smallest eigenvalue replaces the integral. With
energies H <= N u, a factor ``Phi((sqrt N u - c x) / s)`` stands inside, ``c = nu' sqrt(nu'') / (nu' + nu'')`` and
``s^2 = alpha^2 / (nu' + nu'')``. Without energies only R matters. LS has the limit of large N alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from scipy import stats

from theory import goe_counting
from theory.arguments import real_number, whole_number
from theory.kac_rice_by_index import by_counting, by_sampling
from theory.kac_rice_weights import log_integral, log_prefactor
from theory.mixtures import Mixture

Method = Literal["closed form", "quadrature", "sampled"]

_DEFAULT_SAMPLES = 20_000


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
    samples: int | None = None,
    seed: int = 0,
) -> CriticalPoints:
    """Expected number of critical points of the field on S^(n-1), n >= 2 [new].

    ``index``: only those with that many negative Hessian eigenvalues, 0..n-1 (minima are 0); all if None.
    ``below``: only those with energy H <= n u for ``u = below`` (field f <= sqrt(n) u at unit variance).
    Totals are exact, with or without ``below``: quadrature, relative error below 1e-9 up to n = 2000 (for
    R < 1e-6, where nearly everything is the two ends of a linear field, 1e-16 n / R). By index: exact too up to
    n = 24, by the law of each eigenvalue, with an error of 1e-9 of the total at most. Beyond, or when ``samples``
    is given (20 000 if not), spectra drawn from ``seed`` with a standard error; its few heavy terms make the error
    itself uncertain for minima at R > 1 and n of some hundreds, and for index 1..n-2 at R < 1 and n of some dozens.
    Any R, on both sides of 1. Raises ArgumentError.
    """
    n = whole_number("n", n, least=2)
    below = None if below is None else real_number("below", below)
    if index is not None:
        index = whole_number("index", index, least=0, most=n - 1)
        return expected_by_index(n, mixture, below, samples=samples, seed=seed)[index]
    if mixture.second == 0:
        return _exactly(sum(_linear_field(n, k, below) for k in range(n)))
    log_value = log_prefactor(n, mixture.ratio) + log_integral(n, mixture, below, upper_half_only=False)
    return CriticalPoints(_exp(log_value), 0.0, "quadrature", log_value)


def expected_by_index(
    n: int, mixture: Mixture, below: float | None = None, *, samples: int | None = None, seed: int = 0
) -> tuple[CriticalPoints, ...]:
    """``expected_critical_points`` for every index 0..n-1 at once; a tuple of length n.

    Sampled estimates of different indices share their spectra. Without ``below``, n = 2, 3 are closed forms.
    """
    n = whole_number("n", n, least=2)
    below = None if below is None else real_number("below", below)
    samples = None if samples is None else whole_number("samples", samples, least=2)
    seed = whole_number("seed", seed, least=0)
    if mixture.second == 0:
        return tuple(_exactly(_linear_field(n, k, below)) for k in range(n))
    if below is None and n <= 3:
        return tuple(_exactly(value) for value in _closed_forms(n, mixture.ratio))
    if n <= goe_counting.LARGEST_SIZE and samples is None:
        return tuple(
            CriticalPoints(float(value), 0.0, "quadrature", _log(float(value)))
            for value in by_counting(n, mixture, below)
        )
    means, errors = by_sampling(n, mixture, below, _DEFAULT_SAMPLES if samples is None else samples, seed)
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


def _exactly(value: float) -> CriticalPoints:
    return CriticalPoints(value, 0.0, "closed form", _log(value))


def _exp(logarithm: float) -> float:
    return math.exp(logarithm) if logarithm < math.log(1.7e308) else math.inf


def _log(value: float) -> float:
    return math.log(value) if value > 0 else -math.inf
