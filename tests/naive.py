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


def ujm_objective(
    jacobians: np.ndarray, classifier: np.ndarray, weight_decay: float, vector: np.ndarray, label: int, loss: str
) -> float:
    """The binary UJM straight from RA Def. 3.2: jacobians (L, D, D), classifier (D,), input (D,), label +-1."""
    walker = vector
    for jacobian in jacobians:
        walker = walker + jacobian @ walker
    z = label * float(classifier @ walker)
    value = {"logistic": np.logaddexp(0, -z), "exponential": math.exp(-z), "hinge": max(0.0, 1 - z),
             "squared": (1 - z) ** 2 / 2}[loss]  # fmt: skip
    return float(value) + weight_decay / 2 * (float(np.sum(jacobians**2)) + float(classifier @ classifier))


def sign_scan_roots(
    depth: int, weight_decay: float, input_norm: float, loss: str, flips: int, points: int
) -> list[float]:
    """log s of each root of U3 / U4 by the sign of the equation on an even grid in log s, straight from the formula."""
    x = np.linspace(-80, 40, points)
    grow, s = np.logaddexp(0, x), np.exp(x)
    log_z = np.minimum(np.log(input_norm) + 0.5 * (x + grow) + (depth - flips) * grow + flips * x, 700)
    z = np.exp(log_z)
    with np.errstate(divide="ignore", invalid="ignore"):
        log_g = {"logistic": lambda: -np.logaddexp(0, z), "exponential": lambda: -z,
                 "squared": lambda: np.log(np.maximum(1 - z, 0))}[loss]()  # fmt: skip
        excess = log_g + np.log(input_norm) + (depth - flips) * grow + flips * x - np.log(weight_decay) - (x + grow) / 2
    change = np.flatnonzero(np.sign(excess[1:]) != np.sign(excess[:-1]))
    assert np.isfinite(s).all()
    return [float(x[i]) for i in change]


def class_objective(
    jacobians: np.ndarray, classifier: np.ndarray, weight_decay: float, inputs: np.ndarray, labels: np.ndarray
) -> float:
    """Mean softmax cross-entropy plus penalty: jacobians (L, D, D), classifier (C, D), inputs (D, n), labels (n,)."""
    walker = inputs
    for jacobian in jacobians:
        walker = walker + jacobian @ walker
    logits = classifier @ walker
    peak = logits.max(0)
    log_norm = peak + np.log(np.exp(logits - peak).sum(0))
    loss = float(np.mean(log_norm - logits[labels, np.arange(labels.size)]))
    return loss + weight_decay / 2 * (float(np.sum(jacobians**2)) + float(np.sum(classifier**2)))
