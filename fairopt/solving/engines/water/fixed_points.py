"""All answers of PS-DSF with divided resources, or of BMF, which need not be unique.

One answer may even dominate another. A search over orders of servers and starting points proves
nothing about answers that it does not find; the notion's mixed-integer program finds the ends of
the whole set.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairopt.errors import SolverFailure, UsageError
from fairopt.instance import Floats, Instance
from fairopt.notions import Notion, PerServerDominantShare
from fairopt.notions.way import Patterns
from fairopt.solving.engines.programs.linear import best
from fairopt.solving.engines.water.refill import refill

APART = 1e-6
"""answers whose totals differ by less than this, relative, count as one"""


@dataclass(frozen=True, eq=False)
class FixedPoint:
    """One distinct fixed point.

    Parameters
    ----------
    tasks : (N, I).
    order : the order of servers of the first run that ended here; empty if a program found it.
    from_nothing : whether that run started without tasks, so that `order` alone reproduces it.
    hits : the number of runs, or of objectives, that ended here.
    dominated_by : positions, in the list returned, of points that give no user less and some user
        more.
    """

    tasks: Floats
    order: tuple[str, ...]
    from_nothing: bool
    hits: int
    dominated_by: tuple[int, ...] = ()


def fixed_points(
    instance: Instance,
    trials: int = 50,
    seed: int = 0,
    notion: Notion | None = None,
    exact: bool = False,
) -> list[FixedPoint]:
    """Distinct answers found, most tasks first (in units of what each user could run alone).

    By refill (the default, for PS-DSF with divided resources): trial 0 takes the servers in their
    own order and starts without tasks; odd trials take a random order, even ones a random order and
    a random start. Runs that hit the bound on rounds are left out.

    With `exact`, by the notion's mixed-integer program: over the set of all answers, the most and
    the fewest tasks of all users together, and of every single user. If one point is returned, no
    answer has other totals; the first and the last are the best and the worst. For up to some eight
    users.

    Parameters
    ----------
    trials, seed : number of runs of the refill, and seed of their random orders and starts.
    notion : PS-DSF with division "rdm" (the default), or BMF, which is always exact.
    exact : use the mixed-integer program instead of the refill.

    Examples
    --------
    >>> import fairopt as fo
    >>> points = fo.fixed_points(fo.read("khamse2016/figure-1").instance, trials=4)
    >>> [round(float(total), 6) for total in points[0].tasks.sum(axis=1)]
    [3.0, 3.0, 6.0]

    Raises
    ------
    SolverFailure : no run settled, or the program is too large.
    UsageError : another notion.
    """
    instance.only_plain("fixed points")
    asked = notion or PerServerDominantShare()
    if exact or asked.family != PerServerDominantShare.family:
        return _ranked(instance, _of_the_set(instance, asked))
    if not isinstance(asked.way(instance), Patterns):
        raise _no_set(asked)
    random = np.random.default_rng(seed)
    part = instance.part_of_row()
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
    return _ranked(instance, found)


def _of_the_set(instance: Instance, notion: Notion) -> list[FixedPoint]:
    """The ends of the set of answers: the most and the fewest tasks of all users together (each in
    units of what it has alone), and of each user."""
    way = notion.way(instance)
    if not isinstance(way, Patterns):
        raise _no_set(notion)
    each = np.eye(len(instance.users)) / instance.alone.sum(axis=1)[:, None]
    found: list[FixedPoint] = []
    for gain in (each.sum(axis=0), *each):
        for sign in (1.0, -1.0):
            _add(found, FixedPoint(best(instance, way, sign * gain), (), False, 1))
    return found


def _no_set(notion: Notion) -> UsageError:
    return UsageError(f"fixed points: found {notion!r}; wanted ps-dsf with division rdm, or bmf")


def _ranked(instance: Instance, found: list[FixedPoint]) -> list[FixedPoint]:
    """The points, most tasks first, with `dominated_by` filled in."""
    alone = instance.alone.sum(axis=1)
    found.sort(key=lambda point: -float((point.tasks.sum(axis=1) / alone).sum()))
    totals = [point.tasks.sum(axis=1) for point in found]
    return [
        FixedPoint(
            p.tasks,
            p.order,
            p.from_nothing,
            p.hits,
            tuple(k for k, other in enumerate(totals) if _dominates(other, totals[j])),
        )
        for j, p in enumerate(found)
    ]


def _add(found: list[FixedPoint], new: FixedPoint) -> None:
    total = new.tasks.sum(axis=1)
    for k, old in enumerate(found):
        if np.allclose(old.tasks.sum(axis=1), total, rtol=APART, atol=0):
            found[k] = FixedPoint(old.tasks, old.order, old.from_nothing, old.hits + 1)
            return
    found.append(new)


def _start(instance: Instance, random: np.random.Generator) -> Floats:
    """Random tasks within the limits; the first round then makes them fit the capacities."""
    x = instance.alone * random.random(instance.shape[:2]) ** 3
    total = x.sum(axis=1)
    most = np.divide(instance.limit, total, out=np.ones_like(total), where=total > 0)
    shrink = np.minimum(1.0, most)
    start: Floats = x * shrink[:, None]
    return start


def _dominates(a: Floats, b: Floats) -> bool:
    return bool((a >= b * (1 - 1e-9)).all() and (a > b * (1 + APART)).any())
