"""The energy ``E Y_r^2`` by path length that each scheme of sims.resnet_schemes has [new].

Squaring Y_r gives pairs of paths. Let S and S' be their skip patterns, i and j of whose branches have been taken
so far. The laws follow such pairs layer by layer: a branch is taken by neither, by one of the two or by both.
Energies are for unit-variance inputs and are compared after division by their sum.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from sims.resnet_schemes import Ensemble


def energies(scheme: str, ensemble: Ensemble, weights: np.ndarray) -> np.ndarray:
    """``E Y_r^2``, r = 1..p, up to a common factor; float64, shape (p,). ``weights``: the Lambda unique weights."""
    p, rho, r = ensemble.p, ensemble.rho, np.arange(1, ensemble.p + 1)
    patterns = np.array([math.comb(p - 1, k) for k in range(p)], dtype=np.float64)
    # E A = rho once, whether the two paths meet the same gate (A^2 = A) or the average stands for it (rho^2).
    same = rho**2 if ensemble.averaged else rho
    if scheme in ("independent", "path"):
        return patterns * (same * ensemble.gain**2) ** r
    if scheme == "tuple":
        return patterns**2 * (rho * ensemble.gain) ** (2 * r)
    if scheme == "tied":
        return _tied(p, same, rho) * ensemble.gain ** (2 * r)
    if scheme == "latin":
        return patterns**2 * (rho * ensemble.width * weights.mean()) ** (2 * r)
    return _placed(ensemble, weights)


def finite_width_error(scheme: str, ensemble: Ensemble) -> np.ndarray:
    """Relative error of ``energies`` at width n, r = 1..p; 0 for all schemes but tied, whose law is that of wide n.

    Powers of one real Ginibre matrix have ``E|W^k u|^2 / s^2k = 1 + O(k^4 / n^2)`` [new]; measured 0.10 k^4 / n^2
    (40 000 networks, n = 8, 16, 32, k <= 5), an eighth is allowed.
    """
    k = np.arange(ensemble.p, dtype=np.float64)
    return k**4 / (8 * ensemble.width**2) if scheme == "tied" else np.zeros(ensemble.p)


def _tied(p: int, same: float, rho: float) -> np.ndarray:
    """Coherent sum over pairs of patterns: ``rho^(2r)``, but ``same`` for rho^2 where both meet the same gate.

    With one matrix W, both paths end in W^{r-1}. Their k-th factors stand beside the same gate only if S and
    S' take their k-th branch in the same layer, that is at i = j. For wide n, see ``finite_width_error``.
    """

    def both(i: int, j: int, pair: np.ndarray) -> np.ndarray:
        return pair * (same if i == j else rho**2)

    def one(pair: np.ndarray) -> np.ndarray:
        return pair * rho

    return _diagonal(p, np.array([same]), both, one, one)[:, 0]


def _placed(ensemble: Ensemble, weights: np.ndarray) -> np.ndarray:
    """Given the weights, entries of W are iid with their mean m and variance v, so E h_S h_S'^T = a I + c J.

    J = 1 1^T. ``E W Q W^T = m^2 (1^T Q 1) J + v tr(Q) I`` when both take the layer, ``m J Q`` when only S does.
    Coherent part (n m)^2r, incoherent part (n v)^r. The readout sums all neurons: ``1^T Q 1``.
    """
    n, mean, variance = ensemble.width, ensemble.rho * weights.mean(), ensemble.rho**2 * weights.var()

    def both(_i: int, _j: int, pair: np.ndarray) -> np.ndarray:
        a, c = pair
        return np.array([variance * n * (a + c), mean**2 * n * (a + n * c)])

    def one(pair: np.ndarray) -> np.ndarray:
        a, c = pair
        return np.array([0.0, mean * (a + n * c)])

    first = both(0, 0, np.array([1.0, 0.0]))
    final = _diagonal(ensemble.p, first, both, one, one)
    return final @ np.array([n, n**2])


def _diagonal(
    p: int,
    first: np.ndarray,
    both: Callable[[int, int, np.ndarray], np.ndarray],
    left: Callable[[np.ndarray], np.ndarray],
    right: Callable[[np.ndarray], np.ndarray],
) -> np.ndarray:
    """Sum over pairs of patterns with equally many branches; (p, ...), entry r - 1 belongs to r."""
    pairs = np.zeros((p, p, *first.shape))
    pairs[0, 0] = first
    for _ in range(p - 1):
        before = pairs.copy()
        for i in range(p):
            for j in range(p):
                if i:
                    pairs[i, j] += left(before[i - 1, j])
                if j:
                    pairs[i, j] += right(before[i, j - 1])
                if i and j:
                    pairs[i, j] += both(i - 1, j - 1, before[i - 1, j - 1])
    return pairs[np.arange(p), np.arange(p)]
