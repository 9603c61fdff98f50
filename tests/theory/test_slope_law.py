import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests import tolerances
from tests.strategies import cosines, depths, direction_pair, generator, seeds
from theory import ArgumentError, equispacing
from theory.slope_law import affine_blocks, slope_law


def pre_activation_instance(rng, depth, width):
    """Any Jacobians at all, and the biases b_i = d - J_i h_i that make every step d."""
    start, step = rng.standard_normal((2, width))
    points = start + np.outer(np.arange(depth + 1), step)
    jacobians = rng.standard_normal((depth, width, width)) / np.sqrt(width)
    biases = step - np.einsum("lde,le->ld", jacobians, points[:-1])
    return points, jacobians, biases


def post_activation_instance(rng, depth, width):
    """h_{i+1} = relu(h_i + W_i h_i + b_i) with equal steps: some units rest at 0, gated off; J_i = D_i W_i."""
    active = rng.random(width) < 0.7
    active[0] = True
    start, step = rng.uniform(0.5, 2, width) * active, rng.uniform(-0.4, 1, width) / depth * active
    weights = rng.standard_normal((depth, width, width)) / np.sqrt(width)
    points = start + np.outer(np.arange(depth + 1), step)
    drive = np.where(active, points[1:], -rng.uniform(0.1, 1, (depth, width)))
    biases = drive - points[:-1] - np.einsum("lde,le->ld", weights, points[:-1])
    return points, weights, biases, active


@given(seeds, st.integers(1, 12), st.integers(1, 6))
def test_t4_is_exact_for_affine_pre_activation_blocks_of_any_rank(seed, depth, width):
    points, jacobians, biases = pre_activation_instance(generator(seed), depth, width)
    travelled = equispacing.propagate(jacobians, points[0], biases)
    # Random Jacobians amplify rounding, so the law is read off the exact points that the blocks provably visit.
    np.testing.assert_allclose(travelled[1] - travelled[0], points[1] - points[0], atol=tolerances.SLOPE_LAW_RELATIVE)
    law = slope_law(points, jacobians)
    assume((np.abs(law.linear_fraction) > 1e-3).all())
    np.testing.assert_allclose(law.predicted, law.inverse_gain, rtol=tolerances.SLOPE_LAW_RELATIVE)


@given(seeds, st.integers(1, 12), st.integers(1, 6))
def test_t4_is_exact_for_rectified_post_activation_blocks(seed, depth, width):
    points, weights, biases, active = post_activation_instance(generator(seed), depth, width)
    for point, target, weight, bias in zip(points[:-1], points[1:], weights, biases, strict=True):
        np.testing.assert_allclose(
            np.maximum(point + weight @ point + bias, 0), target, atol=tolerances.SLOPE_LAW_RELATIVE
        )
    jacobians = active[:, None] * weights
    law = slope_law(points, jacobians)
    assume((np.abs(law.linear_fraction) > 1e-3).all())
    np.testing.assert_allclose(law.predicted, law.inverse_gain, rtol=tolerances.SLOPE_LAW_RELATIVE)
    step = points[-1] - points[0]
    gain = np.linalg.norm(np.einsum("d,lde->le", step / np.linalg.norm(step), jacobians), axis=-1)
    np.testing.assert_allclose(law.inverse_gain, 1 / gain, rtol=tolerances.SLOPE_LAW_RELATIVE)


@given(seeds, st.integers(1, 12), st.integers(2, 6), st.floats(0.05, 0.5))
def test_t4_fails_by_exactly_how_unequal_the_steps_are(seed, depth, width, spread):
    rng = generator(seed)
    points, jacobians, _ = pre_activation_instance(rng, depth + 1, width)
    direction = (points[1] - points[0]) / np.linalg.norm(points[1] - points[0])
    shift = np.zeros(depth + 2)
    shift[1] = spread * np.linalg.norm(points[1] - points[0])
    uneven = points + np.outer(shift, direction)
    law = slope_law(uneven, jacobians)
    ratios = law.predicted / law.inverse_gain
    expected = np.ones(depth + 1)
    expected[:2] = 1 + spread, 1 - spread
    assume((np.abs(law.linear_fraction) > 1e-3).all())
    np.testing.assert_allclose(ratios, expected, rtol=tolerances.SLOPE_LAW_RELATIVE)


