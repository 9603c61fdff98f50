import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests import tolerances
from tests.strategies import generator, seeds
from theory import ArgumentError, scale_dynamics

MU = 1e-4


def stationary_block(seed, skipped):
    """A loss L_m(w) + lambda A(w), A and L_m quadratic with A(w) = 0 exactly at w, so dL/dlambda = 0 there."""
    rng = generator(seed)
    n = 4
    through, around = (matrix + matrix.T for matrix in rng.standard_normal((2, n, n)))
    slope, other = rng.standard_normal((2, n))
    w = rng.standard_normal(n)
    scale = float(rng.uniform(0.3, 2) * rng.choice([-1, 1]))
    constant = w @ through @ w + slope @ w

    def deep(v):
        return scale * (v @ through @ v + slope @ v - constant)

    g_p = scale * (2 * through @ w + slope)
    g_m = 2 * around @ w + other if skipped else np.zeros(n)
    return w, scale, g_p, g_m, 2 * scale * through, deep


@given(seeds, st.booleans())
def test_theorem_3_is_what_two_gradient_steps_do(seed, skipped):
    w, scale, g_p, g_m, hessian, deep = stationary_block(seed, skipped)
    g = g_p + g_m
    move = scale_dynamics.scale_move(scale, MU, g_p, g_m if skipped else None, curvature=float(g @ hessian @ g))
    # First the weights, then lambda_l, whose derivative is L_p / lambda_l.
    stepped = -MU * deep(w - MU * g) / scale
    assert stepped == pytest.approx(move.change, rel=1e-6, abs=1e-9 * MU)
    if not move.failed:
        assert move.grows
        assert abs(scale + stepped) > abs(scale)
    if not skipped:
        assert move.failed == ()  # case (i): always, for mu small
        # second order in mu: |g|^2 / lambda to leading order
        assert move.change == pytest.approx(MU**2 * g @ g / scale, rel=tolerances.SECOND_ORDER_RELATIVE * 10)


@given(seeds, st.floats(1.01, 100))
def test_beyond_its_largest_step_theorem_3_fails(seed, factor):
    """mu < 2 G / |Q| is needed; take Q > 0 and a larger step."""
    w, scale, g_p, g_m, hessian, deep = stationary_block(seed, skipped=True)
    g = g_p + g_m
    bend = float(g @ hessian @ g)
    assume(g_p @ g > 1e-3 and bend > 1e-3)
    largest = scale_dynamics.scale_move(scale, MU, g_p, g_m, curvature=bend).largest_step
    mu = largest * factor
    move = scale_dynamics.scale_move(scale, mu, g_p, g_m, curvature=bend)
    assert not move.grows
    assert any("mu is not below" in reason for reason in move.failed)
    assert abs(scale - mu * deep(w - mu * g) / scale) < abs(scale) or move.change * scale < -2 * scale**2


@given(seeds, st.floats(-2, 2).filter(lambda v: abs(v) > 1e-3), st.floats(-5, 5).filter(lambda v: abs(v) > 1e-3))
def test_off_the_stationary_set_the_move_is_of_first_order(seed, scale, value):
    g = generator(seed).standard_normal(3)
    move = scale_dynamics.scale_move(scale, 1e-6, g, value=value)
    squared_speed = ((scale + move.change) ** 2 - scale**2) / 1e-6
    assert squared_speed == pytest.approx(-2 * value, abs=1e-4 * (1 + (value / scale) ** 2 + g @ g))
    assert any("first order" in reason for reason in move.failed)


def test_gradient_flow_conserves_differences_of_squared_scales():
    """Unskipped scales: L = lambda_1 lambda_2 a(w), d(lambda^2)/dt = -2 L for both."""
    first, second, a, dt = 0.7, -1.3, 0.4, 1e-4
    start = first**2 - second**2
    for _ in range(2000):
        loss = first * second * a
        moves = [scale_dynamics.scale_move(each, dt, [0.0], value=loss).change for each in (first, second)]
        first, second, a = first + moves[0], second + moves[1], a - dt * first * second
    assert first**2 - second**2 == pytest.approx(start, abs=1e-3)
    assert abs(first - 0.7) > 0.05  # they did move


