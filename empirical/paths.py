"""The measured path-length law of a network, and how far each prediction is from it.

The energy law is ``pi_r = |E_r a|^2 / sum |E_r a|^2`` with ``prod_i (D_i + t J_i) a = sum_r t^r E_r a`` [P1],
along ``a = h_1``. Predictions without a fit: incoherent paths [P6], elementary symmetric polynomials of s_1(i) [P2],
Stirling [P4], the rank-one law of aligned Jacobians [P7]. The binomial law [P3; the loss-surface paper's] is fitted in
its one parameter to the mean measured law; fitted input by input it would reach any network.
"""

from __future__ import annotations

import numpy as np
import xarray as xr
from scipy.optimize import minimize_scalar

from empirical.alignment import Metric, scramble
from empirical.jacobians import Linearisation
from theory import path_lengths
from theory.path_lengths import elementary_symmetric, energy_law, total_variation

PREDICTIONS = {
    "rank-one, P7": "aligned rank-one Jacobians, no fit [P7, new]",
    "Stirling, P4": "s_i = 1/i, fully aligned, no fit [P4, new]",
    "e_r(s_1), P2": "top singular values, fully aligned (Poisson-binomial amplitudes), no fit [P2, new]",
    "binomial, LS": "C(L,r)^2 beta^2r, beta fitted [LS Eq. 16, recovered; P3]",
    "incoherent, P6": "e_r(|J_i|_F^2 / D), random orientations, no fit [P6, new]",
}


def measure_paths(lin: Linearisation, *, seed: int = 0) -> xr.Dataset:
    """Measured energy law, predictions and their total-variation distances; dimensions input, r, prediction.

    ``scrambled_law`` is the law after J_i -> Q_i J_i R_i (same singular values, random orientations). It is no
    null for P7, though: scrambled branches add up to so little that nearly all energy sits at r = 0, which P7 has
    exactly. ``rank_one_null_distance`` is P7's formula on the same network along a random direction instead.
    """
    start = lin.points[:, 0]
    law = measured_law(lin.jacobians, lin.skips, start)
    rng = np.random.default_rng(seed)
    turned, _, _ = scramble(lin.jacobians, rng)
    scrambled = measured_law(turned, lin.skips, start)
    direction = mean_direction(lin.points)
    random_direction = rng.standard_normal(direction.shape)
    random_direction /= np.linalg.norm(random_direction, axis=-1, keepdims=True)
    null_law = rank_one_law(lin.jacobians, lin.skips, start, random_direction)
    beta = fitted_binomial(law.mean(axis=0))
    predicted = np.stack(list(predictions(lin, beta, direction).values()))
    depth = lin.jacobians.shape[1]
    return xr.Dataset(
        {
            "energy_law": (("input", "r"), law, {"definition": "|E_r h_1|^2, normalised over r"}),
            "scrambled_law": (("input", "r"), scrambled),
            "predicted_law": (("prediction", "input", "r"), predicted),
            "distance": (("prediction", "input"), total_variation(predicted, law), {"definition": "total variation"}),
            "rank_one_null_distance": ("input", total_variation(null_law, law)),
            "rank_one_mean_depth": ("input", predicted[0] @ np.arange(depth + 1)),
            "rank_one_null_mean_depth": ("input", null_law @ np.arange(depth + 1)),
            "mean_depth": ("input", law @ np.arange(depth + 1), {"units": "residual branches"}),
            "scrambled_mean_depth": ("input", scrambled @ np.arange(depth + 1)),
            "coherence": ("input", coherence(lin)),
        },
        coords={"r": np.arange(depth + 1), "prediction": list(PREDICTIONS), "input": np.arange(len(start))},
        attrs={"fitted_beta": beta, "seed": seed},
    )


def measured_law(jacobians: np.ndarray, skips: np.ndarray, start: np.ndarray) -> np.ndarray:
    """``|E_r a|^2`` normalised over r = 0..L, by input [P1]; shapes (N, L, D, D), (N, L, D), (N, D) -> (N, L+1)."""
    return energy_law(np.linalg.norm(path_lengths.path_coefficients(jacobians, skips, start), axis=-1))


def mean_direction(points: np.ndarray) -> np.ndarray:
    """Unit vector along ``h_{L+1} - h_{L/3}`` (index rounded, at least 1): where the settled part of the net goes.

    ``points`` (N, L+1, D) -> (N, D). Where the points coincide there is no direction; the first axis stands in.
    """
    depth = points.shape[1] - 1
    settled = max(1, round(depth / 3))
    travelled = points[:, -1] - points[:, settled - 1]
    length = np.linalg.norm(travelled, axis=-1, keepdims=True)
    first_axis = np.broadcast_to(np.eye(points.shape[-1])[0], travelled.shape).copy()
    return np.divide(travelled, length, out=first_axis, where=length > 0)


