"""Many independent gradient descents at once: Adam with a decaying rate, then L-BFGS to rounding.

The objectives of all starts are summed. Each start owns its slice of every parameter, so the sum's gradient
holds each start's own gradient, and no start feels another except through the shared L-BFGS step length.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

import torch
from tqdm import tqdm


def minimise(
    objectives: Callable[[], torch.Tensor],
    parameters: Sequence[torch.Tensor],
    *,
    steps: int = 300,
    learning_rate: float = 0.02,
    polish: int = 500,
    memory: int = 50,
    label: str = "descent",
) -> tuple[torch.Tensor, torch.Tensor]:
    """Minimise every start in place; return (objectives, gradient norms), each of shape (starts,).

    ``objectives()`` maps the leaf tensors ``parameters`` (float64, first axis = start) to shape (starts,).
    ``polish`` bounds the line-searched L-BFGS steps, ``memory`` is its history.
    ``steps`` = 0 leaves out Adam. A bar appears on a terminal's standard error after two seconds.
    """

    def closure() -> torch.Tensor:
        for parameter in parameters:
            parameter.grad = None
        total = objectives().sum()
        total.backward()
        return total

    adam = torch.optim.Adam(parameters, lr=learning_rate)
    decay = torch.optim.lr_scheduler.CosineAnnealingLR(adam, max(steps, 1))
    for _ in tqdm(range(steps), desc=label, delay=2.0, leave=False, disable=not sys.stderr.isatty()):
        adam.step(closure)  # type: ignore[arg-type]
        decay.step()
    common = {"history_size": memory, "tolerance_grad": 1e-12, "tolerance_change": 0.0}
    torch.optim.LBFGS(parameters, max_iter=polish, line_search_fn="strong_wolfe", **common).step(closure)  # type: ignore[arg-type]
    before = [parameter.detach().clone() for parameter in parameters]
    norms = gradient_norms(objectives, parameters)
    # A line search compares values and so stalls at the square root of rounding; bare quasi-Newton steps
    # compare nothing and go on. Starts that these steps make worse are put back.
    torch.optim.LBFGS(parameters, max_iter=100, **common).step(closure)  # type: ignore[arg-type]
    polished = gradient_norms(objectives, parameters)
    worse = ~(polished <= norms)
    with torch.no_grad():
        for parameter, old in zip(parameters, before, strict=True):
            parameter[worse] = old[worse]
        return objectives().detach(), torch.where(worse, norms, polished)


def gradient_norms(objectives: Callable[[], torch.Tensor], parameters: Sequence[torch.Tensor]) -> torch.Tensor:
    """Euclidean norm of each start's own gradient over all its parameters; shape (starts,)."""
    gradients = torch.autograd.grad(objectives().sum(), list(parameters))
    return torch.sqrt(sum((gradient.flatten(1).square().sum(1) for gradient in gradients), torch.zeros(())))
