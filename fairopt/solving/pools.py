"""`equal-m` and `sum-m` beside rows: asked of one server that has every row as a resource."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairopt.allocation import Allocation, objective
from fairopt.errors import UsageError
from fairopt.formulas.pool_rows import machines, of_columns, of_users
from fairopt.formulas.pools import share_of_task
from fairopt.instance import Floats, Instance
from fairopt.notions import Notion
from fairopt.solving.engines.point import Answer, How
from fairopt.solving.engines.programs import common_tasks
from fairopt.solving.engines.quotas import naming


def answer(instance: Instance, notion: Notion, score: Floats, how: How) -> Allocation:
    """The answer of the one server, its prices those of the rows.

    Raises
    ------
    SolverFailure : HiGHS finds no optimum. UsageError : another solver was named.
    """
    if how.solver not in ("auto", "highs"):
        raise UsageError(
            f"solver: found {how.solver!r}; {notion.name} beside rules is solved by auto, highs"
        )
    pairs, tasks = of_columns(instance), np.zeros(instance.shape[:2])
    if notion.family == "sum-m":
        found: Answer = common_tasks.solve_sum(of_users(instance), notion)
        tasks = found.tasks * machines(instance)
    else:
        worth = share_of_task(instance)[pairs.user, pairs.server][:, None]
        found = common_tasks.above_equal(pairs.instance, worth)
        tasks[pairs.user, pairs.server] = found.tasks[:, 0]
    assert found.prices is not None
    prices: dict[str, Any] = naming.priced(pairs.low, found.prices[0])
    alloc = Allocation(instance, notion, tasks, score=score, steps=found.steps, **prices)
    return alloc.with_(**objective.worth(alloc))
