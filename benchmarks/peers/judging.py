"""Both sides before the same judge: made feasible first, then `fo.certify`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import fairopt as fo
from benchmarks.peers.question import Answer, Data, Floats
from fairopt import criteria
from fairopt.formulas import welfare


@dataclass(frozen=True)
class Verdict:
    """What was proved of an answer.

    Parameters
    ----------
    gap, residual : of the certificate. verdict : its word.
    prices : whose prices proved it: "own", "ours" or "guessed".
    overrun : by how much the answer as given overran a capacity or was negative, relative; it was
        scaled server by server before it was judged.
    """

    gap: float
    residual: float
    verdict: str
    prices: str
    overrun: float

    @property
    def error(self) -> float:
        return max(self.gap, self.residual)


def data_of(inst: fo.Instance, notion: Any) -> Data:
    """The question as plain arrays.

    Raises
    ------
    ValueError : limits or demands by server, which `Data` does not state.
    """
    if np.isfinite(inst.limit).any() or inst.demand.ndim == 3:
        raise ValueError("limits and demands by server cannot be asked of every side")
    n, i = inst.pairs
    plain = notion.plain()
    alpha = welfare.alpha_of(plain)
    if alpha is None and plain["name"] != "max-min":
        raise ValueError(f"no peer states {plain['name']}")
    score = criteria.score(inst, notion.criterion)[n, i]
    arrays = (np.array(a) for a in (inst.demand, inst.pool, n, i, score, inst.weight))
    return Data(*arrays, alpha=alpha)


def feasible(inst: fo.Instance, pairs: Floats) -> tuple[Floats, float]:
    """Tasks (N, I) with each server's column, then each user's row, scaled to fit; the overrun."""
    n, i = inst.pairs
    tasks = np.zeros(inst.shape[:2])
    given = np.where(np.isfinite(pairs), pairs, 0.0)
    tasks[n, i] = np.maximum(given, 0.0)
    negative = float(np.max(-given / inst.alone[n, i], initial=0.0))
    use = np.divide(inst.used(tasks), inst.pool, out=np.zeros_like(inst.pool), where=inst.pool > 0)
    over = max(0.0, float(use.max()) - 1.0, negative)
    tasks /= np.maximum(use.max(axis=1), 1.0)[None, :]
    tasks /= np.maximum(tasks.sum(axis=1) / inst.limit, 1.0)[:, None]
    return tasks, over


def judge(inst: fo.Instance, notion: Any, answer: Answer, other: Answer | None = None) -> Verdict:
    """The verdict on an answer from the prices that prove most for it.

    Prices are the side's own where it gives them, and those of `other` (our answer), which may be
    kinder: any prices prove a bound. They are guessed only where there are none at all.
    """
    assert answer.tasks is not None
    tasks, over = feasible(inst, answer.tasks)
    offers = [("own", answer)] if _priced(answer) else []
    if other is not None and other is not answer and _priced(other):
        offers.append(("ours", other))
    found = [_certified(inst, notion, tasks, whose, source, over) for whose, source in offers]
    if not found:
        found = [_certified(inst, notion, tasks, "guessed", Answer(None), over)]
    return min(found, key=lambda verdict: (verdict.error, verdict.gap))


def _certified(
    inst: fo.Instance, notion: Any, tasks: Floats, whose: str, source: Answer, over: float
) -> Verdict:
    alloc = fo.Allocation(
        inst,
        notion,
        tasks,
        _per_unit(inst, source.rows),
        source.notes.get("limit prices"),
        _per_unit(inst, source.levels),
    )
    judged = fo.certify(alloc)
    return Verdict(float(judged.gap), float(judged.residual), judged.verdict, whose, over)


def _priced(answer: Answer) -> bool:
    return any(a is not None and np.any(a > 0) for a in (answer.rows, answer.levels))


def _per_unit(inst: fo.Instance, money: Floats | None) -> Floats | None:
    """Prices per unit from money of whole rows."""
    if money is None:
        return None
    pool = np.where(inst.pool > 0, inst.pool, 1.0)
    return np.where(inst.pool > 0, np.nan_to_num(np.maximum(money, 0.0)), 0.0) / pool


def apart(inst: fo.Instance, notion: Any, one: Answer, other: Answer) -> float:
    """Largest relative difference of two answers' shares, user by user, made feasible."""
    shares = []
    for answer in (one, other):
        tasks, _ = feasible(inst, answer.tasks)
        shares.append(fo.Allocation(inst, notion, tasks).shares)
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.nan_to_num(np.abs(shares[0] / shares[1] - 1), nan=0.0, posinf=np.inf).max())
