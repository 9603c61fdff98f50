"""What a residual block is to this toolkit: ``h -> gate(skip(h) + branch(h))``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
from torch import Tensor

from theory.arguments import ArgumentError


@runtime_checkable
class Block(Protocol):
    """Anything with a ``branch``, an elementwise ``gate`` and a flag ``skip``; inputs and outputs are (N, D)."""

    @property
    def skip(self) -> bool | Callable[[Tensor], Tensor]:
        """Whether the input is added to the branch; or the map (a projection) that takes the input to what is added."""
        ...

    @property
    def branch(self) -> Callable[[Tensor], Tensor]:
        """The residual branch F."""
        ...

    @property
    def gate(self) -> Callable[[Tensor], Tensor]:
        """The elementwise nonlinearity after the sum."""
        ...


def _identity(z: Tensor) -> Tensor:
    return z


@dataclass(frozen=True)
class ResidualBlock:
    """A block of your own network: its ``branch`` module, the elementwise ``gate`` after the sum, and its skip.

    ``ResidualBlock(branch=b.layers, gate=torch.relu)`` for a post-activation block; without a gate (the default) for a
    pre-activation one. ``branch`` is a module, or a method of one, so that it can be copied to float64.
    """

    branch: Callable[[Tensor], Tensor]
    gate: Callable[[Tensor], Tensor] = _identity
    skip: bool | Callable[[Tensor], Tensor] = True
    name: str = ""


def blocks_of(network: torch.nn.Module) -> Sequence[Block]:
    """The residual blocks of ``network`` in order: the members of its ``blocks`` that have branch, gate and skip.

    Raises ArgumentError that lists the module types seen when there is none; measuring nothing is never silent.
    """
    blocks = list(getattr(network, "blocks", ()))
    if not blocks or not all(isinstance(block, Block) for block in blocks):
        seen = ", ".join(sorted({type(module).__name__ for module in network.modules()}))
        raise ArgumentError(
            "network",
            type(network).__name__,
            f"has no `blocks` with branch, gate and skip; pass blocks=[ResidualBlock(...)]. Module types seen: {seen}",
        )
    return blocks
