"""U7: the first-order transition against printed tables, root counting and the definition of a tie."""

import numpy as np
import pytest

from tests import naive, tolerances
from tests.strategies import generator
from theory import ArgumentError, transition, unconstrained

LOSSES = ["logistic", "exponential", "squared"]


@pytest.mark.parametrize(
    ("depth", "s", "norm", "decay"),
    [(2, 0.813682, 0.048664, 0.059500), (4, 0.283159, 0.193062, 0.366224), (16, 0.058662, 0.677639, 2.683567),
     (32, 0.028561, 1.040978, 5.861026)],
)  # fmt: skip
def test_logistic_cusps_as_printed(depth, s, norm, decay):
    cusp = transition.cusp(depth)
    printed = tolerances.PRINTED_SIX_DECIMALS
    assert (cusp.s, cusp.input_norm, cusp.weight_decay) == pytest.approx((s, norm, decay), abs=printed)


@pytest.mark.parametrize(("depth", "norm", "decay"), [(2, 0.026748, 0.065085), (16, 0.411902, 3.186759)])
def test_exponential_cusps_as_printed(depth, norm, decay):
    cusp = transition.cusp(depth, "exponential")
    assert (cusp.input_norm, cusp.weight_decay) == pytest.approx((norm, decay), abs=tolerances.PRINTED_SIX_DECIMALS)


def test_cusps_of_deep_models_scale_as_stated():
    cusp = transition.cusp(1_000_000)
    # Corrections are of relative order 1/L.
    assert cusp.input_norm / 1e3 == pytest.approx(0.199385, abs=2e-6)
    assert cusp.weight_decay / 1e6 == pytest.approx(0.199404, abs=2e-6)


@pytest.mark.parametrize("loss", [*LOSSES, "hinge"])
def test_the_window_opens_below_the_cusp_and_only_there(loss):
    for depth in (2, 3, 5, 16, 100, 3000):
        cusp = transition.cusp(depth, loss)
        assert transition.spinodals(depth, cusp.input_norm * (1 + 1e-6), loss) is None
        window = transition.spinodals(depth, cusp.input_norm * (1 - 1e-6), loss)
        assert window is not None
        assert window == pytest.approx((cusp.weight_decay, cusp.weight_decay), rel=1e-4)
        assert transition.transition(depth, cusp.input_norm * 1.01, loss) is None


def test_one_block_never_has_a_transition():
    assert transition.transition(1, 1e-6) is None
    assert transition.spinodals(1, 1e-6) is None
    with pytest.raises(ArgumentError, match="depth = 1: must be at least 2"):
        transition.cusp(1)


def test_the_reference_tie():
    tie = transition.transition(16, 0.1)
    assert tie is not None
    rel = tolerances.UJM_REFERENCE_RELATIVE
    assert tie.weight_decay == pytest.approx(0.860554195443, rel=rel)
    assert (tie.shallow, tie.deep) == pytest.approx((0.003768637774, 0.2419624157), rel=3 * rel)


def _window_against_counts(rng, points):
    loss = LOSSES[rng.integers(3)]
    depth = int(10 ** rng.uniform(0.31, 3))
    cusp = transition.cusp(depth, loss)
    norm = cusp.input_norm * 10 ** rng.uniform(-2, 0.5)
    window = transition.spinodals(depth, norm, loss)
    assert (window is not None) == (norm < cusp.input_norm)
    if window is None:
        decays = cusp.weight_decay * 10 ** rng.uniform(-2, 2, 3)
        expected = [1, 1, 1]
        scannable = True
    else:
        low, high = window
        decays = [low * 0.97, (low * high) ** 0.5, high * 1.03]
        expected = [1, 3, 1]
        scannable = high / low > 1.2
    for decay, count in zip(decays, expected, strict=True):
        assert len(unconstrained.stationary_points(depth, decay, norm, loss)) == count
        if scannable:
            assert len(naive.sign_scan_roots(depth, decay, norm, loss, 0, points)) == count


