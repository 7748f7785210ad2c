"""The arrays of a small instance, server by server, and the sums that conditions are made of.

Arrays over pairs (P,) are in the order of servers; on the grid (I, N) pairs that are not eligible
hold 0. Rows (m,) are the resources that anybody uses, and after them the finite limits.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np

from fairopt.instance import Floats, Ints
from fairopt.solving.engines.point import AlphaQuestion, Point

EASED = 1e-14
"""part of the diagonal added to it: where prices are not unique it keeps them from wandering off,
which would drown the shares in rounding"""
TINY = 40
"""rows up to which a matrix is inverted; of more a factor takes a tenth of the time"""
TABLE = 20_000
"""rows and users times pairs up to which sums are products with one full table: one call each"""


class CompactState:
    """The unknowns, all positive: a and price, their partners nu and s, and between them v."""

    __slots__ = ("a", "amounts", "costs", "nu", "paying", "price", "s", "size", "v", "whole")

    def __init__(self, whole: Floats, size: tuple[int, int]) -> None:
        """size: pairs, rows."""
        p, m = size
        b, c = p + m, len(whole) - p - m
        self.whole, self.size = whole, size
        self.amounts, self.costs, self.paying = whole[:b], whole[c:], whole[p:c]
        self.a, self.price, self.v = whole[:p], whole[p:b], whole[b:c]
        self.nu, self.s = whole[c : c + p], whole[c + p :]

    @classmethod
    def of(cls, a: Floats, price: Floats, v: Floats, nu: Floats, s: Floats) -> CompactState:
        """The state of these unknowns."""
        return cls(np.concatenate([a, price, v, nu, s]), (len(a), len(price)))

    def moved(self, step: Floats, length: float) -> CompactState:
        """The state after a part of a step."""
        return CompactState(self.whole + length * step, self.size)

    def reach(self, step: Floats) -> float:
        """The length of the step at which the first unknown becomes 0."""
        return 1.0 / max(-float(np.minimum.reduce(step / self.whole)), 1e-300)


class CompactLeft(NamedTuple):
    """The residual of each condition at a state, and what it was made of.

    used (m,) of rows; value (N,) of a unit of share; `bent` the largest entry of `curve`; `gap` the
    sum of all products.
    """

    used: Floats
    value: Floats
    level: Floats
    money: float
    dual: Floats
    primal: Floats
    curve: Floats
    bent: float
    gap: float


Direction = Callable[[Floats, Floats, bool], tuple[Floats, Floats]]
"""(changes wanted of products, each divided by its a or price (pairs + rows,), bend (N,), whether
the last digits matter) -> Newton step, and the rise of each user's share (N,)"""


def solver(matrix: Floats, more: Floats) -> Callable[[Floats, bool], Floats]:
    """Solves with a positive definite matrix, a diagonal added; refined once where the last digits
    matter. Of few rows by the inverse at unit diagonal, for which SciPy need not be loaded.

    Raises
    ------
    LinAlgError : the matrix is singular, or to rounding not positive definite.
    """
    diagonal = matrix.reshape(-1)[:: len(matrix) + 1]
    diagonal += more
    diagonal *= 1 + EASED
    rough = _by_inverse(matrix, diagonal) if len(matrix) <= TINY else _by_factor(matrix)

    def solve(right: Floats, exact: bool) -> Floats:
        found = rough(right)
        if exact:
            found += rough(right - matrix.dot(found))
        return found

    return solve


def _by_inverse(matrix: Floats, diagonal: Floats) -> Callable[[Floats], Floats]:
    scale = 1.0 / np.sqrt(diagonal)
    scales = scale * scale[:, None]
    inverse = np.asarray(np.linalg.inv(matrix * scales), dtype=np.float64)
    inverse *= scales
    return inverse.dot


def _by_factor(matrix: Floats) -> Callable[[Floats], Floats]:
    from scipy.linalg import lapack

    factor, info = lapack.dpotrf(matrix, lower=1, clean=0)
    if info != 0:
        raise np.linalg.LinAlgError("not positive definite")
    return lambda right: np.asarray(lapack.dpotrs(factor, right, lower=1)[0])


