import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import naive, tolerances
from tests.strategies import generator, path_gains, seeds
from theory import ArgumentError, depth_law, layer_laws
from theory.mixtures import Mixture

scale_lists = st.lists(st.floats(0.0, 50.0, allow_subnormal=False).map(lambda v: v if v > 1e-6 else 0.0), max_size=25)


@given(st.integers(1, 40), st.fractions(min_value=Fraction(1, 50), max_value=50, max_denominator=50))
def test_independent_energies_against_exact_rationals(p, beta):
    gain = Fraction(float(beta))
    weights = [math.comb(p - 1, s) * gain ** (2 * s) for s in range(p)]
    exact = [float(weight / sum(weights)) for weight in weights]
    np.testing.assert_allclose(layer_laws.independent_energy(p, float(beta)), exact, rtol=tolerances.BINOMIAL_RELATIVE)


@given(st.integers(1, 300), path_gains)
def test_mean_depth_of_independent_layers_is_the_squared_fraction(p, beta):
    energies = layer_laws.independent_energy(p, beta)
    fraction = layer_laws.independent_depth_fraction(beta)
    assert energies.sum() == pytest.approx(1)
    assert energies @ np.arange(p) == pytest.approx((p - 1) * fraction, rel=tolerances.MOMENT_RELATIVE, abs=1e-300)
    if 0 < beta < 1:
        # the printed law is deeper than that of independent weights below beta = 1.
        assert fraction < depth_law.depth_fraction_limit(beta)


def test_the_printed_law_is_not_that_of_independent_weights():
    printed, independent = depth_law.mean(400, 0.5) / 400, layer_laws.independent_energy(400, 0.5) @ np.arange(1, 401)
    assert printed == pytest.approx(1 / 3, abs=1 / 400)
    assert independent / 400 == pytest.approx(1 / 5, abs=1 / 400)


@given(st.integers(1, 40), st.floats(1e-3, 1e3, allow_subnormal=False))
def test_equal_scales_give_the_printed_law(p, beta):
    expected = depth_law.epsilon(p, beta)
    np.testing.assert_allclose(layer_laws.scaled_epsilon(np.ones(p), beta), expected, rtol=tolerances.BINOMIAL_RELATIVE)
    np.testing.assert_allclose(layer_laws.scaled_epsilon(np.full(p, beta)), expected, rtol=tolerances.BINOMIAL_RELATIVE)


@given(seeds, st.integers(2, 10), st.booleans())
def test_scaled_amplitudes_against_all_subsets(seed, p, signed):
    scales = generator(seed).uniform(-3 if signed else 0.01, 3, p)
    polynomials = naive.elementary_symmetric(0.7 * scales[1:]) * scales[0]
    sizes = naive.elementary_symmetric(np.abs(0.7 * scales[1:])) * abs(scales[0]) / np.linalg.norm(polynomials)
    eps = layer_laws.scaled_epsilon(scales, 0.7)
    error = np.abs(eps - polynomials / np.linalg.norm(polynomials))
    assert (error <= tolerances.CANCELLING_RELATIVE * (sizes + np.abs(eps) * sizes.max())).all()


@given(scale_lists, st.floats(0.01, 100))
def test_nonnegative_scales_give_a_log_concave_law_with_its_mode_at_the_centre(others, beta):
    scales = np.array([1.0, *others])
    eps = layer_laws.scaled_epsilon(scales, beta)
    slack = 1 + tolerances.PATH_LAW_RELATIVE
    middle, pairs = eps[1:-1] ** 2, eps[:-2] * eps[2:]
    # Newton; products of two subnormal numbers say nothing.
    assert (pairs <= middle * slack)[pairs > 1e-300].all()
    top = np.flatnonzero(eps >= eps.max() * (1 - tolerances.PATH_LAW_RELATIVE)) + 1
    # Darroch: strictly within 1. A centre that is a whole number minus rounding may look like a tie.
    assert (np.abs(top - layer_laws.centre_of_scales(scales, beta)) < 1 + tolerances.PATH_LAW_RELATIVE * 1e2).all()


def test_mixed_signs_are_not_unimodal():
    """(1 + t)(1 - t) = 1 - t^2 has no middle."""
    eps = layer_laws.scaled_epsilon([1.0, 1.0, -1.0])
    np.testing.assert_allclose(eps, [math.sqrt(0.5), 0, -math.sqrt(0.5)], atol=tolerances.CANCELLING_RELATIVE)
    assert layer_laws.scaled_epsilon([-2.0]) == [-1]


@given(st.integers(0, 8), st.integers(1, 4), st.floats(0.1, 5, allow_subnormal=False))
def test_skips_over_layers_against_counted_patterns(blocks, layers, beta):
    counted = {}
    for pattern in itertools.product((0, 1), repeat=blocks):
        length = 1 + layers * sum(pattern)
        counted[length] = counted.get(length, 0.0) + beta**length
    amplitudes = np.array(list(counted.values()))
    lengths, eps = layer_laws.skipping_epsilon(blocks, layers, beta)
    np.testing.assert_array_equal(lengths, list(counted))
    np.testing.assert_allclose(eps, amplitudes / np.linalg.norm(amplitudes), rtol=tolerances.BINOMIAL_RELATIVE)


