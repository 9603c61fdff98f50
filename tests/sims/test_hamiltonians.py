import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from sims import critical_points, hamiltonians
from tests import strategies, tolerances
from theory import ArgumentError, depth_law

PURE3 = np.array([0.0, 0.0, 1.0])


def generator(seed):
    return torch.Generator().manual_seed(seed)


@settings(max_examples=20)
@given(seed=strategies.seeds, n=st.integers(2, 4), p=st.integers(1, 6))
def test_derivatives_are_those_of_autograd(seed, n, p):
    weights = depth_law.energy(p, 0.8)
    field = hamiltonians.sample(n, weights, 1, generator(seed))
    point = torch.from_numpy(strategies.unit_vector(strategies.generator(seed), n))

    def value(u):
        return field.values(u[None, None])[0, 0]

    f, gradient, hessian = field.derivatives(point[None, None])
    size = tolerances.PROPAGATION_RELATIVE * p**2
    assert float(f) == pytest.approx(float(value(point)), abs=size)
    torch.testing.assert_close(gradient[0, 0], torch.func.grad(value)(point), rtol=0, atol=size)
    torch.testing.assert_close(hessian[0, 0], torch.func.hessian(value)(point), rtol=0, atol=size)
    torch.testing.assert_close(field.gradients(point[None, None]), gradient, rtol=0, atol=size)


@pytest.mark.parametrize("weights", [PURE3, np.array([0.3, 0.2, 0.0, 0.5])], ids=["pure 3", "mixed"])
def test_the_covariance_is_nu_of_the_overlap(weights):
    rng = np.random.default_rng(5)
    points = np.stack([strategies.unit_vector(rng, 4) for _ in range(5)])
    runs = 20_000
    field = hamiltonians.sample(4, weights, runs, generator(6))
    values = field.values(torch.from_numpy(points).expand(runs, -1, -1)).numpy()
    products = values[:, :, None] * values[:, None]
    expected = np.polynomial.Polynomial(np.concatenate(([0.0], weights)))(points @ points.T)
    z = (products.mean(0) - expected) / (products.std(0) / math.sqrt(runs))
    assert np.abs(z).max() < tolerances.STANDARD_ERRORS


@given(seed=strategies.seeds)
def test_a_linear_field_has_its_two_poles(seed):
    field = hamiltonians.sample(3, np.array([1.0]), 1, generator(seed))
    (found,) = critical_points.find(field, 20, generator(seed))
    assert found.complete
    assert found.counts().tolist() == [1, 0, 1]
    np.testing.assert_allclose(found.points[0], -found.points[1], atol=tolerances.DESCENT_DISTANCE)


@given(seed=strategies.seeds, n=st.integers(2, 5))
def test_a_quadratic_field_has_its_eigenvectors(seed, n):
    # R = 1: exactly 2N critical points, two of each index.
    field = hamiltonians.sample(n, np.array([0.0, 1.0]), 1, generator(seed))
    (found,) = critical_points.find(field, 40, generator(seed))
    assert found.counts().tolist() == [2] * n
    matrix = field.derivatives(torch.zeros(1, 1, n, dtype=torch.float64))[2][0, 0] / 2
    expected = np.repeat(np.linalg.eigvalsh(matrix.numpy()), 2)
    np.testing.assert_allclose(np.sort(found.values), expected, atol=tolerances.PROPAGATION_RELATIVE)


def test_more_starts_find_nothing_more():
    field = hamiltonians.sample(5, PURE3, 10, generator(0))
    few, many = (critical_points.find(field, starts, generator(starts)) for starts in (120, 500))
    for one, other in zip(few, many, strict=True):
        assert one.complete
        assert other.complete
        assert one.counts().tolist() == other.counts().tolist()


def test_the_circle_is_the_sphere_of_dimension_one():
    # Roots of the derivative against sign changes of the derivative on a fine grid.
    field = hamiltonians.sample(2, depth_law.energy(10, 0.5), 100, generator(1))
    angles = torch.linspace(0, 2 * math.pi, 6_001, dtype=torch.float64)[:-1] + 0.1
    circle = torch.stack([angles.cos(), angles.sin()], dim=1)
    across = torch.stack([-angles.sin(), angles.cos()], dim=1)
    for instance, found in enumerate(critical_points.find(field, 1, generator(0))):
        slope = (field.part(slice(instance, instance + 1)).gradients(circle[None])[0] * across).sum(1)
        changes = int((slope * slope.roll(1) < 0).sum())
        assert found.complete
        assert len(found.index) == changes


def test_a_missing_point_is_reported_not_averaged_in(monkeypatch):
    field = hamiltonians.sample(3, PURE3, 3, generator(2))
    complete = critical_points.find(field, 60, generator(2))[0]
    monkeypatch.setattr(critical_points, "_LARGEST_ROUNDS", 2)
    monkeypatch.setattr(critical_points, "distinct", lambda points: complete.points[:-1])
    found = critical_points.find(field.part(slice(0, 1)), 60, generator(2))[0]
    assert found.euler_sum() != critical_points.euler_characteristic(3)
    assert not found.complete


@pytest.mark.parametrize(
    ("arguments", "message"),
    [((1, PURE3, 1), "n = 1"), ((3, -PURE3, 1), r"weights\[2\]"), ((30, np.ones(9), 1), "n = 30: needs .* monomials")],
)
def test_bad_arguments_are_named(arguments, message):
    with pytest.raises(ArgumentError, match=message):
        hamiltonians.sample(*arguments, generator(0))
