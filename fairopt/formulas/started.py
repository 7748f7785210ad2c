"""Shares that users already had (`Instance.start`): a server where each has room for just that.

Targets and welfare count start + share. A server that holds nothing but what was had, where a user
may run at most start / u tasks of its best score u, says the same: nobody else can take that room,
and who leaves it empty gains nothing. A user's limit is raised by as many tasks, and its guarantee
by as much share; ceilings, quotas and rules count the servers that there are, and a user with modes
has one more for what it had. Beside rules of one's own, which may ask for tasks, a limit is one of
them: nothing may move to what was had. So it is beside modes, of which one that is fast would take
the place that a limit has for what was had. So an instance with a start is another instance with a
limit on that server (`limit_on`), and every program, engine and judge knows it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from fairopt.errors import UsageError
from fairopt.formulas.doubles import exact_product
from fairopt.formulas.entitled import entitled
from fairopt.instance import Floats, Instance, Ints
from fairopt.instance.quotas import Mode, Quotas
from fairopt.instance.rules.records import Rule, Term

HAD = "what was had"
"""name of the server; with a number after it where that is taken"""


def before(instance: Instance, score: Floats, kind: Mapping[str, Any]) -> tuple[Instance, Floats]:
    """The instance with the server of what was had as its last, and its scores (N, I + 1).

    Parameters
    ----------
    score : (N, I) of the notion's criterion on the instance. kind : the notion as a member of its
        family, max-min or alpha-fair.

    Raises
    ------
    UsageError : where what is above guarantees is divided, or in their proportion; rules beside
        which it is not known.
    """
    instance.only_known("had", "start")
    users, servers, _ = instance.shape
    assert instance.start is not None
    had, best = held(instance, score), _best(instance, score)
    some = had > 0
    floor = entitled(instance, score, kind).floor
    over, grouped = kind["parameters"].get("over", "floor"), not instance.tree.flat
    if over != "floor" and (floor.any() or grouped or over == "proportion"):
        raise UsageError(f"start: found over {over!r}; wanted 'floor', or no groups and guarantees")
    # a group has what its members had
    least = floor > 0 if kind["name"] != "max-min" else (floor > 0) | (some & grouped)
    demand = instance.demand
    if demand.ndim == 2:
        there = demand
    else:  # what a task costs where it counts most
        at = np.where(instance.eligible, score, -1.0).argmax(axis=1)
        there = demand[np.arange(users), at]
        demand = np.concatenate([demand, there[:, None, :]], axis=1)
    most = np.full((users, servers + 1), np.inf)
    if instance.limit_on is not None:
        most[:, :servers] = instance.limit_on
    most[:, servers] = np.where(some, had, np.inf)
    name = _new(HAD, instance.servers)
    whole = instance.replace(
        demand=demand,
        capacity=np.vstack([instance.capacity, _room(instance.pool, had @ there)]),
        placement=np.column_stack([instance.placement, some]),
        limit=None if ruled(instance) else instance.limit + had,
        count=np.append(instance.count, 1),
        servers=(*instance.servers, name),
        limit_on=most if some.any() else instance.limit_on,
        quotas=_quotas(instance, np.where(least, floor + instance.start, 0.0), score),
        modes=_modes(instance, some, there, name),
        rules=_rules(instance),
        start=None,
    )
    return whole, np.column_stack([score, np.where(some, best, 0.0)])


def ruled(instance: Instance) -> bool:
    """Whether limits of users are rules."""
    limited = bool(np.isfinite(instance.limit).any())
    return instance.rules is not None or (instance.modes is not None and limited)


def held(instance: Instance, score: Floats) -> Floats:
    """(N,) tasks that what was had is worth, at the best score of each user: no less of a share
    than that by any digit, so that what is guaranteed fits."""
    assert instance.start is not None
    best = _best(instance, score)
    found = instance.start / best
    high, low = exact_product(found, best)
    less = (high - instance.start) + low < 0
    return np.asarray(np.where(less, np.nextafter(found, np.inf), found))


def real_ways(instance: Instance, whole: Instance) -> Ints:
    """Positions of the ways of an instance among those of the instance before."""
    more = np.diff(_first(whole)) - np.diff(_first(instance))
    return np.asarray(np.arange(len(instance.ways)) + (np.cumsum(more) - more)[instance.ways.owner])


def _first(instance: Instance) -> Ints:
    """(N + 1,) where each user's ways begin."""
    found: Ints = np.searchsorted(instance.ways.owner, np.arange(len(instance.users) + 1))
    return found


