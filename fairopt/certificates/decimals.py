"""How far a share is from the best at its price, in decimals, where two floats are not enough.

Of t^alpha v / W, which is about 1, the logarithm needs no more digits than a float has: no other
logarithm is taken at any point of a search, but of alpha that are neither whole nor half.
"""

from __future__ import annotations

import math
from decimal import Decimal, localcontext

import numpy as np

from fairopt.certificates.question import Question
from fairopt.instance import Floats, Ints

LARGEST_EXPONENT = 10**15
"""exponents that decimals may have"""


def exactly(
    question: Question, held: Ints, amount: Floats, value: Floats, log_unit: float
) -> Floats:
    """(N,) log t - (log W - log v) / alpha.

    Parameters
    ----------
    held : (C,) columns, of which those of flows count nothing. amount : (k, C). value : (k, N).
    log_unit : money is counted in exp of it.
    """
    columns = question.columns
    own = np.flatnonzero(held < columns.count)
    owner, worth = columns.owner(held[own]), columns.worth(held[own])
    found = np.full(question.users, np.nan)
    with localcontext() as context:
        context.prec = 18 * len(value) + 10
        context.Emax, context.Emin = LARGEST_EXPONENT, -LARGEST_EXPONENT
        t, alpha = [Decimal(-float(b)) for b in question.base], Decimal(question.alpha)
        amounts = amount[:, own].T.tolist()
        for n, u, x in zip(owner.tolist(), worth.tolist(), amounts, strict=True):
            t[n] += Decimal(u) * sum(map(Decimal, x), Decimal(0))
        for n, w in enumerate(_weights(question, context.prec, float(log_unit))):
            v = sum(map(Decimal, value[:, n].tolist()), Decimal(0))
            if t[n] <= 0 or v <= 0:
                continue
            ratio = _power(t[n], alpha) * v / w
            near = abs(ratio - 1) < 0.5
            log = math.log1p(float(ratio - 1)) if near else float(ratio.ln())
            found[n] = log / question.alpha
    return found


def _power(t: Decimal, alpha: Decimal) -> Decimal:
    """t^alpha; of whole and half alpha, which may be negative, without a logarithm."""
    twice = 2 * alpha
    if twice != twice.to_integral_value():
        return (alpha * t.ln()).exp()
    whole, half = divmod(int(twice), 2)
    return t**whole * t.sqrt() if half else t**whole


def _weights(question: Question, digits: int, log_unit: float) -> list[Decimal]:
    """W of every user in decimals, money counted in exp(log_unit); kept with the question: a search
    asks for them again and again."""
    kept: dict[tuple[int, float], list[Decimal]] = question.__dict__.setdefault("_weights", {})
    if (digits, log_unit) not in kept:
        alpha, money = Decimal(question.alpha), Decimal(log_unit).exp()
        unit = {u: _power(Decimal(u), 1 - alpha) / money for u in set(question.share_unit.tolist())}
        times = alpha if question.inside else Decimal(1)
        kept[digits, log_unit] = [
            _power(Decimal(w), times) * unit[u]
            for w, u in zip(question.weight.tolist(), question.share_unit.tolist(), strict=True)
        ]
    return kept[digits, log_unit]


__all__ = ["exactly"]
