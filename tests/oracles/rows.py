"""Every rule of an instance as plain rows of exact numbers, read here a second time from its data.

A column is a user's task on a server in a mode; after the columns come the flows of lending. Rows
are `g z <= h`; what a user counts is t = U x - base. Nothing of `fairopt.formulas` is used.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal as D

import numpy as np

import fairopt as fo

DIGITS = 400
"""enough for a product of floats to be exact"""


@dataclass
class Rows:
    """owner, server, way (K,) of the columns; u (K,) shares of a task; g (M, K + F), h (M,) rows;
    low, high (F,) of the flows, None where there is no bound; base, floor (N,); weight (N,)."""

    owner: np.ndarray
    server: np.ndarray
    way: np.ndarray
    u: np.ndarray
    g: np.ndarray
    h: np.ndarray
    low: list
    high: list
    base: np.ndarray
    floor: np.ndarray
    weight: np.ndarray

    @property
    def users(self) -> int:
        return len(self.base)


def exact(values) -> np.ndarray:
    """An array of decimals, each the very number that the float is."""
    given = np.asarray(values)
    found = np.empty(given.shape, dtype=object)
    for at, value in np.ndenumerate(given):
        found[at] = value if isinstance(value, D) else D(float(value))
    return found


def of_instance(inst: fo.Instance, score: np.ndarray, over: str = "floor") -> Rows:
    """The rows of an instance; guarantees of users only (no bundles of groups), in any way of
    counting them that `over` says; shares already had where nothing is guaranteed; rules of one's
    own at most or at least an amount, of running tasks.

    Parameters
    ----------
    score : (N, I), share of a unit of output.
    """
    ways, tree, pool = inst.ways, inst.tree, inst.pool
    way, server = np.nonzero(ways.eligible)
    owner = ways.owner[way]
    demand = ways.demand[way] if ways.demand.ndim == 2 else ways.demand[way, server]
    u = exact(score[owner, server]) * exact(ways.speed[way])
    need = exact(demand)
    members = [np.isin(owner, _below(tree, k)) for k in range(len(tree.parent))]
    rows: list[np.ndarray] = []
    right: list[D] = []

    def row(some, r, most) -> None:
        rows.append(np.where(some, need[:, r], D(0)))
        right.append(most)

    for i in range(pool.shape[0]):
        for r in range(pool.shape[1]):
            row(server == i, r, D(float(pool[i, r])))
    for n in np.flatnonzero(np.isfinite(inst.limit)).tolist():
        rows.append(np.where(owner == n, D(1), D(0)))
        right.append(D(float(inst.limit[n])))
    if inst.limit_on is not None:
        for n, i in np.argwhere(np.isfinite(inst.limit_on)).tolist():
            rows.append(np.where((owner == n) & (server == i), D(1), D(0)))
            right.append(D(float(inst.limit_on[n, i])))
    for rule in inst.rules or ():
        sign = D(1) if rule.most is not None else D(-1)
        rows.append(sign * _counted(inst, rule, owner, server))
        right.append(sign * D(float(rule.amount)))
    bounds = tree.bounds
    for b in range(len(bounds)):
        where = members[int(bounds.node[b])] & bounds.servers[b][server]
        row(where, int(bounds.resource[b]), D(float(bounds.amount[b])))
    flows: list[dict[int, D]] = []
    low: list[D | None] = []
    high: list[D | None] = []
    for lent in tree.quotas:
        at = {}
        for v in range(len(tree.parent)):
            at[v] = len(rows)
            mine = np.isin(owner, np.flatnonzero(tree.leaf == v)) & lent.servers[server]
            row(mine, lent.resource, D(float(lent.nominal[v])))
        for v in range(1, len(tree.parent)):
            flows.append({at[v]: D(1), at[int(tree.parent[v])]: D(-1)})
            low.append(D(-float(lent.borrow[v])) if np.isfinite(lent.borrow[v]) else None)
            high.append(D(float(lent.lend[v])) if np.isfinite(lent.lend[v]) else None)
    g = np.array(
        [[*line, *(f.get(k, D(0)) for f in flows)] for k, line in enumerate(rows)], dtype=object
    ).reshape(len(rows), len(owner) + len(flows))
    floor = _floors(inst, score, demand, owner)
    weight = floor if over == "proportion" else _weights(tree, inst.weight)
    none = exact(np.zeros(len(floor)))
    base = floor if over == "above" else none
    if inst.start is not None:
        assert not any(floor), "shares already had beside guarantees are not known here"
        base = -exact(inst.start)
    floor = none if over == "proportion" else floor
    h = exact(right)
    return _without_empty(Rows(owner, server, way, u, g, h, low, high, base, floor, weight))


def _counted(inst: fo.Instance, rule: fo.Rule, owner, server) -> np.ndarray:
    """(K,) what a running task of each column counts."""
    assert rule.equal is None, "a point within all rules is wanted"
    found = exact(np.zeros(len(owner)))
    for term in rule.terms:
        assert term.modes is None and term.resource is None, "terms of tasks in any mode"
        mine = [n for n, user in enumerate(inst.users) if not term.users or user in term.users]
        here = [
            i for i, name in enumerate(inst.servers) if not term.servers or name in term.servers
        ]
        found[np.isin(owner, mine) & np.isin(server, here)] += D(float(term.times))
    return found


def _below(tree, node: int) -> list[int]:
    """Users at or below a node."""
    found = []
    for n, k in enumerate(tree.leaf.tolist()):
        while k not in (node, -1):
            k = int(tree.parent[k])
        if k == node:
            found.append(n)
    return found


def _weights(tree, given: np.ndarray) -> np.ndarray:
    """(N,) the product down the tree of each node's part among its siblings that have users, times
    the sum of all weights."""
    found, whole = [], sum(exact(given))
    for k in tree.leaf.tolist():
        part = whole
        while tree.parent[k] >= 0:
            above = tree.parent[k]
            siblings = [s for s in np.flatnonzero(tree.parent == above) if _below(tree, int(s))]
            part *= D(float(tree.weight[k])) / sum(D(float(tree.weight[s])) for s in siblings)
            k = int(above)
        found.append(part)
    plain = (tree.parent[tree.leaf] == 0).all() and len(tree.parent) == len(tree.leaf) + 1
    return exact(given) if plain else np.array(found, dtype=object)


def _floors(inst: fo.Instance, score, demand, owner) -> np.ndarray:
    """(N,) floors in shares of guarantees in tasks and of users' own bundles on all servers."""
    tree = inst.tree
    found = [D(float(x)) for x in tree.own_tasks]
    given = tree.guarantees
    for n in range(len(found)):
        mine = [b for b in range(len(given)) if int(given.node[b]) == int(tree.leaf[n])]
        assert all(given.servers[b].all() for b in mine), "bundles of flavors are not known here"
        if mine:
            need = demand[owner == n][0]
            assert (demand[owner == n] == need).all(), "one demand on all servers is wanted"
            fits = [
                D(float(given.amount[b])) / D(float(need[given.resource[b]]))
                for b in mine
                if need[given.resource[b]]
            ]
            found[n] = max(found[n], min(fits)) if fits else found[n]
        if np.isfinite(inst.limit[n]):
            found[n] = min(found[n], D(float(inst.limit[n])))
        found[n] *= D(float(score[n].max()))
    assert set(given.node.tolist()) <= set(tree.leaf.tolist()), "bundles of groups are not known"
    return np.array(found, dtype=object)


def _without_empty(q: Rows) -> Rows:
    """Without columns that a row of nothing keeps at 0, and without rows that hold nothing."""
    columns = len(q.owner)
    shut = [
        k
        for k in range(len(q.h))
        if q.h[k] == 0 and not any(v for v in q.g[k, columns:]) and not any(v < 0 for v in q.g[k])
    ]
    keep = np.array([not any(q.g[k, c] > 0 for k in shut) for c in range(q.g.shape[1])], dtype=bool)
    keep[columns:] = True
    g = q.g[:, keep]
    some = np.array([any(v != 0 for v in line) for line in g], dtype=bool)
    own = keep[:columns]
    return Rows(
        q.owner[own],
        q.server[own],
        q.way[own],
        q.u[own],
        g[some],
        q.h[some],
        q.low,
        q.high,
        q.base,
        q.floor,
        q.weight,
    )
