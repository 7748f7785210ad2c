"""Engine of `ps-dsf`: it calls the notion's method, and improves answers of the TDM program."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairopt import clock
from fairopt.errors import SolverFailure, UsageError
from fairopt.instance import Floats, Instance
from fairopt.solving.engines.answer import Answer
from fairopt.solving.engines.water import algorithm_one, implicit
from fairopt.solving.engines.water.refill import Unsettled, refill, refill_server

CLOSING = 200
"""largest number of rounds that improve the answer of a program"""
FEW, SOON, FIRST = 150, 60, 2
"""pairs up to which the rounds may settle first, and in how many; rounds before implicit steps"""
MOVED = 1e-7
"""part of a total by which a round may move the end of the implicit steps"""
NEAR = 1e-4
"""if `close` would change a total by more than this part, the answer is left as it was"""


def solve(instance: Instance, notion: Any) -> Answer:
    """An answer for division of resources (RDM), in the notion's order of servers.

    With division of time (TDM) the notion is proportional fairness over time and is solved as that
    program; its answer is then improved by `close`.
    """
    order = server_order(instance, notion.order)
    step: dict[str, Any] = {}
    try:
        if notion.method == "algorithm-1":
            tasks, steps = algorithm_one.run(instance, order, notion.seed)
            step.update(engine="algorithm-1", steps=steps)
        else:
            tasks, done = refilled(instance, order)
            step.update(done)
    except clock.OutOfTime as late:
        assert late.tasks is not None
        tasks = late.tasks
        step.update(engine=notion.method, status=str(late))
    step["order"] = [instance.servers[i] for i in order]
    chose = "chose this one"
    if step["engine"] == "implicit":
        chose = "chose where implicit steps began, which chose this one"
    step["remark"] = f"other fixed points may exist; the order of the servers {chose}"
    if notion.seed is not None:
        step["seed"] = notion.seed
    return Answer(tasks, steps=(step,))


def refilled(instance: Instance, order: list[int]) -> tuple[Floats, dict[str, Any]]:
    """The fixed point where the rounds settle at once, else that of implicit steps from where they
    are, else that of as many rounds as it takes."""
    part, few = instance.part_of_row(), len(instance.pairs[0]) <= FEW
    try:
        tasks, rounds = refill(instance, part, order, rounds=SOON if few else FIRST)
        return tasks, {"engine": "refill", "rounds": rounds}
    except Unsettled as so_far:
        begun = so_far.tasks
    found = implicit.settle(instance, part, begun) if len(order) <= implicit.SERVERS else None
    if found is not None:
        tasks, steps = found[0].copy(), found[1]
        # the last round fills every server exactly, and tells whether this is a fixed point
        for i in order:
            refill_server(instance, part, tasks, i, np.flatnonzero(instance.eligible[:, i]))
        total = np.maximum(tasks.sum(axis=1, keepdims=True), 1e-300)
        if float((np.abs(tasks - found[0]) / total).max()) <= MOVED:
            return tasks, {"engine": "implicit", "rounds": SOON if few else FIRST, "steps": steps}
    if clock.over():
        raise clock.OutOfTime("the time limit was reached before an implicit step ended", begun)
    tasks, rounds = refill(instance, part, order)
    return tasks, {"engine": "refill", "rounds": rounds}


def server_order(instance: Instance, order: tuple[str, ...] | None) -> list[int]:
    """Positions of the servers in the order given by names; None is the order of the instance.

    Raises
    ------
    UsageError : the names are not all servers, each once.
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
    """The program's answer (N, I) improved by the refill of time (TDM), and the step recorded.

    Where a user may but need not run on a server, an interior method leaves tasks of the order of
    sqrt(gap), and levels that differ as much. The refill makes the levels equal.
    """
    total = np.where(tasks.sum(axis=1) > 0, tasks.sum(axis=1), 1.0)
    begin = tasks * np.minimum(1.0, instance.limit / total)[:, None]
    servers = list(range(len(instance.servers)))
    step: dict[str, Any] = {"engine": "refill"}
    try:
        closed, rounds = refill(instance, instance.part_of_time(), servers, begin, CLOSING)
    except SolverFailure:
        return tasks, {**step, "status": f"did not settle in {CLOSING} rounds: not used"}
    moved = float(np.abs(closed.sum(axis=1) / total - 1.0).max())
    if not moved <= NEAR:
        return tasks, {**step, "status": f"moved a total by {moved:.2g}: not used"}
    return closed, {**step, "rounds": rounds}
