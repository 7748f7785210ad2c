"""Judges of the programs (9) and (10) of kesidis2016, by prices (weak duality of linear programs).

Any prices p >= 0 of capacity and mu >= 0 of limits that make every task cost at least its gain
prove a bound. They are scaled up, or raised where a task is too cheap, until they do; the gap is
bound / objective - 1. Nothing is refuted but what is infeasible or, for (9), below the equal level.
"""

from __future__ import annotations

import numpy as np

from fairopt.allocation import Allocation
from fairopt.certificates.feasibility import feasibility
from fairopt.certificates.per_server import TOLERANCE, parts
from fairopt.check import CERTIFIED, REFUTED, UNPROVED, Certificate, Check
from fairopt.instance import Floats


def judge_sum(alloc: Allocation) -> Certificate:
    """Certificate of `sum-m`: max sum M_n / phi_n, M_n the fewest tasks on an eligible machine."""
    inst = alloc.instance
    machines = inst.eligible * inst.count
    least = np.where(inst.eligible, alloc.tasks / inst.count, np.inf).min(axis=1)
    objective = float((least / inst.weight).sum())
    price, mu = _prices(alloc)
    pool_price = price * inst.pool
    cost = np.einsum("ni,nir,ir->n", machines, parts(inst), pool_price) + mu * machines.sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = float((1.0 / inst.weight / cost).max())
        gap = scale * _money(alloc, price, mu) / objective - 1.0
    return _verdict(alloc, list(feasibility(alloc)), gap)


def judge_equal(alloc: Allocation) -> Certificate:
    """Certificate of `equal-m`: M_n >= phi_n M for the largest M, the total of shares maximal."""
    inst = alloc.instance
    once = inst.weight[:, None] * inst.eligible * inst.count
    part = parts(inst)
    use = np.einsum("ni,nir->ir", once, part)
    level = 1.0 / max(float(use.max()), float((once.sum(axis=1) / inst.limit).max()))
    base = level * once
    below = np.where(inst.eligible, 1.0 - alloc.tasks / np.where(base > 0, base, 1.0), 0.0)
    n, i = divmod(int(np.argmax(below)), below.shape[1])
    checks = list(feasibility(alloc))
    witness = f"{inst.users[n]} at {inst.servers[i]}" if below[n, i] > 0 else ""
    checks.append(Check.of("the equal level on every pool", max(0.0, below[n, i]), 1e-9, witness))
    gain = part.sum(axis=2) * inst.count / inst.weight[:, None]
    price, mu = _prices(alloc)
    # common scale by the best fit of cost to gain where tasks are held, then no task too
    # cheap: what is missing goes on the resource that has least left for this task
    whole = price * inst.pool
    extra = np.where(inst.eligible, alloc.tasks - base, 0.0)
    cost = np.einsum("nir,ir->ni", part, whole) + mu[:, None]
    money = float((cost * extra).sum())
    scale = float((gain * extra).sum()) / money if money > 0 else 1.0
    left = np.maximum(0.0, 1.0 - np.einsum("ni,nir->ir", base, part))
    whole, mu = whole * scale, mu * scale
    for i in range(len(inst.servers)):
        for n in np.flatnonzero(inst.eligible[:, i]):
            short = gain[n, i] - mu[n] - part[n, i] @ whole[i]
            if short > 0:
                with np.errstate(divide="ignore", invalid="ignore"):
                    r = int(np.argmin(np.where(part[n, i] > 0, left[i] / part[n, i], np.inf)))
                whole[i, r] += short / part[n, i, r]
    finite = np.isfinite(inst.limit)
    spare = np.maximum(0.0, inst.limit[finite] - base.sum(axis=1)[finite])
    bound = (gain * base).sum() + (whole * left).sum() + mu[finite] @ spare
    return _verdict(alloc, checks, float(bound / (gain * alloc.tasks).sum() - 1.0))


def _prices(alloc: Allocation) -> tuple[Floats, Floats]:
    """Prices and limit prices; ones per whole row where there are none (they prove a bound too)."""
    inst = alloc.instance
    price = alloc.prices
    if price is None:
        price = np.divide(1.0, inst.pool, out=np.zeros_like(inst.pool), where=inst.pool > 0)
    mu = np.zeros(len(inst.users)) if alloc.limit_prices is None else alloc.limit_prices
    return price, np.where(np.isfinite(inst.limit), mu, 0.0)


def _money(alloc: Allocation, price: Floats, mu: Floats) -> float:
    finite = np.isfinite(alloc.instance.limit)
    return float((price * alloc.instance.pool).sum() + mu[finite] @ alloc.instance.limit[finite])


def _verdict(alloc: Allocation, checks: list[Check], gap: float) -> Certificate:
    gap = max(0.0, gap) if np.isfinite(gap) else float("inf")
    feasible = all(check.holds for check in checks)
    checks.append(Check.of("optimal, by prices", gap, TOLERANCE))
    verdict = REFUTED if not feasible else CERTIFIED if checks[-1].holds else UNPROVED
    return Certificate(verdict, gap, gap, checks=tuple(checks))
