"""Two answers side by side, matched by name: who loses, who gains, what became full."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fairopt.allocation import Allocation

SAME_NUMBER = 1e-9
"""part by which a number may differ and still be called the same"""
FULL = 1 - 1e-9
"""use from which a resource counts as full"""


@dataclass(frozen=True)
class UserChange:
    """One user: tasks (with modes: output) and level `before` and `after`; None where it is not
    in the answer."""

    user: str
    before: float | None
    after: float | None
    level_before: float | None
    level_after: float | None

    @property
    def relative(self) -> float:
        """After by before, less 1; -1 for who is gone, inf for who is new."""
        if self.after is None:
            return -1.0
        if not self.before:
            return np.inf if self.after > 0 else 0.0
        return self.after / self.before - 1


@dataclass(frozen=True)
class Differences:
    """What differs between two answers.

    Parameters
    ----------
    users : every user of either answer, the largest relative loss first.
    filled, freed : (server, resource) that are full after only, or before only though still there.
    whole : the share that, given to everybody, is as good as the answer: after by before, less 1.
        None unless both answers are of one alpha-fair notion, users and weights.
    promised : the most that `whole` could be, said beforehand by the prices of before; it holds
        where only capacity changed, else None (an upper bound of what is added, and of what is
        left after a removal: the value of the objective is concave in capacity).
    """

    users: tuple[UserChange, ...]
    filled: tuple[tuple[str, str], ...]
    freed: tuple[tuple[str, str], ...]
    whole: float | None = None
    promised: float | None = None

    @property
    def losers(self) -> tuple[UserChange, ...]:
        """Users with less than before."""
        return tuple([u for u in self.users if u.relative < -SAME_NUMBER])

    @property
    def gainers(self) -> tuple[UserChange, ...]:
        """Users with more than before."""
        return tuple([u for u in self.users if u.relative > SAME_NUMBER])

    def to_dict(self) -> dict[str, Any]:
        """Plain data, schema fairopt/diff/v1."""
        return {
            "schema": "fairopt/diff/v1",
            "users": [{**vars(u), "relative": u.relative} for u in self.users],
            "filled": [list(place) for place in self.filled],
            "freed": [list(place) for place in self.freed],
            "whole": self.whole,
            "promised": self.promised,
        }


def differences(before: Allocation, after: Allocation) -> Differences:
    """What differs between two answers; users, servers and resources are matched by name.

    Levels are those of each answer's own notion.

    Examples
    --------
    >>> import fairopt as fo
    >>> cluster = fo.Instance([[1, 4], [3, 1]], [[9, 18]], users=["A", "B"])
    >>> before = fo.solve(cluster, fo.MaxMin())
    >>> after = fo.solve(cluster.replace(weight=[2, 1]), fo.MaxMin())
    >>> for each in fo.differences(before, after).users:
    ...     print(each.user, round(each.before, 3), round(each.after, 3))
    B 2.0 1.385
    A 3.0 4.154
    """
    held = [dict(zip(a.instance.users, a.outputs.tolist(), strict=True)) for a in (before, after)]
    level = [dict(zip(a.instance.users, a.levels.tolist(), strict=True)) for a in (before, after)]
    names = dict.fromkeys([*before.instance.users, *after.instance.users])
    changes = [
        UserChange(
            name, held[0].get(name), held[1].get(name), level[0].get(name), level[1].get(name)
        )
        for name in names
    ]
    full = _full(before), _full(after)
    return Differences(
        tuple(sorted(changes, key=lambda u: u.relative)),
        tuple([place for place in full[1] if place not in full[0]]),
        tuple([place for place in full[0] if place not in full[1] and _there(after, *place)]),
        *_whole(before, after),
    )


def _whole(before: Allocation, after: Allocation) -> tuple[float | None, float | None]:
    """What the change is worth to all together, and what the prices of before promise of it."""
    a, b = before.instance, after.instance
    alike = before.notion == after.notion and a.users == b.users
    if not alike or not before.equivalent or after.equivalent is None:
        return None, None
    if not np.array_equal(a.weight, b.weight):
        return None, None
    whole = after.equivalent / before.equivalent - 1
    same = a.replace(capacity=b.pool, count=np.ones_like(b.count)) if a.servers == b.servers else a
    if before.prices is None or not (a.plain and b.plain):
        return whole, None
    if same != b.replace(capacity=b.pool, count=np.ones_like(b.count)):
        return whole, None
    if before.kind["parameters"].get("criterion", "tasks") != "tasks":
        return whole, None  # the scores follow the capacity
    value = float((before.prices * b.pool).sum())
    if before.limit_prices is not None:
        priced = before.limit_prices > 0
        value += float((before.limit_prices[priced] * b.limit[priced]).sum())
    return whole, value / float(a.weight.sum()) - 1


def _there(alloc: Allocation, server: str, resource: str) -> bool:
    return server in alloc.instance.servers and resource in alloc.instance.resources


def _full(alloc: Allocation) -> dict[tuple[str, str], None]:
    inst = alloc.instance
    places = np.argwhere(alloc.utilisation >= FULL).tolist()
    return {(inst.servers[i], inst.resources[r]): None for i, r in places}
