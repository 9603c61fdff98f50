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


def sum_law_fractions(gains: list[Fraction]) -> list[Fraction]:
    """e_r(g) / prod (1 + g_i), r = 0..L, in exact rational arithmetic."""
    coefficients = [Fraction(1)]
    for gain in gains:
        coefficients = [
            a + gain * b for a, b in zip([*coefficients, Fraction(0)], [Fraction(0), *coefficients], strict=True)
        ]
    total = math.prod(1 + gain for gain in gains)
    return [coefficient / total for coefficient in coefficients]


def stirling_cycle_numbers(letters: int) -> list[int]:
    """c(n, k), k = 0..n, by c(n+1, k) = n c(n, k) + c(n, k-1)."""
    row = [1]
    for n in range(letters):
        row = [n * stay + new for stay, new in zip([*row, 0], [0, *row], strict=True)]
    return row


def rank_one_path_amplitudes(gradients: np.ndarray, skips: np.ndarray, vector: np.ndarray, direction: np.ndarray):
    """|E_r a| for J_i = dhat g_i^T by walking each of the 2^L paths (gradients (L, D))."""
    jacobians = direction[None, :, None] * gradients[:, None, :]
    return np.linalg.norm(path_coefficients(jacobians, skips, vector), axis=-1)