@given(seeds, depths, st.floats(-0.9, 1.0), st.floats(0.05, 3))
def test_t4_constant_direction_and_fraction_give_a_straight_line_of_slope_rho_over_phi(seed, depth, cosine, fraction):
    rng = generator(seed)
    forward, right = direction_pair(rng, 5, cosine)
    step = rng.uniform(0.1, 2) * forward
    # v.h_i stays positive, also where the steps lead against v.
    start = rng.standard_normal(5)
    start += right * (0.5 - right @ start + max(0.0, -depth * (step @ right)))
    blocks = affine_blocks(start, step, depth, right, fraction)
    points = equispacing.propagate(blocks.jacobians, start, blocks.biases)
    scale = np.linalg.norm(blocks.points, axis=1).max() * max(1.0, np.linalg.norm(blocks.jacobians, axis=(1, 2)).max())
    np.testing.assert_allclose(points, blocks.points, rtol=0, atol=tolerances.SLOPE_LAW_RELATIVE * scale)
    law = slope_law(blocks.points, blocks.jacobians)
    np.testing.assert_allclose(law.predicted, law.inverse_gain, rtol=tolerances.SLOPE_LAW_RELATIVE)
    np.testing.assert_allclose(law.linear_fraction, fraction, rtol=tolerances.SLOPE_LAW_RELATIVE)
    np.testing.assert_allclose(law.cosine, cosine, atol=tolerances.SLOPE_LAW_RELATIVE)
    inverse = law.inverse_gain
    np.testing.assert_allclose(
        np.diff(inverse), cosine / fraction, rtol=0, atol=tolerances.SLOPE_LAW_RELATIVE * inverse.max()
    )
    np.testing.assert_allclose(law.slopes, cosine / fraction, atol=tolerances.SLOPE_LAW_RELATIVE / fraction)


@given(seeds, st.integers(1, 12), cosines)
def test_t4_with_phi_one_is_t2(seed, depth, cosine):
    rng = generator(seed)
    left, right = direction_pair(rng, 4, cosine)
    start = rng.standard_normal(4)
    start += right * (1 - right @ start)
    first = 1 / (max(0.0, -cosine * (depth - 1)) + rng.uniform(0.3, 3.0))
    singular_values = equispacing.equispaced_singular_values(depth, first, cosine)
    jacobians = equispacing.shared_direction_jacobians(singular_values, left, right)
    law = slope_law(equispacing.predicted_line(start, depth, first, left, right), jacobians)
    np.testing.assert_allclose(law.inverse_gain, 1 / singular_values, rtol=tolerances.SLOPE_LAW_RELATIVE)
    np.testing.assert_allclose(law.slopes, cosine, atol=tolerances.T2_SLOPE)
    blocks = affine_blocks(start, first * left, depth, right, 1.0)
    np.testing.assert_allclose(
        blocks.jacobians, jacobians, rtol=0, atol=tolerances.SLOPE_LAW_RELATIVE * singular_values.max()
    )
    np.testing.assert_array_equal(blocks.biases, np.zeros((depth, 4)))


