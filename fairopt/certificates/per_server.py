r"""Judges of PS-DSF by its definition's theorems (khamse2016 Theorems 1 and 2).

Both say: every user n has, at every eligible server i, a resource r it demands that is full there
and whose holders have a level s/phi of at most its own. For division of time (TDM) the one resource
is time, of which a task uses 1/gamma[n,i]. A user at its limit needs no bottleneck.

The gap is the largest relative change of a level that would make every condition hold. For user n,
server i, resource r it is the larger of two numbers. What n is short of there: by which part of its
level it would rise if it took what is left of r and, from every holder above it, what brings that
holder down to the level where they meet, at most what it holds of r; many holders a little above
are summed. And what one holder m has too much: the lesser of (how far its level is above n's,
relative) and (what giving up x[m,i] would change: of m's total, and of n's once n has it). What n
is short of on its servers is added up, too. A distance from the limit replaces all of this
where it is smaller. What is left of a resource counts beyond the
rounding of the tasks that use it: a user due 1e-12 of a server could grow by 1e-4 into the last
digit of another's tasks, which no floating-point answer can hand out.

A theorem refutes by its own words, so `refuted` here means: infeasible, or a condition fails by
more than `CLEAR`, with the user, server and resource named; between that and 1e-6 it is unproved.
"""

from __future__ import annotations

import math

import numpy as np

from fairopt.allocation import Allocation
from fairopt.allocation.check import CERTIFIED, REFUTED, UNPROVED, Certificate, Check
from fairopt.certificates.feasibility import feasibility
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
    timed = alloc.kind["parameters"].get("division", "rdm") == "tdm"
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
    limited = np.broadcast_to(to_limit(alloc)[:, None], alloc.tasks.shape)
    return by_bottlenecks(alloc, checks, part, amount, names, theorem, limited)


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
    limited: Floats,
) -> Certificate:
    """The certificate when levels are amount / (phi gamma), whatever amount (N, I) is compared.

    Parameters
    ----------
    limited : (N, I) how far the user is from being stopped there by its limit, relative.
    """
    inst = alloc.instance
    size = inst.weight[:, None] * np.where(inst.eligible, inst.alone, 1.0)
    residual = np.where(inst.eligible, 0.0, -np.inf)
    short, left, above = (np.zeros(residual.shape) for _ in range(3))
    where = np.zeros(residual.shape, dtype=int)
    for i in range(len(inst.servers)):
        members = np.flatnonzero(inst.eligible[:, i])
        if len(members):
            distance, rise, lack, apart = bottleneck_distance(
                part[members, i], np.maximum(alloc.tasks[members, i], 0.0), amount[members, i],
                amount[members, i] / size[members, i],
            )  # fmt: skip
            where[members, i] = np.argmin(distance, axis=1)
            residual[members, i] = distance.min(axis=1)
            least = np.arange(len(members)), rise.argmin(axis=1)
            short[members, i], left[members, i] = rise[least], lack[least]
            above[members, i] = apart[least]
    # what a user lacks on many servers, a little on each, it lacks together; but once it has risen
    # above every holder only what is left can lift it on
    part_of_all = amount / np.where(alloc.totals > 0, alloc.totals, 1.0)[:, None]
    summed, idle, apart = (
        np.where(amount > 0, np.minimum(lacked, limited) * part_of_all, 0.0)
        for lacked in (short, left, above)
    )
    top = np.maximum(apart.max(axis=1), idle.sum(axis=1))
    together = np.minimum(summed.sum(axis=1), top)[:, None]
    residual = np.minimum(residual, limited)
    residual = np.where(inst.eligible, np.maximum(residual, together), residual)
    n, i = divmod(int(np.argmax(residual)), residual.shape[1])
    witness = ""
    if residual[n, i] > 0:
        witness = f"{inst.users[n]} at {inst.servers[i]}, nearest bottleneck {names[where[n, i]]}"
    checks.append(Check.of(theorem, float(residual[n, i]), TOLERANCE, witness))
    worst = float(residual[n, i])
    notes = _notes(alloc, residual, where, names, to_limit(alloc) <= TOLERANCE)
    return Certificate(verdict(checks, worst), worst, worst, checks=tuple(checks), notes=notes)


