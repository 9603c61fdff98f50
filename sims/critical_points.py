"""All critical points of sampled Hamiltonians on the sphere, with their Morse index and the Euler check.

For n >= 3: Newton's method on the sphere from many starts, with short steps, so that it follows Newton's flow and
each critical point of any index attracts; antipodes are added where f(-u) = +-f(u). Rounds of starts go on until
one finds nothing new and the alternating sum of the index counts is the Euler characteristic of the sphere; an
instance that never gets there is marked.
For n = 2 f is a trigonometric polynomial, and the roots of its derivative are all found at once.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch

from sims.hamiltonians import Hamiltonians

# Newton converges quadratically: a tangential gradient of 1e-9 (f is of order 1) is rounding, or nothing.
_CONVERGED = 1e-9
# Two critical points nearer than this are one; the least gap of random instances is far above it.
_SAME_POINT = 1e-6
_NEWTON_STEPS = 60
_LARGEST_ROUNDS = 40
# Zeros of a real trigonometric polynomial lie on the unit circle exactly, unless two of them meet.
_ON_CIRCLE = 1e-7


@dataclass(frozen=True)
class CriticalPoints:
    """The critical points of one instance: ``points`` (K, N), ``values`` f (K,), ``index`` (K,), and ``complete``.

    ``complete``: the Euler relation holds and the last round of starts found nothing new.
    """

    points: np.ndarray
    values: np.ndarray
    index: np.ndarray
    complete: bool

    def counts(self) -> np.ndarray:
        """Number of critical points of index 0..N-1; int, (N,)."""
        return np.bincount(self.index, minlength=self.points.shape[1])

    def euler_sum(self) -> int:
        """``sum_k (-1)^k Crt_k``; by Morse theory the Euler characteristic, if no point is missing."""
        return int(np.sum(1 - 2 * (self.index % 2)))


def euler_characteristic(n: int) -> int:
    """Of S^{n-1}: 2 for odd n, 0 for even n."""
    return 2 if n % 2 else 0


def find(
    hamiltonians: Hamiltonians, starts: int, generator: torch.Generator, degree: float | None = None
) -> list[CriticalPoints]:
    """Critical points of each instance; ``starts`` Newton starts a round for n >= 3, a finite set for n = 2.

    ``degree`` sets the longest Newton step, 1 / degree: R + 1 for a mixture, the largest degree if not given.
    """
    if hamiltonians.dim == 2:
        return _on_the_circle(hamiltonians)
    count, n = len(hamiltonians.table), hamiltonians.dim
    found = [np.zeros((0, n)) for _ in range(count)]
    settled = np.zeros(count, dtype=bool)
    result: list[CriticalPoints | None] = [None] * count
    for _ in range(_LARGEST_ROUNDS):
        open_ones = np.flatnonzero(~settled)
        if not len(open_ones):
            break
        part = hamiltonians.part(torch.from_numpy(open_ones))
        points, converged = newton(part, starts, generator, degree)
        for place, instance in enumerate(open_ones):
            candidates = points[place][converged[place]].numpy()
            if hamiltonians.parity is not None:
                candidates = np.concatenate([candidates, -candidates])
            merged = distinct(np.concatenate([found[instance], candidates]))
            nothing_new = len(merged) == len(found[instance])
            found[instance] = merged
            settled[instance] = nothing_new and len(merged) > 0
        for place, instance in enumerate(open_ones):
            if settled[instance]:
                result[instance] = described(part.part(slice(place, place + 1)), found[instance], complete=True)
                settled[instance] = result[instance].complete  # type: ignore[union-attr]
    for instance in np.flatnonzero(~settled):
        one = hamiltonians.part(slice(int(instance), int(instance) + 1))
        result[instance] = described(one, found[instance], complete=False)
    return [points for points in result if points is not None]


def newton(
    hamiltonians: Hamiltonians, starts: int, generator: torch.Generator, degree: float | None = None
) -> tuple[torch.Tensor, torch.Tensor]:
    """Newton's method on the sphere from uniform starts; ends (B, starts, N) and whether each converged (B, starts)."""
    count, n = len(hamiltonians.table), hamiltonians.dim
    points = torch.randn(count, starts, n, generator=generator, dtype=torch.float64)
    points = points / points.norm(dim=-1, keepdim=True)
    # f varies over angles of about 1 / degree; a longer step would leave the basin it starts in.
    longest = 1.0 / (degree or int(hamiltonians.exponents.sum(1).max()))
    moving = torch.ones(count, starts, dtype=torch.bool)
    for _ in range(_NEWTON_STEPS):
        # Converged starts rest: of each instance only as many as the busiest one still moves are stepped.
        busiest = int(moving.sum(1).max())
        if not busiest:
            break
        chosen = moving.to(torch.int8).argsort(dim=1, descending=True)[:, :busiest]
        place = chosen[..., None].expand(-1, -1, n)
        here = points.gather(1, place)
        step, size = _newton_step(hamiltonians, here)
        going = size > _CONVERGED
        step = step * torch.clamp(longest / step.norm(dim=-1, keepdim=True).clamp(min=1e-300), max=1.0)
        here = here + torch.where(going[..., None], step, 0.0)
        points.scatter_(1, place, here / here.norm(dim=-1, keepdim=True))
        moving.scatter_(1, chosen, going)
    return points, ~moving


