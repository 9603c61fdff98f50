"""The derivations of the spin-glass side: LS Theorems 3, 4 and 5, E* and G, step by step."""

from __future__ import annotations

import sympy as sp

from theory.derivation import Derivation, Step


def deepest_mixture_is_richest() -> Derivation:
    """theta_k is largest for eps_p = 1: R is a mean of r - 1 and theta_k increases with R [LS Thm 5; proof new]."""
    x, large, small = sp.symbols("x A B", positive=True)
    weight = sp.Symbol("w", positive=True)
    r, p = sp.symbols("r p", positive=True, integer=True)
    exponent = sp.log(x) / 2 - (x - 1) / (x + 1)
    tilt = (1 - x) / (1 + x)
    return Derivation(
        name="LS Thm 5",
        assumptions=(
            "nu'' = sum r (r-1) eps_r^2 and nu' = sum r eps_r^2 over r = 2..p, p >= 3, R = nu''/nu'",
            "theta_k = f(R), f(x) = 1/2 log x - (x-1)/(x+1), for every k >= 0; annealed, R >= 1 as r >= 2",
            "A and B are nu'' and nu' of the degrees already added; w = eps_r^2 is added next",
        ),
        steps=(
            Step(
                (p - 1) * (small + r * weight) - (large + r * (r - 1) * weight),
                ((p - 1) * small - large) + r * (p - r) * weight,
                "Degree r adds r (p-r) w >= 0 to (p-1) nu' - nu'': R <= p - 1, with equality for eps_p = 1 only.",
                sp.expand,
            ),
            Step(
                sp.Derivative(exponent, x),
                (x - 1) ** 2 / (2 * x * (x + 1) ** 2),
                "The derivative of f is a square over a positive number: f increases strictly.",
                lambda e: sp.cancel(e.doit()),
            ),
            Step(exponent.subs(x, 1), sp.Integer(0), "At R = 1 the exponent is 0, so it is not negative for R >= 1."),
            Step(
                (1 + tilt) / (1 - tilt),
                1 / x,
                "If r = 1 is admitted and R < 1, artanh((1-R)/(1+R)) = -1/2 log R and theta_0 = 0, below f(p-1).",
            ),
        ),
        conclusion="eps_p = 1 alone maximises theta_k, for p >= 3; at p = 2 with r = 1 admitted every mixture ties at k = 0.",
        mark="new",
        source="LS Thm 5",
    )


def indices_separate_below_the_layering_energy() -> Derivation:
    """``theta_0(-E*) = G/2``, and E* is where the best eigenvalue leaves the edge [literature; check new]."""
    first, second = sp.symbols("nu_1 nu_2", positive=True)
    variance = second + first - first**2
    ratio = second / first
    slope = first * sp.sqrt(second) / (first + second)
    energy = (first**2 + second - first) / (first * sp.sqrt(second))
    stiffness = (first + second) / (2 * variance)
    gap = sp.log(ratio) - (second - first) * (second - first + first**2) / (second * first**2)
    edge = sp.log(ratio) / 2 - (ratio - 1) / (ratio + 1)
    return Derivation(
        name="E* and G",
        assumptions=(
            "theta_k(u) = 1/2 log R + sup over y <= -2 of -(R-1) y^2/(4(R+1)) - (k+1) I(|y|) - (u - c y)^2 S",
            "S = (nu'+nu'')/(2 alpha^2) and c = nu' sqrt(nu'')/(nu'+nu''); alpha^2 > 0; I'(2) = 0",
        ),
        steps=(
            Step(
                (ratio - 1) / (ratio + 1),
                2 * stiffness * slope * (energy - 2 * slope),
                "The slope in y at y = -2 vanishes for u = -E*, for every k: below it y leaves the edge.",
            ),
            Step(
                edge - stiffness * (energy - 2 * slope) ** 2,
                gap / 2,
                "The exponent at y = -2 and u = -E* is G/2.",
            ),
        ),
        conclusion="Below -E* the exponents of the indices separate, above it they coincide; theta_0(-E*) = G/2.",
        mark="new",
        source="literature, re-derived",
    )


