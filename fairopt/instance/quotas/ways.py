"""The ways to run a task: each user's modes, one after another, in arrays.

A user without modes has one way, its task. With modes, `tasks` are running tasks of any mode, and
what a user gets of them is output, sum over its ways of speed times tasks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fairopt.errors import Fault
from fairopt.instance.labels import nearest
from fairopt.instance.quotas.faults import LARGEST_AMOUNT, shown
from fairopt.instance.quotas.records import Mode, Table
from fairopt.instance.sealing import sealed

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]
Modes = Mapping[str, Sequence[Mode]]
ALL = slice(None)


@dataclass(frozen=True, eq=False)
class Ways:
    """K ways of N users, in the order of users and of their modes.

    Parameters
    ----------
    owner : (K,), position of the user. name : of the mode; "" for a user without modes.
    demand : (K, R), or (K, I, R) where demand depends on the server, of one running task.
    speed : (K,) > 0, output of one running task.
    placement : (K, I), where it may run.
    eligible : (K, I), where it may run and every demanded resource is there.
    """

    owner: Ints
    name: tuple[str, ...]
    demand: Floats
    speed: Floats
    placement: Bools
    eligible: Bools

    def __len__(self) -> int:
        return len(self.name)

    def used(self, way_tasks: Floats) -> Floats:
        """(..., I, R) resource used by running tasks (..., K, I)."""
        with np.errstate(over="ignore", invalid="ignore"):  # tasks may come from anywhere
            if self.demand.ndim == 2:
                used: Floats = way_tasks.swapaxes(-1, -2) @ self.demand
                return used
            return np.asarray(np.einsum("...ki,kir->...ir", way_tasks, self.demand))

    def taken(self, way_tasks: Floats, users: slice = ALL, servers: slice = ALL) -> Floats:
        """(users, servers, R) what the tasks (K, I) of these users take on these servers."""
        begin, end, _ = users.indices(int(self.owner[-1]) + 1)
        rows = slice(*np.searchsorted(self.owner, [begin, end]).tolist())
        demand = self.demand[rows]
        each = demand[:, servers] if demand.ndim == 3 else demand[:, None, :]
        with np.errstate(over="ignore", invalid="ignore"):  # tasks may come from anywhere
            use = way_tasks[rows, servers, None] * each
        first = np.flatnonzero(np.diff(self.owner[rows], prepend=-1))
        return np.asarray(np.add.reduceat(use, first, axis=0))

    def of(self, user: int) -> slice:
        """The ways of one user, by position."""
        first, after = np.searchsorted(self.owner, [user, user + 1]).tolist()
        return slice(first, after)

    def among(self, users: Ints) -> Ints:
        """The ways of some users, by position."""
        return np.flatnonzero(np.isin(self.owner, users))

    @property
    def first(self) -> Ints:
        """(N,) the first way of each user."""
        return np.flatnonzero(np.diff(self.owner, prepend=-1))

    def running(self, way_tasks: Floats) -> Floats:
        """(..., N, I) running tasks of each user, from those of its ways (..., K, I)."""
        return np.asarray(np.add.reduceat(way_tasks, self.first, axis=-2))

    def output(self, way_tasks: Floats) -> Floats:
        """(..., N, I) output of each user: speed times tasks, over its ways (..., K, I)."""
        return self.running(way_tasks * self.speed[:, None])


def mode_faults(modes: Modes, names: Mapping[str, Sequence[str]], demand: Floats) -> list[Fault]:
    """The faults of the modes given to an instance.

    Parameters
    ----------
    names : users, servers and resources.
    demand : of the users, which those whose modes all have their own need not have.
    """
    faults = []
    idle = ~(demand != 0).reshape(len(demand), -1).any(axis=1)
    at = {user: n for n, user in enumerate(names["users"])}
    for user, given in modes.items():
        here = f"users.{user}.modes"
        if user not in at:
            faults.append(Fault(f"modes.{user}", "an unknown user", nearest(str(user), at)))
            continue
        if isinstance(given, str | Mapping) or not isinstance(given, Sequence) or not given:
            faults.append(Fault(here, repr(given), "a list of modes, at least one"))
            continue
        seen: set[str] = set()
        for k, mode in enumerate(given):
            place = f"{here}[{k}]"
            if not isinstance(mode, Mode):
                faults.append(Fault(place, f"a {type(mode).__name__}", "a Mode"))
                continue
            name = mode.name
            if not isinstance(name, str) or not name or not name.isprintable():
                faults.append(Fault(f"{place}.name", f"the name {name!r}", "a printable text"))
            elif name in seen:
                found = f"the name {name!r} a second time"
                faults.append(Fault(f"{place}.name", found, "every name once"))
            seen.add(name)
            faults += _speed(mode, place)
            faults += _servers(mode, place, names["servers"])
            if mode.demand is not None:
                faults += _demand(mode, place, names["resources"])
            elif idle[at[user]]:
                wanted = "amounts by resource, or a demand of the user"
                faults.append(Fault(f"{place}.demand", "nothing", wanted))
    return faults


def _speed(mode: Mode, place: str) -> list[Fault]:
    speed = mode.speed
    number = isinstance(speed, int | float | np.floating) and not isinstance(speed, bool)
    if number and 1e-150 < speed < 1e150:
        return []
    return [Fault(f"{place}.speed", shown(speed), "a finite number > 0")]


def _servers(mode: Mode, place: str, known: Sequence[str]) -> list[Fault]:
    if mode.servers is None:
        return []
    if isinstance(mode.servers, str):
        return [Fault(f"{place}.servers", f"the text {mode.servers!r}", "a list of servers")]
    return [
        Fault(f"{place}.servers[{k}]", f"the unknown server {name!r}", nearest(str(name), known))
        for k, name in enumerate(mode.servers)
        if name not in known
    ]


def _demand(mode: Mode, place: str, resources: Sequence[str]) -> list[Fault]:
    """Faults of a mode's own demand, given by resource or in their order."""
    here = f"{place}.demand"
    if isinstance(mode.demand, Mapping):
        pairs = list(mode.demand.items())
        unknown = [name for name, _ in pairs if name not in resources]
        if unknown:
            return [
                Fault(f"{here}.{name}", "an unknown resource", nearest(str(name), resources))
                for name in unknown
            ]
    elif not isinstance(mode.demand, tuple) or len(mode.demand) != len(resources):
        return [Fault(here, repr(mode.demand), f"{len(resources)} amounts, one a resource")]
    else:
        pairs = list(zip(resources, mode.demand, strict=True))
    faults = [
        Fault(f"{here}.{name}", shown(amount), "a finite number >= 0")
        for name, amount in pairs
        if isinstance(amount, bool)
        or not isinstance(amount, int | float | np.floating)
        or not 0 <= amount < LARGEST_AMOUNT
    ]
    if not faults and not any(amount > 0 for _, amount in pairs):
        faults = [Fault(here, "nothing demanded", "at least one resource > 0")]
    return faults


