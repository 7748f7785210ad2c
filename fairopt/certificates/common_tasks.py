"""Judges of the programs (9) and (10) of kesidis2016, by prices (weak duality of linear programs).

Any prices p >= 0 of capacity and mu >= 0 of limits at which every task costs at least its gain (its
coefficient in the objective) bound the objective; the gap is bound / objective - 1. A gap is a sum,
in which a user of small gain is lost. So the residual is computed for every single user, as at
alpha = 0: it cannot be given more, its gain is at most the prices of what is full for it, and it
pays no more than its gain. Only infeasible answers are refuted and, for (9), answers below the
equal level.
"""

from __future__ import annotations

import numpy as np

from fairopt.allocation import Allocation
from fairopt.allocation.check import CERTIFIED, REFUTED, UNPROVED, Certificate, Check
from fairopt.certificates.feasibility import feasibility
from fairopt.certificates.money import backed_cheapest, left_over, misplaced, steady, task_price
from fairopt.certificates.proof import measure
from fairopt.certificates.tolerance import TOLERANCE
from fairopt.formulas import rows
from fairopt.instance import Floats, Instance


def judge_sum(alloc: Allocation) -> Certificate:
    """Certificate of `sum-m`: max sum M_n / phi_n, M_n the fewest tasks on an eligible machine.

    That is throughput on one server that has the resources of all servers: M_n tasks there use what
    M_n tasks on each of the user's machines use. Tasks held beyond M_n count as free capacity.
    """
    return _verdict(alloc, list(feasibility(alloc)), *measure(everywhere(alloc)))


def everywhere(alloc: Allocation) -> Allocation:
    """An answer of `sum-m` as one of throughput, M_n tasks on one server of all resources."""
    inst = alloc.instance
    machines = inst.eligible * inst.count
    least = np.where(inst.eligible, alloc.tasks / inst.count, np.inf).min(axis=1)
    price, mu = _prices(alloc)
    part = inst.part_of_row() * machines[:, :, None]
    gain = 1.0 / inst.weight
    one = Instance(
        part.reshape(len(part), -1),
        np.ones((1, inst.pool.size)),
        weight=gain / gain.max(),
        limit=inst.limit / machines.sum(axis=1),
        users=inst.users,
    )
    return Allocation(
        one,
        {"name": "throughput"},
        np.maximum(least, 0.0)[:, None],
        (price * inst.pool).reshape(1, -1),
        mu * machines.sum(axis=1),
    )


def judge_equal(alloc: Allocation) -> Certificate:
    """Certificate of `equal-m`: M_n >= phi_n M for the largest M, then the largest total."""
    inst = alloc.instance
    once = inst.weight[:, None] * inst.eligible * inst.count
    part = inst.part_of_row()
    use = np.einsum("ni,nir->ir", once, part)
    level = 1.0 / max(float(use.max()), float((once.sum(axis=1) / inst.limit).max()))
    base = level * once
    below = np.where(inst.eligible, 1.0 - alloc.tasks / np.where(base > 0, base, 1.0), 0.0)
    n, i = divmod(int(np.argmax(below)), below.shape[1])
    checks = list(feasibility(alloc))
    witness = f"{inst.users[n]} at {inst.servers[i]}" if below[n, i] > 0 else ""
    checks.append(Check.of("the equal level on every pool", max(0.0, below[n, i]), 1e-9, witness))
    if alloc.kind["parameters"].get("mix") == "free":
        return _free(alloc, checks, base)
    gain = np.where(inst.eligible, part.sum(axis=2) * inst.count / inst.weight[:, None], 1.0)
    price, mu = _prices(alloc)
    priced = alloc.with_(prices=price, limit_prices=mu, score=gain)
    return _verdict(alloc, checks, *_of_what_is_above(priced, base))


