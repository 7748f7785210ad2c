r"""The instance of a horizon: a slice is a server (docs/maths/over-time.md).

With D_t hours of slice t and L[n,t] the most tasks that user n wants at once,

.. math:: \sum_n d_{nr} x_{n,(t,i)} \le c_{t,i,r} D_t, \qquad \sum_i x_{n,(t,i)} \le L_{n,t} D_t

in task-hours x. The rows of wants: `wanted`. With `carry` a limit of the cluster holds in every
slice besides.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from fairopt.errors import BadInput, Fault
from fairopt.instance import Bools, Floats, Instance
from fairopt.instance.labels import nearest
from fairopt.instance.quotas import Bound, Guarantee, Quotas
from fairopt.overtime.periods import Budget, Promise, Slices
from fairopt.overtime.wanted import modes_of, wanted


def stretched(
    base: Instance,
    wants: Floats,
    hours: Floats,
    capacity: Floats,
    slices: tuple[str, ...],
    periods: Sequence[Budget | Promise],
    carry: bool,
) -> Instance:
    """The instance of T slices.

    Parameters
    ----------
    base : the cluster. wants : (T, N) tasks at once, inf: as many as there is room for.
    hours : (T,). capacity : (T, I, R) of the slices. periods : budgets and promises.
    carry : whether what was wanted and not served may be served later.
    """
    users, servers, _ = base.shape
    steps = len(hours)
    amount = wants * hours[:, None]  # task-hours
    started = (np.cumsum(amount, axis=0) if carry else amount) > 0
    away = np.asarray((capacity <= 0).all(axis=2))
    open_ = base.placement[None] & started[:, :, None] & ~away[:, None, :]
    runs = open_ & _room(base, capacity)
    own = np.outer(hours, base.limit)
    rows = wanted(base, amount, own, runs, carry, slices)
    most, flavors, bounds, promised = rows.most, dict(rows.flavors), list(rows.bounds), []
    for k, given in enumerate(periods):
        name = _period(given.slices, slices, f"budgets[{k}]", flavors, base)
        if isinstance(given, Budget):
            bounds.append(Bound(given.member, given.resource, given.most, name))
        else:
            promised.append(Guarantee(given.member, given.resource, given.least, name))
    quotas = None
    if flavors or promised or bounds or base.quotas is not None:
        quotas = _joined(base.quotas, bounds, promised, flavors)
    demand: Any = base.demand
    if demand.ndim == 3:
        demand = np.tile(demand, (1, steps, 1))
    limit = None
    if steps == 1:  # the want of one slice is the limit that a plain instance has
        limit, most = np.where(amount[0] > 0, np.minimum(amount, own)[0], np.inf), None
        quotas = base.quotas if not (periods or base.quotas) else quotas
    placement = open_.transpose(1, 0, 2).reshape(users, steps * servers)
    return Instance(
        demand,
        (capacity * hours[:, None, None]).reshape(steps * servers, -1),
        placement,
        base.weight,
        limit,
        np.tile(base.count, steps),
        base.users,
        [f"{server}@{name}" for name in slices for server in base.servers],
        base.resources,
        quotas=quotas,
        modes=modes_of(base, slices),
        rules=rows.rules or None,
        start=base.start,
        limit_on=None if most is None else most.transpose(1, 0, 2).reshape(users, -1),
    )


def _room(base: Instance, capacity: Floats) -> Bools:
    """(T, N, I) where each user could run at least a part of a task, in some mode."""
    ways = base.ways
    demand = ways.demand[:, None, :] if ways.demand.ndim == 2 else ways.demand
    can = ((demand[None] == 0) | (capacity[:, None] > 0)).all(axis=3) & ways.placement
    first = np.flatnonzero(np.diff(ways.owner, prepend=-1))
    return np.asarray(np.logical_or.reduceat(can, first, axis=1))


def _period(
    given: Slices,
    slices: tuple[str, ...],
    place: str,
    flavors: dict[str, list[str]],
    base: Instance,
) -> str | None:
    """The flavor of a period, which is added to the others; None for the whole horizon."""
    if given is None:
        return None
    at = [position(slices, one, f"{place}.slices") for one in given]
    servers = [f"{server}@{slices[t]}" for t in at for server in base.servers]
    name = "in " + ",".join(slices[t] for t in at)
    while flavors.get(name, servers) != servers:  # names of slices may hold commas
        name += "'"
    flavors[name] = servers
    return name


def position(slices: tuple[str, ...], given: str | int, place: str) -> int:
    """The position of a slice given by name or position."""
    if isinstance(given, str) and given in slices:
        return slices.index(given)
    if isinstance(given, int) and not isinstance(given, bool) and 0 <= given < len(slices):
        return given
    wanted = nearest(given, slices) if isinstance(given, str) else f"0 to {len(slices) - 1}"
    raise BadInput([Fault(place, f"the unknown slice {given!r}", wanted)])


def _joined(
    own: Quotas | None,
    bounds: list[Bound],
    promised: list[Guarantee],
    flavors: dict[str, list[str]],
) -> Quotas:
    """The cluster's own groups with the ceilings and guarantees of the horizon."""
    if own is None:
        return Quotas(bounds=bounds, guarantees=promised, flavors=flavors)
    return replace(own, bounds=bounds, guarantees=promised, flavors=flavors)


def instant_rules(base: Instance) -> Iterator[str]:
    """Rules of a cluster that hold at every moment, which a horizon has no place for."""
    yield from base.unknown("horizon")
    if base.quotas is not None:
        told: Iterable[tuple[str, Any]] = (
            ("ceilings", base.quotas.bounds),
            ("guarantees", base.quotas.guarantees),
            ("quotas", base.quotas.quotas),
            ("guarantees in tasks", base.quotas.guarantee_tasks),
        )
        yield from (name for name, rows in told if rows)


__all__ = ["instant_rules", "position", "stretched"]
