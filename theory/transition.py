"""The first-order transition of the Unconstrained Jacobians Model: cusp, spinodals, the tie, and its phase diagram.

For every depth L >= 2 and every input norm below ``delta_c(L)`` there is a window of weight decays with two
minima, one shallow (the network hardly acts) and one deep. The window opens at a cusp, ends at two folds of
the decay curve (spinodals), and holds exactly one decay lam* at which the two minima tie [U7, new]. Depth 1
has none. lam* is unique because the deep minimum carries the larger penalty, so the difference of the two
objectives rises with lam.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import cast

import numpy as np
from scipy.optimize import brentq, elementwise
from scipy.special import log_expit

from theory.arguments import ArgumentError, real_array, real_number, whole_number
from theory.decay_curve import DecayCurve, cusp_log_s
from theory.margin_losses import margin_loss
from theory.unconstrained import StationaryPoint, stationary_points

_LOG_SLOPES = {
    "logistic": lambda z: log_expit(-z),
    "exponential": lambda z: -z,
    "hinge": lambda z: np.zeros_like(z),
    "squared": lambda z: np.log(np.clip(1 - z, 1e-300, None)),
}
_VALUES = {
    "logistic": lambda z: -log_expit(z),
    "exponential": lambda z: np.exp(-z),
    "hinge": lambda z: np.clip(1 - z, 0, None),
    "squared": lambda z: (1 - z) ** 2 / 2,
}


@dataclass(frozen=True)
class Cusp:
    """Where the window of two minima opens: singular value ``s``, ``input_norm`` delta_c, ``weight_decay`` lam_c."""

    s: float
    input_norm: float
    weight_decay: float


@dataclass(frozen=True)
class Transition:
    """The tie ``weight_decay`` lam*, its two minima's singular values, and the window (lower, upper) of two minima."""

    weight_decay: float
    shallow: float
    deep: float
    spinodals: tuple[float, float]


@dataclass(frozen=True)
class PhaseDiagram:
    """Minima over depths (rows) and weight decays (columns) at one input norm; float64 arrays (depths, decays).

    ``shallow`` and ``deep`` are the two minima's s, NaN where a minimum does not exist (at depths without a window
    the only one is called shallow). ``s`` and ``objective`` belong to the global optimum, ``minima`` counts 1 or 2.
    ``tie`` is lam* and ``spinodals`` the window for each depth, NaN where there is no transition.
    """

    minima: np.ndarray
    shallow: np.ndarray
    deep: np.ndarray
    s: np.ndarray
    objective: np.ndarray
    tie: np.ndarray
    spinodals: np.ndarray


def cusp(depth: int, loss: str = "logistic") -> Cusp:
    """Where the window of two minima opens as the input norm falls [U7, new].

    s is the only root of ``(2(L-1)s - 1)(2(L+1)s + 1)^2 kappa = 8 L s(1+s)`` with ``kappa = d log tau / d log z`` at
    the fold's margin (logistic ``1 + z g``, exponential 1, squared ``1/(1-z)``). The hinge loss has a kink instead: its
    window opens at ``s = 1/(2(L-1))``, margin 1. Raises ArgumentError for depth < 2: depth 1 has no transition.
    """
    depth = whole_number("depth", depth)
    if depth == 1:
        raise ArgumentError("depth", depth, "must be at least 2; one block has one minimum at every decay [U7]")
    model = margin_loss(loss)
    log_s = cusp_log_s(depth, model)
    s = math.exp(log_s)
    unit = DecayCurve(depth, 1.0, model)
    margin = model.tau_inverse((2 * (depth - 1) * s - 1) / (2 * (depth + 1) * s + 1))
    # On the fold delta = z / (sqrt(s(1+s)) (1+s)^L) and lam = g z / (s(1+s)).
    return Cusp(s, margin / unit.margin(log_s), math.exp(model.log_slope(margin)) * margin / (s * (1 + s)))


def spinodals(depth: int, input_norm: float, loss: str = "logistic") -> tuple[float, float] | None:
    """The weight decays between which there are two minima, or None where there is no such window [U7, new].

    At the lower one the shallow minimum meets the saddle and is lost, at the upper one the deep minimum is.
    For the hinge loss the upper end is the decay at which the corner stops being stationary.
    """
    curve = DecayCurve(
        whole_number("depth", depth), real_number("input_norm", input_norm, above=0.0), margin_loss(loss)
    )
    folds = curve.folds()
    return (math.exp(curve(folds[0])), math.exp(curve(folds[1]))) if folds else None


def transition(depth: int, input_norm: float, loss: str = "logistic") -> Transition | None:
    """The tie of the two minima at one depth and input norm, or None where there is never more than one [U7, new].

    lam* to a relative 1e-13 or so; close to the cusp, where the two minima merge, it is held by the spinodals.
    """
    window = spinodals(depth, input_norm, loss)
    if window is None or not window[0] < window[1]:
        return None

    def lead(log_decay: float) -> float:
        """Objective of the deep minimum less that of the shallow one; rises with the decay."""
        lowest, highest = _outer(depth, math.exp(log_decay), input_norm, loss)
        return highest.objective - lowest.objective

    low, high = (math.log(edge) for edge in window)
    # At an edge one minimum is an inflection and rounding may hide it; step inside by a few ulp.
    low, high = low + 1e-14 * (1 + abs(low)), high - 1e-14 * (1 + abs(high))
    if not low < high or lead(low) * lead(high) > 0:
        log_tie = (math.log(window[0]) + math.log(window[1])) / 2
    else:
        log_tie = cast(float, brentq(lead, low, high, xtol=1e-15))
    shallow, deep = _outer(depth, math.exp(log_tie), input_norm, loss)
    return Transition(math.exp(log_tie), shallow.s, deep.s, window)


