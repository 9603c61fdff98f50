import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests import tolerances
from tests.strategies import cosines, depths, direction_pair, generator, orthogonal, seeds, unit_vector, widths
from theory import ArgumentError, equispacing


def shared_direction_instance(seed, depth, cosine, width=4):
    """Directions at the given cosine, a start that v sees, and a first singular value that stays positive."""
    rng = generator(seed)
    left, right = direction_pair(rng, width, cosine)
    start = rng.standard_normal(width) + 2 * right
    assume(abs(right @ start) > 0.1)
    # 1/s_L = 1/s_1 + (L-1) rho must stay positive.
    first = 1 / (max(0.0, -cosine * (depth - 1)) + rng.uniform(0.3, 3.0))
    return left, right, start, first


@given(seeds, depths, widths)
def test_t1_aligned_inverse_depth_gives_equal_steps_on_the_predicted_line(seed, depth, width):
    rng = generator(seed)
    direction, start = unit_vector(rng, width), rng.standard_normal(width)
    assume(abs(direction @ start) > 1e-3)
    singular_values = equispacing.inverse_depth_singular_values(depth)
    points = equispacing.propagate(equispacing.aligned_jacobians(singular_values, direction), start)
    line = start + np.outer(np.arange(depth + 1), direction * (direction @ start))
    scale = float(np.linalg.norm(points[-1]))
    np.testing.assert_allclose(points, line, rtol=0, atol=tolerances.PROPAGATION_RELATIVE * scale)
    np.testing.assert_allclose(
        points, equispacing.predicted_line(start, depth, 1.0, direction, direction), rtol=0,
        atol=tolerances.PROPAGATION_RELATIVE * scale,
    )  # fmt: skip
    step = abs(direction @ start)
    assert equispacing.equispacing_defect(points) < tolerances.PROPAGATION_RELATIVE * scale / step


@given(seeds, depths, cosines)
def test_t2_singular_values_with_slope_rho_give_equal_steps(seed, depth, cosine):
    left, right, start, first = shared_direction_instance(seed, depth, cosine)
    singular_values = equispacing.equispaced_singular_values(depth, first, cosine)
    np.testing.assert_allclose(np.diff(1 / singular_values), cosine, atol=tolerances.INVERSE_SLOPE)
    points = equispacing.propagate(equispacing.shared_direction_jacobians(singular_values, left, right), start)
    line = equispacing.predicted_line(start, depth, first, left, right)
    scale = max(np.linalg.norm(points, axis=1).max(), 1.0)
    np.testing.assert_allclose(points, line, rtol=0, atol=tolerances.PROPAGATION_RELATIVE * scale)
    step = first * abs(right @ start)
    assert equispacing.equispacing_defect(points) < tolerances.PROPAGATION_RELATIVE * scale / step


@given(seeds, st.integers(2, 20), cosines, st.floats(0.01, 0.5), st.data())
def test_t2_conversely_a_perturbed_slope_breaks_the_equal_steps_by_what_it_was_perturbed(
    seed, depth, cosine, change, data
):
    left, right, start, first = shared_direction_instance(seed, depth, cosine)
    singular_values = equispacing.equispaced_singular_values(depth, first, cosine)
    block = data.draw(st.integers(0, depth - 1), "block")
    factor = np.ones(depth)
    factor[block] = 1 + change
    points = equispacing.propagate(
        equispacing.shared_direction_jacobians(singular_values * factor, left, right), start
    )  # fmt: skip
    steps = np.diff(points, axis=0) @ left
    if block:
        # The perturbed block alone steps further than the one before it, by exactly the perturbation.
        ratio = steps[block] / steps[block - 1]
        assert ratio == pytest.approx(1 + change, rel=tolerances.INVERSE_SLOPE)
    else:
        # 1/s_2 - 1/s_1' = rho + (1/s_1)(1 - 1/(1+x)); step 2 over step 1 is s_2 (1 + rho s_1') / s_1'.
        expected = singular_values[1] * (1 / (singular_values[0] * (1 + change)) + cosine)
        assert steps[1] / steps[0] == pytest.approx(expected, abs=tolerances.INVERSE_SLOPE)
        assume(abs(expected - 1) > 1e-4)
    assert equispacing.equispacing_defect(points) > 1e-6


