"""Churn: users arrive and leave while the cluster is being filled (kesidis2018 section IV).

Time is counted in steps; each step places one increment. When a user leaves, its resources are
free at once. At each event, either the other users keep their tasks ("keep"), or all tasks are
taken back and the filling starts again from empty machines ("reallocate").
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from fairopt.allocation import Allocation
from fairopt.errors import BadInput, Fault, UsageError
from fairopt.filling.filler import Filler
from fairopt.instance import Instance

POLICIES = ("keep", "reallocate")
GONE, WAITING = "left", "not arrived"


class Event(NamedTuple):
    """At step `time`, `user` (its name) arrives or leaves (`action` "arrive" or "leave")."""

    time: int
    action: str
    user: str


class Moment(NamedTuple):
    """After everything up to an event: steps, placements in all, tasks held, efficiency."""

    time: int
    placed: int
    tasks: float
    efficiency: float
    """sum phi x of the users present (kesidis2018 (2))"""
    moved: int
    """increments that a reallocation took from users who stay"""


@dataclass(frozen=True)
class Churned:
    """The result: the last allocation, one Moment per event and one at the end.

    `finished` is the step at which nothing more could be placed.

    Examples
    --------
    >>> import fairopt as fo
    >>> from fairopt.filling import churn
    >>> inst = fo.Instance([[5, 1], [1, 5]], [[100, 30], [30, 100]])
    >>> done = churn(inst, [], 'rps-dsf')
    >>> done.placed, done.finished
    (42, 42)
    """

    allocation: Allocation
    moments: tuple[Moment, ...]
    finished: int
    placed: int


def events(instance: Instance, horizon: int, seed: int = 0, stay: float = 0.5) -> tuple[Event, ...]:
    """Random arrivals and departures, the same for the same seed.

    Every user arrives once, uniformly over the first half of `horizon` steps, and with probability
    1 - `stay` leaves again, uniformly between its arrival and the horizon.
    """
    draw = random.Random(seed)
    found = []
    for name in instance.users:
        arrives = draw.randrange(max(1, horizon // 2))
        found.append(Event(arrives, "arrive", name))
        if draw.random() >= stay:
            found.append(Event(draw.randrange(arrives + 1, horizon + 1), "leave", name))
    return tuple(sorted(found))


def churn(
    instance: Instance,
    happenings: Iterable[Event],
    scheduler: str = "rps-dsf",
    selection: str | None = None,
    seed: int = 0,
    policy: str = "keep",
    increment: float = 1.0,
    user_tie: str = "highest",
    server_tie: str = "lowest",
) -> Churned:
    """Fill while users arrive and leave.

    Parameters
    ----------
    instance : the cluster, with every user that ever arrives.
    happenings : the events, in any order; a user without an "arrive" is present from the start.
    policy : "keep" (no revocation) or "reallocate" (start again at every event).
    scheduler, selection, seed, increment : as in `fill`.

    Raises
    ------
    BadInput : events of unknown users or actions, or negative times.
    UsageError : an unknown policy.

    Examples
    --------
    >>> import fairopt as fo
    >>> from fairopt.filling import churn
    >>> inst = fo.Instance([[5, 1], [1, 5]], [[100, 30], [30, 100]])
    >>> churn(inst, [(100, 'leave', 'u1')], 'drf').allocation.totals
    array([ 0., 26.])
    """
    if policy not in POLICIES:
        raise UsageError(f"policy: found {policy!r}; wanted one of {', '.join(POLICIES)}")
    ordered = sorted(Event(*event) for event in happenings)
    _check(instance, ordered)
    filler = Filler(instance, scheduler, selection, seed, increment, user_tie, server_tie)
    draw = random.Random(seed)
    place = {name: n for n, name in enumerate(instance.users)}
    late = {event.user for event in ordered if event.action == "arrive"}
    present = {n for name, n in place.items() if name not in late}
    cluster, left = filler.cluster, set[str]()
    time = placed = 0
    finished = 0
    moments: list[Moment] = []

    def advance(until: float) -> dict[int, str]:
        nonlocal placed, time, finished
        before = sum(cluster.units)
        stopped = filler.run(draw, sorted(present), until - time)
        done = sum(cluster.units) - before
        placed += done
        finished = time + done if done else finished
        time = int(until) if until < float("inf") else time + done
        return stopped

    def note(moved: int) -> None:
        held = [k * increment for k in cluster.units]
        efficiency = sum(w * x for w, x in zip(instance.weight.tolist(), held, strict=True))
        moments.append(Moment(time, placed, sum(held), efficiency, moved))

    for event in ordered:
        if event.time > time:
            advance(event.time)
        n = place[event.user]
        if event.action == "arrive":
            present.add(n)
            left.discard(event.user)
        else:
            present.discard(n)
            left.add(event.user)
            cluster.remove(n)
        moved = 0
        if policy == "reallocate":
            moved = sum(cluster.units)
            cluster.clear()
        note(moved)
    stopped = advance(float("inf"))
    note(0)
    for n, name in enumerate(instance.users):
        if n not in present:
            stopped[n] = GONE if name in left else WAITING
    return Churned(filler.allocation(seed, stopped), tuple(moments), finished, placed)


def _check(instance: Instance, ordered: list[Event]) -> None:
    faults = []
    for k, event in enumerate(ordered):
        if event.user not in instance.users:
            faults.append(Fault(f"events[{k}].user", f"{event.user!r}", "a user of the instance"))
        if event.action not in ("arrive", "leave"):
            faults.append(Fault(f"events[{k}].action", f"{event.action!r}", "arrive or leave"))
        if event.time < 0:
            faults.append(Fault(f"events[{k}].time", f"{event.time}", "a step >= 0"))
    if faults:
        raise BadInput(faults)