def test_folds_and_cusp_against_root_counting():
    rng = generator(7)
    for _ in range(60):
        _window_against_counts(rng, 10_001)


@pytest.mark.slow
def test_folds_and_cusp_against_fine_root_counting():
    rng = generator(8)
    for _ in range(500):
        _window_against_counts(rng, 100_001)


@pytest.mark.parametrize("loss", [*LOSSES, "hinge"])
def test_the_two_minima_tie_at_lam_star_and_swap_there(loss):
    rng = generator(9)
    for _ in range(25):
        depth = int(10 ** rng.uniform(0.31, 4))
        norm = transition.cusp(depth, loss).input_norm * 10 ** rng.uniform(-4, -0.02)
        tie = transition.transition(depth, norm, loss)
        assert tie is not None
        assert tie.spinodals[0] < tie.weight_decay < tie.spinodals[1]
        shallow, deep = unconstrained.minima(depth, tie.weight_decay, norm, loss)
        assert (shallow.s, deep.s) == (tie.shallow, tie.deep)
        # Two objectives of order loss(0), each with a few ulp.
        assert shallow.objective == pytest.approx(deep.objective, rel=1e-12)
        # The lead rises with the decay: deep below lam*, shallow above, as far as rounding lets one tell.
        for factor in (1 - 1e-4, 1 - 1e-2):
            if tie.weight_decay * factor > tie.spinodals[0]:
                shallow, deep = unconstrained.minima(depth, tie.weight_decay * factor, norm, loss)
                assert deep.objective < shallow.objective
        for factor in (1 + 1e-4, 1 + 1e-2):
            if tie.weight_decay * factor < tie.spinodals[1]:
                shallow, deep = unconstrained.minima(depth, tie.weight_decay * factor, norm, loss)
                assert shallow.objective < deep.objective


@pytest.mark.parametrize("loss", [*LOSSES, "hinge"])
def test_the_phase_diagram_is_the_scalar_functions_cell_by_cell(loss):
    rng = generator(10)
    depths = np.unique(rng.integers(1, 300, 12))
    decays = np.exp(rng.uniform(-8, 4, 25))
    diagram = transition.phase_diagram(depths, decays, 0.2, loss)
    for i, depth in enumerate(depths.tolist()):
        tie = transition.transition(depth, 0.2, loss)
        assert np.isnan(diagram.tie[i]) if tie is None else diagram.tie[i] == tie.weight_decay
        for j, decay in enumerate(decays.tolist()):
            minima = unconstrained.minima(depth, decay, 0.2, loss)
            best = unconstrained.global_optimum(depth, decay, 0.2, loss)
            found = [each for each in (diagram.shallow[i, j], diagram.deep[i, j]) if not np.isnan(each)]
            assert found == pytest.approx([point.s for point in minima], rel=1e-9)
            assert diagram.minima[i, j] == len(minima)
            assert diagram.s[i, j] == pytest.approx(best.s, rel=1e-9)
            assert diagram.objective[i, j] == pytest.approx(best.objective, rel=1e-12)


def test_bad_grids_are_named():
    with pytest.raises(ArgumentError, match=r"depths\[1\] = 0"):
        transition.phase_diagram(np.array([1, 0]), np.array([0.1]), 1.0)
    with pytest.raises(ArgumentError, match="weight_decays"):
        transition.phase_diagram(np.array([1, 2]), np.array([0.1, -0.1]), 1.0)
    with pytest.raises(ArgumentError, match="input_norm"):
        transition.phase_diagram(np.array([1, 2]), np.array([0.1]), 0.0)


def test_a_phase_diagram_of_forty_thousand_cells(benchmark):
    diagram = benchmark(transition.phase_diagram, np.arange(1, 201), np.geomspace(0.01, 30, 200), 0.1)
    assert diagram.s.shape == (200, 200)
