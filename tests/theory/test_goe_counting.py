import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import tolerances
from theory import ArgumentError, goe, goe_counting

levels = st.lists(st.floats(-15, 15), min_size=1, max_size=4)


@given(st.integers(1, 24), levels)
def test_counts_are_a_law_symmetric_under_reflection(n, at):
    law = goe_counting.counting_probabilities(n, at)
    assert law.shape == (len(at), n + 1)
    assert (law > -tolerances.COUNTING_ABSOLUTE).all()
    np.testing.assert_allclose(law.sum(axis=1), 1, atol=tolerances.COUNTING_ABSOLUTE)
    mirrored = goe_counting.counting_probabilities(n, [-level for level in at])
    np.testing.assert_allclose(law, mirrored[:, ::-1], atol=tolerances.COUNTING_ABSOLUTE)


@pytest.mark.parametrize("n", [2, 3, 7, 16, 24])
def test_the_mean_count_is_the_integral_of_the_density(n):
    for level in (-3.0, -0.4, 1.7):
        low = -2 * math.sqrt(n) - 14
        nodes, weights = np.polynomial.legendre.leggauss(400)
        x = (low + level) / 2 + (level - low) / 2 * nodes
        mass = (level - low) / 2 * float(weights @ np.exp(goe.log_density(n, x)))
        mean = float(goe_counting.counting_probabilities(n, [level])[0] @ np.arange(n + 1))
        assert mean == pytest.approx(mass, abs=n * tolerances.COUNTING_ABSOLUTE)


@given(st.floats(-8, 8))
def test_one_eigenvalue_is_normal_and_the_larger_of_two_by_hand(level):
    below = 0.5 * math.erfc(-level / 2)  # variance 2
    law = goe_counting.counting_probabilities(1, [level])[0]
    np.testing.assert_allclose(law, [1 - below, below], atol=tolerances.COUNTING_ABSOLUTE)
    # n = 2: half trace N(0, 1), half gap Rayleigh, independent; both <= level: their sum is.
    gaps, weights = np.polynomial.legendre.leggauss(200)
    gaps = 8 * (gaps + 1)
    chance = gaps * np.exp(-(gaps**2) / 2) * np.array([0.5 * math.erfc(-(level - gap) / math.sqrt(2)) for gap in gaps])
    both = 8 * float(weights @ chance)
    assert goe_counting.counting_probabilities(2, [level])[0, 2] == pytest.approx(both, abs=1e-12)


def test_counts_against_sampled_spectra():
    """Four sizes, three levels, up to 17 counts: 60 comparisons of more than ten expected events."""
    rng = np.random.default_rng(20169)
    at = np.array([-2.0, 0.0, 1.0])
    for n in (3, 4, 9, 16):
        counted = (goe.sampled_eigenvalues(n, 4000, rng)[:, :, None] < at).sum(axis=1)
        for j, law in enumerate(goe_counting.counting_probabilities(n, at)):
            frequency = np.bincount(counted[:, j], minlength=n + 1) / 4000
            often = law * 4000 > 10
            error = np.sqrt(law[often] * (1 - law[often]) / 4000)
            assert (np.abs(frequency - law)[often] < tolerances.STANDARD_ERRORS * error).all()


def test_bad_arguments_are_named():
    with pytest.raises(ArgumentError, match="n = 25: must be a whole number between 1 and 24"):
        goe_counting.counting_probabilities(25, [0.0])
    with pytest.raises(ArgumentError, match="levels"):
        goe_counting.counting_probabilities(3, 0.0)
