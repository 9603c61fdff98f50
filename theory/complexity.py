"""Complexity: exponents of the expected number of critical points as N grows [literature and new].

``theta`` is ``lim (1/N) log E Crt_N``. All are annealed: they bound what a typical landscape has from above.
Energies u are per dimension, H = N u. An index is fixed as N grows: 0 for minima.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

import numpy as np
from scipy.optimize import brentq

from theory.arguments import ArgumentError, real_number, whole_number
from theory.mixtures import Mixture

_DIFFERS = 1e-12


@dataclass(frozen=True)
class PrintedAndTrue:
    """A statement as the paper prints it beside what is true: two values, whether they differ, and why."""

    printed: float
    true: float
    differs: bool
    warning: str


def total(mixture: Mixture) -> float:
    """``theta_total = max(0, 1/2 log R)``: all critical points, any energy [new for R < 1]."""
    return 0.5 * math.log1p(mixture.excess) if mixture.excess > 0 else 0.0


def of_index(mixture: Mixture, index: int = 0) -> float:
    """theta_k: critical points of index k at any energy, k >= 0 [R >= 1 literature, R < 1 new].

    R >= 1: ``1/2 log R - (R-1)/(R+1)`` for every k. R < 1: ``1/2 log R + (k+1) artanh((1-R) / ((k+1)(1+R)))``,
    which is 0 for minima and negative for k >= 1 (a large-deviation argument, not a proof). -inf at nu'' = 0, k >= 1.
    """
    k = whole_number("index", index, least=0)
    if mixture.excess >= 0:
        return _eq31(mixture)
    if k == 0:
        return 0.0  # artanh((1-R)/(1+R)) = -1/2 log R
    if mixture.second == 0:
        return -math.inf
    return 0.5 * math.log1p(mixture.excess) + (k + 1) * math.atanh(_tilt(mixture) / (k + 1))


def ls_equation_31(mixture: Mixture, index: int = 0) -> PrintedAndTrue:
    """LS Eq. 31 as printed, ``1/2 log R - (R-1)/(R+1)`` "for any k > 0", beside the true theta_k [LS Eq. 31, recovered].

    Right for every k >= 0 (k = 0 included) if R >= 1. For R < 1 it is the limit k -> infinity, negative although
    every function on a sphere has a minimum. A field term r = 1 is what brings R below 1, and LS's weights have one.
    """
    printed, true = _eq31(mixture), of_index(mixture, index)
    differs = not (printed == true or abs(printed - true) <= _DIFFERS)
    warning = (
        f"LS Eq. 31 gives {printed:.6g}, the exponent at index {index} is {true:.6g}: R = {mixture.ratio:.6g} < 1, "
        "the landscape is trivial and the theorem behind Eq. 31 does not apply"
    )
    return PrintedAndTrue(printed, true, differs, warning if differs else "")


def total_at(mixture: Mixture, energy: float) -> float:
    """theta(u): critical points of any index at energy density ``energy`` [new]; -inf if there is none."""
    u = real_number("energy", energy)
    _needs_curvature(mixture)
    if mixture.variance == 0:
        return _base(mixture) + _exponent(mixture, 1, u, u / _slope(mixture))
    inner = 2 * _stiffness(mixture) * _slope(mixture) * u / (_squares(mixture) or math.nan)
    candidates = [y for y in (inner, -2.0, 2.0) if abs(y) <= 2]
    candidates += [-_best_outlier(mixture, 1, u), _best_outlier(mixture, 1, -u)]
    return _base(mixture) + max(_exponent(mixture, 1, u, y) for y in candidates)


def of_index_at(mixture: Mixture, energy: float, index: int = 0) -> float:
    """theta_k(u): critical points of index k at energy density ``energy`` [literature; R < 1 new].

    Minus infinity where a pure model has none (u above -E'_inf). Concave in u. Raises ArgumentError at nu'' = 0.
    """
    u, k = real_number("energy", energy), whole_number("index", index, least=0)
    _needs_curvature(mixture)
    if mixture.variance == 0:
        y = u / _slope(mixture)
        return _base(mixture) + _exponent(mixture, k + 1, u, y) if y <= -2 else -math.inf
    return _base(mixture) + _exponent(mixture, k + 1, u, -_best_outlier(mixture, k + 1, u))


def of_index_below(mixture: Mixture, energy: float, index: int = 0) -> float:
    """Exponent of critical points of index k with H <= N ``energy``: the supremum of ``of_index_at`` up to there.

    Flat, equal to ``of_index``, above the energy where index k is most frequent (-E'_inf for R >= 1).
    """
    u, k = real_number("energy", energy), whole_number("index", index, least=0)
    return of_index(mixture, k) if u >= most_frequent_energy(mixture, k) else of_index_at(mixture, u, k)


def most_frequent_energy(mixture: Mixture, index: int = 0) -> float:
    """The energy density at which theta_k(u) is largest [new]: -E'_inf for R >= 1, lower for R < 1."""
    k = whole_number("index", index, least=0)
    _needs_curvature(mixture)
    if mixture.excess >= 0:
        return -bulk_energy(mixture)
    # Outside the bulk: (k+1) I'(y) = (1-R) y / (2(1+R)).
    return -_slope(mixture) * 2 / math.sqrt(1 - (_tilt(mixture) / (k + 1)) ** 2)


def bulk_energy(mixture: Mixture) -> float:
    """``E'_inf = 2 nu' sqrt(nu'') / (nu' + nu'')``: -E'_inf is the energy of the bulk of low-index points [literature]."""
    return 2 * _slope(mixture)


def layering_energy(mixture: Mixture) -> float:
    """``E* = (nu'^2 + nu'' - nu') / (nu' sqrt(nu''))``: below -E* indices separate in energy [literature].

    ``theta_0(-E*) = G/2``. Raises ArgumentError at nu'' = 0.
    """
    _needs_curvature(mixture)
    return (mixture.first + mixture.excess) / math.sqrt(mixture.second)


def lowest_energy(mixture: Mixture, index: int = 0) -> float:
    """E_k: ``theta_k(-E_k) = 0``, below which no point of index k is expected [literature; R < 1 new].

    Annealed; E_0 is the true ground-state energy for pure p >= 3 and some pure-like mixtures, not in general.
    R < 1: E_0 = sqrt(nu'), and index k >= 1 is not expected at any energy. Raises ArgumentError there.
    """
    k = whole_number("index", index, least=0)
    if mixture.excess < 0:
        if k > 0:
            raise ArgumentError("index", k, "must be 0: at R < 1 only the minimum and the maximum are expected")
        return math.sqrt(mixture.first)
    top = most_frequent_energy(mixture, k)
    if of_index(mixture, k) <= 0:
        return -top
    return -_root(lambda u: of_index_at(mixture, u, k), top, -1.0)


def _eq31(mixture: Mixture) -> float:
    if mixture.second == 0:
        return -math.inf
    return 0.5 * math.log1p(mixture.excess) - mixture.excess / (mixture.ratio + 1)


def _tilt(mixture: Mixture) -> float:
    return -mixture.excess / (mixture.ratio + 1)


def _base(mixture: Mixture) -> float:
    return 0.5 * math.log1p(mixture.excess)


def _slope(mixture: Mixture) -> float:
    """c: the energy of a critical point with Hessian shift y is c y on average."""
    return mixture.first * math.sqrt(mixture.second) / (mixture.first + mixture.second)


def _stiffness(mixture: Mixture) -> float:
    return (mixture.first + mixture.second) / (2 * mixture.variance)


def _squares(mixture: Mixture) -> float:
    """Minus the second derivative in y of the exponent inside the bulk."""
    return -_tilt(mixture) / 2 + 2 * _stiffness(mixture) * _slope(mixture) ** 2


def outlier_rate(y: float) -> float:
    """``I(y) = (y/4) sqrt(y^2-4) - log((y + sqrt(y^2-4)) / 2)``, y >= 2: cost of a GOE eigenvalue at y sqrt N [literature]."""
    y = real_number("y", y, least=2.0)
    return y / 4 * math.sqrt(y * y - 4) - math.acosh(y / 2)


def _exponent(mixture: Mixture, outliers: int, u: float, y: float) -> float:
    cost = outliers * outlier_rate(abs(y)) if abs(y) > 2 else 0.0
    spread = 0.0 if mixture.variance == 0 else _stiffness(mixture) * (u - _slope(mixture) * y) ** 2
    return _tilt(mixture) * y * y / 4 - cost - spread


def _best_outlier(mixture: Mixture, outliers: int, u: float) -> float:
    """The |y| >= 2, y = -|y|, of largest exponent; the exponent is concave there, on both sides of R = 1."""
    slope, stiffness = _slope(mixture), _stiffness(mixture)

    def rise(size: float) -> float:
        pull = -2 * stiffness * slope * (u + slope * size)
        return _tilt(mixture) * size / 2 - outliers * math.sqrt(size * size - 4) / 2 + pull

    return _root(rise, 2.0, 1.0) if rise(2.0) > 0 else 2.0


def _root(function: Callable[[float], float], start: float, direction: float) -> float:
    """The zero of a function that is positive at ``start`` and falls in ``direction``."""
    step = 1.0
    while function(start + direction * step) > 0:
        step *= 2
    left, right = sorted((start, start + direction * step))
    return cast(float, brentq(function, left, right, xtol=1e-15, rtol=4 * np.finfo(float).eps))


def _needs_curvature(mixture: Mixture) -> None:
    if mixture.second == 0:
        raise ArgumentError("mixture", "nu'' = 0", "a linear field has two critical points; give it a weight at r >= 2")
