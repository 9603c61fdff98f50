"""The derivations of Residual Alignment and of its path lengths (T1-T5, P4), and the list of ``ALL`` of them.

Each function builds one ``Derivation``; those of the UJM are in
``theory.unconstrained_derivations``, those of the spin glass in ``theory.spin_glass_derivations``. Sums and
products over depth are proved by induction (first value and ratio or difference), never by asking sympy for a
closed form.
"""

from __future__ import annotations

from collections.abc import Callable

import sympy as sp

from theory.derivation import Derivation, Mark, Step
from theory.spin_glass_derivations import (
    deepest_mixture_is_richest,
    depth_derivative_after_a_step,
    indices_separate_below_the_layering_energy,
    scales_grow_to_second_order,
)
from theory.unconstrained_derivations import (
    balance_of_neighbouring_blocks,
    simplex_family_is_stationary,
    stationarity_of_the_unconstrained_model,
)

__all__ = [
    "ALL",
    "Derivation",
    "Mark",
    "Step",
    "aligned_inverse_depth_is_equispaced",
    "balance_of_neighbouring_blocks",
    "deepest_mixture_is_richest",
    "depth_derivative_after_a_step",
    "equal_steps_fix_the_slope",
    "errors_multiply_the_ideal_growth",
    "indices_separate_below_the_layering_energy",
    "scales_grow_to_second_order",
    "simplex_family_is_stationary",
    "slope_is_cosine",
    "stationarity_of_the_unconstrained_model",
    "stirling_mean_and_variance",
    "telescoping_product",
    "unit_slope_in_every_direction",
]


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


def unit_slope_in_every_direction() -> Derivation:
    """In a shared orthonormal basis steps are equal iff ``1/l_{i+1,j} - 1/l_{ij} = 1`` or l_j = 0 [T3, new]."""
    here, following, c, a = sp.symbols("l_{ij} l_{i+1\\,j} c a_j", real=True, nonzero=True)
    k = sp.Symbol("k", positive=True, integer=True)
    step, next_step = here * c, following * (1 + here) * c
    coordinate = sp.Lambda(k, c * (1 + (k - 1) / a))
    return Derivation(
        name="T3",
        assumptions=(
            "J_i = U diag(l_i1..l_im) U^T with orthonormal columns u_j",
            "c = u_j . h_i is not zero",
            "a_j is none of 0, -1, .., -(L-1)",
        ),
        steps=(
            Step(
                next_step,
                following * (c + step),
                "Block i moves the coordinate c along u_j by l_ij c, and no other coordinate mixes in.",
                sp.expand,
            ),
            Step(
                (next_step - step) / (here * following * c),
                1 - (1 / following - 1 / here),
                "Where both coefficients are non-zero, two steps agree exactly if 1/l grows by 1.",
            ),
            Step(
                next_step.subs(here, 0),
                following * c,
                "A direction that rests in block i has step zero there, so it must rest in block i+1 as well.",
            ),
            Step(
                next_step.subs(here, -1),
                sp.Integer(0),
                "After l = -1 nothing is left to move, so -1 can stand in the last block only.",
            ),
            Step(
                (1 + 1 / (k - 1 + a)) * coordinate(k),
                coordinate(k + 1),
                "With l_kj = 1/(k - 1 + a_j) block k moves the coordinate c (1 + (k-1)/a_j) by c/a_j, whatever k is.",
            ),
        ),
        conclusion="Per direction: rest throughout, or 1/l of slope 1 with an offset of its own; any rank.",
        mark="new",
        source="T3",
    )


def equal_steps_fix_the_slope() -> Derivation:
    """``1/|g_i| = (vhat_i.h_i)/(phi_i |d|)``, of slope rho/phi in i, whatever the branch is [T4, new]."""
    gain, fraction, length, seen = sp.symbols("gamma phi d q", positive=True)
    cosine = sp.Symbol("rho", real=True)
    inverse = seen / (fraction * length)
    return Derivation(
        name="T4",
        assumptions=(
            "every step is d (of length d), g_i = J_i^T dhat = gamma vhat_i with |vhat_i| = 1",
            "q = vhat_i . h_i, and phi = (dhat . J_i h_i)/d is not zero",
            "rho = vhat . dhat, where vhat and phi do not depend on i (third step only)",
        ),
        steps=(
            Step(
                (gain * seen / length) * length,
                gain * seen,
                "dhat . J_i h_i = g_i . h_i = gamma q, which is phi d by the definition of phi.",
            ),
            Step(
                seen / ((gain * seen / length) * length),
                1 / gain,
                "Solving for gamma = |g_i| gives the law; no activation was mentioned.",
            ),
            Step(
                (seen + cosine * length) / (fraction * length) - inverse,
                cosine / fraction,
                "One block later h has moved by d, so q has grown by rho d.",
            ),
        ),
        conclusion="Equal steps (RA1) imply a straight line for 1/|g_i| (RA4), of slope rho/phi; T2 is phi = 1.",
        mark="new",
        source="T4",
    )