@given(seeds, st.integers(2, 12), cosines)
def test_t2_equal_steps_leave_only_the_slope_rho(seed, depth, cosine):
    """The other direction read off an instance: choose each s_i only so that its step equals the first one."""
    left, right, start, first = shared_direction_instance(seed, depth, cosine)
    point, step = start, first * (right @ start) * left
    found = []
    for _ in range(depth):
        found.append((left @ step) / (right @ point))
        point = point + step
    expected = equispacing.equispaced_singular_values(depth, first, cosine)
    np.testing.assert_allclose(1 / np.array(found), 1 / expected, atol=tolerances.INVERSE_SLOPE * depth)


@pytest.mark.parametrize(("cosine", "expected"), [(1.0, [1, 1 / 2, 1 / 3]), (0.0, [1, 1, 1]), (-0.25, [1, 4 / 3, 2])])
def test_the_three_regimes_of_the_slope(cosine, expected):
    np.testing.assert_allclose(equispacing.equispaced_singular_values(3, 1.0, cosine), expected)


def test_rho_minus_one_may_end_with_a_block_that_annihilates_what_v_sees():
    """1 + rho s_L = 0 at the last block: the steps are still equal, and v . h_{L+1} = 0."""
    direction = np.array([0.6, 0.8])
    singular_values = equispacing.equispaced_singular_values(4, 0.25, -1.0)
    np.testing.assert_allclose(singular_values[-1], 1.0)
    points = equispacing.propagate(
        equispacing.shared_direction_jacobians(singular_values, direction, -direction), np.array([1.0, 2.0])
    )  # fmt: skip
    assert equispacing.equispacing_defect(points) < tolerances.PROPAGATION_RELATIVE
    assert direction @ points[-1] == pytest.approx(0, abs=tolerances.PROPAGATION_RELATIVE)


def test_lists_are_as_good_as_arrays():
    line = equispacing.predicted_line([1.0, 2.0], 2, 0.5, [1.0, 0.0], [0.0, 1.0])
    np.testing.assert_array_equal(line, [[1, 2], [2, 2], [3, 2]])


# T3: any rank in one shared basis.


def shared_basis_instance(seed, depth, rank, width):
    """A basis, offsets that leave every coefficient finite, and a start that every direction sees."""
    rng = generator(seed)
    basis = orthogonal(rng, width)[:, :rank]
    # Non-integers at least 0.2 from an integer: |l| <= 5 in every block, signs of both kinds.
    offsets = rng.integers(-depth, 4, rank) + rng.uniform(0.2, 0.8, rank)
    start = rng.standard_normal(width)
    assume((np.abs(start @ basis) > 0.05).all())
    return basis, offsets, start


@given(seeds, st.integers(1, 20), st.integers(1, 4), st.integers(0, 2))
def test_t3_offsets_of_either_sign_give_equal_steps_on_the_predicted_line(seed, depth, rank, more):
    basis, offsets, start = shared_basis_instance(seed, depth, rank, rank + more)
    coefficients = equispacing.equispaced_coefficients(depth, offsets)
    np.testing.assert_allclose(np.diff(1 / coefficients, axis=0), 1, atol=tolerances.INVERSE_SLOPE)
    points = equispacing.propagate(equispacing.shared_basis_jacobians(coefficients, basis), start)
    line = equispacing.predicted_line_in_basis(start, depth, offsets, basis)
    scale = float(np.linalg.norm(points, axis=1).max() * max(1.0, np.abs(coefficients).max()))
    np.testing.assert_allclose(points, line, rtol=0, atol=tolerances.SIGNED_PROPAGATION_RELATIVE * scale)
    step = np.linalg.norm(line[1] - line[0])
    assert equispacing.equispacing_defect(points) < tolerances.SIGNED_PROPAGATION_RELATIVE * scale / step


