"""Many slices divided at once: what was due in hindsight."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fairopt.allocation import Allocation
from fairopt.certificates import certify
from fairopt.errors import BadInput, Fault, UsageError
from fairopt.formulas import families
from fairopt.instance import Floats, Instance, frozen
from fairopt.notions import MaxMin, Notion
from fairopt.overtime.building import instant_rules, stretched
from fairopt.overtime.periods import Budget, Promise


@dataclass(frozen=True, eq=False)
class Horizon:
    """Slices of time of one cluster as one instance; made by `horizon`.

    Parameters
    ----------
    base : the cluster. slices : T names. hours : (T,) lengths.
    wants : (T, N) most tasks at once that each user wants.
    instance : the instance of the whole; a server "s@t" is server s in slice t, and tasks are
        task-hours.

    Examples
    --------
    >>> import fairopt as fo
    >>> cluster = fo.Instance([[1, 4], [3, 1]], [[9, 18]], users=["A", "B"])
    >>> days = fo.horizon(cluster, wants=[[4, 0], [4, 4]], hours=24)
    >>> days.slices, days.hours
    (('t1', 't2'), array([24., 24.]))
    """

    base: Instance
    slices: tuple[str, ...]
    hours: Floats
    wants: Floats
    instance: Instance

    def split(self, answer: Allocation | ArrayLike, by_way: bool = False) -> Floats:
        """(T, N, I) running tasks in each slice, of an answer or of task-hours (N, T I).

        Parameters
        ----------
        by_way : (T, K, I) of each way of `base.ways` instead, where users have modes.
        """
        given = answer
        if isinstance(answer, Allocation):
            given = answer.by_way if by_way else answer.tasks
        tasks = np.asarray(given, dtype=np.float64)
        rows = len(self.base.ways) if by_way else len(self.base.users)
        servers = len(self.base.servers)
        shape = rows, len(self.hours) * servers
        if tasks.shape != shape:
            raise UsageError(f"answer: found tasks of shape {tasks.shape}; wanted {shape}")
        by_slice = tasks.reshape(rows, len(self.hours), servers).transpose(1, 0, 2)
        return np.asarray(by_slice / self.hours[:, None, None])

    def answer(self, plan: ArrayLike, notion: Notion | None = None) -> Allocation:
        """A plan as an answer of the horizon, for a judge.

        Parameters
        ----------
        plan : (T, N, I) running tasks in each slice, or (T, N) with one server; where users have
            modes of each way of `base.ways` instead of each user.
        notion : default MaxMin().
        """
        ways, servers = len(self.base.ways), len(self.base.servers)
        given = np.asarray(plan, dtype=np.float64)
        if given.ndim == 2 and servers == 1:
            given = given[:, :, None]
        shape = len(self.hours), ways, servers
        if given.shape != shape:
            raise UsageError(f"plan: found shape {given.shape}; wanted {shape}")
        hours = given * self.hours[:, None, None]
        tasks = hours.transpose(1, 0, 2).reshape(ways, -1)
        asked = MaxMin() if notion is None else notion
        if self.base.modes is None:
            return Allocation(self.instance, asked, tasks)
        return Allocation(self.instance, asked, None, way_tasks=tasks)

    def ratio(self, plan: ArrayLike, hindsight: Allocation) -> float:
        """How much of hindsight a plan reaches, at most 1: proved by certificates.

        Of an alpha-fair hindsight 1/(1 + gap), gap the certified equal rise of all shares that the
        plan leaves; of max-min the least S_n/phi_n over the lowest level of hindsight.
        """
        kind = families.member(hindsight.notion)["name"]
        mine = self.answer(plan).with_(notion=hindsight.notion, score=hindsight.score)
        if kind == "max-min":
            lowest = float(hindsight.levels.min())
            return float(mine.levels.min()) / lowest if lowest > 0 else 1.0
        if kind == "alpha-fair":
            gap = certify(mine).gap
            return 1.0 / (1.0 + gap) if np.isfinite(gap) else 0.0
        raise UsageError(f"ratio: found {kind}; wanted max-min or alpha-fair")


def horizon(
    instance: Instance,
    wants: ArrayLike | Mapping[str, Any],
    hours: ArrayLike = 1.0,
    budgets: Sequence[Budget | Promise] = (),
    capacity: ArrayLike | None = None,
    carry: bool = False,
    slices: Sequence[str] | None = None,
) -> Horizon:
    """Many slices of time as one instance: every notion, price and proof holds for it.

    Parameters
    ----------
    instance : the cluster; groups, weights, placement and modes are kept.
    wants : (T, N) most tasks at once in each slice, >= 0, inf: as many as there is room for; or
        {user: T numbers}. An instance's own `limit` holds in every slice.
    hours : (T,) lengths of the slices, > 0, or one number for all.
    budgets : `Budget` and `Promise` records over periods.
    capacity : (T, I, R) capacity of each slice, 0 while a server is away; default the instance's.
    carry : whether what was wanted but not served, or is beyond a limit, may be served in a later
        slice.
    slices : T names; default t1, t2, ...

    Raises
    ------
    BadInput : wants, hours or capacity of a wrong shape, negative, or a user who wants nothing at
        all. UsageError : rules of the cluster that hold at every moment (ceilings, ...).

    Examples
    --------
    >>> cluster = Instance([[1], [1]], [[1]], users=["A", "B"])
    >>> whole = horizon(cluster, [[1, 1], [0, 1]])
    >>> whole.instance
    Instance(2 users, 2 servers, 1 resource, 3 eligible pairs)
    """
    instance.only_linear("a horizon")
    odd = list(instant_rules(instance))
    if odd:
        raise UsageError(
            f"a horizon: found {', '.join(odd)}; wanted groups, weights and modes alone"
        )
    faults: list[Fault] = []
    many = _wants(wants, instance, faults)
    if faults:
        raise BadInput(faults)
    steps = len(many)
    length = np.asarray(hours, dtype=np.float64)
    if length.ndim == 0:
        length = np.full(steps, float(length))
    if length.shape != (steps,) or not ((length > 0) & np.isfinite(length)).all():
        faults.append(Fault("hours", _shown(length), f"{steps} finite numbers > 0"))
    room = instance.capacity[None] if capacity is None else np.asarray(capacity, dtype=np.float64)
    shape = (steps, *instance.capacity.shape)
    if capacity is None:
        room = np.broadcast_to(room, shape)
    elif room.shape != shape or not ((room >= 0) & np.isfinite(room)).all():
        faults.append(Fault("capacity", _shown(room), f"finite numbers >= 0 of shape {shape}"))
    names = tuple(slices) if slices is not None else tuple(f"t{t + 1}" for t in range(steps))
    if len(names) != steps or len(set(names)) != steps:
        faults.append(Fault("slices", f"{len(set(names))} names", f"{steps}, each once"))
    rooms = [f"{server}@{name}" for name in names for server in instance.servers]
    if len(set(rooms)) != len(rooms):
        twice = next(room for k, room in enumerate(rooms) if room in rooms[:k])
        wanted = "other names of slices or servers, of which each pair is another"
        faults.append(Fault("slices", f"the server {twice!r} twice", wanted))
    idle = np.asarray((many <= 0).all(axis=0))
    for user, none in zip(instance.users, idle.tolist(), strict=True):
        if none:
            wanted = "a want above 0 in some slice, or leave the user out"
            faults.append(Fault(f"wants.{user}", "0 in every slice", wanted))
    if faults:
        raise BadInput(faults)
    if not carry:  # what is beyond a limit may wait then
        many = np.minimum(many, instance.limit)
    whole = stretched(instance, many, length, room, names, tuple(budgets), carry)
    return Horizon(instance, names, frozen(length), frozen(many), whole)


def slice_names(starts: ArrayLike) -> list[str]:
    """Names of slices by the hour at which they begin, told apart after years of half hours."""
    return [f"{start:.12g}h" for start in np.asarray(starts, dtype=np.float64).tolist()]


def _wants(given: Any, instance: Instance, faults: list[Fault]) -> Floats:
    """(T, N) of an array or of {user: numbers}; a user left out of a dict wants nothing."""
    if isinstance(given, Mapping):
        unknown = [name for name in given if name not in instance.users]
        rows = {
            name: np.atleast_1d(np.asarray(row, dtype=np.float64)) for name, row in given.items()
        }
        sizes = {len(row) for row in rows.values()}
        for name in unknown:
            faults.append(Fault(f"wants.{name}", "an unknown user", "a user of the instance"))
        if len(sizes) > 1:
            faults.append(Fault("wants", f"lists of {sorted(sizes)} numbers", "one length"))
        if faults or not rows:
            return np.zeros((1, len(instance.users)))
        none = np.zeros(sizes.pop())
        array = np.stack([rows.get(user, none) for user in instance.users], axis=1)
    else:
        array = np.asarray(given, dtype=np.float64)
    if array.ndim != 2 or array.shape[1] != len(instance.users) or not len(array):
        wanted = f"(slices, {len(instance.users)})"
        faults.append(Fault("wants", f"shape {array.shape}", f"shape {wanted}"))
    elif not (array >= 0).all():
        t, n = (int(k[0]) for k in np.nonzero(~(array >= 0)))
        place = f"wants.{instance.users[n]} in slice {t + 1}"
        faults.append(Fault(place, f"{array[t, n]:g}", "a number >= 0"))
    return array


def _shown(array: Floats) -> str:
    return f"{array:g}" if array.ndim == 0 else f"shape {array.shape}, least {array.min():g}"


__all__ = ["Horizon", "horizon", "slice_names"]
