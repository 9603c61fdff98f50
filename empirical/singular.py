"""Top singular triplets of batches of operators."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from empirical.operators import Operator, dense


@dataclass(frozen=True)
class Triplets:
    """The k largest singular triplets of each of B maps (m, n), largest first.

    ``values`` (B, k) float64; ``left`` (B, m, k), ``right`` (B, n, k) with orthonormal columns; ``residuals`` (B, k, 2)
    float64: ``|J v - s u|`` and ``|J^T u - s v|``; ``error`` (B, k): some singular value lies within it of ``values``;
    ``converged`` (B, k) bool; ``products``: vectors multiplied by J and by J^T, summed over the batch;
    ``completeness``: the evidence that no larger triplet is missing (``Sturm count``, ``Cholesky``, ``dense``, ``none``);
    ``solver`` in words.
    """

    values: Tensor
    left: Tensor
    right: Tensor
    residuals: Tensor
    error: Tensor
    converged: Tensor
    products: tuple[int, int]
    completeness: str
    solver: str


def exact_singular_triplets(operator: Operator, k: int) -> Triplets:
    """The same from the dense matrices in float64; for small sizes."""
    matrices = dense(operator).double()
    left, values, right = torch.linalg.svd(matrices, full_matrices=False)
    batch, rows, columns = operator.shape
    k = min(k, rows, columns)
    left, values, right = left[..., :k], values[:, :k], right[:, :k].transpose(1, 2)
    forward = (matrices @ right - left * values[:, None, :]).norm(dim=1)
    backward = (matrices.transpose(1, 2) @ left - right * values[:, None, :]).norm(dim=1)
    residuals = torch.stack([forward, backward], dim=-1)
    return Triplets(
        values, left, right, residuals, residuals.square().sum(-1).div(2).sqrt(),
        torch.ones_like(values, dtype=torch.bool), (batch * columns, 0), "dense", "dense SVD",
    )  # fmt: skip