@pytest.mark.parametrize(("layers", "beta"), [(1, 0.5), (2, 0.5), (3, 0.7), (2, 2.0), (4, 1.0)])
def test_depth_fraction_of_skips_over_layers(layers, beta):
    lengths, eps = layer_laws.skipping_epsilon(2000, layers, beta)
    limit = layer_laws.skipping_depth_fraction(layers, beta)
    assert lengths @ eps**2 / lengths[-1] == pytest.approx(limit, abs=1 / 2000)
    if layers > 1:
        # LS's beta/(1+beta) is the case of one layer only.
        assert np.sign(limit - depth_law.depth_fraction_limit(beta)) == np.sign(beta - 1)


@given(seeds, st.integers(2, 9))
def test_batchnorm_energies_against_all_paths(seed, p):
    """Each stream variance is divided away; a path of length r carries the product of its branches' shares."""
    scales = generator(seed).uniform(0.05, 4, p - 1)
    energies = np.zeros(p)
    for pattern in itertools.product((0, 1), repeat=p - 1):
        energy, stream = 1.0, 1.0
        for taken, scale in zip(pattern, scales, strict=True):
            energy *= scale**2 / stream if taken else 1.0
            stream += scale**2
        energies[sum(pattern)] += energy
    law = layer_laws.batchnorm_energy(p, scales)
    np.testing.assert_allclose(law, energies / energies.sum(), rtol=tolerances.PATH_LAW_RELATIVE)
    assert energies.sum() == pytest.approx(stream, rel=tolerances.PATH_LAW_RELATIVE)  # the variance of the output


@pytest.mark.parametrize(("scale", "mean"), [(0.3, 3.254), (1.0, 5.187), (5.0, 6.114), (math.inf, 6.177)])
def test_a_common_batchnorm_scale_stays_shallow(scale, mean):
    """mean depth at p = 100 is about log p for any common lambda."""
    assert layer_laws.batchnorm_mean(100, scale) == pytest.approx(mean, abs=5e-4)


@given(st.integers(1, 300), st.floats(1e-3, 1e3, allow_subnormal=False))
def test_batchnorm_mean_is_the_mean_of_its_law_and_grows_like_a_logarithm(p, scale):
    law = layer_laws.batchnorm_energy(p, scale)
    mean = layer_laws.batchnorm_mean(p, scale)
    assert law @ np.arange(1, p + 1) == pytest.approx(mean, rel=tolerances.MOMENT_RELATIVE)
    assert mean <= layer_laws.batchnorm_mean(p, math.inf) <= 2 + math.log(max(p - 1, 1))


@given(st.integers(2, 60), st.floats(0.05, 3))
def test_growing_batchnorm_scales_restore_the_independent_law(p, beta):
    scales = layer_laws.batchnorm_scales_of_constant_gain(p, beta)
    law = layer_laws.batchnorm_energy(p, scales)
    # The stream is a running sum of up to 60 terms; chances are powers of it.
    np.testing.assert_allclose(
        law, layer_laws.independent_energy(p, beta), rtol=p * tolerances.BINOMIAL_RELATIVE, atol=1e-300
    )


def test_edges():
    np.testing.assert_array_equal(layer_laws.independent_energy(1, 0.5), [1])
    np.testing.assert_array_equal(layer_laws.independent_energy(3, 0.0), [1, 0, 0])
    assert layer_laws.independent_energy(3, 1e300)[-1] == pytest.approx(1)
    assert layer_laws.independent_depth_fraction(0.0) == 0
    assert layer_laws.independent_depth_fraction(1e300) == 1
    np.testing.assert_array_equal(layer_laws.batchnorm_energy(1, 2.0), [1])
    np.testing.assert_array_equal(layer_laws.batchnorm_energy(3, 0.0), [1, 0, 0])
    assert Mixture(layer_laws.batchnorm_energy(10, 1.0)).regime == "pure-like"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: layer_laws.independent_energy(0, 0.5), "p = 0"),
        (lambda: layer_laws.independent_energy(3, -1), "beta = -1"),
        (lambda: layer_laws.scaled_epsilon([0.0, 1.0]), r"scales\[0\] = 0.0: every path passes the first layer"),
        (lambda: layer_laws.scaled_epsilon([1.0, 1e300], 1e300), "scale beta down"),
        (lambda: layer_laws.scaled_epsilon([1.0, 1e200, -1e200]), "overflow"),
        (lambda: layer_laws.centre_of_scales([1.0, -1.0]), r"scales\[1\] = -1.0"),
        (lambda: layer_laws.skipping_epsilon(3, 0, 0.5), "layers = 0"),
        (lambda: layer_laws.skipping_epsilon(3, 400, 1e3), r"beta\^400 exceeds"),
        (lambda: layer_laws.batchnorm_energy(4, [1.0, 2.0]), r"must be one number or lambda_2..lambda_p, shape \(3,\)"),
        (lambda: layer_laws.batchnorm_energy(4, 1e200), "at most 1e150"),
        (lambda: layer_laws.batchnorm_mean(4, -1.0), "scale = -1"),
        (lambda: layer_laws.batchnorm_scales_of_constant_gain(2000, 1.0), "beyond float64"),
    ],
)
def test_bad_arguments_are_named(call, message):
    with pytest.raises(ArgumentError, match=message):
        call()