def phase_diagram(
    depths: np.ndarray, weight_decays: np.ndarray, input_norm: float, loss: str = "logistic"
) -> PhaseDiagram:
    """Minima and optimum over a grid of depths (rows) and weight decays (columns), vectorised [U3, U7, new].

    ``depths``: whole numbers >= 1; ``weight_decays`` > 0; one dimension each. Raises ArgumentError otherwise.
    """
    whole = [whole_number(f"depths[{i}]", depth) for i, depth in enumerate(np.atleast_1d(depths).tolist())]
    decays = real_array("weight_decays", weight_decays, ndim=1)
    real_number("weight_decays", decays.min(), above=0.0)
    model = margin_loss(loss)
    curves = [DecayCurve(depth, real_number("input_norm", input_norm, above=0.0), model) for depth in whole]
    level = np.log(decays)
    pieces = np.array([_falling_pieces(curve, level.min(), level.max()) for curve in curves])
    window = np.array([[curve(edge) for edge in curve.folds()] or [math.nan, math.nan] for curve in curves])
    grid = _Grid(np.array(whole, dtype=np.float64)[:, None], level, float(input_norm), loss)
    shallow = grid.solve(pieces[:, 0, None], pieces[:, 1, None])
    deep = grid.solve(pieces[:, 2, None], pieces[:, 3, None])
    # The window's ends decide which minima there are; a comparison with NaN (no window) is False.
    with np.errstate(invalid="ignore"):
        shallow[level < window[:, :1]] = np.nan
        deep[~(level <= window[:, 1:])] = np.nan
    objectives = np.stack([grid.objective(shallow), grid.objective(deep)])
    best = np.nanargmin(objectives, axis=0)
    ties = [transition(depth, input_norm, loss) for depth in whole]
    return PhaseDiagram(
        minima=np.isfinite(objectives).sum(0),
        shallow=np.exp(shallow),
        deep=np.exp(deep),
        s=np.exp(np.where(best == 0, shallow, deep)),
        objective=np.nanmin(objectives, axis=0),
        tie=np.array([tie.weight_decay if tie else math.nan for tie in ties]),
        spinodals=np.exp(window),
    )


@dataclass(frozen=True)
class _Grid:
    """The decay curve and the objective on arrays (depths, decays)."""

    depth: np.ndarray
    level: np.ndarray
    input_norm: float
    loss: str

    def excess(self, log_s: np.ndarray, depth: np.ndarray, level: np.ndarray) -> np.ndarray:
        growth = (depth - 0.5) * np.logaddexp(0, log_s) - 0.5 * log_s
        return _LOG_SLOPES[self.loss](self.margin(log_s, depth)) + growth + math.log(self.input_norm) - level

    def margin(self, log_s: np.ndarray, depth: np.ndarray) -> np.ndarray:
        log_margin = math.log(self.input_norm) + 0.5 * log_s + (depth + 0.5) * np.logaddexp(0, log_s)
        return np.exp(np.minimum(log_margin, 700.0))

    def solve(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """The root on a falling piece [left, right] of each cell; NaN where there is none."""
        shape = (self.depth.size, self.level.size)
        left, right = (np.broadcast_to(edge, shape) for edge in (left, right))
        depth, level = np.broadcast_to(self.depth, shape), np.broadcast_to(self.level, shape)
        with np.errstate(invalid="ignore"):
            found = elementwise.find_root(self.excess, (left, right), args=(depth, level)).x
            # A corner of the loss falls away vertically: it is the root for every decay below it.
            return np.where(self.excess(right, depth, level) >= 0, right, found)

    def objective(self, log_s: np.ndarray) -> np.ndarray:
        s = np.exp(log_s)
        with np.errstate(invalid="ignore"):
            margin = self.margin(log_s, self.depth)
        value = _VALUES[self.loss](margin)
        return value + np.exp(self.level) / 2 * (self.depth * s * s + s * (1 + s))


def _falling_pieces(curve: DecayCurve, lowest: float, highest: float) -> tuple[float, float, float, float]:
    """Ends in log s of the two pieces that hold minima (NaN for the second without a window), reaching all levels."""
    folds = curve.folds()
    left = curve.roots(math.exp(highest))[0].log_s - 1.0
    last = curve.roots(math.exp(lowest))[-1].log_s
    right = min(last + 1.0, curve.corner())
    if not folds:
        return left, right, math.nan, math.nan
    return min(left, folds[0] - 1.0), folds[0], folds[1], max(right, folds[1])


def _outer(depth: int, weight_decay: float, input_norm: float, loss: str) -> tuple[StationaryPoint, StationaryPoint]:
    points = stationary_points(depth, weight_decay, input_norm, loss)
    return points[0], points[-1]
