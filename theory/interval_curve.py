"""The scalar problem of the Unconstrained Jacobians Model in Arb intervals: nothing here rounds the wrong way.

Minimise ``f(s) = loss(z) + lam/2 (L s^2 + s(1+s))`` over t = log s. Its derivative has the sign of minus

    E(t) = log g(z) + (L - 1/2) log(1+s) - t/2 + log(delta / lam),
    E'(t) = (L - 1/2) q - 1/2 - tau(z) (1/2 + (L + 1/2) q),      q = s/(1+s).

z, log(1+s), q and tau rise with t and g falls, so both are bounded on a box by their values at its end points.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable

from flint import arb

# Narrower boxes in log s are kept undecided. That happens only where E and E' vanish together, at a fold, where s
# itself is ill-determined; near a cusp the number of boxes grows like the root of 1 / this.
_FINEST = arb(2) ** -20


class IntervalCurve:
    """E, its derivative and f on boxes of t = log s, for the logistic or exponential loss."""

    def __init__(self, depth: int, weight_decay: arb, input_norm: arb, loss: str) -> None:
        self.depth, self.weight_decay = depth, weight_decay
        self.log_norm, self.offset = input_norm.log(), input_norm.log() - weight_decay.log()
        self.logistic = loss == "logistic"

    def falling_boxes(self) -> list[tuple[arb, arb, bool]]:
        """Disjoint boxes, ascending, that hold every global minimiser, each with whether it is decided.

        On a decided box E falls through zero once. Undecided boxes that touch are joined.
        """
        boxes: list[tuple[arb, arb, bool]] = []
        pending = [(self._left_end(), self._right_end())]
        while pending:
            left, right = pending.pop()
            low, high = self._excess_range(left, right)
            if low > 0 or high < 0:
                continue
            low, high = self._slope_range(left, right)
            if low > 0:
                # E rises: a zero in here is a maximum of f.
                continue
            if high < 0:
                if not (self._excess(left) < 0 or self._excess(right) > 0):
                    boxes.append((left, right, True))
                continue
            if right - left < _FINEST:
                if boxes and not boxes[-1][2] and bool(boxes[-1][1] == left):
                    left = boxes.pop()[0]
                boxes.append((left, right, False))
                continue
            middle = ((left + right) / 2).mid()
            pending += [(middle, right), (left, middle)]
        return boxes

    def narrow(self, left: arb, right: arb, decided: bool, relative_width: float) -> tuple[arb, arb, arb, arb]:
        """Bisect a decided box on the sign of E; returns (left, right, lower, upper): bounds of t and of f."""
        while decided:
            lower, upper = self._value_bounds(left, right)
            if right - left < relative_width / 4 and upper - lower < relative_width * lower:
                return left, right, lower, upper
            middle = ((left + right) / 2).mid()
            excess = self._excess(middle)
            if excess > 0:
                left = middle
            elif excess < 0:
                right = middle
            else:
                return left, right, lower, upper
        # An undecided box may be joined from many: bounds piece by piece stay as sharp as for each.
        pieces = 1 + int(float(((right - left) / _FINEST).upper()))
        edges = [left + (right - left) * k / pieces for k in range(pieces + 1)]
        bounds = [self._value_bounds(a.lower(), b.upper()) for a, b in itertools.pairwise(edges)]
        return left, right, _least(low for low, _ in bounds), _least(high for _, high in bounds)

    def _left_end(self) -> arb:
        """t below which E > 0: there g(z) is at least its value here, log(1+s) at least 0, and -t/2 grows."""
        t = arb(-1)
        while not self._log_slope(self._margin(t)) + self.offset - t / 2 > 0:
            t = 2 * t
        return t

    def _right_end(self) -> arb:
        """t beyond which ``lam/2 (L+1) s^2 >= loss(0)``, so that f exceeds its value at 0 [U8b]."""
        at_zero = self._loss(arb(0))
        return ((2 * at_zero / (self.weight_decay * (self.depth + 1))).log() / 2).upper() + 1

    def _margin(self, t: arb) -> arb:
        return (self.log_norm + t / 2 + (self.depth + arb(0.5)) * t.exp().log1p()).exp()

    def _loss(self, z: arb) -> arb:
        return (-z).exp().log1p() if self.logistic else (-z).exp()

    def _log_slope(self, z: arb) -> arb:
        return -z - (-z).exp().log1p() if self.logistic else -z

    def _tau(self, z: arb) -> arb:
        return z / (1 + (-z).exp()) if self.logistic else z

    def _excess(self, t: arb) -> arb:
        return self._excess_range(t, t)[0].union(self._excess_range(t, t)[1])

    def _excess_range(self, left: arb, right: arb) -> tuple[arb, arb]:
        growth = self.depth - arb(0.5)
        low = self._log_slope(self._margin(right)) + growth * left.exp().log1p() - right / 2
        high = self._log_slope(self._margin(left)) + growth * right.exp().log1p() - left / 2
        return low + self.offset, high + self.offset

    def _slope_range(self, left: arb, right: arb) -> tuple[arb, arb]:
        ends = []
        for falling, rising in ((right, left), (left, right)):
            q, other = falling.exp() / (1 + falling.exp()), rising.exp() / (1 + rising.exp())
            pull = self._tau(self._margin(falling)) * (arb(0.5) + (self.depth + arb(0.5)) * q)
            ends.append((self.depth - arb(0.5)) * other - arb(0.5) - pull)
        return ends[0], ends[1]

    def _value_bounds(self, left: arb, right: arb) -> tuple[arb, arb]:
        """The least f on the box is at most f(middle), and at least that less half the width times the largest |df/dt|.

        ``df/dt = lam s(1+s) (1/2 + (L + 1/2) q) (1 - e^E)``, tiny where E is, so this is sharper than U8b's
        ``loss(z(right)) + penalty(left)``.
        """
        middle = ((left + right) / 2).mid()
        low, high = self._excess_range(left, right)
        s = right.exp()
        steepness = self.weight_decay * s * (1 + 2 * (self.depth + 1) * s) / 2 * (1 - low.union(high).exp())
        value = self._loss(self._margin(middle)) + self._penalty(middle)
        return value - (right - left) / 2 * abs(steepness), value

    def _penalty(self, t: arb) -> arb:
        s = t.exp()
        return self.weight_decay / 2 * (self.depth * s * s + s * (1 + s))


def _least(values: Iterable[arb]) -> arb:
    """An interval that encloses the least of several."""
    least = None
    for value in values:
        least = value if least is None else least.min(value)
    assert least is not None
    return least
