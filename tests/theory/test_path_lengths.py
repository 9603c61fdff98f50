import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from tests import naive, tolerances
from tests.strategies import (
    cosines,
    depths,
    direction_pair,
    gain_lists,
    generator,
    orthogonal_batch,
    seeds,
    unit_vector,
)
from theory import ArgumentError, depth_law, equispacing, path_lengths, unconstrained

small_depths = st.integers(1, 6)
small_widths = st.integers(1, 4)
# Away from zero unless zero: nine factors of 1e-50 would leave the range of float64.
signed_gains = st.one_of(st.just(0.0), st.floats(1e-3, 3), st.floats(-3, -1e-3))


def as_floats(fractions):
    return np.array([float(fraction) for fraction in fractions])


def log_of_fraction(fraction):
    with mpmath.workdps(40):
        return float(mpmath.log(fraction.numerator) - mpmath.log(fraction.denominator)) if fraction else -math.inf


# P1: the recursion of path coefficients.


@given(seeds, small_depths, small_widths)
def test_p1_path_coefficients_are_the_sum_over_all_paths(seed, depth, width):
    rng = generator(seed)
    jacobians, skips = rng.standard_normal((depth, width, width)), rng.standard_normal((depth, width))
    vector = rng.standard_normal(width)
    expected = naive.path_coefficients(jacobians, skips, vector)
    np.testing.assert_allclose(
        path_lengths.path_coefficients(jacobians, skips, vector), expected, rtol=0,
        atol=tolerances.SUBSETS_RELATIVE * naive.path_coefficients(abs(jacobians), abs(skips), abs(vector)).max(),
    )  # fmt: skip


@given(seeds, small_depths)
def test_p1_batches_are_stacks_of_single_calls(seed, depth):
    rng = generator(seed)
    jacobians, skips = rng.standard_normal((2, 3, depth, 3, 3)), rng.integers(0, 2, (2, 3, depth, 3))
    vectors = rng.standard_normal((2, 3, 3))
    batched = path_lengths.path_coefficients(jacobians, skips, vectors)
    assert batched.shape == (2, 3, depth + 1, 3)
    for index in np.ndindex(2, 3):
        single = path_lengths.path_coefficients(jacobians[index], skips[index], vectors[index])
        # BLAS may sum a product in another order for another shape.
        np.testing.assert_allclose(
            batched[index], single, rtol=0, atol=tolerances.SUBSETS_RELATIVE * np.abs(single).max()
        )  # fmt: skip


@given(seeds, depths, small_widths, st.floats(-2, 2))
def test_p1_the_coefficients_sum_to_the_whole_product_at_any_t(seed, depth, width, t):
    rng = generator(seed)
    jacobians = rng.standard_normal((depth, width, width)) / (2 * width)
    skips, vector = rng.uniform(0.5, 1, (depth, width)), rng.standard_normal(width)
    walker, size = vector, abs(vector)
    for jacobian, skip in zip(jacobians, skips, strict=True):
        walker, size = skip * walker + t * jacobian @ walker, skip * size + abs(t) * abs(jacobian) @ size
    paths = path_lengths.path_coefficients(jacobians, skips, vector)
    np.testing.assert_allclose(
        t ** np.arange(depth + 1) @ paths, walker, rtol=0, atol=tolerances.PROPAGATION_RELATIVE * size.max()
    )  # fmt: skip


def test_p1_order_matters_and_block_one_acts_first():
    raising, diagonal = np.array([[0.0, 0], [1, 0]]), np.diag([2.0, 3.0])
    paths = path_lengths.path_coefficients([raising, diagonal], np.ones((2, 2)), [1.0, 0.0])
    np.testing.assert_array_equal(paths, [[1, 0], [2, 1], [0, 3]])


# P2: one shared left and one shared right direction.


@given(seeds, st.integers(1, 12), cosines)
def test_p2_shared_directions_give_elementary_symmetric_polynomials(seed, depth, cosine):
    rng = generator(seed)
    left, right = direction_pair(rng, 4, cosine)
    singular_values, vector = rng.uniform(0.1, 2, depth), rng.standard_normal(4)
    paths = path_lengths.path_coefficients(
        equispacing.shared_direction_jacobians(singular_values, left, right), np.ones((depth, 4)), vector
    )
    polynomials = path_lengths.elementary_symmetric(singular_values)
    # direction_pair realises the cosine to an ulp or two; use the one that it did realise.
    powers = np.concatenate(([0.0], (left @ right) ** np.arange(depth)))
    expected = np.outer(powers * polynomials, left * (right @ vector))
    expected[0] = vector
    np.testing.assert_allclose(
        paths, expected, rtol=0, atol=tolerances.PROPAGATION_RELATIVE * polynomials.max() * np.linalg.norm(vector)
    )


