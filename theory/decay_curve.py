"""The decay curve of the Unconstrained Jacobians Model: the weight decay at which a given s is stationary.

With n of L blocks flipped, ``z = delta sqrt(s(1+s)) (1+s)^(L-n) s^n`` and [U3, U4, new]

    lam(s) = g(z) (1+s)^(L-n) s^n delta / sqrt(s(1+s)).

The stationary points at decay lam are the level set lam(s) = lam. The curve turns where [U7, new; n >= 1 here]

    tau(z) = ((n - 1/2) + (L-n-1/2) q) / ((n + 1/2) + (L-n+1/2) q),      q = s/(1+s),

at two folds or none for n = 0 and at exactly one for n >= 1, so monotone pieces isolate every root.
Everything is in log s, so nothing overflows.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import cast

from scipy.optimize import brentq

from theory.margin_losses import MarginLoss

# Beyond this, exp overflows; a root there would have a loss slope below 1e-(10^300).
_LARGEST_LOG = 700.0
# Stands for log 0: the slope of a loss beyond its reach.
_LOWEST_LOG = -1e300


@dataclass(frozen=True)
class Root:
    """A point of the level set, and whether the curve rises there (the aligned Hessian is then indefinite)."""

    log_s: float
    rising: bool
    fold: bool = False


@dataclass(frozen=True)
class DecayCurve:
    """The curve log lam(log s) of one model: ``depth`` L, ``input_norm`` delta, ``loss``, ``flips`` n."""

    depth: int
    input_norm: float
    loss: MarginLoss
    flips: int = 0

    def log_margin(self, log_s: float) -> float:
        """log z at log s."""
        return (
            math.log(self.input_norm)
            + (0.5 + self.flips) * log_s
            + (self.depth - self.flips + 0.5) * log_one_plus_exp(log_s)
        )

    def margin(self, log_s: float) -> float:
        """z at log s, held below e^700."""
        return math.exp(min(self.log_margin(log_s), _LARGEST_LOG))

    def __call__(self, log_s: float) -> float:
        """log lam at log s; a huge negative number where the loss pulls no more."""
        pull = max(self.loss.log_slope(self.margin(log_s)), _LOWEST_LOG)
        growth = (self.flips - 0.5) * log_s + (self.depth - self.flips - 0.5) * log_one_plus_exp(log_s)
        return pull + growth + math.log(self.input_norm)

    def turn(self, log_s: float) -> float:
        """tau(z) less the ratio above: negative where the curve rises with s, positive where it falls."""
        margin = self.margin(log_s)
        return self.loss.tau(margin) - fold_ratio(log_s, self.depth, self.flips)

    def folds(self) -> tuple[float, ...]:
        """log s where the curve turns, ascending. A corner of the loss counts as the fold at which it falls away."""
        return _folds(self)

    def roots(self, weight_decay: float) -> tuple[Root, ...]:
        """Every s with lam(s) = weight_decay, ascending; two roots closer than rounding count as one (a fold)."""
        level = math.log(weight_decay)
        folds = self.folds()
        first = 1 if self.flips else -1

        def excess(log_s: float) -> float:
            return self(log_s) - level

        found = [Root(edge, rising=False, fold=True) for edge in folds if excess(edge) == 0 and edge != self.corner()]
        inner = folds or (min(0.0, self.corner()),)
        edges = [_walk(excess, inner[0], -1.0, -first), *inner]
        if math.isinf(self.corner()):
            edges.append(_walk(excess, inner[-1], 1.0, -1))
        elif inner[-1] < self.corner():
            edges.append(self.corner())
        for left, right in itertools.pairwise(edges):
            if excess(left) * excess(right) < 0:
                rising = excess(left) < 0
                found.append(Root(_root(excess, left, right), rising))
        if self.loss.corner is not None and excess(self.corner()) >= 0:
            found.append(Root(self.corner(), rising=False))
        return tuple(sorted(found, key=lambda root: root.log_s))

    def corner(self) -> float:
        """log s at which the margin reaches the loss's corner; infinite for a loss without one."""
        return math.inf if self.loss.corner is None else self.log_s_at(self.loss.corner)

    def log_s_at(self, margin: float) -> float:
        """log s at which the margin, which rises with s, is ``margin`` > 0."""
        return _log_s_at(self, margin)


