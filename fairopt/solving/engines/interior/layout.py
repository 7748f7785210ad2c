"""Arrays over eligible pairs, in two layouts with the same operations: sums and matrix products.

The variable y of a pair is its share in units of the share of its user; one unit of y uses b[h, r]
of row r of its server. `Pairs` keeps one entry a pair. `GridLayout` keeps a full (N, I) array; it
is used if nearly every pair is eligible and demand does not depend on the server, so that products
are matrix products with the demand matrix. Arrays over pairs have shape `layout.shape`; in a grid
entries that are not eligible hold 0, and `mask` is 0 there.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, Protocol

import numpy as np

from fairopt.instance import Bools, Floats
from fairopt.solving.engines.point import AlphaQuestion

FULL = 0.2
"""a grid is used if at least this part of all pairs is eligible"""


class Layout(Protocol):
    """What both layouts offer. Arrays over pairs have shape `shape`, arrays over rows (I, R).

    `rows` (I, R) : whether any user uses the resource there.
    """

    rows: Bools

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of arrays over pairs."""

    @property
    def mask(self) -> Floats | float:
        """1 for eligible entries, 0 for the others of a grid."""

    def of_user(self, pairs: Floats) -> Floats:
        """(N,) sum over the pairs of each user."""

    def least(self, pairs: Floats) -> Floats:
        """(N,) smallest entry over the pairs of each user."""

    def spread(self, users: Floats) -> Floats:
        """Over pairs: for each pair the entry of its user (N,)."""

    def used(self, pairs: Floats) -> Floats:
        """(I, R) part of each row that amounts y over pairs use: B y."""

    def cost(self, rows: Floats) -> Floats:
        """Over pairs: the cost of one unit of y at prices (I, R) of whole rows: B' p."""

    def blocks(self, theta: Floats) -> Floats:
        """(I, R, R) B diag(theta) B', one block a server."""

    def from_pairs(self, values: Floats) -> Floats:
        """An array over pairs from values (P,) in the order of `Instance.pairs`."""

    def to_pairs(self, values: Floats) -> Floats:
        """Values (P,) in the order of `Instance.pairs` from an array over pairs."""


def layout_of(question: AlphaQuestion, unit: Floats) -> Layout:
    """The faster layout for the placement; `unit` (N,) is the unit of each user's share."""
    inst = question.instance
    users, servers, _ = inst.shape
    full = len(question.pairs[0]) >= FULL * users * servers
    if inst.demand.ndim == 2 and full and users * servers > 200:
        return GridLayout(question, unit)
    return Pairs(question, unit)


class Pairs:
    """One entry a pair, in order of users."""

    mask: float = 1.0

    def __init__(self, question: AlphaQuestion, unit: Floats) -> None:
        inst = question.instance
        self.n, self.i = question.pairs
        self.users, self.servers, self.resources = inst.shape
        self.shape = (len(self.n),)
        self.b = question.use * (unit[self.n] / question.share_per_task)[:, None]
        self.first = np.flatnonzero(np.concatenate([[True], np.diff(self.n) > 0]))
        order = np.argsort(self.i, kind="stable")
        self.by_server = order
        sorted_i = self.i[order]
        self.first_of_server = np.flatnonzero(np.concatenate([[True], np.diff(sorted_i) > 0]))
        self.present = sorted_i[self.first_of_server]
        self.rows = np.zeros((self.servers, self.resources), bool)
        self.rows[self.present] = np.add.reduceat(self.b[order], self.first_of_server) > 0

    def from_pairs(self, values: Floats) -> Floats:
        """An array over pairs from values (P,) in the order of `Instance.pairs`."""
        return values

    def to_pairs(self, values: Floats) -> Floats:
        """Values (P,) in the order of `Instance.pairs` from an array over pairs."""
        return values

    def of_user(self, pairs: Floats) -> Floats:
        """(N,) sum over the pairs of each user."""
        return np.add.reduceat(pairs, self.first)

    def least(self, pairs: Floats) -> Floats:
        """(N,) smallest entry over the pairs of each user."""
        return np.minimum.reduceat(pairs, self.first)

    def spread(self, users: Floats) -> Floats:
        """Over pairs: for each pair the entry of its user (N,)."""
        found: Floats = users[self.n]
        return found

    def used(self, pairs: Floats) -> Floats:
        """(I, R) part of each row that amounts y over pairs use: B y."""
        found: Floats = self._matrix @ pairs
        return found.reshape(self.servers, self.resources)

    def cost(self, rows: Floats) -> Floats:
        """Over pairs: the cost of one unit of y at prices (I, R) of whole rows: B' p."""
        found: Floats = self._transposed @ rows.ravel()
        return found

    @cached_property
    def _matrix(self) -> Any:
        """B, (I R, P)."""
        from scipy.sparse import csc_array

        row = self.i[:, None] * self.resources + np.arange(self.resources)
        ends = np.arange(len(self.n) + 1) * self.resources
        shape = self.servers * self.resources, len(self.n)
        return csc_array((self.b.ravel(), row.ravel(), ends), shape=shape)

    @cached_property
    def _transposed(self) -> Any:
        """The same (P, I R)."""
        return self._matrix.T

    def _per_server(self, values: Floats) -> Floats:
        found = np.zeros((self.servers, *values.shape[1:]))
        found[self.present] = np.add.reduceat(values[self.by_server], self.first_of_server)
        return found

    @cached_property
    def _squares(self) -> Floats:
        found: Floats = np.einsum("hr,hs->hrs", self.b, self.b)
        return found

    def blocks(self, theta: Floats) -> Floats:
        """(I, R, R) B theta B', server by server."""
        return self._per_server(theta[:, None, None] * self._squares)


