"""Groups, flavors and what members are promised, from the tables of a model file.

The form: docs/model-files.md; the way back: `fairopt.instance.quotas.plain`. Names of groups and
flavors, and the tree, are checked by the instance; here it is checked that tables are tables and
numbers are numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fairopt.instance.quotas.records import Bound, Group, Guarantee, Mode, Quota, Quotas
from fairopt.instance.reading import (
    AMOUNT,
    POSITIVE,
    UNBOUNDED,
    Faults,
    by_name,
    known_keys,
    listed,
    nearest,
    number,
    shown,
    table,
    text,
)

AMOUNTS = {
    "guarantee": AMOUNT,
    "nominal": AMOUNT,
    "borrow": UNBOUNDED,
    "lend": UNBOUNDED,
    "most": UNBOUNDED,
}
"""the tables by resource that a group or user may have, and what their numbers must be"""
USER_KEYS = ("group", "priority", "guarantee_tasks", "on", *AMOUNTS)
_GROUP = ("parent", "weight", "on", *AMOUNTS)
Amounts = dict[str, dict[str, float]]


@dataclass
class Gathered:
    """What is read, member by member, until the whole can be made (`made`)."""

    faults: Faults
    groups: list[Group] = field(default_factory=list)
    group: dict[str, str] = field(default_factory=dict)
    priority: dict[str, int] = field(default_factory=dict)
    guarantee_tasks: dict[str, float] = field(default_factory=dict)
    last: list[str] = field(default_factory=list)
    flavors: dict[str, list[str]] = field(default_factory=dict)
    amounts: dict[tuple[str, str | None], Amounts] = field(default_factory=dict)

    def weight(self, given: Any, member: str, place: str) -> float:
        """A weight > 0; for 0 it is 1, and the member comes last."""
        found = number(given, place, self.faults, AMOUNT)
        if found == 0:
            self.last.append(member)
        return found or 1.0

    def ranked(self, given: Any, user: str, place: str) -> None:
        """A priority: any whole number."""
        if isinstance(given, bool) or not isinstance(given, int) or abs(given) >= 2**53:
            self.faults.add(place, shown(given), "a whole number")
        else:
            self.priority[user] = given

    def made(self) -> Quotas | None:
        """The quotas; None if there are none. A bound on lending wants somebody's nominal."""
        named = {
            (flavor, resource)
            for (_, flavor), kinds in self.amounts.items()
            for resource in kinds.get("nominal", {})
        }
        bounds, guarantees, quotas = [], [], []
        for (member, flavor), kinds in self.amounts.items():
            for resource, amount in kinds.get("guarantee", {}).items():
                guarantees.append(Guarantee(member, resource, amount, flavor))
            for resource, most in kinds.get("most", {}).items():
                bounds.append(Bound(member, resource, most, flavor))
            lent = {kind: kinds.get(kind, {}) for kind in ("nominal", "borrow", "lend")}
            for resource in dict.fromkeys(name for rows in lent.values() for name in rows):
                if (flavor, resource) not in named:
                    place = self._place(member, flavor)
                    kind = next(kind for kind, rows in lent.items() if resource in rows)
                    what = "a bound where nobody has a nominal amount"
                    wanted = f"nominal.{resource} of a group or user"
                    self.faults.add(f"{place}.{kind}.{resource}", what, wanted)
                own = {kind: rows[resource] for kind, rows in lent.items() if resource in rows}
                nominal = own.pop("nominal", 0.0)
                quotas.append(Quota(member, resource, nominal, flavor=flavor, **own))
        found = Quotas(
            self.groups,
            self.group,
            guarantees,
            bounds,
            quotas,
            self.flavors,
            self.guarantee_tasks,
            self.priority,
            self.last,
        )
        return found if found else None

    def _place(self, member: str, flavor: str | None) -> str:
        above = "groups" if member in {group.name for group in self.groups} else "users"
        return f"{above}.{member}" + ("" if flavor is None else f".on.{flavor}")


def said(data: Mapping[str, Any]) -> bool:
    """Whether the tables say anything of quotas, so that a weight may be 0."""
    users = data.get("users", {})
    rows = users.values() if isinstance(users, Mapping) else ()
    return any(key in data for key in ("groups", "flavors")) or any(
        isinstance(row, Mapping) and any(key in row for key in USER_KEYS) for row in rows
    )


