"""U8: the convex certificate at fixed margin, and rigorous enclosures on both sides of the tie and at it."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import tolerances
from tests.strategies import generator, input_norms, weight_decays
from theory import ArgumentError, certificates, transition, unconstrained


@pytest.mark.parametrize("solver", ["CLARABEL", "SCS"])
@pytest.mark.parametrize(("depth", "norm", "margin"), [(1, 1.0, 1.0), (4, 1.0, 3.0), (16, 0.1, 2.0), (64, 0.5, 30.0)])
def test_two_solvers_confirm_the_closed_form(depth, norm, margin, solver):
    found = certificates.fixed_margin(depth, norm, margin, solver)
    assert found.gap < tolerances.CONVEX_GAP
    assert found.violation < tolerances.CONVEX_GAP
    assert found.stationarity < tolerances.CONVEX_KKT
    assert found.complementarity < tolerances.CONVEX_GAP
    s = found.singular_values.mean()
    assert np.ptp(found.singular_values) < tolerances.CONVEX_KKT * s
    assert found.multiplier == pytest.approx(2 * s * (1 + s), rel=tolerances.CONVEX_KKT)
    assert found.omega**2 == pytest.approx(s * (1 + s), rel=tolerances.CONVEX_KKT)


def test_the_program_solves_over_a_wide_range():
    rng = generator(2)
    for _ in range(25):
        norm = 10 ** rng.uniform(-2, 1)
        found = certificates.fixed_margin(int(rng.integers(1, 100)), norm, norm * 10 ** rng.uniform(-3, 5))
        assert found.gap < tolerances.CONVEX_GAP
        assert found.violation < tolerances.CONVEX_GAP


@pytest.mark.parametrize("status", ["optimal_inaccurate", "infeasible", "unbounded", "user_limit"])
def test_only_the_status_optimal_is_accepted(monkeypatch, status):
    monkeypatch.setattr(certificates.cvxpy.Problem, "status", property(lambda self: status))
    with pytest.raises(RuntimeError, match=status):
        certificates.fixed_margin(2, 1.0, 1.0)


@given(st.integers(1, 10_000), weight_decays, input_norms, st.sampled_from(["logistic", "exponential"]))
def test_the_enclosure_holds_the_floating_point_optimum_and_is_narrow(depth, decay, norm, loss):
    found = certificates.enclose_global_optimum(depth, decay, norm, loss)
    best = unconstrained.global_optimum(depth, decay, norm, loss)
    root = tolerances.UJM_ROOT_RELATIVE
    assert found.lower * (1 - root) <= best.objective <= found.upper * (1 + root)
    assert found.lower <= found.upper <= found.lower * (1 + tolerances.ENCLOSURE_WIDTH)
    assert any(each.s_lower * (1 - 1e-9) <= best.s <= each.s_upper * (1 + 1e-9) for each in found.candidates)
    for each in found.candidates:
        assert each.s_lower <= each.s_upper <= each.s_lower * (1 + tolerances.ENCLOSURE_WIDTH)


@pytest.mark.parametrize(("depth", "norm"), [(2, 0.01), (16, 0.1), (32, 0.5), (1000, 1.0)])
def test_both_sides_of_the_tie_and_the_tie_itself(depth, norm):
    tie = transition.transition(depth, norm)
    assert tie is not None
    below = certificates.enclose_global_optimum(depth, tie.weight_decay * (1 - 1e-7), norm)
    above = certificates.enclose_global_optimum(depth, tie.weight_decay * (1 + 1e-7), norm)
    at = certificates.enclose_global_optimum(depth, tie.weight_decay, norm)
    assert [len(each.candidates) for each in (below, at, above)] == [1, 2, 1]
    assert below.s_lower == pytest.approx(tie.deep, rel=1e-5)
    assert above.s_lower == pytest.approx(tie.shallow, rel=1e-5)
    shallow, deep = at.candidates
    assert shallow.s_lower * (1 - 1e-9) <= tie.shallow <= shallow.s_upper * (1 + 1e-9)
    assert deep.s_lower * (1 - 1e-9) <= tie.deep <= deep.s_upper * (1 + 1e-9)
    assert max(shallow.lower, deep.lower) <= min(shallow.upper, deep.upper)


def test_folds_and_the_cusp_are_enclosed_too():
    for decay in transition.spinodals(16, 0.1) or ():
        found = certificates.enclose_global_optimum(16, decay, 0.1)
        assert found.lower * (1 - 1e-12) <= unconstrained.global_optimum(16, decay, 0.1).objective <= found.upper
    cusp = transition.cusp(16)
    found = certificates.enclose_global_optimum(16, cusp.weight_decay, cusp.input_norm)
    assert found.upper <= found.lower * (1 + tolerances.ENCLOSURE_WIDTH)
    assert found.s_lower <= cusp.s <= found.s_upper
    # Three roots within 1e-3 of one another: s is ill-determined and the box says so.
    assert found.s_upper > found.s_lower * (1 + 1e-6)


def test_an_enclosure_beats_every_sample():
    rng = generator(6)
    for _ in range(20):
        depth, decay, norm = int(rng.integers(1, 60)), 10 ** rng.uniform(-4, 1), 10 ** rng.uniform(-2, 1)
        found = certificates.enclose_global_optimum(depth, decay, norm)
        for log_s in rng.uniform(math.log(found.s_lower) - 8, math.log(found.s_upper) + 3, 200):
            assert unconstrained.objective(math.exp(log_s), depth, decay, norm) >= found.lower * (1 - 1e-12)


def test_what_has_no_certificate_is_refused():
    with pytest.raises(ArgumentError, match="loss = squared"):
        certificates.enclose_global_optimum(2, 0.1, 1.0, "squared")
    with pytest.raises(ArgumentError, match="margin = 0"):
        certificates.fixed_margin(2, 1.0, 0.0)
    with pytest.raises(ArgumentError, match="solver = GUROBI"):
        certificates.fixed_margin(2, 1.0, 1.0, "GUROBI")


def test_a_thousand_blocks_are_enclosed_quickly(benchmark):
    assert benchmark(certificates.enclose_global_optimum, 1000, 0.01, 1.0).candidates
