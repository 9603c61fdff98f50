"""Losses of one margin, as the Unconstrained Jacobians Model sees them.

A loss enters every scalar equation of the model through ``g(z) = -loss'(z)`` on margins z > 0 and through
``tau(z) = z loss''(z) / g(z)``, which rises from 0. ``caveat`` says in words what does not hold for a loss.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import cast

from scipy.optimize import brentq
from scipy.special import expit, lambertw, log_expit

from theory.arguments import one_of


@dataclass(frozen=True)
class MarginLoss:
    """A loss of the margin z: ``value``, ``log_slope`` = log g, ``tau`` and its inverse.

    ``stiffness`` is d log tau / d log z. ``corner``: the margin at which g jumps to 0 (hinge), or None.
    """

    name: str
    value: Callable[[float], float]
    log_slope: Callable[[float], float]
    tau: Callable[[float], float]
    tau_inverse: Callable[[float], float]
    stiffness: Callable[[float], float]
    caveat: str
    corner: float | None = None


def _shifted_logistic(name: str, shift: float, caveat: str) -> MarginLoss:
    """``log(1 + e^(shift - z))``; its slope, divided by e^shift, is ``g = 1 / (e^z + e^shift)``."""

    def tau_inverse(t: float) -> float:
        # tau = z expit(z - shift) = t  <=>  (z - t) e^(z - t) = t e^(shift - t), solved by Lambert's W.
        return t + float(lambertw(t * math.exp(shift - t)).real)

    return MarginLoss(
        name=name,
        value=lambda z: -float(log_expit(z - shift)),
        log_slope=lambda z: float(log_expit(shift - z)) - shift,
        tau=lambda z: z * float(expit(z - shift)),
        tau_inverse=tau_inverse,
        stiffness=lambda z: 1 + z * float(expit(shift - z)),
        caveat=caveat,
    )


_LOGISTIC = _shifted_logistic("logistic", 0.0, "Every statement U1-U9 applies.")
_EXPONENTIAL = MarginLoss(
    name="exponential",
    value=lambda z: math.exp(-z) if z > -700 else math.inf,
    log_slope=lambda z: -z,
    tau=lambda z: z,
    tau_inverse=lambda t: t,
    stiffness=lambda z: 1.0,
    caveat="Every statement U1-U9 applies; the loss itself is unbounded for negative margins.",
)
_HINGE = MarginLoss(
    name="hinge",
    value=lambda z: max(0.0, 1 - z),
    # The corner itself, rounded, still counts as margin 1.
    log_slope=lambda z: 0.0 if z <= 1 + 1e-9 else -math.inf,
    tau=lambda z: 0.0 if z <= 1 else math.inf,
    tau_inverse=lambda t: 1.0,
    stiffness=lambda z: math.inf,
    corner=1.0,
    caveat=(
        "Not differentiable at margin 1, where most minima lie: U3 is an inequality there, U5' and U6 do not apply, "
        "the deep fold is the corner itself and the cusp is a kink. U2 holds."
    ),
)
_SQUARED = MarginLoss(
    name="squared",
    value=lambda z: (1 - z) ** 2 / 2,
    log_slope=lambda z: math.log1p(-z) if z < 1 else -math.inf,
    tau=lambda z: z / (1 - z) if z < 1 else math.inf,
    tau_inverse=lambda t: t / (1 + t),
    stiffness=lambda z: 1 / (1 - z) if z < 1 else math.inf,
    caveat=(
        "(1 - z)^2 / 2 rises beyond margin 1, so U8's monotone bound does not apply. Every stationary margin is "
        "below 1. U2, U5' and U6 hold."
    ),
)
LOSSES = {loss.name: loss for loss in (_LOGISTIC, _EXPONENTIAL, _HINGE, _SQUARED)}


def margin_loss(name: str) -> MarginLoss:
    """The loss called ``name``: logistic, exponential, hinge or squared. Raises ArgumentError for another name."""
    return LOSSES[one_of("loss", name, tuple(LOSSES))]


@lru_cache(maxsize=64)
def simplex_loss(classes: int) -> MarginLoss:
    """Mean cross-entropy ``log(1 + (C-1) e^-m)`` of logits ``m (I - 11^T/C)``, as a margin loss [M3, new].

    g is that slope over the C-1 equal directions, ``1 / (e^m + C - 1)``; C = 2 is the logistic loss.
    """
    return _shifted_logistic("simplex", math.log(classes - 1), "Stationary; the optimum only for C = 2 or L = 1.")


@lru_cache(maxsize=64)
def cross_polytope_loss(classes: int) -> MarginLoss:
    """Mean cross-entropy ``log(1 + (C-2) e^(-a/2) + e^-a)`` of C/2 opposite pairs, logits +-a/2 [M5, new].

    g is that slope over the C/2 equal directions. ``classes`` is even.
    """
    half = (classes - 2) / 2

    def bend(y: float) -> float:
        """-2 d log g / da, with y = e^(-a/2): rises from 2/C at a = 0 to 1 (2 when C = 2)."""
        tail = 1.0 if half == 0 else y / (half + y)
        return 1 + tail - (2 * half * y + 2 * y * y) / (1 + 2 * half * y + y * y)

    def bend_slope(y: float) -> float:
        tail = 0.0 if half == 0 else half / (half + y) ** 2
        total = 1 + 2 * half * y + y * y
        rise = (2 * half + 4 * y) * total - (2 * half * y + 2 * y * y) * (2 * half + 2 * y)
        return tail - rise / total**2

    def tau(a: float) -> float:
        return a / 2 * bend(math.exp(-a / 2))

    def log_slope(a: float) -> float:
        y = math.exp(-a / 2)
        tail = -a / 2 if half == 0 else math.log(half + y)
        return -a / 2 + tail - math.log1p(2 * half * y + y * y) - math.log(half + 1)

    def value(a: float) -> float:
        return math.log1p(2 * half * math.exp(-a / 2) + math.exp(-a))

    def stiffness(a: float) -> float:
        y = math.exp(-a / 2)
        return 1 - a / 2 * y * bend_slope(y) / bend(y)

    def tau_inverse(t: float) -> float:
        # tau lies between a/C and a.
        return cast(float, brentq(lambda a: tau(a) - t, t / 2, classes * t * (1 + 1e-12), xtol=1e-300))

    return MarginLoss(
        "cross-polytope", value, log_slope, tau, tau_inverse, stiffness, "Stationary within its shape only, when C > 2."
    )
