r"""The system of a step where most rows hold tasks of one user alone, as wants that may wait do.

.. math:: \begin{pmatrix} K_u & C_u \\ C_u^T & S \end{pmatrix}, \qquad
          S - \sum_u C_u^T K_u^{-1} C_u

K_u are the rows of user u alone, S those that users share: users go first, and a system in shared
rows is left.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fairopt.instance import Floats, Ints

LARGE, MOST_PART, SHARED = 600, 0.5, 3000
"""least rows, most part of them that users share, and most of those"""


def alone(row: Ints, owner: Ints, rows: int) -> Ints:
    """(rows,) the user whose tasks alone a row holds, -1 where there are several, or flows.

    Parameters
    ----------
    row, owner : of each entry, and the user of its column, -1 of flows.
    """
    low, high = np.full(rows, np.iinfo(np.int64).max), np.full(rows, -1)
    np.minimum.at(low, row, owner)
    np.maximum.at(high, row, owner)
    return np.where(low == high, high, -1)


def fits(lone: Ints) -> bool:
    """Whether rows are many, and those that users share few."""
    shared = int((lone < 0).sum())
    return len(lone) >= LARGE and shared <= min(MOST_PART * len(lone), SHARED)


@dataclass(frozen=True)
class User:
    """The rows of a user alone: rows (T,), columns (C,), their entries (T, C), and those of shared
    rows in these columns, sparse (S, C)."""

    user: int
    rows: Ints
    columns: Ints
    own: Floats
    others: Any


def users_of(a: Any, owner: Ints, lone: Ints) -> tuple[User, ...]:
    """The users with rows of their own.

    Parameters
    ----------
    a : sparse (rows, P + F). owner : (P,) of tasks. lone : (rows,), `alone`.
    """
    a, shared = a.tocsc(), np.flatnonzero(lone < 0)
    order = np.argsort(owner, kind="stable")
    ends = np.searchsorted(owner[order], np.arange(int(lone.max()) + 2))
    found = []
    for n in np.unique(lone[lone >= 0]).tolist():
        columns, rows = order[ends[n] : ends[n + 1]], np.flatnonzero(lone == n)
        mine = a[:, columns].tocsr()
        found.append(User(n, rows, columns, mine[rows].toarray(), mine[shared]))
    return tuple(found)


class OwnFactors:
    """The factors of the system.

    Parameters
    ----------
    users : `users_of`. shared : positions (S,) of rows that users share. among : (S, S) products of
        their entries. theta : (P + F,). coupled : (1 or 2, N, rows) what users hold back. rho :
        (rows,). shift : added to a diagonal of 1.

    Raises
    ------
    ArithmeticError : it is not positive definite in floating point.
    """

    def __init__(
        self,
        users: tuple[User, ...],
        shared: Ints,
        among: Floats,
        theta: Floats,
        coupled: Floats,
        rho: Floats,
        shift: float,
    ) -> None:
        self.users, self.shared = users, shared
        less = coupled[:, :, shared]
        flat = less.reshape(-1, len(shared))
        rest = among - flat.T @ flat
        d = np.arange(len(shared))
        rest[d, d] += rho[shared]
        self.scale = _unit(rest[d, d])
        rest *= self.scale[:, None] * self.scale
        rest[d, d] = 1 + shift
        self.parts: list[tuple[Floats, Floats, Floats]] = []
        for one in users:
            weighted = one.own * theta[one.columns]
            held = coupled[:, one.user, one.rows]
            k = weighted @ one.own.T - held.T @ held
            c = (one.others @ weighted.T).T - held.T @ less[:, one.user]
            d = np.arange(len(k))
            k[d, d] += rho[one.rows]
            unit = _unit(k[d, d])
            k *= unit[:, None] * unit
            k[d, d] = 1 + shift
            factor = _factor(k)
            w = _solved(factor, c * unit[:, None] * self.scale, False)
            rest -= w.T @ w
            self.parts.append((factor, unit, w))
        self.rest = _factor(rest)

    def solve(self, right: Floats) -> Floats:
        """(rows,) the solution."""
        found, last = np.zeros(len(right)), right[self.shared] * self.scale
        halves = []
        for one, (factor, unit, w) in zip(self.users, self.parts, strict=True):
            half = _solved(factor, right[one.rows] * unit, False)
            halves.append(half)
            last = last - w.T @ half
        last = _solved(self.rest, _solved(self.rest, last, False), True)
        found[self.shared] = last * self.scale
        for one, (factor, unit, w), half in zip(self.users, self.parts, halves, strict=True):
            found[one.rows] = _solved(factor, half - w @ last, True) * unit
        return found


def _unit(diagonal: Floats) -> Floats:
    if not (diagonal > 0).all():
        raise ArithmeticError("not positive definite")
    return np.asarray(1.0 / np.sqrt(diagonal))


def _factor(matrix: Floats) -> Floats:
    """The lower factor."""
    from scipy.linalg import lapack

    if not len(matrix):
        return matrix
    factor, info = lapack.dpotrf(matrix, lower=1, clean=0)
    if info:
        raise ArithmeticError("not positive definite")
    return np.asarray(factor)


def _solved(factor: Floats, right: Floats, back: bool) -> Floats:
    """Of L x = right, or of L' x = right."""
    from scipy.linalg import lapack

    if not len(factor) or not right.size:
        return right
    return np.asarray(lapack.dtrtrs(factor, right, lower=1, trans=int(back))[0])


__all__ = ["OwnFactors", "User", "alone", "fits", "users_of"]