@lru_cache(32)
def blocks(servers: int, resources: int) -> Ints:
    """Where the blocks of servers lie in the matrix of all resources, flat."""
    row = (np.arange(servers) * resources)[:, None, None] + np.arange(resources)[:, None]
    found: Ints = (row * (servers * resources) + row.swapaxes(1, 2)).ravel()
    return found


class CompactRows:
    """What pairs use of rows, per unit of share; a full row is 1.

    n (P,) user of each pair; u (I, N) share of a task, 1 where not eligible.
    """

    def __init__(self, question: AlphaQuestion) -> None:
        inst = question.instance
        self.users, self.servers, self.resources = inst.shape
        eligible = inst.eligible.T
        self.shape = self.servers, self.users
        flat = np.flatnonzero(eligible)
        self.flat = None if len(flat) == eligible.size else flat
        self.server, self.n = flat // self.users, flat % self.users
        self.u = np.where(eligible, question.score.T, 1.0)
        pool = np.where(inst.pool > 0, inst.pool, np.inf)
        demand = inst.demand.T[None] if inst.demand.ndim == 2 else inst.demand.transpose(1, 2, 0)
        part = demand / pool[:, :, None] / self.u[:, None, :]
        self.part = np.ascontiguousarray(np.where(eligible[:, None, :], part, 0.0))
        live = self.part.any(axis=2).ravel()
        self.live = None if live.all() else np.flatnonzero(live)
        self.limited = np.flatnonzero(np.isfinite(inst.limit))
        # part of the user's limit that a unit of share takes
        self.of_limit = np.zeros((self.servers, 0))
        if len(self.limited):
            allowed = self.u[:, self.limited] * inst.limit[self.limited]
            self.of_limit = eligible[:, self.limited] / allowed
        self.size = int(live.sum()) + len(self.limited)
        self.simple = self.live is None and not len(self.limited)

    @cached_property
    def squares(self) -> Floats:
        """(I, R R, N) what a unit of share uses of one resource times what it uses of another."""
        square = self.part[:, :, None, :] * self.part[:, None, :, :]
        return np.asarray(square.reshape(self.servers, -1, self.users), dtype=np.float64)

    @cached_property
    def table(self) -> Floats | None:
        """(m + N, P) what a unit of share of each pair uses of each row, and whose it is; None
        where that is too much."""
        if (self.size + self.users) * len(self.n) > TABLE:
            return None
        pair, rows = np.arange(len(self.n)), self.servers * self.resources
        limits = len(self.limited)
        table = np.zeros((rows + limits + self.users, len(pair)))
        own = self.server * self.resources + np.arange(self.resources)[:, None]
        table[own, pair] = self.part[self.server, :, self.n].T
        if limits:
            mine = self.n == self.limited[:, None]
            table[rows : rows + limits] = np.where(mine, self.of_limit[self.server].T, 0.0)
        table[rows + limits + self.n, pair] = 1.0
        if self.live is not None:
            table = table[np.concatenate([self.live, np.arange(rows, len(table))])]
        return table

    @cached_property
    def entries(self) -> tuple[Ints, Floats]:
        """The rows that each pair uses, its limit's among them, and what a unit of share takes of
        each (P, K); 0 of none."""
        row = self.server[:, None] * self.resources + np.arange(self.resources)
        use = self.part[self.server, :, self.n]
        if self.live is not None:
            place = np.zeros(self.servers * self.resources, dtype=np.int64)
            place[self.live] = np.arange(len(self.live))
            row = place[row]
        if len(self.limited):
            limit = np.zeros(self.users, dtype=np.int64)
            limit[self.limited] = np.arange(self.size - len(self.limited), self.size)
            own = np.zeros((self.servers, self.users))
            own[:, self.limited] = self.of_limit
            row = np.concatenate([row, limit[self.n][:, None]], axis=1)
            use = np.concatenate([use, own[self.server, self.n][:, None]], axis=1)
        return row, use

    def sums(self, pairs: Floats) -> Floats:
        """(m + N,) part of each row that shares (P,) use, and every user's share."""
        if self.table is not None:
            found: Floats = self.table.dot(pairs)
            return found
        grid = self.grid(pairs)
        return np.concatenate([self.used(grid), np.add.reduce(grid, axis=0)])

    def back(self, each: Floats) -> Floats:
        """(P,) what a unit of share comes to, at (m + N,) so much for a whole row and a user."""
        found: Floats
        if self.table is not None:
            found = each.dot(self.table)
            return found
        found = self.cost(each[: self.size]) + each[self.size :][self.n]
        return found

    def grid(self, pairs: Floats) -> Floats:
        """(I, N) from an array over pairs."""
        if self.flat is None:
            return pairs.reshape(self.shape)
        found = np.zeros(self.shape)
        found.reshape(-1)[self.flat] = pairs
        return found

    def pairs(self, grid: Floats) -> Floats:
        """(P,) from the grid."""
        flat = grid.reshape(-1)
        return flat if self.flat is None else flat[self.flat]

    def used(self, grid: Floats) -> Floats:
        """(m,) part of each row that shares (I, N) use."""
        found = (self.part @ grid[:, :, None]).reshape(-1)
        if self.simple:
            return found
        found = found if self.live is None else found[self.live]
        own = (self.of_limit * grid[:, self.limited]).sum(axis=0)
        return np.concatenate([found, own])

    def largest(self, grid: Floats) -> Floats:
        """(m,) the most of each row that one user's shares (I, N) use."""
        found = (self.part * grid[:, None, :]).max(axis=2).ravel()
        found = found if self.live is None else found[self.live]
        own = (self.of_limit * grid[:, self.limited]).sum(axis=0)
        return np.concatenate([found, own])

    def split(self, rows: Floats) -> tuple[Floats, Floats]:
        """(I, R) and (L,) the entries of resources, 0 where nobody uses one, and of limits."""
        size = self.size - len(self.limited)
        found = rows[:size]
        if self.live is not None:
            found = np.zeros(self.servers * self.resources)
            found[self.live] = rows[:size]
        return found.reshape(self.servers, self.resources), rows[size:]

    def point(self, pairs: Floats, rows: Floats) -> Point:
        """The point of shares (P,) and money of rows (m,)."""
        resources, limits = self.split(rows)
        paid = np.zeros(self.users)
        paid[self.limited] = limits
        return Point((self.grid(pairs) / self.u).T, resources, paid)

    def cost(self, rows: Floats) -> Floats:
        """(P,) what a unit of share costs at prices (m,) of whole rows."""
        if self.simple:
            return self.pairs(rows.reshape(self.servers, 1, self.resources) @ self.part)
        resources, limits = self.split(rows)
        grid = (resources[:, None, :] @ self.part)[:, 0]
        if len(self.limited):
            grid[:, self.limited] += self.of_limit * limits
        return self.pairs(grid)

    def evenly(self, money: Floats) -> Floats:
        """(m,) the money of pairs (P,) divided evenly among the rows that each of them uses."""
        some = self.part > 0
        many = some.sum(axis=1)
        many[:, self.limited] += 1
        each = self.grid(money) / np.maximum(many, 1)
        found = (some * each[:, None, :]).sum(axis=2).ravel()
        found = found if self.live is None else found[self.live]
        return np.concatenate([found, each[:, self.limited].sum(axis=0)])

    def coupled(self, theta: Floats) -> Floats:
        """(m, N) what each user's pairs, weighted by theta (I, N), use of each row."""
        found = (self.part * theta[:, None, :]).reshape(-1, self.users)
        if self.simple:
            return found
        found = found if self.live is None else found[self.live]
        if not len(self.limited):
            return found
        limits = np.zeros((len(self.limited), self.users))
        own = (self.of_limit * theta[:, self.limited]).sum(axis=0)
        limits[np.arange(len(own)), self.limited] = own
        return np.concatenate([found, limits])

    def gram(self, theta: Floats) -> Floats:
        """(m, m) sum over pairs of theta (I, N) times what they use of one row and of another."""
        size = self.servers * self.resources
        matrix = np.zeros((size, size))
        matrix.reshape(-1)[blocks(self.servers, self.resources)] = (
            self.squares @ theta[:, :, None]
        ).reshape(-1)
        if self.simple:
            return matrix
        if self.live is not None:
            matrix = matrix[self.live[:, None], self.live]
        if not len(self.limited):
            return matrix
        own = self.of_limit * theta[:, self.limited]
        beside = (self.part[:, :, self.limited] * own[:, None, :]).reshape(size, -1)
        beside = beside if self.live is None else beside[self.live]
        return np.block([[matrix, beside], [beside.T, np.diag((own * self.of_limit).sum(axis=0))]])
