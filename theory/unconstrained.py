"""The Unconstrained Jacobians Model (UJM), binary: every stationary point of the aligned branch, and the optimum.

Minimise over w in R^D and J_1..J_L in R^{D x D} [RA Def. 3.2]

    loss(y w^T prod_i (I + J_i) Delta) + lam/2 sum_i |J_i|_F^2 + lam/2 |w|^2,     delta = |Delta|.

Every global optimum is ``J_i = s u u^T``, ``w = y omega u`` with ``u = Delta / delta`` [U2, new; RA Thm 3.3
states that one has this form], and s solves the scalar equation U3. It can have three roots, two of them
minima, so all are isolated before any is called the optimum.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

from scipy.optimize import brentq
from scipy.special import expit, lambertw

from theory.arguments import one_of, real_number, whole_number

# Beyond this, exp overflows; a root there would have a loss slope below 1e-(10^300).
_LARGEST_LOG = 700.0


@dataclass(frozen=True)
class StationaryPoint:
    """A stationary point ``J_i = s u u^T``, ``w = y omega u`` of the UJM, with its ``margin`` z and ``objective``."""

    s: float
    omega: float
    margin: float
    objective: float


@dataclass(frozen=True)
class _Loss:
    """A decreasing margin loss; ``tau(z) = z loss''(z) / g(z)`` with ``g = -loss'``, and tau's inverse on (0, 1)."""

    value: Callable[[float], float]
    log_slope: Callable[[float], float]
    tau: Callable[[float], float]
    tau_inverse: Callable[[float], float]


def _logistic_log_slope(z: float) -> float:
    # log g = -log(1 + e^z), written so that neither end overflows.
    return -z - math.log1p(math.exp(-z)) if z > 0 else -math.log1p(math.exp(z))


_LOSSES = {
    "logistic": _Loss(
        value=lambda z: math.log1p(math.exp(-z)),
        log_slope=_logistic_log_slope,
        tau=lambda z: z * float(expit(z)),
        # z = t (1 + e^-z)  <=>  (z - t) e^(z - t) = t e^-t, solved by Lambert's W.
        tau_inverse=lambda t: t + float(lambertw(t * math.exp(-t)).real),
    ),
    "exponential": _Loss(
        value=lambda z: math.exp(-z), log_slope=lambda z: -z, tau=lambda z: z, tau_inverse=lambda t: t
    ),
}


def objective(s: float, depth: int, weight_decay: float, input_norm: float, loss: str = "logistic") -> float:
    """Value of the UJM at the aligned point with singular value ``s >= 0`` and its best-balanced classifier.

    ``loss(z) + lam/2 (L s^2 + s (1 + s))`` with ``omega^2 = s (1 + s)`` and ``z = delta omega (1 + s)^L`` [U3, new].
    Raises ArgumentError for bad arguments.
    """
    depth, weight_decay, input_norm = _check(depth, weight_decay, input_norm)
    one_of("loss", loss, tuple(_LOSSES))
    s = real_number("s", s, least=0.0)
    return _objective(s, depth, weight_decay, input_norm, _LOSSES[loss])


def stationary_points(
    depth: int, weight_decay: float, input_norm: float, loss: str = "logistic"
) -> tuple[StationaryPoint, ...]:
    """All stationary points with aligned, unflipped, rank-one Jacobians, by increasing s [U3, new].

    Solves ``g(z) (1+s)^L delta = lam sqrt(s (1+s))``, ``z = delta sqrt(s (1+s)) (1+s)^L``: one root, or three
    (minimum, saddle, minimum) where weight decay and input norm lie inside the first-order transition [U7].

    Parameters: ``depth`` L >= 1; ``weight_decay`` lam > 0; ``input_norm`` delta > 0; ``loss`` "logistic" or
    "exponential". Relative accuracy of s about 1e-14. Two roots closer than rounding count as one.
    Raises ArgumentError for bad arguments.
    """
    depth, weight_decay, input_norm = _check(depth, weight_decay, input_norm)
    model = _LOSSES[one_of("loss", loss, tuple(_LOSSES))]
    offset = math.log(input_norm) - math.log(weight_decay)

    def excess(log_s: float) -> float:
        """Logarithm of (pull of the loss) / (pull of the decay); its zeros in log s are the stationary points."""
        log_one_plus = _log_one_plus_exp(log_s)
        log_margin = min(_log_margin(log_s, depth, input_norm), _LARGEST_LOG)
        return model.log_slope(math.exp(log_margin)) + depth * log_one_plus + offset - 0.5 * (log_s + log_one_plus)

    # excess falls from +inf to -inf and rises only between its two folds: each piece has at most one root.
    folds = _folds(depth, input_norm, model) or (0.0,)
    edges = [_walk(excess, folds[0], -1.0), *folds, _walk(excess, folds[-1], 1.0)]
    roots = [edge for edge in folds if excess(edge) == 0]
    for left, right in itertools.pairwise(edges):
        if excess(left) * excess(right) < 0:
            roots.append(_root(excess, left, right))
    points = []
    for log_s in sorted(roots):
        s = math.exp(log_s)
        omega = math.sqrt(s) * math.sqrt(1 + s)
        margin = math.exp(_log_margin(log_s, depth, input_norm))
        points.append(StationaryPoint(s, omega, margin, _objective(s, depth, weight_decay, input_norm, model)))
    return tuple(points)


def global_optimum(depth: int, weight_decay: float, input_norm: float, loss: str = "logistic") -> StationaryPoint:
    """The stationary point of least objective: the global optimum of the UJM [RA Thm 3.3 and U2, new].

    At the tie lam* of the first-order transition two points share it; the one with the smaller rounded
    objective is returned, and ``stationary_points`` shows both. Arguments and errors as there.
    """
    return min(stationary_points(depth, weight_decay, input_norm, loss), key=lambda point: point.objective)


def minima(depth: int, weight_decay: float, input_norm: float, loss: str = "logistic") -> tuple[StationaryPoint, ...]:
    """The local minima among ``stationary_points``: all of them, less the middle of three, which is a saddle [U4, new]."""
    return stationary_points(depth, weight_decay, input_norm, loss)[::2]


def _check(depth: int, weight_decay: float, input_norm: float) -> tuple[int, float, float]:
    return (
        whole_number("depth", depth),
        real_number("weight_decay", weight_decay, above=0.0),
        real_number("input_norm", input_norm, above=0.0),
    )


def _objective(s: float, depth: int, weight_decay: float, input_norm: float, model: _Loss) -> float:
    margin = math.exp(min(_log_margin(math.log(s), depth, input_norm), _LARGEST_LOG)) if s > 0 else 0.0
    return model.value(margin) + weight_decay / 2 * (depth * s * s + s * (1 + s))


def _log_one_plus_exp(x: float) -> float:
    return x + math.log1p(math.exp(-x)) if x > 0 else math.log1p(math.exp(x))


def _log_margin(log_s: float, depth: int, input_norm: float) -> float:
    return math.log(input_norm) + 0.5 * log_s + (depth + 0.5) * _log_one_plus_exp(log_s)


def _walk(excess: Callable[[float], float], start: float, step: float) -> float:
    """A log s beyond the last root on one side: walk from the outermost fold until ``excess`` has its far sign."""
    log_s = start + step
    while excess(log_s) * step > 0:
        step *= 2
        log_s += step
    return log_s


def _root(function: Callable[[float], float], left: float, right: float) -> float:
    return cast(float, brentq(function, left, right, xtol=1e-15, maxiter=500))


def _folds(depth: int, input_norm: float, model: _Loss) -> tuple[float, ...]:
    """log s where ``excess`` turns: the two roots of tau(z(s)) = kappa(s) [U7, new], or none. Independent of the decay."""
    if depth == 1:
        return ()

    def turn(log_s: float) -> float:
        margin = math.exp(min(_log_margin(log_s, depth, input_norm), _LARGEST_LOG))
        return model.tau(margin) - _kappa(math.exp(log_s), depth)

    cusp = math.log(_cusp_singular_value(depth, model))
    # For a fixed loss the fold's input norm peaks at the cusp; below that peak one fold lies on either side.
    if turn(cusp) >= 0:
        return ()
    lowest = -math.log(2 * (depth - 1))
    highest = cusp
    while turn(highest) < 0:
        highest += 1.0
    return _root(turn, lowest, cusp), _root(turn, cusp, highest)


def _kappa(s: float, depth: int) -> float:
    return (2 * (depth - 1) * s - 1) / (2 * (depth + 1) * s + 1)


def _cusp_singular_value(depth: int, model: _Loss) -> float:
    """s at the cusp: where the input norm along the fold curve is largest (depth >= 2) [U7, new]."""

    def slope(log_s: float) -> float:
        """Derivative of log(fold input norm) in log s: z at the fold moves by dtau/tau', the rest is explicit."""
        s = math.exp(log_s)
        kappa = _kappa(s, depth)
        margin = model.tau_inverse(kappa)
        # d log z / d log kappa = tau / (z tau'); logistic: 1 / (1 + z g), exponential: 1.
        stiffness = 1 + margin * math.exp(model.log_slope(margin)) if model is _LOSSES["logistic"] else 1.0
        return 8 * depth * s * (1 + s) - (2 * (depth - 1) * s - 1) * (2 * (depth + 1) * s + 1) ** 2 * stiffness

    left = -math.log(2 * (depth - 1)) + 1e-12
    right = left + 1.0
    while slope(right) > 0:
        right += 1.0
    return math.exp(_root(slope, left, right))
