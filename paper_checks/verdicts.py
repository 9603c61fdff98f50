"""How a claim is judged: criteria with thresholds, and the verdict that follows from them and nothing else."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

Verdict = Literal["holds", "fails", "partly", "not testable here", "error"]


@dataclass(frozen=True)
class Criterion:
    """One number against its threshold.

    ``value`` with ``spread`` (standard deviation over ``n`` of ``what``); the threshold is ``low < value < high``;
    ``reason`` says why it stands there; ``null`` is the value that chance, or no effect, would give.
    """

    name: str
    value: float
    n: int
    what: str
    reason: str
    low: float = -math.inf
    high: float = math.inf
    spread: float = 0.0
    null: float | None = None

    def __post_init__(self) -> None:
        if not (self.low > -math.inf or self.high < math.inf):
            raise ValueError(f"{self.name}: a criterion without a bound cannot fail")

    @property
    def passes(self) -> bool:
        """Whether the value lies strictly between the bounds; a value that is not finite never does."""
        return math.isfinite(self.value) and self.low < self.value < self.high

    @property
    def threshold(self) -> str:
        """The bounds as text."""
        if self.high == math.inf:
            return f"> {self.low:g}"
        if self.low == -math.inf:
            return f"< {self.high:g}"
        return f"{self.low:g} .. {self.high:g}"


@dataclass(frozen=True)
class Finding:
    """What a check found: its criteria, a note in plain words, and the reason if it could not be tested here."""

    criteria: tuple[Criterion, ...]
    note: str = ""
    untestable: str = ""

    @property
    def verdict(self) -> Verdict:
        """holds: every criterion passes; fails: none does; partly: some; not testable here: the check says why."""
        if self.untestable:
            return "not testable here"
        passed = sum(criterion.passes for criterion in self.criteria)
        if passed == len(self.criteria):
            return "holds"
        return "partly" if passed else "fails"


def over_seeds(
    name: str,
    values: ArrayLike,
    reason: str,
    *,
    what: str = "seeds",
    low: float = -math.inf,
    high: float = math.inf,
    null: ArrayLike | None = None,
) -> Criterion:
    """A criterion on the mean of ``values``, one a seed, with their standard deviation as spread."""
    by_seed = np.asarray(values, dtype=float)
    spread = float(by_seed.std(ddof=1)) if by_seed.size > 1 else 0.0
    average = None if null is None else float(np.mean(np.asarray(null)))
    return Criterion(name, float(by_seed.mean()), by_seed.size, what, reason, low, high, spread, average)