def to_limit(alloc: Allocation) -> Floats:
    """(N,) how far each user is from its limit, relative."""
    with np.errstate(over="ignore"):
        return np.maximum(0.0, 1.0 - alloc.totals / alloc.instance.limit)


def verdict(checks: list[Check], worst: float) -> str:
    """certified when all checks hold; refuted when infeasible or clearly against the definition."""
    if all(check.holds for check in checks):
        return CERTIFIED
    feasible = all(check.holds for check in checks[:-1])
    return REFUTED if not feasible or worst > CLEAR else UNPROVED


def bottleneck_distance(
    part: Floats, held: Floats, amount: Floats, level: Floats
) -> tuple[Floats, Floats, Floats, Floats]:
    """(K, R) how far r is from being user n's bottleneck on one server; inf if not demanded.

    Also (K, R) how much of that the user is short of, what is left of r as a part of its own, and
    how far its level is below the highest holder's, relative to its own.

    Parameters
    ----------
    part : (K, R) part of the server's resource one task uses.
    held : (K,) tasks here. amount : (K,) tasks that make the level. level : (K,).
    """
    distance, short, lack, apart = (np.full(part.shape, np.inf) for _ in range(4))
    left = left_of(part, held)
    for r in range(part.shape[1]):
        user = np.flatnonzero(part[:, r] > 0)
        own = part[user, r] * amount[user]
        with np.errstate(divide="ignore", invalid="ignore"):
            room = np.where(left[r] > 0, left[r] / np.minimum(own, 1.0), 0.0)
        use = part[user, r] * held[user]
        above = _above(use, held[user] > 0, amount[user], level[user], own)
        short[user, r] = _rise(use, level[user], own, float(left[r]))
        top = np.where(use > 0, level[user], 0.0).max(initial=0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            lack[user, r] = np.where(left[r] > 0, left[r] / own, 0.0)
            apart[user, r] = np.where(top > level[user], top / level[user] - 1.0, 0.0)
        distance[user, r] = np.maximum(np.maximum(room, short[user, r]), above * (use.sum() > 0))
    return distance, short, lack, apart


def left_of(part: Floats, held: Floats) -> Floats:
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


def _rise(use: Floats, level: Floats, own: Floats, left: float) -> Floats:
    """(K,) part by which each user's level would rise if it took what is left and, from every
    holder above, what brings that holder down to the level where they meet.

    A holder of level l gives own (1 - z/l) at the level z, at most its use, so that all give G(z),
    piecewise linear with its corners where a holder begins and ends to give. G is summed from the
    highest corner down, where every term is positive and nothing cancels.

    Parameters
    ----------
    use : (K,) part of the resource held here. own : (K,) part that all that makes the level would
        use. left : part of the resource that is left.
    """
    m = np.flatnonzero((use > 0) & (level > 0))
    rate = own[m] / level[m]
    corner = np.concatenate([level[m], level[m] * (1.0 - np.minimum(use[m] / own[m], 1.0)), [0.0]])
    order = np.argsort(-corner, kind="stable")
    corner = corner[order]
    slope = np.maximum(np.cumsum(np.concatenate([rate, -rate, [0.0]])[order]), 0.0)
    given = np.concatenate([[0.0], np.cumsum(-np.diff(corner) * slope[:-1])])
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        # the first corner at which the user has less than it is given: they met just above it
        low, high = np.zeros(len(level), dtype=int), np.full(len(level), len(corner) - 1)
        while (low < high).any():
            k = (low + high) // 2
            met = own * (corner[k] / level - 1.0) <= left + given[k]
            low, high = np.where(met, low, k + 1), np.where(met, k, high)
        k = np.maximum(low - 1, 0)
        down = own * (corner[k] / level - 1.0) - left - given[k]
        rise = (corner[k] - np.maximum(down, 0.0) / (slope[k] + own / level)) / level - 1.0
        rise = np.where(low == 0, left / own, np.maximum(rise, left / own))
    nothing = left + given[-1] <= 0
    return np.where(own > 0, np.maximum(rise, 0.0), 0.0 if nothing else np.inf)


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