def rank_one_law(jacobians: np.ndarray, skips: np.ndarray, start: np.ndarray, direction: np.ndarray) -> np.ndarray:
    """Energy law of the rank-one path law [P7, new]; (N, L+1)."""
    return energy_law(path_lengths.rank_one_path_amplitudes(jacobians, skips, start, direction))


def predictions(lin: Linearisation, beta: float, direction: np.ndarray) -> dict[str, np.ndarray]:
    """The predicted energy laws by name (keys of PREDICTIONS), each (N, L+1)."""
    inputs, depth, width, _ = lin.jacobians.shape
    top = np.linalg.norm(lin.jacobians, ord=2, axis=(-2, -1))
    laws = {
        "rank-one, P7": rank_one_law(lin.jacobians, lin.skips, lin.points[:, 0], direction),
        "Stirling, P4": np.tile(energy_law(path_lengths.stirling(depth)), (inputs, 1)),
        "e_r(s_1), P2": energy_law(elementary_symmetric(top)),
        "binomial, LS": np.tile(energy_law(path_lengths.binomial(depth, beta)), (inputs, 1)),
        "incoherent, P6": path_lengths.incoherent(np.linalg.norm(lin.jacobians, axis=(-2, -1)), width),
    }
    assert list(laws) == list(PREDICTIONS)
    return laws


def fitted_binomial(law: np.ndarray) -> float:
    """beta of the squared binomial energy law closest in total variation to ``law`` (L+1,)."""
    depth = law.size - 1

    def distance(log_beta: float) -> float:
        return float(total_variation(energy_law(path_lengths.binomial(depth, float(np.exp(log_beta)))), law))

    # The distance need not be convex in log beta: start from the best point of a grid.
    grid = np.linspace(-8, 8, 65)
    best = grid[int(np.argmin([distance(point) for point in grid]))]
    found = minimize_scalar(distance, bounds=(best - 0.25, best + 0.25), method="bounded")
    return float(np.exp(found.x))


def coherence(lin: Linearisation) -> np.ndarray:
    """``|sum_i P_i a| / sum_i |P_i a|`` of the L paths through exactly one branch, by input (N,); 0 without skips.

    1 when single-branch paths add coherently; about 1/sqrt(L) when their directions are random.
    """
    inputs, depth = lin.skips.shape[:2]
    walkers = np.repeat(lin.points[:, :1], depth, axis=1)
    for i in range(depth):
        through = np.einsum("nde,ne->nd", lin.jacobians[:, i], walkers[:, i])
        walkers = walkers * lin.skips[:, i, None, :]
        walkers[:, i] = through
    together, apart = np.linalg.norm(walkers.sum(axis=1), axis=-1), np.linalg.norm(walkers, axis=-1).sum(axis=1)
    return np.divide(together, apart, out=np.zeros(inputs), where=apart > 0)


def summarise_paths(dataset: xr.Dataset) -> list[Metric]:
    """Distances of each prediction, mean depth and coherence over inputs, with the scrambled network as null."""
    scrambled = "J_i -> Q_i J_i R_i, random orientations"
    turned = dataset.scrambled_law

    def metric(name: str, value: xr.DataArray, null: xr.DataArray, definition: str = scrambled) -> Metric:
        return Metric(
            name, float(value.mean()), float(value.std(ddof=1)) if value.size > 1 else 0.0, value.size,
            float(null.mean()), float(null.std(ddof=1)) if null.size > 1 else 0.0, definition,
        )  # fmt: skip

    along_random = "the same formula along a random direction"
    metrics = [
        metric("path law, mean depth", dataset.mean_depth, dataset.scrambled_mean_depth),
        metric(
            "path law, mean depth by P7", dataset.rank_one_mean_depth, dataset.rank_one_null_mean_depth, along_random
        ),
    ]
    for prediction in dataset.prediction.values:
        null, definition = 0.5 * abs(dataset.predicted_law.sel(prediction=prediction) - turned).sum("r"), scrambled
        if prediction == "rank-one, P7":
            null, definition = dataset.rank_one_null_distance, along_random
        distance = dataset.distance.sel(prediction=prediction)
        metrics.append(metric(f"path law, distance to {prediction}", distance, null, definition))
    return metrics