@given(seeds, st.lists(st.floats(0.01, 3), min_size=1, max_size=12))
def test_p2_aligned_jacobians_have_the_poisson_binomial_sum_law(seed, gains):
    direction = unit_vector(generator(seed), 3)
    paths = path_lengths.path_coefficients(
        equispacing.aligned_jacobians(gains, direction), np.ones((len(gains), 3)), direction
    )
    amplitudes = np.linalg.norm(paths, axis=-1)
    np.testing.assert_allclose(
        path_lengths.sum_law(amplitudes), path_lengths.poisson_binomial(gains), atol=tolerances.SUBSETS_RELATIVE
    )
    expected = path_lengths.poisson_binomial(gains) ** 2
    np.testing.assert_allclose(
        path_lengths.energy_law(amplitudes), expected / expected.sum(), atol=tolerances.SUBSETS_RELATIVE
    )


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


# P6: independent blocks add incoherently, aligned ones coherently.


def haar_rotated(rng, spectra, draws, side):
    """Batches of J_i = A_i Q (side "right") or Q A_i (side "left"), A_i fixed with the given spectra, Q Haar."""
    depth, width = spectra.shape
    fixed = (
        orthogonal_batch(rng, depth, width, width) * spectra[:, None, :] @ orthogonal_batch(rng, depth, width, width)
    )
    haar = orthogonal_batch(rng, draws, depth, width, width)
    return fixed @ haar if side == "right" else haar @ fixed


def mean_energies(jacobians, vector):
    """Monte Carlo mean of |E_r a|^2 over the batch and its standard error, r = 0..L."""
    draws, depth, width, _ = jacobians.shape
    paths = path_lengths.path_coefficients(
        jacobians, np.ones((draws, depth, width)), np.broadcast_to(vector, (draws, width))
    )
    energies = (paths**2).sum(axis=-1)
    return energies.mean(axis=0), energies.std(axis=0, ddof=1) / math.sqrt(draws)


@pytest.mark.parametrize(("seed", "depth", "width", "rank"), [(1, 1, 3, 1), (2, 3, 2, 2), (3, 5, 4, 1), (4, 6, 8, 3)])
def test_p6_right_invariant_blocks_add_incoherently(seed, depth, width, rank):
    rng = generator(seed)
    spectra = rng.uniform(0.5, 2, (depth, width)) * (np.arange(width) < rank)
    vector = rng.standard_normal(width)
    mean, error = mean_energies(haar_rotated(rng, spectra, 20_000, "right"), vector)
    norms = np.linalg.norm(spectra, axis=-1)
    expected = vector @ vector * path_lengths.elementary_symmetric(norms**2 / width)
    assert mean[0] == pytest.approx(expected[0], rel=tolerances.SUBSETS_RELATIVE)
    assert (np.abs(mean - expected)[1:] < tolerances.STANDARD_ERRORS * error[1:]).all()
    # The comparison has teeth: the standard error is a few per cent, and the coherent value is far off.
    assert (error[1:] < 0.06 * expected[1:]).all()
    np.testing.assert_allclose(
        path_lengths.incoherent(norms, width), expected / expected.sum(), rtol=tolerances.BINOMIAL_RELATIVE
    )


def test_p6_left_invariance_is_not_enough():
    """A_i = e_1 e_1^T rotated from the left sees only the first coordinate of a, so a = e_2 never enters a branch."""
    rng = generator(5)
    fixed = np.zeros((1, 4, 4))
    fixed[0, 0, 0] = 1.0
    mean, _ = mean_energies(orthogonal_batch(rng, 500, 1, 4, 4) @ fixed, np.array([0.0, 1.0, 0.0, 0.0]))
    np.testing.assert_array_equal(mean, [1, 0])
    assert path_lengths.incoherent([1.0], 4)[1] == pytest.approx(0.2)


