"""The machines during filling: what is left on each, what it holds, and kinds of users."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from fairopt.errors import BadInput, Fault
from fairopt.filling.units import scaled
from fairopt.formulas.entitled import leaf_weights
from fairopt.formulas.room import Room
from fairopt.instance import Bools, Floats, Instance, Ints


class Machines:
    """The M machines of all rows (a row of count k is k machines), in the order that breaks ties.

    A *position* is an index in that order. Users of equal demand and placement are one *kind*;
    machines of equal capacity, placement and demand are one *shape*.

    Attributes
    ----------
    residual : (M, R), capacity left on each machine; whole numbers where `exact`.
    units : (N,) increments given to each user so far.
    packing : by position, {user: increments}.
    kind : (N,) kind of each user; demand[kind] is (R,), or (S, R) where it depends on the shape.
    weight : (N,), by which users are compared; with groups multiplied down the tree.
    placed, eligible : (kinds, S) bool, where a kind may run, and where no rule stops it yet.
    capacity, slack : (S, R) by shape.
    most : (N,) increments that the user's limit allows.
    """

    def __init__(
        self, instance: Instance, increment: float, user_rank: Ints, machine_order: Ints
    ) -> None:
        self.instance, self.increment = instance, increment
        self.user_rank: list[int] = user_rank.tolist()
        demand, capacity, slack, self.exact = scaled(instance, increment)
        self.by_server = demand.ndim == 3
        rows = np.repeat(np.arange(len(instance.servers)), instance.count)
        within = np.concatenate([np.arange(k) for k in instance.count])
        self.row: Ints = rows[machine_order]
        self.number: Ints = within[machine_order]
        self.room = None if instance.plain else Room(instance, "filling")
        """what other rules than capacity and limits leave; None where there are none"""
        alike: list[Any] = [demand.reshape(len(demand), -1), instance.eligible]
        # rules tell users and rows apart
        alike += [] if self.room is None else [np.arange(len(demand))]
        first, self.kind = _alike(alike)
        columns: list[Any] = [capacity, instance.eligible[first].T]
        columns += [] if self.room is None else [np.arange(len(capacity))]
        if self.by_server:
            columns.append(demand[first].transpose(1, 0, 2).reshape(len(capacity), -1))
        example, shape_of_row = _alike(columns)
        self.shape: Ints = shape_of_row[self.row]
        self.example: Ints = example
        """(S,) index of one row of each shape"""
        self.user_of_kind: Ints = first
        self.capacity: Floats = capacity[example]
        self.slack: Floats = slack[example]
        self.placed: Bools = np.ascontiguousarray(instance.eligible[first][:, example])
        self.eligible: Bools = self.placed.copy()
        self.demand: Floats = demand[first][:, example] if self.by_server else demand[first]
        self.weight: Floats = leaf_weights(instance) if instance.quotas else instance.weight
        self.total: Floats = (capacity * instance.count[:, None]).sum(axis=0)
        """(R,) capacity of the whole pool"""
        with np.errstate(over="ignore"):
            most = np.floor(instance.limit / increment * (1 + 1e-12))
        self.most: list[float] = most.tolist()
        self.clear()

    def clear(self) -> None:
        """Empty every machine."""
        self.residual: Floats = self.capacity[self.shape]
        self.left: Floats = self.total.copy()
        """(R,) residual of the whole pool"""
        self.units: list[int] = [0] * len(self.instance.users)
        self.packing: dict[int, dict[int, int]] = {}
        self._reopen()

    def _reopen(self) -> None:
        """Every pair is open again, and the rules are used by what is packed."""
        if self.room is not None:
            self.eligible[:] = self.placed
            self.room.clear()
            for position, held in self.packing.items():
                for user, units in held.items():
                    self.room.add(user, int(self.row[position]), units * self.increment)

    def allows(self, user: int, position: int) -> bool:
        """Whether the rules beside capacity and limits allow one more increment; if not, the user
        is not eligible on that row any more."""
        if self.room is None:
            return True
        if self.room.allows(user, int(self.row[position]), self.increment):
            return True
        self.eligible[self.kind[user], self.shape[position]] = False
        return False

    def need(self, kind: int, shape: int) -> Floats:
        """(R,) demand of one increment of a kind on a shape."""
        return np.asarray(self.demand[kind, shape] if self.by_server else self.demand[kind])

    def needs(self, shape: int) -> Floats:
        """(kinds, R) demands on a shape."""
        return self.demand[:, shape] if self.by_server else self.demand

    def fitting(self, position: int) -> Ints:
        """Kinds of which one more increment fits on the machine."""
        s = int(self.shape[position])
        room = self.residual[position] + self.slack[s]
        return np.flatnonzero((self.needs(s) <= room).all(axis=1) & self.eligible[:, s])

    def fits(self, kind: int, position: int) -> bool:
        """Whether one more increment of the kind fits on the machine."""
        s = self.shape[position]
        return bool(
            self.eligible[kind, s]
            and (self.need(kind, s) <= self.residual[position] + self.slack[s]).all()
        )

    def place(self, user: int, position: int) -> None:
        """Place one more increment of the user on the machine."""
        self._change(user, position, 1)

    def take(self, user: int, position: int) -> None:
        """One increment of the user off the machine, which must hold one."""
        self._change(user, position, -1)
        if not self.packing[position][user]:
            del self.packing[position][user]
        self._reopen()

    def remove(self, user: int) -> None:
        """Take back everything the user holds."""
        for position, held in self.packing.items():
            if user in held:
                self._change(user, position, -held[user])
                del held[user]
        self._reopen()

    def _change(self, user: int, position: int, units: int) -> None:
        need = self.need(int(self.kind[user]), int(self.shape[position]))
        if units != 1:
            need = need * units
        if self.room is not None:
            self.room.add(user, int(self.row[position]), units * self.increment)
        self.residual[position] -= need
        self.left -= need
        self.units[user] += units
        held = self.packing.setdefault(position, {})
        held[user] = held.get(user, 0) + units

    def tasks(self) -> Floats:
        """(N, I) tasks on the whole rows."""
        units = np.zeros(self.instance.shape[:2], dtype=np.int64)
        for position, held in self.packing.items():
            row = self.row[position]
            for user, k in held.items():
                units[user, row] += k
        return units * self.increment

    # -- plain data ---------------------------------------------------------------------------

    def machines(self) -> dict[str, list[dict[str, Any]]]:
        """{server: [{"count", "tasks"}]}, an entry per different packing, for rows of count > 1."""
        inst = self.instance
        kinds: dict[int, dict[tuple[tuple[int, int], ...], int]] = {}
        for position, held in sorted(self.packing.items()):
            row = int(self.row[position])
            if inst.count[row] > 1 and held:
                key = tuple(sorted(held.items()))
                of_row = kinds.setdefault(row, {})
                of_row[key] = of_row.get(key, 0) + 1
        return {
            inst.servers[row]: [
                {"count": k, "tasks": {inst.users[n]: u * self.increment for n, u in key}}
                for key, k in of_row.items()
            ]
            for row, of_row in sorted(kinds.items())
        }

    def begin(self, tasks: Floats, packed: dict[str, Any] | None) -> None:
        """Start from an allocation (N, I), its machines packed as in `packed`, else first-fit.

        Raises
        ------
        BadInput : tasks that are not whole increments, or that fit on no machine of their row.
        """
        inst = self.instance
        units = np.rint(tasks / self.increment)
        faults = [
            Fault(
                f"start, {inst.users[n]} on {inst.servers[i]}",
                f"{tasks[n, i]:g} tasks",
                f"a whole multiple >= 0 of {self.increment:g}",
            )
            for n, i in np.argwhere(
                (np.abs(units * self.increment - tasks) > 1e-9 * (1 + np.abs(tasks))) | (units < 0)
            )
        ]
        if faults:
            raise BadInput(faults)
        by_row: dict[int, list[int]] = {}
        for position, row in enumerate(self.row.tolist()):
            by_row.setdefault(row, []).append(position)
        place = {name: n for n, name in enumerate(inst.users)}
        for i, name in enumerate(inst.servers):
            free = by_row[i]
            if packed and name in packed:
                wanted = [
                    {place[u]: round(x / self.increment) for u, x in kind["tasks"].items()}
                    for kind in packed[name]
                    for _ in range(kind["count"])
                ]
                for position, held in zip(free, wanted, strict=False):
                    for n, k in held.items():
                        self._give(n, i, k, [position], faults)
            else:
                for user in np.flatnonzero(units[:, i]).tolist():
                    self._give(user, i, int(units[user, i]), free, faults)
        if faults:
            raise BadInput(faults)

    def _give(self, n: int, i: int, k: int, free: list[int], faults: list[Fault]) -> None:
        kind = int(self.kind[n])
        for position in free:
            while k and self.fits(kind, position) and self.allows(n, position):
                self.place(n, position)
                k -= 1
        if k:
            name = f"start, {self.instance.users[n]} on {self.instance.servers[i]}"
            faults.append(Fault(name, f"{k * self.increment:g} tasks too many", "tasks that fit"))


def rounded(score: float) -> float:
    """A score rounded to 40 bits, so that rounding in its last bits does not break a tie."""
    if not 0 < score < math.inf:
        return score
    part, power = math.frexp(score)
    return math.ldexp(round(part * 2**40), power - 40)


def _alike(columns: Sequence[Any]) -> tuple[Ints, Ints]:
    """(first row of every different kind, kind of every row), kinds in order of appearance."""
    seen: dict[bytes, int] = {}
    first: list[int] = []
    label: list[int] = []
    tables = [np.ascontiguousarray(c) for c in columns]
    for k in range(len(tables[0])):
        key = b"".join(t[k].tobytes() for t in tables)
        if key not in seen:
            seen[key] = len(first)
            first.append(k)
        label.append(seen[key])
    return np.array(first, dtype=np.int64), np.array(label, dtype=np.int64)
