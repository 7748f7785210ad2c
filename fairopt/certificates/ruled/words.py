"""What stops the users of each round, in words: the rules that have a price in its proof."""

from __future__ import annotations

import numpy as np

from fairopt.certificates.ruled.prices import PricesGiven
from fairopt.certificates.ruled.walk import RoundWalk
from fairopt.instance import Bools, Floats, Instance

SURE = 1e-9
"""prices of less than this part of the largest of their kind are noise; so are those of limits of
less than this part of what the user's task costs"""
MOST_ROUNDS = 100
"""most rounds that are told"""
MOST_NAMES = 8
"""most names in a sentence"""


def told(inst: Instance, stops: list[RoundWalk]) -> list[str]:
    """A sentence for each round."""
    lines = []
    for stop in stops[:MOST_ROUNDS]:
        users = _few([inst.users[n] for n in stop.users.tolist()])
        verb = "is" if len(stop.users) == 1 else "are"
        what = _few(rules(inst, stop.prices))
        lines.append(f"{users} {verb} stopped by {what}" if what else f"{users}: no prices")
    more = len(stops) - MOST_ROUNDS
    return [*lines, *([f"and {more} more rounds"] if more > 0 else [])]


def rules(inst: Instance, prices: PricesGiven) -> list[str]:
    """The rules with a price: "gpu on x", "the limit of A", "the ceiling of org: gpu", ..."""
    tree = inst.tree
    found = [
        f"{inst.resources[r]} on {inst.servers[i]}"
        for i, r in np.argwhere(_sure(prices.capacity)).tolist()
    ]
    limited = np.flatnonzero(_sure(prices.limits) & ~_lost(inst, prices))
    found += [f"the limit of {inst.users[n]}" for n in limited.tolist()]
    found += [
        f"the limit of {inst.users[n]} on {inst.servers[i]}"
        for n, i in np.argwhere(_sure(prices.places)).tolist()
    ]
    for b in np.flatnonzero(_sure(prices.bounds)).tolist():
        what = _of(inst, int(tree.bounds.resource[b]), tree.bounds.flavor[b])
        found.append(f"the ceiling of {tree.nodes[tree.bounds.node[b]] or 'all'}: {what}")
    for row, nodes in zip(tree.quotas, prices.nodes, strict=True):
        # where a node is dearer than its parent, borrowing stops it; at the root, all quotas do
        above = np.where(tree.parent >= 0, nodes[np.maximum(tree.parent, 0)], 0.0)
        dear = (nodes - above) > SURE * nodes.max(initial=0.0)
        what = _of(inst, row.resource, row.flavor)
        for v in np.flatnonzero(dear).tolist():
            found.append(f"the quota of {tree.nodes[v] or 'all'}: {what}")
    own = _sure(prices.rules).any(axis=1) if prices.rules.size else np.zeros(0, dtype=bool)
    found += [f"rule {inst.own_rows[j].name}" for j in np.flatnonzero(own).tolist()]
    return found


def _sure(price: Floats) -> Bools:
    found: Bools = price > SURE * price.max(initial=0.0)
    return found


def _lost(inst: Instance, prices: PricesGiven) -> Bools:
    """(N,) limits whose price is lost in what the resources of the user's dearest task cost."""
    ways, users = inst.ways, np.flatnonzero(prices.limits > 0)
    at = ways.among(users)
    demand, price = ways.demand[at], prices.capacity
    cost = demand @ price.T if demand.ndim == 2 else np.einsum("kir,ir->ki", demand, price)
    dearest = np.zeros(len(prices.limits))
    np.maximum.at(dearest, ways.owner[at], np.where(ways.eligible[at], cost, 0.0).max(axis=1))
    found: Bools = prices.limits <= SURE * dearest
    return found


def _of(inst: Instance, r: int, flavor: str | None) -> str:
    return inst.resources[r] + ("" if flavor is None else f" on {flavor}")


def _few(names: list[str]) -> str:
    more = len(names) - MOST_NAMES
    return ", ".join(names[:MOST_NAMES]) + (f" and {more} more" if more > 0 else "")
