"""Whole tasks on single machines, in exact integers, as near to the fluid answer as they go.

The machines of a shape are filled some at a time, all of these alike: each gets what is left of
the fluid answer per machine that is left, all by the same part less where that is more than fits,
rounded down, and then one more task of those who are furthest behind, as far as they fit. Who was
rounded up on these machines comes later on the next, so whole tasks keep close to the fluid ones.
What found no room is tried on every machine, large tasks first. At last users whose due is no whole
number are rounded up, lowest level first, where there is room. Where all machines are few, a
mixed-integer program is tried as well, and the better is taken. Every placement is made in
integers: what is returned fits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairopt.connect.text.fields import Amounts
from fairopt.instance import Bools, Floats, Instance, Ints
from fairopt.whole.machines import MachineRow, Pattern, integers, needed

_ROUNDING = 1e-6
"""a fluid total this little below a whole number is that number"""


def whole_part(amount: float) -> int:
    """The whole number at or below an amount, allowing for rounding, relative where it is large."""
    return int(np.floor(amount + _ROUNDING * max(1.0, abs(amount) * 1e-3)))


@dataclass(frozen=True)
class Packed:
    """Where the whole tasks are.

    Parameters
    ----------
    machines : for each shape, its machines as (count, tasks by user), most alike first.
    totals : (N,) whole tasks of each user.
    """

    machines: tuple[tuple[tuple[int, Pattern], ...], ...]
    totals: Ints


def pack(
    instance: Instance,
    demand: Sequence[Amounts],
    capacity: Sequence[Amounts],
    tasks: Floats,
    levels: Floats,
) -> Packed:
    """Whole tasks for a fluid answer.

    Parameters
    ----------
    demand, capacity : exact amounts of a task of each user and of a machine of each shape.
    tasks : (N, I) the fluid answer.
    levels : (N,) level of each user in it; of users to be rounded up, the lowest comes first.
    """
    need, offer = integers(instance.resources, demand, capacity)
    due = tasks.sum(axis=1)
    wanted = [
        min(whole_part(x), int(min(cap, 2**53)))
        for x, cap in zip(due, instance.limit.tolist(), strict=True)
    ]
    size = _sizes(instance)
    filling = _MachinesFilled(instance, need, offer, tasks, wanted, levels, size)
    targets = _targets(tasks, wanted)
    for i, row in enumerate(filling.rows):
        filling.placed[:, i] = row.spread(targets[:, i], size)
    found = filling.finished()
    machines = searched_small(need, offer, instance.count, instance.placement, wanted)
    if machines is not None:
        other = _MachinesFilled(instance, need, offer, tasks, wanted, levels, size)
        for i, rows in enumerate(machines):
            other.put(i, rows)
        found = max(found, other.finished(), key=lambda packed: _parts(packed.totals, wanted))
    return found


class _MachinesFilled:
    """Machines being filled: what is placed of each user, and what is still to come."""

    def __init__(
        self,
        instance: Instance,
        need: Any,
        offer: Any,
        tasks: Floats,
        wanted: Sequence[int],
        levels: Floats,
        size: Floats,
    ) -> None:
        needs = needed(need)
        self.rows = [
            MachineRow(int(k), own, need, needs)
            for k, own in zip(instance.count, offer, strict=True)
        ]
        self.placed = np.zeros(instance.shape[:2], dtype=np.int64)
        self.instance, self.tasks, self.wanted = instance, tasks, wanted
        self.levels, self.size = levels, size

    def put(self, i: int, machines: Sequence[Pattern]) -> None:
        """Fill the machines of shape i one by one, each as far as it fits."""
        row = self.rows[i]
        for own in machines:
            g = row.single()
            for n, k in sorted(own.items()):
                self.placed[n, i] += row.add_up_to(g, n, k)

    def anywhere(self, n: int, left: int) -> None:
        """Place tasks of a user wherever they fit, first where the fluid answer has most."""
        some = np.flatnonzero(self.instance.placement[n]).tolist()
        for i in sorted(some, key=lambda i: (-self.tasks[n, i], i)):
            if left <= 0:
                return
            own = self.rows[i].place(n, left)
            self.placed[n, i] += own
            left -= own

    def finished(self) -> Packed:
        """Place what is missing, round up where there is room, and count."""
        for n in np.argsort(-self.size, kind="stable").tolist():
            self.anywhere(n, self.wanted[n] - int(self.placed[n].sum()))
        due = self.tasks.sum(axis=1)
        for n in np.argsort(self.levels, kind="stable").tolist():
            whole = self.placed[n].sum() == self.wanted[n] < self.instance.limit[n]
            if whole and due[n] > self.wanted[n] + _ROUNDING:
                self.anywhere(n, 1)
        return Packed(tuple(row.machines() for row in self.rows), self.placed.sum(axis=1))


def _parts(totals: Ints, wanted: Sequence[int]) -> tuple[float, float]:
    """The smallest part that a user got of what was wanted, and the sum of all parts."""
    parts = [t / w for t, w in zip(totals.tolist(), wanted, strict=True) if w > 0]
    return min(parts, default=1.0), sum(parts)


def _targets(tasks: Floats, wanted: Sequence[int]) -> Ints:
    """(N, I) whole tasks near to the fluid ones that add up to those wanted of each user."""
    down = np.floor(tasks + _ROUNDING * np.maximum(1.0, np.abs(tasks) * 1e-3)).astype(np.int64)
    part = tasks - down
    for n, total in enumerate(wanted):
        missing = total - int(down[n].sum())
        if missing > 0:
            for i in np.argsort(-part[n], kind="stable")[:missing].tolist():
                if tasks[n, i] > 0:
                    down[n, i] += 1
        elif missing < 0:
            for i in np.argsort(part[n], kind="stable")[:-missing].tolist():
                down[n, i] -= min(1, int(down[n, i]))
    return down


def _sizes(instance: Instance) -> Floats:
    """(N,) the largest part of a machine that one task takes, on the shapes where it may run."""
    part = np.zeros(instance.shape[:2])
    for r in range(instance.shape[2]):
        offer = np.where(instance.capacity[:, r] > 0, instance.capacity[:, r], np.inf)
        part = np.maximum(part, instance.demand[..., r].reshape(len(part), -1) / offer)
    size: Floats = np.where(instance.placement, part, 0.0).max(axis=1)
    return size


# Whole tasks on few machines by a mixed-integer program (HiGHS), where it is small enough.
#
# max N t + sum_n y_n / w_n over whole numbers y[n,m] of tasks of user n on machine m, with
# sum_m y[n,m] = y_n <= w_n wanted, every machine within its capacity, and t <= y_n / w_n for all n:
# who gets the smallest part of what is wanted comes first. What the solver says is placed again in
# integers by the caller, so that its tolerances decide nothing.


MOST_VARIABLES = 400
"""most variables; with more, machines are not modelled one by one"""
NODES = 200
"""nodes of the search; a limit of time would make answers depend on the machine"""


def searched_small(
    need: Any, offer: Any, count: Ints, allowed: Bools, wanted: Sequence[int]
) -> list[list[dict[int, int]]] | None:
    """For each shape, the tasks by user of each of its machines; None where it is too large.

    Parameters
    ----------
    need (N, R), offer (I, R) : exact amounts as integers.
    count : (I,) machines. allowed : (N, I). wanted : (N,) whole tasks, none gets more.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import coo_array, vstack

    some = [n for n, w in enumerate(wanted) if w > 0]
    fits = allowed & (need[:, None, :] <= offer[None, :, :]).all(axis=2)
    if not 0 < int(fits[some].sum(axis=0) @ count) <= MOST_VARIABLES:
        return None
    pairs = [
        (n, i, m)
        for i in range(len(count))
        for m in range(int(count[i]))
        for n in some
        if fits[n, i]
    ]
    size, resources = len(pairs), need.shape[1]
    start = np.concatenate([[0], np.cumsum(count)])
    user, machine = (
        np.array(x) for x in zip(*((n, start[i] + m) for n, i, m in pairs), strict=True)
    )
    amounts = (need / np.maximum(offer.max(axis=0), 1)).astype(float)
    room = np.repeat((offer / np.maximum(offer.max(axis=0), 1)).astype(float), count, axis=0)
    k, r = np.nonzero(amounts[user])
    use = coo_array(
        (amounts[user][k, r], (machine[k] * resources + r, k)), shape=(room.size, size + 1)
    )
    at = {n: k for k, n in enumerate(some)}
    own = np.array([at[n] for n in user.tolist()])
    part = 1 / np.array([wanted[n] for n in some])
    totals = coo_array((np.ones(size), (own, np.arange(size))), shape=(len(some), size + 1))
    least = coo_array(
        (
            np.concatenate([-part[own], np.ones(len(some))]),
            (
                np.concatenate([own, np.arange(len(some))]),
                np.concatenate([np.arange(size), np.full(len(some), size)]),
            ),
        ),
        shape=(len(some), size + 1),
    )
    high = [room.ravel(), np.array([wanted[n] for n in some], dtype=float), np.zeros(len(some))]
    found = milp(
        -np.concatenate([part[own], [float(len(some))]]),
        integrality=np.concatenate([np.ones(size), [0]]),
        bounds=Bounds(0, np.concatenate([[float(wanted[n]) for n in user.tolist()], [1.0]])),
        constraints=LinearConstraint(
            vstack([use, totals, least]).tocsr(), -np.inf, np.concatenate(high)
        ),
        options={"node_limit": NODES},
    )
    if found.x is None:
        return None
    machines: list[list[dict[int, int]]] = [[{} for _ in range(int(c))] for c in count]
    for (n, i, m), y in zip(pairs, np.rint(found.x[:size]).astype(int).tolist(), strict=True):
        if y > 0:
            machines[i][m][n] = y
    return machines
