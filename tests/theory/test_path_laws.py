import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from tests import naive, tolerances
from tests.strategies import gain_lists, generator, seeds, unit_vector
from theory import ArgumentError, depth_law, equispacing, path_lengths, unconstrained

small_depths = st.integers(1, 6)
# Away from zero unless zero: nine factors of 1e-50 would leave the range of float64.
signed_gains = st.one_of(st.just(0.0), st.floats(1e-3, 3), st.floats(-3, -1e-3))


def as_floats(fractions):
    return np.array([float(fraction) for fraction in fractions])


def log_of_fraction(fraction):
    with mpmath.workdps(40):
        return float(mpmath.log(fraction.numerator) - mpmath.log(fraction.denominator)) if fraction else -math.inf


# Elementary symmetric polynomials.


@given(st.lists(signed_gains, min_size=1, max_size=9))
def test_elementary_symmetric_polynomials_sum_over_subsets(gains):
    bound = naive.elementary_symmetric(np.abs(gains))
    difference = path_lengths.elementary_symmetric(gains) - naive.elementary_symmetric(np.array(gains))
    assert (np.abs(difference) <= tolerances.CANCELLING_RELATIVE * bound).all()


def test_signed_gains_cancel_as_they_should():
    np.testing.assert_array_equal(path_lengths.elementary_symmetric([1.0, -1.0]), [1, 0, -1])
    np.testing.assert_array_equal(path_lengths.elementary_symmetric([[2.0, 3.0], [0.0, -1.0]]), [[1, 5, 6], [1, -1, 0]])


@given(gain_lists)
def test_log_elementary_symmetric_polynomials(gains):
    logs = path_lengths.log_elementary_symmetric(gains)
    law = naive.sum_law_fractions([Fraction(gain) for gain in gains])
    total = math.prod(1 + Fraction(gain) for gain in gains)
    exact = np.array([log_of_fraction(coefficient * total) for coefficient in law])
    np.testing.assert_allclose(
        logs, exact, rtol=tolerances.LOG_POLYNOMIAL_RELATIVE, atol=tolerances.LOG_POLYNOMIAL_RELATIVE
    )


def test_log_binomials_at_five_thousand_layers():
    logs = path_lengths.log_elementary_symmetric(np.ones(5000))
    assert logs[0] == 0
    assert logs[-1] == 0
    for r in [1, 2, 10, 500, 1234, 2500, 4000, 4998, 4999]:
        with mpmath.workdps(40):
            exact = float(mpmath.log(math.comb(5000, r)))
        assert logs[r] == pytest.approx(exact, rel=tolerances.LOG_POLYNOMIAL_RELATIVE)


def test_log_stirling_numbers_at_five_thousand_layers():
    logs = path_lengths.log_elementary_symmetric(1 / np.arange(1, 5001))
    with mpmath.workdps(40):
        harmonic, log_factorial = mpmath.harmonic(5000), mpmath.loggamma(5001)
        second = (harmonic**2 - mpmath.zeta(2) + mpmath.psi(1, 5001)) / 2
        first_two = [float(mpmath.log(harmonic)), float(mpmath.log(second))]
    np.testing.assert_allclose(logs[1:3], first_two, rtol=tolerances.LOG_POLYNOMIAL_RELATIVE)
    assert logs[-1] == pytest.approx(-float(log_factorial), rel=tolerances.LOG_POLYNOMIAL_RELATIVE)
    assert np.isfinite(logs).all()


# Sum laws.


@given(gain_lists)
def test_the_poisson_binomial_law_against_exact_rationals_tails_included(gains):
    exact = as_floats(naive.sum_law_fractions([Fraction(gain) for gain in gains]))
    np.testing.assert_allclose(
        path_lengths.poisson_binomial(gains), exact, rtol=tolerances.PATH_LAW_RELATIVE, atol=1e-300
    )


@given(gain_lists)
def test_the_poisson_binomial_law_against_scipy(gains):
    gains = np.array(gains)
    law = stats.poisson_binom(gains / (1 + gains)).pmf(np.arange(gains.size + 1))
    np.testing.assert_allclose(path_lengths.poisson_binomial(gains), law, atol=tolerances.SUBSETS_RELATIVE)


def test_scipys_law_agrees_at_a_thousand_layers():
    gains = 1 / np.arange(1, 1001)
    law = stats.poisson_binom(gains / (1 + gains)).pmf(np.arange(1001))
    np.testing.assert_allclose(path_lengths.stirling(1000), law, rtol=tolerances.STIRLING_MOMENT_RELATIVE, atol=1e-300)


