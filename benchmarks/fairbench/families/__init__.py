"""The families of instances: each file has `problems()`, a list of (name, how to build it)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

import fairopt as fo
from benchmarks.fairbench.problem import Floats, Problem

Built = tuple[str, Callable[[], Problem]]
OWN = "Apache-2.0, as fairopt"


def of_instance(inst: fo.Instance, score: Floats, alpha: float, words: dict[str, str]) -> Problem:
    """A plain instance (counts and limits, no rules) as a problem; score is (N, I)."""
    n, i = inst.pairs
    return Problem(
        **words,
        alpha=alpha,
        weight=np.array(inst.weight, float),
        limit=np.array(inst.limit, float),
        pool=np.array(inst.pool, float),
        user=np.array(n, int),
        server=np.array(i, int),
        demand=np.array(inst.demand_by_server[n, i], float),
        share=np.array(score[n, i], float),
    )


def called(alpha: float) -> str:
    """The notion in a name."""
    return "max-min" if np.isinf(alpha) else f"alpha-{alpha:g}"


def with_rules(problem: Problem, rules: list[tuple[float, list[int], list[float]]]) -> Problem:
    """The same with rows more."""
    kept = tuple((float(most), tuple(c), tuple(map(float, t))) for most, c, t in rules)
    return replace(problem, rules=kept)