def read_groups(data: Mapping[str, Any], resources: Mapping[str, int], faults: Faults) -> Gathered:
    """The tables [groups] and [flavors]; the users' own keys are added by `read_user`."""
    found = Gathered(faults)
    for name, row in table(data.get("flavors", {}), "flavors", faults).items():
        here = f"flavors.{name}"
        row = table(row, here, faults)
        known_keys(row, ("servers",), here, faults)
        if "servers" not in row:
            faults.add(f"{here}.servers", "nothing", "a list of servers")
        servers = listed(row.get("servers", []), f"{here}.servers", faults)
        found.flavors[name] = [
            text(server, f"{here}.servers[{k}]", faults) for k, server in enumerate(servers)
        ]
    for name, row in table(data.get("groups", {}), "groups", faults).items():
        here = f"groups.{name}"
        row = table(row, here, faults)
        known_keys(row, _GROUP, here, faults)
        parent = text(row["parent"], f"{here}.parent", faults) if "parent" in row else None
        weight = found.weight(row.get("weight", 1), name, f"{here}.weight")
        found.groups.append(Group(name, parent, weight))
        _amounts(found, row, name, here, resources)
    return found


def read_user(
    found: Gathered, row: Mapping[str, Any], user: str, resources: Mapping[str, int]
) -> None:
    """The keys USER_KEYS of a user's table."""
    here = f"users.{user}"
    if "group" in row:
        found.group[user] = text(row["group"], f"{here}.group", found.faults)
    if "priority" in row:
        found.ranked(row["priority"], user, f"{here}.priority")
    if "guarantee_tasks" in row:
        place = f"{here}.guarantee_tasks"
        found.guarantee_tasks[user] = number(row["guarantee_tasks"], place, found.faults, AMOUNT)
    _amounts(found, row, user, here, resources)


def weight_of(found: Gathered, row: Mapping[str, Any], user: str, quotas: bool) -> float:
    """A user's weight; it may be 0 only where quotas say what that means."""
    given, place = row.get("weight", 1), f"users.{user}.weight"
    if quotas:
        return found.weight(given, user, place)
    return number(given, place, found.faults, POSITIVE)


def _amounts(
    found: Gathered, row: Mapping[str, Any], member: str, place: str, resources: Mapping[str, int]
) -> None:
    """The tables by resource of a member: for all servers, and `on` each flavor."""
    faults = found.faults
    parts: list[tuple[str | None, Mapping[str, Any], str]] = [(None, row, place)]
    for name, own in table(row.get("on", {}), f"{place}.on", faults).items():
        here = f"{place}.on.{name}"
        if name not in found.flavors:
            faults.add(here, f"the unknown flavor {name!r}", nearest(name, found.flavors))
            continue
        own = table(own, here, faults)
        known_keys(own, tuple(AMOUNTS), here, faults)
        parts.append((name, own, here))
    for flavor, part, here in parts:
        kinds = {
            kind: by_name(part[kind], resources, "resource", f"{here}.{kind}", faults, wanted)
            for kind, wanted in AMOUNTS.items()
            if kind in part
        }
        if kinds:
            found.amounts[member, flavor] = kinds


# The modes of users, from [[users.NAME.modes]] of a model file.


KEYS = ("name", "servers", "demand", "speed")


def read_modes(
    given: Any, place: str, servers: Mapping[str, int], resources: Mapping[str, int], faults: Faults
) -> list[Mode]:
    """The modes of a user, checked; that their names differ is checked by the instance."""
    found = []
    rows = listed(given, place, faults)
    if not rows and not faults.under(place):
        faults.add(place, "none", "at least one mode, or no such key")
    for k, row in enumerate(rows):
        here = f"{place}[{k}]"
        row = table(row, here, faults)
        known_keys(row, KEYS, here, faults)
        if "name" not in row:
            faults.add(f"{here}.name", "nothing", "a name")
        name = text(row.get("name", ""), f"{here}.name", faults)
        speed = number(row.get("speed", 1), f"{here}.speed", faults, POSITIVE)
        demand = None
        if "demand" in row:
            demand = by_name(row["demand"], resources, "resource", f"{here}.demand", faults)
        where = None
        if "servers" in row:
            where = list(allowed(row["servers"], servers, f"{here}.servers", faults))
        found.append(Mode(name, demand, speed, where))
    return found


def allowed(given: Any, servers: Mapping[str, int], place: str, faults: Faults) -> Sequence[str]:
    """A list of known servers, each once."""
    found: dict[str, None] = {}
    for k, name in enumerate(listed(given, place, faults)):
        if not isinstance(name, str):
            faults.add(f"{place}[{k}]", shown(name), "the name of a server")
        elif name not in servers:
            faults.add(f"{place}[{k}]", f"the unknown server {name!r}", nearest(name, servers))
        elif name in found:
            faults.add(f"{place}[{k}]", f"the name {name!r} a second time", "every name once")
        else:
            found[name] = None
    return list(found)
