"""U2, U3, U4 of the binary UJM: reference values, root counts, the optimum against all else, the Hessian index."""

import itertools
import math

import numpy as np
import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from tests import naive, tolerances
from tests.strategies import depths, generator, input_norms, seeds, smooth_losses, unit_vector, weight_decays, widths
from theory import ArgumentError, transition, unconstrained
from theory.decay_curve import DecayCurve
from theory.margin_losses import LOSSES, cross_polytope_loss, margin_loss, simplex_loss

# Projection raises the margin, which lowers these at any margin and the squared loss only up to 1.
falling_losses = st.sampled_from(["logistic", "exponential", "hinge"])

REFERENCE = [
    (1, 0.1, 1.0, ["0.932699503163602"], ["0.205627296908159"]),
    (4, 0.1, 1.0, ["0.478685444680441"], ["0.0989737525700487"]),
    (16, 0.6, 0.1, ["0.00909229771680428", "0.0912701335556842", "0.262711293744707"],
     ["0.690776184366574", "0.701219291449806", "0.517157672070347"]),
    (16, 0.9, 0.1, ["0.00340864554691149", "0.148132563658535", "0.238166318917691"],
     ["0.691686950252877", "0.757239502967173", "0.715675032706949"]),
    (32, 0.01, 2.0, ["0.0879070368180519"], ["0.00181891591285823"]),
]  # fmt: skip


@pytest.mark.parametrize(("depth", "decay", "norm", "roots", "objectives"), REFERENCE)
def test_reference_values_of_forty_digit_arithmetic(depth, decay, norm, roots, objectives):
    points = unconstrained.stationary_points(depth, decay, norm)
    rel = tolerances.UJM_REFERENCE_RELATIVE
    assert [point.s for point in points] == pytest.approx([float(root) for root in roots], rel=rel)
    assert [point.objective for point in points] == pytest.approx([float(each) for each in objectives], rel=rel)
    best = min(points, key=lambda point: point.objective)
    assert unconstrained.global_optimum(depth, decay, norm) == best
    assert unconstrained.minima(depth, decay, norm) == points[::2]


def _no_root_missed(rng, points):
    loss = ["logistic", "exponential", "squared"][rng.integers(3)]
    depth = int(10 ** rng.uniform(0.31, 4))
    if rng.random() < 0.5:
        decay, norm = 10 ** rng.uniform(-12, 6), 10 ** rng.uniform(-6, 6)
        flips = int(rng.integers(0, min(depth, 3) + 1))
    else:
        # Beside the window of three roots, which follows the cusp roughly like this.
        edge, ratio = transition.cusp(depth, loss), 10 ** rng.uniform(-1, 0.03)
        norm, decay = edge.input_norm * ratio, edge.weight_decay * ratio**0.6 * 10 ** rng.uniform(-0.15, 0.15)
        flips = 0
    found = [math.log(each.s) for each in unconstrained.stationary_points(depth, decay, norm, loss, flips=flips)]
    scanned = naive.sign_scan_roots(depth, decay, norm, loss, flips, points)
    step = 120 / (points - 1)
    # Two roots inside one grid step cancel in the scan; everything the scan sees must have been found.
    for seen in scanned:
        assert any(seen - 1e-9 <= each <= seen + step + 1e-9 for each in found), (depth, decay, norm, loss, flips)
    inside = [each for each in found if -80 < each < 40]
    gaps = np.diff(inside)
    if not (gaps < 2 * step).any():
        assert len(scanned) == len(inside), (depth, decay, norm, loss, flips)
    return len(found)


def test_no_root_is_missed_by_a_sign_scan():
    rng = generator(20)
    counts = [_no_root_missed(rng, 20_001) for _ in range(120)]
    assert {0, 1, 2, 3} <= set(counts)


@pytest.mark.slow
def test_no_root_is_missed_by_a_fine_sign_scan():
    rng = generator(21)
    counts = [_no_root_missed(rng, 100_001) for _ in range(500)]
    assert min(counts.count(3), counts.count(2), counts.count(0)) > 20


