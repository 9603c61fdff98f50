import math

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import tolerances
from theory import ArgumentError, depth_law, depth_law_bounds, path_lengths

gains = st.floats(1e-3, 1e3, allow_subnormal=False)


@given(st.integers(1, 300), gains)
def test_the_path_length_is_a_sum_of_independent_coins(p, beta):
    chances = depth_law_bounds.branch_probabilities(p, beta)
    assert chances.shape == (p - 1,)
    assert ((chances >= 0) & (chances <= 1)).all()
    mean = 1 + chances.sum()
    assert mean == pytest.approx(depth_law.mean(p, beta), rel=0, abs=tolerances.BERNOULLI_ABSOLUTE)
    spread = (chances * (1 - chances)).sum()
    assert spread == pytest.approx(depth_law.variance(p, beta), rel=0, abs=tolerances.BERNOULLI_ABSOLUTE)
    if p > 1 and chances.max() < 0.999:
        law = path_lengths.poisson_binomial(chances / (1 - chances))
        np.testing.assert_allclose(law, depth_law.energy(p, beta), rtol=0, atol=tolerances.BERNOULLI_ABSOLUTE)


@pytest.mark.parametrize(("p", "beta"), [(2, 0.3), (10, 0.1), (10, 3.0), (101, 0.7), (1001, 0.02), (10_001, 1.5)])
def test_the_normaliser_is_a_legendre_polynomial(p, beta):
    with mpmath.workdps(40):
        b = mpmath.mpf(beta) ** 2
        hypergeometric = mpmath.hyp2f1(1 - p, 1 - p, 1, b) if p < 2000 else None
        legendre = (1 - b) ** (p - 1) * mpmath.legendre(p - 1, (1 + b) / (1 - b), maxprec=60_000)
        if hypergeometric is not None:
            assert mpmath.almosteq(legendre, hypergeometric, rel_eps=mpmath.mpf(10) ** -25)
        log_z = float(mpmath.log(b * legendre) / 2)
    assert depth_law.log_normaliser(p, beta) == pytest.approx(log_z, rel=tolerances.DEPTH_LAW_RELATIVE)


def test_the_normaliser_at_beta_one_is_the_central_binomial():
    assert depth_law.log_normaliser(31, 1.0) == pytest.approx(math.log(math.comb(60, 30)) / 2)


@given(st.integers(2, 60), gains)
def test_moments_from_ratios_of_normalisers(p, beta):
    """E s^2 = n^2 b S_{n-1}(b) / S_n(b); S_n = z^2 / b at p = n + 1."""
    n = p - 1
    second = depth_law.energy(p, beta) @ np.arange(p) ** 2
    log_ratio = 2 * (depth_law.log_normaliser(p - 1, beta) - depth_law.log_normaliser(p, beta))
    assert second == pytest.approx(n**2 * beta**2 * math.exp(log_ratio), rel=tolerances.MOMENT_RELATIVE)


@given(st.integers(1, 40), st.floats(1e-2, 1e2), st.floats(-2, 2, allow_subnormal=False))
def test_the_generating_function_is_the_sum(p, beta, t):
    z = math.exp(depth_law.log_normaliser(p, beta))
    terms = z * depth_law.epsilon(p, beta) * t ** np.arange(1, p + 1)
    value = depth_law.generating_function(p, beta, t)
    assert float(value) == pytest.approx(math.fsum(terms), rel=0, abs=tolerances.MOMENT_RELATIVE * np.abs(terms).sum())


@given(st.integers(1, 300), gains, st.floats(0, 1))
def test_both_tail_bounds_hold_on_both_sides(p, beta, fraction):
    """no integrality is needed, unlike in LS Theorem 2."""
    n, s = p - 1, np.arange(p)
    masses = depth_law.energy(p, beta)
    q = depth_law.depth_fraction_limit(beta)
    tail = masses[s >= n * fraction].sum() if fraction > q else masses[s <= n * fraction].sum()
    assert tail <= depth_law_bounds.relative_entropy_bound(p, beta, fraction) * (1 + tolerances.BOUND_SLACK)
    away = np.abs(s - masses @ s) >= n * fraction
    assert masses[away].sum() <= depth_law_bounds.hoeffding_bound(p, fraction) * (1 + tolerances.BOUND_SLACK)


