"""PS-DSF by refilling one server after the other (SYSTEMS B; khamse2016 Theorems 1 and 2).

Given the tasks elsewhere, water-fill the levels x_n / (phi_n gamma[n,i]) on server i; repeat over
the servers until nothing changes. The fixed points are exactly the allocations of Theorem 1, or of
Theorem 2 when time is the one resource. There is no proof of convergence: the rounds are bounded.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fairopt.errors import SolverFailure, UsageError
from fairopt.instance import Floats, Instance, Ints
from fairopt.notions.slices import part_of_row
from fairopt.solving.engines.answer import Answer
from fairopt.solving.engines.water.one_server import fill

ROUNDS = 5_000
"""most rounds over all servers before giving up"""
STILL = 1e-13
"""a round that moves no user by more than this part of its total is the last"""
PLAIN = 40
"""rounds before steps are extrapolated; on small instances the refill settles earlier"""
MEMORY = 12
"""rounds an extrapolation looks back on"""
CLOSING = 200
"""most rounds that close the answer of a program"""
NEAR = 1e-4
"""a total that closing moves by more than this part was not nearly right: it stays as it was"""


def time_parts(instance: Instance) -> Floats:
    """(N, I, 1): part of the row's time that one task uses, 1/gamma[n,i] (khamse2016, TDM)."""
    alone = np.where(instance.eligible, instance.alone, np.inf)
    return (1.0 / alone)[:, :, None]


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


def refill(
    instance: Instance,
    part: Floats,
    order: list[int],
    start: Floats | None = None,
    rounds: int = ROUNDS,
) -> tuple[Floats, int]:
    """Tasks (N, I) at a fixed point of the refill, and the rounds taken.

    Parameters
    ----------
    part : (N, I, R), `part_of_row` for division of resources, `time_parts` for division of time.
    order : positions of the servers in the order they are refilled.
    start : (N, I) >= 0 within the limits, tasks to begin with; default none.

    Raises
    ------
    SolverFailure : the bound on the rounds was hit.
    """
    x = np.zeros(instance.shape[:2]) if start is None else start.copy()
    members = [np.flatnonzero(instance.eligible[:, i]) for i in range(len(instance.servers))]
    busy = [i for i in order if len(members[i])]
    unit = np.where(instance.eligible, instance.alone, 1.0)
    history: list[tuple[Floats, Floats]] = []
    moved = best = np.inf
    safe, rest, pause = x, PLAIN, MEMORY
    for done in range(1, rounds + 1):
        before = x.copy()
        for i in busy:
            refill_server(instance, part, x, i, members[i])
        total = x.sum(axis=1)
        moved = float((np.abs(x - before) / np.where(total > 0, total, 1.0)[:, None]).max())
        if moved <= STILL:
            return x, done
        if done <= rest:
            continue
        if history and moved > 2 * best:
            # the set of frozen users changed: back to the last good point, and plainly for a while
            x, history, best, rest = safe.copy(), [], np.inf, done + pause
            pause = min(2 * pause, rounds)
            continue
        best, safe = min(best, moved), x.copy()
        history = [*history[-MEMORY:], (x / unit, (x - before) / unit)]
        x = _extrapolated(history, instance) * unit
    raise SolverFailure(
        f"ps-dsf: refilling the servers did not settle in {rounds} rounds "
        f"(last round moved a user by {moved:.2g} of its total); try another order of the servers"
    )


def _extrapolated(history: list[tuple[Floats, Floats]], instance: Instance) -> Floats:
    """Next point by Anderson's mixing of the last rounds, cut back to 0 <= x <= gamma.

    Only a start for the next plain round, which alone decides whether the answer stands still:
    long chains of servers would need thousands of plain rounds.
    """
    after, step = history[-1]
    if len(history) < 3:
        return after
    steps = np.array([(step - s)[instance.eligible] for _, s in history[:-1]]).T
    points = np.array([(after - x)[instance.eligible] for x, _ in history[:-1]]).T
    mix, *_ = np.linalg.lstsq(steps, step[instance.eligible], rcond=1e-10)
    new = after.copy()
    new[instance.eligible] = np.clip(after[instance.eligible] - points @ mix, 0.0, 1.0)
    return new


def refill_server(instance: Instance, part: Floats, x: Floats, i: int, members: Ints) -> None:
    """Water-fill server i in place, given the tasks `x` (N, I) elsewhere."""
    size = instance.weight[members] * instance.alone[members, i]
    elsewhere = x[members].sum(axis=1) - x[members, i]
    elsewhere = np.clip(elsewhere, 0.0, instance.limit[members])
    begin = elsewhere / size
    cap = instance.limit[members] / size
    level = fill(part[members, i] * size[:, None], begin, np.maximum(cap, begin))
    x[members, i] = size * (level - begin)


def solve(instance: Instance, notion: Any) -> Answer:
    """Engine of `ps-dsf`: a fixed point of the refill, in the notion's order of servers."""
    if notion.method == "algorithm-1":
        from fairopt.solving.engines.water import algorithm_one

        return algorithm_one.solve(instance, notion)
    order = server_order(instance, notion.order)
    timed = notion.division == "tdm"
    part = time_parts(instance) if timed else part_of_row(instance)
    tasks, rounds = refill(instance, part, order)
    step: dict[str, Any] = {
        "engine": "refill", "rounds": rounds, "order": [instance.servers[i] for i in order],
    }  # fmt: skip
    if not timed:
        step["remark"] = "other fixed points may exist; the order of the servers chose this one"
    return Answer(tasks, steps=(step,))


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
