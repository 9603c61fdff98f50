"""The Unconstrained Jacobians Model in torch: what to descend, from where, the forward pass and the penalty.

Shared by the binary descent (``sims.descent``) and the C-class one (``sims.class_descent``).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from theory.arguments import real_number, whole_number


@dataclass(frozen=True)
class DescentConfig:
    """Which model to descend, and from where."""

    depth: int = 8
    """Number of residual blocks L >= 1."""
    dim: int = 5
    """Width D of the representations."""
    weight_decay: float = 0.05
    """lam > 0, on every Jacobian and on the classifier."""
    input_norm: float = 1.0
    """delta = |Delta| > 0."""
    label: int = 1
    """Binary label y, 1 or -1."""
    starts: int = 32
    """Independent random starts."""
    seed: int = 0
    """Seed of the starts."""
    smallest_scale: float = 0.01
    """The first start's weights have about this operator norm ..."""
    largest_scale: float = 1.0
    """... and the last start's this, spaced evenly in logarithm: both basins are reached from some."""
    steps: int = 300
    """Adam steps before the L-BFGS polish."""
    classes: int | None = None
    """Descend the C-class model instead, with this many classes and orthogonal inputs (needs dim >= classes)."""


def check_common(config: DescentConfig) -> None:
    """Raise ArgumentError for what both models refuse."""
    for name in ("depth", "dim", "starts", "steps"):
        whole_number(name, getattr(config, name))
    whole_number("seed", config.seed, least=0)
    real_number("weight_decay", config.weight_decay, above=0.0)
    real_number("input_norm", config.input_norm, above=0.0)
    real_number("smallest_scale", config.smallest_scale, above=0.0)
    real_number("largest_scale", config.largest_scale, least=config.smallest_scale)


def random_starts(
    config: DescentConfig, generator: torch.Generator, classifier_shape: tuple[int, ...]
) -> tuple[torch.Tensor, torch.Tensor]:
    """Gaussian Jacobians (starts, L, D, D) and classifiers (starts, ...), the scale growing from start to start."""
    starts, depth, dim = config.starts, config.depth, config.dim
    scales = torch.from_numpy(np.geomspace(config.smallest_scale, config.largest_scale, starts))
    jacobians = torch.randn(starts, depth, dim, dim, generator=generator, dtype=torch.float64) / dim**0.5
    classifier = torch.randn(starts, *classifier_shape, generator=generator, dtype=torch.float64)
    jacobians *= scales[:, None, None, None]
    classifier *= scales.reshape(-1, *(1 for _ in classifier_shape))
    return jacobians.requires_grad_(), classifier.requires_grad_()


def propagate(jacobians: torch.Tensor, inputs: torch.Tensor) -> torch.Tensor:
    """``prod_i (I + J_i) X`` for every start: jacobians (starts, L, D, D), inputs (starts, D, n)."""
    out = inputs
    for jacobian in jacobians.unbind(1):
        out = torch.baddbmm(out, jacobian, out)
    return out


def penalty(jacobians: torch.Tensor, classifier: torch.Tensor) -> torch.Tensor:
    """Half the squared norm of all weights, for every start."""
    return (jacobians.flatten(1).square().sum(1) + classifier.flatten(1).square().sum(1)) / 2
