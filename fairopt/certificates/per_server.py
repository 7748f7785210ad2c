r"""Judge of PS-DSF by Theorems 1 and 2 of Khamse-Ashari et al. 2016 (khamse2016).

Both theorems say: every user n has, at every eligible server i, a bottleneck: a resource r that it
demands, that is full there, and whose holders all have a level s/phi of at most its own. For
division of time (TDM, Theorem 2) the only resource is time, of which a task uses 1/gamma[n,i]. A
user at its limit needs no bottleneck.

The gap is the largest relative change of a level that would make every condition hold. For user n,
server i and resource r it is the larger of two numbers.

1. What n is short of: the part by which its level would rise if it took what is left of r and, from
   every holder above it, as much of r as brings that holder down to the level where they meet. So
   many holders that are a little above n are added up. What n is short of on several servers is
   added up, too.
2. What a single holder m has too much: the smaller of the relative distance of its level above n's
   and of the relative change that giving up x[m,i] would make (to m's total, and to n's total once
   n has it).

If the relative distance of n from its limit is smaller, that counts instead. What is left of a
resource counts only beyond the rounding of the tasks that use it: with 1e-12 of a server due to it,
a user could grow by 1e-4 into the last digit of another's tasks, which no floating-point answer can
hand out.

The theorems are "if and only if", so `refuted` means here: infeasible, or a condition fails by more
than `CLEAR`, with user, server and resource named. Between 1e-6 and `CLEAR` it is unproved.
"""

from __future__ import annotations

import math

import numpy as np

from fairopt.allocation import Allocation
from fairopt.allocation.check import CERTIFIED, REFUTED, UNPROVED, Certificate, Check
from fairopt.certificates.feasibility import feasibility
from fairopt.certificates.tolerance import ROUNDING, TOLERANCE
from fairopt.instance import Bools, Floats

CLEAR = 1e-3
"""an answer that fails a condition by more than this is refuted: rounding cannot explain it"""


def judge(alloc: Allocation) -> Certificate:
    """Certificate of `ps-dsf`: Theorem 1 for division "rdm" (default), Theorem 2 for "tdm"."""
    inst = alloc.instance
    checks = list(feasibility(alloc))
    timed = alloc.kind["parameters"].get("division", "rdm") == "tdm"
    if timed:
        part = inst.part_of_time()
        over = (part[:, :, 0] * alloc.tasks).sum(axis=0) - 1.0
        worst = int(np.argmax(over))
        checks.append(Check.of("time", max(0.0, float(over[worst])), 1e-9, inst.servers[worst]))
        names: tuple[str, ...] = ("time",)
        theorem = "Theorem 2: time is full and goes to the lowest levels"
    else:
        part, names = inst.part_of_row(), inst.resources
        theorem = "Theorem 1: a bottleneck for every user at every eligible server"
    amount = np.broadcast_to(alloc.totals[:, None], alloc.tasks.shape)
    limited = np.broadcast_to(to_limit(alloc)[:, None], alloc.tasks.shape)
    return by_bottlenecks(alloc, checks, part, amount, names, theorem, limited)


def by_bottlenecks(
    alloc: Allocation,
    checks: list[Check],
    part: Floats,
    amount: Floats,
    names: tuple[str, ...],
    theorem: str,
    limited: Floats,
) -> Certificate:
    """The certificate for levels amount[n,i] / (phi_n gamma[n,i]).

    Parameters
    ----------
    checks : those made so far (feasibility).
    part : (N, I, R) part of the row's resource that one task uses.
    amount : (N, I) tasks that count for the level: the user's total for PS-DSF, the tasks on the
        server for DRF on every server.
    names : of the R resources. theorem : the name of the check.
    limited : (N, I) relative distance from being stopped on that server by the limit.
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
                part[members, i],
                np.maximum(alloc.tasks[members, i], 0.0),
                amount[members, i],
                amount[members, i] / size[members, i],
            )
            where[members, i] = np.argmin(distance, axis=1)
            residual[members, i] = distance.min(axis=1)
            least = np.arange(len(members)), rise.argmin(axis=1)
            short[members, i], left[members, i] = rise[least], lack[least]
            above[members, i] = apart[least]
    # what a user is short of on several servers is added up, but not beyond the highest holder:
    # above that it can rise only by what is left
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
    """(N,) relative distance of each user from its limit."""
    with np.errstate(over="ignore"):
        return np.maximum(0.0, 1.0 - alloc.totals / alloc.instance.limit)


def verdict(checks: list[Check], worst: float) -> str:
    """CERTIFIED if all checks hold, REFUTED if infeasible or `worst` > CLEAR, else UNPROVED."""
    if all(check.holds for check in checks):
        return CERTIFIED
    feasible = all(check.holds for check in checks[:-1])
    return REFUTED if not feasible or worst > CLEAR else UNPROVED


def bottleneck_distance(
    part: Floats, held: Floats, amount: Floats, level: Floats
) -> tuple[Floats, Floats, Floats, Floats]:
    """(K, R) how far r is from being a bottleneck of each of K users on one server; inf if unused.

    Also, each (K, R): what the user is short of, what is left of r relative to what it uses for its
    level, and how far its level is below the highest holder's, relative to its own.

    Parameters
    ----------
    part : (K, R) part of the server's resource one task uses.
    held : (K,) tasks on the server. amount : (K,) tasks that count for the level. level : (K,).
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
    """(R,) part of each resource that is left, 0 within rounding; summed exactly if close to 0."""
    left = np.maximum(0.0, 1.0 - held @ part)
    for r in np.flatnonzero((left > 0) & (left < 1e-9)):
        left[r] = max(0.0, 1.0 - math.fsum((held * part[:, r]).tolist()))
    left[left <= ROUNDING] = 0.0
    return left


def _above(use: Floats, holds: Bools, amount: Floats, level: Floats, own: Floats) -> Floats:
    """(K,) what the worst single holder above each user has too much (point 2 of the module)."""
    if not holds.any():
        return np.zeros(len(level))
    top = float(level[holds].max())
    far = 1.0 - level / top if top > 0 else np.zeros(len(level))
    far = np.maximum(far, 0.0)
    # holders are compared one by one only for users who are below the highest
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
    """(K,) part by which each user's level would rise (point 1 of the module).

    To come down from its level l to z a holder gives own (1 - z/l), at most its use. What all give
    is G(z), piecewise linear with corners where a holder starts or stops giving. G is summed from
    the highest corner down, so that every term is positive and nothing cancels.

    Parameters
    ----------
    use : (K,) part of the resource held on the server. own : (K,) part of it that all tasks that
        count for the level would use. left : part of the resource that is left.
    """
    m = np.flatnonzero((use > 0) & (level > 0))
    rate = own[m] / level[m]
    corner = np.concatenate([level[m], level[m] * (1.0 - np.minimum(use[m] / own[m], 1.0)), [0.0]])
    order = np.argsort(-corner, kind="stable")
    corner = corner[order]
    slope = np.maximum(np.cumsum(np.concatenate([rate, -rate, [0.0]])[order]), 0.0)
    given = np.concatenate([[0.0], np.cumsum(-np.diff(corner) * slope[:-1])])
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        # the first corner at which the user would be given more than it needs: they meet above it
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
    """What stops each user, in words, for up to twenty users."""
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