@given(seeds, st.integers(2, 10), st.integers(1, 4), st.floats(0.01, 0.5), st.data())
def test_t3_conversely_one_perturbed_coefficient_breaks_the_equal_steps(seed, depth, rank, change, data):
    basis, offsets, start = shared_basis_instance(seed, depth, rank, rank + 1)
    coefficients = equispacing.equispaced_coefficients(depth, offsets)
    block, direction = data.draw(st.integers(1, depth - 1)), data.draw(st.integers(0, rank - 1))
    coefficients[block, direction] *= 1 + change
    points = equispacing.propagate(equispacing.shared_basis_jacobians(coefficients, basis), start)
    steps = np.diff(points, axis=0) @ basis
    expected = np.ones(rank)
    expected[direction] += change
    # Only that direction, only by that much, and measurably.
    np.testing.assert_allclose(steps[block] / steps[block - 1], expected, rtol=tolerances.SIGNED_STEP_RATIO)
    assert equispacing.equispacing_defect(points) > 1e-6


@given(seeds, st.integers(2, 8))
def test_t3_a_direction_may_rest_from_the_first_block_on_but_not_later(seed, depth):
    basis, offsets, start = shared_basis_instance(seed, depth, 2, 3)
    coefficients = equispacing.equispaced_coefficients(depth, offsets)
    coefficients[:, 0] = 0.0
    points = equispacing.propagate(equispacing.shared_basis_jacobians(coefficients, basis), start)
    bound = (
        tolerances.SIGNED_PROPAGATION_RELATIVE
        * float(np.linalg.norm(points, axis=1).max())
        * np.abs(coefficients).max()
    )
    assert equispacing.equispacing_defect(points) < bound / np.linalg.norm(points[1] - points[0])
    coefficients = equispacing.equispaced_coefficients(depth, offsets)
    coefficients[-1, 0] = 0.0
    points = equispacing.propagate(equispacing.shared_basis_jacobians(coefficients, basis), start)
    assert equispacing.equispacing_defect(points) > 1e-3


@pytest.mark.parametrize("depth", [1, 2, 5])
def test_t3_minus_one_ends_a_direction_in_the_last_block_only(depth):
    basis, start = np.eye(2), np.array([1.0, 1.0])
    coefficients = equispacing.equispaced_coefficients(depth, [-depth, 1.0])
    assert coefficients[-1, 0] == -1
    points = equispacing.propagate(equispacing.shared_basis_jacobians(coefficients, basis), start)
    assert equispacing.equispacing_defect(points) < tolerances.PROPAGATION_RELATIVE
    assert points[-1, 0] == pytest.approx(0, abs=tolerances.PROPAGATION_RELATIVE)
    # One block more would have to divide by zero.
    with pytest.raises(ArgumentError, match="offsets = "):
        equispacing.equispaced_coefficients(depth + 1, [-depth, 1.0])


def test_t3_needs_every_coordinate_of_the_start():
    """Where h_1 has no part along a direction its coefficients are free: the hypothesis of the converse is needed."""
    coefficients = np.column_stack([1 / np.arange(1, 6), [3.0, -7.0, 0.5, 2.0, 9.0]])
    points = equispacing.propagate(equispacing.shared_basis_jacobians(coefficients, np.eye(2)), [1.0, 0.0])
    assert equispacing.equispacing_defect(points) < tolerances.PROPAGATION_RELATIVE


def test_t3_with_one_direction_is_t1():
    np.testing.assert_allclose(
        equispacing.equispaced_coefficients(6, [1.0])[:, 0], equispacing.inverse_depth_singular_values(6)
    )


# T5: stability.


