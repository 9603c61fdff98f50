"""Checks of *The Loss Surface of Residual Networks* (Littwin & Wolf 2016): one function for each claim."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from paper_checks.evidence import Evidence
from paper_checks.verdicts import Criterion, Finding, over_seeds
from theory import depth_law

_DEPTHS = (10, 100, 1_000, 10_000, 100_000)
_QUOTIENT = "central differences at a relative step of 1e-6 are good to about 1e-8"
_GAINS = (0.05, 0.1, 0.3, 0.5, 0.9, 1.0, 2.0, 7.0)


def theorem_1(evidence: Evidence) -> Finding:
    """LS Theorem 1: the mode of eps_r sits at depth fraction beta / (1 + beta) as p grows."""
    worst = {
        p: max(
            abs(mode / p - depth_law.depth_fraction_limit(beta))
            for beta in _GAINS
            for mode in (int(np.argmax(depth_law.log_epsilon(p, beta))) + 1, *depth_law.modes(p, beta))
        )
        for p in _DEPTHS
    }
    scaled = max(p * error for p, error in worst.items())
    ties = [depth_law.modes(p, Fraction(m, p - m)) == (m, m + 1) for p in (10, 99, 1000) for m in range(1, p)]
    criteria = (
        Criterion("largest p |mode/p - beta/(1+beta)|", scaled, len(_DEPTHS) * len(_GAINS), "pairs (p, beta)",
                  "the mode is floor(beta p/(1+beta)) + 1, or two at a tie: at most 1, plus rounding",
                  high=1.001, null=float(max(_DEPTHS) * abs(0.5 - depth_law.depth_fraction_limit(_GAINS[0])))),
        Criterion("error at p = 10^5", worst[100_000], len(_GAINS), "values of beta", "the limit must be approached",
                  high=1.01e-5),
    )  # fmt: skip
    note = (
        "Null: a binomial law around half depth, whatever beta. The theorem's hypothesis, beta p/(1+beta) an integer, is not needed; "
        f"it is exactly the case of two tied modes ({sum(ties)} of {len(ties)} such cases tie)."
    )
    return Finding(criteria, note)


def lemma_4(evidence: Evidence) -> Finding:
    """LS Lemma 4: every k in 1..p is the argmax for some scale C."""
    depths = (1, 2, 3, 10, 50, 100, 250)
    missed = total = 0
    for p in depths:
        for k in range(1, p + 1):
            low, high = depth_law.gain_range_of_mode(p, k)
            beta = (low + high) / 2 if np.isfinite(high) else low + 1
            total += 1
            missed += int(np.argmax(depth_law.log_epsilon(p, beta))) + 1 != k
    criterion = Criterion("depths that no C reaches", missed, total, "pairs (p, k)", "the lemma says none",
                          high=0.5, null=total - len(depths))  # fmt: skip
    note = (
        "The scale works through beta only: k is the single mode for (k-1)/(p-k+1) < beta < k/(p-k). This says nothing of BatchNorm "
        "with exact normalisation, whose common scale keeps the mean depth near log p. Null: one fixed C reaches one depth of each p."
    )
    return Finding((criterion,), note)


def _derivative_errors() -> tuple[list[float], list[float]]:
    """Largest relative error against central differences, by (p, beta): of the true derivative, of the printed one."""
    step, true, printed = 1e-6, [], []
    for p in (2, 10, 100, 1000):
        for beta in (0.1, 0.5, 2.0):
            forward, backward = depth_law.epsilon(p, beta * (1 + step)), depth_law.epsilon(p, beta * (1 - step))
            quotient = (forward - backward) / (2 * step)
            size = np.abs(quotient).max()
            true.append(float(np.abs(depth_law.scale_derivative(p, beta) - quotient).max() / size))
            printed.append(float(np.abs(depth_law.printed_scale_derivative(p, beta) - quotient).max() / size))
    return true, printed


def equation_19(evidence: Evidence) -> Finding:
    """LS Eq. 19 rests on d eps_r / dC = r eps_r / C, which cannot hold while sum eps_r^2 = 1."""
    true, printed = _derivative_errors()
    drift = float(depth_law.epsilon(10, 0.5) @ depth_law.printed_scale_derivative(10, 0.5))
    criterion = Criterion(
        "least relative error of r eps_r / C against the difference quotient", min(printed), len(printed),
        "pairs (p, beta)", _QUOTIENT, high=1e-6, spread=float(np.std(printed)), null=max(true),
    )  # fmt: skip
    note = (
        f"It would make the constant sum eps^2 move: sum eps_r d eps_r = {drift:.3f}/C instead of 0 at p = 10, "
        "beta = 0.5. Right: C d eps_r/dC = (r - nu') eps_r [new], whose error is shown as null. r eps_r/C is right for "
        "the un-normalised z eps_r; Eq. 19 also lacks the factor 1/C."
    )
    return Finding((criterion,), note)


def scale_derivative(evidence: Evidence) -> Finding:
    """New: C d eps_r / dC = (r - nu') eps_r, against difference quotients."""
    true, printed = _derivative_errors()
    criterion = Criterion(
        "largest relative error against the difference quotient", max(true), len(true), "pairs (p, beta)",
        _QUOTIENT, high=1e-6, spread=float(np.std(true)), null=float(np.median(printed)),
    )  # fmt: skip
    return Finding((criterion,), "Null: the derivative LS prints.")


def depth_grows_in_training(evidence: Evidence) -> Finding:
    """LS, claim 2 of section 4: training shifts the ensemble to deeper networks."""
    before, _ = evidence.metric("initial", "path law, mean depth")
    after, _ = evidence.metric("quick", "path law, mean depth")
    criterion = over_seeds(
        "mean path length after training minus before", after - before, "the claim says it increases",
        what=f"seeds x {evidence.inputs} inputs", low=0.0, null=0.0,
    )  # fmt: skip
    note = (
        f"Mean number of residual branches on a path (energy law along h_1): {before.mean():.2f} at initialisation, {after.mean():.2f} "
        "trained. Small networks on digits with weight decay: gains shrink, and alignment only partly makes up for it."
    )
    accuracy = float(evidence.accuracy("quick").mean())
    return Finding((criterion,), note, "" if accuracy > 0.95 else f"quick networks reach accuracy {accuracy:.3f} only")