@given(st.integers(1, 10_000), weight_decays, input_norms, smooth_losses, st.integers(0, 3))
def test_the_whole_range_neither_overflows_nor_leaves_the_equation(depth, decay, norm, loss, flips):
    assume(flips <= depth)
    points = unconstrained.stationary_points(depth, decay, norm, loss, flips=flips)
    assert len(points) in ((1, 2, 3) if flips == 0 else (0, 1, 2))
    for point in points:
        assert math.isfinite(point.objective)
        assert point.s > 0
        log_s, grow = math.log(point.s), math.log1p(point.s)
        log_pull = margin_loss(loss).log_slope(point.margin) + (depth - flips) * grow + flips * log_s + math.log(norm)
        # The squared loss's g = 1 - z has lost digits when z is next to 1.
        lost = 1e-16 * depth / max(1 - point.margin, 1e-300) if loss == "squared" else 0.0
        error = abs(log_pull - math.log(decay) - (log_s + grow) / 2)
        assert error < tolerances.UJM_EQUATION_ABSOLUTE * max(1.0, point.margin) + 100 * lost


@given(depths, weight_decays, input_norms, st.sampled_from(sorted(LOSSES)), widths, st.sampled_from([1, -1]), seeds)
def test_no_random_point_beats_the_optimum(depth, decay, norm, loss, dim, label, seed):
    rng = generator(seed)
    best = unconstrained.global_optimum(depth, decay, norm, loss)
    direction = unit_vector(rng, dim)
    vector = norm * direction

    def value(jacobians, classifier):
        return naive.ujm_objective(jacobians, classifier, decay, vector, label, loss)

    jacobians = np.broadcast_to(best.s * np.outer(direction, direction), (depth, dim, dim))
    classifier = label * best.omega * direction
    at_best = value(jacobians, classifier)
    # 1 - z loses the digits of z: a few ulp of 1, which all products of depth factors share.
    slack = 1e-12 * at_best + depth * 4 * tolerances.EPS64
    assert at_best == pytest.approx(best.objective, rel=1e-9, abs=slack)
    for size in (1e-3, 1e-1, 1.0):
        scale = size * (best.s / dim + 1e-3)
        noise = jacobians + scale * rng.standard_normal(jacobians.shape)
        turned = classifier + size * best.omega * rng.standard_normal(dim)
        margin_is_tame = np.abs(noise).max() * dim * depth < 100
        if loss != "exponential" or margin_is_tame:
            with np.errstate(over="ignore"):
                assert value(noise, turned) >= at_best - slack


@given(st.integers(1, 6), st.floats(0.01, 3), st.floats(0.05, 3), falling_losses, st.integers(1, 5), seeds)
def test_projecting_to_the_aligned_family_never_raises_the_objective(depth, decay, norm, loss, dim, seed):
    rng = generator(seed)
    direction = unit_vector(rng, dim)
    jacobians = rng.standard_normal((depth, dim, dim)) * rng.uniform(0.05, 0.6)
    walker = norm * direction
    for jacobian in jacobians:
        walker = walker + jacobian @ walker
    classifier = rng.standard_normal(dim) * rng.uniform(0.1, 2)
    before = naive.ujm_objective(jacobians, classifier, decay, norm * direction, 1, loss)
    norms = np.linalg.norm(jacobians, 2, axis=(1, 2))
    aligned = norms[:, None, None] * np.outer(direction, direction)
    after = naive.ujm_objective(aligned, np.linalg.norm(classifier) * direction, decay, norm * direction, 1, loss)
    assert after <= before * (1 + 1e-12)
    # AM-GM and Jensen: one common singular value at the same product and the same penalty or less.
    common = np.expm1(np.mean(np.log1p(norms)))
    equal = np.broadcast_to(common * np.outer(direction, direction), aligned.shape)
    evened = naive.ujm_objective(equal, np.linalg.norm(classifier) * direction, decay, norm * direction, 1, loss)
    assert evened <= after * (1 + 1e-12)
    assert unconstrained.global_optimum(depth, decay, norm, loss).objective <= evened * (1 + 1e-12)


