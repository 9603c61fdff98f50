import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import tolerances
from tests.strategies import generator, seeds
from theory import ArgumentError, goe


def integral(n, function):
    """int rho_n(x) f(x) dx by the trapezoidal rule, which is exact to rounding for entire integrands that decay."""
    edge = 2 * math.sqrt(n) + 14
    x = np.linspace(-edge, edge, 60 * math.ceil(edge * math.sqrt(n) / 10) + 1)
    return float((np.exp(goe.log_density(n, x)) * function(x)).sum() * (x[1] - x[0]))


@pytest.mark.parametrize("n", [2, 3, 4, 5, 8, 9, 31, 50, 101, 400])
def test_the_density_has_the_moments_of_the_ensemble(n):
    """Mass n, E tr M^2 = n (n+1), E tr M^4 = 2 n^3 + 5 n^2 + 5 n, by Wick's rule."""
    tolerance = tolerances.GOE_RELATIVE
    assert integral(n, np.ones_like) == pytest.approx(n, rel=tolerance)
    assert integral(n, np.square) == pytest.approx(n * (n + 1), rel=tolerance)
    assert integral(n, lambda x: x**4) == pytest.approx(2 * n**3 + 5 * n**2 + 5 * n, rel=tolerance)


@given(st.floats(0, 1e3))
def test_two_eigenvalues_by_hand(x):
    """n = 2: int |x - t| exp(-(x^2 + t^2)/4) dt up to 2 sqrt 2 pi, the normaliser of n = 2 (per eigenvalue twice)."""
    whole = 2 * x * math.sqrt(math.pi) * math.erf(x / 2) + 4 * math.exp(-(x**2) / 4)
    by_hand = math.log(2 * whole / (8 * math.sqrt(2 * math.pi))) - x**2 / 4
    assert float(goe.log_density(2, x)) == pytest.approx(by_hand, rel=tolerances.GOE_RELATIVE, abs=1e-12)


@given(st.integers(2, 300), st.floats(0, 1e4))
def test_the_density_is_even_and_finite_far_outside(n, x):
    logs = goe.log_density(n, [x, -x])
    assert logs[0] == logs[1]
    assert np.isfinite(logs).all()
    if x > 10 * math.sqrt(n):
        # rho(x) ~ x^(n-1) exp(-x^2/4): the slope of its logarithm far out.
        slope = (float(goe.log_density(n, x * (1 + 1e-6))) - logs[0]) / (x * 1e-6)
        assert slope == pytest.approx((n - 1) / x - x / 2, rel=0.05)


@pytest.mark.parametrize("n", [3, 6, 40])
def test_samples_have_the_density_of_the_ensemble(n):
    eigenvalues = goe.sampled_eigenvalues(n, 2000, np.random.default_rng(20161))
    assert eigenvalues.shape == (2000, n)
    assert (np.diff(eigenvalues, axis=1) >= 0).all()
    for function in (np.square, np.cos, lambda x: np.exp(-((x - 1) ** 2))):
        sums = function(eigenvalues).sum(axis=1)
        z = (sums.mean() - integral(n, function)) / (sums.std(ddof=1) / math.sqrt(2000))
        assert abs(z) < tolerances.STANDARD_ERRORS


def test_tridiagonal_and_dense_matrices_have_the_same_law():
    rng = np.random.default_rng(20162)
    gaussian = rng.standard_normal((4000, 5, 5))
    dense = np.linalg.eigvalsh((gaussian + gaussian.swapaxes(1, 2)) / math.sqrt(2))  # diagonal variance 2, other 1
    sampled = goe.sampled_eigenvalues(5, 4000, rng)
    error = np.sqrt((dense.var(axis=0) + sampled.var(axis=0)) / 4000)
    assert (np.abs(dense.mean(axis=0) - sampled.mean(axis=0)) < tolerances.STANDARD_ERRORS * error).all()


@given(seeds)
def test_the_generator_repeats_a_sample(seed):
    first, second = (goe.sampled_eigenvalues(4, 3, generator(seed)) for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_bad_arguments_are_named():
    with pytest.raises(ArgumentError, match="n = 1: must be a whole number at least 2"):
        goe.log_density(1, 0.0)
    with pytest.raises(ArgumentError, match=r"x\[0\] = nan"):
        goe.log_density(3, [math.nan])
    with pytest.raises(ArgumentError, match="samples = 0"):
        goe.sampled_eigenvalues(3, 0, np.random.default_rng(0))
