"""What a derivation is: a chain of equations that sympy checks one by one, and arithmetic once more.

Each step is an identity ``left = right`` whose difference must reduce to exactly zero by a *targeted* rewrite,
and one sentence that says why. Only exact numbers and symbols are used; a float would make the check a guess.
The derivations themselves are in ``theory.derivations``.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import sympy as sp

from theory.arguments import ArgumentError, whole_number

Mark = Literal["paper", "recovered", "new", "conjecture"]

_DIGITS = 50
# Left and right are evaluated to 50 digits; five are left for the cancellation inside either.
_AGREEMENT = sp.Rational(1, 10**45)

_TEXT_ESCAPES = str.maketrans({c: "\\" + c for c in "_&%#${}"} | {"^": r"\^{}", "\\": r"\textbackslash{}"})


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
        for side in (self.left, self.right, difference):
            if sp.sympify(side).has(sp.Float):
                raise ArgumentError("step", side, "holds a float; use sympy.Rational or sympy.nsimplify")
        return self.rewrite(difference)

    def holds_at_random_points(self, points: int, draw: random.Random) -> bool:
        """Whether left and right, each evaluated to 50 digits, agree to 45 at ``points`` random points."""
        left, right = sp.sympify(self.left).doit(), sp.sympify(self.right).doit()
        symbols = sorted(left.free_symbols | right.free_symbols, key=str)
        return all(_agree(left, right, [(each, _random_value(each, draw)) for each in symbols]) for _ in range(points))

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

    def numeric_failures(self, points: int = 50, seed: int = 0) -> tuple[Step, ...]:
        """The steps that fail at one of ``points`` random points in 50-digit arithmetic; empty when all hold.

        Independent of every rewrite. Symbols are drawn as they are declared: positive or non-zero rationals up
        to 10, integers up to 200. Raises ArgumentError for a symbol that is not declared real.
        """
        points = whole_number("points", points)
        draw = random.Random(whole_number("seed", seed, least=0))
        return tuple(step for step in self.steps if not step.holds_at_random_points(points, draw))

    def latex(self) -> str:
        """The steps as a LaTeX ``align*`` environment, each with its sentence."""
        rows = (
            rf"{sp.latex(step.left)} &= {sp.latex(step.right)} && \text{{{step.because.translate(_TEXT_ESCAPES)}}}"
            for step in self.steps
        )
        return "\\begin{align*}\n" + " \\\\\n".join(rows) + "\n\\end{align*}"


def _agree(left: sp.Expr, right: sp.Expr, values: list[tuple[sp.Basic, sp.Basic]]) -> bool:
    left, right = sp.N(left.subs(values), _DIGITS), sp.N(right.subs(values), _DIGITS)
    if not (left.is_number and right.is_number and left.is_finite and right.is_finite):
        return False
    return bool(abs(left - right) <= _AGREEMENT * max(1, abs(left), abs(right)))


def _random_value(symbol: sp.Basic, draw: random.Random) -> sp.Basic:
    if not symbol.is_real:
        raise ArgumentError("symbol", symbol, "must be declared real, positive or integer to be drawn at random")
    size = sp.Integer(draw.randint(1, 200)) if symbol.is_integer else sp.Rational(draw.randint(1, 10**6), 10**5)
    return size if symbol.is_nonnegative or draw.random() < 0.5 else -size