def test_hidden_hypotheses_of_theorem_3_are_named():
    assert "no sign to keep" in scale_dynamics.scale_move(0.0, MU, [1.0]).failed[0]
    assert math.isnan(scale_dynamics.scale_move(0.0, MU, [1.0]).change)
    assert scale_dynamics.scale_move(1.0, MU, [0.0, 0.0]).failed == ("the gradient in w is zero: nothing moves",)
    opposed = scale_dynamics.scale_move(1.0, MU, [1.0, 0.0], [-2.0, 0.0])
    assert opposed.failed == ("g_p . g is not positive",)
    assert not opposed.grows
    assert opposed.largest_step == 0


def two_degree_loss(seed):
    """L_m + L_p with random homogeneous L_m = u^m, L_p = sum of two powers, at a point where m L_m + p L_p = 0."""
    rng = generator(seed)
    m, p = sorted(rng.choice(np.arange(1, 7), size=2, replace=False).tolist())
    shallow, deep = rng.standard_normal((2, 3, 4))
    w = rng.standard_normal(4)
    L_m = np.sum((shallow @ w) ** m)
    L_p = np.sum((deep @ w) ** p)
    factor = -m * L_m / (p * L_p)

    def radial(v):
        return m * np.sum((shallow @ v) ** m) + factor * p * np.sum((deep @ v) ** p)

    g_m = shallow.T @ (m * (shallow @ w) ** (m - 1))
    g_p = factor * deep.T @ (p * (deep @ w) ** (p - 1))
    return (m, p), w, g_m, g_p, radial


@given(seeds)
def test_theorem_4_is_the_first_order_change_of_the_radial_derivative(seed):
    degrees, w, g_m, g_p, radial = two_degree_loss(seed)
    g = g_m + g_p
    size = np.linalg.norm(g)
    assume(1e-2 < size < 1e3)
    mu = 1e-6 / size**2
    scale = np.linalg.norm(w) / 2
    predicted = scale_dynamics.depth_derivative(mu, scale, degrees, g_m, g_p)
    # Central difference in mu, so that only third derivatives are left over.
    change = (radial(w - mu * g) - radial(w + mu * g)) / 2
    terms = mu * (degrees[0] * abs(g_m @ g) + degrees[1] * abs(g_p @ g))
    assert change / scale == pytest.approx(predicted, rel=1e-4, abs=1e-4 * terms / scale + 1e-12 / scale)


@given(seeds, st.floats(0, 2), st.integers(1, 6), st.integers(1, 6))
def test_the_form_of_theorem_4_is_negative_for_opposed_gradients_between_m_over_p_and_one(seed, t, m, gap):
    p = m + gap
    g_m = generator(seed).standard_normal(3)
    value = scale_dynamics.depth_derivative(MU, 1.0, (m, p), g_m, -t * g_m)
    expected = -MU * (1 - t) * (m - p * t) * (g_m @ g_m)
    assert value == pytest.approx(expected, abs=1e-12)
    assume(min(abs(t - 1), abs(t - m / p)) > 1e-6)
    assert (value > 0) == (m / p < t < 1)  # C then shrinks, against LS


def test_the_counterexample_in_the_plane():
    """after a step of 1e-3 from (1, 0), dL/dC = +3.5e-4 and the next step lowers C."""
    start = scale_dynamics.plane_counterexample(1.0, 0.0)
    assert start.scale_derivative == 0
    x, y = (w - 1e-3 * g for w, g in zip((1.0, 0.0), start.gradient, strict=True))
    after = scale_dynamics.plane_counterexample(x, y)
    assert after.scale_derivative == pytest.approx(3.5e-4, abs=1e-5)
    predicted = scale_dynamics.depth_derivative(1e-3, start.scale, (2, 4), [0.0, 1.0], [0.0, -0.75])
    assert after.scale_derivative == pytest.approx(predicted, rel=1e-3)
    # The step itself lengthens w by mu^2 |g|^2 (w . g = 0) ...
    assert after.scale**2 - start.scale**2 == pytest.approx(0.5 * 1e-6 * 0.25**2, rel=1e-6)
    following = scale_dynamics.plane_counterexample(x - 1e-3 * after.gradient[0], y - 1e-3 * after.gradient[1])
    # ... and the next one shortens it, by more.
    assert following.scale < start.scale < after.scale


