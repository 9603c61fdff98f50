"""U5, U5', U6, M1, M2, M4 at stationary points found numerically, and where they are false."""

import numpy as np
import pytest
import scipy.linalg
from hypothesis import given
from scipy.optimize import least_squares, minimize

from tests import naive, tolerances
from tests.strategies import generator, orthogonal, seeds, stationary_ujm
from theory import ArgumentError, class_model, stationarity, unconstrained


def _gradient(flat, case):
    """Gradient over lam of the C-class UJM, by hand; ``flat`` is one point or a batch of points (n, size)."""
    depth, dim, classes = case["depth"], case["dim"], case["classes"]
    lead, split = flat.shape[:-1], depth * dim * dim
    jacobians = flat[..., :split].reshape(*lead, depth, dim, dim)
    matrix = flat[..., split:].reshape(*lead, classes, dim)
    points = [np.broadcast_to(case["inputs"], (*lead, *case["inputs"].shape))]
    for i in range(depth):
        points.append(points[-1] + jacobians[..., i, :, :] @ points[-1])
    logits = matrix @ points[-1]
    weights = np.exp(logits - logits.max(-2, keepdims=True))
    residual = weights / weights.sum(-2, keepdims=True)
    count = case["labels"].size
    residual[..., case["labels"], np.arange(count)] -= 1
    residual /= count * case["weight_decay"]
    back, blocks = matrix.swapaxes(-1, -2) @ residual, np.empty_like(jacobians)
    for i in range(depth - 1, -1, -1):
        blocks[..., i, :, :] = back @ points[i].swapaxes(-1, -2) + jacobians[..., i, :, :]
        back = back + jacobians[..., i, :, :].swapaxes(-1, -2) @ back
    classifier = residual @ points[-1].swapaxes(-1, -2) + matrix
    return np.concatenate([blocks.reshape(*lead, -1), classifier.reshape(*lead, -1)], axis=-1)


def _jacobian(flat, case):
    """Central differences of the gradient: the Hessian over lam."""
    steps = 1e-6 * np.eye(flat.size)
    return (_gradient(flat + steps, case) - _gradient(flat - steps, case)) / 2e-6


def _stationary_point(rng, case):
    """A stationary point from a random start, or None: least squares on the gradient, so saddles are found too."""
    size = case["depth"] * case["dim"] ** 2 + case["classes"] * case["dim"]
    start = rng.standard_normal(size) * rng.uniform(0.3, 1.5)
    start = _descend(rng, case) if rng.random() < 0.4 else start
    found = least_squares(
        lambda flat: _gradient(flat, case), start, jac=lambda flat: _jacobian(flat, case),  # type: ignore[arg-type]
        xtol=1e-15, ftol=1e-15, gtol=1e-15, max_nfev=100,
    ).x  # fmt: skip
    # The finite-difference Jacobian is good to 1e-9: a few Newton steps with it reach rounding.
    for _ in range(3):
        found = found - np.linalg.lstsq(_jacobian(found, case), _gradient(found, case), rcond=1e-10)[0]
    if not np.linalg.norm(_gradient(found, case)) < 1e-9 or np.abs(found).max() > 20:
        return None
    split = case["depth"] * case["dim"] ** 2
    return found[:split].reshape(case["depth"], case["dim"], case["dim"]), found[split:].reshape(case["classes"], -1)


