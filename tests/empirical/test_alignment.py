import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from empirical import alignment
from empirical.jacobians import Linearisation
from tests import tolerances
from tests.strategies import generator, orthogonal, seeds
from theory import ArgumentError, equispacing


def aligned_network(rng, inputs: int, depth: int, width: int, directions: int) -> Linearisation:
    """Pre-activation, exactly linear, J_i = (1/i) U U^T: what RA describes."""
    points, jacobians = [], []
    for _ in range(inputs):
        frame = orthogonal(rng, width)[:, :directions]
        each = frame @ frame.T / np.arange(1, depth + 1)[:, None, None]
        points.append(equispacing.propagate(each, rng.standard_normal(width)))
        jacobians.append(each)
    return Linearisation(np.array(points), np.array(jacobians), np.ones((inputs, depth, width)))


@given(seeds, st.integers(3, 9), st.integers(4, 10))
def test_an_ideally_aligned_network_scores_full_marks(seed, depth, width):
    lin = aligned_network(generator(seed), 2, depth, width, 2)
    dataset = alignment.measure_alignment(lin, classes=3)
    exact = tolerances.ALIGNMENT_ABSOLUTE
    for name in (
        "straightness",
        "step_cosine",
        "linear_r2",
        "first_component",
        "capture",
        "signed_alignment",
        "top_energy",
    ):
        np.testing.assert_allclose(dataset[name], 1, atol=exact, err_msg=name)
    fit = alignment.depth_fit(dataset.singular_value.isel(k=0).values, first_block=1)
    assert fit["slope"] == pytest.approx(1, abs=exact)
    assert fit["exponent"] == pytest.approx(-1, abs=exact)


@given(seeds)
def test_metrics_do_not_depend_on_signs_or_on_the_basis_of_the_whole_space(seed):
    rng = generator(seed)
    jacobians = rng.standard_normal((2, 4, 6, 6))
    left, values, right = np.linalg.svd(jacobians)
    right = np.swapaxes(right, -1, -2)
    signs = rng.choice([-1.0, 1.0], size=(2, 4, 1, 6))
    reference = alignment.pairwise_alignment(jacobians, left[..., :3], right[..., :3], values)
    flipped = alignment.pairwise_alignment(jacobians, (left * signs)[..., :3], (right * signs)[..., :3], values)
    q = orthogonal(rng, 6)
    turned = alignment.pairwise_alignment(q @ jacobians @ q.T, (q @ left)[..., :3], (q @ right)[..., :3], values)
    for name, value in reference.items():
        np.testing.assert_allclose(flipped[name], value, atol=tolerances.ALIGNMENT_ABSOLUTE)
        np.testing.assert_allclose(turned[name], value, atol=tolerances.ALIGNMENT_ABSOLUTE)


def test_opposite_jacobians_are_not_called_aligned():
    base = np.diag([3.0, 2.0, 1.0, 0.5])
    jacobians = np.stack([base, -base])[None]
    left, values, right = np.linalg.svd(jacobians)
    metrics = alignment.pairwise_alignment(jacobians, left[..., :2], np.swapaxes(right, -1, -2)[..., :2], values)
    assert metrics["diagonal_fraction"][0, 0, 1] == pytest.approx(1)
    assert metrics["signed_alignment"][0, 0, 1] == pytest.approx(-1)


def test_pairwise_alignment_against_the_definition_entry_by_entry():
    rng = generator(0)
    jacobians = rng.standard_normal((2, 3, 5, 5))
    left, values, right = np.linalg.svd(jacobians)
    right = np.swapaxes(right, -1, -2)
    metrics = alignment.pairwise_alignment(jacobians, left[..., :2], right[..., :2], values)
    for n in range(2):
        for i in range(3):
            for j in range(3):
                panel = left[n, j, :, :2].T @ jacobians[n, i] @ right[n, j, :, :2]
                top = values[n, i, :2]
                energy = (panel**2).sum()
                assert metrics["diagonal_fraction"][n, i, j] == pytest.approx((np.diag(panel) ** 2).sum() / energy)
                assert metrics["capture"][n, i, j] == pytest.approx(energy / (top**2).sum())
                assert metrics["signed_alignment"][n, i, j] == pytest.approx(np.trace(panel) / top.sum())