def test_p6_left_invariance_fails_for_generic_spectra_too():
    rng = generator(6)
    spectra = np.tile([2.0, 0.3, 0.1, 0.05], (3, 1))
    mean, error = mean_energies(haar_rotated(rng, spectra, 20_000, "left"), rng.standard_normal(4))
    expected = mean[0] * path_lengths.elementary_symmetric((spectra**2).sum(axis=-1) / 4)
    assert np.abs(mean - expected)[1] > 10 * error[1] or np.abs(mean - expected)[1] > 0.1 * expected[1]


def test_p6_aligned_blocks_of_the_same_norms_add_coherently():
    """|E_r a| = e_r(s), against sqrt(e_r(s^2 / D)) on average if independent: a law of larger mean depth."""
    gains, direction = np.linspace(0.5, 1.5, 8), unit_vector(generator(7), 5)
    paths = path_lengths.path_coefficients(equispacing.aligned_jacobians(gains, direction), np.ones((8, 5)), direction)
    coherent = path_lengths.energy_law(np.linalg.norm(paths, axis=-1))
    incoherent = path_lengths.incoherent(gains, 5)
    assert path_lengths.mean_and_variance(coherent)[0] > 2 * path_lengths.mean_and_variance(incoherent)[0]
    assert path_lengths.total_variation(coherent, incoherent) > 0.5


# P7: the rank-one path law.


