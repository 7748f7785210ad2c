"""How an instance of the campaign is asked: whole, in partitions, or from the answer before."""

from __future__ import annotations

import numpy as np

import fairopt as fo
from benchmarks.trust import kinds
from fairopt.notions import Notion
from tests.oracles import parted


def answer(family: str, inst: fo.Instance, notion: Notion, seed: int) -> fo.Allocation:
    """An answer that is certified; what `fo.solve` raises where there is none."""
    if family == "alpha-fair, partitions":
        tasks, verdict = parted.solved(inst, notion, 2)
        found = fo.Allocation(inst, notion, tasks, certificate=verdict)
        if not verdict.certified:
            raise fo.NotCertified(f"{verdict.verdict}, residual {verdict.residual:.2g}", found)
        return found
    if family == "alpha-fair, start":
        before = kinds.changed(np.random.default_rng([5, seed]), inst)
        start = fo.solve(before, notion, uncertified="return")
        return fo.solve(inst, notion, start=start)
    return fo.solve(inst, notion)