def test_the_rate_of_the_entropy_bound_is_exact():
    """log pi(s >= n a) / n -> -2 D: bound and tail differ by a power of n only."""
    p, beta, a = 4001, 0.5, 0.45
    tail = depth_law.energy(p, beta)[math.ceil((p - 1) * a) :].sum()
    bound = depth_law_bounds.relative_entropy_bound(p, beta, a)
    assert 0 < math.log(bound / tail) < 2 * math.log(p)


@pytest.mark.parametrize(("p", "beta"), [(1, 0.5), (2, 1.0), (50, 0.3), (3000, 1e-4), (20_000, 0.8), (20_000, 1e5)])
def test_the_window_is_the_law_where_its_mass_is(p, beta):
    window = depth_law_bounds.window(p, beta)
    log_eps = depth_law.log_epsilon(p, beta)
    band = slice(window.first - 1, window.last)
    np.testing.assert_allclose(window.log_epsilon, log_eps[band], rtol=0, atol=tolerances.WINDOW_ABSOLUTE)
    assert window.mean == pytest.approx(depth_law.mean(p, beta), rel=tolerances.WINDOW_ABSOLUTE)
    assert window.variance == pytest.approx(depth_law.variance(p, beta), rel=1e3 * window.missing, abs=1e-9)
    assert 1 - np.exp(2 * log_eps[band]).sum() <= window.missing + p * tolerances.EPS64
    if window.last - window.first > 1:
        # The band is tight: one length less on both sides would lose more than it may.
        inner = np.exp(2 * log_eps[window.first : window.last - 1]).sum()
        assert 1 - inner > 0.4 * window.missing


@pytest.mark.parametrize("beta", [1e-3, 0.5, 1.0, 30.0])
def test_a_thousand_million_layers(beta, benchmark):
    window = benchmark(depth_law_bounds.window, 10**9, beta)
    mean, variance = depth_law.asymptotic_mean_and_variance(10**9, beta)
    assert window.last - window.first < 170_000
    assert window.first <= depth_law.modes(10**9, beta)[0] <= window.last
    # E r is known to O(1/(p beta)), Var r to O(1): a relative 1e-6 at beta = 1e-3.
    assert window.mean == pytest.approx(mean, abs=1e-6, rel=4 * tolerances.EPS64)
    assert window.variance == pytest.approx(variance, rel=1e-8)


@given(st.integers(2000, 10**12), st.floats(1e-2, 1e2))
def test_windows_follow_the_asymptotics_of_section_2_6(p, beta):
    window = depth_law_bounds.window(min(p, 10**8), beta)
    mean, variance = depth_law.asymptotic_mean_and_variance(min(p, 10**8), beta)
    assert abs(window.mean - mean) < 1 / (p * min(beta, 1 / beta)) + 1e-6
    assert abs(window.variance - variance) < 1 + 1e-9 * variance


def test_windows_at_the_ends_of_beta():
    assert depth_law_bounds.window(10**9, 0.0).last == 1
    assert depth_law_bounds.window(10**9, 1e300).first == 10**9
    assert depth_law_bounds.window(10**12, 1e-300).last == 1


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: depth_law_bounds.branch_probabilities(10**5, 0.5), "p = 100000: must be a whole number between"),
        (lambda: depth_law_bounds.relative_entropy_bound(10, 0.5, 1.5), "fraction = 1.5: must be between 0 and 1"),
        (lambda: depth_law_bounds.hoeffding_bound(10, -0.1), "distance = -0.1"),
        (lambda: depth_law_bounds.window(10**13, 0.5), "p = "),
        (lambda: depth_law_bounds.window(10, 0.5, missing=0.0), "missing = 0.0"),
        (lambda: depth_law_bounds.window(10, 0.5, missing=1.0), "missing = 1.0: must be below 1"),
        (lambda: depth_law.log_normaliser(10, 0.0), "beta = 0.0"),
        (lambda: depth_law.generating_function(10, 0.5, "t"), "t = t"),
    ],
)
def test_bad_arguments_are_named(call, message):
    with pytest.raises(ArgumentError, match=message):
        call()