def errors_multiply_the_ideal_growth() -> Derivation:
    """``prod_{i<k} (1 + 1/i + e_i) = k prod_{i<k} (1 + e_i i/(i+1))``, the constant of the bound [T5, new]."""
    k = sp.Symbol("k", positive=True, integer=True)
    error, growth = sp.symbols("e_k G", positive=True)
    return Derivation(
        name="T5",
        assumptions=(
            "J_i = (1/i) u u^T + E_i with |E_i| <= e_i, so |I + (1/i) u u^T| = 1 + 1/i and each factor errs by e_i",
            "expanding the product, |h_k - h_k^ideal| <= |h_1| (prod (1 + 1/i + e_i) - prod (1 + 1/i))",
            "G = prod_{i<k} (1 + e_i i/(i+1))",
        ),
        steps=(
            Step(
                k * growth * (1 + 1 / k + error),
                (k + 1) * growth * (1 + error * k / (k + 1)),
                "If the first product is k G at k, then one more factor makes it (k+1) times the next G.",
            ),
            Step(
                k * growth - k,
                k * (growth - 1),
                "The ideal product telescopes to k; what is left is the bound.",
                sp.expand,
            ),
        ),
        conclusion="|h_k - h_k^ideal| <= |h_1| k (prod_{i<k} (1 + e_i i/(i+1)) - 1); sharp for E_i = e_i u u^T.",
        mark="new",
        source="T5",
    )


def stirling_mean_and_variance() -> Derivation:
    """Mean ``H_{L+1} - 1`` and variance ``H_{L+1} - H^(2)_{L+1}`` of the path law under s_i = 1/i [P4, new]."""
    i, depth = sp.symbols("i L", positive=True, integer=True)
    t = sp.Symbol("t", positive=True)
    factor = (i + t) / (i + 1)
    chance = 1 / (i + 1)
    mean = sp.Lambda(depth, sp.harmonic(depth + 1) - 1)
    variance = sp.Lambda(depth, sp.harmonic(depth + 1) - sp.harmonic(depth + 1, 2))
    return Derivation(
        name="P4",
        assumptions=("the sum law of r has generating function prod_i (1 + t/i)/(1 + 1/i), i = 1..L",),
        steps=(
            Step((1 + t / i) / (1 + 1 / i), factor, "Block i contributes the factor (i + t)/(i + 1)."),
            Step(
                factor, 1 - chance + chance * t, "That is a branch taken with probability 1/(i+1), blocks independent."
            ),
            Step(chance * (1 - chance), chance - chance**2, "Its variance is p(1-p) = 1/(i+1) - 1/(i+1)^2."),
            Step(mean(1), chance.subs(i, 1), "For L = 1 the mean is 1/2."),
            Step(
                mean(depth) + chance.subs(i, depth + 1),
                mean(depth + 1),
                "One more block adds 1/(L+2), which is how H_{L+1} grows.",
                sp.expand_func,
            ),
            Step(variance(1), (chance - chance**2).subs(i, 1), "For L = 1 the variance is 1/4."),
            Step(
                variance(depth) + (chance - chance**2).subs(i, depth + 1),
                variance(depth + 1),
                "One more block adds 1/(L+2) - 1/(L+2)^2.",
                # expand_func knows the recursion of H_n, not that of H^(2)_n.
                lambda e: sp.cancel(
                    sp.expand_func(e.subs(sp.harmonic(depth + 2, 2), sp.harmonic(depth + 1, 2) + 1 / (depth + 2) ** 2))
                ),
            ),
        ),
        conclusion="Under Residual Alignment the mean path length is H_{L+1} - 1, about log L, not a fraction of L.",
        mark="new",
        source="P4",
    )


ALL: tuple[Callable[[], Derivation], ...] = (
    telescoping_product,
    aligned_inverse_depth_is_equispaced,
    slope_is_cosine,
    unit_slope_in_every_direction,
    equal_steps_fix_the_slope,
    errors_multiply_the_ideal_growth,
    stationarity_of_the_unconstrained_model,
    balance_of_neighbouring_blocks,
    simplex_family_is_stationary,
    stirling_mean_and_variance,
    scales_grow_to_second_order,
    depth_derivative_after_a_step,
    deepest_mixture_is_richest,
    indices_separate_below_the_layering_energy,
)
