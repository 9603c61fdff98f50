"""What Kac and Rice integrate against the GOE density: prefactor, tilt, cut in energy, and the panels for it.

The formula stands at the head of ``theory.kac_rice``; x is the eigenvalue in units of off-diagonal deviation 1.
"""

from __future__ import annotations

import math
from typing import cast

import numpy as np
from scipy.special import log_ndtr, logsumexp

from theory import goe
from theory.mixtures import Mixture

NODES, NODE_WEIGHTS = np.polynomial.legendre.leggauss(64)
# 64 nodes resolve exp(ikx) over a panel of width w to rounding for k w / 2 <= 44; the density oscillates with
# k = 2 sqrt N. Panels are also kept below 12 units, where a Gaussian of unit width is resolved to rounding.
_WAVES_PER_PANEL = 44.0
_WIDEST_PANEL = 12.0
# Standard deviations of the integrand kept on either side: exp(-12^2 / 2) = 5e-32.
REACH = 12.0
# Where the cut in energy falls from 1 to 0, in units of its width.
_CUT = np.array([-12.0, -6.0, -3.0, 0.0, 3.0, 6.0, 12.0])


def log_prefactor(n: int, ratio: float) -> float:
    """log of ``2 sqrt 2 R^(n/2) / sqrt(R+1)``."""
    return math.log(2 * math.sqrt(2)) + 0.5 * n * math.log(ratio) - 0.5 * math.log1p(ratio)


def log_tilt(mixture: Mixture, x: np.ndarray) -> np.ndarray:
    """log of ``exp(-(R-1) x^2 / (4(R+1)))``; growing in x^2 for R < 1."""
    return -mixture.excess * x**2 / (4 * (mixture.ratio + 1))


def log_cut(n: int, mixture: Mixture, below: float | None, x: np.ndarray) -> np.ndarray:
    """log of the share of points at x with energy H <= n u; 0 everywhere for None."""
    if below is None:
        return np.zeros_like(x)
    centre, width = cut_in_x(n, mixture, below)
    if width == 0:  # a pure model: the eigenvalue fixes the energy
        return np.where(x <= centre, 0.0, -np.inf)
    return log_ndtr((centre - x) / width)


def cut_in_x(n: int, mixture: Mixture, below: float) -> tuple[float, float]:
    """Centre and width in x of the cut: ``sqrt n u / c`` and ``s / c``; the width is 0 for a pure model."""
    total = mixture.first + mixture.second
    slope = mixture.first * math.sqrt(mixture.second) / total
    return math.sqrt(n) * below / slope, math.sqrt(mixture.variance / total) / slope


def log_integral(
    n: int, mixture: Mixture, below: float | None, *, mirrored: bool = False, upper_half_only: bool = True
) -> float:
    """log of int rho_n tilt cut over x >= 0, over x <= 0 if mirrored, or over the whole line."""
    edges = panels(n, mixture, below)
    if not upper_half_only:
        edges = np.union1d(-edges, edges)
    elif mirrored:
        edges = -edges[::-1]
    half_widths = np.diff(edges)[:, None] / 2
    x = (edges[:-1, None] + half_widths) + half_widths * NODES
    logs = goe.log_density(n, x) + log_tilt(mixture, x) + log_cut(n, mixture, below, x)
    return cast(float, logsumexp(logs, b=half_widths * NODE_WEIGHTS))


def panels(n: int, mixture: Mixture, below: float | None) -> np.ndarray:
    """Ends of panels on x >= 0 that resolve the density, its tail outside the bulk, and the cut in energy."""
    ratio = mixture.ratio
    edge = 2 * math.sqrt(n)
    # Outside the bulk the integrand is about x^(n-1) exp(-R x^2 / (2(R+1))).
    farthest = max(edge, math.sqrt((n - 1) * (ratio + 1) / ratio))
    cuts = np.empty(0)
    if below is not None:
        centre, width = cut_in_x(n, mixture, below)
        cuts = np.abs(centre + width * _CUT)
        farthest = max(farthest, abs(centre))
    farthest += REACH * math.sqrt((ratio + 1) / ratio)
    finest = min(_WIDEST_PANEL, _WAVES_PER_PANEL / math.sqrt(n))
    ends = list(np.linspace(0.0, edge, math.ceil(edge / finest) + 1))
    while ends[-1] < farthest:
        ends.append(ends[-1] + max(finest, 4 * ends[-1] / math.sqrt(2 * n)))
    return np.unique(np.concatenate((ends, cuts[cuts < farthest])))


def slope_of_weight(n: int, mixture: Mixture, below: float | None, x: np.ndarray) -> np.ndarray:
    """d/dx of prefactor, tilt and cut; the jump of a pure model's cut apart."""
    log_weight = log_prefactor(n, mixture.ratio) + log_tilt(mixture, x)
    slope = -mixture.excess * x / (2 * (mixture.ratio + 1)) * np.exp(log_weight + log_cut(n, mixture, below, x))
    if below is None or mixture.variance == 0:
        return slope
    centre, width = cut_in_x(n, mixture, below)
    return slope - np.exp(log_weight - ((x - centre) / width) ** 2 / 2) / (width * math.sqrt(2 * math.pi))