def _best(instance: Instance, score: Floats) -> Floats:
    found: Floats = np.where(instance.eligible, score, 0.0).max(axis=1)
    return found


def _room(pool: Floats, asked: Floats) -> Floats:
    """(R,) twice what is asked at least, and as much of each resource in proportion to what there
    is: groups are compared by their parts of all there is, which stay in proportion so."""
    total = pool.sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        times = 2.0 * np.where(asked > 0, asked / total, 0.0).max(initial=0.5)
    return np.asarray(total * 2.0 ** np.ceil(np.log2(times)))


def _quotas(instance: Instance, floor: Floats, score: Floats) -> Quotas | None:
    """Rules of groups that count the servers there are alone, and guarantees of shares (N,)."""
    given, ways = instance.quotas, instance.ways
    if given is None:
        return None
    # a guarantee in tasks is of those by which a user gets most, of what was had too
    best = _best(instance, score)
    most = np.where(ways.eligible, score[ways.owner], 0.0).max(axis=1) * ways.speed
    np.maximum.at(best, ways.owner, most)
    every = _new("all", given.flavors)
    flavors = [row.flavor for row in given.bounds] + [row.flavor for row in given.quotas]
    # first, as rows of no flavor are
    first = {every: instance.servers} if None in flavors else {}
    promised = np.flatnonzero(floor > 0).tolist()
    return replace(
        given,
        guarantees=(),
        guarantee_tasks={instance.users[n]: float(floor[n] / best[n]) for n in promised},
        bounds=[replace(row, flavor=row.flavor or every) for row in given.bounds],
        quotas=[replace(row, flavor=row.flavor or every) for row in given.quotas],
        flavors={**first, **given.flavors},
    )


def _modes(instance: Instance, some: Any, there: Floats, name: str) -> dict[str, list[Mode]] | None:
    """Modes that run where they did, and one of speed 1 for what was had, the last of its user."""
    if instance.modes is None:
        return None
    found = {}
    for n, user in enumerate(instance.users):
        if user not in instance.modes:
            continue
        own = [
            replace(mode, servers=instance.servers if mode.servers is None else mode.servers)
            for mode in instance.modes[user]
        ]
        if some[n]:
            own.append(Mode(_new(HAD, [mode.name for mode in own]), there[n], 1.0, [name]))
        found[user] = own
    return found


def _rules(instance: Instance) -> list[Rule] | None:
    """Rules of one's own that count the servers there are alone, then one for each limit."""
    if not ruled(instance):
        return None
    every = instance.servers
    found = [
        replace(
            rule,
            terms=[
                replace(t, servers=every if t.servers is None else t.servers) for t in rule.terms
            ],
        )
        for rule in instance.rules or ()
    ]
    names = [rule.name for rule in found]
    for n in np.flatnonzero(np.isfinite(instance.limit)).tolist():
        user = instance.users[n]
        names.append(_new(f"limit of {user}", names))
        found.append(Rule(names[-1], most=float(instance.limit[n]), terms=[Term([user], every)]))
    return found


def _new(name: str, taken: Sequence[str] | Mapping[str, Any]) -> str:
    """The name, with a number after it where that is taken."""
    found, k = name, 1
    while found in taken:
        found, k = f"{name} {k}", k + 1
    return found


__all__ = ["HAD", "before", "held", "real_ways", "ruled"]