def test_random_orientations_meet_the_analytic_nulls():
    # 64 inputs x 56 pairs; means over that many nearly independent panels have standard errors far below the bands.
    rng = generator(1)
    width, directions, depth = 32, 9, 8
    lin = Linearisation(
        np.cumsum(rng.standard_normal((64, depth + 1, width)), axis=1),
        rng.standard_normal((64, depth, width, width)) / np.sqrt(width),
        np.ones((64, depth, width)),
    )
    table = {metric.name: metric for metric in alignment.summarise_alignment(alignment.measure_alignment(lin, 10))}
    spectrum = np.linalg.svd(lin.jacobians, compute_uv=False) ** 2
    capture = (directions / width) ** 2 * float((spectrum.sum(-1) / spectrum[..., :directions].sum(-1)).mean())
    expected = {
        "RA2 diagonal energy fraction, i != j": (1 / directions, 0.005),
        "RA2 capture, i != j": (capture, 0.01),
        "RA2 signed alignment, i != j": (0.0, 0.01),
        "RA2 left-right, second half": (0.0, 0.02),
        "RA1 straightness": (1 / np.sqrt(depth), 0.03),
        "RA1 cosine of consecutive steps": (0.0, 0.03),
    }
    for name, (null, band) in expected.items():
        assert table[name].value == pytest.approx(null, abs=band), name
        assert table[name].null == pytest.approx(null, abs=band), name
        assert table[name].n == 64


def test_scrambling_keeps_singular_values_and_turns_the_vectors_with_the_jacobians():
    rng = generator(2)
    jacobians = rng.standard_normal((3, 2, 5, 5))
    turned, turn_left, turn_right = alignment.scramble(jacobians, rng)
    kept = np.linalg.svd(jacobians, compute_uv=False)
    np.testing.assert_allclose(np.linalg.svd(turned, compute_uv=False), kept, rtol=tolerances.PROPAGATION_RELATIVE)
    np.testing.assert_allclose(turn_left @ jacobians @ turn_right, turned)
    assert np.abs(turned - jacobians).max() > 0.1


def test_left_right_is_one_for_symmetric_positive_and_ignores_inactive_inputs():
    rng = generator(3)
    root = rng.standard_normal((1, 1, 4, 4))
    positive = root @ np.swapaxes(root, -1, -2)
    every = np.ones((1, 1, 4), dtype=bool)
    assert alignment.left_right(positive, every) == pytest.approx(1)
    assert alignment.left_right(-positive, every) == pytest.approx(-1)
    spoiled = np.diag([2.0, 1.0, 1.0, 1.0])[None, None] + 0.0
    spoiled[..., 3] = 100.0
    active = np.array([[[True, True, True, False]]])
    assert alignment.left_right(spoiled, active) == pytest.approx(1)


@given(seeds, st.floats(0.1, 3), st.floats(0.5, 5))
def test_the_depth_fit_recovers_a_line_and_flat_values_have_slope_zero(seed, slope, offset):
    depth = np.arange(1, 9)
    fit = alignment.depth_fit(1 / (offset + slope * depth)[None])
    assert fit["slope"] == pytest.approx(slope, rel=tolerances.FIT_RELATIVE)
    assert fit["r2"] == pytest.approx(1)
    assert alignment.depth_fit(np.full((3, 8), 0.7))["slope"] == pytest.approx(0, abs=tolerances.ALIGNMENT_ABSOLUTE)


def test_a_dead_block_is_credited_with_no_alignment_and_nan_never_travels():
    lin = aligned_network(generator(4), 2, 5, 6, 2)
    lin.jacobians[1, 3] = 0
    dataset = alignment.measure_alignment(lin, classes=3)
    assert all(np.isfinite(dataset[name]).all() for name in dataset.data_vars)
    assert float(dataset.signed_alignment.sel(input=1, block=4).max()) == 0
    assert all(
        np.isfinite([m.value, m.spread, m.null, m.null_spread]).all() for m in alignment.summarise_alignment(dataset)
    )


def test_points_that_never_move_are_not_straight():
    still = alignment.straightness(np.ones((2, 4, 3)))
    assert all((value == 0).all() for value in still.values())


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: alignment.measure_alignment(aligned_network(generator(0), 1, 1, 4, 1), 2), "at least 2"),
        (lambda: alignment.measure_alignment(aligned_network(generator(0), 1, 3, 4, 1), 1), "classes = 1"),
        (lambda: alignment.depth_fit(np.ones((1, 4))), "needs 3 blocks"),
        (lambda: alignment.depth_fit(np.array([[1.0, 1, 1, 0, 1]])), "J_4"),
    ],
)
def test_what_cannot_be_measured_is_named(call, message):
    with pytest.raises(ArgumentError, match=message):
        call()


def test_random_walks_keep_step_lengths():
    rng = generator(5)
    points = np.cumsum(rng.standard_normal((2, 5, 3)), axis=1)
    walk = alignment.random_walk(points, rng)
    np.testing.assert_allclose(
        np.linalg.norm(np.diff(walk, axis=1), axis=-1), np.linalg.norm(np.diff(points, axis=1), axis=-1)
    )
    np.testing.assert_array_equal(walk[:, 0], points[:, 0])
