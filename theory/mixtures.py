"""Mixtures of spherical spin glasses: nu(q) = sum_r eps_r^2 q^r, what it decides, and when it is trivial.

The field f on the unit sphere has ``Cov f(u) f(v) = nu(<u, v>)`` and ``nu(1) = 1``. A field term r = 1 is
allowed; LS counts it in the normalisation but leaves it out of the theorem it uses.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, cast

import numpy as np
from numpy.polynomial import polynomial
from numpy.typing import ArrayLike
from scipy.optimize import brentq

from theory import depth_law, layer_laws
from theory.arguments import ArgumentError, one_of, real_array, whole_number

Law = Literal["printed", "independent"]
Regime = Literal["trivial", "critical", "full mixture", "pure-like"]

LAWS: tuple[Law, ...] = ("printed", "independent")

# Weights handed in as a law may carry the rounding of their own normalisation, not more.
_SUM_TOLERANCE = 1e-9
# R - 1 and G are sums of a few terms: a value below this many units of their terms is zero to rounding.
_ROUNDING = 1e-14


@dataclass(frozen=True, eq=False)
class Mixture:
    """A mixture by its weights eps_r^2, r = 1..p, and what follows from them [LS Def. 3, recovered; G and R < 1 new].

    ``weights``: non-negative, shape (p,), sum 1 to 1e-9 (then normalised exactly); entry r - 1 belongs to
    degree r. Raises ArgumentError otherwise.
    """

    weights: np.ndarray = field(repr=False)

    def __init__(self, weights: ArrayLike) -> None:
        array = real_array("weights", weights, ndim=1, least=0.0)
        total = float(array.sum())
        if abs(total - 1) > _SUM_TOLERANCE:
            raise ArgumentError("weights", array, f"must sum to 1, sum to {total:g}; divide by the sum")
        array = array / total
        array.flags.writeable = False
        object.__setattr__(self, "weights", array)

    @classmethod
    def pure(cls, p: int) -> Mixture:
        """The pure p-spin model, ``nu(q) = q^p``."""
        weights = np.zeros(whole_number("p", p))
        weights[-1] = 1.0
        return cls(weights)

    @classmethod
    def from_depth_law(cls, p: int, beta: float, law: str = "printed") -> Mixture:
        """The mixture of a residual network: eps_r^2 as LS prints it, or of independent layers [new].

        ``law``: "printed" for ``C(p-1, r-1)^2 beta^(2r)``, "independent" for ``C(p-1, r-1) beta^(2r)``.
        """
        law = one_of("law", law, LAWS)
        return cls(depth_law.energy(p, beta) if law == "printed" else layer_laws.independent_energy(p, beta))

    @property
    def degrees(self) -> np.ndarray:
        """r = 1..p as float64."""
        return np.arange(1.0, self.weights.size + 1)

    def covariance(self, q: ArrayLike) -> np.ndarray:
        """``nu(q)`` at overlaps q; float64, same shape as ``q``."""
        return self._power_series(0, q)

    def covariance_slope(self, q: ArrayLike) -> np.ndarray:
        """``nu'(q)`` at overlaps q; float64, same shape as ``q``."""
        return self._power_series(1, q)

    def covariance_curvature(self, q: ArrayLike) -> np.ndarray:
        """``nu''(q)`` at overlaps q; float64, same shape as ``q``."""
        return self._power_series(2, q)

    @cached_property
    def first(self) -> float:
        """``nu' = nu'(1) = E r``."""
        return float(self.weights @ self.degrees)

    @cached_property
    def second(self) -> float:
        """``nu'' = nu''(1) = E r(r-1)``."""
        return float(self.weights @ (self.degrees * (self.degrees - 1)))

    @property
    def ratio(self) -> float:
        """``R = nu''/nu'``: all expected numbers of critical points, without energies, depend on it alone."""
        return self.second / self.first

    @cached_property
    def excess(self) -> float:
        """``R - 1`` without the cancellation of the subtraction: ``E r(r-2) / E r``."""
        return float(self.weights @ (self.degrees * (self.degrees - 2))) / self.first

    @cached_property
    def variance(self) -> float:
        """``alpha^2 = nu'' + nu' - nu'^2``, which is the variance of r [identity new]; 0 for a pure model."""
        return float(self.weights @ (self.degrees - self.first) ** 2)

    @property
    def gap(self) -> float:
        """``G = log R - (nu'' - nu')(nu'' - nu' + nu'^2) / (nu'' nu'^2)`` [literature]; -inf if nu'' = 0.

        Above -E* the exponents of all indices coincide; ``theta_0(-E*) = G/2``.
        """
        if self.second == 0:
            return -math.inf
        return math.log1p(self.excess) - self.excess * (self.excess + self.first) / (self.ratio * self.first)

    @property
    def regime(self) -> Regime:
        """Which landscape the mixture has, to rounding [literature and new].

        "trivial": R < 1, two critical points are expected as N grows. Otherwise "pure-like" for G > 0 (indices
        layered in energy down to the ground state), "full mixture" for G < 0, "critical" for G = 0; R = 1, where
        exactly 2 N points are expected, has G = 0 and is critical too.
        """
        if abs(self.excess) <= _ROUNDING:
            return "critical"
        if self.excess < 0:
            return "trivial"
        if abs(self.gap) <= _ROUNDING * self.excess:
            return "critical"
        return "pure-like" if self.gap > 0 else "full mixture"

    def _power_series(self, order: int, q: ArrayLike) -> np.ndarray:
        coefficients = polynomial.polyder(np.concatenate(([0.0], self.weights)), order)
        return np.asarray(polynomial.polyval(real_array("q", q), coefficients))


def trivial_threshold(p: int, law: str = "printed") -> float:
    """beta_c: the mixture of a depth-p network has R < 1 exactly for beta < beta_c [new].

    ``law`` as in ``Mixture.from_depth_law``. R < 1 says ``E (r-1)^2 < 1``. About 1/(p-1) for the printed law and
    ``sqrt((sqrt 5 - 1) / (2 (p-1)))`` for independent layers; infinite for p < 3, where R < 1 always.
    """
    n = whole_number("p", p) - 1
    law = one_of("law", law, LAWS)
    if n < 2:
        return math.inf
    if law == "independent":
        # n(n-1) Q^2 + n Q = 1 for the chance Q = b/(1+b); the root written without a difference.
        chance = 2 / (n + math.sqrt(n**2 + 4 * n * (n - 1)))
        return math.sqrt(chance / (1 - chance))
    # The energies of s = r - 1 at beta = x/n fall like (x^s / s!)^2, so a few dozen carry all.
    s = np.arange(min(n, 60) + 1.0)
    log_binomials = np.concatenate(([0.0], np.cumsum(np.log1p(-s[:-1] / n) - np.log(s[1:]))))

    def excess(x: float) -> float:
        energies = np.exp(2 * (log_binomials + s * math.log(x)))
        return float(energies @ (s**2 - 1))

    return cast(float, brentq(excess, 1.0, 2.0, xtol=1e-15)) / n
