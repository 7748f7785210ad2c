r"""The instance of a horizon: a slice is a server (docs/maths/over-time.md).

With D_t hours of slice t and L[n,t] the most tasks that user n wants at once,

.. math:: \sum_n d_{nr} x_{n,(t,i)} \le c_{t,i,r} D_t, \qquad \sum_i x_{n,(t,i)} \le L_{n,t} D_t

in task-hours x. Where a user may run on one server of a slice alone the want is a limit on that
server; on several, and with `carry` over all slices so far, it is a ceiling on the resource that
the user's tasks take most of. With `carry` a limit of the cluster holds in every slice besides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from fairopt.errors import BadInput, Fault, UsageError
from fairopt.instance import Bools, Floats, Instance
from fairopt.instance.near import nearest
from fairopt.instance.quotas import Bound, Guarantee, Quotas
from fairopt.overtime.periods import Budget, Promise, Slices


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
    most, ceilings = _limits(base, own if carry else amount, runs, slices)
    if carry and steps > 1:
        ceilings = _waiting(base, amount, runs, slices, ceilings)
    flavors = {key: list(value) for key, value in ceilings.flavors.items()}
    bounds, promised = list(ceilings.bounds), []
    for k, given in enumerate(periods):
        name = _period(given.slices, slices, f"budgets[{k}]", flavors, base)
        if isinstance(given, Budget):
            bounds.append(Bound(given.member, given.resource, given.most, name))
        else:
            promised.append(Guarantee(given.member, given.resource, given.least, name))
    quotas = None
    if bounds or promised or base.quotas is not None:
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
        start=base.start,
        limit_on=None if most is None else most.transpose(1, 0, 2).reshape(users, -1),
    )


def _room(base: Instance, capacity: Floats) -> Bools:
    """(T, N, I) where each user could run at least a part of a task."""
    demand = base.demand[:, None, :] if base.demand.ndim == 2 else base.demand
    found: Bools = ((demand[None] == 0) | (capacity[:, None] > 0)).all(axis=3)
    return found


def _limits(
    base: Instance, amount: Floats, runs: Bools, slices: tuple[str, ...]
) -> tuple[Floats | None, Quotas]:
    """(T, N, I) limits on servers, and ceilings for amounts that several servers share."""
    if len(runs) == 1:
        return None, Quotas()
    several = runs.sum(axis=2) > 1
    most = np.where(runs & ~several[:, :, None], amount[:, :, None], np.inf)
    at = np.argwhere(np.isfinite(amount) & several).tolist()
    return most, _ceilings(base, amount, at, lambda t: (f"at {slices[t]}", [t]), slices)


def _waiting(
    base: Instance, amount: Floats, runs: Bools, slices: tuple[str, ...], others: Quotas
) -> Quotas:
    """Ceilings of what was wanted so far, where what is not served may wait, with others."""
    so_far = np.cumsum(amount, axis=0)
    # of slices until more is wanted, the last says all
    last = np.vstack([amount[1:] > 0, np.ones((1, len(base.users)), dtype=bool)])
    ran = np.logical_or.accumulate(runs.any(axis=2), axis=0)
    at = np.argwhere(np.isfinite(so_far) & last & ran).tolist()
    found = _ceilings(
        base, so_far, at, lambda t: (f"until {slices[t]}", list(range(t + 1))), slices
    )
    return Quotas(
        bounds=[*others.bounds, *found.bounds], flavors={**others.flavors, **found.flavors}
    )


def _ceilings(
    base: Instance,
    amount: Floats,
    at: list[list[int]],
    period: Callable[[int], tuple[str, list[int]]],
    slices: tuple[str, ...],
) -> Quotas:
    """Ceilings of amounts (T, N) of tasks at (t, n), each over the slices of its named period."""
    bounds, flavors = [], dict[str, list[str]]()
    for t, n in at:
        name, of = period(t)
        if name not in flavors:
            flavors[name] = [f"{s}@{slices[k]}" for k in of for s in base.servers]
        r, need = _counted(base, n)
        bounds.append(Bound(base.users[n], r, float(amount[t, n] * need), name))
    return Quotas(bounds=bounds, flavors=flavors)


def _counted(base: Instance, n: int) -> tuple[str, float]:
    """The resource by which a user's tasks are counted, and what one takes of it everywhere."""
    demand = base.demand[n]
    if demand.ndim == 2:
        demand = demand[base.placement[n]]
        same = (demand == demand[0]).all(axis=0) & (demand[0] > 0)
        if not same.any():
            raise UsageError(
                f"wants of {base.users[n]}: found demand that depends on the server in every "
                "resource; wanted one server a slice, or one resource of which a task takes the "
                "same everywhere"
            )
        demand = np.where(same, demand[0], 0.0)
    r = int(np.argmax(demand))
    return base.resources[r], float(demand[r])


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
    if base.modes is not None:
        yield "modes"
    if base.limit_on is not None:
        yield "limit_on"
    if base.rules is not None:
        yield "own rules"
    if base.quotas is not None:
        told: Iterable[tuple[str, Any]] = (
            ("ceilings", base.quotas.bounds),
            ("guarantees", base.quotas.guarantees),
            ("quotas", base.quotas.quotas),
            ("guarantees in tasks", base.quotas.guarantee_tasks),
        )
        yield from (name for name, rows in told if rows)


__all__ = ["instant_rules", "position", "stretched"]
