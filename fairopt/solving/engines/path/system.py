r"""The linear system of one step along the path: columns and users eliminated, shared rows left.

Of the columns of a user what is left of the first blocks of the system is

.. math:: K = \Theta - \Theta\,[1, g]\,D\,[1, g]^T \Theta

with D of 1 x 1, or 2 x 2 where a user's limit counts its columns differently. What remains is
dense in the rows: :math:`A K A^T + \rho`.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np

from fairopt.instance import Floats, Ints
from fairopt.solving.engines.path.blocks import SHIFTS, BlockFactors
from fairopt.solving.engines.path.frame import Frame
from fairopt.solving.engines.path.own import OwnFactors

TINY = 60
"""rows up to which the matrix is inverted"""


class PathSystem:
    """The factors at one state.

    Parameters
    ----------
    theta : (P + F,) inverse of what holds a column. heat : (N,) how fast a user's value falls with
        its share. stiff : (N,) the same of limits, or None without any. rho : (rows,) of slacks.

    Raises
    ------
    ArithmeticError : the matrix is not positive definite in floating point.
    """

    def __init__(
        self, frame: Frame, theta: Floats, heat: Floats, stiff: Floats | None, rho: Floats
    ) -> None:
        self.frame, self.theta, self.rho = frame, theta, rho
        self.whole = whole = frame.of(theta)
        self.two = frame.mixed and stiff is not None
        if self.two:
            assert stiff is not None
            coupled = self._with_limits(heat, stiff)
        else:
            if stiff is not None:
                heat = heat + stiff * frame.most_limit**2
            self.heat, self.det = heat, 1 + heat * whole
            coupled = _scaled(frame.coupled(theta), np.sqrt(heat / self.det))
        self.solve = self._factored(coupled)

    def _with_limits(self, heat: Floats, stiff: Floats) -> Any:
        """The couplings where limits count columns differently: D as the product of its roots."""
        frame, theta, whole = self.frame, self.theta, self.whole
        self.heat, self.stiff = heat, stiff
        self.mean = mean = frame.of(theta * frame.limit) / whole
        self.apart = np.where(frame.is_task, frame.limit - frame.to(mean), 0.0)
        self.spread = spread = frame.of(theta * self.apart**2)
        self.held = held = stiff * spread
        self.slope = slope = 1 + heat * whole
        self.det = det = slope * (1 + held) + stiff * mean**2 * whole
        one = np.sqrt((heat * (1 + held) + stiff * mean**2) / det)
        both = np.divide(stiff * mean / det, one, out=np.zeros_like(one), where=one > 0)
        two = np.sqrt(np.maximum(stiff * slope / det - both**2, 0.0))
        first, second = frame.coupled(theta), frame.coupled(theta * self.apart)
        upper, lower = _scaled(first, one) + _scaled(second, both), _scaled(second, two)
        if isinstance(upper, np.ndarray):
            return np.concatenate([upper, lower])
        from scipy.sparse import vstack

        return vstack([upper, lower]).tocsr()

    def _factored(self, coupled: Any) -> Callable[[Floats], Floats]:
        """What solves A K A' + rho: user by user where rows fall into blocks, else row by row."""
        frame, count = self.frame, self.frame.count
        products, i, j = frame.gram
        entries = products @ self.theta
        if frame.blocks is not None:
            held = coupled if isinstance(coupled, np.ndarray) else coupled.toarray()
            return BlockFactors(frame.blocks, i, j, entries, self.rho, held).solve
        if frame.own:
            return self._user_by_user(coupled, entries, i, j)
        matrix = np.zeros((count, count), order="F")
        matrix[i, j] = entries
        matrix = _less(matrix, coupled, count <= TINY)
        d = np.arange(count)
        matrix[d, d] += self.rho
        diagonal = matrix[d, d]
        if not (diagonal > 0).all():
            raise ArithmeticError("not positive definite")
        scale = 1.0 / np.sqrt(diagonal)
        matrix *= scale[:, None]
        matrix *= scale
        if count <= TINY:
            matrix[d, d] += SHIFTS[1]
            inverse = np.linalg.inv(matrix)
            return lambda right: np.asarray((inverse @ (right * scale)) * scale)
        from scipy.linalg import lapack

        for shift in SHIFTS:
            matrix[d, d] = 1 + shift
            factor, info = lapack.dpotrf(matrix, lower=1, clean=0, overwrite_a=0)
            if info == 0:
                return lambda right: np.asarray(
                    lapack.dpotrs(factor, right * scale, lower=1)[0] * scale
                )
        raise ArithmeticError("not positive definite")

    def _user_by_user(
        self, coupled: Any, entries: Floats, i: Ints, j: Ints
    ) -> Callable[[Floats], Floats]:
        frame, size = self.frame, len(self.frame.common)
        among = np.zeros((size, size))
        among[i, j] = among[j, i] = entries
        held = coupled if isinstance(coupled, np.ndarray) else coupled.toarray()
        held = held.reshape(-1, frame.users, frame.count)
        given = frame.own, frame.common, among, self.theta, held, self.rho
        for shift in SHIFTS[:-1]:
            # a matrix that is not positive definite is tried with the next larger shift
            with suppress(ArithmeticError):
                return OwnFactors(*given, shift).solve
        return OwnFactors(*given, SHIFTS[-1]).solve

    def columns(self, c: Floats, lift: Floats, at: Floats) -> tuple[Floats, Floats, Floats]:
        """Changes of columns (P + F,) at c + lift of their users less `limit` times at, and of
        shares (N,) and of what limits hold (N,): without differences of large numbers, though lift
        and at may be huge."""
        frame, held = self.frame, self.theta * c
        whole, det, heat = self.whole, self.det, self.heat
        x = frame.of(held)
        if not self.two:
            lift = lift - frame.most_limit * at
            rise = (x + whole * lift) / det
            change = held + self.theta * frame.to((lift - heat * x) / det)
            return change, rise, frame.most_limit * rise
        g, k, v = self.mean, self.stiff, self.spread
        y = frame.of(self.apart * held)
        more, push = x + whole * lift, at + k * y
        rise = ((1 + self.held) * more - whole * g * push) / det
        own = (g * more + self.slope * y - (g * g * whole + self.slope * v) * at) / det
        even = ((1 + self.held) * (lift - heat * x) - g * (push + k * g * x)) / det
        odd = -(self.slope * push + k * g * more) / det
        change = held + self.theta * (frame.to(even) + frame.to(odd) * self.apart)
        return change, rise, own

    def step(
        self, c: Floats, lift: Floats, at: Floats, missing: Floats, exact: bool = True
    ) -> tuple[Floats, Floats, Floats, Floats]:
        """`columns` and the change of prices (rows,) for which A dz - rho dprice = missing; refined
        once if it is to be exact."""
        frame = self.frame
        price = self.solve(frame.a @ self.columns(c, lift, at)[0] - missing)
        if not exact:
            return *self.columns(c - frame.at @ price, lift, at), price
        change = self.columns(c - frame.at @ price, lift, at)[0]
        price = price + self.solve(frame.a @ change - self.rho * price - missing)
        return *self.columns(c - frame.at @ price, lift, at), price


def _less(matrix: Floats, coupled: Any, whole: bool) -> Floats:
    """A matrix by columns, of which the lower triangle is given, less coupled' coupled; the lower
    triangle, or the whole."""
    if whole:
        matrix += np.tril(matrix, -1).T
        return np.asarray(matrix - coupled.T @ coupled)
    if not isinstance(coupled, np.ndarray):
        return np.asarray(matrix - (coupled.T @ coupled).toarray())
    from scipy.linalg import blas

    # one call that computes only one triangle
    return np.asarray(blas.dsyrk(-1.0, coupled.T, 1.0, matrix, trans=0, lower=1, overwrite_c=1))


def _scaled(matrix: Any, by: Floats) -> Any:
    """A matrix (N, rows) with each user's row multiplied."""
    if isinstance(matrix, np.ndarray):
        return matrix * by[:, None]
    from scipy.sparse import diags_array

    return diags_array(by) @ matrix
