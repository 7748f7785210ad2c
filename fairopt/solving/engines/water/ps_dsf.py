"""Engine of `ps-dsf`: it calls the notion's method, and improves answers of the TDM program."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairopt import clock
from fairopt.errors import SolverFailure, UsageError
from fairopt.instance import Bools, Floats, Instance
from fairopt.solving.engines.point import Answer
from fairopt.solving.engines.water import implicit
from fairopt.solving.engines.water.per_server import per_server_drf
from fairopt.solving.engines.water.refill import Unsettled, refill, refill_server

STEPS = 50_000
"""largest number of steps of all servers together"""
SAME_LEVEL = 1e-9
"""levels with a smaller relative difference are one level; with less than this left, a resource is
full"""


def one_step(instance: Instance, part: Floats, x: Floats, i: int) -> bool:
    """One step of server i, in place; False if nothing is to do: every user has a bottleneck.

    Users at their limits need no bottleneck and take no part.
    """
    phi_gamma = instance.weight * instance.alone[:, i]
    able = instance.eligible[:, i]
    total = x.sum(axis=1)
    level = np.where(able, total / np.where(able, phi_gamma, 1.0), np.inf)
    use = part[:, i]  # (N, R)
    full = x[:, i] @ use >= 1 - SAME_LEVEL
    looking = able & (total < instance.limit * (1 - SAME_LEVEL))
    while looking.any():
        low = float(level[looking].min())
        lowest = looking & (level <= low * (1 + SAME_LEVEL))
        stopping = np.flatnonzero(full & (use[lowest] > 0).any(axis=0))
        tops = [(_largest_holder(use[:, r], x[:, i], level), r) for r in stopping]
        done = [r for n, r in tops if level[n] <= low * (1 + SAME_LEVEL)]
        if done:
            looking &= ~(use[:, done] > 0).any(axis=1)
            continue
        _move(instance, x, i, use, level, looking, lowest, sorted({n for n, _ in tops}), phi_gamma)
        return True
    return False


def _largest_holder(use: Floats, held: Floats, level: Floats) -> int:
    """The user of largest level among the holders of the resource."""
    return int(np.argmax(np.where(use * held > 0, level, -np.inf)))


def _move(
    instance: Instance,
    x: Floats,
    i: int,
    use: Floats,
    level: Floats,
    looking: Bools,
    lowest: Bools,
    givers: list[int],
    phi_gamma: Floats,
) -> None:
    """Raise the users of lowest level together, at the cost of the givers, by one step."""
    low = float(level[lowest].min())
    free = np.maximum(0.0, 1.0 - x[:, i] @ use) + x[givers, i] @ use[givers]
    rate = phi_gamma[lowest] @ use[lowest]
    wanted = rate > 0
    rise = float((free[wanted] / rate[wanted]).min())  # z*, the level if the givers gave all
    beta = 1.0
    for n in givers:
        beta = min(beta, (level[n] - low) / (rise + x[n, i] / phi_gamma[n]))
    # the paper stops at the next level only if nothing is given; here it is done in every case
    above = level[looking & ~lowest]
    if len(above):
        beta = min(beta, (float(above.min()) - low) / rise)
    left = (instance.limit - x.sum(axis=1))[lowest]
    beta = min(beta, float((left / (phi_gamma[lowest] * rise)).min()))
    x[givers, i] *= 1.0 - beta
    x[lowest, i] += beta * phi_gamma[lowest] * rise


def run(
    instance: Instance, order: list[int], seed: int | None = None, steps: int = STEPS
) -> tuple[Floats, int]:
    """Tasks (N, I) at which no server has a step to do, and the number of steps taken.

    Parameters
    ----------
    order : positions of the servers in a round.
    seed : None for rounds; with a number every step is made by a random server among those that
        may still have one to do (the asynchronous form of the paper).

    Raises
    ------
    SolverFailure : the bound on the steps was hit.
    """
    part = instance.part_of_row()
    x = per_server_drf(instance)
    random = None if seed is None else np.random.default_rng(seed)
    restless = list(order)
    taken = 0
    while restless:
        if clock.over():
            raise clock.OutOfTime(f"the time limit was reached in step {taken}", x)
        turn = restless if random is None else [restless[int(random.integers(len(restless)))]]
        for i in list(turn):
            if one_step(instance, part, x, i):
                restless = list(order)  # after a step any other server may have one to do
                taken += 1
            elif i in restless:
                restless = [k for k in restless if k != i]
        if taken > steps:
            raise SolverFailure(f"ps-dsf: Algorithm I did not come to rest in {steps} steps")
    return x, taken


CLOSING = 200
"""largest number of rounds that improve the answer of a program"""
FEW_PAIRS, SOON, FIRST = 150, 60, 2
"""pairs up to which the rounds may settle first, and in how many; rounds before implicit steps"""
MOVED = 1e-7
"""part of a total by which a round may move the end of the implicit steps"""
LARGEST_CLOSING = 1e-4
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
            tasks, steps = run(instance, order, notion.seed)
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
    part, few = instance.part_of_row(), len(instance.pairs[0]) <= FEW_PAIRS
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
    if not moved <= LARGEST_CLOSING:
        return tasks, {**step, "status": f"moved a total by {moved:.2g}: not used"}
    return closed, {**step, "rounds": rounds}
