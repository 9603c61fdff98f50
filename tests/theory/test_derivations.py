import pytest
import sympy as sp
from matplotlib.mathtext import MathTextParser

from theory import ArgumentError, derivations
from theory.derivation import Derivation, Step

every_derivation = pytest.mark.parametrize("build", derivations.ALL, ids=lambda build: build.__name__)
x, y = sp.symbols("x y", positive=True)


def derivation_of(*steps):
    return Derivation("test", (), tuple(steps), "", "new", "test")


@every_derivation
def test_every_step_reduces_to_zero(build):
    assert build().failures() == ()


@every_derivation
def test_every_step_holds_at_fifty_points_in_fifty_digits(build):
    assert build().numeric_failures() == ()


@every_derivation
def test_every_derivation_says_what_it_needs_what_it_shows_and_whose_it_is(build):
    derivation = build()
    assert derivation.assumptions
    assert derivation.steps
    assert derivation.conclusion
    assert derivation.mark == ("paper" if derivation.source.startswith("RA") else "new")
    for step in derivation.steps:
        assert step.because.endswith((".", "z."))


@every_derivation
def test_every_step_renders(build):
    derivation = build()
    for step in derivation.steps:
        MathTextParser("path").parse(f"${step.latex()}$")
    text = derivation.latex()
    assert text.startswith("\\begin{align*}\n")
    assert text.count(r"\text{") == len(derivation.steps)
    assert text.count("{") == text.count("}")


@every_derivation
def test_a_step_spoilt_by_a_small_rational_is_caught_both_ways(build):
    """Spoil each step in turn: neither the rewrites nor the arithmetic may let it pass."""
    small = sp.Rational(1, 10**30)
    for step in build().steps:
        spoilt = derivation_of(Step(step.left, step.right * (1 + small) + small, step.because, step.rewrite))
        assert len(spoilt.failures()) == 1
        assert len(spoilt.numeric_failures(points=2)) == 1


def test_the_list_is_complete_and_names_are_unique():
    names = [build().name for build in derivations.ALL]
    alignment = ["telescoping product", "T1", "T2", "T3", "T4", "T5", "U3", "U5, rank one", "M3", "P4"]
    assert names == [*alignment, "LS Thm 3", "LS Thm 4", "LS Thm 5", "E* and G"]


def test_a_wrong_slope_is_caught():
    """T2 with the slope 2 rho instead of rho."""
    s, a = sp.symbols("s a", positive=True)
    rho = sp.Symbol("rho", real=True)
    wrong = Step((s * (1 + rho / (1 / s)) * a).subs(s, 1 / (1 / s + 2 * rho)), s * a, "wrong")
    assert derivation_of(wrong).failures() == (wrong,)
    assert derivation_of(wrong).numeric_failures() == (wrong,)


def test_arithmetic_catches_a_rewrite_that_cheats():
    cheat = Step(x, x + 1, "cheat", lambda expression: sp.Integer(0))
    assert derivation_of(cheat).failures() == ()
    assert derivation_of(cheat).numeric_failures() == (cheat,)


def test_rewrites_catch_what_too_few_points_would_miss():
    """An identity at the integers only, drawn at integers: the arithmetic is blind, the rewrite is not."""
    n = sp.Symbol("n", positive=True, integer=True)
    periodic = Step(sp.sin(sp.pi * x) * x, sp.Integer(0), "only at integers")
    assert derivation_of(periodic).failures() == (periodic,)
    assert derivation_of(Step(sp.sin(sp.pi * n), sp.Integer(0), "sympy knows")).numeric_failures() == ()


def test_points_follow_the_declared_domain():
    """sqrt(x^2) = x holds for positive x and fails for real x, at the first negative point."""
    r = sp.Symbol("r", real=True)
    assert derivation_of(Step(sp.sqrt(x**2), x, "")).numeric_failures() == ()
    assert len(derivation_of(Step(sp.sqrt(r**2), r, "")).numeric_failures()) == 1
    n = sp.Symbol("n", integer=True, positive=True)
    assert derivation_of(Step(sp.cos(2 * sp.pi * n), sp.Integer(1), "")).numeric_failures() == ()


def test_the_seed_repeats_a_run_and_a_division_by_zero_is_a_failure():
    step = Step(1 / (x - x.subs(x, x)), sp.Integer(1), "1/0")
    assert derivation_of(step).numeric_failures(seed=1) == derivation_of(step).numeric_failures(seed=1) == (step,)


def test_floats_are_refused_wherever_they_stand():
    for step in (Step(0.5 * x, x / 2, ""), Step(x, 1.0 * x, ""), Step(x + 0.1, x + 0.1, "")):
        with pytest.raises(ArgumentError, match=r"step = .*holds a float; use sympy.Rational or sympy.nsimplify"):
            step.residual()


def test_a_symbol_of_unknown_domain_is_named():
    with pytest.raises(ArgumentError, match=r"symbol = z: must be declared real"):
        derivation_of(Step(sp.Symbol("z"), sp.Symbol("z"), "")).numeric_failures()


@pytest.mark.parametrize(("arguments", "message"), [({"points": 0}, "points = 0"), ({"seed": -1}, "seed = -1")])
def test_bad_arguments_are_named(arguments, message):
    with pytest.raises(ArgumentError, match=message):
        derivation_of(Step(x, x, "")).numeric_failures(**arguments)


def test_text_is_escaped_for_latex():
    latex = derivation_of(Step(x, x, r"a_b^2 & {c} \d 50%")).latex()
    assert r"\text{a\_b\^{}2 \& \{c\} \textbackslash{}d 50\%}" in latex
