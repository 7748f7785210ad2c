r"""The bound of `tradeoff_bound` under the hard forms (14) var(F) = 0 and (15) sum V_i = 0.

Where all levels are one, pulls P_n with sum 0 drop out: the losses of the users become the one
sup_L (sum phi g(L) - L sum_n phi_n m_n). Where a_h is one number b_i on each server, pulls e drop
out: any m with sum_{n in E_i} m_n <= sum_{n in E_i} c_h on every server will do, because then
sum_h c_h a_h >= sum_h m_n a_h = sum_n phi_n m_n F_n.
"""

from __future__ import annotations

import numpy as np

from fairopt.allocation.check import Check
from fairopt.certificates.tradeoff_bound import Proof, cheapest, curve, idle_money, loss
from fairopt.certificates.tradeoff_sheet import Sheet
from fairopt.instance import Floats

EQUAL = 1e-9
"""levels, or shares on a server, may differ by one part in 1e9 of the user's own share"""


def equalities(sheet: Sheet) -> tuple[Check, ...]:
    """Whether the answer keeps the hard forms asked for, the worst user named."""
    names = sheet.alloc.instance.users
    found = []
    if sheet.terms.equal_across:
        away = np.abs(sheet.z) / sheet.level.mean()
        worst = int(np.argmax(away))
        found.append(Check.of("equal levels (14)", away[worst], EQUAL, names[worst]))
    if sheet.terms.equal_within:
        apart = np.abs(sheet.y) / (sheet.unit * sheet.held)[sheet.n]
        h = int(np.argmax(apart))
        where = f"{names[sheet.n[h]]} at {sheet.alloc.instance.servers[sheet.i[h]]}"
        found.append(Check.of("equal shares on each server (15)", apart[h], EQUAL, where))
    return tuple(found)


def prove_hard(sheet: Sheet, cost: Floats, budget: float) -> Proof:
    """The proof at these prices, in the scale of the objective."""
    unit, a, n = sheet.unit, sheet.a, sheet.n
    if sheet.terms.equal_within:
        m, short = _shared(sheet, cost)
        e = np.zeros_like(a)
        excess = _spread(sheet, cost - m[n])
    else:
        e, short = sheet.w * sheet.y, 0.0
        m = cheapest(sheet, cost + e)
        excess = cost + e - m[n]
    idle = budget - float(cost @ a)
    surplus = float((cost + e - m[n]) @ a) + idle
    if sheet.terms.equal_across:
        losses, off = _common(sheet, unit * m)
    else:
        # `_shared` computes m from q = v; computing q from m again would lose its digits
        q = sheet.v if sheet.terms.equal_within else unit * m + sheet.w_f * sheet.z
        losses, off = float(loss(sheet, q).sum()), curve(sheet, q)
    own = np.maximum(sheet.v, np.abs(unit * m)) * sheet.held
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        if sheet.terms.equal_within:
            # each server has one share for all: its error is relative to what its users together
            # pay, to their marginal values, or to what changing all their shares costs
            stiff = (sheet.v / sheet.held + sheet.w_f) / unit**2
            size = np.maximum(
                sheet.per_server(np.maximum(cost, np.abs(m[n]))), sheet.per_server(stiff[n] * a)
            )
            moved = np.where(a > 0, a * np.abs(excess) * (sheet.eligible / size)[sheet.i], 0.0)
            residual = off + sheet.per_user(moved) / (unit * sheet.held)
            own = np.maximum(own, sheet.per_user(cost * a))
        else:
            residual = off + sheet.per_user(np.abs(excess) * a) / own
        residual = residual + idle_money(sheet, cost) / own
    rise = losses + surplus + short
    return Proof(
        rise if np.isfinite(rise) else np.inf, np.where(np.isfinite(residual), residual, np.inf)
    )


def _common(sheet: Sheet, q: Floats) -> tuple[float, Floats]:
    """What one common level can gain at q over the answer, and |F_n / L - 1|."""
    total, alpha = float(q.sum()), sheet.alpha
    most = float(sheet.most.min())
    if alpha == 0:
        best = most if total < 1 else 0.0
        lost = max(1 - total, 0.0) * most - float((sheet.phi - q) @ sheet.level)
        return lost, np.full(sheet.users, abs(1 - total))
    best = min(total ** (-1 / alpha), most) if total > 0 else most
    with np.errstate(divide="ignore"):
        log_r = np.log(sheet.level / best)
        # phi (g(L) - g(F)) summed, without taking differences of g
        terms = -log_r if alpha == 1 else -np.expm1((1 - alpha) * log_r) / (1 - alpha)
    gained = best ** (1 - alpha) * float(sheet.phi @ terms)
    return gained + float(q @ (sheet.level - best)), np.abs(sheet.level / best - 1)


def _shared(sheet: Sheet, cost: Floats) -> tuple[Floats, float]:
    """m (N,), and a bound on the error where its sum on a server is above that of the costs: the
    excess times the most that the server can give to each of its users."""
    m = (sheet.v - sheet.w_f * sheet.z) / sheet.unit
    on = np.zeros((sheet.servers, sheet.users))
    on[sheet.i, sheet.n] = 1.0
    there = np.asarray(np.bincount(sheet.i, cost, sheet.servers), dtype=np.float64)
    if sheet.terms.equal_across:
        m = _dearest(sheet, on, there, m)
    above = np.maximum(on @ m - there, 0.0)
    return m, float(above @ _most_each(sheet))


def _dearest(sheet: Sheet, on: Floats, there: Floats, m: Floats) -> Floats:
    """The m of largest sum phi m whose sums on servers stay below `there`: it bounds the level."""
    from scipy.optimize import linprog

    size = float(np.abs(m).max())
    found = linprog(
        -sheet.unit / sheet.unit.max(), A_ub=on[sheet.eligible > 0],
        b_ub=there[sheet.eligible > 0] / size, bounds=(None, None), method="highs",
    )  # fmt: skip
    return m if found.x is None else np.asarray(found.x * size, dtype=np.float64)


def _most_each(sheet: Sheet) -> Floats:
    """(I,) the largest b_i: the same dominant share for each eligible user."""
    inst = sheet.alloc.instance
    each = np.zeros((sheet.servers, inst.shape[2]))
    np.add.at(each, sheet.i, inst.pair_demand / sheet.u[:, None])
    with np.errstate(divide="ignore", invalid="ignore"):
        most = np.where(each > 0, inst.pool / each, np.inf).min(axis=1)
    return np.where(sheet.eligible > 0, most, 0.0)


def _spread(sheet: Sheet, excess: Floats) -> Floats:
    """(P,) mean of `excess` on each server, since it cannot be assigned to single users."""
    found: Floats = (sheet.per_server(excess) / np.maximum(sheet.eligible, 1))[sheet.i]
    return found
