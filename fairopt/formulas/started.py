"""Shares that users already had (`Instance.start`): a server where each has room for just that.

Targets and welfare count start + share. A server that holds nothing but what was had, where a user
may run at most start / u tasks of its best score u, says the same: nobody else can take that room,
and who leaves it empty gains nothing. A user's limit is raised by as many tasks. So an instance
with a start is another instance with a limit on that server (`limit_on`), and every program,
engine and judge knows it.
"""

from __future__ import annotations

import numpy as np

from fairopt.errors import UsageError
from fairopt.instance import Floats, Instance
from fairopt.instance.quotas import Quotas

HAD = "what was had"
"""name of the server; with a number after it where that is taken"""


def before(instance: Instance, score: Floats) -> tuple[Instance, Floats]:
    """The instance with the server of what was had as its last, and its scores (N, I + 1).

    Parameters
    ----------
    score : (N, I) of the notion's criterion on the instance.

    Raises
    ------
    UsageError : with modes, own rules, guarantees, ceilings or quotas.
    """
    _only_groups(instance)
    users, servers, _ = instance.shape
    assert instance.start is not None
    had, best = held(instance, score), _best(instance, score)
    demand = instance.demand
    if demand.ndim == 2:
        there = demand
    else:  # what a task costs where it counts most
        at = np.where(instance.eligible, score, -1.0).argmax(axis=1)
        there = demand[np.arange(users), at]
        demand = np.concatenate([demand, there[:, None, :]], axis=1)
    room = 2.0 * (had @ there) + (there > 0).any(axis=0)
    most = np.full((users, servers + 1), np.inf)
    if instance.limit_on is not None:
        most[:, :servers] = instance.limit_on
    some = had > 0
    most[:, servers] = np.where(some, had, np.inf)
    name, k = HAD, 1
    while name in instance.servers:
        name, k = f"{HAD} {k}", k + 1
    whole = instance.replace(
        demand=demand,
        capacity=np.vstack([instance.capacity, room]),
        placement=np.column_stack([instance.placement, some]),
        limit=instance.limit + had,
        count=np.append(instance.count, 1),
        servers=(*instance.servers, name),
        limit_on=most if some.any() else instance.limit_on,
        start=None,
    )
    return whole, np.column_stack([score, np.where(some, best, 0.0)])


def held(instance: Instance, score: Floats) -> Floats:
    """(N,) tasks that what was had is worth, at the best score of each user."""
    assert instance.start is not None
    return np.asarray(instance.start / _best(instance, score))


def _best(instance: Instance, score: Floats) -> Floats:
    found: Floats = np.where(instance.eligible, score, 0.0).max(axis=1)
    return found


def _only_groups(instance: Instance) -> None:
    odd = []
    if instance.modes is not None:
        odd.append("modes")
    if instance.rules is not None:
        odd.append("rules")
    given = instance.quotas or Quotas()
    told = (
        ("guarantees", given.guarantees or given.guarantee_tasks),
        ("ceilings", given.bounds),
        ("quotas", given.quotas),
    )
    odd.extend(name for name, rows in told if rows)
    if odd:
        raise UsageError(f"start: found {', '.join(odd)}; wanted groups, weights and limits alone")


__all__ = ["HAD", "before", "held"]