class GridLayout:
    """A full (N, I) array; b[n, i, r] = demand[n, r] t[n, i] / pool[i, r]."""

    def __init__(self, question: AlphaQuestion, unit: Floats) -> None:
        inst = question.instance
        self.users, self.servers, self.resources = inst.shape
        self.shape = (self.users, self.servers)
        eligible = inst.eligible
        self.pairs = question.pairs
        self.eligible = eligible
        self.mask = eligible.astype(np.float64)
        pool = np.where(inst.pool > 0, inst.pool, np.inf)
        self.per_pool = 1.0 / pool
        score = question.score
        same = bool(
            (
                np.where(eligible, score, score.max(axis=1, keepdims=True))
                == score.max(axis=1, keepdims=True)
            ).all()
        )
        self.t: Floats | None = None
        if same:
            self.demand = inst.demand * (unit / score.max(axis=1))[:, None]
        else:
            self.demand = inst.demand
            self.t = np.divide(unit[:, None], score, out=np.zeros(self.shape), where=eligible)
        self.rows = ((self.mask.T @ self.demand) > 0) & (inst.pool > 0)
        upper = np.triu_indices(self.resources)
        self.upper = upper
        self.products = self.demand[:, upper[0]] * self.demand[:, upper[1]]

    def _tasks(self, pairs: Floats) -> Floats:
        return pairs if self.t is None else pairs * self.t

    def from_pairs(self, values: Floats) -> Floats:
        """An array over pairs from values (P,) in the order of `Instance.pairs`."""
        found = np.zeros(self.shape)
        found[self.pairs] = values
        return found

    def to_pairs(self, values: Floats) -> Floats:
        """Values (P,) in the order of `Instance.pairs` from an array over pairs."""
        found: Floats = values[self.pairs]
        return found

    def of_user(self, pairs: Floats) -> Floats:
        """(N,) sum over the pairs of each user."""
        found: Floats = pairs.sum(axis=1)
        return found

    def least(self, pairs: Floats) -> Floats:
        """(N,) smallest entry over the pairs of each user."""
        found: Floats = np.where(self.eligible, pairs, np.inf).min(axis=1)
        return found

    def spread(self, users: Floats) -> Floats:
        """Over pairs: for each pair the entry of its user (N,)."""
        return users[:, None]

    def used(self, pairs: Floats) -> Floats:
        """(I, R) part of each row that amounts y over pairs use: B y."""
        found: Floats = (self._tasks(pairs).T @ self.demand) * self.per_pool
        return found

    def cost(self, rows: Floats) -> Floats:
        """Over pairs: the cost of one unit of y at prices (I, R) of whole rows: B' p."""
        return self._tasks(self.demand @ (rows * self.per_pool).T)

    def blocks(self, theta: Floats) -> Floats:
        """(I, R, R) B diag(theta) B', one block a server."""
        weighted = theta if self.t is None else theta * self.t * self.t
        flat = weighted.T @ self.products
        found = np.empty((self.servers, self.resources, self.resources))
        found[:, self.upper[0], self.upper[1]] = flat
        found[:, self.upper[1], self.upper[0]] = flat
        found *= self.per_pool[:, :, None] * self.per_pool[:, None, :]
        return found
