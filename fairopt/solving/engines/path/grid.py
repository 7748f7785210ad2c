"""Products with the rows of servers where most users may go to most servers: by demand, not pair.

A task of a user takes d[n, r] of what there is of r on any server, so that of all N x I x R entries
d (N, R) is enough: what shares y take of rows is (y.T @ d), an ordinary product of matrices.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fairopt.formulas.lowered import CAPACITY, Lowered
from fairopt.instance import Bools, Floats, Ints

FULL, LARGE = 0.2, 50_000
"""part of users times servers that are columns, and entries, from which this is faster"""


@dataclass(frozen=True)
class Map:
    """What multiplies an array from the left, as a matrix does."""

    by: Callable[[Floats], Floats]

    def __matmul__(self, right: Floats) -> Floats:
        return self.by(right)


class DemandGrid:
    """The products. Parameters: demand (N, R); size (P,) of a column in tasks; per (R, I) one over
    the unit of each row; live (R, I) rows that are shared, in their order; owner, server (P,)."""

    def __init__(
        self, demand: Floats, size: Floats, per: Floats, live: Bools, owner: Ints, server: Ints
    ) -> None:
        self.demand, self.size, self.per, self.live = demand, size, per, live
        self.shape = len(demand), per.shape[1]
        whole = len(owner) == len(demand) * per.shape[1]
        self.at = None if whole else owner * per.shape[1] + server
        self.all_live = bool(live.all())

    @classmethod
    def of(cls, low: Lowered, size: Floats, shared: Ints) -> DemandGrid | None:
        """None where columns are few, a user's demand depends on the server, or shared rows are not
        of servers alone."""
        users, servers, resources = low.shape[:3]
        entry = low.matrix.tocoo()
        (row, column), value = entry.coords, entry.data
        few = low.columns < FULL * users * servers or len(value) < LARGE
        if few or len(low.low) or (low.kind[shared] != CAPACITY).any():
            return None
        if np.bincount(low.owner * servers + low.server).max() > 1:  # several ways to run
            return None
        mine = low.kind[row] == CAPACITY
        user, resource = low.owner[column[mine]], low.two[row[mine]]
        demand = np.zeros((users, resources))
        demand[user, resource] = value[mine]
        many = np.bincount(user * resources + resource, minlength=users * resources)
        some = np.repeat(np.bincount(low.owner, minlength=users), resources)
        if (many[many > 0] != some[many > 0]).any() or (
            demand[user, resource] != value[mine]
        ).any():
            return None
        live = np.zeros((resources, servers), dtype=bool)
        live[low.two[shared], low.one[shared]] = True
        per = np.zeros((resources, servers))
        per[low.two[shared], low.one[shared]] = 1.0 / low.unit[shared]
        return cls(demand, size, per, live, low.owner, low.server)

    def _grid(self, of_columns: Floats) -> Floats:
        """(N, I) of columns."""
        if self.at is None:
            return of_columns.reshape(self.shape)
        found = np.zeros(self.shape)
        found.reshape(-1)[self.at] = of_columns
        return found

    def _rows(self, found: Floats) -> Floats:
        """(rows,) of (R, I)."""
        return found.ravel() if self.all_live else found[self.live]

    def used(self, z: Floats) -> Floats:
        """(rows,) what columns take."""
        return self._rows((self.demand.T @ self._grid(z * self.size)) * self.per)

    def cost(self, price: Floats) -> Floats:
        """(P,) what a unit of each column costs."""
        whole = np.zeros(self.per.shape)
        whole[self.live] = price
        found = (self.demand @ (whole * self.per)).ravel()
        return (found if self.at is None else found[self.at]) * self.size

    @cached_property
    def _pairs(self) -> tuple[Ints, Ints, Floats, Bools, Floats]:
        """Of two resources: the first, the second, their demands' product (N, Q), where both rows
        are live (Q, I), and one over both units there."""
        first, second = np.tril_indices(len(self.per))
        products = self.demand[:, first] * self.demand[:, second]
        live = self.live[first] & self.live[second]
        return first, second, products, live, (self.per[first] * self.per[second])[live]

    @cached_property
    def _squared(self) -> Floats:
        return self.size**2

    def gram(self) -> tuple[Map, Ints, Ints]:
        """As that of the frame."""
        first, second, products, live, per = self._pairs
        place = np.full(self.live.shape, -1)
        place[self.live] = np.arange(int(self.live.sum()))

        def by(theta: Floats) -> Floats:
            return (products.T @ self._grid(theta * self._squared))[live] * per

        return Map(by), place[first][live], place[second][live]

    def coupled(self, theta: Floats) -> Floats:
        """(N, rows) sums over a user's columns of theta times the entry."""
        part = self._grid(theta * self.size)
        found = part[:, None, :] * (self.demand[:, :, None] * self.per)
        found = found.reshape(len(part), -1)
        return found if self.all_live else found[:, self.live.ravel()]


__all__ = ["DemandGrid", "Map"]
