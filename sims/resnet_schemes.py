"""Random linear ResNets, run so that the output of each path length r comes out by itself.

``N_1 = A_1 W_1 x``, ``N_l = N_{l-1} + A_l W_l N_{l-1}`` for l = 2..p [LS Eq. 7, recovered, with 0/1 gates A_l for
the relu], and a readout of N_p. With t in front of every weight the state is a polynomial in t; keeping its
coefficients through the forward pass, the coefficient of t^r is the sum over all paths of length r.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import torch

SCHEMES = ("independent", "tied", "tuple", "path", "latin", "placed")


@dataclass(frozen=True)
class Ensemble:
    """What to draw: depth p, width n, Lambda = ``unique`` weights, ``gain`` s of an ungated branch, gates.

    ``s = sqrt(n) sd(W_ij)`` where weights are independent and ``s = n C / sqrt(Lambda)`` where they are shared
    [LS Eq. 16]. ``rho`` is the chance that a gate is open; ``averaged`` puts rho in its place [LS Eq. 10].
    """

    p: int
    width: int
    unique: int
    gain: float
    rho: float
    averaged: bool


def polynomial_pass(state: torch.Tensor, branches: Iterable[Callable[[torch.Tensor], torch.Tensor]]) -> torch.Tensor:
    """Coefficients in t of ``prod (1 + t branch_l) t N_1``; (networks, p, n), entry r - 1 belongs to r.

    ``state`` is N_1, (networks, n); each of the p - 1 branches maps (networks, k, n) to the same shape, linearly.
    """
    coefficients = state[:, None]
    for branch in branches:
        taken = torch.nn.functional.pad(branch(coefficients), (0, 0, 1, 0))
        coefficients = torch.nn.functional.pad(coefficients, (0, 0, 0, 1)) + taken
    return coefficients


def outputs(scheme: str, ensemble: Ensemble, networks: int, weights: torch.Tensor, seed: int) -> torch.Tensor:
    """Outputs by path length of that many random networks; float64, (networks, p, readouts).

    Several readouts mean independent readout vectors, averaged over later. ``weights`` are the Lambda unique
    weights (see ``unique_weights``), which the schemes tuple, latin and placed share between all networks.
    """
    generator = torch.Generator().manual_seed(seed)
    return _RUN[scheme](ensemble, networks, weights, generator)


def unique_weights(ensemble: Ensemble, seed: int) -> torch.Tensor:
    """Lambda Gaussian weights, scaled to ``(1/Lambda) sum w^2 = C^2`` with ``n C / sqrt(Lambda) = s`` [LS Def. of C]."""
    weights = _normal(torch.Generator().manual_seed(seed), ensemble.unique)
    root_mean_square = ensemble.gain * ensemble.unique**0.5 / ensemble.width
    return weights * (root_mean_square / weights.square().mean().sqrt())


def _normal(generator: torch.Generator, *shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def _gates(ensemble: Ensemble, generator: torch.Generator, *shape: int) -> torch.Tensor:
    if ensemble.averaged or ensemble.rho == 1:
        return torch.full(shape, ensemble.rho, dtype=torch.float64)
    return (torch.rand(*shape, generator=generator, dtype=torch.float64) < ensemble.rho).to(torch.float64)


def _gated_network(
    ensemble: Ensemble,
    first: torch.Tensor,
    matrices: Iterable[torch.Tensor],
    generator: torch.Generator,
) -> torch.Tensor:
    """The pass with a fresh gate on every neuron of every layer; ``first`` = W_1 x, (networks, n)."""

    def branch(matrix: torch.Tensor) -> Callable[[torch.Tensor], torch.Tensor]:
        gates = _gates(ensemble, generator, *first.shape)
        return lambda state: (state @ matrix.mT) * gates[:, None]

    first = first * _gates(ensemble, generator, *first.shape)
    return polynomial_pass(first, (branch(matrix) for matrix in matrices))


def _independent(ensemble: Ensemble, networks: int, _: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    n, sd = ensemble.width, ensemble.gain / ensemble.width**0.5
    # W_1 x for a Gaussian W_1 and |x| = sqrt(n) is a Gaussian vector.
    first = ensemble.gain * _normal(generator, networks, n)
    matrices = (sd * _normal(generator, networks, n, n) for _ in range(ensemble.p - 1))
    return _gated_network(ensemble, first, matrices, generator)


def _tied(ensemble: Ensemble, networks: int, _: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    n, sd = ensemble.width, ensemble.gain / ensemble.width**0.5
    first = ensemble.gain * _normal(generator, networks, n)
    matrix = sd * _normal(generator, networks, n, n)
    return _gated_network(ensemble, first, itertools.repeat(matrix, ensemble.p - 1), generator)


def _tuple(ensemble: Ensemble, networks: int, weights: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """An input of its own for each tuple of r unique weights, the same for every skip pattern [LS Eq. 13]."""
    copies = ensemble.rho * ensemble.width / ensemble.unique
    # Counting patterns is the same pass with numbers for matrices.
    patterns = polynomial_pass(torch.ones(1, 1, dtype=torch.float64), [lambda state: state] * (ensemble.p - 1))
    result = []
    for r in range(1, ensemble.p + 1):
        signal = _normal(generator, networks, *[ensemble.unique] * r)
        for _ in range(r):
            signal = copies * (signal @ weights)
        result.append(signal * patterns[0, r - 1, 0])
    return torch.stack(result, dim=1)[..., None]


def _path(ensemble: Ensemble, networks: int, _: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """An input of its own for every path: A1 as it is stated; every path is walked."""
    n, p, sd = ensemble.width, ensemble.p, ensemble.gain / ensemble.width**0.5
    layers = sd * _normal(generator, networks, p, n, n) * _gates(ensemble, generator, networks, p, n, 1)
    result = torch.zeros(networks, p, 1, dtype=torch.float64)
    for pattern in itertools.product((False, True), repeat=p - 1):
        through = [layer for layer, taken in enumerate(pattern, start=1) if taken]
        # products[network, path before its last neuron, last neuron]: the weights along each path, multiplied.
        products = layers[:, 0, None, :, 0]
        for layer in through:
            products = (products[..., None] * layers[:, layer].mT[:, None]).flatten(1, 2)
        result[:, len(through), 0] += (products * _normal(generator, *products.shape)).sum((1, 2))
    return result


def _latin(ensemble: Ensemble, networks: int, weights: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """Exact A2-A3: ``W_ij = w_{(i+j) mod Lambda}`` in every layer, so each neuron sees each weight equally often."""
    index = torch.arange(ensemble.width)
    matrix = weights[(index[:, None] + index) % ensemble.unique].expand(networks, -1, -1)
    inputs = _normal(generator, networks, ensemble.width)
    first = (inputs[:, None] @ matrix.mT)[:, 0]
    state = _gated_network(ensemble, first, itertools.repeat(matrix, ensemble.p - 1), generator)
    return state.sum(-1, keepdim=True)


def _placed(ensemble: Ensemble, networks: int, weights: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """Each edge of the network carries one of the Lambda weights, chosen at random [LS A3 in words]."""
    n = ensemble.width

    def matrix() -> torch.Tensor:
        return weights[torch.randint(ensemble.unique, (networks, n, n), generator=generator)]

    inputs = _normal(generator, networks, n)
    first = (inputs[:, None] @ matrix().mT)[:, 0]
    state = _gated_network(ensemble, first, (matrix() for _ in range(ensemble.p - 1)), generator)
    return state.sum(-1, keepdim=True)


_RUN = {
    "independent": _independent, "tied": _tied, "tuple": _tuple, "path": _path, "latin": _latin, "placed": _placed,
}  # fmt: skip