def test_gains_that_leave_no_digit_of_the_failure_probability():
    """Where g/(1+g) rounds to 1, the law of one branch is still (1/(1+g), g/(1+g)) to every digit."""
    np.testing.assert_allclose(path_lengths.poisson_binomial([1e20]), [1e-20, 1.0], rtol=tolerances.PATH_LAW_RELATIVE)
    assert stats.poisson_binom(np.array([1e20 / (1 + 1e20)])).pmf(0) == 0


@given(gain_lists, st.floats(1e-2, 1e2))
def test_moments_of_the_poisson_binomial_law(gains, scale):
    gains = scale * np.array(gains)
    chance, complement = gains / (1 + gains), 1 / (1 + gains)
    mean, variance = path_lengths.mean_and_variance(path_lengths.poisson_binomial(gains))
    assert mean == pytest.approx(chance.sum(), rel=tolerances.MOMENT_RELATIVE, abs=1e-15)
    assert variance == pytest.approx((chance * complement).sum(), rel=tolerances.MOMENT_RELATIVE, abs=1e-15)


@given(st.integers(1, 60), st.fractions(min_value=Fraction(1, 1000), max_value=1000, max_denominator=1000))
def test_p3_the_binomial_law_is_exact(depth, beta):
    gain = Fraction(float(beta))
    exact = as_floats(naive.sum_law_fractions([gain] * depth))
    np.testing.assert_allclose(
        path_lengths.binomial(depth, float(beta)), exact, rtol=tolerances.BINOMIAL_RELATIVE, atol=1e-300
    )


@given(st.integers(1, 300), st.one_of(st.sampled_from([0.0, 1.0, 1e12, 1e-12]), st.floats(1e-3, 1e3)))
def test_p3_the_squared_binomial_law_is_the_loss_surface_papers_law(depth, beta):
    """UJM optimum: beta = s, p = L + 1, r -> r + 1, and eps_r^2 is the energy law of the binomial sum law."""
    np.testing.assert_allclose(
        path_lengths.energy_law(path_lengths.binomial(depth, beta)),
        depth_law.energy(depth + 1, beta),
        rtol=tolerances.DEPTH_LAW_RELATIVE_LARGE,
        atol=tolerances.EPS64**2,
    )


@pytest.mark.parametrize("beta", [1e-12, 1e-3, 0.3, 1.0, 3.0, 1e12])
def test_p3_at_five_thousand_layers_tails_included(beta):
    depth, law = 5000, path_lengths.binomial(5000, beta)
    compared = 0
    for r in [*range(0, depth + 1, 50), 1, depth - 1]:
        if law[r] > 1e-290:
            with mpmath.workdps(40):
                exact = float(mpmath.mpf(math.comb(depth, r)) * mpmath.mpf(beta) ** r / (1 + mpmath.mpf(beta)) ** depth)
            assert law[r] == pytest.approx(exact, rel=tolerances.BINOMIAL_RELATIVE)
            compared += 1
    assert compared >= 2


@pytest.mark.parametrize(("depth", "weight_decay", "input_norm"), [(1, 0.05, 1.0), (8, 0.05, 1.0), (16, 0.6, 0.1)])
def test_p3_holds_at_the_optimum_that_the_unconstrained_model_has(depth, weight_decay, input_norm):
    s = unconstrained.global_optimum(depth, weight_decay, input_norm).s
    direction = unit_vector(generator(10), 5)
    jacobians = equispacing.aligned_jacobians(np.full(depth, s), direction)
    amplitudes = np.linalg.norm(path_lengths.path_coefficients(jacobians, np.ones((depth, 5)), direction), axis=-1)
    expected = [math.comb(depth, r) * s**r for r in range(depth + 1)]
    np.testing.assert_allclose(amplitudes, expected, rtol=tolerances.SUBSETS_RELATIVE)
    np.testing.assert_allclose(
        path_lengths.energy_law(amplitudes), depth_law.energy(depth + 1, s), rtol=tolerances.SUBSETS_RELATIVE
    )


