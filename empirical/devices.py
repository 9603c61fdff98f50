"""Where to compute: ``auto`` is CUDA if there is one, then the CPU."""

from __future__ import annotations

import torch

from theory.arguments import ArgumentError


def resolve(device: str) -> str:
    """``auto`` -> ``cuda`` or ``cpu``; a named device is checked. Raises ArgumentError if it is not there."""
    if device == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError):
        raise ArgumentError("device", device, "is not available on this machine; use auto or cpu") from None
    return device
