from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import naive, tolerances
from tests.strategies import path_gains
from theory import ArgumentError, depth_law


@given(st.integers(1, 60), st.fractions(min_value=Fraction(1, 50), max_value=100, max_denominator=50))
def test_amplitudes_against_exact_rationals(p, beta):
    exact = np.array([float(weight) for weight in naive.energy_fractions(p, Fraction(float(beta)))])
    np.testing.assert_allclose(depth_law.energy(p, float(beta)), exact, rtol=2 * tolerances.DEPTH_LAW_RELATIVE)


@pytest.mark.parametrize(("p", "beta"), [(5001, 0.3), (10_000, 1.0), (10_000, 1e-3), (10_000, 40.0)])
def test_amplitudes_against_fifty_digits_in_the_band(p, beta):
    log_eps = depth_law.log_epsilon(p, beta)
    with mpmath.workdps(50):
        logs = [mpmath.loggamma(p) - mpmath.loggamma(r) - mpmath.loggamma(p - r + 1) + r * mpmath.log(beta)
                for r in range(1, p + 1)]  # fmt: skip
        norm = mpmath.log(mpmath.fsum(mpmath.exp(2 * value) for value in logs)) / 2
        exact = np.array([float(value - norm) for value in logs])
    band = exact > -30
    assert band.sum() > 3
    np.testing.assert_allclose(log_eps[band], exact[band], atol=tolerances.DEPTH_LAW_RELATIVE_LARGE, rtol=0)
    np.testing.assert_allclose(log_eps[~band], exact[~band], rtol=tolerances.DEPTH_LAW_RELATIVE_LARGE)


@pytest.mark.parametrize("beta", [1e-300, 1e-12, 0.7, 1.0, 3.0, 1e12, 1e300])
def test_a_million_layers_neither_overflow_nor_lose_the_norm(beta):
    eps = depth_law.epsilon(10**6, beta)
    assert eps.shape == (10**6,)
    assert np.isfinite(eps).all()
    assert abs(float(np.sum(eps**2)) - 1) < tolerances.SUM_OF_SQUARES


@given(st.integers(1, 300), path_gains)
def test_the_mode_is_where_the_largest_amplitude_stands(p, beta):
    log_eps = depth_law.log_epsilon(p, beta)
    modes = depth_law.modes(p, beta)
    top = log_eps.max()
    for mode in modes:
        assert log_eps[mode - 1] == pytest.approx(top, abs=tolerances.DEPTH_LAW_RELATIVE)
    outside = np.delete(log_eps, [mode - 1 for mode in modes])
    # Neighbouring amplitudes near the mode differ by a relative 1/p^2 at the very least unless they tie.
    assert (outside < top).all()


@given(st.integers(2, 200), st.data())
def test_ties_are_exactly_the_hypothesis_of_ls_theorem_1(p, data):
    m = data.draw(st.integers(1, p - 1))
    beta = Fraction(m, p - m)
    assert depth_law.modes(p, beta) == (m, m + 1)
    assert depth_law.modes(p, float(beta)) == (m, m + 1)
    assert depth_law.modes(p, beta + Fraction(1, 10**9)) == (m + 1,)
    assert depth_law.modes(p, beta - Fraction(1, 10**9)) == (m,)


@given(st.integers(1, 400), st.data())
def test_every_depth_is_the_mode_for_the_scales_in_its_range(p, data):
    k = data.draw(st.integers(1, p))
    low, high = depth_law.gain_range_of_mode(p, k)
    inside = (low + high) / 2 if np.isfinite(high) else low + 1
    assert depth_law.modes(p, inside) == (k,)
    if k > 1:
        assert depth_law.modes(p, low * (1 - 1e-6)) != (k,)
    if k < p:
        assert depth_law.modes(p, high * (1 + 1e-6)) != (k,)


