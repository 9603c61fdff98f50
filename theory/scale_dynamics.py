"""How scales move under gradient descent, and how BatchNorm sets the variance of the stream.

LS splits the loss into ``L = L_m + L_p`` (paths that avoid a block, paths through it; or shallow and deep), with
gradients ``g_m`` and ``g_p`` in the weights w and ``g = g_m + g_p``. Theorems 3 and 4 are reported with the
hypotheses that their statements leave out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from theory.arguments import ArgumentError, real_array, real_number, whole_number


@dataclass(frozen=True)
class ScaleMove:
    """What LS Theorem 3 says of one scale: predicted ``change``, whether it ``grows``, and the ``failed`` hypotheses.

    ``largest_step``: mu below it keeps the sign to the order computed (inf without curvature, 0 if G <= 0).
    """

    change: float
    grows: bool
    largest_step: float
    failed: tuple[str, ...]


def scale_move(
    scale: float,
    mu: float,
    through: ArrayLike,
    around: ArrayLike | None = None,
    *,
    value: float = 0.0,
    curvature: float = 0.0,
) -> ScaleMove:
    """Change of lambda_l when w, then lambda_l, takes a step mu [LS Thm 3, recovered; hypotheses and constant new].

    To second order ``-mu value / lambda + (mu^2 / lambda)(G - mu Q / 2)``, ``G = g_p . g``. LS: |lambda| grows (i) if
    the layer has no skip, always; (ii) if it has one, when G > 0. True if also ``L_p = 0`` (dL/dlambda_l = 0),
    lambda_l != 0, G != 0, sigma_l frozen and ``mu < 2 G / |Q|``; of order mu^2. Off the stationary set the first
    order rules: ``d(lambda^2)/dt = -2 L_p``.

    ``through``: g_p, shape (n,); ``around``: g_m, shape (n,), None for a layer without skip (then g_p = g).
    ``value``: L_p (L without skip). ``curvature``: Q = g^T H_p g. Raises ArgumentError for mu <= 0 and bad shapes.
    """
    scale = real_number("scale", scale)
    mu = real_number("mu", mu, above=0.0)
    deep, whole = _gradients("through", through, "around", around)
    value, bend = real_number("value", value), real_number("curvature", curvature)
    overlap = float(deep @ whole)
    largest = (2 * overlap / abs(bend) if bend else math.inf) if overlap > 0 else 0.0
    failed = []
    if scale == 0:
        failed.append("lambda_l is zero: it has no sign to keep and L_p / lambda_l is not its derivative")
    if value != 0:
        failed.append("dL/dlambda_l is not zero: the move is of first order, -mu L_p / lambda_l")
    if not whole.any():
        failed.append("the gradient in w is zero: nothing moves")
    elif overlap <= 0:
        failed.append("g_p . g is not positive")
    elif mu >= largest:
        failed.append(f"mu is not below 2 G / |Q| = {largest:.6g}")
    move = math.nan if scale == 0 else (mu**2 * (overlap - mu * bend / 2) - mu * value) / scale
    return ScaleMove(move, bool(move * scale > 0), largest, tuple(failed))


def depth_derivative(
    mu: float,
    scale: float,
    degrees: tuple[float, float],
    shallow: ArrayLike,
    deep: ArrayLike,
    mean_depth: float = 0.0,
) -> float:
    """dL/dC after a step ``w - mu g`` from a point with dL/dC = 0, to first order in mu [LS Thm 4, recovered].

    ``-(mu / C)(m |g_m|^2 + p |g_p|^2 + (m + p) g_m . g_p)`` for ``degrees`` (m, p), no BatchNorm. Negative (C grows)
    as LS says unless the gradients oppose: for ``g_p = -t g_m`` it is ``-(mu / C)(1 - t)(m - p t)|g_m|^2``, positive
    for m/p < t < 1 [new]. With the normaliser of eps_r kept, pass ``mean_depth`` = nu': m and p count from there.

    ``shallow`` g_m, ``deep`` g_p: shape (n,). ``scale`` C > 0. Raises ArgumentError.
    """
    mu = real_number("mu", mu, above=0.0)
    scale = real_number("scale", scale, above=0.0)
    m, p = (real_number("degrees", degree) - real_number("mean_depth", mean_depth) for degree in degrees)
    g_m, g = _gradients("shallow", shallow, "deep", deep)
    g_p = g - g_m
    return -mu / scale * float(m * g_m @ g_m + p * g_p @ g_p + (m + p) * g_m @ g_p)


@dataclass(frozen=True)
class PlaneState:
    """``L = xy - 0.75 xy (x^2 + y^2)`` at a point: the loss, its gradient, C = |w| / sqrt 2, and dL/dC along the ray."""

    loss: float
    gradient: tuple[float, float]
    scale: float
    scale_derivative: float


def plane_counterexample(x: float, y: float) -> PlaneState:
    """The loss in the plane on which C decreases although LS Theorem 4 has it grow [new].

    Degrees m = 2 and p = 4. At w = (1, 0) dL/dC = 0 and g_p = -0.75 g_m, between m/p and 1: after one step of size
    mu dL/dC is positive, ``(mu/4 + 3 mu^3/64) / C``, so the next step shrinks C.
    """
    x, y = real_number("x", x), real_number("y", y)
    norm2 = x * x + y * y
    if norm2 == 0:
        raise ArgumentError("x, y", (x, y), "must not both be zero: C = 0 has no ray")
    gradient = (y - 0.75 * y * (3 * x * x + y * y), x - 0.75 * x * (x * x + 3 * y * y))
    scale = math.sqrt(norm2 / 2)
    radial = x * gradient[0] + y * gradient[1]  # Euler: w . grad L = C dL/dC
    return PlaneState(x * y - 0.75 * x * y * norm2, gradient, scale, radial / scale)


# relu of a standard normal: mean 1/sqrt(2 pi), second moment 1/2.
RELU_MEAN_IN_DEVIATIONS = (1 / math.sqrt(2 * math.pi)) / math.sqrt(1 / 2 - 1 / (2 * math.pi))


def batchnorm_second_moments(layers: int, scale: float = 1.0, *, centred: bool = False) -> np.ndarray:
    """``E N_l^2`` for l = 1..layers under ``N_l = (lambda / sigma_l) relu(W_l^T N_{l-1}) + N_{l-1}``; shape (layers,).

    LS's rule ``E N_{l+1}^2 = 1 + E N_l^2`` [LS Eq. 20, recovered] needs the mean of the branch subtracted
    (``centred``): ``lambda^2 l``. As printed only the deviation is divided away and means add up:
    ``lambda^2 (l + (mu l)^2)``, mu = 0.68333 [new]. For wide layers with independent zero-mean weights.
    """
    layer = np.arange(1.0, whole_number("layers", layers) + 1)
    scale = real_number("scale", scale)
    return scale**2 * (layer if centred else layer + (RELU_MEAN_IN_DEVIATIONS * layer) ** 2)


def _gradients(
    first_name: str, first: ArrayLike, second_name: str, second: ArrayLike | None
) -> tuple[np.ndarray, np.ndarray]:
    """The first gradient and the sum of both."""
    one = real_array(first_name, first, ndim=1)
    if second is None:
        return one, one
    other = real_array(second_name, second, ndim=1)
    if other.shape != one.shape:
        raise ArgumentError(second_name, other, f"must have shape {one.shape}, that of {first_name}")
    return one, one + other