def _attack(rng, wanted):
    """Check every statement at ``wanted`` stationary points; returns how many had flips and how many were minima."""
    seen = flips = minima = 0
    while seen < wanted:
        case = stationary_ujm(rng, depth=3, dim=3, classes=4)
        point = _stationary_point(rng, case)
        if point is None:
            continue
        seen += 1
        jacobians, matrix = point
        limit = tolerances.NEWTON_DEFECT * (1 + np.abs(jacobians).max()) ** 2
        assert np.all(stationarity.balance_defect(jacobians) < limit)
        assert np.all(stationarity.symmetry_defect(jacobians) < limit)
        assert np.all(stationarity.classifier_defect(jacobians, matrix) < limit)
        assert np.abs(matrix.sum(0)).max() < limit
        assert np.linalg.matrix_rank(matrix, tol=1e-5) <= class_model.rank_bound(case["classes"])
        flat = np.concatenate([jacobians.ravel(), matrix.ravel()])
        hessian = _jacobian(flat, case)
        least = np.linalg.eigvalsh((hessian + hessian.T) / 2)[0]
        rank = np.linalg.matrix_rank(matrix, tol=1e-5)
        flipped = np.linalg.eigvalsh((jacobians + jacobians.swapaxes(1, 2)) / 2)[:, 0].min() < -0.5
        if rank == case["dim"]:
            if flipped:
                with pytest.raises(ArgumentError, match="has rank D"):
                    stationarity.negative_curvature(jacobians, matrix, case["weight_decay"])
            continue
        down = stationarity.negative_curvature(jacobians, matrix, case["weight_decay"])
        assert (down is not None) == flipped
        if down is not None:
            flips += 1
            direction = np.concatenate([down.jacobians.ravel(), down.classifier.ravel()])
            assert np.linalg.norm(direction) == pytest.approx(1)
            curvature = case["weight_decay"] * direction @ hessian @ direction
            assert down.bound < 0
            # The finite-difference Hessian is good to about 1e-7.
            assert curvature == pytest.approx(down.bound, rel=1e-4, abs=1e-6 * case["weight_decay"])
            assert case["weight_decay"] * least <= down.bound * (1 - 1e-4)
        if least > 1e-6:
            minima += 1
            closed = stationarity.minimum_from_classifier(matrix)
            assert np.abs(jacobians - closed).max() < 10 * limit
            if case["dim"] >= case["classes"] and np.linalg.matrix_rank(case["inputs"]) == case["labels"].size:
                assert rank == case["classes"] - 1
    return flips, minima


def test_every_statement_at_numerical_stationary_points():
    flips, minima = _attack(generator(3), 60)
    assert flips >= 5
    assert minima >= 5


@pytest.mark.slow
def test_every_statement_at_many_numerical_stationary_points():
    flips, minima = _attack(generator(4), 1000)
    assert flips >= 100
    assert minima >= 100


@given(seeds)
def test_the_direction_at_exact_binary_points_and_its_bound(seed):
    rng = generator(seed)
    depth, dim = int(rng.integers(1, 6)), int(rng.integers(2, 5))
    decay, norm = 10 ** rng.uniform(-3, 0), 10 ** rng.uniform(-1, 1)
    flips = int(rng.integers(1, depth + 1))
    blocks = rng.choice(depth, flips, replace=False)
    unit = orthogonal(rng, dim)[0]
    label = int(rng.choice([1, -1]))
    for point in unconstrained.stationary_points(depth, decay, norm, flips=flips):
        sigma = np.full(depth, point.s)
        sigma[blocks] = -1 - point.s
        jacobians = sigma[:, None, None] * np.outer(unit, unit)
        classifier = label * (-1) ** flips * point.omega * unit
        down = stationarity.negative_curvature(jacobians, classifier, decay)
        assert down is not None
        assert down.block == blocks.max() + 1
        assert down.bound < 0
        step = 1e-3
        values = [
            naive.ujm_objective(
                jacobians + k * step * down.jacobians, classifier + k * step * down.classifier, decay, norm * unit,
                label, "logistic",
            )
            for k in (-1, 0, 1)
        ]  # fmt: skip
        curvature = (values[0] - 2 * values[1] + values[2]) / step**2
        size = max(1.0, point.omega**2) * decay * (1 + point.s) ** 2
        assert curvature == pytest.approx(down.bound, abs=1e-4 * size + 1e-15 * max(values) / step**2)


