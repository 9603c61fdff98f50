import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from theory import ArgumentError
from theory.arguments import one_of, real_array, real_number, unit_vectors, whole_number


@pytest.mark.parametrize("value", [3, np.int8(3), np.uint64(3)])
def test_whole_numbers_pass_as_python_ints(value):
    number = whole_number("depth", value, most=3)
    assert number == 3
    assert type(number) is int


def test_whole_numbers_of_any_size_pass():
    assert whole_number("p", 10**30) == 10**30


@pytest.mark.parametrize("value", [0, -1, 5, 2.0, np.float64(2), "2", None, True, np.bool_(True), math.nan, [2]])
def test_anything_but_a_whole_number_in_range_is_refused(value):
    with pytest.raises(ArgumentError, match=r"^depth = .*: must be a whole number between 1 and 4$"):
        whole_number("depth", value, most=4)


def test_an_open_range_is_told_as_such():
    with pytest.raises(ArgumentError, match=r"^flips = -1: must be a whole number at least 0$"):
        whole_number("flips", -1, least=0)


@pytest.mark.parametrize("value", [0.5, Fraction(1, 2), np.float32(0.5), np.float64(0.5), np.longdouble(0.5)])
def test_real_numbers_pass_as_floats(value):
    number = real_number("beta", value, least=0.5)
    assert number == 0.5
    assert type(number) is float


@pytest.mark.parametrize(
    "value",
    [
        math.nan, math.inf, -math.inf, "0.5", None, True, np.bool_(True), 1 + 2j, np.complex128(1 + 2j), 10**400,
        np.array(0.5), np.array([0.5]), [0.5], Decimal("0.5"), np.datetime64("2020-01-01"),
    ],
)  # fmt: skip
def test_what_is_no_finite_real_number_is_refused(value):
    with pytest.raises(ArgumentError, match=r"^beta = .*: must be a finite number$"):
        real_number("beta", value)


def test_the_bounds_of_a_real_number_are_closed_below_and_open_above():
    assert real_number("beta", 0, least=0.0) == 0
    with pytest.raises(ArgumentError, match=r"^beta = -1e-300: must be a finite number at least 0$"):
        real_number("beta", -1e-300, least=0.0)
    with pytest.raises(ArgumentError, match=r"^decay = 0: must be a finite number greater than 0$"):
        real_number("decay", 0, above=0.0)
    assert real_number("decay", 1e-300, above=0.0) == 1e-300


@pytest.mark.parametrize("value", [[[1, 2]], np.array([[1, 2]], np.float32), np.array([[True, False]]), ((1, 2),)])
def test_arrays_of_real_numbers_pass_as_float64(value):
    array = real_array("points", value, ndim=2)
    assert array.dtype == np.float64
    assert array.shape == (1, 2)


def test_an_array_is_copied_so_that_no_routine_can_write_into_its_argument():
    given = np.ones(3)
    real_array("gains", given)[0] = 7
    assert given[0] == 1


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([1.0, math.nan], r"^gains\[1\] = nan: every entry must be finite$"),
        ([math.inf, 1.0], r"^gains\[0\] = inf: every entry must be finite$"),
        ([[1.0]], r"^gains = array of shape \(1, 1\): must have 1 dimension$"),
        ([], r"^gains = array of shape \(0,\): must not be empty$"),
        ([1j], r"^gains = \[1j\]: must be an array of real numbers of regular shape$"),
        (["1"], "regular shape"),
        ([None], "regular shape"),
        ([[1], [1, 2]], "regular shape"),
        ([Fraction(1, 2)], "regular shape"),
        (np.array([1], dtype="datetime64[s]"), "regular shape"),
    ],
)
def test_bad_arrays_are_named(value, message):
    with pytest.raises(ArgumentError, match=message):
        real_array("gains", value, ndim=1)


def test_the_first_entry_below_the_bound_is_named():
    with pytest.raises(ArgumentError, match=r"^gains\[1, 0\] = -1.0: every entry must be finite and at least 0$"):
        real_array("gains", [[0.0, 1.0], [-1.0, -2.0]], least=0.0)
    with pytest.raises(ArgumentError, match="must have 2 dimensions"):
        real_array("gains", [0.0], ndim=2)


def test_unit_vectors():
    np.testing.assert_array_equal(unit_vectors("left", [0.6, 0.8]), [0.6, 0.8])
    batch = np.array([[[1.0, 0.0]], [[0.0, -1.0]]])
    np.testing.assert_array_equal(unit_vectors("left", batch, shape=(2, 1, 2)), batch)
    with pytest.raises(ArgumentError, match=r"^left = .*: must have unit norm, has 1.41421; divide by its norm$"):
        unit_vectors("left", [[1.0, 0.0], [1.0, 1.0]], shape=(2, 2))
    with pytest.raises(ArgumentError, match=r"^left = .*: must have shape \(3,\)$"):
        unit_vectors("left", [1.0, 0.0], shape=(3,))
    with pytest.raises(ArgumentError, match="must have 1 dimension"):
        unit_vectors("left", [[1.0]])


def test_one_of_takes_only_the_listed_strings():
    assert one_of("loss", "hinge", ("logistic", "hinge")) == "hinge"
    for value in ("relu", None, 1, ["hinge"], np.array(["hinge", "hinge"])):
        with pytest.raises(ArgumentError, match=r"^loss = .*: must be one of logistic, hinge$"):
            one_of("loss", value, ("logistic", "hinge"))


def test_an_error_carries_its_parts_and_stays_one_line():
    error = ArgumentError("weights", ["a\nb"] * 50, "must be shorter")
    assert (error.argument, error.remedy) == ("weights", "must be shorter")
    assert error.value == ["a\nb"] * 50
    assert "\n" not in str(error)
    assert len(str(error)) < 100
    assert isinstance(error, ValueError)
