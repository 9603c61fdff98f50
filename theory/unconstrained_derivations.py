"""The derivations of the Unconstrained Jacobians Model: U3, U5 (rank one) and the equation of M3, step by step.

``s`` is the singular value, ``omega`` the classifier's norm, ``delta`` the input norm, ``lam`` the weight decay.
"""

from __future__ import annotations

import sympy as sp

from theory.derivation import Derivation, Step


def stationarity_of_the_unconstrained_model() -> Derivation:
    """``omega^2 = s(1+s)`` and ``g(z)(1+s)^L delta = lam sqrt(s(1+s))`` on the unflipped branch [U3, new]."""
    s, sigma, omega, delta, lam = sp.symbols("s sigma omega delta lambda", positive=True)
    depth = sp.Symbol("L", positive=True, integer=True)
    # One block has gain sigma, the others s; L - 1 = 0 of them is allowed.
    margin = delta * omega * (1 + sigma) * (1 + s) ** (depth - 1)
    penalty = lam / 2 * (sigma**2 + (depth - 1) * s**2 + omega**2)
    z = delta * omega * (1 + s) ** depth
    slope_from_block = lam * s * (1 + s) / z  # g(z), from the first condition
    at_optimum = {omega: sp.sqrt(s * (1 + s))}
    return Derivation(
        name="U3",
        assumptions=("J_i = s u u^T, w = y omega u, s > 0, omega > 0", "z is the margin, g(z) = -loss'(z) > 0"),
        steps=(
            Step(
                sp.Subs(sp.Derivative(margin, sigma), sigma, s),
                z / (1 + s),
                "One block's gain moves the margin by z/(1+s).",
                _carry_out,
            ),
            Step(
                sp.Subs(sp.Derivative(penalty, sigma), sigma, s),
                lam * s,
                "It moves the penalty by lam s: g z/(1+s) = lam s.",
                _carry_out,
            ),
            Step(
                sp.Subs(sp.Derivative(margin, omega), sigma, s),
                z / omega,
                "The classifier's norm moves the margin by z/omega.",
                _carry_out,
            ),
            Step(
                sp.Derivative(penalty, omega),
                lam * omega,
                "It moves the penalty by lam omega: g z/omega = lam omega.",
                _carry_out,
            ),
            Step(
                slope_from_block * z / omega - lam * omega,
                lam * (s * (1 + s) - omega**2) / omega,
                "Both conditions together leave omega^2 = s(1+s).",
                _carry_out,
            ),
            Step(
                (slope_from_block * (1 + s) ** depth * delta).subs(at_optimum),
                lam * sp.sqrt(s * (1 + s)),
                "Inserting omega into the first condition leaves one equation for s.",
                _carry_out,
            ),
        ),
        conclusion="omega^2 = s(1+s), z = delta sqrt(s(1+s)) (1+s)^L, g(z) (1+s)^L delta = lam sqrt(s(1+s)).",
        mark="new",
        source="U3",
    )


