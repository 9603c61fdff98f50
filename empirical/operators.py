"""Batches of linear maps that are applied, never formed: what a residual Jacobian is to the solver.

Vectors are rows: a batch of B maps R^n -> R^m takes p vectors for each as ``(B, p, n)`` and returns ``(B, p, m)``.
Images are flattened as torch does, channel by channel.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor
from torch.nn import functional


class Operator(Protocol):
    """B linear maps R^n -> R^m, applied to p vectors each."""

    @property
    def shape(self) -> tuple[int, int, int]:
        """(B, m, n)."""
        ...

    @property
    def dtype(self) -> torch.dtype:
        """Of the vectors it takes and returns."""
        ...

    @property
    def device(self) -> torch.device:
        """Of the vectors it takes and returns."""
        ...

    @property
    def kind(self) -> str:
        """How products are computed, in words."""
        ...

    def apply(self, x: Tensor) -> Tensor:
        """J x; (B, p, n) -> (B, p, m)."""
        ...

    def apply_transpose(self, y: Tensor) -> Tensor:
        """J^T y; (B, p, m) -> (B, p, n)."""
        ...


def dense(operator: Operator) -> Tensor:
    """The matrices (B, m, n) of ``operator``, one product with the identity of the shorter side."""
    batch, rows, columns = operator.shape
    if columns <= rows:
        eye = torch.eye(columns, dtype=operator.dtype, device=operator.device).expand(batch, -1, -1)
        return operator.apply(eye).transpose(1, 2)
    return operator.apply_transpose(torch.eye(rows, dtype=operator.dtype, device=operator.device).expand(batch, -1, -1))


@dataclass(frozen=True)
class DenseOperator:
    """Explicit ``matrices`` (B, m, n)."""

    matrices: Tensor
    kind: str = "dense"

    @property
    def shape(self) -> tuple[int, int, int]:
        """(B, m, n)."""
        batch, rows, columns = self.matrices.shape
        return batch, rows, columns

    @property
    def dtype(self) -> torch.dtype:
        """Of the matrices."""
        return self.matrices.dtype

    @property
    def device(self) -> torch.device:
        """Of the matrices."""
        return self.matrices.device

    def apply(self, x: Tensor) -> Tensor:
        """J x; (B, p, n) -> (B, p, m)."""
        return x @ self.matrices.transpose(1, 2)

    def apply_transpose(self, y: Tensor) -> Tensor:
        """J^T y; (B, p, m) -> (B, p, n)."""
        return y @ self.matrices


@dataclass(frozen=True)
class Diagonal:
    """A factor diag(values), its own for each of the B maps; ``values`` (B, n)."""

    values: Tensor

    def apply(self, x: Tensor) -> Tensor:
        """(B, p, n) -> (B, p, n)."""
        return x * self.values[:, None, :]

    apply_transpose = apply

    @property
    def columns(self) -> int:
        """n."""
        return self.values.shape[1]

    rows = columns


@dataclass(frozen=True)
class Matrix:
    """A factor shared by the B maps; ``weight`` (m, n)."""

    weight: Tensor

    def apply(self, x: Tensor) -> Tensor:
        """(B, p, n) -> (B, p, m)."""
        return x @ self.weight.T

    def apply_transpose(self, y: Tensor) -> Tensor:
        """(B, p, m) -> (B, p, n)."""
        return y @ self.weight

    @property
    def columns(self) -> int:
        """n."""
        return self.weight.shape[1]

    @property
    def rows(self) -> int:
        """m."""
        return self.weight.shape[0]


@dataclass(frozen=True)
class Convolution:
    """A two-dimensional convolution of zero-padded images, shared by the B maps.

    ``weight`` (out, in / groups, kh, kw); ``size`` (in, H, W) and ``output_size`` (out, H', W') of one image.
    """

    weight: Tensor
    size: tuple[int, int, int]
    output_size: tuple[int, int, int]
    stride: tuple[int, int] = (1, 1)
    padding: tuple[int, int] = (0, 0)
    dilation: tuple[int, int] = (1, 1)
    groups: int = 1

    def apply(self, x: Tensor) -> Tensor:
        """(B, p, n) -> (B, p, m)."""
        images = x.reshape(-1, *self.size)
        out = functional.conv2d(images, self.weight, None, self.stride, self.padding, self.dilation, self.groups)
        return out.reshape(*x.shape[:2], -1)

    def apply_transpose(self, y: Tensor) -> Tensor:
        """(B, p, m) -> (B, p, n)."""
        images = y.reshape(-1, *self.output_size)
        # Rows of pixels that no stride reaches are restored as zeros.
        missing = [
            n - ((m - 1) * s - 2 * p + d * (k - 1) + 1)
            for n, m, s, p, d, k in zip(
                self.size[1:], self.output_size[1:], self.stride, self.padding, self.dilation, self.weight.shape[2:],
                strict=True,
            )
        ]  # fmt: skip
        out = functional.conv_transpose2d(
            images, self.weight, None, self.stride, self.padding, missing, self.groups, self.dilation
        )
        return out.reshape(*y.shape[:2], -1)

    @property
    def columns(self) -> int:
        """n = in H W."""
        return self.size[0] * self.size[1] * self.size[2]

    @property
    def rows(self) -> int:
        """m = out H' W'."""
        return self.output_size[0] * self.output_size[1] * self.output_size[2]


Factor = Diagonal | Matrix | Convolution


@dataclass(frozen=True)
class ChainOperator:
    """A product of factors, the first one applied first: ``factors = (A1, D1, A2, D2)`` is ``D2 A2 D1 A1``.

    ``batch`` is B; at least one factor. Gates and folded BatchNorm are constants of the point of linearisation, so
    products need no autograd.
    """

    factors: Sequence[Factor]
    batch: int

    @property
    def shape(self) -> tuple[int, int, int]:
        """(B, m, n)."""
        return self.batch, self.factors[-1].rows, self.factors[0].columns

    @property
    def dtype(self) -> torch.dtype:
        """Of the factors."""
        return self._first.dtype

    @property
    def device(self) -> torch.device:
        """Of the factors."""
        return self._first.device

    @property
    def kind(self) -> str:
        """Structured, and whether it convolves."""
        convolves = any(isinstance(factor, Convolution) for factor in self.factors)
        return "structured convolution" if convolves else "structured linear"

    def apply(self, x: Tensor) -> Tensor:
        """J x; (B, p, n) -> (B, p, m)."""
        for factor in self.factors:
            x = factor.apply(x)
        return x

    def apply_transpose(self, y: Tensor) -> Tensor:
        """J^T y; (B, p, m) -> (B, p, n)."""
        for factor in reversed(self.factors):
            y = factor.apply_transpose(y)
        return y

    @property
    def _first(self) -> Tensor:
        first = self.factors[0]
        return first.values if isinstance(first, Diagonal) else first.weight
