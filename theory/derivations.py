"""Derivations: a statement as a chain of equations that sympy checks one by one.

Each step is an identity ``left = right`` whose difference must reduce to exactly zero by a *targeted* rewrite,
and one sentence that says why. Only exact numbers and symbols are used; a float would make the check a guess.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import sympy as sp

from theory.arguments import ArgumentError

Mark = Literal["paper", "recovered", "new", "conjecture"]


@dataclass(frozen=True)
class Step:
    """One identity ``left = right``, why it is so, and the sympy rewrite that reduces ``left - right`` to zero."""

    left: sp.Expr
    right: sp.Expr
    because: str
    rewrite: Callable[[sp.Expr], sp.Expr] = sp.cancel

    def residual(self) -> sp.Expr:
        """``left - right`` after the rewrite: the integer 0 if the step is right. Raises ArgumentError for floats."""
        difference = sp.sympify(self.left - self.right)
        if difference.has(sp.Float):
            raise ArgumentError("step", difference, "holds a float; use sympy.Rational or sympy.nsimplify")
        return self.rewrite(difference)

    def latex(self) -> str:
        """The identity in LaTeX."""
        return f"{sp.latex(self.left)} = {sp.latex(self.right)}"


@dataclass(frozen=True)
class Derivation:
    """A statement with its assumptions, checked steps, conclusion, mark and source."""

    name: str
    assumptions: tuple[str, ...]
    steps: tuple[Step, ...]
    conclusion: str
    mark: Mark
    source: str

    def failures(self) -> tuple[Step, ...]:
        """The steps whose residual does not reduce to zero; empty when the derivation stands."""
        return tuple(step for step in self.steps if step.residual() != 0)


def telescoping_product() -> Derivation:
    """``prod_{i<k} (1 + 1/i) = k`` by induction on k [RA Thm 3.1, paper]."""
    k = sp.Symbol("k", positive=True, integer=True)
    claimed = sp.Lambda(k, k)
    return Derivation(
        name="telescoping product",
        assumptions=("k is a positive integer",),
        steps=(
            Step(claimed(1), sp.Integer(1), "For k = 1 the product is empty."),
            Step(
                claimed(k) * (1 + 1 / k),
                claimed(k + 1),
                "One more factor turns the value at k into the value at k + 1.",
                sp.expand,
            ),
        ),
        conclusion="The product of (1 + 1/i) over i < k equals k.",
        mark="paper",
        source="RA Thm 3.1",
    )


def aligned_inverse_depth_is_equispaced() -> Derivation:
    """RA2, RA3 (rank one) and RA4 make the steps equal [T1: RA Thm 3.1, paper]."""
    k = sp.Symbol("k", positive=True, integer=True)
    c = sp.Symbol("c", real=True)  # u . h_1
    along = sp.Lambda(k, k * c)  # u . h_k, by the telescoping product
    return Derivation(
        name="T1",
        assumptions=("J_i = (1/i) u u^T with |u| = 1", "h_{i+1} = (I + J_i) h_i", "c = u . h_1"),
        steps=(
            Step(along(1), c, "The coordinate along u starts at c."),
            Step(
                (1 + 1 / k) * along(k),
                along(k + 1),
                "Block k multiplies that coordinate by 1 + 1/k.",
                sp.expand,
            ),
            Step(
                along(k) / k,
                c,
                "The k-th step is (1/k)(u . h_k) u, so its length does not depend on k.",
            ),
        ),
        conclusion="h_k = h_1 + (k-1) c u: the representations are equispaced on a line.",
        mark="paper",
        source="RA Thm 3.1",
    )


def slope_is_cosine() -> Derivation:
    """With shared directions u, v the steps are equal iff ``1/s_{i+1} - 1/s_i = u . v`` [T2, new]."""
    s, t = sp.symbols("s_i s_{i+1}", positive=True)
    rho, a = sp.symbols("rho a", real=True)  # u . v, and v . h_i
    step, next_step = s * a, t * (1 + rho * s) * a
    return Derivation(
        name="T2",
        assumptions=("J_i = s_i u v^T with |u| = |v| = 1, s_i > 0", "a = v . h_i is not zero", "rho = u . v"),
        steps=(
            Step(
                next_step,
                t * (a + rho * step),
                "Block i moves h by s_i a u, so v . h grows by rho s_i a; block i+1 then moves by s_{i+1} times that.",
                sp.expand,
            ),
            Step(
                (next_step - step) / (s * t * a),
                rho - (1 / t - 1 / s),
                "Dividing by s_i s_{i+1} a, which is not zero, keeps the zeros of the difference of two steps.",
            ),
            Step(
                next_step.subs(t, 1 / (1 / s + rho)),
                step,
                "Conversely, with 1/s_{i+1} = 1/s_i + rho the two steps agree.",
            ),
        ),
        conclusion="The steps are equal exactly when the slope of 1/s against depth is the cosine between u and v.",
        mark="new",
        source="T2",
    )


ALL: tuple[Callable[[], Derivation], ...] = (
    telescoping_product,
    aligned_inverse_depth_is_equispaced,
    slope_is_cosine,
)
