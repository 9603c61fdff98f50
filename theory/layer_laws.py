"""Depth laws beside the printed eps_r: other ways to weight the paths of a residual network by their length.

Amplitudes have ``sum eps^2 = 1``; energy laws sum to 1. Path lengths count layers, r = 1..p, the first layer
(which has no skip) included. ``theory.depth_law`` has the law as LS prints it.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from theory import depth_law, path_lengths
from theory.arguments import ArgumentError, real_array, real_number, whole_number


def independent_energy(p: int, beta: float) -> np.ndarray:
    """Energy law ``C(p-1, r-1) beta^(2r)`` (normalised) of independent layers [new]; float64, shape (p,).

    LS Eq. 16 squares the binomial as well; that is the law of paths that add up coherently (one tied matrix,
    one input per weight tuple). For independent weights the binomial stands to the first power: r - 1 is
    binomial with chance ``beta^2 / (1 + beta^2)``. Raises ArgumentError for bad p, beta.
    """
    p = whole_number("p", p)
    beta = real_number("beta", beta, least=0.0)
    # beta^2 of more than 1e300 sends all mass to r = p in float64 anyway.
    return path_lengths.binomial(p - 1, min(beta, 1e150) ** 2) if p > 1 else np.ones(1)


def independent_depth_fraction(beta: float) -> float:
    """``beta^2 / (1 + beta^2)``, the limit of mean depth / p for independent layers [new]."""
    beta = real_number("beta", beta, least=0.0)
    return beta * (beta / (1 + beta**2)) if beta < 1 else 1 / (1 + beta**-2.0)


def scaled_epsilon(scales: ArrayLike, beta: float = 1.0) -> np.ndarray:
    """Amplitudes with a scale per layer: ``beta^r lambda_1 e_{r-1}(lambda_2..lambda_p)`` [new]; shape (p,).

    ``scales``: lambda_1..lambda_p, shape (p,), ``e_k`` the elementary symmetric polynomials, normalised to
    ``sum eps^2 = 1``. Non-negative scales give a log-concave, hence unimodal law (Newton) at any size; with
    mixed signs neither holds (``(1 + t)(1 - t) = 1 - t^2`` has no middle) and amplitudes keep their sign.
    Raises ArgumentError if all amplitudes vanish (beta = 0 or lambda_1 = 0), or if mixed signs overflow.
    """
    scales = real_array("scales", scales, ndim=1)
    beta = real_number("beta", beta, above=0.0)
    if scales[0] == 0:
        raise ArgumentError("scales[0]", 0.0, "every path passes the first layer, so its scale must not be zero")
    if scales.size == 1:
        return np.sign(scales)
    with np.errstate(over="ignore"):
        gains = beta * scales[1:]
    if not np.isfinite(gains).all():
        raise ArgumentError("scales", scales, "beta times a scale exceeds 1.8e308; scale beta down")
    polynomials = (
        path_lengths.poisson_binomial(gains) if (gains >= 0).all() else path_lengths.elementary_symmetric(gains)
    )
    polynomials = polynomials / np.abs(polynomials).max()
    return np.sign(scales[0]) * polynomials / np.linalg.norm(polynomials)


def centre_of_scales(scales: ArrayLike, beta: float = 1.0) -> float:
    """``1 + sum_{l>=2} beta lambda_l / (1 + beta lambda_l)``, within 1 of every mode [Darroch; new].

    That holds for ``scaled_epsilon`` and for its square. ``scales``: non-negative, shape (p,). Raises ArgumentError.
    """
    scales = real_array("scales", scales, ndim=1, least=0.0)
    gains = real_number("beta", beta, least=0.0) * scales[1:]
    return 1 + float(np.sum(gains / (1 + gains)))


def skipping_epsilon(blocks: int, layers: int, beta: float) -> tuple[np.ndarray, np.ndarray]:
    """Path lengths and amplitudes when each skip bypasses ``layers`` layers [new]; two (blocks+1,) arrays.

    ``C(B, k) beta^(1 + m k)`` belongs to length ``1 + m k``, k = 0..B. Lengths are in layers of 1 + m B.
    """
    blocks = whole_number("blocks", blocks, least=0)
    layers = whole_number("layers", layers)
    return 1 + layers * np.arange(blocks + 1), depth_law.epsilon(blocks + 1, _gain_of_block(layers, beta))


def skipping_depth_fraction(layers: int, beta: float) -> float:
    """``beta^m / (1 + beta^m)``, the limit of depth / p with skips over m layers [new].

    LS's ``beta / (1 + beta)`` is the case m = 1; for m > 1 the limit is smaller if beta < 1, larger if beta > 1.
    """
    return depth_law.depth_fraction_limit(_gain_of_block(whole_number("layers", layers), beta))


def batchnorm_energy(p: int, scales: float | ArrayLike) -> np.ndarray:
    """Energy law of r with exact BatchNorm in every branch, linear branches [new]; float64, shape (p,).

    Layer l adds a branch of variance ``lambda_l^2`` to a stream of variance ``1 + sum_{1<j<l} lambda_j^2``, so
    ``r = 1 + sum_{l=2}^p Bernoulli(q_l)`` independently, ``q_l = lambda_l^2 / (1 + sum_{1<j<=l} lambda_j^2)``.
    ``scales``: one common lambda, or lambda_2..lambda_p of shape (p-1,). A common lambda is divided away by the
    growing stream: mean depth stays about log p for any lambda, whereas LS reads beta off it.
    """
    return path_lengths.poisson_binomial(_branch_to_stream(p, scales)) if whole_number("p", p) > 1 else np.ones(1)


def batchnorm_mean(p: int, scale: float) -> float:
    """Mean depth ``1 + sum_{l=2}^p lambda^2 / (1 + lambda^2 (l-1))`` under a common lambda [new].

    ``scale`` may be infinite: the largest depth that a common scale reaches, ``1 + H_{p-1}``.
    """
    p = whole_number("p", p)
    if isinstance(scale, float) and math.isinf(scale) and scale > 0:
        return 1 + float(np.sum(1 / np.arange(1.0, p)))
    squared = min(real_number("scale", scale, least=0.0), 1e150) ** 2
    return 1 + float(np.sum(squared / (1 + squared * np.arange(1.0, p))))


def batchnorm_scales_of_constant_gain(p: int, beta: float) -> np.ndarray:
    """lambda_2..lambda_p with which exact BatchNorm has the independent-layer law [new]; shape (p-1,).

    ``lambda_l^2 = beta^2 (1 + beta^2)^(l-2)``: the scale must grow with the stream. Raises ArgumentError if the
    largest exceeds 1e150.
    """
    p = whole_number("p", p, least=2)
    beta = real_number("beta", beta, above=0.0)
    logs = math.log(beta) + np.arange(p - 1) * math.log(math.hypot(1, beta))
    if logs[-1] > 150 * math.log(10):
        raise ArgumentError("p", p, f"lambda_p would be e^{logs[-1]:.0f}, beyond float64; take a smaller p or beta")
    return np.exp(logs)


def _branch_to_stream(p: int, scales: float | ArrayLike) -> np.ndarray:
    """lambda_l^2 over the variance of the stream it is added to, l = 2..p."""
    lambdas = real_array("scales", scales, least=0.0)
    if lambdas.ndim == 0:
        lambdas = np.full(p - 1, lambdas)
    if lambdas.shape != (p - 1,):
        raise ArgumentError("scales", lambdas, f"must be one number or lambda_2..lambda_p, shape {(p - 1,)}")
    if lambdas.max() > 1e150:
        raise ArgumentError("scales", float(lambdas.max()), "must be at most 1e150, so that squares stay finite")
    squares = lambdas**2
    return squares / (1 + np.concatenate(([0.0], np.cumsum(squares)[:-1])))


def _gain_of_block(layers: int, beta: float) -> float:
    beta = real_number("beta", beta, least=0.0)
    try:
        return beta**layers
    except OverflowError:
        raise ArgumentError("beta", beta, f"beta^{layers} exceeds 1.8e308; take beta smaller") from None
