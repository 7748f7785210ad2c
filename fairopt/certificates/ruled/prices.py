"""Prices of all rules, as judges use them: with a finite value, in the middle of the float range.

Prices may come from anywhere. Only their ratios matter, so they are scaled by a power of two until
the dearest money is about 1, which changes no digit. Programs leave noise in prices, so they are
tried with all of them, and without those that are a tiny part of the money; any prices are a proof.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from fairopt.allocation import Allocation
from fairopt.certificates.ruled import lending
from fairopt.instance import Floats, Instance, Ints

TRIFLES = (1e-100, 1e-12, 1e-9)
"""prices of less than this part of all money are left out; each is tried, the first is underflow"""


NOWHERE = np.zeros((0, 0))
"""prices of limits on servers where there are none"""


class PricesGiven(NamedTuple):
    """Prices >= 0: capacity (I, R), limits (N,), ceilings (B,), quotas (Q, M) by node, own rules
    (J, 2): of what is allowed, and of what is asked; of limits on servers (N, I), (0, 0) where
    there are none."""

    capacity: Floats
    limits: Floats
    bounds: Floats
    nodes: Floats
    rules: Floats
    places: Floats = NOWHERE

    def finite(self) -> bool:
        """Whether all are finite numbers >= 0."""
        return all(bool((np.isfinite(part) & (part >= 0)).all()) for part in self)


def none(inst: Instance) -> PricesGiven:
    """No prices."""
    n, i, r = inst.shape
    quotas = len(inst.tree.quotas), len(inst.tree.parent)
    places = NOWHERE if inst.limit_on is None else np.zeros((n, i))
    return PricesGiven(
        np.zeros((i, r)),
        np.zeros(n),
        np.zeros(len(inst.tree.bounds)),
        np.zeros(quotas),
        np.zeros((len(inst.own_rows), 2)),
        places,
    )


def told(alloc: Allocation) -> PricesGiven:
    """The prices that an answer tells, 0 for those it does not."""
    own = (
        alloc.prices,
        alloc.limit_prices,
        alloc.bound_prices,
        alloc.node_prices,
        of_rules(alloc.instance, alloc.rule_prices),
        alloc.limit_on_prices,
    )
    nothing = none(alloc.instance)
    return PricesGiven(*[a if a is not None else b for a, b in zip(own, nothing, strict=True)])


def of_round(inst: Instance, told: Mapping[str, Any]) -> PricesGiven:
    """The prices that a round tells, 0 for those it does not."""
    nothing = none(inst)
    return PricesGiven(
        told.get("prices", nothing.capacity),
        told.get("limit_prices", nothing.limits),
        told.get("bound_prices", nothing.bounds),
        told.get("node_prices", nothing.nodes),
        of_rules(inst, told.get("rule_prices")),
        told.get("limit_on_prices", nothing.places),
    )


def of_rules(inst: Instance, told: Floats | None) -> Floats:
    """(J, 2) prices of own rules from those of an answer (J,): that of `equal` is signed, and any
    other that is below 0 is forged, and proves nothing.
    """
    found = np.zeros((len(inst.own_rows), 2))
    for j, row in enumerate(inst.own_rows if told is not None else ()):
        price = float(np.asarray(told)[j])
        if row.up and row.down:
            found[j] = (price, 0.0) if price >= 0 else (0.0, -price)
        else:
            found[j, int(row.down)] = price
    return found


def as_told(inst: Instance, rules: Floats) -> Floats:
    """(J,) prices of own rules as an answer tells them, from those (J, 2) of judges."""
    both = [row.up and row.down for row in inst.own_rows]
    sign = np.where(np.array(both, dtype=bool), -1.0, 1.0)
    return np.asarray(rules[:, 0] + sign * rules[:, 1])


def as_fields(inst: Instance, prices: PricesGiven) -> dict[str, Floats | None]:
    """The prices as fields of an answer."""
    return {
        "prices": prices.capacity,
        "limit_prices": prices.limits,
        "bound_prices": prices.bounds,
        "node_prices": prices.nodes,
        "rule_prices": as_told(inst, prices.rules),
        "limit_on_prices": prices.places if prices.places.size else None,
    }


def finite(inst: Instance, layers: list[Ints], prices: PricesGiven) -> PricesGiven:
    """Prices whose value is finite: none of what has no bound.

    Parameters
    ----------
    layers : the nodes of the tree by depth (`lending.depths`).
    """
    tree, nodes = inst.tree, prices.nodes.copy()
    for q, row in enumerate(tree.quotas):
        nodes[q] = lending.finite(row, tree.parent, layers, prices.nodes[q])
    return PricesGiven(
        np.where(inst.pool > 0, prices.capacity, 0.0),
        np.where(np.isfinite(inst.limit), prices.limits, 0.0),
        np.where(np.isfinite(tree.bounds.amount), prices.bounds, 0.0),
        nodes,
        prices.rules,
        np.where(np.isfinite(_on(inst)), prices.places, 0.0),
    )


def _on(inst: Instance) -> Floats:
    """(N, I) limits on servers; (0, 0) where there are none."""
    return NOWHERE if inst.limit_on is None else inst.limit_on


def worth(inst: Instance) -> PricesGiven:
    """An amount of each row, to tell which prices are trifles; 0 of what has no bound."""
    bounds, whole, quotas = inst.tree.bounds, inst.pool, inst.tree.quotas
    around = np.array(
        [whole[bounds.servers[b], bounds.resource[b]].sum() for b in range(len(bounds))]
    ).reshape(len(bounds))
    most = np.where(bounds.amount > 0, np.minimum(bounds.amount, around), around)
    pools = np.array([whole[row.servers, row.resource].sum() for row in quotas]).reshape(-1, 1)
    nodes = np.broadcast_to(pools, (len(quotas), len(inst.tree.parent)))
    # what each rule would count where everybody has all tasks that it could have alone
    typical = [
        max(
            abs(row.amount),
            float(np.abs(row.value) @ inst.alone[inst.ways.owner[row.way], row.server]),
        )
        for row in inst.own_rows
    ]
    own = np.repeat(np.array(typical).reshape(-1, 1), 2, axis=1)
    limits, places = (np.where(np.isfinite(x), x, 0.0) for x in (inst.limit, _on(inst)))
    return PricesGiven(whole, limits, most, nodes, own, places)


def cleaned(inst: Instance, layers: list[Ints], prices: PricesGiven) -> list[PricesGiven]:
    """The prices scaled, all of them, then without trifles.

    None if they prove nothing: all are 0, or one is not a finite number >= 0.
    """
    if not any(part.any() for part in prices) or not prices.finite():
        return []
    amounts = worth(inst)
    price, amount = (
        np.concatenate([part.ravel() for part in parts])
        for parts in (finite(inst, layers, prices), amounts)
    )
    mantissa, power = np.frexp(price)
    size, more = np.frexp(amount)
    money, exponent = mantissa * size, power + more
    if not money.any():
        return []
    top = int(exponent[money > 0].max())
    with np.errstate(under="ignore", over="ignore"):
        money, scaled = np.ldexp(money, exponent - top), np.ldexp(price, -top)
    ends = np.cumsum([part.size for part in amounts])[:-1]
    found: list[PricesGiven] = []
    kept = None
    for trifle in TRIFLES:
        keep = (money > trifle * float(money.sum())) & np.isfinite(scaled)
        if kept is None or not np.array_equal(keep, kept):
            parts = np.split(np.where(keep, scaled, 0.0), ends)
            shaped = [p.reshape(w.shape) for p, w in zip(parts, amounts, strict=True)]
            found.append(finite(inst, layers, PricesGiven(*shaped)))
        kept = keep
    return found
