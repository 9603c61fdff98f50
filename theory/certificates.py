"""Certificates for the Unconstrained Jacobians Model: a convex program at fixed margin, and a rigorous enclosure.

(a) At a fixed margin the cheapest weights are a convex program, whose dual bound proves optimality [U8a, new].
(b) The global optimum is enclosed in interval arithmetic: no rounding, no missed root [U8b, new].
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass

import cvxpy
import numpy as np
from flint import arb, ctx

from theory.arguments import one_of, real_number, whole_number
from theory.decay_curve import DecayCurve
from theory.interval_curve import IntervalCurve
from theory.margin_losses import margin_loss
from theory.unconstrained import check_model

_BITS = 160
# Clarabel's defaults (1e-8) always end "optimal"; much tighter ones sometimes end "optimal_inaccurate".
_SETTINGS: dict[str, dict] = {"CLARABEL": {}, "SCS": {"eps_abs": 1e-9, "eps_rel": 1e-9, "max_iters": 100_000}}


@dataclass(frozen=True)
class FixedMarginCertificate:
    """The solved program: the least ``sum s_i^2 + omega^2`` at margin m, with everything needed to distrust it.

    ``singular_values`` (L,) and ``omega`` are the primal point, ``multiplier`` the dual of the margin constraint.
    ``value`` is the penalty evaluated again at that point. ``closed_form`` is what U8a predicts, ``gap`` the relative
    difference. KKT residuals, all relative: ``violation`` of the constraints, ``stationarity``, ``complementarity``.
    """

    singular_values: np.ndarray
    omega: float
    multiplier: float
    value: float
    closed_form: float
    gap: float
    violation: float
    stationarity: float
    complementarity: float
    solver: str


def fixed_margin(depth: int, input_norm: float, margin: float, solver: str = "CLARABEL") -> FixedMarginCertificate:
    """Least ``sum_i s_i^2 + omega^2`` with ``delta omega prod(1 + s_i) >= m``, by convex optimisation [U8a, new].

    With ``t_i = log(1 + s_i) >= 0`` and ``v = log omega``: minimise ``sum (e^{t_i} - 1)^2 + e^{2v}`` subject to
    ``v + sum t_i >= log(m / delta)``. Predicted: all t_i equal, multiplier ``2 s(1+s)``. ``solver``: CLARABEL or SCS.
    Raises ArgumentError for bad arguments, RuntimeError unless the solver's status is exactly "optimal".
    """
    depth = whole_number("depth", depth)
    input_norm = real_number("input_norm", input_norm, above=0.0)
    margin = real_number("margin", margin, above=0.0)
    solver = one_of("solver", solver, ("CLARABEL", "SCS"))
    target = math.log(margin) - math.log(input_norm)
    s = math.exp(DecayCurve(depth, input_norm, margin_loss("logistic")).log_s_at(margin))
    closed_form = depth * s * s + s * (1 + s)
    size = math.log(s * (1 + s)) / 2
    t, v = cvxpy.Variable(depth), cvxpy.Variable()
    # v from its predicted value, the penalty in its predicted size: the solver's tolerances become relative.
    penalty = cvxpy.sum(cvxpy.square(cvxpy.pos(cvxpy.exp(t) - 1))) / closed_form
    penalty += cvxpy.exp(2 * v) * (s * (1 + s) / closed_form)
    constraints: list[cvxpy.Constraint] = [v + cvxpy.sum(t) >= target - size, t >= 0]
    problem = cvxpy.Problem(cvxpy.Minimize(penalty), constraints)
    with warnings.catch_warnings():
        # cvxpy warns of inaccurate solutions; the status below refuses them.
        warnings.simplefilter("ignore")
        problem.solve(solver=solver, **_SETTINGS[solver])
    if problem.status != "optimal":
        raise RuntimeError(f"fixed_margin: {solver} ended with status {problem.status!r}, not 'optimal'")
    logs, log_omega = np.asarray(t.value, dtype=np.float64), float(np.asarray(v.value)) + size
    singular_values, omega = np.expm1(logs), math.exp(log_omega)
    multiplier = float(np.asarray(constraints[0].dual_value)) * closed_form
    bound_duals = np.asarray(constraints[1].dual_value, dtype=np.float64) * closed_form
    value = float(np.sum(np.clip(singular_values, 0, None) ** 2) + omega**2)
    slack = log_omega + float(logs.sum()) - target
    gradient = np.append(2 * singular_values * (1 + singular_values) - bound_duals, 2 * omega**2) - multiplier
    return FixedMarginCertificate(
        singular_values=singular_values,
        omega=omega,
        multiplier=multiplier,
        value=value,
        closed_form=closed_form,
        gap=abs(value - closed_form) / closed_form,
        violation=max(0.0, -slack, -float(logs.min())),
        stationarity=float(np.abs(gradient).max()) / closed_form,
        complementarity=max(abs(multiplier * slack), float(np.abs(bound_duals * logs).max())) / closed_form,
        solver=solver,
    )


@dataclass(frozen=True)
class Candidate:
    """A box of s in which the objective may be least, and bounds of the least objective over that box."""

    s_lower: float
    s_upper: float
    lower: float
    upper: float


@dataclass(frozen=True)
class Enclosure:
    """``lower <= optimum <= upper``, and every global minimiser s lies in one of ``candidates``.

    One candidate: the minimiser is unique and lies in [s_lower, s_upper]. Two: their objectives cannot be told apart
    at this width, which happens at the tie lam* of the transition; s_lower and s_upper then span both.
    """

    lower: float
    upper: float
    s_lower: float
    s_upper: float
    candidates: tuple[Candidate, ...]


def enclose_global_optimum(
    depth: int, weight_decay: float, input_norm: float, loss: str = "logistic", *, relative_width: float = 1e-10
) -> Enclosure:
    """Rigorous interval enclosure of the UJM's optimal value and of its singular value s [U8b, new].

    By U2 the optimum is ``min_{s > 0} loss(z(s)) + lam/2 (L s^2 + s(1+s))``. Arb intervals (160 bits) in log s enclose
    the log decay curve and its derivative over boxes; both are differences of monotone functions, so end points
    bound them. Boxes without a zero or only with maxima are discarded; a box on which the curve falls holds one
    minimum, which bisection pins. Boxes whose objective exceeds another's are discarded last. Widths of value and
    of each candidate's s are at most ``relative_width``, save at a fold or cusp, where the minimiser is ill-determined
    and its box stays wider.

    Losses: logistic and exponential. Raises ArgumentError for others: hinge has no derivative at its corner and the
    squared loss is not monotone.
    """
    depth, weight_decay, input_norm = check_model(depth, weight_decay, input_norm)
    one_of("loss", loss, ("logistic", "exponential"))
    relative_width = real_number("relative_width", relative_width, least=1e-14)
    before = ctx.prec
    ctx.prec = _BITS
    try:
        curve = IntervalCurve(depth, arb(weight_decay), arb(input_norm), loss)
        boxes = [curve.narrow(*box, relative_width) for box in curve.falling_boxes()]
        ceiling = min((float_above(upper) for *_, upper in boxes), default=math.inf)
        kept = tuple(
            Candidate(float_below(left.exp()), float_above(right.exp()), float_below(lower), float_above(upper))
            for left, right, lower, upper in boxes
            if float_below(lower) <= ceiling
        )
    finally:
        ctx.prec = before
    if not kept:
        raise RuntimeError("enclose_global_optimum: no stationary point enclosed; please report these arguments")
    return Enclosure(
        lower=min(each.lower for each in kept),
        upper=ceiling,
        s_lower=min(each.s_lower for each in kept),
        s_upper=max(each.s_upper for each in kept),
        candidates=kept,
    )


def float_below(value: arb) -> float:
    """The largest convenient float that is certainly at most ``value``."""
    return math.nextafter(float(value.lower()), -math.inf)


def float_above(value: arb) -> float:
    """The smallest convenient float that is certainly at least ``value``."""
    return math.nextafter(float(value.upper()), math.inf)
