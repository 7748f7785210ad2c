r"""The instance of a horizon: a slice is a server (docs/maths/over-time.md).

With D_t hours of slice t and L[n,t] the most tasks that user n wants at once,

.. math:: \sum_n d_{nr} x_{n,(t,i)} \le c_{t,i,r} D_t, \qquad \sum_i x_{n,(t,i)} \le L_{n,t} D_t

in task-hours x. Where a user may run on one server of a slice alone the want is a limit on that
server; on several, and with `carry` over all slices so far, it is a ceiling on the resource that
the user's tasks take most of.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
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
    most, ceilings = _limits(base, amount, runs, carry, slices)
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
        limit, most = np.where(amount[0] > 0, amount[0], np.inf), None
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
    base: Instance, amount: Floats, runs: Bools, carry: bool, slices: tuple[str, ...]
) -> tuple[Floats | None, Quotas]:
    """(T, N, I) limits on servers, and ceilings for wants that several servers share."""
    steps, users, servers = runs.shape
    if steps == 1:
        return None, Quotas()
    several = carry | (runs.sum(axis=2) > 1)
    most = np.where(runs & ~several[:, :, None], amount[:, :, None], np.inf)
    bounds, flavors = [], dict[str, list[str]]()
    so_far = np.cumsum(amount, axis=0)
    finite = np.isfinite(so_far if carry else amount) & several & runs.any(axis=2)
    for t, n in np.argwhere(finite).tolist():
        first = 0 if carry else t
        name = f"until {slices[t]}" if carry else f"at {slices[t]}"
        flavors[name] = [f"{s}@{slices[k]}" for k in range(first, t + 1) for s in base.servers]
        r, need = _counted(base, n)
        wanted = so_far[t, n] if carry else amount[t, n]
        bounds.append(Bound(base.users[n], r, float(wanted * need), name))
    return most, Quotas(bounds=bounds, flavors=flavors)


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
    name = "in " + ",".join(slices[t] for t in at)
    flavors[name] = [f"{server}@{slices[t]}" for t in at for server in base.servers]
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
