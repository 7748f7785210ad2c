"""Judge of progressive filling: tasks are whole, fit machine by machine, and no further task fits.

It proves that no task can be added to the packing. It does not prove that the scheduler kept its
order. The packing of the single machines is read from steps[...]["machines"].
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from fairopt.allocation import Allocation
from fairopt.allocation.check import CERTIFIED, REFUTED, UNPROVED, Certificate, Check
from fairopt.certificates.own import kept
from fairopt.certificates.tolerance import FEASIBLE
from fairopt.exact import as_printed
from fairopt.formulas.room import Room
from fairopt.instance import Bools, Floats, Instance

_WHOLE = 1e-9
SAME_SHAPE = 1e-9
"""differences of shape that are equal but for rounding"""


class _Packing(NamedTuple):
    """`machines` machines of row `row`, each of which holds `tasks`: {user position: tasks}."""

    row: int
    machines: int
    tasks: dict[int, float]


def judge(alloc: Allocation) -> Certificate:
    """Judge an answer of progressive filling.

    Checks: feasibility of the rows; tasks are whole multiples of the increment; the packing stated
    for rows of several machines adds up and keeps the capacity of every machine; no further task of
    a user below its limit fits on any machine. With best-fit-any, whose rule passes a user over
    although another machine has room for it: no further task fits on the user's best match.

    Returns
    -------
    Certificate : "refuted" if one more task fits (adding it gives a better allocation); "unproved"
        if another check fails, or if the packing of a row of several machines is not stated. `gap`
        is the largest relative rise of a user's tasks that one more task would be.
    """
    inst = alloc.instance
    parameters = alloc.notion["parameters"]
    step = float(parameters.get("increment", 1.0))
    room = None if inst.plain else Room(inst, "whole tasks")
    checks = list(kept(alloc))
    if not np.isfinite(alloc.tasks / step).all():
        checks.append(Check.of(f"whole multiples of {step:g}", np.inf, _WHOLE))
        return Certificate(UNPROVED, np.inf, np.inf, checks=tuple(checks))
    off = np.abs(alloc.tasks / step - np.rint(alloc.tasks / step)) / (1 + alloc.tasks / step)
    n, i = np.unravel_index(int(off.argmax()), off.shape)
    place = f"{inst.users[n]} at {inst.servers[i]}" if off[n, i] > 0 else ""
    checks.append(Check.of(f"whole multiples of {step:g}", float(off.max()), _WHOLE, place))
    packings, missing = _packings(alloc, step, checks)
    notes: list[str] = []
    if missing:
        notes.append(
            f"how the machines of {', '.join(missing[:3])} are packed is not stated: their single "
            "machines are not judged"
        )
    gap = 0.0
    passing = parameters.get("selection") == "best-fit-any"
    if passing:
        notes.append("best-fit-any passes users over: only on best matches nothing more fits")
    found = _one_more(alloc, packings, step, passing, _open(alloc, room, step))
    if found is not None:
        user, server = found
        held = float(alloc.totals[user])
        gap = step / held if held > 0 else np.inf
        name = f"one more task of {inst.users[user]} fits at {inst.servers[server]}"
        checks.append(Check.of("nothing more fits", 1.0, 0.0, name))
    else:
        checks.append(Check.of("nothing more fits", 0.0, 0.0))
    sound = all(check.holds for check in checks if check.name != "nothing more fits")
    if gap > 0 and sound:
        verdict = REFUTED
    else:
        verdict = CERTIFIED if sound and gap == 0 and not missing else UNPROVED
    bad = [check.residual for check in checks if not check.holds]
    return Certificate(
        verdict, gap, max(bad, default=0.0), checks=tuple(checks), notes=tuple(notes)
    )


def _packings(
    alloc: Allocation, step: float, checks: list[Check]
) -> tuple[list[_Packing], list[str]]:
    """The packings of all machines, also empty ones; and the rows whose packing is not stated."""
    inst = alloc.instance
    stated: dict[str, Any] = {}
    for entry in alloc.steps:
        stated = entry.get("machines", stated)
    place = {name: n for n, name in enumerate(inst.users)}
    found: list[_Packing] = []
    missing: list[str] = []
    worst_sum, sum_at, worst_use, use_at = 0.0, "", 0.0, ""
    for i, name in enumerate(inst.servers):
        count = int(inst.count[i])
        held = {int(n): float(alloc.tasks[n, i]) for n in np.flatnonzero(alloc.tasks[:, i])}
        if count == 1 or not held:
            found.append(_Packing(i, count, held))
            continue
        if name not in stated:
            missing.append(name)
            continue
        mine = [
            _Packing(i, int(k["count"]), {place[u]: float(x) for u, x in k["tasks"].items()})
            for k in stated[name]
        ]
        total = np.zeros(len(inst.users))
        for packing in mine:
            for n, x in packing.tasks.items():
                total[n] += packing.machines * x
            use = -_room(inst, packing) / np.where(inst.capacity[i] > 0, inst.capacity[i], 1.0)
            if float(use.max()) > worst_use:
                worst_use, use_at = float(use.max()), f"a machine of {name}"
        machines = sum(packing.machines for packing in mine)
        off = float(np.abs(total - alloc.tasks[:, i]).max()) / step
        off = np.inf if machines > count or any(k.machines < 1 for k in mine) else off
        negative = any(x < 0 for k in mine for x in k.tasks.values())
        if off > worst_sum or negative:
            worst_sum, sum_at = (np.inf if negative else off), name
        found.extend(mine)
        if machines < count:
            found.append(_Packing(i, count - machines, {}))
    if stated or (inst.count > 1).any():
        checks.append(Check.of("packing adds up", worst_sum, _WHOLE, sum_at))
        checks.append(Check.of("capacity of every machine", worst_use, FEASIBLE, use_at))
    return found, missing


def _demand(inst: Instance, row: int) -> Floats:
    """(N, R) demand of one task on a row."""
    return np.asarray(inst.demand if inst.demand.ndim == 2 else inst.demand[:, row])


def _room(inst: Instance, packing: _Packing) -> Floats:
    """(R,) what is left on one machine of the packing; negative if its capacity is exceeded."""
    room: Floats = inst.capacity[packing.row].copy()
    demand = _demand(inst, packing.row)
    for n, x in packing.tasks.items():
        room = room - x * demand[n]
    return room


def _open(alloc: Allocation, room: Room | None, step: float) -> Bools:
    """(N, I) where a user may run and no rule but capacity and limits forbids one task more."""
    inst = alloc.instance
    if room is None:
        return inst.eligible
    for n, i in np.argwhere((alloc.tasks > 0) & inst.eligible).tolist():
        room.add(n, i, float(alloc.tasks[n, i]))
    found = np.zeros(inst.shape[:2], dtype=bool)
    for n, i in np.argwhere(inst.eligible).tolist():
        found[n, i] = room.allows(n, i, step)
    return found


def _one_more(
    alloc: Allocation, packings: list[_Packing], step: float, passing: bool, may: Bools
) -> tuple[int, int] | None:
    """(user, row) of a task that still fits, if there is one.

    Parameters
    ----------
    passing : whether a user whose best match is full is passed over.
    may : (N, I) where a user may run one task more.
    """
    inst = alloc.instance
    below = alloc.totals + step <= inst.limit * (1 + 1e-12)
    rooms = [_room(inst, packing) for packing in packings]
    for packing, room in zip(packings, rooms, strict=True):
        for n in np.flatnonzero(below & may[:, packing.row]).tolist():
            if not _fits(inst, packing, room, n, step):
                continue
            if not passing:
                return n, packing.row
            below[n] = False  # decided by its best match alone
            match = _match(inst, packings, rooms, n, step, may[n])
            if all(_fits(inst, packings[k], rooms[k], n, step) for k in match):
                return n, packings[match[0]].row
    return None


def _match(
    inst: Instance,
    packings: list[_Packing],
    rooms: list[Floats],
    user: int,
    step: float,
    may: Bools,
) -> list[int]:
    """The machines, one of which is the user's best match: of least difference in shape, by
    sum_r |d_r/d_1 - c_r/c_1|, d the demand and c the room in parts of the pool, 1 the first
    resource that the user demands (DRFH)."""
    total = inst.pool.sum(axis=0)
    total = np.where(total > 0, total, 1.0)
    demands = inst.demand[user].reshape(-1, inst.shape[2])
    one = int(np.flatnonzero(demands.max(axis=0) > 0)[0])
    there = [k for k, packing in enumerate(packings) if may[packing.row]]
    off, unsure = np.full(len(there), np.inf), np.zeros(len(there), dtype=bool)
    for at, k in enumerate(there):
        need, have = _demand(inst, packings[k].row)[user] / total, rooms[k] / total
        if have[one] > SAME_SHAPE and need[one] > 0:
            off[at] = float(np.abs(need / need[one] - have / have[one]).sum())
        elif have[one] != 0:  # a shape of nothing but rounding, if it is not nothing
            unsure[at] = (
                abs(have[one]) <= SAME_SHAPE and _exact_room(inst, packings[k], one, step) != 0
            )
    near = (off <= off.min() * (1 + SAME_SHAPE) + SAME_SHAPE) | unsure
    return [k for k, close in zip(there, near, strict=True) if close]


def _fits(inst: Instance, packing: _Packing, room: Floats, user: int, step: float) -> bool:
    """Whether one more task fits; if that is exact within rounding, by the numbers as decimals."""
    need, band = _demand(inst, packing.row)[user] * step, 1e-9 * inst.capacity[packing.row]
    if not (need <= room + band).all():
        return False
    return bool((need <= room - band).all()) or _fits_exactly(inst, packing, user, step)


def _fits_exactly(inst: Instance, packing: _Packing, user: int, step: float) -> bool:
    more = packing._replace(tasks={**packing.tasks, user: packing.tasks.get(user, 0.0) + step})
    return all(_exact_room(inst, more, r, step) >= 0 for r in range(inst.shape[2]))


def _exact_room(inst: Instance, packing: _Packing, r: int, step: float) -> Fraction:
    """What is left of a resource, all numbers taken as the decimals that they print as."""
    demand, size = _demand(inst, packing.row), as_printed(step)
    used = sum(
        (as_printed(demand[n, r]) * round(x / step) for n, x in packing.tasks.items()),
        Fraction(),
    )
    return as_printed(inst.capacity[packing.row, r]) - used * size