def balance_of_neighbouring_blocks() -> Derivation:
    """``J_{i+1} + J_{i+1}^T J_{i+1} = J_i + J_i J_i^T`` at rank-one aligned stationary points [U5, new]."""
    here, following, rest, theta, u_a, u_b = sp.symbols(r"\sigma_i \sigma_{i+1} A theta u_a u_b", real=True)
    margin = rest * (1 + here) * (1 + following)
    squared_norm = sp.cos(theta) ** 2 + sp.sin(theta) ** 2
    return Derivation(
        name="U5, rank one",
        assumptions=(
            "J_i = sigma_i u u^T and J_{i+1} = sigma_{i+1} u u^T with |u| = 1, signs allowed",
            "the margin is z = A (1 + sigma_i)(1 + sigma_{i+1}), A from the other blocks and the classifier",
            "lam sigma_i = g dz/dsigma_i and lam sigma_{i+1} = g dz/dsigma_{i+1} (stationarity)",
        ),
        steps=(
            Step(
                (1 + here) * sp.Derivative(margin, here),
                margin,
                "Stationarity times (1 + sigma_i): lam sigma_i (1 + sigma_i) = g z.",
                _carry_out,
            ),
            Step(
                (1 + following) * sp.Derivative(margin, following),
                margin,
                "The right side does not know the block: lam sigma_{i+1} (1 + sigma_{i+1}) = g z as well.",
                _carry_out,
            ),
            Step(
                here * u_a * u_b + here**2 * u_a * squared_norm * u_b,
                here * (1 + here) * u_a * u_b,
                "Entry (a, b) of J + J J^T and of J + J^T J, with |u|^2 = cos^2 + sin^2: the balance law.",
                lambda e: sp.expand(sp.trigsimp(e)),
            ),
            Step(
                following * (1 + following) - here * (1 + here),
                (following - here) * (1 + here + following),
                "So neighbours are equal, or one is the flip -1 - sigma of the other.",
                sp.expand,
            ),
        ),
        conclusion="J_{i+1} + J_{i+1}^T J_{i+1} = J_i + J_i J_i^T, and every sigma_i is s or -1-s.",
        mark="new",
        source="U5",
    )


def simplex_family_is_stationary() -> Derivation:
    """``m/(e^m + C - 1) = lam s(1+s)`` for the simplex family of the C-class model [M3, new]."""
    m, s, omega, delta, lam, a = sp.symbols("m s omega delta lambda a", positive=True)
    depth, classes = sp.symbols("L C", positive=True, integer=True)
    total = sp.exp(m) + classes - 1
    own, other = sp.exp(m) / total, 1 / total
    on, off = 1 - 1 / classes, -1 / classes  # the entries of the projector P
    margin = delta * omega * (1 + s) ** depth
    return Derivation(
        name="M3",
        assumptions=(
            "one input per class, orthogonal, of norm delta; D >= C",
            "J_i = s P and W = omega P in the basis of inputs, P the projector off the all-ones vector",
            "R = dloss/dlogits = (softmax - onehot)/C; stationarity: lam J_i = -(d logits/d J_i) R, and so for W",
        ),
        steps=(
            Step(a * on - a * off, a, "Logits a P have margin m = a = delta omega (1+s)^L."),
            Step((own - 1) / classes, -on / total, "On the diagonal R is -P/(e^m + C - 1)."),
            Step(other / classes, -off / total, "Off the diagonal too, so R = -P/(e^m + C - 1) and P passes through."),
            Step(
                delta * omega * (1 + s) ** (depth - 1) / total,
                margin / ((1 + s) * total),
                "Each block: lam s = m/((1+s)(e^m + C - 1)).",
                _carry_out,
            ),
            Step(
                delta * (1 + s) ** depth / total,
                margin / (omega * total),
                "The classifier: lam omega = m/(omega (e^m + C - 1)).",
                _carry_out,
            ),
            Step(
                lam * s * (1 + s) / omega - lam * omega,
                lam * (s * (1 + s) - omega**2) / omega,
                "With m/(e^m + C - 1) = lam s(1+s) from the block, the classifier's condition is omega^2 = s(1+s).",
            ),
            Step(
                (m / total).subs(classes, 2),
                m * sp.exp(-m) / (1 + sp.exp(-m)),
                "For C = 2 the left side is m g(m) with the logistic g: U3 again.",
                lambda e: sp.cancel(e.subs(sp.exp(-m), 1 / sp.exp(m, evaluate=False)).subs(sp.exp(m), a)),
            ),
        ),
        conclusion="Stationary iff omega^2 = s(1+s), m = delta omega (1+s)^L and m/(e^m + C - 1) = lam s(1+s).",
        mark="new",
        source="M3",
    )


def _carry_out(expression: sp.Expr) -> sp.Expr:
    """Differentiate and insert, write (1+s)^(L-1) as (1+s)^L / (1+s), then cancel."""
    return sp.cancel(sp.expand_power_exp(expression.doit()))