def _newton_step(hamiltonians: Hamiltonians, points: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Tangential Newton steps (B, S, N) and norms of the tangential gradients (B, S)."""
    n = hamiltonians.dim
    _, gradient, hessian = hamiltonians.derivatives(points)
    radial = (gradient * points).sum(-1, keepdim=True)
    tangential = gradient - radial * points
    # Hessian on the sphere: H - <u, grad f> I on the tangent space. The border keeps the step tangential.
    system = points.new_zeros(*points.shape[:2], n + 1, n + 1)
    system[..., :n, :n] = hessian - radial[..., None] * torch.eye(n, dtype=torch.float64)
    system[..., :n, n] = points
    system[..., n, :n] = points
    right = torch.nn.functional.pad(-tangential, (0, 1))
    solution = torch.linalg.solve_ex(system, right)[0]
    step = torch.nan_to_num(solution[..., :n], nan=0.0, posinf=0.0, neginf=0.0)
    return step, tangential.norm(dim=-1)


def distinct(points: np.ndarray) -> np.ndarray:
    """The points (K, N) without repetitions, in order of first appearance."""
    near = ((points[:, None] - points[None]) ** 2).sum(-1) < _SAME_POINT**2
    return points[~np.tril(near, -1).any(1)]


def described(hamiltonian: Hamiltonians, points: np.ndarray, *, complete: bool) -> CriticalPoints:
    """Values and Morse indices at the critical points (K, N) of one instance; ``complete`` also needs Euler."""
    n = hamiltonian.dim
    at = torch.from_numpy(points)[None]
    values, gradient, hessian = hamiltonian.derivatives(at)
    radial = (gradient * at).sum(-1)[..., None, None]
    outer = at[..., :, None] * at[..., None, :]
    tangent = torch.eye(n, dtype=torch.float64) - outer
    # The direction u itself gets curvature +1, so it is never counted.
    curvature = tangent @ hessian @ tangent - radial * tangent + outer
    index = (torch.linalg.eigvalsh(curvature) < 0).sum(-1)[0].numpy()
    result = CriticalPoints(points, values[0].numpy(), index, complete)
    euler = result.euler_sum() == euler_characteristic(n)
    return CriticalPoints(points, result.values, index, complete and euler)


def _on_the_circle(hamiltonians: Hamiltonians) -> list[CriticalPoints]:
    """n = 2: f(theta) = sum_k c_k e^{ik theta}; the roots z = e^{i theta} of ``sum_k i k c_k z^{k + p}``."""
    degree = int(hamiltonians.exponents.sum(1).max())
    grid = 2 * math.pi * np.arange(4 * degree) / (4 * degree)
    at = torch.from_numpy(np.stack([np.cos(grid), np.sin(grid)], axis=1))
    spectrum = np.fft.fft(hamiltonians.values(at.expand(len(hamiltonians.table), -1, -1)).numpy(), axis=1)
    frequency = np.arange(-degree, degree + 1)
    coefficients = spectrum[:, frequency] * frequency
    result = []
    for instance, polynomial in enumerate(coefficients):
        roots = np.roots(polynomial[::-1])
        angles = np.angle(roots[np.abs(np.abs(roots) - 1) < _ON_CIRCLE])
        points = np.stack([np.cos(angles), np.sin(angles)], axis=1)
        result.append(described(hamiltonians.part(slice(instance, instance + 1)), points, complete=True))
    return result