def test_no_flip_no_direction_and_no_stationarity_is_refused():
    point = unconstrained.global_optimum(3, 0.1, 1.0)
    unit = np.array([1.0, 0.0])
    jacobians = np.broadcast_to(point.s * np.outer(unit, unit), (3, 2, 2)).copy()
    assert stationarity.negative_curvature(jacobians, point.omega * unit, 0.1) is None
    with pytest.raises(ArgumentError, match="not a stationary point"):
        stationarity.negative_curvature(jacobians * 1.01, point.omega * unit, 0.1)
    with pytest.raises(ArgumentError, match="square"):
        stationarity.balance_defect(np.zeros((2, 3, 2)))
    with pytest.raises(ArgumentError, match="must be"):
        stationarity.classifier_defect(jacobians, np.zeros(3))


def test_the_balance_defect_is_its_formula_for_any_matrices():
    first, second = generator(2).standard_normal((2, 3, 3))
    literal = second + second.T @ second - first - first @ first.T
    assert stationarity.balance_defect(np.array([first, second])) == pytest.approx([np.linalg.norm(literal)])


def test_the_defects_see_a_perturbation():
    rng = generator(1)
    jacobians = np.broadcast_to(stationarity.minimum_from_classifier(rng.standard_normal((2, 4))), (3, 4, 4)).copy()
    assert stationarity.balance_defect(jacobians).max() < tolerances.NEWTON_DEFECT
    jacobians[1, 0, 1] += 1e-3
    assert stationarity.balance_defect(jacobians).min() > 1e-4
    assert stationarity.symmetry_defect(jacobians)[1] == pytest.approx(1e-3 * 2**0.5)


@given(seeds)
def test_the_closed_form_is_the_matrix_square_root(seed):
    rng = generator(seed)
    matrix = rng.standard_normal((int(rng.integers(1, 5)), int(rng.integers(1, 6)))) * 10 ** rng.uniform(-6, 1)
    closed = stationarity.minimum_from_classifier(matrix)
    gram = matrix.T @ matrix
    root = np.real(scipy.linalg.sqrtm(np.eye(len(gram)) / 4 + gram)) - np.eye(len(gram)) / 2
    np.testing.assert_allclose(closed, root, atol=1e-13 * max(1.0, np.abs(root).max()))
    # Relative accuracy for tiny classifiers, where the formula as written cancels.
    np.testing.assert_allclose(closed + closed @ closed, gram, rtol=0, atol=1e-13 * np.abs(gram).max())


def test_unequal_blocks_at_a_minimum_for_small_width_stay_a_counterexample():
    """M4 is false for D <= rank W: C = 3, D = 2, L = 2, lam = .0102005."""
    rng = generator(0)
    found = None
    for _ in range(400):
        case = {"depth": 2, "dim": 2, "classes": 3, "labels": np.arange(3), "weight_decay": 0.0102005,
                "inputs": rng.standard_normal((2, 3))}  # fmt: skip
        flat = _descend(rng, case)
        jacobians = flat[:8].reshape(2, 2, 2)
        if np.abs(jacobians[0] - jacobians[1]).max() > 0.1:
            hessian = _jacobian(flat, case)
            stationary = np.linalg.norm(_gradient(flat, case)) < 1e-5
            if stationary and np.linalg.eigvalsh((hessian + hessian.T) / 2)[0] > 1e-3:
                found = jacobians
                break
    assert found is not None
    assert stationarity.symmetry_defect(found).max() < 1e-6
    assert np.linalg.eigvalsh(found)[:, 0].min() < -1


def _descend(rng, case):
    """The end of BFGS from a random start: a local minimum, nearly always."""
    split = case["depth"] * case["dim"] ** 2

    def value(flat):
        blocks = flat[:split].reshape(case["depth"], case["dim"], case["dim"])
        matrix = flat[split:].reshape(case["classes"], case["dim"])
        return naive.class_objective(blocks, matrix, case["weight_decay"], case["inputs"], case["labels"])

    start = rng.standard_normal(split + case["classes"] * case["dim"]) * 1.5
    flat = minimize(
        lambda x: value(x) / case["weight_decay"], start, jac=lambda x: _gradient(x, case), method="BFGS",
        options={"gtol": 1e-8},
    ).x  # fmt: skip
    return flat
