import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import tolerances
from theory import ArgumentError
from theory.output_loss import mean_loss

NODES, WEIGHTS = np.polynomial.legendre.leggauss(200)


def by_quadrature(loss, deviation, label):
    """The definition, by the midpoint rule with the kink on a node's edge."""
    kink = label if loss == "absolute" else 1 / label
    ends = np.sort([min(-12 * deviation, kink), kink, max(12 * deviation, kink)])
    total = 0.0
    for low, high in itertools.pairwise(ends):
        y = (low + high) / 2 + (high - low) / 2 * NODES
        values = np.abs(label - y) if loss == "absolute" else np.maximum(0, 1 - label * y)
        density = np.exp(-((y / deviation) ** 2) / 2) / (deviation * math.sqrt(2 * math.pi))
        total += (high - low) / 2 * float(WEIGHTS @ (values * density))
    return total


@given(st.sampled_from(["hinge", "absolute"]), st.floats(0.2, 3), st.sampled_from([1.0, -1.0, 0.7, -2.0]))
def test_mean_losses_against_their_definition(loss, deviation, label):
    found = mean_loss(loss, deviation, label)
    assert found.true == pytest.approx(by_quadrature(loss, deviation, label), abs=tolerances.EXPONENT_ABSOLUTE)
    assert found.true >= found.printed == (1 if loss == "hinge" else abs(label))


def test_the_linear_form_of_ls_lemma_3_misses_the_mean():
    """Y ~ N(0, 1), label 1."""
    for loss, value in (("absolute", 1.1666), ("hinge", 1.0833)):
        found = mean_loss(loss, 1.0)
        assert found.printed == 1
        assert found.true == pytest.approx(value, abs=tolerances.PRINTED_FOUR_DECIMALS)
        assert found.differs
        assert "LS Lemma 3" in found.warning


def test_the_linear_form_is_right_for_small_outputs():
    assert mean_loss("hinge", 0.02).differs is False
    assert mean_loss("absolute", 0.0, 0.0).true == 0


def test_bad_arguments_are_named():
    with pytest.raises(ArgumentError, match="loss = square: must be one of hinge, absolute"):
        mean_loss("square", 1.0)
    with pytest.raises(ArgumentError, match="deviation = -1"):
        mean_loss("hinge", -1.0)
