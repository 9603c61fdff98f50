"""Path laws against their rivals; run by `make bench`, one pass each in the ordinary suite."""

import numpy as np
import pytest
from scipy import stats

from theory import path_lengths

DEPTH = 2000
GAINS = 1 / np.arange(1, DEPTH + 1)


@pytest.mark.benchmark(group="Stirling law, L = 2000")
def test_recursion(benchmark):
    assert benchmark(path_lengths.poisson_binomial, GAINS).size == DEPTH + 1


@pytest.mark.benchmark(group="Stirling law, L = 2000")
def test_scipy(benchmark):
    law = stats.poisson_binom(GAINS / (1 + GAINS))
    assert benchmark(law.pmf, np.arange(DEPTH + 1)).size == DEPTH + 1


@pytest.mark.benchmark(group="Stirling law, L = 2000")
def test_logarithms(benchmark):
    assert benchmark(path_lengths.log_elementary_symmetric, GAINS).size == DEPTH + 1


def through_the_roots_of_unity(jacobians, skips, vector):
    """E_r a by evaluating the product at the L+1 roots of unity and an FFT: the rival of P1."""
    depth = len(jacobians)
    points = np.exp(2j * np.pi * np.arange(depth + 1) / (depth + 1))
    walkers = np.repeat(vector[None].astype(complex), depth + 1, axis=0)
    for jacobian, skip in zip(jacobians, skips, strict=True):
        walkers = skip * walkers + points[:, None] * (walkers @ jacobian.T)
    return (np.fft.fft(walkers, axis=0) / (depth + 1)).real


@pytest.fixture
def blocks():
    rng = np.random.default_rng(0)
    return rng.standard_normal((32, 64, 64)) / 64, np.ones((32, 64)), rng.standard_normal(64)


@pytest.mark.benchmark(group="path coefficients, L = 32, D = 64")
def test_path_coefficients(benchmark, blocks):
    assert benchmark(path_lengths.path_coefficients, *blocks).shape == (33, 64)


@pytest.mark.benchmark(group="path coefficients, L = 32, D = 64")
def test_roots_of_unity(benchmark, blocks):
    paths = benchmark(through_the_roots_of_unity, *blocks)
    np.testing.assert_allclose(paths, path_lengths.path_coefficients(*blocks), atol=1e-12)
