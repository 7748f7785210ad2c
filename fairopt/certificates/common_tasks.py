"""Judges of the programs (9) and (10) of kesidis2016, by prices (weak duality of linear programs).

Any prices p >= 0 of capacity and mu >= 0 of limits at which every task costs at least its gain (its
coefficient in the objective) bound the objective; the gap is bound / objective - 1. A gap is a sum,
in which a user of small gain is lost. So the residual is computed for every single user, as at
alpha = 0: it cannot be given more, its gain is at most the prices of what is full for it, and it
pays no more than its gain. Only infeasible answers are refuted and, for (9), answers below the
equal level.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fairopt.allocation import Allocation
from fairopt.allocation.by_rows import listed_prices
from fairopt.allocation.check import CERTIFIED, REFUTED, UNPROVED, Certificate, Check
from fairopt.certificates.feasibility import feasibility
from fairopt.certificates.money import backed_cheapest, left_over, misplaced, steady, task_price
from fairopt.certificates.own import kept
from fairopt.certificates.proof import measure
from fairopt.certificates.tolerance import TOLERANCE
from fairopt.formulas import rows
from fairopt.formulas.pool_rows import machines, of_columns, of_users
from fairopt.formulas.pools import common_tasks, equal_level, share_of_task
from fairopt.instance import Floats


def judge_sum(alloc: Allocation) -> Certificate:
    """Certificate of `sum-m`: max sum M_n / phi_n, M_n the fewest tasks on an eligible machine.

    That is throughput on one server that has all rows as resources: M_n tasks there use what M_n
    tasks on each of the user's machines use. Tasks held beyond M_n count as free capacity.
    """
    return _verdict(alloc, list(kept(alloc)), *measure(everywhere(alloc)))


def everywhere(alloc: Allocation) -> Allocation:
    """An answer of `sum-m` as one of throughput, M_n tasks on one server of all rows."""
    inst = alloc.instance
    one = of_users(inst)
    gain = 1.0 / inst.weight
    one = one.replace(weight=gain / gain.max())
    least = np.maximum(common_tasks(inst, alloc.tasks), 0.0)[:, None]
    if not inst.plain:
        return Allocation(one, {"name": "throughput"}, least, _of_rows(alloc))
    price, mu = _prices(alloc)
    there = machines(inst).sum(axis=1)
    priced = (price * inst.pool).reshape(1, -1)
    return Allocation(one, {"name": "throughput"}, least, priced, mu * there)


def _of_rows(alloc: Allocation) -> Floats:
    """(1, M) the prices of all rows as those of resources of one server; if the answer has none,
    equal money for every row."""
    low = of_columns(alloc.instance).low
    price = listed_prices(alloc, low)
    if not price.any():
        price = np.divide(1.0, low.rhs, out=np.zeros_like(low.rhs), where=low.rhs > 0)
    return price[None, :]


def judge_equal(alloc: Allocation) -> Certificate:
    """Certificate of `equal-m`: M_n >= phi_n M for the largest M, then the largest total.

    Beside rows it is that of one server that has all of them as resources.
    """
    inst = alloc.instance
    gain = np.where(inst.eligible, share_of_task(inst), 1.0)
    if inst.plain:
        names = [f"{user} at {server}" for user in inst.users for server in inst.servers]
        return _equal(alloc, gain, list(feasibility(alloc)), names)
    pairs = of_columns(inst)
    names = [
        f"{inst.users[n]} at {inst.servers[i]}"
        for n, i in zip(pairs.user.tolist(), pairs.server.tolist(), strict=True)
    ]
    at = pairs.user, pairs.server
    one = Allocation(pairs.instance, alloc.notion, alloc.tasks[at][:, None], _of_rows(alloc))
    return _equal(one, gain[at][:, None], list(kept(alloc)), names)


def _equal(
    alloc: Allocation, gain: Floats, checks: list[Check], names: Sequence[str]
) -> Certificate:
    """The certificate of a plain instance, `gain` (N, I) of a task; names of users on servers."""
    inst = alloc.instance
    _, base = equal_level(inst)
    below = np.where(inst.eligible, 1.0 - alloc.tasks / np.where(base > 0, base, 1.0), 0.0)
    worst = int(np.argmax(below))
    least = max(0.0, float(below.flat[worst]))
    witness = names[worst] if least > 0 else ""
    checks.append(Check.of("the equal level on every pool", least, 1e-9, witness))
    if alloc.kind["parameters"].get("mix") == "free":
        return _free(alloc, checks, base)
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
