"""What can be wrong with groups, guarantees, ceilings and quotas: every fault, with its place."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairopt.errors import Fault
from fairopt.instance.labels import nearest
from fairopt.instance.quotas.records import Bound, Guarantee, Quota, Quotas

AMOUNT, AMOUNT_OR_INF = "a finite number >= 0", "a number >= 0"
LARGEST_AMOUNT = 1e250
"""as of capacities: beyond, sums of products leave floating point"""
Names = Mapping[str, Sequence[str]]


def quota_faults(quotas: Quotas, names: Names, weight: NDArray[np.float64]) -> Iterator[Fault]:
    """The faults of quotas given to an instance.

    Parameters
    ----------
    names : users, servers and resources of the instance.
    weight : (N,), of its users.
    """
    yield from _groups(quotas, names["users"])
    yield from _members(quotas, names["users"])
    yield from _flavors(quotas, names["servers"])
    for kind, rows in (
        ("guarantee", quotas.guarantees),
        ("most", quotas.bounds),
        ("nominal", quotas.quotas),
    ):
        yield from _rows(kind, rows, quotas, names)
    yield from _users(quotas, names["users"])
    yield from _last(quotas, names["users"], weight)


def _groups(quotas: Quotas, users: Sequence[str]) -> Iterator[Fault]:
    """Names, parents and weights of groups."""
    known, seen, people = _known(quotas), set(), set(users)
    for k, group in enumerate(quotas.groups):
        name = group.name
        if not isinstance(name, str) or not name or not name.isprintable():
            yield Fault(f"groups[{k}]", f"the name {name!r}", "a printable text")
            continue
        if name in seen:
            yield Fault(f"groups[{k}]", f"the name {name!r} a second time", "every name once")
        seen.add(name)
        if name in people:
            yield Fault(f"groups.{name}", "the name of a user too", "another name")
        if group.parent is not None and group.parent not in known:
            found = f"the unknown group {group.parent!r}"
            yield Fault(f"groups.{name}.parent", found, nearest(str(group.parent), known))
        if not _number(group.weight) or not 1e-150 <= group.weight <= 1e150:
            wanted = "a finite number > 0, or 0 by `last`"
            yield Fault(f"groups.{name}.weight", shown(group.weight), wanted)
    parent = {g.name: g.parent for g in quotas.groups}
    for circle in _circles(parent):
        found = " in ".join([*circle, circle[0]])
        yield Fault(f"groups.{circle[0]}.parent", f"a circle: {found}", "a tree of groups")


def _known(quotas: Quotas) -> list[str]:
    """Names of the groups, those that are names."""
    return [g.name for g in quotas.groups if isinstance(g.name, str) and g.name]


def _circles(parent: Mapping[str, str | None]) -> Iterator[list[str]]:
    """Each circle of groups that contain each other, once."""
    done: set[str | None] = {None}
    for start in parent:
        path: list[str] = []
        at: str | None = start
        while at not in done and at in parent and at not in path:
            assert at is not None
            path.append(at)
            at = parent[at]
        if at in path:
            yield path[path.index(at) :]
        done.update(path)


def _members(quotas: Quotas, users: Sequence[str]) -> Iterator[Fault]:
    """Who belongs to which group."""
    known, people = _known(quotas), set(users)
    for user, group in quotas.group.items():
        if user not in people:
            yield Fault(f"group.{user}", "an unknown user", nearest(str(user), users))
        elif group not in known:
            found = f"the unknown group {group!r}"
            yield Fault(f"users.{user}.group", found, nearest(str(group), known))


def _flavors(quotas: Quotas, servers: Sequence[str]) -> Iterator[Fault]:
    known = set(servers)
    for name, given in quotas.flavors.items():
        here = f"flavors.{name}.servers"
        if not isinstance(name, str) or not name or not name.isprintable():
            yield Fault("flavors", f"the name {name!r}", "a printable text")
        for k, server in enumerate(given):
            if server not in known:
                found = f"the unknown server {server!r}"
                yield Fault(f"{here}[{k}]", found, nearest(server, servers))
            elif server in given[:k]:
                yield Fault(f"{here}[{k}]", f"the name {server!r} a second time", "every name once")


def place(member: str, kind: str, resource: str, flavor: str | None, groups: set[str]) -> str:
    """Where a record stands in a model file."""
    above = "groups" if member in groups else "users"
    on = "" if flavor is None else f".on.{flavor}"
    return f"{above}.{member}{on}.{kind}.{resource}"


def _rows(
    kind: str, rows: Sequence[Guarantee | Bound | Quota], quotas: Quotas, names: Names
) -> Iterator[Fault]:
    """Unknown names, numbers out of range and second entries among records of a kind."""
    groups = set(_known(quotas))
    members, resources = groups | set(names["users"]), set(names["resources"])
    seen: set[tuple[str, str, str | None]] = set()
    for row in rows:
        here = place(row.member, kind, row.resource, row.flavor, groups)
        if row.member not in members:
            found = f"of the unknown group or user {row.member!r}"
            yield Fault(here, found, nearest(str(row.member), sorted(members)))
        if row.resource not in resources:
            found = f"the unknown resource {row.resource!r}"
            yield Fault(here, found, nearest(str(row.resource), names["resources"]))
        if row.flavor is not None and row.flavor not in quotas.flavors:
            found = f"the unknown flavor {row.flavor!r}"
            yield Fault(here, found, nearest(str(row.flavor), quotas.flavors))
        key = row.member, row.resource, row.flavor
        if key in seen:
            yield Fault(here, "a second entry", "one for each member, resource and flavor")
        seen.add(key)
        for word, value, wanted in _amounts(kind, row):
            if not _number(value) or not value >= 0 or (wanted is AMOUNT and value == math.inf):
                yield Fault(here.replace(f".{kind}.", f".{word}."), shown(value), wanted)
            elif LARGEST_AMOUNT <= value < math.inf:
                wanted = f"less than {LARGEST_AMOUNT:g} (choose a larger unit)"
                yield Fault(here.replace(f".{kind}.", f".{word}."), shown(value), wanted)


def _amounts(kind: str, row: Guarantee | Bound | Quota) -> list[tuple[str, Any, str]]:
    """(word, number, what is wanted) of a record."""
    if isinstance(row, Guarantee):
        return [(kind, row.amount, AMOUNT)]
    if isinstance(row, Bound):
        return [(kind, row.most, AMOUNT_OR_INF)]
    return [
        (kind, row.nominal, AMOUNT),
        ("borrow", row.borrow, AMOUNT_OR_INF),
        ("lend", row.lend, AMOUNT_OR_INF),
    ]


def _users(quotas: Quotas, users: Sequence[str]) -> Iterator[Fault]:
    """Guarantees in tasks and priorities."""
    people = set(users)
    for name in ("guarantee_tasks", "priority"):
        for user, value in getattr(quotas, name).items():
            if user not in people:
                yield Fault(f"{name}.{user}", "an unknown user", nearest(str(user), users))
            elif name == "priority":
                whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
                if not whole or abs(int(value)) >= 2**53:
                    yield Fault(f"users.{user}.{name}", shown(value), "a whole number")
            elif not _number(value) or not 0 <= value < LARGEST_AMOUNT:
                yield Fault(f"users.{user}.{name}", shown(value), AMOUNT)


def _last(quotas: Quotas, users: Sequence[str], weight: NDArray[np.float64]) -> Iterator[Fault]:
    """Users and groups of weight 0, which can have no other weight beside it."""
    own = {g.name: g.weight for g in quotas.groups}
    own.update(zip(users, weight.tolist(), strict=True))
    for k, name in enumerate(quotas.last):
        if name not in own:
            yield Fault(f"last[{k}]", f"the unknown group or user {name!r}", nearest(name, own))
        elif own[name] != 1:
            yield Fault(f"last[{k}]", f"{name}, of weight {own[name]:g}", "one of weight 1")
        if name in quotas.last[:k]:
            yield Fault(f"last[{k}]", f"the name {name!r} a second time", "every name once")


def _number(value: Any) -> bool:
    """Whether it is a number, and not NaN."""
    good = isinstance(value, int | float | np.floating | np.integer)
    return good and not isinstance(value, bool) and bool(value == value)


def shown(value: Any) -> str:
    """A number or anything else in the words of a message."""
    if isinstance(value, int) and abs(value) >= 10**18:
        return f"a whole number of {value.bit_length()} bits"
    return f"{value:g}" if isinstance(value, int | float) else repr(value)
