"""The Unconstrained Jacobians Model (UJM), binary: every stationary point, which are minima, and the optimum.

Minimise over w in R^D and J_1..J_L in R^{D x D} [RA Def. 3.2]

    loss(y w^T prod_i (I + J_i) Delta) + lam/2 sum_i |J_i|_F^2 + lam/2 |w|^2,     delta = |Delta|.

Every stationary point is ``J_i = sigma_i u u^T``, ``w = +-omega u`` with ``u = Delta / delta``, ``sigma_i`` either
s ("unflipped") or -1-s ("flipped") and ``omega^2 = s(1+s)`` [U4, new]. Every global optimum is unflipped [U2,
new; RA Thm 3.3 states that one has equal, aligned, rank-one Jacobians]. The unflipped equation can have three
roots, two of them minima, so all are isolated before any is called the optimum.

Losses: logistic, exponential, hinge ``max(0, 1-z)``, squared ``(1-z)^2 / 2``; ``margin_losses`` says what does not
hold for each.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from theory.arguments import real_number, whole_number
from theory.decay_curve import DecayCurve, Root
from theory.margin_losses import margin_loss


@dataclass(frozen=True)
class StationaryPoint:
    """A stationary point of the UJM: ``sigma_i = s`` but for ``flips`` blocks with ``-1-s``, ``|w| = omega``.

    ``margin`` z > 0 and ``objective`` as in the module's head. ``aligned_index`` is the number of negative
    Hessian eigenvalues among the changes of (sigma_1..sigma_L, omega), 0 or 1; ``degenerate`` marks a fold,
    where one eigenvalue vanishes and the point is no minimum.
    """

    s: float
    omega: float
    margin: float
    objective: float
    flips: int = 0
    aligned_index: int = 0
    degenerate: bool = False

    def hessian_index(self, dim: int) -> int:
        """Number of negative Hessian eigenvalues in width D: ``flips (D-1) + aligned_index`` [refines U4, U6; new].

        Along each direction e orthogonal to u the Hessian couples ``e u^T``, ``u e^T`` and w's e part. Eliminating
        all but the e component rho_i of the representation (which costs only positive pivots) leaves lam times
        a tridiagonal form: ``(1+sigma_i)^2 + 1 - sigma_{i+1}^2`` on the diagonal (``1 + sigma_L`` last),
        ``-(1+sigma_i)`` beside it. Elimination from the last row up has the pivots ``1 + sigma_i`` exactly, since
        ``sigma_i (1+sigma_i) = omega^2`` for every i: one negative pivot for each flip. All else has +lam.
        Raises ArgumentError for dim < 1.
        """
        return self.flips * (whole_number("dim", dim) - 1) + self.aligned_index

    def is_minimum(self, dim: int) -> bool:
        """Whether this is a strict local minimum in width ``dim``; with a flip this needs dim = 1 [U6, new]."""
        return self.hessian_index(dim) == 0 and not self.degenerate


def objective(s: float, depth: int, weight_decay: float, input_norm: float, loss: str = "logistic") -> float:
    """Value of the UJM at the unflipped aligned point with singular value ``s >= 0`` and its balanced classifier.

    ``loss(z) + lam/2 (L s^2 + s (1 + s))`` with ``omega^2 = s (1 + s)`` and ``z = delta omega (1 + s)^L`` [U3, new].
    Raises ArgumentError for bad arguments.
    """
    depth, weight_decay, input_norm = check_model(depth, weight_decay, input_norm)
    model = margin_loss(loss)
    s = real_number("s", s, least=0.0)
    if s == 0:
        return model.value(0.0)
    return _objective(math.log(s), weight_decay, DecayCurve(depth, input_norm, model))


def stationary_points(
    depth: int, weight_decay: float, input_norm: float, loss: str = "logistic", *, flips: int = 0
) -> tuple[StationaryPoint, ...]:
    """All stationary points with exactly ``flips`` flipped blocks, by increasing s [flips = 0: U3; else U4; new].

    Unflipped: one, or three (minimum, saddle, minimum) inside the first-order transition [U7]. With n >= 1
    flips: none or two (one at the fold), each standing for every choice of the n flipped blocks; the
    objective does not depend on the choice.

    Parameters: ``depth`` L >= 1; ``weight_decay`` lam > 0; ``input_norm`` delta > 0; ``loss`` logistic, exponential,
    hinge or squared; ``0 <= flips <= L``. Relative accuracy of s about 1e-14 away from folds. Two roots closer
    than rounding count as one. Raises ArgumentError for bad arguments.
    """
    depth, weight_decay, input_norm = check_model(depth, weight_decay, input_norm)
    flips = whole_number("flips", flips, least=0, most=depth)
    curve = DecayCurve(depth, input_norm, margin_loss(loss), flips)
    return tuple(_point(root, weight_decay, curve) for root in curve.roots(weight_decay))


def global_optimum(depth: int, weight_decay: float, input_norm: float, loss: str = "logistic") -> StationaryPoint:
    """The stationary point of least objective: the global optimum of the UJM [RA Thm 3.3 and U2, new].

    At the tie lam* of the first-order transition two points share it; the one with the smaller rounded
    objective is returned, and ``minima`` shows both. Arguments and errors as ``stationary_points``.
    """
    return min(stationary_points(depth, weight_decay, input_norm, loss), key=lambda point: point.objective)


def minima(depth: int, weight_decay: float, input_norm: float, loss: str = "logistic") -> tuple[StationaryPoint, ...]:
    """The unflipped local minima, one or two, by increasing s; for D >= 2 these are all local minima [U6, new]."""
    points = stationary_points(depth, weight_decay, input_norm, loss)
    # A fold of the curve, met exactly, is an inflection of the objective; dim is free without flips.
    return tuple(point for point in points if point.is_minimum(1))


def check_model(depth: int, weight_decay: float, input_norm: float) -> tuple[int, float, float]:
    """The three numbers of the model, checked: depth >= 1, weight decay > 0, input norm > 0."""
    return (
        whole_number("depth", depth),
        real_number("weight_decay", weight_decay, above=0.0),
        real_number("input_norm", input_norm, above=0.0),
    )


def _point(root: Root, weight_decay: float, curve: DecayCurve) -> StationaryPoint:
    s = math.exp(root.log_s)
    return StationaryPoint(
        s=s,
        omega=math.sqrt(s) * math.sqrt(1 + s),
        margin=curve.margin(root.log_s),
        objective=_objective(root.log_s, weight_decay, curve),
        flips=curve.flips,
        aligned_index=int(root.rising),
        degenerate=root.fold,
    )


def _objective(log_s: float, weight_decay: float, curve: DecayCurve) -> float:
    s, flips = math.exp(log_s), curve.flips
    penalty = (curve.depth - flips) * s * s + flips * (1 + s) ** 2 + s * (1 + s)
    return curve.loss.value(curve.margin(log_s)) + weight_decay / 2 * penalty