@given(st.integers(1, 60), st.floats(-3, 0.7), st.floats(-1.5, 0.5), st.sampled_from(sorted(LOSSES)))
def test_the_optimum_is_what_scipy_finds_from_the_best_of_a_grid(depth, log_decay, log_norm, loss):
    decay, norm = 10**log_decay, 10**log_norm
    best = unconstrained.global_optimum(depth, decay, norm, loss)

    def value(log_s):
        return unconstrained.objective(math.exp(log_s), depth, decay, norm, loss)

    # Deep networks have basins narrow in log s: a grid finds the right one, scipy its floor.
    grid = np.linspace(-20, 3, 2301)
    centre = int(np.argmin([value(each) for each in grid]))
    bounds = (grid[max(centre - 1, 0)], grid[min(centre + 1, grid.size - 1)])
    search = minimize_scalar(value, bounds=bounds, method="bounded", options={"xatol": 1e-10})
    least = value(float(search.x))  # type: ignore[attr-defined]
    assert best.objective <= least * (1 + 1e-12)
    # At the hinge's kink the search's error in s, about 1e-8, enters at first order.
    assert best.objective == pytest.approx(least, rel=1e-6)


@pytest.mark.parametrize("loss", ["logistic", "exponential", "squared"])
def test_a_fold_met_exactly_counts_once_and_is_no_minimum(loss):
    curve = DecayCurve(16, 0.1, margin_loss(loss))
    for fold in curve.folds():
        decay = math.exp(curve(fold))
        points = unconstrained.stationary_points(16, decay, 0.1, loss)
        near = [point for point in points if point.s == pytest.approx(math.exp(fold), rel=1e-6)]
        # Rounding decides on which side of the fold the decay falls: none, one degenerate point, or a close pair.
        assert len(near) in (0, 1, 2)
        if len(near) == 1:
            assert near[0].degenerate
            assert not near[0].is_minimum(1)
        if len(near) == 2:
            assert sorted(point.aligned_index for point in near) == [0, 1]
        assert len(unconstrained.minima(16, decay, 0.1, loss)) in (1, 2)


def _hessian(point, pattern, depth, dim, decay, norm, loss):
    """Full Hessian of objective / lam at a stationary point, and the gradient's norm, by autograd."""
    losses = {
        "logistic": lambda z: torch.nn.functional.softplus(-z),
        "exponential": lambda z: torch.exp(-z),
        "squared": lambda z: (1 - z) ** 2 / 2,
    }
    unit = torch.eye(dim, dtype=torch.float64)[0]
    sigma = torch.full((depth,), point.s, dtype=torch.float64)
    sigma[list(pattern)] = -1 - point.s
    jacobians = sigma[:, None, None] * torch.outer(unit, unit)
    flat = torch.cat([jacobians.flatten(), point.omega * (-1) ** len(pattern) * unit])

    def objective(flat):
        blocks, classifier = flat[: depth * dim * dim].reshape(depth, dim, dim), flat[depth * dim * dim :]
        walker = norm * unit
        for block in blocks:
            walker = walker + block @ walker
        return losses[loss](classifier @ walker) / decay + flat.square().sum() / 2

    gradient = torch.func.grad(objective)(flat)
    return torch.func.hessian(objective)(flat), float(gradient.norm())


@given(st.integers(1, 4), st.integers(1, 3), smooth_losses, st.floats(-3, 1), st.floats(-2, 1), st.data())
def test_the_hessian_index_is_exact_for_every_flip_pattern(depth, dim, loss, log_decay, log_norm, data):
    decay, norm = 10**log_decay, 10**log_norm
    flips = data.draw(st.integers(0, depth))
    pattern = data.draw(st.sampled_from(list(itertools.combinations(range(depth), flips))))
    for point in unconstrained.stationary_points(depth, decay, norm, loss, flips=flips):
        hessian, gradient = _hessian(point, pattern, depth, dim, decay, norm, loss)
        size = math.sqrt(depth) * (1 + point.s)
        assert gradient < 1e-9 * size * (1 + point.margin) * max(1, 1 / decay)
        eigenvalues = torch.linalg.eigvalsh(hessian)
        assume(float(eigenvalues.abs().min()) > tolerances.HESSIAN_EIGENVALUE)
        assert int((eigenvalues < 0).sum()) == point.hessian_index(dim)
        assert point.is_minimum(dim) == bool((eigenvalues > 0).all())
        if flips and dim >= 2:
            assert not point.is_minimum(dim)


