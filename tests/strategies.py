"""Hypothesis strategies shared by the tests: bounded, finite, never subnormal; tiny regimes have tests of their own."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

seeds = st.integers(0, 2**32 - 1)
depths = st.integers(1, 40)
widths = st.integers(1, 8)
path_gains = st.one_of(
    st.just(0.0),
    st.floats(1e-3, 1e3, allow_subnormal=False),
    st.sampled_from([0.1, 0.5, 1.0, 2.0, 1e12]),
)
cosines = st.one_of(st.sampled_from([-1.0, 0.0, 1.0]), st.floats(-1, 1, allow_subnormal=False))


def generator(seed: int) -> np.random.Generator:
    """A numpy generator; every random array of a test comes from one drawn seed."""
    return np.random.default_rng(seed)


def unit_vector(rng: np.random.Generator, width: int) -> np.ndarray:
    """A uniformly random direction in R^width."""
    vector = rng.standard_normal(width)
    return vector / np.linalg.norm(vector)


def direction_pair(rng: np.random.Generator, width: int, cosine: float) -> tuple[np.ndarray, np.ndarray]:
    """Unit vectors u, v in R^width (width >= 2) with ``u . v = cosine``."""
    frame, _ = np.linalg.qr(rng.standard_normal((width, 2)))
    left = frame[:, 0]
    right = cosine * left + np.sqrt(max(0.0, 1 - cosine**2)) * frame[:, 1]
    return left, right / np.linalg.norm(right)


def orthogonal(rng: np.random.Generator, width: int) -> np.ndarray:
    """A Haar-random orthogonal matrix."""
    q, r = np.linalg.qr(rng.standard_normal((width, width)))
    return q * np.sign(np.diag(r))


def orthogonal_batch(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Independent Haar-random orthogonal matrices in an array of the given shape (..., D, D)."""
    q, r = np.linalg.qr(rng.standard_normal(shape))
    return q * np.sign(np.diagonal(r, axis1=-2, axis2=-1))[..., None, :]


# Non-negative gains of every size a trained or a contrived network has, ties and zeros included.
gain_lists = st.lists(
    st.one_of(st.sampled_from([0.0, 0.5, 1.0, 1e12, 1e-12]), st.floats(1e-3, 1e3, allow_subnormal=False)),
    min_size=1,
    max_size=40,
)


weight_decays = st.floats(-12 * 2.302585092994046, 6 * 2.302585092994046).map(lambda log: float(np.exp(log)))
input_norms = st.floats(-6 * 2.302585092994046, 6 * 2.302585092994046).map(lambda log: float(np.exp(log)))
smooth_losses = st.sampled_from(["logistic", "exponential", "squared"])


def stationary_ujm(rng: np.random.Generator, **bounds: int) -> dict:
    """A random small UJM instance of C classes (binary: C = 1): sizes, inputs, labels, decay, norm."""
    depth = int(rng.integers(1, bounds.get("depth", 4) + 1))
    dim = int(rng.integers(2, bounds.get("dim", 4) + 1))
    classes = int(rng.integers(2, bounds.get("classes", 4) + 1))
    count = int(rng.integers(classes, classes + 3))
    return {
        "depth": depth,
        "dim": dim,
        "classes": classes,
        "inputs": rng.standard_normal((dim, count)),
        "labels": np.arange(count) % classes,
        "weight_decay": float(np.exp(rng.uniform(np.log(0.005), np.log(0.2)))),
    }
