"""Quotas and modes as plain tables: the form of model files, of folders and of answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairopt.errors import Fault
from fairopt.instance.quotas.faults import quota_faults
from fairopt.instance.quotas.order import ordered
from fairopt.instance.quotas.records import Bound, Guarantee, Mode, Quota, Quotas, Table
from fairopt.instance.quotas.ways import mode_faults, resolved, spare_faults


def tables_by_member(quotas: Quotas | None) -> dict[str, dict[str, Any]]:
    """{member: its tables by resource}, with those of flavors under `on`."""
    found: dict[str, dict[str, Any]] = {}

    def put(row: Bound | Guarantee | Quota, kind: str, amount: float) -> None:
        own = found.setdefault(row.member, {})
        if row.flavor is not None:
            own = own.setdefault("on", {}).setdefault(row.flavor, {})
        own.setdefault(kind, {})[row.resource] = amount

    if quotas is not None:
        for guarantee in quotas.guarantees:
            put(guarantee, "guarantee", guarantee.amount)
        for quota in quotas.quotas:
            put(quota, "nominal", quota.nominal)
            for kind in ("borrow", "lend"):
                if getattr(quota, kind) != float("inf"):
                    put(quota, kind, getattr(quota, kind))
        for bound in quotas.bounds:
            put(bound, "most", bound.most)
    return found


def user_tables(quotas: Quotas | None, users: Sequence[str]) -> dict[str, dict[str, Any]]:
    """{user: its keys of USER_KEYS, and weight = 0}, for those who have any."""
    if quotas is None:
        return {}
    amounts, last, found = tables_by_member(quotas), set(quotas.last), {}
    for user in users:
        # without a key of its own a file could not say that a weight may be 0
        row: dict[str, Any] = {"weight": 0.0, "priority": 0} if user in last else {}
        for key in ("group", "priority", "guarantee_tasks"):
            if user in getattr(quotas, key):
                row[key] = getattr(quotas, key)[user]
        row.update(amounts.get(user, {}))
        if row:
            found[user] = row
    return found


def group_tables(quotas: Quotas | None) -> dict[str, Any]:
    """The tables `groups` and `flavors`, those that are not empty."""
    if quotas is None:
        return {}
    amounts, last = tables_by_member(quotas), set(quotas.last)
    groups: dict[str, Any] = {}
    for group in quotas.groups:
        row: dict[str, Any] = {} if group.parent is None else {"parent": group.parent}
        weight = 0.0 if group.name in last else group.weight
        if weight != 1:
            row["weight"] = weight
        groups[group.name] = {**row, **amounts.get(group.name, {})}
    flavors = {name: {"servers": list(servers)} for name, servers in quotas.flavors.items()}
    both = {"groups": groups, "flavors": flavors}
    return {key: value for key, value in both.items() if value}


def mode_table(mode: Mode, resources: Sequence[str]) -> dict[str, Any]:
    """A mode of an instance as a table, without what is the default."""
    row: dict[str, Any] = {"name": mode.name}
    if mode.speed != 1:
        row["speed"] = mode.speed
    if mode.servers is not None:
        row["servers"] = list(mode.servers)
    if mode.demand is not None:
        pairs = zip(resources, mode.demand, strict=True)
        row["demand"] = {name: float(amount) for name, amount in pairs if amount}
    return row


Kept = tuple[Quotas | None, Table[str, tuple[Mode, ...]] | None]


def kept(
    quotas: Any,
    modes: Any,
    names: Mapping[str, Sequence[str]],
    demand: NDArray[np.float64],
    weight: NDArray[np.float64],
    faults: list[Fault],
) -> Kept:
    """Quotas and modes in the order of the names; None where there are none, or one is at fault.

    Parameters
    ----------
    names : users, servers and resources. demand : (N, R) or (N, I, R). weight : (N,).
    faults : those found are added.
    """
    promised = ways = None
    if isinstance(quotas, Quotas):
        wrong = list(quota_faults(quotas, names, weight))
        faults.extend(wrong)
        promised = None if wrong else ordered(quotas, names["users"], names["resources"])
    elif quotas is not None:
        faults.append(Fault("quotas", f"a {type(quotas).__name__}", "fo.Quotas"))
    if isinstance(modes, Mapping):
        wrong = mode_faults(modes, names, demand)
        if not wrong:
            ways = resolved(modes, names["users"], names["resources"])
            wrong = spare_faults(ways or {}, names["users"], demand)
        faults.extend(wrong)
        ways = None if wrong else ways
    elif modes is not None:
        faults.append(Fault("modes", f"a {type(modes).__name__}", "a dict of lists by user"))
    return promised, ways


__all__ = ["kept"]
