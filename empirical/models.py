"""Fully connected residual networks, post- and pre-activation, with and without skips.

Post-activation: stem ``ReLU(BN(W x))``, blocks ``ReLU(h + F(h))`` with ``F = BN(W2 ReLU(BN(W1 h)))``.
Pre-activation: stem ``W x``, blocks ``h + F(h)`` with ``F = W2 ReLU(BN(W1 ReLU(BN(h))))``; no final BN or ReLU.
Without skips the ``h +`` is left out. The head is linear. No bias stands before a BatchNorm.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from theory.arguments import one_of, whole_number


@dataclass(frozen=True)
class NetworkConfig:
    """Shape of a fully connected residual network."""

    width: int = 64
    """Width D of the residual stream."""
    depth: int = 8
    """Number L of residual blocks."""
    activation: Literal["post", "pre"] = "post"
    """Where the nonlinearity stands: after the sum (post) or inside the branch (pre)."""
    skip: bool = True
    """Whether the blocks have skip connections; without them the same layers are stacked."""


class PostActivationBlock(nn.Module):
    """``h -> ReLU(h + BN(W2 ReLU(BN(W1 h))))``; the skip is dropped if ``skip`` is false."""

    def __init__(self, width: int, skip: bool) -> None:
        super().__init__()
        self.skip = skip
        self.linear1 = nn.Linear(width, width, bias=False)
        self.norm1 = nn.BatchNorm1d(width)
        self.linear2 = nn.Linear(width, width, bias=False)
        self.norm2 = nn.BatchNorm1d(width)

    def branch(self, h: Tensor) -> Tensor:
        """The residual branch F; (N, D) -> (N, D)."""
        return self.norm2(self.linear2(torch.relu(self.norm1(self.linear1(h)))))

    def gate(self, z: Tensor) -> Tensor:
        """The nonlinearity after the sum."""
        return torch.relu(z)

    def forward(self, h: Tensor) -> Tensor:
        """One block; (N, D) -> (N, D)."""
        return self.gate(h + self.branch(h) if self.skip else self.branch(h))


class PreActivationBlock(nn.Module):
    """``h -> h + W2 ReLU(BN(W1 ReLU(BN(h))))``; the skip is dropped if ``skip`` is false."""

    def __init__(self, width: int, skip: bool) -> None:
        super().__init__()
        self.skip = skip
        self.norm1 = nn.BatchNorm1d(width)
        self.linear1 = nn.Linear(width, width, bias=False)
        self.norm2 = nn.BatchNorm1d(width)
        self.linear2 = nn.Linear(width, width, bias=False)

    def branch(self, h: Tensor) -> Tensor:
        """The residual branch F; (N, D) -> (N, D)."""
        return self.linear2(torch.relu(self.norm2(self.linear1(torch.relu(self.norm1(h))))))

    def gate(self, z: Tensor) -> Tensor:
        """Nothing follows the sum."""
        return z

    def forward(self, h: Tensor) -> Tensor:
        """One block; (N, D) -> (N, D)."""
        return h + self.branch(h) if self.skip else self.branch(h)


class ResidualNetwork(nn.Module):
    """Stem, ``depth`` equal blocks, linear head; ``blocks`` is the ModuleList of the residual blocks."""

    def __init__(self, config: NetworkConfig, features: int, classes: int) -> None:
        super().__init__()
        width = whole_number("width", config.width)
        depth = whole_number("depth", config.depth)
        post = one_of("activation", config.activation, ("post", "pre")) == "post"
        block = PostActivationBlock if post else PreActivationBlock
        # Layers draw default weights when made; the caller's random state must not notice.
        with torch.random.fork_rng(devices=[]):
            stem = nn.Linear(features, width, bias=not post)
            self.stem = nn.Sequential(stem, nn.BatchNorm1d(width), nn.ReLU()) if post else stem
            self.blocks = nn.ModuleList(block(width, config.skip) for _ in range(depth))
            self.head = nn.Linear(width, classes)

    def forward(self, x: Tensor) -> Tensor:
        """Logits; (N, features) -> (N, classes)."""
        h = self.stem(x)
        for block in self.blocks:
            h = block(h)
        return self.head(h)


def build(config: NetworkConfig, features: int, classes: int, *, seed: int) -> ResidualNetwork:
    """A network with Kaiming-normal weights (fan in, ReLU) drawn from ``seed`` alone, on the CPU, in float32.

    Draws come from a generator of their own, so nothing else that uses randomness moves them.
    """
    network = ResidualNetwork(config, features, classes)
    generator = torch.Generator().manual_seed(whole_number("seed", seed, least=0))
    for module in network.modules():
        if isinstance(module, nn.Linear):
            nn.init.kaiming_normal_(module.weight, nonlinearity="relu", generator=generator)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
    return network
