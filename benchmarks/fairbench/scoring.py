"""What an answer is worth beside the reference. Nothing an entrant says of itself is used."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.fairbench import proof
from benchmarks.fairbench.problem import Floats, Problem
from benchmarks.fairbench.reference import distance

FITS = 1e-6
"""part by which a row may be overrun, or tasks be negative"""
FAIR = 1e-3
"""the worst user's relative distance from the reference up to which an instance is solved"""
EXACT = 1e-6
"""the same up to which it is exact, beyond what the reference itself is proved to"""


def score(problem: Problem, reply: dict[str, Any], line: dict[str, Any]) -> dict[str, Any]:
    """The record of a run: what the worker said, with the numbers below instead of its answer.

    over : largest part by which the answer does not fit; fits : it is at most FITS.
    distance, user : the worst user's relative distance from the reference, and which user; of the
        answer cut to fit where it did not.
    gap : the equal relative change of all shares that would make up for what is lost: of the
        equally distributed equivalent, for max-min of the lowest level.
    proved : where prices came with it, what they prove of the answer (alpha-fairness only).
    outcome : exact, solved, far, overrun, failed, late, cannot or absent.
    """
    record = {key: value for key, value in reply.items() if key not in ("tasks", "prices")}
    for word in ("absent", "cannot", "failed", "late"):
        if word in reply:
            return record | {"outcome": word, "words": str(record.pop(word))}
    tasks = np.array(reply["tasks"], float)
    if tasks.shape != problem.user.shape or not np.isfinite(tasks).all():
        return record | {"outcome": "failed", "words": "not a number for each column"}
    wanted = np.array(line["share"])
    over = problem.overrun(tasks)
    kept = problem.fitted(tasks)
    share = problem.shares(kept)
    off, worst = distance(share, wanted)
    record |= {"over": over, "distance": off, "user": worst, "gap": gap(problem, share, wanted)}
    if "prices" in reply and np.isfinite(problem.alpha):
        prices = np.array(reply["prices"], float)
        if prices.shape == problem.rows[1].shape:
            with np.errstate(all="ignore"):
                record["proved"] = proof.alpha_bound(problem, kept, prices)
    if over > FITS:
        return record | {"outcome": "overrun", "words": f"{over:.2g} over"}
    outcome = "far" if off > FAIR else "exact" if off <= EXACT + line["within"] else "solved"
    words = f"user {worst + 1}: {share[worst]:.6g} for {wanted[worst]:.6g}" if off > FAIR else ""
    return record | {"outcome": outcome, "words": words}


def gap(problem: Problem, share: Floats, wanted: Floats) -> float:
    """1 - E(share)/E(reference), E the share that, given to all, is worth as much."""
    if np.isinf(problem.alpha):
        lowest = (share / problem.weight).min() / (wanted / problem.weight).min()
        return float(1.0 - lowest)
    with np.errstate(divide="ignore"):
        z = np.log(np.maximum(share, 0.0)) - np.log(wanted)
    part = np.log(problem.weight) + (1 - problem.alpha) * np.log(wanted)
    part = np.exp(part - part.max())
    part /= part.sum()
    if problem.alpha == 1:
        return float(-np.expm1((part * z).sum()))
    if (share <= 0).any() and problem.alpha > 1:
        return 1.0
    with np.errstate(over="ignore", invalid="ignore"):
        rise = (part * np.expm1((1 - problem.alpha) * z)).sum()
    return float(-np.expm1(np.log1p(rise) / (1 - problem.alpha)))
