"""How many eigenvalues of GOE_n lie below a level: exact probabilities by Pfaffians [Mehta, literature; recursions new].

    E prod_j f(lambda_j) = Pf <phi_i f, phi_j f> / Pf <phi_i, phi_j>,   <a, b> = int int a(x) b(y) sgn(y - x) dx dy,

phi_j the Hermite functions; for odd n the matrix is bordered by the integrals of phi_i f. With ``f = zeta`` below the
level and 1 above, the right side is a polynomial in zeta whose coefficients are the probabilities.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import erfc

from theory.arguments import real_array, whole_number

# Coefficients come from n + 1 Pfaffians by a discrete Fourier transform: absolute errors of 1e-13 up to here.
LARGEST_SIZE = 24


def counting_probabilities(n: int, levels: ArrayLike) -> np.ndarray:
    """P(exactly k eigenvalues of GOE_n lie below each level), k = 0..n; float64, shape (levels, n+1).

    ``levels``: shape (m,); ``n`` from 1 to 24. Absolute error about 1e-13. Raises ArgumentError.
    """
    n = whole_number("n", n, most=LARGEST_SIZE)
    y = real_array("levels", levels, ndim=1) / math.sqrt(2)
    below, integrals = _forms_below(n, y)
    mirrored, mirrored_integrals = _forms_below(n, -y)
    # x -> -x turns the sign of sgn and of the odd functions.
    parity = (-1.0) ** np.arange(n)
    above, above_integrals = -mirrored * parity[:, None] * parity, mirrored_integrals * parity
    # The probabilities are real: zeta and its conjugate give conjugate values, so half of the circle is enough.
    half = (n + 1) // 2 + 1
    zeta = np.exp(2j * np.pi * np.arange(half) / (n + 1))[:, None, None, None]
    mixed = integrals[:, :, None] * above_integrals[:, None, :]
    matrices = zeta**2 * below + above + zeta * (mixed - mixed.swapaxes(1, 2))
    if n % 2 == 1:
        border = zeta[..., 0] * integrals + above_integrals
        bordered = np.zeros((half, y.size, n + 1, n + 1), dtype=complex)
        bordered[..., :n, :n] = matrices
        bordered[..., :n, n], bordered[..., n, :n] = border, -border
        matrices = bordered
    values = _pfaffians(matrices.reshape(-1, *matrices.shape[2:])).reshape(half, y.size)
    # At zeta = 1 the Pfaffian is that of the whole line, the normaliser.
    return np.fft.irfft(np.conj(values / values[0]), n + 1, axis=0).T


def _forms_below(n: int, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """<phi_i, phi_j> and int phi_i over (-inf, y); shapes (m, n, n) and (m, n)."""
    phi = np.zeros((n + 1, y.size))
    phi[0] = np.pi**-0.25 * np.exp(-(y**2) / 2)
    integrals = np.zeros((n, y.size))
    integrals[0] = np.pi**0.25 / math.sqrt(2) * erfc(-y / math.sqrt(2))
    squares = np.zeros((n, y.size))  # int phi_j^2
    squares[0] = erfc(-y) / 2
    for j in range(n):
        previous = phi[j - 1] if j else 0 * y
        phi[j + 1] = math.sqrt(2 / (j + 1)) * y * phi[j] - math.sqrt(j / (j + 1)) * previous
        if j + 1 < n:
            # phi_j' = sqrt(j/2) phi_{j-1} - sqrt((j+1)/2) phi_{j+1}, integrated.
            lower = math.sqrt(j) * integrals[j - 1] if j else 0 * y
            integrals[j + 1] = (lower - math.sqrt(2) * phi[j]) / math.sqrt(j + 1)
            # (phi_{j+1} phi_j)' = sqrt(2(j+1)) (phi_j^2 - phi_{j+1}^2).
            squares[j + 1] = squares[j] - phi[j + 1] * phi[j] / math.sqrt(2 * (j + 1))
    order = np.arange(n)
    down = np.concatenate((np.zeros((1, y.size)), phi[: n - 1]))
    slopes = np.sqrt(order / 2)[:, None] * down - np.sqrt((order + 1) / 2)[:, None] * phi[1 : n + 1]
    phi = phi[:n]
    # int phi_i phi_j over (-inf, y) is a Wronskian, as both solve phi'' = (y^2 - 2j - 1) phi.
    gap = 2.0 * (order[:, None] - order) + np.eye(n)
    overlaps = (phi[:, None] * slopes - slopes[:, None] * phi) / gap[:, :, None]
    overlaps[order, order] = squares
    # <phi_j', phi_k> = 2 int phi_j phi_k - phi_j(y) int phi_k, by parts: raises j, first for k = 0.
    sources = 2 * overlaps - phi[:, None] * integrals
    forms = np.zeros((n, n, y.size))
    for column in (slice(0, 1), slice(1, n)):
        for j in range(n - 1):
            lower = math.sqrt(j) * forms[j - 1, column] if j else 0.0
            forms[j + 1, column] = (lower - math.sqrt(2) * sources[j, column]) / math.sqrt(j + 1)
        if column.start == 0:
            forms[0, 1:] = -forms[1:, 0]
    return np.moveaxis(forms, -1, 0), integrals.T


def _pfaffians(matrices: np.ndarray) -> np.ndarray:
    """Pfaffians of a stack of antisymmetric matrices of even size, by elimination with pivots [Wimmer 2012]."""
    a = matrices
    stack = np.arange(len(a))
    result = np.ones(len(a), dtype=a.dtype)
    while a.shape[1]:
        pivot = 1 + np.abs(a[:, 0, 1:]).argmax(axis=1)
        result = np.where(pivot == 1, result, -result)
        order = np.tile(np.arange(a.shape[1]), (len(a), 1))
        order[stack, pivot], order[:, 1] = 1, pivot
        a = np.take_along_axis(np.take_along_axis(a, order[:, :, None], axis=1), order[:, None, :], axis=2)
        head = a[:, 0, 1]
        result = result * head
        ratio = a[:, 0, 2:] / np.where(head == 0, 1, head)[:, None]
        update = ratio[:, :, None] * a[:, 2:, 1][:, None, :]
        a = a[:, 2:, 2:] + update - update.swapaxes(1, 2)
    return result