@pytest.mark.parametrize("depth", [1, 2, 5, 20, 60])
def test_p4_the_stirling_law_is_exact(depth):
    numbers = naive.stirling_cycle_numbers(depth + 1)
    assert numbers[0] == 0
    exact = as_floats([Fraction(number, math.factorial(depth + 1)) for number in numbers[1:]])
    np.testing.assert_allclose(path_lengths.stirling(depth), exact, rtol=tolerances.PATH_LAW_RELATIVE)


@pytest.mark.parametrize("depth", [1, 2, 17, 300, 5000])
def test_p4_mean_and_variance_grow_like_log_depth(depth):
    mean, variance = path_lengths.mean_and_variance(path_lengths.stirling(depth))
    with mpmath.workdps(40):
        harmonic = mpmath.harmonic(depth + 1)
        second = mpmath.zeta(2) - mpmath.psi(1, depth + 2)
        exact_mean, exact_variance = float(harmonic - 1), float(harmonic - second)
    assert mean == pytest.approx(exact_mean, rel=tolerances.STIRLING_MOMENT_RELATIVE)
    assert variance == pytest.approx(exact_variance, rel=tolerances.STIRLING_MOMENT_RELATIVE)


def test_p4_is_what_residual_alignment_gives():
    """Amplitudes c(L+1, r+1) / L!, of sum L + 1, along the aligned direction."""
    depth, direction = 9, np.array([0.6, 0.8])
    jacobians = equispacing.aligned_jacobians(equispacing.inverse_depth_singular_values(depth), direction)
    amplitudes = np.linalg.norm(path_lengths.path_coefficients(jacobians, np.ones((depth, 2)), direction), axis=-1)
    numbers = as_floats(naive.stirling_cycle_numbers(depth + 1)[1:]) / math.factorial(depth)
    np.testing.assert_allclose(amplitudes, numbers, rtol=tolerances.SUBSETS_RELATIVE)
    assert amplitudes.sum() == pytest.approx(depth + 1, rel=tolerances.SUBSETS_RELATIVE)


@given(seeds, small_depths, st.floats(0, 5, allow_subnormal=False))
def test_p5_a_common_scale_multiplies_amplitude_r_by_its_power(seed, depth, scale):
    rng = generator(seed)
    jacobians, skips = rng.standard_normal((depth, 3, 3)), rng.standard_normal((depth, 3))
    vector = rng.standard_normal(3)
    scaled = path_lengths.path_coefficients(scale * jacobians, skips, vector)
    powers = scale ** np.arange(depth + 1)
    bound = naive.path_coefficients(abs(jacobians), abs(skips), abs(vector))
    difference = scaled - powers[:, None] * path_lengths.path_coefficients(jacobians, skips, vector)
    assert (np.abs(difference) <= tolerances.SUBSETS_RELATIVE * powers[:, None] * bound + 1e-300).all()


@given(st.integers(1, 40), st.fractions(min_value=0, max_value=50, max_denominator=100))
def test_p5_scaled_alignment_follows_ewens_law(depth, scale):
    """r + 1 has the law of the number of cycles: theta^k c(n, k) / (theta (theta+1) .. (theta+n-1)), n = L + 1."""
    theta = Fraction(float(scale))
    numbers = naive.stirling_cycle_numbers(depth + 1)[1:]
    weights = [number * theta**r for r, number in enumerate(numbers)]
    rising = math.prod(theta + i for i in range(1, depth + 1))
    assert sum(weights) == rising
    exact = as_floats([weight / rising for weight in weights])
    law = path_lengths.ewens(depth, float(scale))
    # The gains scale/i are rounded once more than those of the exact law.
    np.testing.assert_allclose(law, exact, rtol=2 * tolerances.PATH_LAW_RELATIVE, atol=1e-300)
    mean, _ = path_lengths.mean_and_variance(law)
    expected = float(sum(theta / (theta + i) for i in range(1, depth + 1)))
    assert mean == pytest.approx(expected, rel=tolerances.MOMENT_RELATIVE, abs=1e-15)


@given(st.integers(1, 60), st.floats(1e-3, 30), st.floats(1e-2, 10))
def test_p5_a_scaled_ujm_optimum_stays_binomial(depth, beta, scale):
    np.testing.assert_allclose(
        path_lengths.poisson_binomial(np.full(depth, beta * scale)),
        path_lengths.binomial(depth, beta * scale),
        rtol=tolerances.BINOMIAL_RELATIVE,
    )


