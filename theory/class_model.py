"""The Unconstrained Jacobians Model with C classes: two exact shapes, the least penalty of given logits, and rank.

One input per class, orthogonal, of norm delta, in width D >= C; mean softmax cross-entropy on logits W prod(I + J_i) H.
At every local minimum all blocks are equal and symmetric [M4, U6, new], so a spectrum describes it. Two shapes
are known in closed form: the simplex (C-1 equal singular values, Neural Collapse's shape) [M3, new] and, for
even C, the cross-polytope (C/2 equal ones, classes in opposite pairs) [M5, new]. Both are stationary. Neither is "the
optimum" in general: the simplex is proved optimal only for C = 2 or L = 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from theory.arguments import ArgumentError, one_of, real_array, real_number, whole_number
from theory.decay_curve import DecayCurve, Root
from theory.margin_losses import MarginLoss, cross_polytope_loss, margin_loss, simplex_loss
from theory.unconstrained import check_model

SHAPES = ("simplex", "cross-polytope")


@dataclass(frozen=True)
class ClassPoint:
    """A stationary point of the C-class model: ``rank`` equal singular values ``s`` in every block.

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
class ShapeComparison:
    """The best point of each known shape, which has the ``lower`` objective, and whether that is proved optimal.

    ``proved_optimal`` is True only for C = 2 or L = 1 [M3, new]. Elsewhere a lower point of another shape may exist,
    and does: by M1 no minimum has rank below C-1, so the cross-polytope with C > 2 is itself not a minimum.
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
    """All stationary points of one shape, by increasing s: one or three [simplex: M3; cross-polytope: M5; new].

    With K equal directions (K = C-1 or C/2), ``omega^2 = s(1+s)`` and ``a = delta omega (1+s)^L``, s solves
    ``-a ce'(a) = lam K s(1+s)``, where ce(a) is the cross-entropy of the shape at logit amplitude a; for the simplex
    that is ``a / (e^a + C - 1) = lam s(1+s)``. Raises ArgumentError for bad arguments, and for the cross-polytope
    with an odd number of classes.
    """
    depth, weight_decay, input_norm = check_model(depth, weight_decay, input_norm)
    loss, rank = _shape(shape, whole_number("classes", classes, least=2))
    curve = DecayCurve(depth, input_norm, loss)
    return tuple(_point(root, shape, rank, weight_decay, curve) for root in curve.roots(weight_decay))


def compare_shapes(depth: int, classes: int, weight_decay: float, input_norm: float) -> ShapeComparison:
    """The lowest point of each known shape side by side [M5, new]; never a claim of optimality beyond C = 2 or L = 1."""
    shapes = SHAPES if whole_number("classes", classes, least=2) % 2 == 0 else SHAPES[:1]
    best = {
        shape: min(class_family(depth, classes, weight_decay, input_norm, shape), key=lambda point: point.objective)
        for shape in shapes
    }
    cross = best.get("cross-polytope")
    lower = "cross-polytope" if cross is not None and cross.objective < best["simplex"].objective else "simplex"
    return ShapeComparison(best["simplex"], cross, lower, proved_optimal=classes == 2 or depth == 1)


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
    """Logits (C, C) of a shape whose non-zero singular values all are ``amplitude``; class pairs are (0,1), (2,3), ..."""
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


def _point(root: Root, shape: str, rank: int, weight_decay: float, curve: DecayCurve) -> ClassPoint:
    s, amplitude = math.exp(root.log_s), curve.margin(root.log_s)
    penalty = rank * (curve.depth * s * s + s * (1 + s))
    return ClassPoint(
        shape=shape,
        rank=rank,
        s=s,
        omega=math.sqrt(s) * math.sqrt(1 + s),
        amplitude=amplitude,
        objective=curve.loss.value(amplitude) + weight_decay / 2 * penalty,
        along_family="fold" if root.fold else "saddle" if root.rising else "minimum",
    )
