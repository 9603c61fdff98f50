"""Statements of LS on random networks, each beside a simulation that shows where it fails."""

import math

import numpy as np
import pytest
import torch

from sims import random_resnets, resnet_schemes, scheme_laws
from sims.random_resnets import RandomResnetsConfig, measure
from sims.resnet_schemes import Ensemble
from tests import tolerances
from theory import depth_law, layer_laws


def normal(generator, *shape):
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


@pytest.mark.parametrize("scale", [1.0, 5.0])
def test_exact_batchnorm_in_every_branch_stays_shallow(scale):
    # Statement 9: C is not a common BatchNorm scale. Branches W N are scaled to standard deviation lambda exactly.
    p, width, networks = 12, 64, 600
    generator = torch.Generator().manual_seed(0)
    state = normal(generator, networks, width)
    coefficients = state[:, None]
    for _ in range(p - 1):
        matrix = normal(generator, networks, width, width)
        stream = coefficients.sum(1, keepdim=True)
        deviation = (stream @ matrix.mT).square().mean().sqrt()

        def branch(paths, matrix=matrix, deviation=deviation):
            return paths @ matrix.mT * (scale / deviation)

        taken = torch.nn.functional.pad(branch(coefficients), (0, 0, 1, 0))
        coefficients = torch.nn.functional.pad(coefficients, (0, 0, 0, 1)) + taken
    energies = coefficients.square().mean(-1).numpy()
    share = energies.mean(0) / energies.mean(0).sum()
    spread = (energies - share * energies.sum(1, keepdims=True)).std(0) / energies.mean(0).sum() / math.sqrt(networks)
    law = layer_laws.batchnorm_energy(p, scale)
    assert np.abs((share - law) / spread).max() < tolerances.STANDARD_ERRORS
    mean = share @ np.arange(1, p + 1)
    assert mean < layer_laws.batchnorm_mean(p, math.inf) + 1 < p * depth_law.depth_fraction_limit(scale)


@pytest.mark.parametrize(("centred", "last"), [(False, 55.78), (True, 10.08)], ids=["as printed", "centred"])
def test_the_variance_of_a_normalised_stream_grows_by_one_only_if_centred(centred, last):
    # Statement 9: with Eq. 20 as printed E N_l^2 = l + (0.68333 l)^2, not l. One network of width 2000.
    width, depth = 2000, 10
    generator = torch.Generator().manual_seed(1)
    stream, squares = torch.zeros(width, dtype=torch.float64), []
    source = normal(generator, width)
    for _ in range(depth):
        incoming = source if not squares else stream
        branch = torch.relu(normal(generator, width, width) @ incoming)
        branch = (branch - branch.mean() if centred else branch) / branch.std()
        stream = stream + branch
        squares.append(float(stream.square().mean()))
    layers = np.arange(1, depth + 1)
    predicted = layers if centred else layers + (0.68333 * layers) ** 2
    np.testing.assert_allclose(squares, predicted, rtol=tolerances.ONE_WIDE_NETWORK)
    assert squares[-1] == pytest.approx(last, rel=tolerances.ONE_WIDE_NETWORK)


def test_wide_networks_need_not_have_a_large_beta():
    # Statement 4: with C = 1 / sqrt(n) and Lambda = n, beta = rho n C / sqrt(Lambda) = rho at every width.
    for width in (8, 64, 512):
        ensemble = Ensemble(6, width, width, gain=1.0, rho=0.9, averaged=True)
        weights = resnet_schemes.unique_weights(ensemble, seed=0)
        root_mean_square = float(weights.square().mean().sqrt())
        assert root_mean_square == pytest.approx(1 / math.sqrt(width))
        assert 0.9 * width * root_mean_square / math.sqrt(width) == pytest.approx(0.9)
    assert depth_law.modes(10, 0.9) == (5,)  # p / 2, not below it


def test_lemma_2s_lower_bound_needs_uncorrelated_inputs():
    # Statement 5: inputs x_2 = -x_1 cancel in the sum over the copies of a weight tuple: every length is silent.
    ensemble = Ensemble(5, 8, 4, 1.0, 1.0, True)
    weights = resnet_schemes.unique_weights(ensemble, seed=0)
    index = torch.arange(8)
    matrix = weights[(index[:, None] + index) % 4]
    inputs = torch.tensor([1.0, -1.0] * 4, dtype=torch.float64)
    branches = [lambda state: state @ matrix.T] * 4
    silent = resnet_schemes.polynomial_pass((matrix @ inputs)[None], branches).sum(-1)
    heard = resnet_schemes.polynomial_pass((matrix @ inputs.abs())[None], branches).sum(-1)
    assert silent.abs().max() < tolerances.PROPAGATION_RELATIVE
    assert heard.abs().min() > 1e6 * tolerances.PROPAGATION_RELATIVE


def test_lemma_3s_linear_losses_need_outputs_below_the_label():
    # Statement 10: Y ~ N(0, 1), label 1. E|1 - Y| = 1.1666 and E hinge = 1.0833; the linear form gives 1.
    output = np.random.default_rng(0).standard_normal(400_000)
    for loss, value in ((np.abs(1 - output), 1.1666), (np.maximum(0, 1 - output), 1.0833)):
        error = loss.std() / math.sqrt(loss.size)
        assert abs(loss.mean() - value) < tolerances.STANDARD_ERRORS * error
        assert abs(loss.mean() - 1) > 10 * error
    small = output / 100
    np.testing.assert_array_equal(np.abs(1 - small), np.maximum(0, 1 - small))


def test_the_field_over_weights_has_the_rank_of_the_input():
    # Section 6: with x the only disorder the outputs at m weight vectors span at most d dimensions.
    generator = torch.Generator().manual_seed(3)
    inputs = normal(generator, 2, 500)
    values = []
    for _ in range(7):
        first, second = normal(generator, 6, 2), normal(generator, 6, 6)
        branches = [lambda state, w=second: state @ w.T]
        values.append(resnet_schemes.polynomial_pass((first @ inputs).T, branches).sum((1, 2)))
    singular = torch.linalg.svdvals(torch.stack(values))
    assert singular[1] > 0.1
    assert singular[2] < tolerances.PROPAGATION_RELATIVE * singular[0]


def test_both_readings_of_a_gate():
    # Section 6: E Y^2 has beta^2 = rho s^2, (E_A Y)^2 has beta = rho s; LS names the second and averages like it.
    for averaged, power in ((False, 0.5), (True, 1.0)):
        config = RandomResnetsConfig("independent", gates=0.5, average_gates=averaged, width=16, networks=400)
        law = scheme_laws.energies("independent", random_resnets.ensemble(config), np.ones(1))
        expected = layer_laws.independent_energy(6, 0.5**power)
        np.testing.assert_allclose(law / law.sum(), expected, rtol=tolerances.MOMENT_RELATIVE)
        assert np.abs(measure(config)["z"].sel(law="scheme")).max() < tolerances.STANDARD_ERRORS