@given(seeds, st.integers(1, 6), st.integers(2, 6))
def test_t4_the_gain_is_at_most_the_top_singular_value(seed, depth, width):
    rng = generator(seed)
    points, jacobians, _ = pre_activation_instance(rng, depth, width)
    tops = np.linalg.norm(jacobians, ord=2, axis=(1, 2))
    law = slope_law(points, jacobians)
    assert (1 / law.inverse_gain <= tops * (1 + tolerances.SLOPE_LAW_RELATIVE)).all()
    # Equality where the step is a top left singular vector, and only there: turned by an angle it falls short.
    forward = (points[1] - points[0]) / np.linalg.norm(points[1] - points[0])
    frame, _ = np.linalg.qr(np.column_stack([forward, rng.standard_normal((width, width - 1))]))
    spectrum = np.concatenate(([2.0], np.full(width - 1, 0.5)))
    aligned = np.broadcast_to(frame * spectrum @ frame.T, jacobians.shape)
    np.testing.assert_allclose(1 / slope_law(points, aligned).inverse_gain, 2, rtol=tolerances.SLOPE_LAW_RELATIVE)
    turned = frame.copy()
    turned[:, :2] = frame[:, :2] @ np.array([[0.8, -0.6], [0.6, 0.8]])
    short = 1 / slope_law(points, np.broadcast_to(turned * spectrum @ turned.T, jacobians.shape)).inverse_gain
    np.testing.assert_allclose(short, np.sqrt(0.64 * 4 + 0.36 * 0.25), rtol=tolerances.SLOPE_LAW_RELATIVE)


def test_batches_are_stacks_of_single_calls():
    rng = generator(3)
    instances = [pre_activation_instance(rng, 4, 3) for _ in range(2)]
    points, jacobians = np.stack([each[0] for each in instances]), np.stack([each[1] for each in instances])
    law = slope_law(points, jacobians)
    for field in ("inverse_gain", "predicted", "cosine", "linear_fraction", "slopes"):
        singles = [getattr(slope_law(p, j), field) for p, j in zip(points, jacobians, strict=True)]
        np.testing.assert_allclose(getattr(law, field), singles, rtol=tolerances.SLOPE_LAW_RELATIVE)


ONE, UNIT = np.array([1.0, 0.0]), np.array([0.6, 0.8])
LINE = np.array([[0.0, 1.0], [1.0, 1.0], [2.0, 1.0]])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: affine_blocks(ONE, ONE, 0, UNIT, 1.0), "depth = 0"),
        (lambda: affine_blocks(ONE, [1.0], 2, UNIT, 1.0), "step = .*length of start, 2"),
        (lambda: affine_blocks(ONE, [0.0, 0.0], 2, UNIT, 1.0), "step = .*not be zero"),
        (lambda: affine_blocks(ONE, ONE, 2, [1.0, 1.0], 1.0), "right = .*unit norm"),
        (lambda: affine_blocks(ONE, -ONE, 3, UNIT, 1.0), "right = .*stay positive"),
        (lambda: affine_blocks(ONE, ONE, 2, UNIT, 0.0), "linear_fraction = 0.0"),
        (lambda: slope_law(ONE, np.ones((1, 2, 2))), r"points = .*\(..., L\+1, D\)"),
        (lambda: slope_law(LINE, np.ones((3, 2, 2))), r"jacobians = .*\(2, 2, 2\)"),
        (lambda: slope_law([ONE, UNIT, ONE], np.ones((2, 2, 2))), "points = .*coincide"),
        (lambda: slope_law(LINE, np.zeros((2, 2, 2))), r"jacobians\[0\] = .*along the mean step"),
        (lambda: slope_law([[1.0, 1], [2, 1], [2, 1]], np.ones((2, 2, 2))), r"jacobians\[1\] = .*along the mean step"),
    ],
)  # fmt: skip
def test_bad_arguments_are_named(call, message):
    with pytest.raises(ArgumentError, match=message):
        call()


def test_an_unaligned_trajectory_reads_as_such():
    """A random walk through random Jacobians: the identity is off by far more than rounding, so the law can fail."""
    rng = generator(4)
    points = np.cumsum(rng.standard_normal((9, 16)), axis=0)
    law = slope_law(points, rng.standard_normal((8, 16, 16)) / 4)
    assert np.abs(law.predicted / law.inverse_gain - 1).mean() > 0.5
