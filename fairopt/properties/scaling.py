"""Scale invariance: the size of a task is a unit of measurement, which must not matter."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from fairopt.instance import Floats, Instance
from fairopt.notions import Notion
from fairopt.properties.searching import (
    TOLERANCE,
    Point,
    Search,
    Searched,
    proved,
    remark,
    truth_of,
)

_FACTORS = (2.0, 0.5, 10.0, 0.1, 1.1)


def scaled(instance: Instance, n: int, factor: float) -> Instance:
    """The instance with tasks of user n `factor` times as large, and its limit and guarantee in
    those tasks."""
    demand, limit = instance.demand.copy(), instance.limit.copy()
    demand[n] *= factor
    limit[n] /= factor
    quotas, user = instance.quotas, instance.users[n]
    if quotas is not None and user in quotas.guarantee_tasks:
        own = {**quotas.guarantee_tasks, user: quotas.guarantee_tasks[user] / factor}
        quotas = replace(quotas, guarantee_tasks=own)
    return instance.replace(demand=demand, limit=limit, quotas=quotas)


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
    """
    truth = truth_of(instance, notion)
    users = range(len(instance.users))

    def value(n: int, numbers: Floats) -> float | None:
        apart = _apart(instance, notion, truth.totals, n, float(np.exp(numbers[0])))
        return None if apart is None else apart[0]

    def draw(rng: np.random.Generator) -> Point:
        return int(rng.integers(len(users))), np.log(10.0) * rng.uniform(-2, 2, 1)

    search = Search(value, trials, seed)
    starts: list[Point] = [(n, np.array([np.log(f)])) for f in _FACTORS for n in users]
    residual, point = search.run(starts, draw)
    found: dict[str, Any] = {}
    witness = f"no change of {search.tried} could be proved"
    if point is not None:
        n, factor = point[0], float(np.exp(point[1][0]))
        apart = _apart(instance, notion, truth.totals, n, factor)
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
    answer = proved(scaled(instance, n, factor), notion)
    if answer is None:
        return None
    wanted = truth.copy()
    wanted[n] /= factor
    # a user that gets nothing may be left a rounding error, which counts as nothing
    least = 1e-9 * answer.instance.alone.sum(axis=1)
    most = np.maximum(np.maximum(wanted, answer.totals), least)
    off = np.where(most > least, np.abs(answer.totals - wanted) / most, 0.0)
    m = int(off.argmax())
    return float(off[m]), m, float(wanted[m]), float(answer.totals[m])
