"""The best proof that known choices of pulls give at the prices of a trade-off answer."""

from __future__ import annotations

import numpy as np

from fairopt.certificates.tradeoff_bound import Proof, Pulls, cheapest, soft, unsold
from fairopt.certificates.tradeoff_hard import prove_hard
from fairopt.certificates.tradeoff_sheet import NEGLIGIBLE, Sheet

SHARP = 1e-9
"""a proof this good needs no other choice of pulls"""


def prove(sheet: Sheet, scale: float, other: Sheet | None = None) -> Proof:
    """The best proof at prices scaled by `scale` over the choices of pulls known.

    Each user's residual is the least of those that the choices leave it: a variance that is weak
    beside one user's marginal value is strong beside another's. `other`: a better answer, in the
    same units, whose pulls are tried too, since the bound holds for any pulls.
    """
    cost, budget = sheet.priced
    cost, budget = cost * scale, budget * scale
    if sheet.terms.equal_across or sheet.terms.equal_within:
        return prove_hard(sheet, cost, budget)
    idle = unsold(sheet) * scale
    none, nobody = np.zeros(len(sheet.a)), np.zeros(sheet.users)
    pull, e = sheet.w_f * sheet.z, sheet.w * sheet.y
    first = Pulls(pull, cost + e, nobody, nobody, none)
    tried = [soft(sheet, cost, budget, idle, first)]
    if other is not None:
        theirs, apart = sheet.w_f * other.z, sheet.w * other.y
        by = Pulls(theirs, cost + apart, nobody, other.z - sheet.z, other.y - sheet.y)
        tried.append(soft(sheet, cost, budget, idle, by))
    if max(tried[0].rise, float(tried[0].residual.max())) <= SHARP:
        return tried[0]
    if sheet.w_f > 0:
        m = cheapest(sheet, cost + e)
        better = sheet.v - sheet.unit * m
        # make the sum 0 by changing most the users whose levels it changes least
        stiff = sheet.w_f + sheet.alpha * sheet.v / sheet.held
        shift = better.sum() * (stiff / stiff.sum())
        moved = (better - shift - pull) / sheet.w_f
        by = Pulls(sheet.v - shift, cost + e - m[sheet.n], m, moved, none)
        tried.append(soft(sheet, cost, budget, idle, by))
    if sheet.w.any():
        m = (sheet.v - pull) / sheet.unit
        held = sheet.a > NEGLIGIBLE * sheet.held[sheet.n]
        wanted = np.where(held, m[sheet.n] - cost, e)
        # make the sum 0 by changes in proportion to the prices that users pay
        size = np.maximum(np.abs(m[sheet.n]), 1e-300)
        shift = (sheet.per_server(wanted) / sheet.per_server(size))[sheet.i] * size
        above = np.where(held, 0.0, cost + e - m[sheet.n]) - shift
        by = Pulls(sheet.v, above, m, nobody, (wanted - shift - e) / sheet.w)
        tried.append(soft(sheet, cost, budget, idle, by))
    return Proof(
        min(proof.rise for proof in tried),
        np.min([proof.residual for proof in tried], axis=0),
    )