def test_the_counterexample_of_u6_in_one_dimension_stays_a_minimum():
    points = unconstrained.stationary_points(1, 0.088875, 0.344501, flips=1)
    flipped = points[-1]
    assert flipped.s == pytest.approx(1.12468, abs=1e-5)
    assert flipped.is_minimum(1)
    assert not flipped.is_minimum(2)
    hessian, gradient = _hessian(flipped, (0,), 1, 1, 0.088875, 0.344501, "logistic")
    assert gradient < 1e-9
    assert float(torch.linalg.eigvalsh(hessian)[0]) > tolerances.HESSIAN_EIGENVALUE


def test_a_missed_margin_is_a_saddle_with_one_negative_eigenvalue():
    shallow, middle, deep = unconstrained.stationary_points(16, 0.6, 0.1)
    assert [point.hessian_index(8) for point in (shallow, middle, deep)] == [0, 1, 0]
    assert [point.is_minimum(8) for point in (shallow, middle, deep)] == [True, False, True]


@pytest.mark.parametrize(
    "loss",
    [*LOSSES.values(), *(simplex_loss(c) for c in (2, 3, 10)), *(cross_polytope_loss(c) for c in (2, 4, 10))],
    ids=lambda loss: loss.name,
)
def test_each_loss_knows_its_own_derivatives(loss):
    for z in (0.02, 0.3, 0.8, 0.95, 2.0, 8.0):
        if loss.name in ("hinge", "squared") and z >= 1:
            continue
        step = 1e-5 * z
        slope = (loss.log_slope(z + step) - loss.log_slope(z - step)) / (2 * step)
        assert -z * slope == pytest.approx(loss.tau(z), rel=1e-6, abs=1e-9)
        fall = -(loss.value(z + step) - loss.value(z - step)) / (2 * step)
        ratio = fall / math.exp(loss.log_slope(z))
        # Class losses share their slope over the equal directions: a whole number of them.
        assert ratio == pytest.approx(round(ratio), rel=1e-5)
        if loss.name != "hinge":
            bend = (math.log(loss.tau(z + step)) - math.log(loss.tau(z - step))) / (2 * step)
            assert z * bend == pytest.approx(loss.stiffness(z), rel=1e-5)
            assert loss.tau_inverse(loss.tau(z)) == pytest.approx(z, rel=1e-9)


@pytest.mark.parametrize("depth", [1, 2, 8])
def test_the_hinge_optimum_stands_at_its_corner_or_is_smooth(depth):
    small = unconstrained.global_optimum(depth, 1e-3, 1.0, "hinge")
    assert small.margin == pytest.approx(1.0, rel=1e-9)
    large = unconstrained.global_optimum(depth, 1e3, 1.0, "hinge")
    assert large.margin < 1
    grid = np.geomspace(1e-9, 3, 4001)
    for decay, best in ((1e-3, small), (1e3, large)):
        least = min(unconstrained.objective(s, depth, decay, 1.0, "hinge") for s in grid)
        assert best.objective <= least * (1 + 1e-12)
        # The grid's step is half a percent in s.
        assert best.objective == pytest.approx(least, rel=2e-2)


@pytest.mark.parametrize(
    ("arguments", "name"),
    [((0, 0.1, 1.0), "depth"), ((2.0, 0.1, 1.0), "depth"), ((2, 0.0, 1.0), "weight_decay"),
     ((2, -1.0, 1.0), "weight_decay"), ((2, math.nan, 1.0), "weight_decay"),
     ((2, 0.1, 0.0), "input_norm"), ((2, 0.1, math.inf), "input_norm")],
)  # fmt: skip
def test_bad_arguments_are_named(arguments, name):
    with pytest.raises(ArgumentError, match=f"{name} = "):
        unconstrained.stationary_points(*arguments)


def test_unknown_losses_and_impossible_flips_are_named():
    with pytest.raises(ArgumentError, match="loss = perceptron: must be one of logistic"):
        unconstrained.global_optimum(2, 0.1, 1.0, "perceptron")
    with pytest.raises(ArgumentError, match="flips = 3"):
        unconstrained.stationary_points(2, 0.1, 1.0, flips=3)


@pytest.mark.parametrize("loss", sorted(LOSSES))
def test_one_call_is_fast(benchmark, loss):
    assert benchmark(unconstrained.stationary_points, 1000, 0.01, 0.3, loss)
