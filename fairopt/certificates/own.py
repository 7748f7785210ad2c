"""Judge of a user's own notion: feasibility, and what prices prove if its gradient is given.

Two things are taken on trust: that the objective f is concave, and that G is its gradient by the
tasks. Then any prices bound f everywhere (`universal`; docs/maths/own-notion.md). The gap is the
bound as an equal relative rise of all tasks, bound / sum G x. The curvature of f is not known, so
the residual of a user is in prices: how far its cheapest task is below G, and how much it pays
above G for the tasks it holds, with prices scaled so that all capacity costs sum G x.

Own rules and limits on servers are priced as capacity is: what a task costs and the value of all
that is priced are those of `ruled`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from fairopt.allocation import Allocation, task_cost
from fairopt.allocation.check import CERTIFIED, REFUTED, UNPROVED, Certificate, Check
from fairopt.certificates.feasibility import feasibility
from fairopt.certificates.ruled import feasible
from fairopt.certificates.ruled.answer import Ruled
from fairopt.certificates.ruled.prices import told
from fairopt.certificates.tolerance import TOLERANCE
from fairopt.certificates.universal import universal_bound
from fairopt.errors import BadInput, Fault
from fairopt.formulas.parameters import words
from fairopt.instance import Floats


def judge(alloc: Allocation, gradient: ArrayLike | None) -> Certificate:
    """Certificate of an answer of any concave notion.

    Parameters
    ----------
    gradient : (N, I) df/dx at the answer; entries where a user is not eligible are ignored.

    Raises
    ------
    BadInput : no gradient, one of another shape, or one not finite where a user is eligible.
    """
    checks = list(kept(alloc))
    fits = all(check.holds for check in checks)
    gap, residual = _distances(alloc, _checked(alloc, gradient))
    worst = float(residual.max())
    n = int(np.argmax(residual))
    checks.append(Check.of("optimal, by prices", gap, TOLERANCE))
    who = alloc.instance.users[n] if worst > 0 else ""
    checks.append(Check.of("every user pays the gradient of its tasks", worst, TOLERANCE, who))
    holds = all(check.holds for check in checks)
    verdict = CERTIFIED if holds else UNPROVED if fits else REFUTED
    short = residual > TOLERANCE
    names = tuple(u for u, s in zip(alloc.instance.users, short, strict=True) if s)
    note = "as far as the gradient is that of the notion, and its objective concave"
    return Certificate(verdict, gap, worst, names, tuple(checks), notes=(note,))


def kept(alloc: Allocation) -> tuple[Check, ...]:
    """Whether the answer keeps every row of its instance."""
    if alloc.instance.plain:
        return feasibility(alloc)
    return feasible.checks(Ruled(alloc), np.zeros(len(alloc.instance.users)))


def _checked(alloc: Allocation, given: ArrayLike | None) -> Floats:
    eligible = alloc.instance.eligible
    try:
        gradient = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        who = f"gradient of {alloc.notion['name']}"
        raise BadInput([Fault(who, words(given), f"numbers, shape {eligible.shape}")]) from None
    if gradient.shape != eligible.shape:
        raise BadInput([Fault("gradient", f"shape {gradient.shape}", f"shape {eligible.shape}")])
    if not np.isfinite(gradient[eligible]).all():
        raise BadInput([Fault("gradient", "NaN or infinity", "finite numbers")])
    return np.where(eligible, gradient, 0.0)


def _distances(alloc: Allocation, gradient: Floats) -> tuple[float, Floats]:
    """(gap, residual (N,)); inf where the prices prove nothing."""
    inst, x = alloc.instance, alloc.held
    nothing = np.full(len(inst.users), np.inf)
    if alloc.prices is None:
        return np.inf, nothing
    value = float((gradient * x).sum())
    with np.errstate(all="ignore"):
        try:
            each, budget, idle, spare, mu = _bill(alloc)
        except ValueError:  # prices that prove nothing
            return np.inf, nothing
        if not (0 < value < np.inf and 0 < budget < np.inf):
            return np.inf, nothing
        ruled = None if inst.plain else (each, budget)
        bound = universal_bound(inst, gradient[inst.pairs], x, alloc.prices, mu, ruled)
        scale = value / budget
        cost = np.where(inst.eligible, scale * each, np.inf)
        cheap = np.where(cost > 0, (gradient - cost) / cost, np.where(gradient > 0, np.inf, 0.0))
        cheap = np.where(inst.eligible, cheap, 0.0).max(axis=1)
        paid = np.where(x > 0, cost * x, 0.0)
        wasted = np.where(x > 0, np.maximum(cost - gradient, 0.0) * x, 0.0).sum(axis=1)
        # the price of a limit that is not reached counts as overpaid
        wasted += scale * spare
        total = paid.sum(axis=1)
        wasted = np.where(total > 0, wasted / total, 0.0)
        # money for resources that are not full, which nobody needs to pay
        idle = float(scale * idle / value)
    residual = np.maximum(np.maximum(cheap, wasted), 0.0)
    residual = np.maximum(np.where(np.isnan(residual), np.inf, residual), idle)
    return bound / value, residual


def _bill(alloc: Allocation) -> tuple[Floats, float, float, Floats, Floats]:
    """Price (N, I) of a task, value of all that is priced, of that what nobody uses, what limits
    that are not reached cost their users (N,), and prices of limits (N,).

    Raises
    ------
    ValueError : beside own rules, prices that are no numbers >= 0.
    """
    inst, x = alloc.instance, alloc.held
    assert alloc.prices is not None
    if not inst.plain:
        ruled = Ruled(alloc)
        prices = ruled.cleaned(told(alloc))
        if not prices:
            raise ValueError("prices")
        # the first: none left out
        cost, _ = ruled.free(ruled.cost(prices[0]), prices[0])
        bill = ruled.bill(prices[0])
        nobody = np.zeros(len(inst.users))
        return cost, bill.budget, bill.idle, nobody, prices[0].limits
    mu = np.zeros(len(inst.users)) if alloc.limit_prices is None else alloc.limit_prices
    mu = np.where(np.isfinite(inst.limit), mu, 0.0)
    budget = float((alloc.prices * inst.pool).sum() + mu[mu > 0] @ inst.limit[mu > 0])
    left = np.maximum(0.0, 1.0 - alloc.utilisation)
    idle = float((alloc.prices * inst.pool * left).sum())
    spare = np.where(mu > 0, mu * np.maximum(inst.limit - x.sum(axis=1), 0.0), 0.0)
    return task_cost(inst, alloc.prices, slice(None), mu), budget, idle, spare, mu