@given(seeds, depths, widths, st.floats(1e-12, 1.0))
def test_t5_errors_of_that_norm_stay_within_the_bound(seed, depth, width, size):
    rng = generator(seed)
    direction, start = unit_vector(rng, width), rng.standard_normal(width)
    errors = size * rng.uniform(0, 1, depth)
    noise = rng.standard_normal((depth, width, width))
    noise *= (errors / np.linalg.norm(noise, ord=2, axis=(1, 2)))[:, None, None]
    ideal = equispacing.aligned_jacobians(equispacing.inverse_depth_singular_values(depth), direction)
    points = equispacing.propagate(ideal + noise, start)
    line = equispacing.predicted_line(start, depth, 1.0, direction, direction)
    bound = equispacing.stability_bound(errors, float(np.linalg.norm(start)))
    slack = float(tolerances.PROPAGATION_RELATIVE * np.linalg.norm(points, axis=1).max())
    assert (np.linalg.norm(points - line, axis=1) <= bound + slack).all()


@given(seeds, depths, widths, st.floats(1e-6, 1.0))
def test_t5_is_sharp(seed, depth, width, size):
    """Equality for E_i = e_i u u^T and h_1 parallel to u, so no smaller constant would do."""
    rng = generator(seed)
    direction = unit_vector(rng, width)
    errors = size * rng.uniform(0.1, 1, depth)
    singular_values = equispacing.inverse_depth_singular_values(depth) + errors
    points = equispacing.propagate(equispacing.aligned_jacobians(singular_values, direction), -2 * direction)
    line = equispacing.predicted_line(-2 * direction, depth, 1.0, direction, direction)
    distance = np.linalg.norm(points - line, axis=1)
    slack = float(tolerances.PROPAGATION_RELATIVE * np.linalg.norm(points, axis=1).max())
    np.testing.assert_allclose(equispacing.stability_bound(errors, 2.0), distance, rtol=0, atol=slack)


def test_t5_tiny_errors_do_not_cancel():
    """To first order the bound is k sum e_i i/(i+1), and here the second order is 1e-20 of it."""
    errors = np.full(50, 1e-22)
    k = np.arange(1, 52)
    first_order = k * np.concatenate(([0], np.cumsum(errors * k[:-1] / (k[:-1] + 1))))
    np.testing.assert_allclose(equispacing.stability_bound(errors), first_order, rtol=tolerances.MOMENT_RELATIVE)


def test_width_one():
    points = equispacing.propagate(equispacing.aligned_jacobians([1.0, 0.5, 1 / 3], [-1.0]), [2.0])
    np.testing.assert_allclose(points[:, 0], [2, 4, 6, 8])


@given(seeds, st.integers(1, 12), st.integers(1, 6))
def test_propagation_is_the_ordered_product(seed, depth, width):
    rng = generator(seed)
    jacobians, start = rng.standard_normal((depth, width, width)) / width, rng.standard_normal(width)
    product = np.eye(width)
    for jacobian in jacobians:
        product = (np.eye(width) + jacobian) @ product
    np.testing.assert_allclose(
        equispacing.propagate(jacobians, start)[-1], product @ start, rtol=tolerances.PROPAGATION_RELATIVE,
        atol=float(tolerances.PROPAGATION_RELATIVE * np.linalg.norm(product)),
    )  # fmt: skip


def test_the_defect_sees_vectors_not_distances():
    folded = np.array([[0.0, 0], [1, 0], [0, 0], [1, 0]])
    np.testing.assert_allclose(np.linalg.norm(np.diff(folded, axis=0), axis=1), 1)
    # Steps +1, -1, +1 have mean 1/3; the middle one is 4/3 away.
    assert equispacing.equispacing_defect(folded) == pytest.approx(4 / 3)
    assert equispacing.equispacing_defect(np.array([[0.0, 0], [3, 4]])) == 0


@given(seeds, st.integers(2, 8), st.floats(1e-6, 1e6))
def test_the_defect_does_not_depend_on_scale_position_or_rotation(seed, depth, scale):
    rng = generator(seed)
    points = rng.standard_normal((depth + 1, 3))
    frame, _ = np.linalg.qr(rng.standard_normal((3, 3)))
    moved = scale * (points @ frame.T)
    defect = equispacing.equispacing_defect(points)
    assert equispacing.equispacing_defect(moved) == pytest.approx(defect, rel=tolerances.PROPAGATION_RELATIVE)
    assert equispacing.equispacing_defect(points + 1.0) == pytest.approx(defect, rel=tolerances.PROPAGATION_RELATIVE)


