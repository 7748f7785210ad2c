r"""What prices prove about an answer to the trade-off, (16) of kesidis2016.

For ANY prices p >= 0 (c_h the price of one unit of dominant share on pair h, B the value of all
capacity and limits), any *pulls* P_n with sum 0 and e_h with sum 0 on each server, let
m_n = min_h (c_h + e_h) and q_n = phi_n m_n + P_n. No feasible allocation is better than the answer
by more than

.. math::
   \sum_n \ell_n(F_n, q_n) + (B - \sum_h c_h a_h) + \sum_h a_h (c_h + e_h - m_n)
   + \tfrac{1}{2w} |P - w z|^2 + \sum_i \tfrac{1}{2 w_i} |e_i - w_i y_i|^2

with z = F - mean F, y_i = a_i - mean a_i, w = 2 t_PF/N, w_i = 2 t_DRF/(k_i |E_i|) and
l_n(F, q) = sup_f (phi_n g(f) - q f) - phi_n g(F) + q F. Every term is >= 0 and belongs to a user
or a row; the proof and the hard forms are in docs/maths/tradeoff.md, "Proof from prices".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from fairopt.certificates.money import ROUNDING
from fairopt.certificates.tradeoff_sheet import Sheet
from fairopt.instance import Floats

SAME_PRICE = 1e-9
"""pairs whose prices differ by this part are equally cheap"""


@dataclass(frozen=True)
class Proof:
    """A bound and the residuals it leaves.

    Parameters
    ----------
    rise : most that any feasible objective can be above the answer's, in units of
        sum phi size^(1-alpha). residual : (N,), each user's own relative distance.
    """

    rise: float
    residual: Floats


class Pulls(NamedTuple):
    """A choice of pulls P, with sum 0, and e, with sum 0 on each server, as the terms of the bound.

    Differences are stored, not the pulls, which may be so large that subtracting them loses all
    digits: base_q (N,) = phi base + P and above (P,) = c + e - base for a first value `base` (N,)
    of m; off_f (N,) = P/w - z and off (P,) = e/w - y, by how much the pulls differ from those at
    the answer.
    """

    base_q: Floats
    above: Floats
    base: Floats
    off_f: Floats
    off: Floats


def soft(sheet: Sheet, cost: Floats, budget: float, unsold: float, by: Pulls) -> Proof:
    """The bound of the module for the pulls given, and the residual of each user.

    unsold : money of what is left of resources and limits.
    """
    n, a, unit, off_f, off = sheet.n, sheet.a, sheet.unit, by.off_f, by.off
    more = cheapest(sheet, by.above)
    q = by.base_q + unit * more
    excess = by.above - more[n]
    losses = loss(sheet, q)
    idle = budget - float(cost @ a)
    rise = (
        float(losses.sum()) + max(idle, 0.0) + float(excess @ a)
        + sheet.w_f * float(off_f @ off_f) / 2 + float(sheet.w @ (off * off)) / 2
    )  # fmt: skip
    # every term again, relative to the user: to its money, or to what changing its shares costs
    own = sheet.v * sheet.held + sheet.w_f * sheet.held**2
    share = unit * sheet.held
    above = a * excess / own[n]
    if sheet.terms.t_drf:
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            drawn = np.where(sheet.w > 0, np.minimum(a, excess / sheet.w) / share[n], np.inf)
        above = np.fmin(drawn, above)
    moved = np.abs(off_f) / sheet.held + sheet.per_user(np.abs(off)) / share
    paid = np.maximum(own, np.abs(unit * (by.base + more)) * sheet.held)
    residual = curve(sheet, q) + sheet.per_user(above) + moved + idle_money(sheet, cost) / paid
    # money for idle resources and on pairs that are too dear must be small beside the money of
    # every single user, since a user of small weight may be the one that is harmed
    dear = excess > SAME_PRICE * (cost + np.abs(sheet.w * sheet.y))
    lost = unsold + float(a[dear] @ excess[dear])
    alone = sheet.phi * sheet.most if sheet.alpha == 0 else own
    residual = residual + lost / alone
    return Proof(_finite(rise), np.where(np.isfinite(residual), residual, np.inf))


def unsold(sheet: Sheet) -> float:
    """Money, in the answer's own unit, of unused resources and of room below limits."""
    alloc, inst = sheet.alloc, sheet.alloc.instance
    assert alloc.prices is not None
    left = 1.0 - alloc.utilisation
    found = float((alloc.prices * inst.pool)[left > ROUNDING] @ left[left > ROUNDING])
    if alloc.limit_prices is not None:
        left = np.where(alloc.limit_prices > 0, 1.0 - alloc.totals / inst.limit, 0.0)
        on = left > ROUNDING
        found += float((alloc.limit_prices * left)[on] @ inst.limit[on])
    return found


