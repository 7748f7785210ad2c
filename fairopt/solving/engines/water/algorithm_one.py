"""Algorithm I of Khamse-Ashari et al. 2016 (khamse2016), for PS-DSF with divided resources.

Every server starts with DRF of its own. Then, in rounds or in random order, a server looks at its
users of lowest level. If none of the full resources that they need is a bottleneck, it moves
capacity to them from the largest holders of these resources. The number of steps is bounded, and an
answer is returned only if every user has a bottleneck at every server.
"""

from __future__ import annotations

import numpy as np

from fairopt import clock
from fairopt.errors import SolverFailure
from fairopt.instance import Bools, Floats, Instance
from fairopt.solving.engines.water.per_server import per_server_drf

STEPS = 50_000
"""largest number of steps of all servers together"""
SAME = 1e-9
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
    full = x[:, i] @ use >= 1 - SAME
    looking = able & (total < instance.limit * (1 - SAME))
    while looking.any():
        low = float(level[looking].min())
        lowest = looking & (level <= low * (1 + SAME))
        stopping = np.flatnonzero(full & (use[lowest] > 0).any(axis=0))
        tops = [(_largest_holder(use[:, r], x[:, i], level), r) for r in stopping]
        done = [r for n, r in tops if level[n] <= low * (1 + SAME)]
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
