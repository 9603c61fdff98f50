import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import naive, tolerances
from tests.strategies import generator, seeds
from theory import ArgumentError
from theory.mixtures import Mixture, trivial_threshold

# 1e-9 and below: eps_1^2 is 1 to rounding, and regimes near a threshold are decided by that rounding.
gains = st.floats(1e-3, 1e2, allow_subnormal=False)


@given(st.integers(1, 40), gains)
def test_moments_of_the_printed_law_against_exact_rationals(p, beta):
    weights = naive.energy_fractions(p, Fraction(beta))
    first = sum(r * weight for r, weight in enumerate(weights, 1))
    second = sum(r * (r - 1) * weight for r, weight in enumerate(weights, 1))
    mixture = Mixture.from_depth_law(p, beta)
    assert mixture.first == pytest.approx(float(first), rel=tolerances.MIXTURE_RELATIVE)
    assert mixture.second == pytest.approx(float(second), rel=tolerances.MIXTURE_RELATIVE)
    assert mixture.ratio == pytest.approx(float(second / first), rel=tolerances.MIXTURE_RELATIVE)
    assert mixture.excess == pytest.approx(float(second / first - 1), rel=0, abs=p * tolerances.MIXTURE_ABSOLUTE)
    # alpha^2 is defined by LS through nu' and nu''; that it is a variance is what the code uses.
    assert mixture.variance == pytest.approx(float(second + first - first**2), abs=p * tolerances.MIXTURE_ABSOLUTE)
    if p > 1:
        gap = math.log(second / first) - float((second - first) * (second - first + first**2) / (second * first**2))
        # nu'' of order beta^2 divides once more.
        assert mixture.gap == pytest.approx(gap, rel=tolerances.MOMENT_RELATIVE, abs=p * tolerances.MIXTURE_ABSOLUTE)


@given(st.integers(1, 30), gains, st.floats(-1, 1, allow_subnormal=False))
def test_the_independent_mixture_is_the_closed_form_and_its_derivatives(p, beta, q):
    """nu(q) = q ((1 + b q) / (1 + b))^(p-1), all layers at overlap q."""
    mixture = Mixture.from_depth_law(p, beta, "independent")
    b = beta**2
    base = (1 + b * q) / (1 + b)
    assert mixture.covariance(q) == pytest.approx(q * base ** (p - 1), abs=tolerances.MIXTURE_RELATIVE)
    slope = base ** (p - 1) + (q * (p - 1) * base ** (p - 2) * b / (1 + b) if p > 1 else 0)
    assert mixture.covariance_slope(q) == pytest.approx(slope, abs=p * tolerances.MIXTURE_RELATIVE)
    assert mixture.covariance_slope(1.0) == pytest.approx(mixture.first, rel=tolerances.MIXTURE_RELATIVE)
    assert mixture.covariance_curvature(1.0) == pytest.approx(mixture.second, rel=tolerances.MIXTURE_RELATIVE)
    assert mixture.covariance(1.0) == pytest.approx(1, rel=tolerances.MIXTURE_RELATIVE)


@given(st.integers(3, 60), st.sampled_from(["printed", "independent"]), st.floats(1.001, 50))
def test_the_regime_changes_at_the_threshold_and_the_ratio_increases(p, law, factor):
    threshold = trivial_threshold(p, law)
    at = Mixture.from_depth_law(p, threshold, law)
    assert at.excess == pytest.approx(0, abs=tolerances.THRESHOLD_RELATIVE)
    below, above = (Mixture.from_depth_law(p, threshold * by, law) for by in (1 / factor, factor))
    assert below.regime == "trivial"
    assert above.regime != "trivial"
    assert below.ratio < 1 < above.ratio < p - 1 + tolerances.MIXTURE_RELATIVE
    s = np.arange(p)
    assert below.weights @ s**2 < 1 < above.weights @ s**2  # the same as E (r-1)^2 < 1


@pytest.mark.parametrize(
    ("p", "printed", "independent"),
    [(3, 0.759836, 0.759836), (5, 0.302252, None), (10, 0.120407, 0.276240), (20, 0.054634, None),
     (50, 0.0207027, None), (100, 0.0101727, 0.0793708), (1000, 0.00100170, None)],
)  # fmt: skip
def test_thresholds_of_the_reference(p, printed, independent):
    assert trivial_threshold(p) == pytest.approx(printed, rel=tolerances.PRINTED_SIX_DIGITS)
    if independent is not None:
        assert trivial_threshold(p, "independent") == pytest.approx(independent, rel=tolerances.PRINTED_SIX_DIGITS)


