"""What ties the papers together: path lengths, ``prod(I + t J_i) = sum t^r E_r``."""

from __future__ import annotations

import numpy as np

from paper_checks.evidence import Evidence
from paper_checks.verdicts import Criterion, Finding, over_seeds
from theory import depth_law, path_lengths

_WHAT = "seeds x {} inputs"


def unconstrained_optimum_is_the_depth_law(evidence: Evidence) -> Finding:
    """P3: at the UJM optimum the energy law of path lengths is LS's eps^2 with beta = s, p = L + 1, r -> r + 1."""
    rng = np.random.default_rng(0)
    distances, shifted = [], []
    for _ in range(200):
        depth, s, width = int(rng.integers(1, 30)), float(rng.uniform(0.01, 3)), 4
        direction = rng.standard_normal(width)
        direction /= np.linalg.norm(direction)
        jacobians = np.tile(s * np.outer(direction, direction), (depth, 1, 1))
        paths = path_lengths.path_coefficients(jacobians, np.ones((depth, width)), direction)
        law = path_lengths.energy_law(np.linalg.norm(paths, axis=-1))
        distances.append(float(path_lengths.total_variation(law, depth_law.energy(depth + 1, s))))
        shifted.append(float(path_lengths.total_variation(law, depth_law.energy(depth + 1, 2 * s))))
    criterion = Criterion("largest total-variation distance", max(distances), 200, "random (L, s)", "an identity leaves rounding",
                          high=1e-12, spread=float(np.std(distances)), null=float(np.median(shifted)))  # fmt: skip
    return Finding((criterion,), "Null: the depth law at beta = 2 s.")


def stirling_ensemble(evidence: Evidence) -> Finding:
    """P4: aligned Jacobians with s_i = 1/i have Stirling path lengths, of mean H_{L+1} - 1."""
    errors, distances, depths = [], [], (1, 2, 5, 8, 20, 50, 200)
    for depth in depths:
        law = path_lengths.stirling(depth)
        harmonic = float((1 / np.arange(2, depth + 2)).sum())
        errors.append(abs(float(law @ np.arange(depth + 1)) - harmonic))
        # By the walk through (I + t J_i) itself, in one dimension.
        ones = np.ones((depth, 1, 1)) / np.arange(1, depth + 1)[:, None, None]
        paths = path_lengths.path_coefficients(ones, np.ones((depth, 1)), np.ones(1))[:, 0]
        distances.append(float(path_lengths.total_variation(law, paths / paths.sum())))
    criteria = (
        Criterion("largest error of the mean H_{L+1} - 1", max(errors), len(depths), "depths up to 200", "rounding", high=1e-12),
        Criterion("largest total-variation distance to the path expansion", max(distances), len(depths), "depths up to 200",
                  "an identity leaves rounding", high=1e-12,
                  null=float(path_lengths.total_variation(path_lengths.stirling(8), path_lengths.binomial(8, 0.5)))),
    )  # fmt: skip
    return Finding(
        criteria, "An ensemble of depth about log L, not a fraction of L. Null: a binomial law at L = 8, beta = 0.5."
    )


def rank_one_path_law(evidence: Evidence) -> Finding:
    """P7: in trained networks the measured path law is the rank-one law of aligned Jacobians, with no free parameter."""
    what = _WHAT.format(evidence.inputs)
    trained, random_direction = evidence.metric("quick", "path law, distance to rank-one, P7")
    depth, _ = evidence.metric("quick", "path law, mean depth")
    predicted_depth, null_depth = evidence.metric("quick", "path law, mean depth by P7")
    initial, _ = evidence.metric("initial", "path law, distance to rank-one, P7")
    criteria = (
        over_seeds("distance of P7 from the measured law, trained", trained,
                   "a tenth of a law's mass is what the recipe-choosing runs reached; half again as slack",
                   what=what, high=0.15, null=random_direction),
        over_seeds("mean depth by P7 minus measured, trained", predicted_depth - depth,
                   "a small distance is cheap where r = 0 dominates; the mean depth, about 1.5, is not", what=what,
                   low=-0.3, high=0.3, null=null_depth - depth),
        over_seeds("the same at initialisation", initial, "where nothing is aligned P7 must fail", what=what, low=0.5, null=1.0),
    )  # fmt: skip
    note = "Null: the same formula along a random direction. Without skips every path has length L, so nothing can be compared there."
    return Finding(criteria, note, _alignment_missing(evidence))


def coherent_paths(evidence: Evidence) -> Finding:
    """Alignment makes paths add coherently: orientation, not size, carries the law of a trained network."""
    what = _WHAT.format(evidence.inputs)
    trained, turned = evidence.metric("quick", "path law, mean depth")
    before, before_turned = evidence.metric("initial", "path law, mean depth")
    incoherent, _ = evidence.metric("quick", "path law, distance to incoherent, P6")
    incoherent_before, _ = evidence.metric("initial", "path law, distance to incoherent, P6")
    criteria = (
        over_seeds("mean depth lost by random orientations, trained", trained - turned,
                   "the same singular values without alignment must lose most of the depth", what=what, low=0.5, null=0.0),
        over_seeds("the same at initialisation", before - before_turned, "no orientation to lose", what=what, low=-0.5, high=0.5,
                   null=0.0),
        over_seeds("distance to incoherent paths, initial", incoherent_before, "random Jacobians add in squares [P6, new]",
                   what=what, high=0.25, null=incoherent),
    )  # fmt: skip
    note = (
        f"Mean depth: trained {trained.mean():.2f}, after J_i -> Q_i J_i R_i {turned.mean():.2f}; initial {before.mean():.2f} and "
        f"{before_turned.mean():.2f}. Null of the last row: the trained network."
    )
    return Finding(criteria, note, _alignment_missing(evidence))


def _alignment_missing(evidence: Evidence) -> str:
    accuracy = float(evidence.accuracy("quick").mean())
    return "" if accuracy > 0.95 else f"quick networks reach accuracy {accuracy:.3f} only"