def spare_faults(modes: Modes, users: Sequence[str], demand: Floats) -> list[Fault]:
    """Demands of users of whom every mode has its own, so that theirs would count for nothing.

    That of the first mode is no fault: an instance that was built has it (`reference`).
    """
    return [
        Fault(f"users.{user}.demand", "a demand beside those of all modes", wanted)
        for n, user in enumerate(users)
        if user in modes
        and all(mode.demand is not None for mode in modes[user])
        and demand[n].any()
        and not (demand[n] == modes[user][0].demand).all()
        for wanted in ["none, or a mode without, which takes it"]
    ]


def resolved(
    modes: Modes, users: Sequence[str], resources: Sequence[str]
) -> Table[str, tuple[Mode, ...]] | None:
    """Sound modes in the order of users, demand as (R,) floats in the order of resources."""

    def one(mode: Mode) -> Mode:
        demand = mode.demand
        if isinstance(demand, Mapping):
            demand = [demand.get(name, 0.0) for name in resources]
        if demand is not None:
            demand = tuple([float(amount) + 0.0 for amount in demand])
        return replace(mode, demand=demand, speed=float(mode.speed))

    found = {user: tuple([one(mode) for mode in modes[user]]) for user in users if user in modes}
    return Table(found) if found else None


def reference(modes: Modes, users: Sequence[str], demand: Floats) -> Floats:
    """Demand (N, R) or (N, I, R) in which a user that has none of its own has its first mode's."""
    filled = demand.copy()
    for n, user in enumerate(users):
        first = modes[user][0].demand if user in modes else None
        if first is not None and not demand[n].any():
            filled[n] = first
    return filled


def within(modes: Modes, users: Sequence[str], servers: Sequence[str]) -> dict[str, list[Mode]]:
    """The modes of these users on these servers only; a mode may be left without any."""

    def here(mode: Mode) -> Mode:
        if mode.servers is None:
            return mode
        return replace(mode, servers=[name for name in mode.servers if name in servers])

    return {user: [here(mode) for mode in modes[user]] for user in users if user in modes}


def _eligible(demand: Floats, allowed: Bools, capacity: Floats) -> Bools:
    """(K, I) where tasks may run that need something, and all that they need is there."""
    by_server = demand if demand.ndim == 3 else demand[:, None, :]
    lacking = np.zeros(allowed.shape, dtype=bool)
    for r in range(capacity.shape[1]):
        lacking |= (by_server[..., r] > 0) & (capacity[:, r] == 0)
    found: Bools = allowed & ~lacking & (by_server > 0).any(axis=-1)
    return found


def ways_of(
    modes: Modes | None,
    names: Mapping[str, Sequence[str]],
    demand: Floats,
    placement: Bools,
    capacity: Floats,
) -> Ways:
    """The ways of an instance, from its modes and its users' demand and placement."""
    users, servers = names["users"], names["servers"]
    if not modes:  # one way of each user
        eligible = _eligible(demand, placement, capacity)
        alike = tuple([""] * len(users)), sealed(demand.copy()), sealed(np.ones(len(users)))
        owner = sealed(np.arange(len(users)))
        return Ways(owner, *alike, sealed(placement.copy()), sealed(eligible))
    rows: list[tuple[int, Mode]] = []
    for n, user in enumerate(users):
        rows += [(n, mode) for mode in modes.get(user, (Mode(""),))]
    owner = np.array([n for n, _ in rows])
    d, allowed = demand[owner], placement[owner]
    for k, (_, mode) in enumerate(rows):
        if mode.demand is not None:
            d[k] = mode.demand
        if mode.servers is not None:
            allowed[k] &= np.isin(servers, mode.servers)
    eligible = _eligible(d, allowed, capacity)
    return Ways(
        sealed(owner),
        tuple([mode.name for _, mode in rows]),
        sealed(d),
        sealed(np.array([mode.speed for _, mode in rows])),
        sealed(allowed),
        sealed(eligible),
    )