def scales_grow_to_second_order() -> Derivation:
    """A step on w and one on lambda_l moves lambda_l by ``+mu^2 g_p.g / lambda_l`` [LS Thm 3; proof new]."""
    mu, scale = sp.symbols("mu lambda", positive=True)
    overlap, curvature, rest = sp.symbols("G Q A", real=True)
    along = -mu * overlap + mu**2 * curvature / 2
    return Derivation(
        name="LS Thm 3",
        assumptions=(
            "L = L_m + L_p with L_p = lambda_l A(w) linear in lambda_l and L_m free of it (unskipped: L_m = 0)",
            "dL/dlambda_l = 0 before the step, lambda_l != 0, sigma_l frozen",
            "G = g_p.g and Q = g^T H_p g: L_p(w - mu g) = L_p - mu G + mu^2 Q/2 to second order",
        ),
        steps=(
            Step(
                sp.Derivative(scale * rest, scale),
                rest,
                "dL/dlambda_l = L_p/lambda_l: it vanishes where L_p does.",
                lambda e: sp.cancel(e.doit()),
            ),
            Step(
                scale - mu * along / scale,
                scale + mu**2 / scale * (overlap - mu * curvature / 2),
                "After w moves, the step on lambda_l has the sign of lambda_l if G > mu Q/2.",
            ),
        ),
        conclusion="abs(lambda_l) grows if G > 0 and mu < 2 G/abs(Q): an effect of order mu^2; G = norm(g)^2 if unskipped.",
        mark="new",
        source="LS Thm 3",
    )


def depth_derivative_after_a_step() -> Derivation:
    """``C dL/dC`` after a step from a zero of it, its sign, and a counterexample in the plane [LS Thm 4; proof new]."""
    m, p = sp.symbols("m p", positive=True, integer=True)
    mu, t = sp.symbols("mu t", positive=True)
    a1, a2, b1, b2 = sp.symbols("a_1 a_2 b_1 b_2", real=True)
    x, y = sp.symbols("x y", real=True)
    dot = a1 * b1 + a2 * b2
    shallow, deep = a1**2 + a2**2, b1**2 + b2**2
    loss = x * y - sp.Rational(3, 4) * x * y * (x**2 + y**2)
    radial = 2 * x * y - 3 * x * y * (x**2 + y**2)
    form = m * shallow + p * deep + (m + p) * dot
    return Derivation(
        name="LS Thm 4",
        assumptions=(
            "L = L_m + L_p, homogeneous in w of degrees m < p, not normalised; C proportional to norm(w)",
            "a = grad L_m and b = grad L_p in two coordinates; dL/dC = 0 before the step w - mu (a + b)",
        ),
        steps=(
            Step(
                x * sp.Derivative(loss, x) + y * sp.Derivative(loss, y),
                radial,
                "Euler: C dL/dC = w.grad L = m L_m + p L_p; here m = 2 and p = 4.",
                lambda e: sp.expand(e.doit()),
            ),
            Step(
                -mu * ((m * a1 + p * b1) * (a1 + b1) + (m * a2 + p * b2) * (a2 + b2)),
                -mu * form,
                "A step moves m L_m + p L_p by -mu (m a + p b).(a + b): the form that LS prints.",
                sp.expand,
            ),
            Step(
                form.subs({b1: -t * a1, b2: -t * a2}),
                (1 - t) * (m - p * t) * shallow,
                "For b = -t a the form is negative when m/p < t < 1: the scale then shrinks.",
                sp.expand,
            ),
            Step(
                radial.subs({x: 1, y: -mu / 4}),
                mu / 4 + 3 * mu**3 / 64,
                "At w = (1, 0) the gradient is (0, 1/4) and C dL/dC = 0; after any step it is positive.",
                sp.expand,
            ),
        ),
        conclusion="LS's formula is right, that it is negative is not: it needs g_p and g_m not to oppose each other.",
        mark="new",
        source="LS Thm 4",
    )