def _of_what_is_above(alloc: Allocation, base: Floats) -> tuple[float, float]:
    """(gap, residual) of the tasks above the equal level, where the score is the gain of a task.

    Prices are scaled to be the lowest at which the full resources of every user cost its gain. The
    gap is relative to the whole objective. The residual is the most that any user pays above the
    gain of its tasks above the level, or holds where they clearly cost more than the gain,
    relative to its whole share.
    """
    inst = alloc.instance
    cheapest = float(backed_cheapest(alloc).min())
    if not 0 < cheapest < np.inf:
        return np.inf, np.inf
    assert alloc.prices is not None and alloc.limit_prices is not None
    above = np.where(inst.eligible, np.maximum(alloc.tasks - base, 0.0), 0.0)
    over, gains = np.zeros(len(inst.users)), np.zeros(len(inst.users))
    for users in inst.blocks():
        dear = np.maximum(task_price(alloc, users) / cheapest - alloc.score[users], 0.0)
        over[users] = rows.total(dear * above[users])
        gains[users] = rows.total(alloc.score[users] * base[users])
    left = left_over(inst, inst.used(base))
    finite = np.isfinite(inst.limit)
    spare = np.maximum(inst.limit - base.sum(axis=1), 0.0)[finite]
    money = float((alloc.prices * left).sum() + alloc.limit_prices[finite] @ spare) / cheapest
    bound = (float(gains.sum()) + money) / float(alloc.shares.sum())
    away = misplaced(alloc, above, np.full(len(over), cheapest))
    return bound - 1.0, float(np.maximum(over / alloc.shares, away).max())


def _free(alloc: Allocation, checks: list[Check], base: Floats) -> Certificate:
    """The certificate of `equal-m` with mix="free", where what M leaves may be shared in any mix.

    The total is largest if and only if every resource left goes to the users of least weight among
    those who demand it. So a user may have tasks beyond the level only where something is left of
    every resource it demands, and no lighter user demands that resource.
    """
    inst, part = alloc.instance, alloc.instance.part_of_row()
    left = 1.0 - np.einsum("ni,nir->ir", base, part)
    weight = inst.weight[:, None, None]
    lightest = np.where(part > 0, weight, np.inf).min(axis=0)
    heavy = (part > 0) & ((weight > lightest * (1 + 1e-9)) | (left <= 1e-9))
    more = np.maximum(0.0, alloc.tasks / np.where(base > 0, base, 1.0) - 1.0)
    more = np.where(inst.eligible & heavy.any(axis=2), more, 0.0)
    n, i = divmod(int(np.argmax(more)), more.shape[1])
    witness = f"{inst.users[n]} at {inst.servers[i]}" if more[n, i] > 0 else ""
    worst = float(more[n, i])
    checks.append(Check.of("what is left goes to the lightest", worst, TOLERANCE, witness))
    verdict = CERTIFIED if all(c.holds for c in checks) else REFUTED
    return Certificate(verdict, worst, worst, checks=tuple(checks))


def _prices(alloc: Allocation) -> tuple[Floats, Floats]:
    """Prices and limit prices of the answer; if it has none, equal money for every resource."""
    inst = alloc.instance
    if alloc.prices is None:
        even = np.divide(1.0, inst.pool, out=np.zeros_like(inst.pool), where=inst.pool > 0)
        alloc = alloc.with_(prices=even)
    alloc = steady(alloc)
    assert alloc.prices is not None
    mu = np.zeros(len(inst.users)) if alloc.limit_prices is None else alloc.limit_prices
    return alloc.prices, np.where(np.isfinite(inst.limit), mu, 0.0)


def _verdict(alloc: Allocation, checks: list[Check], gap: float, residual: float) -> Certificate:
    gap = max(0.0, gap) if np.isfinite(gap) else float("inf")
    feasible = all(check.holds for check in checks)
    checks.append(Check.of("optimal, by prices", gap, TOLERANCE))
    checks.append(Check.of("every user, by prices", residual, TOLERANCE))
    verdict = REFUTED if not feasible else UNPROVED
    if all(check.holds for check in checks):
        verdict = CERTIFIED
    return Certificate(verdict, gap, residual, checks=tuple(checks))
