r"""Ceilings and rules that are limits of single users in other words.

A row of the feasible set that counts the tasks of one user, on every server where it may run and
each alike, a sum_i x_{n,i} <= b, says that the user's limit is b / a. An instance whose rows all
say such things, or never bind, is a plain one with other limits: every notion, scheduler and judge
has an answer for it. What is no such row, as a ceiling of two users together, has none under a
notion that divides each server by itself (docs/reference/what-goes-with-what.md).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairopt.errors import UsageError
from fairopt.formulas.lowered import BOUND, CAPACITY, LIMIT, PLACE, Lowered, lower
from fairopt.instance import Floats, Instance, Ints, remembered


@dataclass(frozen=True)
class Limited:
    """An instance in limits alone.

    Parameters
    ----------
    instance : the plain one. low : the rows of the instance given.
    row : (L,) rows that are limits. user : (L,) whose. times : (L,) what one of its tasks counts.
    tightest : (N,) the row that is each user's limit; -1 without.
    """

    instance: Instance
    low: Lowered
    row: Ints
    user: Ints
    times: Floats
    tightest: Ints

    def of_limits(self, capacity: Floats, limits: Floats) -> Floats:
        """(M,) prices of the rows given, from those (I, R) of capacity and (N,) of the limits."""
        low, found = self.low, np.zeros(len(self.low.rhs))
        at = low.kind == CAPACITY
        found[at] = capacity[low.one[at], low.two[at]]
        has = np.flatnonzero(self.tightest >= 0)
        times = np.ones(len(found))
        times[self.row] = self.times
        found[self.tightest[has]] = limits[has] / times[self.tightest[has]]
        return found

    def to_limits(self, price: Floats) -> Floats:
        """(N,) prices of the limits, from those (M,) of the rows given."""
        money = self.times * price[self.row]
        return np.asarray(np.bincount(self.user, money, self.low.shape[0]), dtype=np.float64)


def in_limits_alone(instance: Instance) -> bool:
    """Whether all that an instance has beside capacities are limits of single users."""
    return isinstance(remembered(instance, "_in_limits", lambda: _limited(instance)), Limited)


def limited(instance: Instance, who: str) -> Limited:
    """The instance in limits alone, for a caller `who` that knows no other rules.

    Raises
    ------
    UsageError : something that is no limit of a single user, named.
    """
    found = remembered(instance, "_in_limits", lambda: _limited(instance))
    if isinstance(found, str):
        try:
            instance.only_plain(who)
        except UsageError as error:
            raise UsageError(f"{error}{found}") from None
    assert isinstance(found, Limited)
    return found


def _limited(instance: Instance) -> Limited | str:
    """The instance in limits alone; or what to say beside that it has rules."""
    tree = instance.tree
    if instance.unknown("limits") or tree.quotas:
        return ""
    if not tree.flat or len(tree.guarantees) or tree.own_tasks.any() or tree.rank.any():
        return ""
    low = lower(instance, np.ones(instance.shape[:2]))
    rows = low.matrix.tocsr()
    columns = np.bincount(low.owner, minlength=low.shape[0])
    alone = instance.alone[low.owner, low.server]
    row, user, times = [], [], []
    for k in np.flatnonzero(low.kind != CAPACITY).tolist():
        entries = slice(rows.indptr[k], rows.indptr[k + 1])
        at, value = rows.indices[entries], rows.data[entries]
        owner = np.unique(low.owner[at])
        if (value >= 0).all() and value @ alone[at] <= low.rhs[k]:
            continue  # it never binds
        alike = len(owner) == 1 and len(at) == columns[owner[0]] and np.ptp(value) == 0
        if not alike or not (value[0] > 0 and low.rhs[k] > 0):
            return f", but for limits of single users, which {_named(instance, low, k)} is not"
        row.append(k)
        user.append(int(owner[0]))
        times.append(float(value[0]))
    most, tightest = np.full(low.shape[0], np.inf), np.full(low.shape[0], -1)
    for k, n, a in zip(row, user, times, strict=True):
        if low.rhs[k] / a < most[n]:
            most[n], tightest[n] = low.rhs[k] / a, k
    plain = instance.replace(limit=most, quotas=None, rules=None, limit_on=None)
    who = np.array(user, dtype=np.int64), np.array(times, dtype=np.float64)
    return Limited(plain, low, np.array(row, dtype=np.int64), *who, tightest)


def _named(instance: Instance, low: Lowered, k: int) -> str:
    """A row in words."""
    one, two = int(low.one[k]), int(low.two[k])
    if low.kind[k] == LIMIT:
        return f"the limit of {instance.users[one]}"
    if low.kind[k] == PLACE:
        return f"that of {instance.users[one]} on {instance.servers[two]}"
    if low.kind[k] == BOUND:
        bounds = instance.tree.bounds
        member = instance.tree.nodes[int(bounds.node[one])] or "all"
        return f"the ceiling of {member} on {instance.resources[int(bounds.resource[one])]}"
    return f"rule {instance.own_rows[one].name}"


__all__ = ["Limited", "in_limits_alone", "limited"]
