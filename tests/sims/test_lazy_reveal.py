import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from sims import hamiltonians, lazy_reveal
from tests import strategies, tolerances
from theory import ArgumentError, depth_law

MIXED, PURE = np.array([0.2, 0.3, 0.5]), np.array([0.0, 0.0, 1.0])


def dense_descents(n, weights, steps, rate, runs, seed):
    """The same descent on exact polynomials, all coefficients drawn beforehand: values and slopes, (runs, columns)."""
    generator = torch.Generator().manual_seed(seed)
    field = hamiltonians.sample(n, weights, runs, generator)
    points = torch.randn(runs, 1, n, generator=generator, dtype=torch.float64)
    points /= points.norm(dim=-1, keepdim=True)
    values, slopes = [], []
    for _ in range(steps + 1):
        gradient = field.gradients(points)
        tangential = gradient - (gradient * points).sum(-1, keepdim=True) * points
        values.append(field.values(points))
        slopes.append(tangential.norm(dim=-1))
        points = points - rate * tangential
        points = points / points.norm(dim=-1, keepdim=True)
    return torch.cat(values + slopes, 1).numpy()


@pytest.mark.parametrize("weights", [MIXED, PURE], ids=["mixed", "pure 3"])
def test_descent_has_the_law_of_descent_on_the_full_tensors(weights):
    steps, rate, runs = 3, 0.15, 600
    rng = np.random.default_rng(11)
    paths = [lazy_reveal.descend(4, weights, steps, rate, rng) for _ in range(runs)]
    lazy = np.array([np.concatenate([path.values, path.slopes]) for path in paths])
    dense = dense_descents(4, weights, steps, rate, runs, seed=12)
    for power in (1, 2):
        a, b = lazy**power, dense**power
        z = (a.mean(0) - b.mean(0)) / np.sqrt((a.var(0) + b.var(0)) / runs)
        assert np.abs(z).max() < tolerances.STANDARD_ERRORS


@given(seed=strategies.seeds, n=st.integers(3, 30), p=st.integers(2, 40))
def test_a_point_seen_twice_shows_the_same_field(seed, n, p):
    rng = strategies.generator(seed)
    weights = depth_law.energy(p, 0.7)
    first, second = strategies.unit_vector(rng, n), strategies.unit_vector(rng, n)
    points, values, gradients = first[None], np.zeros(0), np.zeros((0, n))
    for new in (second, None):
        value, gradient = lazy_reveal.reveal(weights, points, values, gradients, rng)
        values, gradients = np.append(values, value), np.vstack([gradients, gradient])
        if new is not None:
            points = np.vstack([points, new])
    # Ask again, a hair beside the first point: value and gradient follow Taylor's formula.
    beside = first + tolerances.TAYLOR_STEP * second
    points = np.vstack([points, beside / np.linalg.norm(beside)])
    value, _ = lazy_reveal.reveal(weights, points, values, gradients, rng)
    predicted = values[0] + gradients[0] @ (points[-1] - first)
    assert value == pytest.approx(predicted, abs=tolerances.TAYLOR_ABSOLUTE * p**2)


@pytest.mark.parametrize("p", [3, 5])
def test_a_pure_field_obeys_eulers_relation_everywhere(p):
    weights = np.eye(p)[p - 1]
    path = lazy_reveal.descend(50, weights, 6, 0.05, np.random.default_rng(0))
    radial = (path.gradients * path.points).sum(1)
    np.testing.assert_allclose(radial, p * path.values, rtol=0, atol=tolerances.SINGULAR_CONDITIONING)


def test_descent_goes_down_at_any_size():
    weights = depth_law.energy(50, 1.0)
    curvature = lazy_reveal.derivative(weights, np.float64(1.0), 2)
    path = lazy_reveal.descend(400, weights, 12, 0.5 / np.sqrt(400 * curvature), np.random.default_rng(0))
    assert path.points.shape == (13, 400)
    assert (np.diff(path.values) < 0).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [((1, PURE, 1, 0.1), "n = 1"), ((4, PURE, 4, 0.1), "steps = 4: .*between 1 and 3"), ((4, PURE, 2, 0.0), "rate"),
     ((4, -PURE, 2, 0.1), r"weights\[2\]")],
)  # fmt: skip
def test_bad_arguments_are_named(arguments, message):
    with pytest.raises(ArgumentError, match=message):
        lazy_reveal.descend(*arguments, np.random.default_rng(0))