def test_modes_of_depths_beyond_any_array():
    assert depth_law.modes(10**30, Fraction(1, 2)) == (10**30 // 3 + 1,)
    assert depth_law.modes(3 * 10**30, Fraction(1, 2)) == (10**30, 10**30 + 1)


@given(st.integers(1, 60), st.floats(1e-3, 1e3, allow_subnormal=False))
def test_moments_against_their_definitions(p, beta):
    weights = naive.energy_fractions(p, Fraction(beta))
    mean = sum(r * weight for r, weight in enumerate(weights, 1))
    variance = sum(r * r * weight for r, weight in enumerate(weights, 1)) - mean**2
    assert depth_law.mean(p, beta) == pytest.approx(float(mean), rel=tolerances.MOMENT_RELATIVE)
    assert depth_law.variance(p, beta) == pytest.approx(float(variance), rel=tolerances.MOMENT_RELATIVE, abs=1e-15)


@given(st.integers(1, 100), st.floats(1e-2, 1e2, allow_subnormal=False))
def test_the_scale_derivative_is_the_difference_quotient_and_keeps_the_norm(p, beta):
    derivative = depth_law.scale_derivative(p, beta)
    step = 1e-6
    quotient = (depth_law.epsilon(p, beta * (1 + step)) - depth_law.epsilon(p, beta * (1 - step))) / (2 * step)
    # Central differences err by step^2 times a third derivative of size <= p^3, and by rounding / step.
    np.testing.assert_allclose(derivative, quotient, atol=step**2 * p**3 + tolerances.DEPTH_LAW_RELATIVE / step)
    assert depth_law.epsilon(p, beta) @ derivative == pytest.approx(0, abs=p * tolerances.DEPTH_LAW_RELATIVE)


def test_the_derivative_ls_prints_moves_a_constant_sum():
    eps = depth_law.epsilon(10, 0.5)
    drift = eps @ depth_law.printed_scale_derivative(10, 0.5)
    assert drift == pytest.approx(depth_law.mean(10, 0.5), rel=tolerances.MOMENT_RELATIVE)
    assert drift == pytest.approx(3.911, abs=5e-4)


@pytest.mark.parametrize(
    ("beta", "mode", "peak", "mean", "sd"),
    [(0.1, 10, 0.4391, 9.7922, 2.0281), (0.5, 34, 0.3460, 33.9162, 3.3250), (2.0, 67, 0.3460, 67.0838, 3.3250)],
)
def test_reference_values_of_ls_figure_1(beta, mode, peak, mean, sd):
    assert depth_law.modes(100, beta) == (mode,)
    printed = tolerances.PRINTED_FOUR_DECIMALS
    assert depth_law.epsilon(100, beta).max() == pytest.approx(peak, abs=printed)
    assert depth_law.mean(100, beta) == pytest.approx(mean, abs=printed)
    assert depth_law.variance(100, beta) ** 0.5 == pytest.approx(sd, abs=printed)


def test_edges():
    np.testing.assert_array_equal(depth_law.epsilon(4, 0.0), [1, 0, 0, 0])
    np.testing.assert_array_equal(depth_law.epsilon(1, 0.5), [1])
    assert depth_law.modes(4, 0.0) == (1,)
    assert depth_law.modes(7, 1e12) == (7,)
    assert depth_law.epsilon(7, 1e12)[-1] == pytest.approx(1)
    assert depth_law.modes(11, 0.1) == (1, 2)
    np.testing.assert_array_equal(depth_law.scale_derivative(1, 0.5), [0])


@pytest.mark.parametrize("beta", [-1, float("nan"), float("inf"), "0.5", None, True])
def test_bad_beta_is_named(beta):
    with pytest.raises(ArgumentError, match="beta = "):
        depth_law.epsilon(10, beta)
    with pytest.raises(ArgumentError, match="beta = "):
        depth_law.modes(10, beta)


@pytest.mark.parametrize("p", [0, -3, 2.0, "10", True, 10**9])
def test_bad_p_is_named(p):
    with pytest.raises(ArgumentError, match="p = "):
        depth_law.epsilon(p, 0.5)


def test_large_depths_are_fast_enough_to_use(benchmark):
    assert benchmark(depth_law.epsilon, 10**6, 0.7).size == 10**6


def test_below_half_depth_at_initialisation_is_asymptotic_only():
    """beta = rho = 0.9 (C = 1/sqrt n, Lambda = n, any width) has its mode at p/2 for p = 10."""
    assert depth_law.modes(10, 0.9) == (5,)
    assert depth_law.modes(1000, 0.9) == (474,)


@pytest.mark.parametrize("p", [50, 51, 53, 1000, 1009])
def test_ls_theorem_2_needs_no_whole_numbers(p):
    """the band (q - a, q + a) fills up whether or not its ends times p are integers, at width sqrt p."""
    q = depth_law.depth_fraction_limit(0.37)
    r = np.arange(1, p + 1)
    inside = np.abs(r - 1 - q * (p - 1)) <= 3 * (p * q * (1 - q) / 2) ** 0.5 + 1
    assert depth_law.energy(p, 0.37)[inside].sum() > 0.997
