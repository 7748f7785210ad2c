"""Rows of a system as they are gathered: their kinds, entries and sizes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from fairopt.instance import Bools, Floats, Ints

CAPACITY, LIMIT, BOUND, QUOTA, RULE, PLACE = range(6)
"""kinds of rows"""
UP, DOWN, UP_OF_TWO, DOWN_OF_TWO = range(4)
"""what a row of a rule holds back: what is counted from above, or from below; of `equal` both"""


class Own(NamedTuple):
    """A rule of one's own: way, server, value (E,) of the tasks it counts; whether their sum may be
    at most (`up`) or must be at least (`down`) `amount`."""

    way: Ints
    server: Ints
    value: Floats
    amount: float
    up: bool
    down: bool


class Ceiling(NamedTuple):
    """members (m,) users, servers (I,) bool, resource: their use of it is at most `most`."""

    members: Ints
    servers: Bools
    resource: int
    most: float


class Lending(NamedTuple):
    """The quotas of one (flavor, resource): servers (I,) bool, resource, and by node (K,) each."""

    servers: Bools
    resource: int
    nominal: Floats
    borrow: Floats
    lend: Floats


class RowsGathered:
    """Rows as they are gathered."""

    def __init__(self) -> None:
        self.count = 0
        self.entries: list[tuple[Floats, Ints, Ints]] = []
        self.kind: list[Ints] = []
        self.one: list[Ints] = []
        self.two: list[Ints] = []
        self.rhs: list[Floats] = []
        self.unit: list[Floats] = []

    def add(
        self,
        kind: int,
        one: Ints,
        two: Ints,
        rhs: Floats,
        unit: Floats,
        value: Floats,
        row: Ints,
        column: Ints,
    ) -> None:
        """Add rows of one kind: what each speaks of, its right side and unit, and its entries."""
        self.entries.append((value, row + self.count, column))
        self.kind.append(np.full(len(one), kind))
        self.one.append(one)
        self.two.append(two)
        self.rhs.append(rhs)
        self.unit.append(unit)
        self.count += len(one)

    def matrix(self, columns: int) -> Any:
        """All rows as one sparse matrix."""
        value, row, column = (np.concatenate(part) for part in zip(*self.entries, strict=True))
        return sparse(value, row, column, (self.count, columns))

    def said(self) -> tuple[Floats, Ints, Ints, Ints]:
        """Right sides, kinds, and what each row speaks of."""
        labels = (np.concatenate(part) for part in (self.kind, self.one, self.two))
        kind, one, two = labels
        return np.concatenate(self.rhs), kind, one, two


def ceiling_rows(
    rows: RowsGathered,
    ceilings: Sequence[Ceiling],
    need: Floats,
    pool: Floats,
    server: Ints,
    user: Ints,
    users: int,
) -> None:
    """Ceilings, of which each costs no more than the columns of its members.

    Parameters
    ----------
    need : (P, R). pool : (I, R). server, user : (P,) of each column, of so many users.
    """
    some = [b for b, c in enumerate(ceilings) if np.isfinite(c.most)]
    if not some:
        return
    mine = [ceilings[b] for b in some]
    most, resource = np.array([c.most for c in mine]), np.array([c.resource for c in mine])
    order = np.argsort(user, kind="stable")
    first = np.searchsorted(user[order], np.arange(users + 1))
    members = np.concatenate([c.members for c in mine])
    size = first[members + 1] - first[members]
    row = np.repeat(np.repeat(np.arange(len(mine)), [len(c.members) for c in mine]), size)
    place = np.arange(len(row)) - np.repeat(np.cumsum(size) - size, size)
    column = order[place + np.repeat(first[members], size)]
    servers = np.array([c.servers for c in mine])
    used = servers[row, server[column]] & (need[column, resource[row]] > 0)
    row, column = row[used], column[used]
    whole = np.array([pool[c.servers, c.resource].sum() if c.most <= 0 else c.most for c in mine])
    value = need[column, resource[row]]
    rows.add(BOUND, np.array(some), np.full(len(some), -1), most, whole, value, row, column)


def own_rows(
    rows: RowsGathered,
    own: tuple[Own, ...],
    need: Floats,
    pool: Floats,
    way: Ints,
    server: Ints,
    ways: int,
) -> None:
    """The rows of own rules; of each a typical amount is the larger of its own and of what its
    terms count where everybody has an equal part of each server."""
    with np.errstate(divide="ignore", invalid="ignore"):
        room = np.where(need > 0, pool[server] / need, np.inf).min(axis=1)
    typical = np.where(np.isfinite(room), room, 0.0) / np.bincount(server)[server]
    column = np.full((ways, len(pool)), -1)
    column[way, server] = np.arange(len(way))
    for j, rule in enumerate(own):
        used = column[rule.way, rule.server]
        size = max(abs(rule.amount), float(np.abs(rule.value) @ typical[used])) or 1.0
        sides = [(UP_OF_TWO, 1.0), (DOWN_OF_TWO, -1.0)]
        if not (rule.up and rule.down):
            sides = [(UP, 1.0)] if rule.up else [(DOWN, -1.0)]
        for what, sign in sides:
            rows.add(
                RULE,
                np.array([j]),
                np.array([what]),
                np.array([sign * rule.amount]),
                np.array([size]),
                sign * rule.value,
                np.zeros(len(used), int),
                used,
            )


def plain_rows(
    rows: RowsGathered,
    need: Floats,
    pool: Floats,
    limit: Floats,
    limit_on: Floats | None,
    server: Ints,
    user: Ints,
) -> None:
    """Rows of capacities, of limits (N,), and of limits on servers (N, I).

    Parameters
    ----------
    need : (P, R) of each column. pool : (I, R). server, user : (P,).
    """
    for r in range(pool.shape[1]):
        used = np.flatnonzero(need[:, r] > 0)
        at = np.unique(server[used])
        rows.add(
            CAPACITY,
            at,
            np.full(len(at), r),
            pool[at, r],
            pool[at, r],
            need[used, r],
            np.searchsorted(at, server[used]),
            used,
        )
    limited = np.flatnonzero(np.isfinite(limit))
    used = np.flatnonzero(np.isfinite(limit[user]))
    most = limit[limited]
    rows.add(
        LIMIT,
        limited,
        np.full(len(limited), -1),
        most,
        most,
        np.ones(len(used)),
        np.searchsorted(limited, user[used]),
        used,
    )
    if limit_on is not None:
        used = np.flatnonzero(np.isfinite(limit_on[user, server]))
        pair, row = np.unique(user[used] * len(pool) + server[used], return_inverse=True)
        one, two = np.divmod(pair, len(pool))
        most = limit_on[one, two]
        rows.add(PLACE, one, two, most, most, np.ones(len(used)), row, used)


def lending_rows(
    rows: RowsGathered,
    lendings: tuple[Lending, ...],
    parent: Ints | None,
    leaf: Ints | None,
    need: Floats,
    pool: Floats,
    server: Ints,
    user: Ints,
) -> tuple[Ints, Floats, Floats]:
    """The rows of lending between nodes: the node whose row each shares (Q, K), and the bounds (F,)
    of flows, whose columns follow those of tasks."""
    columns = len(user)
    nodes = 0 if parent is None else len(parent)
    host = np.zeros((len(lendings), nodes), dtype=np.int64)
    low: list[Floats] = []
    high: list[Floats] = []
    for q, lending in enumerate(lendings):
        assert parent is not None and leaf is not None
        host[q] = _hosts(parent, lending)
        at = np.unique(host[q])
        position = np.asarray(np.searchsorted(at, host[q]))
        nominal = np.asarray(np.bincount(position, lending.nominal, len(at)), np.float64)
        taken = need[:, lending.resource]
        used = np.flatnonzero(lending.servers[server] & (taken > 0))
        flows = at[(parent[at] >= 0) & (lending.borrow[at] + lending.lend[at] > 0)]
        size = max(float(pool[lending.servers, lending.resource].sum()), float(nominal.max()))
        here = columns + sum(map(len, low)) + np.arange(len(flows))
        mine, above = position[flows], position[parent[flows]]
        rows.add(
            QUOTA,
            np.full(len(at), q),
            at,
            nominal,
            np.full(len(at), size or 1.0),
            np.concatenate([taken[used], np.ones(len(flows)), -np.ones(len(flows))]),
            np.concatenate([position[leaf[user[used]]], mine, above]),
            np.concatenate([used, here, here]),
        )
        low.append(-lending.borrow[flows])
        high.append(lending.lend[flows])
    flow_low, flow_high = (np.concatenate([np.zeros(0), *part]) for part in (low, high))
    return host, flow_low, flow_high


def _hosts(parent: Ints, lending: Lending) -> Ints:
    """(K,) of each node, itself, or the first ancestor that may not borrow and lend at will."""
    host = np.arange(len(parent))
    for v in range(len(parent)):  # parents come before children
        if parent[v] >= 0 and np.isinf(lending.borrow[v]) and np.isinf(lending.lend[v]):
            host[v] = host[parent[v]]
    return host


def sparse(value: Floats, row: Ints, column: Ints, shape: tuple[int, int]) -> Any:
    # imported late: judging an answer needs no sparse matrix
    """A sparse matrix of entries, those of one place added."""
    from scipy.sparse import coo_array

    return coo_array((value, (row, column)), shape=shape).tocsr()


__all__ = [
    "BOUND",
    "CAPACITY",
    "DOWN",
    "DOWN_OF_TWO",
    "LIMIT",
    "Ceiling",
    "Lending",
    "Own",
    "PLACE",
    "QUOTA",
    "RULE",
    "RowsGathered",
    "UP",
    "UP_OF_TWO",
    "ceiling_rows",
    "lending_rows",
    "own_rows",
    "sparse",
]
