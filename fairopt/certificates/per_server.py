r"""Judges of PS-DSF by its definition's theorems (khamse2016 Theorems 1 and 2).

Both say: every user n has, at every eligible server i, a resource r it demands that is full there
and whose holders have a level s/phi of at most its own. For division of time (TDM) the one resource
is time, of which a task uses 1/gamma[n,i]. A user at its limit needs no bottleneck.

The gap is the largest relative change of a level that would make every condition hold. For user n,
server i, resource r it is the larger of two numbers: the part by which n could grow into what is
left of r, and for the worst holder m the lesser of (how far its level is above n's, relative) and
(what giving up x[m,i] would change: of m's total, and of n's once n has it). A distance from the
limit replaces all of this where it is smaller. What is left of a resource counts beyond the
rounding of the tasks that use it: a user due 1e-12 of a server could grow by 1e-4 into the last
digit of another's tasks, which no floating-point answer can hand out.

A theorem refutes by its own words, so `refuted` here means: infeasible, or a condition fails by
more than `CLEAR`, with the user, server and resource named; between that and 1e-6 it is unproved.
"""

from __future__ import annotations

import math

import numpy as np

from fairopt.allocation import Allocation
from fairopt.certificates.feasibility import feasibility
from fairopt.check import CERTIFIED, REFUTED, UNPROVED, Certificate, Check
from fairopt.instance import Bools, Floats, Instance

TOLERANCE = 1e-6
"""promise P2, for the largest relative change of a level"""
CLEAR = 1e-3
"""a condition that fails by this much is no matter of rounding: refuted"""
ROUNDING = 8 * 2.0**-52
"""part of a resource within which its holders' tasks, products and sums are rounded"""


def judge(alloc: Allocation) -> Certificate:
    """Certificate of `ps-dsf`: Theorem 1 for division "rdm" (default), Theorem 2 for "tdm"."""
    inst = alloc.instance
    checks = list(feasibility(alloc))
    timed = alloc.notion["parameters"].get("division", "rdm") == "tdm"
    if timed:
        part = _time(inst)
        over = (part[:, :, 0] * alloc.tasks).sum(axis=0) - 1.0
        worst = int(np.argmax(over))
        checks.append(
            Check.of("time", max(0.0, float(over[worst])), 1e-9, inst.servers[worst])
        )
        names: tuple[str, ...] = ("time",)
        theorem = "Theorem 2: time is full and goes to the lowest levels"
    else:
        part, names = parts(inst), inst.resources
        theorem = "Theorem 1: a bottleneck for every user at every eligible server"
    amount = np.broadcast_to(alloc.totals[:, None], alloc.tasks.shape)
    return by_bottlenecks(alloc, checks, part, amount, names, theorem)


def parts(inst: Instance) -> Floats:
    """(N, I, R) part of the whole row's resource one task uses; 0 where not eligible."""
    part = np.zeros(inst.shape)
    n, i = inst.pairs
    part[n, i] = inst.pair_demand / np.where(inst.pool > 0, inst.pool, 1.0)[i]
    return part


def _time(inst: Instance) -> Floats:
    """(N, I, 1) part of the row's time one task uses, 1/gamma[n,i]; 0 where not eligible."""
    return (1.0 / np.where(inst.eligible, inst.alone, np.inf))[:, :, None]


def by_bottlenecks(
    alloc: Allocation,
    checks: list[Check],
    part: Floats,
    amount: Floats,
    names: tuple[str, ...],
    theorem: str,
) -> Certificate:
    """The certificate when levels are amount / (phi gamma), whatever amount (N, I) is compared."""
    inst = alloc.instance
    size = inst.weight[:, None] * np.where(inst.eligible, inst.alone, 1.0)
    residual = np.where(inst.eligible, 0.0, -np.inf)
    where = np.zeros(residual.shape, dtype=int)
    for i in range(len(inst.servers)):
        members = np.flatnonzero(inst.eligible[:, i])
        if len(members):
            distance = bottleneck_distance(
                part[members, i], np.maximum(alloc.tasks[members, i], 0.0), amount[members, i],
                amount[members, i] / size[members, i],
            )  # fmt: skip
            where[members, i] = np.argmin(distance, axis=1)
            residual[members, i] = distance.min(axis=1)
    with np.errstate(over="ignore"):
        short = np.maximum(0.0, 1.0 - alloc.totals / inst.limit)
    residual = np.minimum(residual, short[:, None])
    n, i = divmod(int(np.argmax(residual)), residual.shape[1])
    witness = ""
    if residual[n, i] > 0:
        witness = f"{inst.users[n]} at {inst.servers[i]}, nearest bottleneck {names[where[n, i]]}"
    checks.append(Check.of(theorem, float(residual[n, i]), TOLERANCE, witness))
    worst = float(residual[n, i])
    notes = _notes(alloc, residual, where, names, short <= TOLERANCE)
    return Certificate(verdict(checks, worst), worst, worst, checks=tuple(checks), notes=notes)


