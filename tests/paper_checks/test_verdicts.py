import math

import pytest

from paper_checks.verdicts import Criterion, Finding, over_seeds


def criterion(value: float, **bounds) -> Criterion:
    return Criterion("x", value, 1, "instances", "for the test", **(bounds or {"low": 0.0}))


@pytest.mark.parametrize(
    ("values", "verdict"), [((1.0, 2.0), "holds"), ((-1.0, -2.0), "fails"), ((1.0, -1.0), "partly"), ((0.0,), "fails")]
)
def test_the_verdict_follows_from_the_criteria(values, verdict):
    assert Finding(tuple(criterion(value) for value in values)).verdict == verdict


def test_what_cannot_be_tested_is_neither_right_nor_wrong():
    assert Finding((criterion(1.0),), untestable="the networks did not train").verdict == "not testable here"


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_value_that_is_not_finite_never_passes(value):
    assert not criterion(value).passes
    assert not criterion(value, high=1.0).passes


def test_a_criterion_that_cannot_fail_is_refused():
    with pytest.raises(ValueError, match="cannot fail"):
        Criterion("x", 1.0, 1, "instances", "none")


def test_bounds_are_strict_and_printed():
    inside = criterion(0.5, low=0.0, high=1.0)
    assert inside.passes
    assert inside.threshold == "0 .. 1"
    assert not criterion(1.0, low=0.0, high=1.0).passes
    assert criterion(2.0, low=1.0).threshold == "> 1"
    assert criterion(2.0, high=3.0).threshold == "< 3"


def test_over_seeds_reports_mean_spread_and_null():
    result = over_seeds("x", [1.0, 2.0, 3.0], "for the test", low=0.0, null=[0.1, 0.3])
    assert (result.value, result.spread, result.n) == (2.0, 1.0, 3)
    assert result.null == pytest.approx(0.2)
    assert over_seeds("x", [1.0], "for the test", low=0.0).spread == 0.0