def rank_one_blocks(rng, depth, width):
    """J_i = dhat g_i^T and diagonal D_i with D_i dhat parallel to dhat: constant on its support, free elsewhere."""
    direction = unit_vector(rng, width) * (np.arange(width) < max(1, width // 2))
    direction /= np.linalg.norm(direction)
    skips = np.where(direction != 0, rng.uniform(-1, 1, (depth, 1)), rng.uniform(-1, 1, (depth, width)))
    gradients = rng.standard_normal((depth, width))
    return direction, skips, gradients


@given(seeds, small_depths, st.integers(1, 5))
def test_p7_is_exact_for_rank_one_blocks(seed, depth, width):
    rng = generator(seed)
    direction, skips, gradients = rank_one_blocks(rng, depth, width)
    vector = rng.standard_normal(width)
    expected = naive.rank_one_path_amplitudes(gradients, skips, vector, direction)
    amplitudes = path_lengths.rank_one_path_amplitudes(
        direction[:, None] * gradients[:, None, :], skips, vector, direction
    )
    bound = naive.rank_one_path_amplitudes(abs(gradients), abs(skips), abs(vector), abs(direction)).max()
    np.testing.assert_allclose(amplitudes, expected, rtol=0, atol=tolerances.SUBSETS_RELATIVE * bound)


@given(seeds, st.integers(1, 30))
def test_p7_is_exact_for_rectified_blocks_without_a_word_on_the_gates(seed, depth):
    """J_i = D_i W_i = dhat g_i^T with 0/1 gates makes D_i J_i = J_i, hence D_i dhat = dhat: nothing to assume."""
    rng = generator(seed)
    width = 6
    direction = unit_vector(rng, width) * np.array([1, 1, 1, 0, 0, 0])
    direction /= np.linalg.norm(direction)
    gates = np.where(direction != 0, 1, rng.integers(0, 2, (depth, width)))
    gradients, vector = rng.standard_normal((depth, width)) / 2, rng.standard_normal(width)
    jacobians = gates[..., None] * (direction[:, None] * gradients[:, None, :])
    paths = path_lengths.path_coefficients(jacobians, gates, vector)
    amplitudes = path_lengths.rank_one_path_amplitudes(jacobians, gates, vector, direction)
    np.testing.assert_allclose(
        amplitudes, np.linalg.norm(paths, axis=-1), rtol=0, atol=tolerances.PROPAGATION_RELATIVE * amplitudes.max()
    )


def test_p7_contains_p2_and_takes_batches():
    rng = generator(8)
    left, right = direction_pair(rng, 4, 0.5)
    singular_values, vectors = rng.uniform(0.1, 2, 7), rng.standard_normal((3, 4))
    jacobians = equispacing.shared_direction_jacobians(singular_values, left, right)
    amplitudes = path_lengths.rank_one_path_amplitudes(
        np.broadcast_to(jacobians, (3, 7, 4, 4)), np.ones((3, 7, 4)), vectors, np.broadcast_to(left, (3, 4))
    )
    expected = (
        0.5 ** np.arange(-1, 7) * path_lengths.elementary_symmetric(singular_values) * abs(vectors @ right)[:, None]
    )
    np.testing.assert_allclose(amplitudes[:, 1:], expected[:, 1:], rtol=tolerances.SUBSETS_RELATIVE)
    np.testing.assert_allclose(amplitudes[:, 0], np.linalg.norm(vectors, axis=-1), rtol=tolerances.SUBSETS_RELATIVE)


def energy_laws(jacobians, skips, vectors, directions):
    """Energy law measured by P1 beside the one predicted by P7, for a batch."""
    measured = np.linalg.norm(path_lengths.path_coefficients(jacobians, skips, vectors), axis=-1)
    predicted = path_lengths.rank_one_path_amplitudes(jacobians, skips, vectors, directions)
    return path_lengths.energy_law(measured), path_lengths.energy_law(predicted)


@pytest.mark.parametrize("gain", [1, 2, 4])
def test_p7_fails_when_the_orientations_are_scrambled_and_degrades_gently_before(gain):
    """The control of the measurements: Q J_i R keeps every singular value and loses the law.

    With s_i = 1/i the distance is only about 0.08, since r = 0 then carries nearly all energy in *both* laws; the
    measured mean depth itself falls from 1.7 to 0.09. A small distance alone does not show alignment.
    """
    rng = generator(9)
    depth, width, draws = 8, 16, 200
    direction = unit_vector(rng, width)
    gradients = gain * direction / np.arange(1, depth + 1)[:, None]
    aligned = np.broadcast_to(direction[:, None] * gradients[:, None, :], (draws, depth, width, width))
    skips, directions = np.ones((draws, depth, width)), np.broadcast_to(direction, (draws, width))

    def distance_and_depth(jacobians):
        measured, predicted = energy_laws(jacobians, skips, directions, directions)
        return path_lengths.total_variation(measured, predicted).mean(), path_lengths.mean_and_variance(measured)[0]

    exact, deep = distance_and_depth(aligned)
    nearly, _ = distance_and_depth(aligned + 0.1 * rng.standard_normal(aligned.shape) / math.sqrt(width))
    left, right = orthogonal_batch(rng, draws, depth, width, width), orthogonal_batch(rng, draws, depth, width, width)
    scrambled, shallow = distance_and_depth(left @ aligned @ right)
    assert exact < tolerances.SUBSETS_RELATIVE
    assert exact < nearly < tolerances.NEARLY_ALIGNED_TOTAL_VARIATION
    assert scrambled > tolerances.SCRAMBLED_TOTAL_VARIATION * gain
    assert shallow.mean() < deep.mean() / 3


ONES = np.ones((2, 2))


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
        (lambda: path_lengths.path_coefficients(np.ones((2, 2, 3)), ONES, [1.0, 1]), "jacobians = .*square"),
        (lambda: path_lengths.path_coefficients(ONES, ONES, [1.0, 1]), "jacobians = .*square"),
        (lambda: path_lengths.path_coefficients(np.ones((3, 2, 2)), ONES, [1.0, 1]), r"skips = .*\(3, 2\)"),
        (lambda: path_lengths.path_coefficients(np.ones((2, 2, 2)), ONES, [1.0]), r"vector = .*\(2,\)"),
        (lambda: path_lengths.path_coefficients(np.full((2, 2, 2), 1e200), ONES, [1.0, 1]), "jacobians = .*1.8e308"),
        (
            lambda: path_lengths.rank_one_path_amplitudes(np.ones((2, 2, 2)), ONES, [1.0, 1], [1.0, 1]),
            "direction = .*unit norm",
        ),
        (
            lambda: path_lengths.rank_one_path_amplitudes(np.ones((2, 2, 2)), ONES, [1.0, 1], [1.0]),
            r"direction = .*\(2,\)",
        ),
        (lambda: path_lengths.rank_one_path_amplitudes(np.ones((2, 2, 2)), ONES, [1.0], [1.0]), r"vector = .*\(2,\)"),
        (
            lambda: path_lengths.rank_one_path_amplitudes(
                np.full((3, 2, 2), 1e200), np.ones((3, 2)), [1.0, 1], [1.0, 0]
            ),
            "jacobians = .*1.8e308",
        ),
    ],
)
def test_bad_arguments_are_named(call, message):
    with pytest.raises(ArgumentError, match=message):
        call()
