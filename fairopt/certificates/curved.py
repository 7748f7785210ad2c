r"""Judges of answers on a pool whose demand is not linear (kesidis2016 section 5, Corollary 1).

Weighted DRF: every user is at its limit, or demands a resource that is full and whose holders' own
shares of the pool, by weight, are at most its own. With the level of a user

.. math:: s_n = \frac{1}{\phi_n} \max_r \frac{D_{n,r}(x_n)}{c_r}

the distance of r from being what stops user n is the larger of the part by which x_n could grow if
n took what is left of r, and by which it would have to grow to the level of the highest holder.
The other side is judged too: what part of its own tasks a holder would give up to come down to the
lowest level of those whom r stops. All is counted in a user's own tasks: where set-up is most of a
share, twice the tasks is hardly a higher level.

Other notions: the answer is judged on the pool that is left once everybody's set-up is paid, with
its prices there (`formulas.curves`). That is the whole question, as the notions admitted give
everybody something whatever it costs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from fairopt.allocation import Allocation
from fairopt.allocation.check import REFUTED, Certificate, Check
from fairopt.certificates.feasibility import feasibility
from fairopt.certificates.per_server import to_limit, verdict
from fairopt.certificates.tolerance import ROUNDING, TOLERANCE
from fairopt.errors import Infeasible
from fairopt.formulas import curves
from fairopt.instance import Bools, Floats, Instance, Ints


def judge_drf(alloc: Allocation) -> Certificate:
    """Certificate of `per-server-drf`."""
    inst = alloc.instance
    x = np.maximum(alloc.tasks[:, 0], 0.0)
    pool = np.where(inst.pool[0] > 0, inst.pool[0], 1.0)
    part = inst.taken(x) / pool
    level = part.max(axis=1) / inst.weight
    apart = _below(inst, x, part, level)
    stop = apart.argmin(axis=1)
    residual = np.minimum(to_limit(alloc), apart.min(axis=1))
    residual = np.maximum(residual, _above(inst, x, level, stop, to_limit(alloc) > TOLERANCE))
    n = int(np.argmax(residual))
    worst = float(residual[n])
    witness = f"{inst.users[n]}, nearest bottleneck {inst.resources[stop[n]]}" if worst > 0 else ""
    theorem = "Corollary 1: a bottleneck for every user, by its share of the pool"
    checks = [*feasibility(alloc), _everybody(alloc), Check.of(theorem, worst, TOLERANCE, witness)]
    return Certificate(verdict(checks, worst), worst, worst, checks=tuple(checks))


def _below(inst: Instance, x: Floats, part: Floats, level: Floats) -> Floats:
    """(N, R) by which part of its tasks each user falls short of what r would let it have."""
    pool = inst.pool[0]
    left = np.array([1.0 - math.fsum(column) for column in part.T.tolist()])
    left[left <= ROUNDING] = 0.0
    holds = (inst.demand > 0) & (x > 0)[:, None]
    top = np.where(holds, level[:, None], 0.0).max(axis=0)
    apart = np.full(part.shape, np.inf)
    for r in np.flatnonzero((inst.demand > 0).any(axis=0)):
        more = np.maximum((part[:, r] + left[r]) * pool[r] - inst.demand_fixed[:, r], 0.0)
        grown = (more / inst.demand[:, r]) ** (1.0 / inst.demand_power[:, r]) / x - 1.0
        due = inst.within(inst.weight[:, None] * np.maximum(top[r], level)[:, None] * pool)
        lower = np.where(level * (1 + ROUNDING) < top[r], 1.0 - x / due, 0.0)
        short = np.maximum(np.where(left[r] > 0, grown, 0.0), lower)
        apart[:, r] = np.where(inst.demand[:, r] > 0, np.nan_to_num(short, nan=np.inf), np.inf)
    return apart


def _above(inst: Instance, x: Floats, level: Floats, stop: Ints, counted: Bools) -> Floats:
    """(N,) by which part of its tasks each user is above those stopped by what it holds."""
    over = np.zeros(len(x))
    for r in range(inst.shape[2]):
        lowest = np.where(counted & (stop == r), level, np.inf).min()
        due = inst.within(inst.weight[:, None] * np.minimum(lowest, level)[:, None] * inst.pool[0])
        higher = (inst.demand[:, r] > 0) & (x > 0) & (level > lowest * (1 + ROUNDING))
        over = np.maximum(over, np.where(higher, 1.0 - due / np.where(x > 0, x, 1.0), 0.0))
    return over


def judge_after_setup(
    alloc: Allocation, judged: Callable[[Allocation], Certificate]
) -> Certificate:
    """Certificate of a notion that serves everybody, on the pool that is left after set-up.

    `judged` gives the verdict of the notion's own judge, who knows linear demand.
    """
    served = _everybody(alloc)
    checks = (*feasibility(alloc), served)
    if not all(check.holds for check in checks):
        return Certificate(REFUTED, np.inf, np.inf, checks=checks)
    try:
        rest = curves.after_setup(alloc.instance)
    except Infeasible as error:  # what fits is within the tolerance of capacity alone
        return Certificate(REFUTED, np.inf, np.inf, checks=checks, notes=(str(error),))
    found = judged(
        Allocation(
            rest, alloc.notion, alloc.tasks, alloc.prices, alloc.limit_prices, alloc.level_prices
        )
    )
    note = "judged on what is left once everybody's demand_fixed is taken"
    return replace(found, checks=(served, *found.checks), notes=(note, *found.notes))


def _everybody(alloc: Allocation) -> Check:
    without = np.flatnonzero(~(alloc.totals > 0))
    who = alloc.instance.users[int(without[0])] if len(without) else ""
    return Check.of("everybody is served", float(len(without)), 0.0, who)
