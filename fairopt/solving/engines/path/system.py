r"""The factored system of one state: columns eliminated, then users, then rows.

.. math:: H = \Theta^{-1} + \sum_n h_n u_n u_n^T + \kappa_n g_n g_n^T, \qquad
          (A H^{-1} A^T + \rho)\, \Delta\lambda = b

of columns z, h what a user's value falls, u its columns, kappa how stiff its limit is. A user's own
part is one number where all its columns take the same of its limit, else two. Left is one matrix
over rows, or, where rows fall into small blocks and users are fewer, one over users. What users
gain is never the difference of large numbers: both ends are computed in their own terms.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fairopt.instance import Floats
from fairopt.solving.engines.path.frame import FEW, Frame

SHIFTS = (1e-15, 1e-13, 1e-11, 1e-9)
"""what is added to a diagonal of 1 until there is a factor"""
Solver = Callable[[Floats], Floats]


class System:
    """theta (columns,), heat (N,) how fast values fall with shares, stiff (N,) kappa or None, rho
    (m,) slack over price of the rows.

    Raises
    ------
    ArithmeticError, numpy.linalg.LinAlgError : it has no factor.
    """

    def __init__(
        self, frame: Frame, theta: Floats, heat: Floats, stiff: Floats | None, rho: Floats
    ) -> None:
        self.frame, self.theta, self.rho = frame, theta, rho
        self.spread = frame.of(theta)
        self.two = frame.mixed and stiff is not None
        if self.two and stiff is not None:
            held = self._two(heat, stiff)
        else:
            if stiff is not None:
                heat = heat + stiff * frame.most**2
            self.heat, self.det = heat, 1 + heat * self.spread
            held = _rows_times(np.sqrt(heat / self.det), frame.coupled(theta))
        if frame.blocks is not None and held.shape[0] < frame.m:
            self.solve = self._by_users(frame.pairs @ theta, held)
        else:
            self.solve = self._by_rows(frame.pairs @ theta, held)

    def _two(self, heat: Floats, stiff: Floats) -> Any:
        """(2 N, m) the root of what users hold back, as shares and as limits."""
        frame, theta, spread = self.frame, self.theta, self.spread
        mean = frame.of(theta * frame.g) / spread
        self.beside = frame.g - frame.to(mean)
        self.beside[frame.count :] = 0.0
        vary = frame.of(theta * self.beside**2)
        soft = 1 + heat * spread
        det = soft * (1 + stiff * vary) + stiff * mean**2 * spread
        self.mean, self.stiff, self.vary = mean, stiff, vary
        self.soft, self.det, self.heat = soft, det, heat
        first = np.sqrt((heat * (1 + stiff * vary) + stiff * mean**2) / det)
        cross = np.divide(stiff * mean / det, first, out=np.zeros_like(first), where=first > 0)
        second = np.sqrt(np.maximum(stiff * soft / det - cross**2, 0.0))
        plain, other = frame.coupled(theta), frame.coupled(theta * self.beside)
        parts = [
            _rows_times(first, plain) + _rows_times(cross, other),
            _rows_times(second, other),
        ]
        if isinstance(plain, np.ndarray):
            return np.concatenate(parts)
        from scipy.sparse import vstack

        return vstack(parts).tocsr()

    def _by_rows(self, pairs: Floats, held: Any) -> Solver:
        from scipy.linalg import blas, lapack

        frame, m = self.frame, self.frame.m
        d = np.arange(m)
        matrix = np.zeros((m, m), order="F")
        matrix[frame.up, frame.left] = pairs
        if m <= FEW:  # an inverse is quicker than a factor, and as good
            matrix[frame.left, frame.up] = pairs
            full = held if isinstance(held, np.ndarray) else held.toarray()
            matrix -= full.T @ full
            matrix[d, d] += self.rho
            scale = _scale(matrix[d, d])
            matrix *= scale[:, None] * scale
            matrix[d, d] += 1e-14
            inverse = np.linalg.inv(matrix)
            return lambda b: (inverse @ (b * scale)) * scale
        if isinstance(held, np.ndarray):
            matrix = blas.dsyrk(-1.0, held.T, 1.0, matrix, trans=0, lower=1, overwrite_c=1)
        else:
            matrix -= (held.T @ held).toarray()
        matrix[d, d] += self.rho
        scale = _scale(matrix[d, d])
        matrix *= scale[:, None]
        matrix *= scale
        for shift in SHIFTS:
            matrix[d, d] = 1 + shift
            factor, failed = lapack.dpotrf(matrix, lower=1, clean=0, overwrite_a=0)
            if not failed:
                return lambda b: lapack.dpotrs(factor, b * scale, lower=1)[0] * scale
        raise ArithmeticError("the system of rows has no factor")

    def _by_users(self, pairs: Floats, held: Any) -> Solver:
        """Blocks of rows first, then I - Z Z' over users."""
        from scipy.linalg import blas, lapack

        frame = self.frame
        assert frame.blocks is not None
        (count, wide), block, at = frame.blocks, frame.block, frame.within
        d = np.arange(wide)
        matrix = np.zeros((count, wide, wide))
        matrix[:, d, d] = 1.0
        matrix[block[frame.up], at[frame.up], at[frame.left]] = pairs
        matrix[block[frame.up], at[frame.left], at[frame.up]] = pairs
        matrix[block, at, at] += self.rho
        scale = _scale(np.einsum("krr->kr", matrix))
        matrix *= scale[:, :, None] * scale[:, None, :]
        matrix[:, d, d] += 1e-15
        root = np.tril(np.linalg.inv(np.linalg.cholesky(matrix))) * scale[:, None, :]
        full = held if isinstance(held, np.ndarray) else held.toarray()
        by_block = np.zeros((len(full), count, wide))
        by_block[:, block, at] = full
        z = np.einsum("krs,nks->nkr", root, by_block, optimize=True).reshape(len(full), -1)
        start = np.eye(len(z), order="F")
        users = blas.dsyrk(-1.0, z.T, 1.0, start, trans=1, lower=1, overwrite_c=1)
        for shift in (0.0, 1e-12):
            users[np.diag_indices(len(z))] += shift
            factor, failed = lapack.dpotrf(users, lower=1, clean=0, overwrite_a=0)
            if not failed:
                break
        else:
            raise ArithmeticError("the system of users has no factor")

        def solve(b: Floats) -> Floats:
            right = np.zeros((count, wide))
            right[block, at] = b
            w = np.einsum("kij,kj->ki", root, right).ravel()
            w = w + lapack.dpotrs(factor, z @ w, lower=1)[0] @ z
            back = np.einsum("kij,ki->kj", root, w.reshape(count, wide))
            return np.asarray(back[block, at])

        return solve

    def columns(self, c: Floats, a: Floats, at: Floats) -> tuple[Floats, Floats, Floats]:
        """H^-1 (c + u a - g at): of columns, of shares and of what limits are used; a and at are
        users' own (N,), and may be huge."""
        frame = self.frame
        t = self.theta * c
        x = frame.of(t)
        if not self.two:
            a = a - frame.most * at
            rise = (x + self.spread * a) / self.det
            moved = t + self.theta * frame.to((a - self.heat * x) / self.det)
            return moved, rise, frame.most * rise
        y, k, g = frame.of(self.beside * t), self.stiff, self.mean
        bent = 1 + k * self.vary
        gain = x + self.spread * a
        rise = (bent * gain - self.spread * g * (at + k * y)) / self.det
        stays = (g * g * self.spread + self.soft * self.vary) * at
        used = (g * gain + self.soft * y - stays) / self.det
        plain = (bent * (a - self.heat * x) - g * (at + k * (y + g * x))) / self.det
        other = -(self.soft * (at + k * y) + k * g * gain) / self.det
        return t + self.theta * (frame.to(plain) + frame.to(other) * self.beside), rise, used

    def step(
        self, c: Floats, a: Floats, at: Floats, b: Floats
    ) -> tuple[Floats, Floats, Floats, Floats]:
        """dz, what shares and limits gain, and prices p with dz = `columns` (c - A'p, a, at) and
        A dz - rho p = b; refined once."""
        frame = self.frame
        price = self.solve(frame.a @ self.columns(c, a, at)[0] - b)
        z = self.columns(c - frame.at @ price, a, at)[0]
        price = price + self.solve(frame.a @ z - self.rho * price - b)
        return *self.columns(c - frame.at @ price, a, at), price


def _rows_times(factor: Floats, matrix: Any) -> Any:
    """diag(factor) matrix, full or sparse."""
    if isinstance(matrix, np.ndarray):
        return factor[:, None] * matrix
    from scipy.sparse import diags_array

    return (diags_array(factor) @ matrix).tocsr()


def _scale(diagonal: Floats) -> Floats:
    if not (diagonal > 0).all():
        raise ArithmeticError("the system has a row that nothing moves")
    return np.asarray(1.0 / np.sqrt(diagonal))


__all__ = ["System"]
