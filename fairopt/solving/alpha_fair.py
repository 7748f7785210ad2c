"""Alpha-fairness: every connected part is answered by the ladder, and the answers are joined."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairopt.allocation import Allocation
from fairopt.certificates.scaled_prices import log_scale
from fairopt.errors import UsageError
from fairopt.instance import Floats, Instance
from fairopt.solving.best import normalised, within_reach
from fairopt.solving.engines.point import How
from fairopt.solving.ladder import AlphaLadder, rungs

FEW_PLACES = 400
"""users times servers up to which all are asked at once: to merge them first, and to judge the
answer for those that were merged and then for all, costs a third more"""


def at_once(instance: Instance, notion: Any, score: Floats, how: How) -> Allocation | None:
    """The answer of a small cluster as it is, without a look for users or servers that are alike;
    None where it is not enough, or the cluster is not small."""
    if how.solver not in ("auto", "interior") or instance.placement.size > FEW_PLACES:
        return None
    whole = AlphaLadder(instance, notion, score, how.polish, how.gap)
    if not whole.small():
        return None
    assert whole.best is not None
    return _of_part(0, whole.best.with_(steps=tuple(whole.steps)))


def alpha_fair(instance: Instance, notion: Any, score: Floats, how: How) -> Allocation:
    """The best answer of the engines for each connected part, joined, with prices for all."""
    solver, gap, polished = how.solver, how.gap, how.polish
    if solver == "highs" and notion.alpha > 0:
        raise UsageError("solver: highs states linear programs only; wanted clarabel, ecos or scs")
    tasks = np.zeros(instance.shape[:2])
    p, mu = np.zeros(instance.pool.shape), np.zeros(instance.shape[0])
    steps: list[dict[str, Any]] = []
    scales: list[float] = []
    whole = AlphaLadder(instance, notion, score, polished, gap)
    if solver in ("auto", "interior") and whole.small():
        # a small cluster: all its parts at once cost hardly more than one of them
        assert whole.best is not None
        return _of_part(0, whole.best.with_(steps=tuple(whole.steps)))
    parts = instance.parts()
    if len(parts) == 1 and len(parts[0][1]) == instance.shape[1]:
        return _of_part(0, whole.climb(rungs(whole, solver)))
    for number, (users, servers) in enumerate(parts):
        part, where = instance.select(users, servers), np.ix_(users, servers)
        ladder = AlphaLadder(part, notion, score[where], polished, gap)
        best = _of_part(number, ladder.climb(rungs(ladder, solver)))
        steps.extend(best.steps)
        tasks[where] = best.tasks
        assert best.prices is not None and best.limit_prices is not None
        p[servers], mu[users] = best.prices, best.limit_prices
        scales.append(log_scale(best))
    finite = [s for s in scales if np.isfinite(s)]
    top = max(finite, default=0.0)
    for (users, servers), scale in zip(parts, scales, strict=True):
        # one common scale of money: exp underflows only where the part's money is below 1e-308
        factor = np.exp(scale - top) if np.isfinite(scale) else 1.0
        p[servers] *= factor
        mu[users] *= factor
    joined = Allocation(instance, notion, tasks, p, mu, score=score, steps=tuple(steps))
    p, mu = normalised(instance, *within_reach(joined, always=len(finite) < len(scales)))
    return joined.with_(prices=p, limit_prices=mu)


def _of_part(number: int, best: Allocation) -> Allocation:
    return best.with_(steps=tuple({"part": number, **step} for step in best.steps))
