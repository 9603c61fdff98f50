import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import naive, tolerances
from tests.strategies import (
    cosines,
    depths,
    direction_pair,
    generator,
    orthogonal_batch,
    seeds,
    unit_vector,
)
from theory import ArgumentError, equispacing, path_lengths

small_depths = st.integers(1, 6)
small_widths = st.integers(1, 4)


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
    assert np.abs(mean - expected)[1] > 10 * error[1]


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
