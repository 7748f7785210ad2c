"""Quotas in the order of an instance, and the part of them that is about some of its users.

Prices of ceilings and quotas go by position (`Allocation.bound_prices`), so an instance keeps one
order whatever order was given: of members as in the tree, of flavors, of resources.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from fairopt.instance.quotas.records import Bound, Group, Guarantee, Quota, Quotas

_Row = TypeVar("_Row", Guarantee, Bound, Quota)


def ordered(quotas: Quotas, users: Sequence[str], resources: Sequence[str]) -> Quotas | None:
    """Sound quotas in order, numbers as floats, without entries that say nothing; None if empty."""
    member = {name: k for k, name in enumerate([g.name for g in quotas.groups] + list(users))}
    flavor: dict[str | None, int] = {name: k for k, name in enumerate(quotas.flavors)}
    flavor[None] = -1
    resource = {name: k for k, name in enumerate(resources)}

    def sort(rows: Sequence[_Row]) -> tuple[_Row, ...]:
        def where(row: _Row) -> tuple[int, int, int]:
            return member[row.member], flavor[row.flavor], resource[row.resource]

        return tuple(sorted(rows, key=where))

    def by_user(table: Mapping[str, object]) -> list[str]:
        return [user for user in users if table.get(user)]

    bounds = [row for row in quotas.bounds if row.most < math.inf]
    found = Quotas(
        [Group(g.name, g.parent, float(g.weight)) for g in quotas.groups],
        {user: quotas.group[user] for user in by_user(quotas.group)},
        sort([replace(row, amount=float(row.amount)) for row in quotas.guarantees]),
        sort([replace(row, most=float(row.most)) for row in bounds]),
        sort(
            [
                replace(
                    row, nominal=float(row.nominal), borrow=float(row.borrow), lend=float(row.lend)
                )
                for row in quotas.quotas
            ]
        ),
        quotas.flavors,
        {user: float(quotas.guarantee_tasks[user]) for user in by_user(quotas.guarantee_tasks)},
        {user: int(quotas.priority[user]) for user in by_user(quotas.priority)},
        sorted(quotas.last, key=member.__getitem__),
    )
    return found if found else None


def restricted(quotas: Quotas, users: Sequence[str], servers: Sequence[str]) -> Quotas:
    """What the quotas say of these users and servers only; groups stay, even those left empty.

    A flavor keeps the servers that are left, perhaps none.
    """
    kept, here = {g.name for g in quotas.groups} | set(users), set(servers)
    return Quotas(
        quotas.groups,
        {user: group for user, group in quotas.group.items() if user in kept},
        [row for row in quotas.guarantees if row.member in kept],
        [row for row in quotas.bounds if row.member in kept],
        [row for row in quotas.quotas if row.member in kept],
        {name: [s for s in given if s in here] for name, given in quotas.flavors.items()},
        {user: tasks for user, tasks in quotas.guarantee_tasks.items() if user in kept},
        {user: rank for user, rank in quotas.priority.items() if user in kept},
        [name for name in quotas.last if name in kept],
    )