def _finite(rise: float) -> float:
    return rise if np.isfinite(rise) else np.inf


def cheapest(sheet: Sheet, full: Floats) -> Floats:
    """(N,) the cheapest unit of share."""
    found = np.full(sheet.users, np.inf)
    np.minimum.at(found, sheet.n, full)
    return found


def loss(sheet: Sheet, q: Floats) -> Floats:
    """(N,) l_n(F_n, q_n), the sup taken over levels the user could have alone."""
    alpha, phi, f, most = sheet.alpha, sheet.phi, sheet.level, sheet.most
    if alpha == 0:
        linear: Floats = np.maximum(phi - q, 0.0) * most + (q - phi) * f
        return linear
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        best = np.minimum(np.where(q > 0, (phi / q) ** (1 / alpha), np.inf), most)
        log_r = np.log(f / best)
        slope = phi * best**-alpha
        # sup at `best`: q = slope inside, q < slope where the user could not have more
        found = slope * best * tangent_loss(log_r, alpha) + (slope - q) * (best - f)
    return np.where(np.isnan(found), np.inf, np.maximum(found, 0.0))


def tangent_loss(log_r: Floats, alpha: float) -> Floats:
    """g(1) + (r - 1) - g(r) >= 0."""
    if alpha == 1:
        return np.asarray(np.expm1(log_r) - log_r, dtype=np.float64)
    return np.asarray(
        np.expm1(log_r) - np.expm1((1 - alpha) * log_r) / (1 - alpha), dtype=np.float64
    )


def curve(sheet: Sheet, q: Floats) -> Floats:
    """(N,) |F / F0 - 1|, F0 = (phi/q)^(1/alpha) the level the user wants at q.

    A user at its limit errs only by F > F0. alpha = 0: |q - phi| / phi for who holds something,
    else how far phi is above q.
    """
    phi, f, alpha = sheet.phi, sheet.held, sheet.alpha
    some = sheet.level > sheet.floor
    if alpha == 0:
        error: Floats = (phi - q) / phi
        return np.where(some, np.abs(error), np.maximum(error, 0.0))
    with np.errstate(divide="ignore", over="ignore"):
        wanted = np.where(q > 0, (phi / q) ** (1 / alpha), np.inf)
        error = f / np.maximum(wanted, sheet.floor) - 1.0
    error = np.where(np.isinf(wanted), np.inf, error)
    inst = sheet.alloc.instance
    at_limit = sheet.alloc.totals >= inst.limit * (1 - 1e-9)
    return np.where(at_limit, np.maximum(np.where(np.isinf(wanted), 0.0, error), 0.0),
                    np.abs(error))  # fmt: skip


def idle_money(sheet: Sheet, cost: Floats) -> Floats:
    """(N,) what each user pays for resources that are not full and limits not reached."""
    alloc, inst = sheet.alloc, sheet.alloc.instance
    assert alloc.prices is not None
    n, i = sheet.n, sheet.i
    slack = np.minimum(np.maximum(1.0 - alloc.utilisation, 0.0), 1.0)
    idle = ((alloc.prices * slack)[i] * inst.pair_demand).sum(axis=1)
    if alloc.limit_prices is not None and alloc.limit_prices.any():
        room = np.clip(1.0 - alloc.totals / inst.limit, 0.0, 1.0)
        idle = idle + (alloc.limit_prices * room)[n]
    first = sheet.per_task
    part = np.divide(idle, first, out=np.zeros_like(idle), where=first > 0)
    return sheet.per_user(part * cost * sheet.a)

