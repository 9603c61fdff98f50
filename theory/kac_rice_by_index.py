"""Critical points index by index: E over the (k+1)-th eigenvalue of GOE_n, by its exact law or by samples.

Both return all indices at once. For R < 1 minima and maxima sit far outside the bulk, where no sample is and where a
probability is lost in rounding: there they are the exact integral over their side minus what the others have on it.
"""

from __future__ import annotations

import math

import numpy as np

from theory import goe, goe_counting
from theory.kac_rice_weights import (
    NODE_WEIGHTS,
    NODES,
    REACH,
    cut_in_x,
    log_cut,
    log_integral,
    log_prefactor,
    log_tilt,
    panels,
    slope_of_weight,
)
from theory.mixtures import Mixture

# Counting probabilities carry an absolute error of some 1e-15; less than this is none.
_NO_PROBABILITY = 1e-13


def by_counting(n: int, mixture: Mixture, below: float | None) -> np.ndarray:
    """Every index at once: E g(lambda_{k+1}) = g(m) + int_m^inf g' (1 - F_k) - int_-inf^m g' F_k, by parts.

    F_k is the law of the (k+1)-th eigenvalue. m is its median, so that g need not cancel between bulk and edge.
    For R < 1 m is 0: then minima and maxima are what the exact integral over their side leaves.
    """
    edges = panels(n, mixture, below)
    edges = edges[edges <= 2 * math.sqrt(n) + REACH]  # beyond, F_k is below 1e-15 for every k that needs it
    edges = np.union1d(-edges, edges)
    half_widths = np.diff(edges)[:, None] / 2
    x = (edges[:-1, None] + half_widths) + half_widths * NODES
    steps = half_widths * NODE_WEIGHTS * slope_of_weight(n, mixture, below, x)
    reached, not_reached = _laws_of_eigenvalues(n, x.ravel())
    falls = np.einsum("pq,pqk->pk", steps, reached.reshape(*x.shape, n))
    rises = np.einsum("pq,pqk->pk", steps, not_reached.reshape(*x.shape, n))
    at_edges, beyond_edges = _laws_of_eigenvalues(n, edges)
    weight = np.exp(log_prefactor(n, mixture.ratio) + log_tilt(mixture, edges) + log_cut(n, mixture, below, edges))
    centres = (at_edges < 0.5).sum(axis=0) if mixture.excess >= 0 else np.full(n, np.searchsorted(edges, 0.0))
    left_panels = np.arange(len(x))[:, None] < centres
    left = weight[centres] * at_edges[centres, np.arange(n)] - (falls * left_panels).sum(axis=0)
    right = weight[centres] * beyond_edges[centres, np.arange(n)] + (rises * ~left_panels).sum(axis=0)
    if below is not None and mixture.variance == 0:
        left, right = _with_jump(n, mixture, below, edges[centres], left, right)
    counts = left + right
    if mixture.excess < 0:
        scale = log_prefactor(n, mixture.ratio)
        counts[0] = math.exp(scale + log_integral(n, mixture, below, mirrored=True)) - left[1:].sum() + right[0]
        counts[-1] = math.exp(scale + log_integral(n, mixture, below)) - right[:-1].sum() + left[-1]
    return np.maximum(counts, 0.0)


def by_sampling(
    n: int, mixture: Mixture, below: float | None, samples: int, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Means and standard errors for every index, each shape (n,), from ``samples`` tridiagonal matrices."""
    x = goe.sampled_eigenvalues(n, samples, np.random.default_rng(seed))
    log_scale = log_prefactor(n, mixture.ratio)
    counts = np.exp(log_scale + log_tilt(mixture, x) + log_cut(n, mixture, below, x))
    if mixture.excess < 0:
        left, right = counts * (x < 0), counts * (x >= 0)
        first = left[:, 1:].sum(axis=1) - right[:, 0]
        last = right[:, :-1].sum(axis=1) - left[:, -1]
        counts[:, 0] = math.exp(log_scale + log_integral(n, mixture, below, mirrored=True)) - first
        counts[:, -1] = math.exp(log_scale + log_integral(n, mixture, below)) - last
    if below is None:
        counts = (counts + counts[:, ::-1]) / 2  # index k and n-1-k are equal in law
    means, errors = counts.mean(axis=0), counts.std(axis=0, ddof=1) / math.sqrt(samples)
    return means, errors


def _laws_of_eigenvalues(n: int, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """P(lambda_{k+1} <= x) and P(lambda_{k+1} > x), k = 0..n-1, each shape (m, n), without 1 - P of small P."""
    exactly = goe_counting.counting_probabilities(n, x)
    exactly = np.where(exactly < _NO_PROBABILITY, 0.0, exactly)
    return np.cumsum(exactly[:, :0:-1], axis=1)[:, ::-1], np.cumsum(exactly[:, :-1], axis=1)


def _with_jump(
    n: int, mixture: Mixture, below: float, middles: np.ndarray, left: np.ndarray, right: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """By parts, the fall of the weight to 0 at the cut: its height times the law there."""
    level = np.array([cut_in_x(n, mixture, below)[0]])
    height = math.exp(log_prefactor(n, mixture.ratio) + float(log_tilt(mixture, level)[0]))
    reached, not_reached = _laws_of_eigenvalues(n, level)
    on_left = level[0] < middles
    return left + height * reached[0] * on_left, right - height * not_reached[0] * ~on_left
