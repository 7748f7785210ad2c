"""Scale invariance: the size of a task is a unit of measurement, which must not matter."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from fairopt import criteria
from fairopt.instance import Floats, Instance
from fairopt.instance.quotas import Mode
from fairopt.instance.rules import Rule
from fairopt.notions import Notion
from fairopt.properties.searching import (
    TOLERANCE,
    Point,
    PointSearch,
    Searched,
    proved,
    remark,
    truth_of,
)

_FACTORS = (2.0, 0.5, 10.0, 0.1, 1.1)


def scaled(instance: Instance, n: int, factor: float) -> Instance:
    """The instance with tasks of user n `factor` times as large, its limits and guarantee in those
    tasks, and own rules that count each for so much more."""
    demand, limit = instance.demand.copy(), instance.limit.copy()
    demand[n] *= factor
    limit[n] /= factor
    quotas, user = instance.quotas, instance.users[n]
    more: dict[str, Any] = {}
    if instance.limit_on is not None:
        more["limit_on"] = instance.limit_on.copy()
        more["limit_on"][n] /= factor
    if instance.modes is not None and user in instance.modes:
        more["modes"] = {**instance.modes, user: [_larger(m, factor) for m in instance.modes[user]]}
    if instance.rules is not None:
        more["rules"] = list(_counting(instance, n, factor))
    if quotas is not None and user in quotas.guarantee_tasks:
        own = {**quotas.guarantee_tasks, user: quotas.guarantee_tasks[user] / factor}
        quotas = replace(quotas, guarantee_tasks=own)
    return instance.replace(demand=demand, limit=limit, quotas=quotas, **more)


def _larger(mode: Mode, factor: float) -> Mode:
    """A mode of a user whose demand is `factor` times as large."""
    own = mode.demand
    return mode if own is None else replace(mode, demand=tuple([factor * d for d in own]))


def _counting(instance: Instance, n: int, factor: float) -> Iterator[Rule]:
    """The own rules, each task of user n counted `factor` times."""
    ways = instance.ways
    for rule, row in zip(instance.rules or (), instance.own_rows, strict=True):
        counted: dict[tuple[str, ...], float] = {}
        for k, i, value in zip(row.way, row.server, row.value, strict=True):
            m = int(ways.owner[k])
            mode = (ways.name[k],) if ways.name[k] else ()
            key = (instance.users[m], instance.servers[i], *mode)
            counted[key] = float(value) * (factor if m == n else 1.0)
        amount: dict[str, Any] = {rule.sense: rule.amount}
        yield Rule.of(rule.name, counted, **amount)


def _had(instance: Instance, other: Instance, notion: Notion, n: int, factor: float) -> Instance:
    """The instance scaled, with the share that user n had from as many tasks, which are larger."""
    if instance.start is None or not instance.start[n]:
        return other
    i = int(instance.eligible[n].argmax())
    before, after = (criteria.score(each, notion.criterion)[n, i] for each in (instance, other))
    start = instance.start.copy()
    start[n] *= after / (before * factor)
    return other.replace(start=start)


def scale_invariant(
    instance: Instance, notion: Notion, trials: int = 50, seed: int = 0
) -> Searched:
    r"""A user's demand times k divides its tasks by k, and changes nothing for others.

    .. math:: x'_n = x_n / k, \quad x'_m = x_m \; (m \ne n)
              \quad \text{where } d'_n = k \, d_n, \ \ell'_n = \ell_n / k

    (bonald2015 section 2.2.) One user is changed at a time, by the factors 2, 1/2, 10, 1/10, 1.1,
    then random ones over four decades.

    Parameters
    ----------
    instance : the cluster. notion : the notion judged.
    trials : changes tried; each is one solve. seed : of the random factors.

    Returns
    -------
    Searched : residual is the largest relative difference of anybody's tasks; tolerance 1e-4.
        `found` is that change: user, factor, loser, wanted, got.

    Raises
    ------
    NotCertified, UsageError, ... : as `solve` on the instance. UsageError : trials below 1.

    Examples
    --------
    >>> import fairopt as fo
    >>> from fairopt import properties
    >>> inst = fo.Instance([[1, 4], [3, 1]], [[9, 18]])
    >>> properties.scale_invariant(inst, fo.ProportionalFair(), trials=3).holds
    True
    """
    truth = truth_of(instance, notion)
    users = range(len(instance.users))

    def value(n: int, numbers: Floats) -> float | None:
        apart = _apart(instance, notion, truth.outputs, n, float(np.exp(numbers[0])))
        return None if apart is None else apart[0]

    def draw(rng: np.random.Generator) -> Point:
        return int(rng.integers(len(users))), np.log(10.0) * rng.uniform(-2, 2, 1)

    search = PointSearch(value, trials, seed)
    starts: list[Point] = [(n, np.array([np.log(f)])) for f in _FACTORS for n in users]
    residual, point = search.run(starts, draw)
    found: dict[str, Any] = {}
    witness = f"no change of {search.tried} could be proved"
    if point is not None:
        n, factor = point[0], float(np.exp(point[1][0]))
        apart = _apart(instance, notion, truth.outputs, n, factor)
        assert apart is not None
        _, m, wanted, got = apart
        found = {
            "user": instance.users[n],
            "factor": factor,
            "loser": instance.users[m],
            "wanted": wanted,
            "got": got,
        }
        witness = (
            f"with tasks of {found['user']} {factor:.6g} times as large {found['loser']} runs "
            f"{got:.6g} of them instead of {wanted:.6g}"
        )
        witness += remark(notion) if residual > TOLERANCE else f", the most of {search.tried}"
    return search.said("scale-invariant", residual, witness, found)


def _apart(
    instance: Instance, notion: Notion, truth: Floats, n: int, factor: float
) -> tuple[float, int, float, float] | None:
    """(relative difference, user, tasks wanted, tasks got) of the largest difference."""
    answer = proved(_had(instance, scaled(instance, n, factor), notion, n, factor), notion)
    if answer is None:
        return None
    wanted = truth.copy()
    wanted[n] /= factor
    # a user that gets nothing may be left a rounding error, which counts as nothing
    least = 1e-9 * answer.instance.alone.sum(axis=1)
    most = np.maximum(np.maximum(wanted, answer.outputs), least)
    off = np.where(most > least, np.abs(answer.outputs - wanted) / most, 0.0)
    m = int(off.argmax())
    return float(off[m]), m, float(wanted[m]), float(answer.outputs[m])
