"""Arguments are checked once, at the door: one line that names the argument, its value and the remedy."""

from __future__ import annotations

import math
import operator
from numbers import Real

import numpy as np

# A direction handed in as "unit" may carry the rounding of its own normalisation, not more.
_UNIT_TOLERANCE = 1e-10


class ArgumentError(ValueError):
    """A bad argument: ``argument`` (its name), ``value`` (what was given) and ``remedy`` (what to do instead).

    Commands turn it into that one line on standard error and exit code 2.
    """

    def __init__(self, argument: str, value: object, remedy: str) -> None:
        self.argument = argument
        self.value = value
        self.remedy = remedy
        super().__init__(f"{argument} = {_brief(value)}: {remedy}")


def _brief(value: object) -> str:
    if isinstance(value, np.ndarray):
        return f"array of shape {value.shape}"
    if isinstance(value, str):
        return value
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else text[:57] + "..."


def whole_number(name: str, value: object, *, least: int = 1, most: int | None = None) -> int:
    """Return ``value`` as an int with ``least <= value <= most``, or raise ArgumentError; no booleans, no floats."""
    bound = f"at least {least}" if most is None else f"between {least} and {most}"
    remedy = f"must be a whole number {bound}"
    if isinstance(value, bool | np.bool_):
        raise ArgumentError(name, value, remedy)
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise ArgumentError(name, value, remedy) from None
    if number < least or (most is not None and number > most):
        raise ArgumentError(name, value, remedy)
    return number


def real_number(name: str, value: object, *, least: float | None = None, above: float | None = None) -> float:
    """Return ``value`` as a finite float with ``value >= least`` and ``value > above``, or raise ArgumentError."""
    bounds = []
    if least is not None:
        bounds.append(f"at least {least:g}")
    if above is not None:
        bounds.append(f"greater than {above:g}")
    remedy = "must be a finite number" + (" " + " and ".join(bounds) if bounds else "")
    if isinstance(value, bool) or not isinstance(value, Real):
        raise ArgumentError(name, value, remedy)
    try:
        number = float(value)
    except OverflowError:
        raise ArgumentError(name, value, remedy) from None
    below_bounds = (least is not None and number < least) or (above is not None and number <= above)
    if not math.isfinite(number) or below_bounds:
        raise ArgumentError(name, value, remedy)
    return number


def real_array(name: str, value: object, *, ndim: int | None = None, least: float | None = None) -> np.ndarray:
    """Return ``value`` as a non-empty, finite float64 array of ``ndim`` dimensions with entries ``>= least``.

    Lower precision is cast up: everything in ``theory`` and ``sims`` runs in float64.
    Raises ArgumentError for a wrong number of dimensions, an empty array, complex, non-numeric, NaN,
    infinite or too small entries; the first offending index is named.
    """
    try:
        array = np.asarray(value)
        if array.dtype.kind not in "biuf":
            raise ValueError
        array = array.astype(np.float64)
    except (TypeError, ValueError):
        raise ArgumentError(name, value, "must be an array of real numbers of regular shape") from None
    if ndim is not None and array.ndim != ndim:
        raise ArgumentError(name, array, f"must have {ndim} dimension{'s' if ndim != 1 else ''}")
    if array.size == 0:
        raise ArgumentError(name, array, "must not be empty")
    refused = ~np.isfinite(array)
    remedy = "every entry must be finite"
    if least is not None:
        refused |= array < least
        remedy += f" and at least {least:g}"
    if refused.any():
        index = tuple(int(i) for i in np.argwhere(refused)[0])
        raise ArgumentError(f"{name}{list(index)}", float(array[index]), remedy)
    return array


def unit_vectors(name: str, value: object, *, shape: tuple[int, ...] | None = None) -> np.ndarray:
    """Return ``value`` as float64 unit vectors along the last axis, of that ``shape`` (one vector if None is given).

    Raises ArgumentError for another shape and for norms further from 1 than 1e-10.
    """
    array = real_array(name, value, ndim=1 if shape is None else None)
    if shape is not None and array.shape != shape:
        raise ArgumentError(name, array, f"must have shape {shape}")
    norms = np.linalg.norm(array, axis=-1)
    if (np.abs(norms - 1) > _UNIT_TOLERANCE).any():
        worst = norms.flat[np.abs(norms - 1).argmax()]
        raise ArgumentError(name, array, f"must have unit norm, has {worst:g}; divide by its norm")
    return array


def one_of(name: str, value: object, choices: list[str] | tuple[str, ...]) -> str:
    """Return ``value`` if it is one of ``choices``, or raise ArgumentError that lists them."""
    if not isinstance(value, str) or value not in choices:
        raise ArgumentError(name, value, "must be one of " + ", ".join(choices))
    return value
