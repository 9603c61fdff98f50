"""The Unconstrained Jacobians Model with C classes: two exact shapes, the least penalty of given logits, and rank.

One input per class, orthogonal, of norm delta, in width D >= C; mean softmax cross-entropy on logits W prod(I + J_i) H.
At every local minimum all blocks are equal and symmetric [M4, U6, new], so a spectrum describes it. Shapes:

* simplex [M3, new]: C-1 equal singular values, Neural Collapse's shape. Stationary; proved optimal for C = 2 or L = 1.
* cross-polytope [M5, new]: C even, C/2 equal ones, classes in opposite pairs. For C > 2 stationary only among points
  of its own shape: letting the pairs part lowers the loss at first order and the penalty only pays at second.
* paired [new]: C/2 large and C/2 - 1 small singular values, which holds both as its extremes. Its stationary point
  beside the cross-polytope lies below it. No optimum either: at C = 8, L = 16, delta = 2, lam = .02 it has .034813,
  and descent finds .034597.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.optimize import root

from theory.arguments import ArgumentError, one_of, real_array, real_number, whole_number
from theory.decay_curve import DecayCurve, Root
from theory.margin_losses import MarginLoss, cross_polytope_loss, margin_loss, simplex_loss
from theory.unconstrained import check_model

SHAPES = ("simplex", "cross-polytope")


@dataclass(frozen=True)
class ClassPoint:
    """A point with ``rank`` equal singular values ``s`` in every block, stationary within its shape.

    The classifier's singular values are ``omega``, those of the logits ``amplitude``; ``objective`` is the mean
    cross-entropy plus lam/2 times all squared weights. ``along_family`` says "minimum", "saddle" or "fold" among
    changes that keep the shape; it is not a statement about all changes.
    """

    shape: str
    rank: int
    s: float
    omega: float
    amplitude: float
    objective: float
    along_family: str


@dataclass(frozen=True)
class PairedPoint:
    """C/2 singular values ``large`` and C/2 - 1 singular values ``small`` in every block, and the ``objective``."""

    large: float
    small: float
    objective: float


@dataclass(frozen=True)
class ShapeComparison:
    """The best point of each known shape, which has the ``lower`` objective, and whether that is proved optimal.

    ``proved_optimal`` is True only for C = 2 or L = 1 [M3, new]. Elsewhere a lower point of another shape may exist:
    where the cross-polytope wins, the paired point beside it is lower still.
    """

    simplex: ClassPoint
    cross_polytope: ClassPoint | None
    lower: str
    proved_optimal: bool


def rank_bound(classes: int) -> int:
    """C - 1: ``1^T W = 0`` makes rank J_i = rank W <= C - 1 at every stationary point [M1, new; RA3 says C].

    Reached at every local minimum when the inputs are linearly independent, D >= C and every class occurs.
    """
    return whole_number("classes", classes, least=2) - 1


def class_family(
    depth: int, classes: int, weight_decay: float, input_norm: float, shape: str = "simplex"
) -> tuple[ClassPoint, ...]:
    """All points of one shape that are stationary within it, by increasing s: one or three [M3, M5, new].

    The simplex is then stationary among all networks; the cross-polytope with C > 2 is not (see ``paired_point``).

    With K equal directions (K = C-1 or C/2), ``omega^2 = s(1+s)`` and ``a = delta omega (1+s)^L``, s solves
    ``-a ce'(a) = lam K s(1+s)``, where ce(a) is the cross-entropy of the shape at logit amplitude a; for the simplex
    that is ``a / (e^a + C - 1) = lam s(1+s)``. Raises ArgumentError for bad arguments, and for the cross-polytope
    with an odd number of classes.
    """
    depth, weight_decay, input_norm = check_model(depth, weight_decay, input_norm)
    loss, rank = _shape(shape, whole_number("classes", classes, least=2))
    curve = DecayCurve(depth, input_norm, loss)
    return tuple(_point(each, shape, rank, weight_decay, curve) for each in curve.roots(weight_decay))


def compare_shapes(depth: int, classes: int, weight_decay: float, input_norm: float) -> ShapeComparison:
    """The lowest point of each known shape side by side [M5, new]; optimal is claimed for C = 2 or L = 1 only."""
    shapes = SHAPES if whole_number("classes", classes, least=2) % 2 == 0 else SHAPES[:1]
    best = {
        shape: min(class_family(depth, classes, weight_decay, input_norm, shape), key=lambda point: point.objective)
        for shape in shapes
    }
    cross = best.get("cross-polytope")
    lower = "cross-polytope" if cross is not None and cross.objective < best["simplex"].objective else "simplex"
    return ShapeComparison(best["simplex"], cross, lower, proved_optimal=classes == 2 or depth == 1)


def paired_point(depth: int, classes: int, weight_decay: float, input_norm: float) -> PairedPoint | None:
    """The stationary point beside the cross-polytope, or None where descent from there leaves for the simplex [new].

    Logits with singular value a on the C/2 differences within pairs and b on the C/2 - 1 differences between pairs
    have cross-entropy ``log(1 + e^-a + (C-2) e^(-(a+b)/2))`` and least penalty ``C/2 r(a) + (C/2 - 1) r(b)`` [M5]. This
    solves for both from b near 0: a = b is the simplex, b = 0 the cross-polytope. The shape is the set fixed by the
    symmetries that keep the pairs, so a point stationary in it is stationary among all networks.
    Raises ArgumentError for odd C or C < 4.
    """
    depth, weight_decay, input_norm = check_model(depth, weight_decay, input_norm)
    classes = whole_number("classes", classes, least=4)
    start = min(
        class_family(depth, classes, weight_decay, input_norm, "cross-polytope"), key=lambda point: point.objective
    )
    curve = DecayCurve(depth, input_norm, margin_loss("logistic"))
    weights = np.array([classes / 2, classes / 2 - 1])

    def amplitudes(log_s: np.ndarray) -> np.ndarray:
        return np.array([curve.margin(float(each)) for each in log_s])

    def cross_entropy(log_s: np.ndarray) -> tuple[float, np.ndarray]:
        """Value, and minus its derivatives by a and b."""
        a, b = amplitudes(log_s)
        own, between = math.exp(-a), (classes - 2) * math.exp(-(a + b) / 2)
        total = 1 + own + between
        return math.log1p(own + between), np.array([own + between / 2, between / 2]) / total

    def excess(log_s: np.ndarray) -> np.ndarray:
        """Log of the loss's pull ``-a d ce/da`` over the decay's, ``lam K s(1+s)``, for a and for b."""
        s = np.exp(log_s)
        return np.log(amplitudes(log_s) * cross_entropy(log_s)[1]) - np.log(weight_decay * weights * s * (1 + s))

    first = np.array([math.log(start.s), 0.0])
    # With a held, b's own equation starts from b -> 0, where omega = g delta (1+s)^L / lam and s = omega^2.
    pull = cross_entropy(np.array([first[0], -700.0]))[1][1]
    first[1] = 2 * math.log(pull * input_norm / (weight_decay * weights[1]))
    found = root(excess, first, tol=1e-14)
    log_s = found.x
    if np.abs(excess(log_s)).max() > 1e-10 or log_s[0] - log_s[1] < 1e-6:
        return None
    s = np.exp(log_s)
    penalty = float(weights @ (depth * s**2 + s * (1 + s)))
    return PairedPoint(float(s[0]), float(s[1]), cross_entropy(log_s)[0] + weight_decay / 2 * penalty)


def singular_values_for(logits: np.ndarray, depth: int, input_norm: float) -> np.ndarray:
    """Singular values s_k of every block in the cheapest network with these logits [M5, new]; float64, descending.

    ``delta sqrt(s_k(1+s_k)) (1+s_k)^L = sigma_k(Z)``; ``logits`` Z: (C, inputs).
    """
    logits = real_array("logits", logits, ndim=2)
    curve = DecayCurve(
        whole_number("depth", depth), real_number("input_norm", input_norm, above=0.0), margin_loss("logistic")
    )
    sigma = np.linalg.svd(logits, compute_uv=False)
    return np.array([math.exp(curve.log_s_at(float(each))) if each > 0 else 0.0 for each in sigma])


def least_penalty(logits: np.ndarray, depth: int, input_norm: float) -> float:
    """Least ``sum |J_i|_F^2 + |W|_F^2`` that realises the logits Z: ``sum_k r(sigma_k(Z)/delta)`` [M5, new].

    ``r(a) = L s^2 + s(1+s)`` with ``sqrt(s(1+s)) (1+s)^L = a`` (Horn's log-majorisation and U8a). Needs orthogonal
    inputs of equal norm delta and D >= C. r is convex for L = 1; for L >= 2 it is concave beyond ``s = 1/(2(L-1))``,
    so depth favours few large singular values. ``logits``: (C, inputs). Raises ArgumentError for bad arguments.
    """
    s = singular_values_for(logits, depth, input_norm)
    return float(np.sum(depth * s**2 + s * (1 + s)))


def realisation(logits: np.ndarray, depth: int, input_norm: float, dim: int) -> tuple[np.ndarray, np.ndarray]:
    """Jacobian (D, D), the same in every block, and classifier (C, D) that reach ``least_penalty`` [M5, new].

    For inputs ``delta`` times the first unit vectors of R^D. Raises ArgumentError for dim < max(C, inputs).
    """
    logits = real_array("logits", logits, ndim=2)
    dim = whole_number("dim", dim, least=max(logits.shape))
    left, _, right = np.linalg.svd(logits, full_matrices=False)
    s = singular_values_for(logits, depth, input_norm)
    frame = np.zeros((dim, s.size))
    frame[: logits.shape[1]] = right.T
    return frame * s @ frame.T, left * np.sqrt(s * (1 + s)) @ frame.T


def shape_logits(shape: str, classes: int, amplitude: float) -> np.ndarray:
    """Logits (C, C) whose non-zero singular values all are ``amplitude``; pairs are classes (0,1), (2,3), ..."""
    classes = whole_number("classes", classes, least=2)
    amplitude = real_number("amplitude", amplitude, least=0.0)
    _shape(shape, classes)
    if shape == "simplex":
        return amplitude * (np.eye(classes) - 1 / classes)
    return amplitude / 2 * np.kron(np.eye(classes // 2), np.array([[1.0, -1.0], [-1.0, 1.0]]))


def _shape(shape: str, classes: int) -> tuple[MarginLoss, int]:
    if one_of("shape", shape, SHAPES) == "simplex":
        return simplex_loss(classes), classes - 1
    if classes % 2:
        raise ArgumentError("classes", classes, "the cross-polytope pairs the classes; give an even number")
    return cross_polytope_loss(classes), classes // 2


def _point(at: Root, shape: str, rank: int, weight_decay: float, curve: DecayCurve) -> ClassPoint:
    s, amplitude = math.exp(at.log_s), curve.margin(at.log_s)
    penalty = rank * (curve.depth * s * s + s * (1 + s))
    return ClassPoint(
        shape=shape,
        rank=rank,
        s=s,
        omega=math.sqrt(s) * math.sqrt(1 + s),
        amplitude=amplitude,
        objective=curve.loss.value(amplitude) + weight_decay / 2 * penalty,
        along_family="fold" if at.fold else "saddle" if at.rising else "minimum",
    )