def log_one_plus_exp(x: float) -> float:
    """log(1 + e^x) without overflow."""
    return x + math.log1p(math.exp(-x)) if x > 0 else math.log1p(math.exp(x))


def fold_ratio(log_s: float, depth: int, flips: int = 0) -> float:
    """The value tau(z) has at a fold [U7, new]; for n = 0 it is ``(2(L-1)s - 1) / (2(L+1)s + 1)``."""
    if flips == 0 and depth > 1:
        # 2(L-1)s - 1 without cancellation, so that its zero is exact.
        return math.expm1(log_s + math.log(2 * (depth - 1))) / (2 * (depth + 1) * math.exp(log_s) + 1)
    q = 1 / (1 + math.exp(-log_s)) if log_s > -_LARGEST_LOG else 0.0
    return 1 - (1 + q) / (flips + 0.5 + (depth - flips + 0.5) * q)


@lru_cache(maxsize=4096)
def cusp_log_s(depth: int, loss: MarginLoss) -> float:
    """log s at the cusp (depth >= 2, n = 0): where the input norm along the fold curve is largest [U7, new].

    For the hinge loss the margin on the fold curve is 1 and the maximum stands at its end, s = 1/(2(L-1)).
    """
    lowest = -math.log(2 * (depth - 1))
    if loss.corner is not None:
        return lowest

    def slope(log_s: float) -> float:
        """Sign of d log(delta) / d log s along the folds: z moves by dtau / tau', the rest is explicit."""
        s = math.exp(log_s)
        rise = 2 * (depth - 1) * s - 1
        if rise <= 0:
            return 1.0
        margin = loss.tau_inverse(max(fold_ratio(log_s, depth), 1e-16))
        return 8 * depth * s * (1 + s) - rise * (2 * (depth + 1) * s + 1) ** 2 * loss.stiffness(margin)

    right = lowest + 1.0
    while slope(right) > 0:
        right += 1.0
    return _root(slope, lowest, right)


@lru_cache(maxsize=4096)
def _folds(curve: DecayCurve) -> tuple[float, ...]:
    if curve.flips:
        # tau(z(s)) climbs faster in log s than the ratio at every crossing, so there is one fold.
        if curve.loss.corner is not None:
            return (curve.corner(),)
        left, right = -1.0, 1.0
        while curve.turn(left) > 0:
            left *= 2
        while curve.turn(right) < 0:
            right *= 2
        return (_root(curve.turn, left, right),)
    if curve.depth == 1:
        return ()
    lowest, cusp = -math.log(2 * (curve.depth - 1)), cusp_log_s(curve.depth, curve.loss)
    if curve.loss.corner is not None:
        return (lowest, curve.corner()) if lowest < curve.corner() else ()
    # For a fixed loss the fold's input norm peaks at the cusp; below that peak one fold lies on either side.
    if curve.turn(cusp) >= 0:
        return ()
    highest = cusp
    while curve.turn(highest) < 0:
        highest += 1.0
    return _root(curve.turn, lowest, cusp), _root(curve.turn, cusp, highest)


@lru_cache(maxsize=4096)
def _log_s_at(curve: DecayCurve, margin: float) -> float:
    target = math.log(margin)
    left, right = -1.0, 1.0
    while curve.log_margin(left) > target:
        left *= 2
    while curve.log_margin(right) < target:
        right *= 2
    return _root(lambda log_s: curve.log_margin(log_s) - target, left, right)


def _walk(excess: Callable[[float], float], start: float, step: float, far_sign: int) -> float:
    """A log s beyond the last root on one side: walk from the outermost fold until ``excess`` has its far sign."""
    log_s = start + step
    while excess(log_s) * far_sign <= 0:
        step *= 2
        log_s += step
    return log_s


def _root(function: Callable[[float], float], left: float, right: float) -> float:
    if function(left) == 0:
        return left
    # Huge stand-ins for infinity would slow secant steps; their signs are all that is needed.
    clipped = lambda x: max(-1e6, min(1e6, function(x)))  # noqa: E731
    return cast(float, brentq(clipped, left, right, xtol=1e-15, maxiter=500))