def test_thresholds_at_the_ends_of_p():
    assert trivial_threshold(1) == trivial_threshold(2) == trivial_threshold(2, "independent") == math.inf
    p = 10**12
    # Deep networks: p beta_c -> 1, and p beta_c^2 -> (sqrt 5 - 1)/2.
    assert trivial_threshold(p) * p == pytest.approx(1, rel=tolerances.KAC_RICE_RELATIVE)
    golden = (math.sqrt(5) - 1) / 2
    assert trivial_threshold(p, "independent") ** 2 * p == pytest.approx(golden, rel=tolerances.KAC_RICE_RELATIVE)


@pytest.mark.parametrize(
    ("beta", "ratio", "regime"),
    [(0.05, 0.318194, "trivial"), (0.1, 0.818182, "trivial"), (0.2, 1.603242, "full mixture"),
     (0.5, 3.182149, "pure-like"), (1.0, 4.716578, "pure-like"), (2.0, 6.238664, "pure-like")],
)  # fmt: skip
def test_regimes_of_the_reference(beta, ratio, regime):
    mixture = Mixture.from_depth_law(10, beta)
    assert mixture.ratio == pytest.approx(ratio, abs=tolerances.PRINTED_SIX_DIGITS)
    assert mixture.regime == regime


def test_gap_of_the_one_full_mixture_of_the_reference():
    assert Mixture.from_depth_law(10, 0.2).gap == pytest.approx(-0.002526, abs=tolerances.PRINTED_SIX_DIGITS)


@given(st.integers(1, 60))
def test_pure_models(p):
    mixture = Mixture.pure(p)
    assert (mixture.first, mixture.second, mixture.variance) == (p, p * (p - 1), 0)
    assert mixture.ratio == p - 1
    assert mixture.regime == ("trivial" if p == 1 else "critical" if p == 2 else "pure-like")
    # R + 1 is the size-biased mean degree.
    assert mixture.ratio + 1 == pytest.approx(p)


@given(seeds, st.integers(2, 12))
def test_regimes_of_random_mixtures_follow_their_definition(seed, p):
    mixture = Mixture(generator(seed).dirichlet(np.full(p, 0.5)))
    r = mixture.degrees
    size_biased = (mixture.weights * r) @ r / mixture.first
    assert mixture.ratio + 1 == pytest.approx(size_biased, rel=tolerances.MIXTURE_RELATIVE)
    if mixture.regime == "trivial":
        assert mixture.ratio < 1
    else:
        assert (mixture.regime == "pure-like") == (mixture.gap > 0)


def test_dropping_the_field_term_and_renormalising_is_another_model():
    """LS counts r = 1 in the normalisation and uses a theorem without it."""
    mixture = Mixture.from_depth_law(10, 0.05)
    weights = mixture.weights.copy()
    weights[0] = 0
    dropped = Mixture(weights / weights.sum())
    assert mixture.ratio < 1 < dropped.ratio
    assert dropped.ratio == pytest.approx(1.0586, abs=tolerances.PRINTED_FOUR_DECIMALS)


def test_a_mixture_cannot_be_changed_afterwards():
    mixture = Mixture([0.5, 0.5])
    with pytest.raises(ValueError, match="read-only"):
        mixture.weights[0] = 1
    with pytest.raises(AttributeError):
        mixture.weights = np.ones(1)  # type: ignore[misc]


@pytest.mark.parametrize(
    ("weights", "message"),
    [([0.5, 0.4], "must sum to 1, sum to 0.9"), ([1.5, -0.5], r"weights\[1\] = -0.5"), ([], "must not be empty"),
     ([[1.0]], "1 dimension"), ("ab", "weights = ab"), ([math.nan, 1.0], r"weights\[0\]")],
)  # fmt: skip
def test_bad_weights_are_named(weights, message):
    with pytest.raises(ArgumentError, match=message):
        Mixture(weights)


def test_bad_laws_and_depths_are_named():
    with pytest.raises(ArgumentError, match="law = batchnorm: must be one of printed, independent"):
        Mixture.from_depth_law(10, 0.5, "batchnorm")
    with pytest.raises(ArgumentError, match="law = 3"):
        trivial_threshold(10, 3)
    with pytest.raises(ArgumentError, match="p = 0"):
        trivial_threshold(0)
    with pytest.raises(ArgumentError, match="p = 0"):
        Mixture.pure(0)
