"""Exact samples of mixed spherical Hamiltonians, as polynomials with Gaussian coefficients.

    f(u) = sum_r eps_r sum_{|a| = r} sqrt(r! / a!) g_a u^a,   g_a iid N(0, 1),

has Cov(f(u), f(v)) = sum_r eps_r^2 <u, v>^r = nu(<u, v>) at all points at once (Kostlan's ensemble), so values,
gradients and Hessians are exact. f is LS's H / sqrt(N) [LS Eqs. 26-28, recovered] on the unit sphere S^{N-1}.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np
import torch

from theory.arguments import ArgumentError, real_array, whole_number

_LARGEST_BASIS = 50_000


@dataclass(frozen=True)
class Hamiltonians:
    """A batch of sampled polynomials f_1..f_B in N variables.

    ``exponents``: (M, N) integers, one monomial a row. ``table``: (B, M, 1 + N + N(N+1)/2), the coefficients of
    f, of its N first and its N(N+1)/2 second derivatives (upper triangle, row by row) in these monomials.
    """

    exponents: torch.Tensor
    table: torch.Tensor

    @property
    def dim(self) -> int:
        """N, the number of variables."""
        return self.exponents.shape[1]

    @property
    def parity(self) -> int | None:
        """0 or 1 if f(-u) = f(u) or -f(u) for all u, None for mixtures of even and odd degrees."""
        degrees = self.exponents[(self.table[..., 0] != 0).any(0)].sum(1) % 2
        return int(degrees[0]) if (degrees == degrees[0]).all() else None

    def derivatives(self, points: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """f, Euclidean gradient and Hessian at ``points`` (B, S, N): (B, S), (B, S, N) and (B, S, N, N)."""
        n = self.dim
        values = self._evaluated(points, slice(None))
        upper = torch.triu_indices(n, n)
        hessian = values.new_empty(*values.shape[:2], n, n)
        hessian[..., upper[0], upper[1]] = values[..., 1 + n :]
        hessian[..., upper[1], upper[0]] = values[..., 1 + n :]
        return values[..., 0], values[..., 1 : 1 + n], hessian

    def values(self, points: torch.Tensor) -> torch.Tensor:
        """f at ``points`` (B, S, N); (B, S)."""
        return self._evaluated(points, slice(1))[..., 0]

    def gradients(self, points: torch.Tensor) -> torch.Tensor:
        """Euclidean gradients at ``points`` (B, S, N); same shape."""
        return self._evaluated(points, slice(1, 1 + self.dim))

    def _evaluated(self, points: torch.Tensor, columns: slice) -> torch.Tensor:
        """The polynomials of the chosen columns of ``table`` at ``points`` (B, S, N); (B, S, columns)."""
        # Monomials are rows here, so that picking powers copies whole rows instead of single numbers.
        instances, count, _ = points.shape
        flat = points.reshape(-1, self.dim).T
        power = [torch.ones_like(flat)]
        for _ in range(int(self.exponents.max())):
            power.append(power[-1] * flat)
        powers = torch.stack(power, dim=1)
        monomials = powers[0][self.exponents[:, 0]]
        for i in range(1, self.dim):
            monomials *= powers[i][self.exponents[:, i]]
        by_instance = monomials.reshape(-1, instances, count).transpose(0, 1)
        return (self.table[..., columns].mT @ by_instance).mT

    def part(self, chosen: torch.Tensor | slice) -> Hamiltonians:
        """The chosen instances only."""
        return Hamiltonians(self.exponents, self.table[chosen])


def sample(n: int, weights: np.ndarray, instances: int, generator: torch.Generator) -> Hamiltonians:
    """Draw ``instances`` Hamiltonians on S^{n-1} with ``nu(q) = sum_r weights[r-1] q^r`` [Kostlan; new for mixtures].

    ``weights`` = eps_r^2, r = 1..p, non-negative. Raises ArgumentError for n < 2, for negative weights and for
    more than 50 000 monomials (see sims.lazy_reveal for large n and p).
    """
    n, instances = whole_number("n", n, least=2), whole_number("instances", instances)
    weights = real_array("weights", weights, ndim=1, least=0.0)
    degrees = sorted({r - d for r in (np.flatnonzero(weights) + 1).tolist() for d in range(3) if r >= d})
    size = sum(math.comb(n + r - 1, r) for r in degrees)
    if size > _LARGEST_BASIS:
        raise ArgumentError("n", n, f"needs {size} monomials at p = {len(weights)}; choose a smaller n or p")
    basis = [
        tuple(chosen.count(i) for i in range(n))
        for degree in degrees
        for chosen in itertools.combinations_with_replacement(range(n), degree)
    ]
    place = {exponents: index for index, exponents in enumerate(basis)}
    own = [index for index, exponents in enumerate(basis) if _weight(weights, exponents) > 0]
    scale = [
        math.sqrt(_weight(weights, basis[i]) * math.factorial(sum(basis[i])) / math.prod(map(math.factorial, basis[i])))
        for i in own
    ]
    drawn = torch.randn(instances, len(own), generator=generator, dtype=torch.float64)
    coefficients = torch.zeros(instances, size, dtype=torch.float64)
    coefficients[:, own] = drawn * torch.tensor(scale, dtype=torch.float64)
    first = [_derivative(coefficients, basis, place, i) for i in range(n)]
    second = [_derivative(first[i], basis, place, j) for i in range(n) for j in range(i, n)]
    return Hamiltonians(torch.tensor(basis), torch.stack([coefficients, *first, *second], dim=-1))


def _weight(weights: np.ndarray, exponents: tuple[int, ...]) -> float:
    degree = sum(exponents)
    return float(weights[degree - 1]) if 1 <= degree <= len(weights) else 0.0


def _derivative(
    coefficients: torch.Tensor, basis: list[tuple[int, ...]], place: dict[tuple[int, ...], int], i: int
) -> torch.Tensor:
    """Coefficients of the derivative by variable i: ``a_i u^(a - 1_i)``."""
    result = torch.zeros_like(coefficients)
    for index, exponents in enumerate(basis):
        lowered = place.get((*exponents[:i], exponents[i] - 1, *exponents[i + 1 :]))
        if exponents[i] and lowered is not None:
            result[:, lowered] = exponents[i] * coefficients[:, index]
    return result
