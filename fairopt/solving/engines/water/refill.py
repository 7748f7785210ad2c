"""PS-DSF (Khamse-Ashari et al. 2016) by refilling one server after the other; docs/maths/ps-dsf.md.

Given the tasks on the other servers, the levels x_n / (phi_n gamma[n,i]) on server i are filled
like water; this is repeated over the servers until nothing changes. The fixed points are exactly
the allocations of Theorem 1 of khamse2016, or of Theorem 2 if time is the only resource. There is
no proof of convergence, so the number of rounds is bounded.
"""

from __future__ import annotations

import numpy as np

from fairopt import clock
from fairopt.errors import SolverFailure
from fairopt.instance import Floats, Instance, Ints
from fairopt.solving.engines.water.one_server import fill

ROUNDS = 5_000
"""largest number of rounds over all servers"""
STILL = 1e-13
"""the last round is one that changes no user's total by more than this part of it"""
PLAIN = 40
"""rounds before steps are extrapolated; on small instances the refill converges earlier"""
MEMORY = 12
"""rounds that an extrapolation uses"""


class Unsettled(SolverFailure):
    """The rounds were not enough; `tasks` (N, I) of the last one fit."""

    def __init__(self, message: str, tasks: Floats) -> None:
        self.tasks = tasks
        super().__init__(message)


def refill(
    instance: Instance,
    part: Floats,
    order: list[int],
    start: Floats | None = None,
    rounds: int = ROUNDS,
) -> tuple[Floats, int]:
    """Tasks (N, I) at a fixed point of the refill, and the number of rounds.

    Parameters
    ----------
    part : (N, I, R), `part_of_row` of the instance, or `part_of_time` if time is divided.
    order : positions of the servers in the order they are refilled.
    start : (N, I) >= 0 within the limits, tasks to begin with; default no tasks.

    Raises
    ------
    SolverFailure : no fixed point was reached within `rounds` rounds.
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
        if clock.over():
            raise clock.OutOfTime(f"the time limit was reached in round {done}", x)
        if done <= rest:
            continue
        if history and moved > 2 * best:
            # the set of stopped users changed: return to the last good point and make some rounds
            # without extrapolation
            x, history, best, rest = safe.copy(), [], np.inf, done + pause
            pause = min(2 * pause, rounds)
            continue
        best, safe = min(best, moved), x.copy()
        history = [*history[-MEMORY:], (x / unit, (x - before) / unit)]
        x = _extrapolated(history, instance) * unit
    raise Unsettled(
        f"ps-dsf: refilling the servers did not settle in {rounds} rounds "
        f"(last round moved a user by {moved:.2g} of its total); try another order of the servers",
        x,
    )


def _extrapolated(history: list[tuple[Floats, Floats]], instance: Instance) -> Floats:
    """The next point by Anderson mixing of the last rounds, clipped to 0 <= x <= gamma.

    It is only a start for the next plain round, which decides whether a fixed point is reached.
    Without it long chains of servers would need thousands of rounds.
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
    """Fill server i in place, given the tasks `x` (N, I) on the other servers."""
    size = instance.weight[members] * instance.alone[members, i]
    elsewhere = x[members].sum(axis=1) - x[members, i]
    elsewhere = np.clip(elsewhere, 0.0, instance.limit[members])
    begin = elsewhere / size
    cap = instance.limit[members] / size
    level = fill(part[members, i] * size[:, None], begin, np.maximum(cap, begin))
    x[members, i] = size * (level - begin)
