import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from empirical import paths
from empirical.jacobians import Linearisation
from tests import naive, tolerances
from tests.strategies import generator, seeds, unit_vector
from theory import path_lengths


def random_network(rng, inputs: int = 2, depth: int = 6, width: int = 4, scale: float = 0.4) -> Linearisation:
    jacobians = scale * rng.standard_normal((inputs, depth, width, width))
    points = [rng.standard_normal((inputs, width))]
    for i in range(depth):
        points.append(points[-1] + np.einsum("nde,ne->nd", jacobians[:, i], points[-1]))
    return Linearisation(np.stack(points, axis=1), jacobians, np.ones((inputs, depth, width)))


def aligned_network(rng, depth: int, width: int, values: np.ndarray) -> Linearisation:
    u = unit_vector(rng, width)
    jacobians = (values[:, None, None] * np.outer(u, u))[None]
    points = [2.0 * u]
    for jacobian in jacobians[0]:
        points.append(points[-1] + jacobian @ points[-1])
    return Linearisation(np.stack(points)[None], jacobians, np.ones((1, depth, width)))


@given(seeds)
def test_the_measured_law_equals_walking_every_path_at_depth_six(seed):
    rng = generator(seed)
    lin = random_network(rng)
    lin.skips[:] = rng.integers(0, 2, lin.skips.shape)
    start = lin.points[:, 0]
    if not all(
        np.abs(naive.path_coefficients(*each)).max() > 0 for each in zip(lin.jacobians, lin.skips, start, strict=True)
    ):
        return
    law = paths.measured_law(lin.jacobians, lin.skips, start)
    for n in range(len(start)):
        walked = np.linalg.norm(naive.path_coefficients(lin.jacobians[n], lin.skips[n], start[n]), axis=-1) ** 2
        np.testing.assert_allclose(law[n], walked / walked.sum(), atol=tolerances.SUBSETS_RELATIVE)


@given(seeds, st.integers(2, 12), st.integers(2, 6))
def test_under_exact_residual_alignment_every_aligned_prediction_is_exact(seed, depth, width):
    lin = aligned_network(generator(seed), depth, width, 1 / np.arange(1, depth + 1))
    dataset = paths.measure_paths(lin)
    for prediction in ("rank-one, P7", "Stirling, P4", "e_r(s_1), P2"):
        assert float(dataset.distance.sel(prediction=prediction).max()) < tolerances.ALIGNMENT_ABSOLUTE
    np.testing.assert_allclose(dataset.coherence, 1, atol=tolerances.ALIGNMENT_ABSOLUTE)


@given(seeds, st.integers(2, 12), st.floats(0.05, 2))
def test_equal_singular_values_give_the_binomial_law_and_the_fit_finds_beta(seed, depth, beta):
    lin = aligned_network(generator(seed), depth, 3, np.full(depth, beta))
    dataset = paths.measure_paths(lin)
    assert dataset.attrs["fitted_beta"] == pytest.approx(beta, rel=1e-3)
    assert float(dataset.distance.sel(prediction="binomial, LS").max()) < 1e-3


def test_random_jacobians_add_incoherently_and_the_aligned_predictions_fail():
    # 400 inputs of an independent network each: the mean law has standard errors below 1e-2 in every entry.
    lin = random_network(generator(0), inputs=400, depth=6, width=32, scale=0.7 / np.sqrt(32))
    dataset = paths.measure_paths(lin)
    mean = dataset.energy_law.mean("input").values
    incoherent = dataset.predicted_law.sel(prediction="incoherent, P6").mean("input").values
    assert float(path_lengths.total_variation(mean, incoherent)) < 0.03
    assert float(dataset.distance.sel(prediction="rank-one, P7").mean()) > 0.5


def test_the_scrambled_law_of_an_aligned_network_is_shallower():
    lin = aligned_network(generator(1), 8, 32, 1 / np.arange(1, 9))
    dataset = paths.measure_paths(lin)
    assert float(dataset.mean_depth[0]) > 3 * float(dataset.scrambled_mean_depth[0])
    assert float(dataset.rank_one_null_distance[0]) > 0.5


def test_without_skips_every_path_is_as_long_as_the_network():
    lin = random_network(generator(2))
    lin.skips[:] = 0
    dataset = paths.measure_paths(lin)
    np.testing.assert_allclose(dataset.mean_depth, 6)
    np.testing.assert_array_equal(dataset.coherence, 0)


def test_the_direction_is_a_unit_vector_even_where_nothing_moves():
    lin = random_network(generator(3), depth=8)
    np.testing.assert_allclose(np.linalg.norm(paths.mean_direction(lin.points), axis=-1), 1)
    np.testing.assert_array_equal(paths.mean_direction(np.ones((1, 4, 3))), [[1, 0, 0]])


def test_the_summary_names_its_nulls():
    metrics = paths.summarise_paths(paths.measure_paths(random_network(generator(4))))
    assert len(metrics) == 2 + len(paths.PREDICTIONS)
    assert all(metric.null_definition for metric in metrics)
    assert all(np.isfinite([metric.value, metric.null]).all() for metric in metrics)