@given(st.floats(-2, 2), st.floats(-2, 2))
def test_the_gradient_of_the_counterexample(x, y):
    assume(abs(x) + abs(y) > 0.01)
    step = 1e-5
    state = scale_dynamics.plane_counterexample(x, y)
    for axis, slope in zip(((step, 0), (0, step)), state.gradient, strict=True):
        high = scale_dynamics.plane_counterexample(x + axis[0], y + axis[1]).loss
        low = scale_dynamics.plane_counterexample(x - axis[0], y - axis[1]).loss
        assert (high - low) / (2 * step) == pytest.approx(slope, abs=1e-7)


def test_a_kept_normaliser_counts_degrees_from_the_mean_depth():
    g_m, g_p = [1.0, 0.5], [0.2, -0.3]
    kept = scale_dynamics.depth_derivative(MU, 2.0, (1, 3), g_m, g_p, mean_depth=1.4)
    assert kept == pytest.approx(scale_dynamics.depth_derivative(MU, 2.0, (-0.4, 1.6), g_m, g_p))
    # Both gradients agree, and still the sign may flip: the shallow degree is now negative.
    assert scale_dynamics.depth_derivative(MU, 2.0, (1, 3), [1.0], [0.1], mean_depth=1.9) > 0


def test_variances_of_the_stream_with_and_without_centring():
    """LS's rule E N^2 + 1 needs the mean subtracted; printed and simulated values of section 3."""
    as_printed = scale_dynamics.batchnorm_second_moments(10)
    assert as_printed[0] == pytest.approx(1.47, abs=5e-3)
    assert as_printed[-1] == pytest.approx(56.69, abs=5e-3)
    simulated = [1.45, 3.86, 7.12, 11.31, 16.28, 22.3, 29.66, 37.7, 46.46, 55.78]
    np.testing.assert_allclose(as_printed, simulated, rtol=0.03)
    centred = scale_dynamics.batchnorm_second_moments(10, centred=True)
    np.testing.assert_array_equal(centred, np.arange(1, 11))
    np.testing.assert_allclose(np.diff(centred), 1)
    assert np.diff(as_printed).max() > 9


@pytest.mark.parametrize(("centred", "seed"), [(False, 20167), (True, 20168)])
def test_variances_of_the_stream_against_a_wide_network(centred, seed):
    rng = generator(seed)
    width, layers, inputs = 300, 5, 200
    stream = rng.standard_normal((inputs, width))
    stream /= np.sqrt((stream**2).mean())
    measured = []
    for layer in range(layers):
        branch = np.maximum(stream @ rng.standard_normal((width, width)) / math.sqrt(width), 0)
        # sigma_l as LS has it, one number a layer; centring per unit over inputs.
        if centred:
            branch = branch - branch.mean(axis=0)
        branch /= branch.std() if centred else math.sqrt(branch.var(axis=0).mean() + branch.mean(axis=0).var())
        stream = branch + (stream if layer else 0)
        measured.append((stream**2).mean())
    expected = scale_dynamics.batchnorm_second_moments(layers, centred=centred)
    np.testing.assert_allclose(measured, expected, rtol=0.15)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: scale_dynamics.scale_move(1.0, 0.0, [1.0]), "mu = 0.0"),
        (lambda: scale_dynamics.scale_move(math.nan, MU, [1.0]), "scale = nan"),
        (lambda: scale_dynamics.scale_move(1.0, MU, [[1.0]]), "through = .*1 dimension"),
        (lambda: scale_dynamics.scale_move(1.0, MU, [1.0], [1.0, 2.0]), r"around = .*must have shape \(1,\)"),
        (lambda: scale_dynamics.depth_derivative(MU, 0.0, (1, 2), [1.0], [1.0]), "scale = 0.0"),
        (lambda: scale_dynamics.depth_derivative(MU, 1.0, (1, math.inf), [1.0], [1.0]), "degrees = inf"),
        (lambda: scale_dynamics.plane_counterexample(0.0, 0.0), "must not both be zero"),
        (lambda: scale_dynamics.batchnorm_second_moments(0), "layers = 0"),
    ],
)
def test_bad_arguments_are_named(call, message):
    with pytest.raises(ArgumentError, match=message):
        call()
