"""The Gaussian orthogonal ensemble at finite size: its density of eigenvalues, and samples of its spectrum.

GOE_N has off-diagonal variance 1 and diagonal variance 2: the eigenvalues fill ``[-2 sqrt N, 2 sqrt N]`` and each
carries the weight ``exp(-x^2 / 4)``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import eigvalsh_tridiagonal
from scipy.special import erf, gammaln

from theory.arguments import real_array, whole_number

# Hermite functions are carried as mantissa and logarithm; every few steps a large mantissa is put back to 1.
_RESCALE_EVERY = 8
_LARGEST_EXPONENT = 700.0
# Up to this size LAPACK on a stack of dense matrices is faster than a loop over tridiagonal ones.
_DENSE = 32


def log_density(n: int, x: ArrayLike) -> np.ndarray:
    """Logarithm of the one-point density of GOE_n, of mass n [Mehta, literature]; float64, shape of ``x``.

    Finite at any x, also where the density is far below 1e-308: critical points of a trivial mixture live there.
    ``n >= 2``; n vectorised steps over x. Raises ArgumentError for bad n or x.
    """
    n = whole_number("n", n, least=2)
    # In y = x / sqrt 2 the weight is exp(-y^2 / 2), and with Hermite functions phi_j (n even; n odd adds a term)
    #     rho(y) = sum_{j <= n-2} phi_j^2 + sqrt((n-1)/2) phi_{n-1} eps phi_{n-2},   eps f = 1/2 int sgn(y - t) f(t) dt.
    # Both are positive outside the bulk, so nothing cancels there.
    y = np.abs(real_array("x", x)) / math.sqrt(2)
    squares = np.zeros_like(y)
    integral = np.pi**0.25 / math.sqrt(2) * erf(y / math.sqrt(2)) if n % 2 == 0 else np.zeros_like(y)
    last, exponent = y, y
    for j, (last, exponent) in enumerate(_hermite_functions(n, y)):
        if j == n - 1:
            break
        phi = last * np.exp(exponent)
        squares += phi**2
        if (n - 1 - j) % 2 == 0:
            # phi_j' = sqrt(j/2) phi_{j-1} - sqrt((j+1)/2) phi_{j+1}, integrated: eps phi_{j+1} from eps phi_{j-1}.
            integral = (math.sqrt(j) * integral - math.sqrt(2) * phi) / math.sqrt(j + 1)
    bracket = math.sqrt((n - 1) / 2) * integral
    if n % 2 == 1:
        m = (n - 1) // 2
        log_whole_integral = 0.5 * (math.log(2) + gammaln(m + 0.5) - gammaln(m + 1))  # int phi_{n-1}
        bracket = bracket + math.exp(-log_whole_integral)
    # Where exp(-exponent) would overflow, the squares are smaller than the other term by as much again.
    scaled = squares * np.exp(np.minimum(-exponent, _LARGEST_EXPONENT)) + last * bracket
    return exponent + np.log(scaled) - 0.5 * math.log(2)


def _hermite_functions(n: int, y: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """phi_0..phi_{n-1} at y as pairs: phi = mantissa exp(exponent)."""
    exponent = -0.5 * y**2
    before, now = np.zeros_like(y), np.full_like(y, np.pi**-0.25)
    for j in range(n):
        yield now, exponent
        before, now = now, math.sqrt(2 / (j + 1)) * y * now - math.sqrt(j / (j + 1)) * before
        if j % _RESCALE_EVERY == 0:
            size = np.maximum(np.maximum(np.abs(now), np.abs(before)), 1.0)
            before, now, exponent = before / size, now / size, exponent + np.log(size)


def sampled_eigenvalues(n: int, samples: int, generator: np.random.Generator) -> np.ndarray:
    """Spectra of independent GOE_n matrices, ascending, by the tridiagonal model [Dumitriu & Edelman, literature].

    Returns float64, shape (samples, n). Randomness comes from ``generator`` only. Raises ArgumentError.
    """
    n = whole_number("n", n)
    samples = whole_number("samples", samples)
    diagonals = math.sqrt(2) * generator.standard_normal((samples, n))
    off_diagonals = np.sqrt(generator.chisquare(np.arange(n - 1, 0, -1.0), (samples, n - 1)))
    if n > _DENSE:
        return np.stack([eigvalsh_tridiagonal(d, e) for d, e in zip(diagonals, off_diagonals, strict=True)])
    matrices = np.zeros((samples, n, n))
    steps = np.arange(n)
    matrices[:, steps, steps] = diagonals
    matrices[:, steps[1:], steps[:-1]] = off_diagonals  # eigvalsh reads the lower triangle only
    return np.linalg.eigvalsh(matrices)
