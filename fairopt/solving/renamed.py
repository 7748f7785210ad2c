"""The last answer in the arrays of a changed instance: users, modes, servers and rules by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fairopt.allocation import Allocation
from fairopt.allocation.by_rows import PRICES, listed_prices
from fairopt.formulas.lowered import Lowered
from fairopt.instance import Floats, Instance, Ints
from fairopt.solving.reduce import Reduction


def columns(start: Allocation, instance: Instance) -> Floats:
    """(ways, I) the tasks of the start, by way and server; 0 of who came, and where it may not be.

    Who lost a server, or may run less there, has no more than it may.
    """
    before = start.instance
    by_way = start.way_tasks
    held = start.tasks[before.ways.owner] if by_way is None else by_way
    old, new = _both(_ways(before), _ways(instance))
    there, here = _both(list(before.servers), list(instance.servers))
    found = np.zeros(instance.ways.eligible.shape)
    found[np.ix_(new, here)] = held[np.ix_(old, there)]
    return np.where(instance.ways.eligible, np.maximum(found, 0.0), 0.0)


def merged(start: Allocation, small: Reduction) -> Allocation:
    """The start of a plain instance as one of its reduced problem: the tasks of a group together,
    and the mean price of those of its servers that were there; groups that are new are left out."""
    inst = small.original
    users, servers = set(start.instance.users), set(start.instance.servers)
    user = np.array([name in users for name in inst.users], dtype=bool)
    server = np.array([name in servers for name in inst.servers], dtype=bool)
    x = columns(start, inst)
    # who lost a server runs as much as before on those it has left
    old, new = _both(list(start.instance.users), list(inst.users))
    left = x.sum(axis=1)
    x[new] *= np.divide(start.totals[old], left[new], out=np.ones(len(new)), where=left[new] > 0)[
        :, None
    ]
    by_server = np.zeros((len(x), len(small.servers.first)))
    np.add.at(by_server.T, small.servers.of, x.T)
    tasks = np.zeros((len(small.users.first), by_server.shape[1]))
    np.add.at(tasks, small.users.of, by_server)
    n = np.flatnonzero(small.users.sums(user) > 0)
    many = small.servers.sums(server)
    i = np.flatnonzero(many > 0)

    def priced(told: Any) -> Any:
        if told is None:
            return None
        whole = prices({"prices": told}, start.instance, inst)["prices"][:, small.resources]
        found = np.zeros((len(many), whole.shape[1]))
        np.add.at(found, small.servers.of, whole)
        return found[i] / many[i][:, None]

    levels = start.level_prices
    return Allocation(
        small.instance.select(n, i),
        small.notion,
        tasks[np.ix_(n, i)],
        priced(start.prices),
        level_prices=None if levels is None else np.array([priced(one) for one in levels]),
    )


def prices(told: Mapping[str, Any], before: Instance, instance: Instance) -> dict[str, Any]:
    """Prices of an answer, or of a round, as fields of the changed instance; 0 of what is new."""
    names, other = _names(before), _names(instance)
    found: dict[str, Any] = {}
    for key in PRICES:
        given = told.get(key)
        if given is None or other[key] is None:
            continue
        own, mine = names[key], other[key]
        assert own is not None and mine is not None
        value = np.zeros([len(part) for part in mine])
        pairs = [_both(a, b) for a, b in zip(own, mine, strict=True)]
        value[np.ix_(*[new for _, new in pairs])] = np.asarray(given)[
            np.ix_(*[old for old, _ in pairs])
        ]
        found[key] = value
    return found


def listed(
    told: Sequence[Mapping[str, Any]], start: Allocation, instance: Instance, low: Lowered
) -> list[Floats]:
    """Prices of the start, or of each of its rounds, by the rows (M,) of the changed instance."""
    ways = np.zeros(instance.ways.eligible.shape) if instance.modes else None
    nothing = np.zeros(instance.shape[:2])
    empty = Allocation(instance, start.notion, nothing, way_tasks=ways, score=None)
    return [
        listed_prices(empty.with_(**prices(one, start.instance, instance)), low) for one in told
    ]


def point(
    start: Allocation, instance: Instance, low: Lowered, log_w: Floats, alpha: float, floor: Floats
) -> tuple[Floats, Floats]:
    """Tasks (P,) and prices (M,) from which the optimum of the changed instance is searched; who
    came begins on its cheapest server, with what its weight is worth at the prices."""
    told = {key: getattr(start, key) for key in PRICES}
    (price,) = listed([told], start, instance, low)
    x = columns(start, instance)[low.way, low.server]
    share = np.bincount(low.owner, low.score * x, low.shape[0])
    came = np.flatnonzero(share <= 0)
    if not len(came):
        return x, price
    cost = low.cost(price) / low.score
    cheapest = np.full(low.shape[0], np.inf)
    np.minimum.at(cheapest, low.owner, cost)
    known = (share > 0) & (cheapest > 0) & np.isfinite(cheapest)
    if not known.any():
        return x, price
    scale = np.median(np.log(share[known]) + (np.log(cheapest[known]) - log_w[known]) / alpha)
    for n in came.tolist():
        mine = np.flatnonzero(low.owner == n)
        at = mine[np.argmin(cost[mine])]
        own = np.exp(scale - (np.log(max(cost[at], 1e-300)) - log_w[n]) / alpha)
        x[at] = max(float(own), float(floor[n])) / low.score[at]
    return x, price


def _ways(inst: Instance) -> list[Any]:
    users = [inst.users[n] for n in inst.ways.owner.tolist()]
    return list(zip(users, inst.ways.name, strict=True))


def _names(inst: Instance) -> dict[str, tuple[list[Any], ...] | None]:
    """What each array of prices is about, axis by axis; None where there is nothing."""
    tree = inst.tree
    bounds = [
        (tree.nodes[int(node)], inst.resources[int(r)], flavor)
        for node, r, flavor in zip(
            tree.bounds.node, tree.bounds.resource, tree.bounds.flavor, strict=True
        )
    ]
    quotas = [(inst.resources[row.resource], row.flavor) for row in tree.quotas]
    users, servers = list(inst.users), list(inst.servers)
    nodes = [(node, tree.parent[k] < 0) for k, node in enumerate(tree.nodes)]
    return {
        "prices": (servers, list(inst.resources)),
        "limit_prices": (users,),
        "bound_prices": (bounds,) if bounds else None,
        "node_prices": (quotas, nodes) if quotas else None,
        "rule_prices": ([row.name for row in inst.own_rows],) if inst.own_rows else None,
        "limit_on_prices": None if inst.limit_on is None else (users, servers),
    }


def _both(old: list[Any], new: list[Any]) -> tuple[Ints, Ints]:
    """Positions, in the old and in the new, of the names that are in both."""
    at = {name: k for k, name in enumerate(old)}
    pairs = [(at[name], k) for k, name in enumerate(new) if name in at]
    both = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return both[:, 0], both[:, 1]


__all__ = ["columns", "listed", "merged", "point", "prices"]