def verdict(checks: list[Check], worst: float) -> str:
    """certified when all checks hold; refuted when infeasible or clearly against the definition."""
    if all(check.holds for check in checks):
        return CERTIFIED
    feasible = all(check.holds for check in checks[:-1])
    return REFUTED if not feasible or worst > CLEAR else UNPROVED


def bottleneck_distance(part: Floats, held: Floats, amount: Floats, level: Floats) -> Floats:
    """(K, R) how far r is from being user n's bottleneck on one server; inf if not demanded.

    Parameters
    ----------
    part : (K, R) part of the server's resource one task uses.
    held : (K,) tasks here. amount : (K,) tasks that make the level. level : (K,).
    """
    distance = np.full(part.shape, np.inf)
    left = _left(part, held)
    for r in range(part.shape[1]):
        user = np.flatnonzero(part[:, r] > 0)
        own = part[user, r] * amount[user]
        with np.errstate(divide="ignore", invalid="ignore"):
            room = np.where(left[r] > 0, left[r] / np.minimum(own, 1.0), 0.0)
        above = _above(part[user, r] * held[user], held[user] > 0, amount[user], level[user], own)
        distance[user, r] = np.maximum(room, above * (held[user] @ part[user, r] > 0))
    return distance


def _left(part: Floats, held: Floats) -> Floats:
    """(R,) part of each resource that is left, 0 within rounding; where near, summed exactly."""
    left = np.maximum(0.0, 1.0 - held @ part)
    for r in np.flatnonzero((left > 0) & (left < 1e-9)):
        left[r] = max(0.0, 1.0 - math.fsum((held * part[:, r]).tolist()))
    left[left <= ROUNDING] = 0.0
    return left


def _above(use: Floats, holds: Bools, amount: Floats, level: Floats, own: Floats) -> Floats:
    """(K,) how far the worst holder is above each user: by level, or by what it would give up."""
    if not holds.any():
        return np.zeros(len(level))
    top = float(level[holds].max())
    far = 1.0 - level / top if top > 0 else np.zeros(len(level))
    far = np.maximum(far, 0.0)
    # only where the highest holder is too high must the holders be told apart
    m = np.flatnonzero(holds)
    m = m[np.argsort(-level[m], kind="stable")]
    with np.errstate(divide="ignore", invalid="ignore"):
        given = use[m] / np.where(own[m] > 0, own[m], 1.0)
        for n in np.flatnonzero(far > 1e-9):
            higher = m[: np.searchsorted(-level[m], -level[n])]
            apart = 1.0 - level[n] / level[higher]
            felt = np.where(own[n] > 0, use[higher] / own[n], np.inf)
            moved = np.minimum(apart, np.maximum(given[: len(higher)], felt))
            far[n] = float(moved.max()) if len(moved) else 0.0
    return far


def _notes(
    alloc: Allocation, residual: Floats, where: object, names: tuple[str, ...], capped: Bools
) -> tuple[str, ...]:
    """Who is stopped by what, for up to twenty users."""
    inst = alloc.instance
    best = np.asarray(where)
    notes = []
    for n in range(min(len(inst.users), 20)):
        if capped[n]:
            notes.append(f"{inst.users[n]} is at its limit")
            continue
        stops = [
            f"{names[best[n, i]]} on {inst.servers[i]}"
            for i in np.flatnonzero(inst.eligible[n])
            if residual[n, i] <= TOLERANCE
        ]
        if stops:
            notes.append(f"{inst.users[n]} is stopped by {', '.join(stops[:6])}")
    if len(inst.users) > 20:
        notes.append(f"and {len(inst.users) - 20} users more")
    return tuple(notes)
