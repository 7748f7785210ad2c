"""fairopt by its public entry point: the whole call, judging included."""

from __future__ import annotations

from typing import Any

import numpy as np

import fairopt as fo
from benchmarks.peers.question import Answer


def solve(given: tuple[fo.Instance, Any], **options: Any) -> Answer:
    """`fo.solve` of (instance, notion)."""
    inst, notion = given
    alloc = fo.solve(inst, notion, uncertified="return", **options)
    judged = alloc.certificate
    levels = None if alloc.level_prices is None else alloc.level_prices * inst.pool
    rows = None if alloc.prices is None else alloc.prices * inst.pool
    steps = [step.get("step") for step in alloc.steps]
    notes: dict[str, Any] = {"steps": {step: steps.count(step) for step in dict.fromkeys(steps)}}
    if alloc.limit_prices is not None and np.any(alloc.limit_prices):
        notes["limit prices"] = alloc.limit_prices
    return Answer(alloc.tasks[inst.pairs], rows, levels, judged.verdict, None, notes)
