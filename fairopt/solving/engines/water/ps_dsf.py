"""Engine of `ps-dsf`: the method and the order of the servers; the answers of programs, closed."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairopt.errors import SolverFailure, UsageError
from fairopt.instance import Floats, Instance
from fairopt.notions.slices import part_of_row
from fairopt.solving.engines.answer import Answer
from fairopt.solving.engines.water import algorithm_one
from fairopt.solving.engines.water.refill import refill, time_parts

CLOSING = 200
"""most rounds that close the answer of a program"""
NEAR = 1e-4
"""a total that closing moves by more than this part was not nearly right: it stays as it was"""


def solve(instance: Instance, notion: Any) -> Answer:
    """A fixed point for divided resources, in the notion's order of servers.

    Divided time is proportional fairness of time, which has a program (see `close`).
    """
    order = server_order(instance, notion.order)
    step: dict[str, Any] = {}
    if notion.method == "algorithm-1":
        tasks, steps = algorithm_one.run(instance, order, notion.seed)
        step.update(engine="algorithm-1", steps=steps)
    else:
        tasks, rounds = refill(instance, part_of_row(instance), order)
        step.update(engine="refill", rounds=rounds)
    step["order"] = [instance.servers[i] for i in order]
    step["remark"] = "other fixed points may exist; the order of the servers chose this one"
    if notion.seed is not None:
        step["seed"] = notion.seed
    return Answer(tasks, steps=(step,))


def server_order(instance: Instance, order: tuple[str, ...] | None) -> list[int]:
    """Positions of the servers in the order asked for; None is the order of the instance.

    Raises
    ------
    UsageError : the names are not those of the servers, each once.
    """
    if order is None:
        return list(range(len(instance.servers)))
    if sorted(order) != sorted(instance.servers):
        raise UsageError(
            f"order: found {', '.join(order)}; "
            f"wanted every server once: {', '.join(instance.servers)}"
        )
    position = {name: k for k, name in enumerate(instance.servers)}
    return [position[name] for name in order]


def close(instance: Instance, tasks: Floats) -> tuple[Floats, dict[str, Any]]:
    """The fixed point of the refill of time next to the answer (N, I) of the program, and the step.

    Where a user may but need not run on a server, an interior method leaves of the order of
    sqrt(gap) tasks there, and levels that are apart as much. The refill brings them together.
    """
    total = np.where(tasks.sum(axis=1) > 0, tasks.sum(axis=1), 1.0)
    begin = tasks * np.minimum(1.0, instance.limit / total)[:, None]
    servers = list(range(len(instance.servers)))
    step: dict[str, Any] = {"engine": "refill"}
    try:
        closed, rounds = refill(instance, time_parts(instance), servers, begin, CLOSING)
    except SolverFailure:
        return tasks, {**step, "status": f"did not settle in {CLOSING} rounds: not used"}
    moved = float(np.abs(closed.sum(axis=1) / total - 1.0).max())
    if not moved <= NEAR:
        return tasks, {**step, "status": f"moved a total by {moved:.2g}: not used"}
    return closed, {**step, "rounds": rounds}
