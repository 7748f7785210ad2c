"""Search for the fixed points of PS-DSF with divided resources, over orders and starts.

They need not be unique, and one may dominate another (SYSTEMS B). A search proves nothing about
what it does not find.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairopt.engines.refill import refill
from fairopt.errors import SolverFailure
from fairopt.instance import Floats, Instance
from fairopt.notions.slices import part_of_row

APART = 1e-6
"""totals that differ by less than this, relative, are one fixed point"""


@dataclass(frozen=True, eq=False)
class FixedPoint:
    """One distinct fixed point.

    Parameters
    ----------
    tasks : (N, I). order : the order of servers that first led here.
    from_nothing : whether that run started with no tasks, so that `order` alone reproduces it.
    hits : how many runs ended here.
    dominated_by : positions, in the list returned, of points that give nobody less, somebody more.
    """

    tasks: Floats
    order: tuple[str, ...]
    from_nothing: bool
    hits: int
    dominated_by: tuple[int, ...] = ()


def fixed_points(instance: Instance, trials: int = 50, seed: int = 0) -> list[FixedPoint]:
    """Distinct fixed points found, most tasks first (in units of what each user could run alone).

    Trial 0 is the instance's own order from nothing; odd trials take a random order from nothing,
    even ones also a random start. Runs that hit the bound on rounds are left out. Reached as
    `fo.fixed_points(instance)`.

    Examples
    --------
    >>> import fairopt as fo
    >>> points = fo.fixed_points(fo.read("khamse2016/figure-1").instance, trials=4)
    >>> [round(float(total), 6) for total in points[0].tasks.sum(axis=1)]
    [3.0, 3.0, 6.0]

    Raises
    ------
    SolverFailure : no run settled.
    """
    random = np.random.default_rng(seed)
    part = part_of_row(instance)
    servers = len(instance.servers)
    found: list[FixedPoint] = []
    for trial in range(trials):
        order = list(range(servers)) if trial == 0 else random.permutation(servers).tolist()
        plain = trial == 0 or trial % 2 == 1
        start = None if plain else _start(instance, random)
        try:
            tasks, _ = refill(instance, part, order, start)
        except SolverFailure:
            continue
        _add(found, FixedPoint(tasks, tuple(instance.servers[i] for i in order), plain, 1))
    if not found:
        raise SolverFailure(f"ps-dsf: none of {trials} runs settled")
    alone = instance.alone.sum(axis=1)
    found.sort(key=lambda point: -float((point.tasks.sum(axis=1) / alone).sum()))
    totals = [point.tasks.sum(axis=1) for point in found]
    return [
        FixedPoint(
            p.tasks, p.order, p.from_nothing, p.hits,
            tuple(k for k, other in enumerate(totals) if _dominates(other, totals[j])),
        )
        for j, p in enumerate(found)
    ]  # fmt: skip


def _add(found: list[FixedPoint], new: FixedPoint) -> None:
    total = new.tasks.sum(axis=1)
    for k, old in enumerate(found):
        if np.allclose(old.tasks.sum(axis=1), total, rtol=APART, atol=0):
            found[k] = FixedPoint(old.tasks, old.order, old.from_nothing, old.hits + 1)
            return
    found.append(new)


def _start(instance: Instance, random: np.random.Generator) -> Floats:
    """Random tasks within the limits; capacities are met by the first round."""
    x = instance.alone * random.random(instance.shape[:2]) ** 3
    total = x.sum(axis=1)
    most = np.divide(instance.limit, total, out=np.ones_like(total), where=total > 0)
    shrink = np.minimum(1.0, most)
    start: Floats = x * shrink[:, None]
    return start


def _dominates(a: Floats, b: Floats) -> bool:
    return bool((a >= b * (1 - 1e-9)).all() and (a > b * (1 + APART)).any())