UNIT, NOT_UNIT = np.array([1.0, 0.0]), np.array([1.0, 1.0])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: equispacing.aligned_jacobians([1.0], NOT_UNIT), "direction = .*must have unit norm, has 1.41421"),
        (lambda: equispacing.aligned_jacobians([[1.0]], UNIT), "singular_values = .*1 dimension"),
        (lambda: equispacing.aligned_jacobians([np.nan], UNIT), r"singular_values\[0\] = nan"),
        (lambda: equispacing.shared_direction_jacobians([1.0], UNIT, NOT_UNIT), "right = .*unit norm"),
        (lambda: equispacing.shared_direction_jacobians([1.0], UNIT, [1.0]), r"right = .*shape \(2,\)"),
        (lambda: equispacing.inverse_depth_singular_values(0), "depth = 0"),
        (lambda: equispacing.equispaced_singular_values(0, 1.0, 1.0), "depth = 0"),
        (lambda: equispacing.equispaced_singular_values(3, 0.0, 1.0), "first = 0.0"),
        (lambda: equispacing.equispaced_singular_values(3, 1.0, 1.5), "cosine = 1.5.*between -1 and 1"),
        (lambda: equispacing.equispaced_singular_values(3, 1.0, -1.5), "cosine = -1.5"),
        (lambda: equispacing.equispaced_singular_values(3, 1.0, -0.5), "depth = 3.*stay positive; use fewer blocks"),
        (lambda: equispacing.propagate(np.ones((2, 3, 3)), UNIT), "start = .*length 3"),
        (lambda: equispacing.propagate(np.ones((2, 2, 3)), UNIT), "start = .*square"),
        (lambda: equispacing.propagate(np.ones((2, 2)), UNIT), "jacobians = .*3 dimensions"),
        (lambda: equispacing.predicted_line(UNIT, 0, 1.0, UNIT, UNIT), "depth = 0"),
        (lambda: equispacing.predicted_line(UNIT, 2, 1.0, UNIT, NOT_UNIT), "right = .*unit norm"),
        (lambda: equispacing.predicted_line([1.0], 2, 1.0, UNIT, UNIT), "start = .*length 2"),
        (lambda: equispacing.predicted_line(UNIT, 2, 0.0, UNIT, UNIT), "first = 0.0"),
        (lambda: equispacing.propagate(np.ones((2, 2, 2)), UNIT, np.ones((3, 2))), r"biases = .*\(2, 2\)"),
        (lambda: equispacing.shared_basis_jacobians(np.ones((3, 2)), np.ones((2, 2))), "basis = .*orthonormal"),
        (lambda: equispacing.shared_basis_jacobians(np.ones((3, 2)), np.eye(3)), "basis = .*2 columns"),
        (lambda: equispacing.shared_basis_jacobians(UNIT, np.eye(2)), "coefficients = .*2 dimensions"),
        (lambda: equispacing.equispaced_coefficients(3, [0.5, -1.0]), "offsets = .*must not hold 0, -1, .., -2"),
        (lambda: equispacing.equispaced_coefficients(0, [0.5]), "depth = 0"),
        (lambda: equispacing.predicted_line_in_basis([1.0], 2, [1.0], np.eye(2)[:, :1]), "start = .*length 2"),
        (lambda: equispacing.predicted_line_in_basis(UNIT, 2, [1.0], np.eye(2)), "basis = .*1 columns"),
        (lambda: equispacing.stability_bound([0.1, -0.1]), r"errors\[1\] = -0.1.*at least 0"),
        (lambda: equispacing.stability_bound([0.1], -1.0), "start_norm = -1.0"),
        (lambda: equispacing.equispacing_defect(np.ones((3, 2))), "points = .*coincide"),
        (lambda: equispacing.equispacing_defect(np.ones((1, 2))), "points = .*two points"),
    ],
)  # fmt: skip
def test_bad_arguments_are_named(call, message):
    with pytest.raises(ArgumentError, match=message):
        call()