@given(gain_lists, st.integers(1, 64))
def test_the_incoherent_law_has_gains_of_squared_norm_over_width(gains, width):
    gains = np.array(gains)
    np.testing.assert_allclose(
        path_lengths.incoherent(np.sqrt(gains * width), width), path_lengths.poisson_binomial(gains),
        rtol=4 * tolerances.PATH_LAW_RELATIVE, atol=1e-300,
    )  # fmt: skip


def test_the_incoherent_law_does_not_overflow():
    np.testing.assert_array_equal(path_lengths.incoherent([1e300, 0.0], 3), [0, 1, 0])


def test_laws_take_batches():
    gains = np.array([[0.5, 1.0, 2.0], [0.1, 0.0, 3.0]])
    for law in (
        path_lengths.poisson_binomial,
        path_lengths.log_elementary_symmetric,
        lambda g: path_lengths.incoherent(g, 2),
    ):
        np.testing.assert_array_equal(law(gains), [law(row) for row in gains])  # fmt: skip


@given(seeds, st.integers(1, 20))
def test_the_two_normalisations(seed, length):
    amplitudes = generator(seed).standard_normal((3, length)) * 1e-200
    sums, energies = path_lengths.sum_law(amplitudes), path_lengths.energy_law(amplitudes)
    np.testing.assert_allclose(sums.sum(axis=-1), 1, rtol=tolerances.PATH_LAW_RELATIVE)
    np.testing.assert_allclose(energies.sum(axis=-1), 1, rtol=tolerances.PATH_LAW_RELATIVE)
    np.testing.assert_allclose(path_lengths.energy_law(sums), energies, rtol=tolerances.PATH_LAW_RELATIVE)


def test_total_variation():
    assert path_lengths.total_variation([1.0, 0.0], [0.0, 1.0]) == 1
    np.testing.assert_allclose(path_lengths.total_variation([[0.5, 0.5], [1, 0]], [0.25, 0.75]), [0.25, 0.75])


def test_edges():
    np.testing.assert_array_equal(path_lengths.stirling(1), [0.5, 0.5])
    np.testing.assert_array_equal(path_lengths.binomial(3, 0.0), [1, 0, 0, 0])
    np.testing.assert_array_equal(path_lengths.ewens(3, 0.0), [1, 0, 0, 0])
    np.testing.assert_array_equal(path_lengths.poisson_binomial([0.0]), [1, 0])
    np.testing.assert_array_equal(path_lengths.log_elementary_symmetric([0.0, 1.0]), [0, 0, -math.inf])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: path_lengths.elementary_symmetric([]), "gains = .*empty"),
        (lambda: path_lengths.elementary_symmetric(1.0), "gains = .*one axis"),
        (lambda: path_lengths.elementary_symmetric([math.nan]), r"gains\[0\] = nan"),
        (lambda: path_lengths.elementary_symmetric(np.full(400, 1e3)), "gains = .*log_elementary_symmetric"),
        (lambda: path_lengths.log_elementary_symmetric([0.5, -0.5]), r"gains\[1\] = -0.5.*at least 0"),
        (lambda: path_lengths.poisson_binomial([-1.0]), r"gains\[0\] = -1.0.*at least 0"),
        (lambda: path_lengths.binomial(0, 1.0), "depth = 0"),
        (lambda: path_lengths.binomial(3, -1.0), "beta = -1.0"),
        (lambda: path_lengths.stirling(-1), "depth = -1"),
        (lambda: path_lengths.ewens(2, math.inf), "scale = inf"),
        (lambda: path_lengths.ewens(2, -0.1), "scale = -0.1"),
        (lambda: path_lengths.incoherent([-1.0], 2), r"frobenius_norms\[0\] = -1.0"),
        (lambda: path_lengths.incoherent([1.0], 0), "width = 0"),
        (lambda: path_lengths.sum_law([[1.0], [0.0]]), "amplitudes = .*define no law"),
        (lambda: path_lengths.energy_law([0.0, 0.0]), "amplitudes = .*define no law"),
        (lambda: path_lengths.energy_law(1.0), "amplitudes = .*one axis"),
        (lambda: path_lengths.mean_and_variance([0.5, 0.6]), "law = .*sum to 1"),
        (lambda: path_lengths.mean_and_variance([1.5, -0.5]), r"law\[1\] = -0.5"),
        (lambda: path_lengths.total_variation([1.0], [0.5, 0.5]), "second = .*length 1"),
    ],
)
def test_bad_arguments_are_named(call, message):
    with pytest.raises(ArgumentError, match=message):
        call()
