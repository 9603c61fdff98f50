"""Residual Jacobians of one network at given inputs, dense and exact, in float64.

For a block ``h' = gate(skip h + F(h))`` the Residual Jacobian is ``J = D dF/dh`` with ``D = diag(gate'(...))``
[RA section 1.3]; the skip path carries the diagonal D too (1 without a gate, 0 without a skip), so the
Jacobian of the whole block is ``skip D + J``.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from tqdm import tqdm

from empirical.blocks import Block
from empirical.models import PostActivationBlock, PreActivationBlock
from theory.arguments import ArgumentError

# Entries far outside the usual range make differences of Jacobians meaningless (sin(1e6) differs by device).
_LARGEST_INPUT = 1e3
_MEMORY_BUDGET_BYTES = 4 * 2**30


@dataclass(frozen=True)
class Linearisation:
    """A network linearised block by block at N inputs; float64.

    ``points`` (N, L+1, D): the representations h_1..h_{L+1}. ``jacobians`` (N, L, D, D): J_1..J_L.
    ``skips`` (N, L, D): the diagonals that multiply the skip path.
    """

    points: np.ndarray
    jacobians: np.ndarray
    skips: np.ndarray


def linearise(blocks: Sequence[Block] | nn.ModuleList, h: Tensor, *, progress: bool = False) -> Linearisation:
    """Residual Jacobians of ``blocks`` in sequence, from the representation ``h`` (N, D) that enters the first.

    Blocks of this project use closed forms; any other goes through autograd (``torch.func``). Modules among
    the branches are copied to float64 and evaluation mode first, so the caller's network is left untouched.
    Raises ArgumentError for inputs or weights that are not finite, too large (|h| > 1000), of the wrong shape,
    a block that changes the width, or Jacobians that would need more than 4 GiB.
    """
    if not blocks:
        raise ArgumentError("blocks", blocks, "give at least one residual block")
    if h.ndim != 2 or h.shape[0] < 1:
        raise ArgumentError("h", tuple(h.shape), "must have shape (inputs, width) with at least one input")
    inputs, width = h.shape
    needed = 8 * inputs * len(blocks) * width**2
    if needed > _MEMORY_BUDGET_BYTES:
        remedy = f"{inputs} dense {width} x {width} Jacobians of {len(blocks)} blocks need {needed / 2**30:.1f} GiB; "
        raise ArgumentError("h", tuple(h.shape), remedy + "use fewer inputs")
    _require_finite("h_1", h)
    if float(h.abs().max()) > _LARGEST_INPUT:
        raise ArgumentError(
            "h", float(h.abs().max()), f"largest entry exceeds {_LARGEST_INPUT:g}; normalise the inputs"
        )
    points = [h.detach().double().cpu()]
    jacobians, skips = [], []
    for number, block in enumerate(
        tqdm(blocks, desc="blocks", disable=None if progress else True, leave=False), start=1
    ):
        frozen = _frozen(block, number)
        output = tuple(frozen.branch(points[-1].clone()).shape)
        if output != tuple(h.shape):
            raise ArgumentError(f"block {number}", output, f"its branch must keep the shape {tuple(h.shape)}")
        jacobian, skip, following = _residual_jacobian(frozen, points[-1])
        for name, tensor in ((f"J_{number}", jacobian), (f"h_{number + 1}", following)):
            _require_finite(name, tensor)
        jacobians.append(jacobian.detach())
        skips.append(skip.detach())
        points.append(following.detach())
    return Linearisation(*(torch.stack(parts, dim=1).numpy() for parts in (points, jacobians, skips)))


@singledispatch
def _residual_jacobian(block: Any, h: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """(J, skip diagonal, next h) of any block through autograd, one input at a time inside a vmap."""

    # Clones, since an in-place activation may write on what it is given.
    def branch(x: Tensor) -> Tensor:
        return block.branch(x[None].clone())[0]

    inner = torch.func.vmap(branch)(h) + (h if block.skip else 0)
    jacobian = torch.func.vmap(torch.func.jacrev(branch))(h)
    # An elementwise gate: its derivative along all-ones is the diagonal.
    following, slope = torch.func.jvp(lambda z: block.gate(z.clone()), (inner,), (torch.ones_like(inner),))[:2]
    return slope[..., None] * jacobian, slope * float(block.skip), following


@_residual_jacobian.register
def _(block: PostActivationBlock, h: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    first, first_shift = _folded(block.linear1, block.norm1)
    second, second_shift = _folded(block.linear2, block.norm2)
    hidden = h @ first.T + first_shift
    inner = torch.relu(hidden) @ second.T + second_shift + (h if block.skip else 0)
    active = (inner > 0).double()
    jacobian = (active[:, :, None] * second) * (hidden > 0).double()[:, None, :] @ first
    return jacobian, active * float(block.skip), torch.relu(inner)


@_residual_jacobian.register
def _(block: PreActivationBlock, h: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    scale, shift = _affine(block.norm1)
    first, first_shift = _folded(block.linear1, block.norm2)
    second = block.linear2.weight
    outer = h * scale + shift
    hidden = torch.relu(outer) @ first.T + first_shift
    following = torch.relu(hidden) @ second.T + (h if block.skip else 0)
    jacobian = (second * (hidden > 0).double()[:, None, :]) @ (first * (scale * (outer > 0).double())[:, None, :])
    return jacobian, torch.full_like(h, float(block.skip)), following


def _affine(norm: nn.BatchNorm1d) -> tuple[Tensor, Tensor]:
    """Scale and shift of an evaluation-mode BatchNorm."""
    assert norm.running_var is not None
    assert norm.running_mean is not None
    scale = norm.weight / torch.sqrt(norm.running_var + norm.eps)
    return scale, norm.bias - norm.running_mean * scale


def _folded(linear: nn.Linear, norm: nn.BatchNorm1d) -> tuple[Tensor, Tensor]:
    """Matrix and shift of the affine map ``norm(linear(.))``."""
    scale, shift = _affine(norm)
    return scale[:, None] * linear.weight, shift


def _frozen(block: Any, number: int) -> Any:
    """A float64, evaluation-mode copy on the CPU, gradients off. Raises ArgumentError if a weight is not finite."""
    frozen = copy.deepcopy(block)
    for part in (frozen, frozen.branch, frozen.gate):
        module = getattr(part, "__self__", part)
        if not isinstance(module, nn.Module):
            continue
        module.cpu().double().eval().requires_grad_(False)
        for name, tensor in module.state_dict().items():
            _require_finite(f"block {number}: {name}", tensor)
    return frozen


def _require_finite(name: str, tensor: Tensor) -> None:
    finite = torch.isfinite(tensor)
    if not bool(finite.all()):
        bad = tensor[~finite].flatten()[0].item()
        raise ArgumentError(
            name, bad, "is not finite; the network diverged or its input is broken, so nothing is measured"
        )


def representation(stem: Callable[[Tensor], Tensor], inputs: Tensor) -> Tensor:
    """``h_1 = stem(inputs)`` in float64; a module runs as a copy in evaluation mode, so the caller's is left alone."""
    _require_finite("inputs", inputs)
    if not isinstance(stem, nn.Module):
        with torch.no_grad():
            return stem(inputs).detach().cpu().double()
    copied = copy.deepcopy(stem).cpu().double()
    for name, tensor in copied.state_dict().items():
        _require_finite(f"stem: {name}", tensor)
    with torch.no_grad():
        return copied.eval()(inputs.cpu().double())
