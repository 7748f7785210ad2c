"""The judge of throughput, proportional and alpha-fair answers (docs/maths/alpha-fairness.md)."""

from __future__ import annotations

import numpy as np

from fairopt.allocation import Allocation
from fairopt.allocation.check import CERTIFIED, REFUTED, UNPROVED, Certificate, Check, Told
from fairopt.certificates import prices
from fairopt.certificates.feasibility import feasibility, shrink
from fairopt.certificates.guess import guess_prices
from fairopt.certificates.intervals import intervals
from fairopt.certificates.nearby import optimum
from fairopt.certificates.others import searched
from fairopt.certificates.prices import TOLERANCE
from fairopt.certificates.witness import better
from fairopt.certificates.words import listed, notes
from fairopt.instance import Floats, Instance, remembered

SURE = 1e-9
"""a gap in closed form so small that the second bound is not computed"""


def measure(alloc: Allocation) -> tuple[float, float]:
    """(gap, largest residual of a user) of an answer with prices."""
    dual, _, gap, residual = _examined(alloc)
    return gap, float(residual.max())


def _examined(alloc: Allocation) -> tuple[prices.Duality, float, float, Floats]:
    """What prices prove: the bound in closed form, the gap and the residuals (N,).

    Kept with the answer, whose arrays nobody can write to, since answers are measured before they
    are judged. Another answer with the same numbers is examined anew.
    """
    def examine() -> tuple[prices.Duality, float, float, Floats]:
        dual = _duality(alloc)
        closed = prices.gap(dual)
        return dual, closed, _gap(dual, closed), prices.residual(dual)

    found: tuple[prices.Duality, float, float, Floats] = remembered(alloc, "_proof", examine)
    return found


def first_sight(alloc: Allocation) -> tuple[float, bool]:
    """The largest residual of a user before what others cost it, the least that `measure` finds;
    and whether that means a search for the optimum nearby among many users.

    What is computed for this is kept for `measure`.
    """
    dual = _duality(alloc)
    error = prices.best_scale(dual)[1]
    worst = float(error.max())
    if dual.alpha == 0 or not worst <= TOLERANCE:
        return worst, False
    return worst, searched(dual.alloc, error, dual.money)


def _duality(alloc: Allocation) -> prices.Duality:
    """The answer beside its prices, shrunk to be feasible; kept with it."""
    found: prices.Duality = remembered(
        alloc, "_duality", lambda: prices.Duality.of(alloc, shrink(alloc))
    )
    return found


def _gap(dual: prices.Duality, closed: float) -> float:
    """The better of two bounds: the closed form, and the tangent at the answer.

    The second takes many times as long and is computed only if the first is not small. For alpha =
    0 both are the same.
    """
    if closed <= SURE or dual.alpha == 0:
        return closed
    return min(closed, prices.second_opinion(dual))


def nearer(alloc: Allocation) -> Allocation | None:
    """The answer at the point where the optimum is proved to be; None if none is found nearby."""
    dual = _duality(alloc)
    log_scale = prices.own_scale(dual) - dual.market.unit
    place = optimum(dual.alloc, dual.market, dual.log_share, log_scale).place
    if place is None:
        return None
    tasks = np.zeros_like(alloc.tasks)
    tasks[place.pairs] = place.tasks.high
    p = place.price.high.reshape(alloc.instance.pool.shape)
    return alloc.with_(tasks=tasks, prices=p, limit_prices=place.limit_price.high)


def judge(alloc: Allocation) -> Certificate:
    """Certified: feasible, and gap and every user's residual at most 1e-6 at the given prices.

    Without prices they are guessed. Refuted: not feasible, or a better feasible allocation was
    found (the checks say how much of every share is lost at least and at most).
    """
    feasible = feasibility(alloc)
    alloc = with_prices(alloc)
    fits = all(check.holds for check in feasible)
    dual, closed, gap, residual = _examined(alloc)
    factor = dual.shrink
    worst = int(np.argmax(residual))
    users = alloc.instance.users
    checks = (
        *feasible,
        Check.of("gap", gap, TOLERANCE, "an equal rise of every share"),
        Check.of("residual", residual[worst], TOLERANCE, users[worst]),
    )
    # intervals follow from the bound in closed form, not from the tangent
    spans, pinned = intervals(dual, closed)
    open_ = (residual > TOLERANCE) | ~pinned if dual.alpha > 0 else pinned
    loose = tuple([users[n] for n in np.flatnonzero(open_).tolist()])
    verdict = CERTIFIED if all(c.holds for c in checks) else UNPROVED
    words: list[str] = []
    if not fits:
        verdict = REFUTED
        scaled = f": it needs to be scaled by {factor:.9g} to fit" if factor < 1 else ""
        words.append(f"not feasible{scaled}")
    if gap > TOLERANCE:
        found, rise = better(alloc, dual.log_w, dual.alpha)
        lost = float(np.expm1(rise))
        checks = (*checks, Check.of("no better allocation", lost, TOLERANCE, "every share at once"))
        if lost > TOLERANCE:
            verdict = REFUTED
            words.append(
                f"a better feasible allocation exists: at least {100 * lost:.4g} %, "
                f"at most {100 * gap:.4g} % of every share is lost"
                if np.isfinite(lost)
                else "a better feasible allocation exists: it leaves nobody with nothing"
            )
            words.append("it is, user by user and server by server: " + listed(alloc, found))
    told = Told(lambda: (*words, *notes(alloc)))
    return Certificate(verdict, gap, float(residual[worst]), loose, checks, spans, told)


def with_prices(alloc: Allocation) -> Allocation:
    """The answer with prices: its own, else the better of a guess and equal money per resource."""
    limited = alloc.limit_prices is not None and bool(alloc.limit_prices.any())
    if alloc.prices is not None and (alloc.prices.any() or limited):
        return alloc
    dual = prices.Duality.of(alloc.with_(prices=np.ones(alloc.instance.pool.shape)))
    with np.errstate(divide="ignore"):
        log_slope = dual.log_w - (dual.alpha * np.log(dual.share) if dual.alpha else 0.0)
    p, mu = guess_prices(alloc, log_slope)
    pool = alloc.instance.pool
    even = np.divide(1.0, pool, out=np.zeros_like(pool), where=pool > 0)
    tried = [alloc.with_(prices=even)]
    if p.any() or mu.any():
        tried.append(alloc.with_(prices=p, limit_prices=mu))
    return min(tried, key=_closest)


def _closest(alloc: Allocation) -> float:
    """The smallest gap that the prices prove, by both bounds, to depend less on rounding."""
    dual = prices.Duality.of(alloc, shrink(alloc))
    return min(prices.gap(dual), prices.second_opinion(dual))


def normalised(inst: Instance, p: Floats, mu: Floats) -> tuple[Floats, Floats]:
    """Prices scaled to sum count p c + sum mu limit = sum phi (docs/maths/alpha-fairness.md)."""
    limit = np.where(mu > 0, inst.limit, 0.0)
    money = float((p * inst.pool).sum() + mu @ limit)
    factor = float(inst.weight.sum()) / money
    return p * factor, mu * factor
