"""Slow literal twins: each fast routine once more, written straight from its definition."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np


def energy_fractions(p: int, beta: Fraction) -> list[Fraction]:
    """eps_r^2, r = 1..p, in exact rational arithmetic with Python's own binomials."""
    squares = [(math.comb(p - 1, r - 1) * beta**r) ** 2 for r in range(1, p + 1)]
    total = sum(squares)
    return [square / total for square in squares]


def elementary_symmetric(gains: np.ndarray) -> np.ndarray:
    """e_0..e_L by summing products over all subsets."""
    return np.array(
        [math.fsum(math.prod(chosen) for chosen in itertools.combinations(gains, r)) for r in range(len(gains) + 1)]
    )


def path_coefficients(jacobians: np.ndarray, skips: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """E_r a by walking each of the 2^L paths (jacobians (L, D, D), skips (L, D), vector (D,))."""
    depth, width = skips.shape
    total = np.zeros((depth + 1, width))
    for path in itertools.product((False, True), repeat=depth):
        walker = vector
        for through_branch, jacobian, skip in zip(path, jacobians, skips, strict=True):
            walker = jacobian @ walker if through_branch else skip * walker
        total[sum(path)] += walker
    return total
