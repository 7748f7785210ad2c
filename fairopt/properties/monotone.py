"""Monotonicity: more resources, or fewer users, make nobody worse off."""

from __future__ import annotations

from itertools import combinations, islice
from typing import Any

import numpy as np

from fairopt.instance import Floats, Instance
from fairopt.notions import Notion
from fairopt.properties.searching import (
    TOLERANCE,
    Point,
    PointSearch,
    Searched,
    proved,
    remark,
    truth_of,
    worst_loss,
)

_FACTORS = (1.1, 2.0, 10.0)


def resource_monotone(
    instance: Instance, notion: Notion, trials: int = 300, seed: int = 0
) -> Searched:
    r"""More capacity makes nobody worse off.

    .. math:: c' \ge c \implies x'_n \ge x_n \quad \forall n

    Tried are growths of each capacity alone, of a whole server, of one resource everywhere and of
    everything; then random growths, then Nelder-Mead from the worst. A server may also be given a
    resource that it has none of.

    Parameters
    ----------
    instance : the cluster. notion : the notion judged.
    trials : growths tried; each is one solve. seed : of the random growths.

    Returns
    -------
    Searched : residual is the largest part of its tasks that a user loses; tolerance 1e-4. `found`
        is that growth: capacity {server: {resource: amount}} where it is new, loser, before, after.

    Raises
    ------
    NotCertified, UsageError, ... : as `solve` on the instance. UsageError : trials below 1.

    Examples
    --------
    >>> import fairopt as fo
    >>> from fairopt import properties
    >>> inst = fo.Instance([[1, 4], [3, 1]], [[9, 18]])
    >>> properties.resource_monotone(inst, fo.ProportionalFair(), trials=3).holds
    False
    """
    truth = truth_of(instance, notion)

    def value(what: tuple[int, ...], numbers: Floats) -> float | None:
        answer = proved(grown(instance, what, numbers), notion)
        return None if answer is None else worst_loss(truth.outputs, answer.outputs)[0]

    search = PointSearch(value, trials, seed)
    residual, point = search.run(_growths(instance), lambda rng: _growth(instance, rng))
    found: dict[str, Any] = {}
    witness = f"no growth of {search.tried} could be proved"
    if point is not None:
        larger = grown(instance, *point)
        answer = proved(larger, notion)
        assert answer is not None
        n = worst_loss(truth.outputs, answer.outputs)[1]
        more = {
            instance.servers[i]: {
                instance.resources[r]: float(larger.capacity[i, r])
                for r in np.flatnonzero(larger.capacity[i] != instance.capacity[i])
            }
            for i in np.flatnonzero((larger.capacity != instance.capacity).any(axis=1))
        }
        found = {
            "capacity": more,
            "loser": instance.users[n],
            "before": float(truth.outputs[n]),
            "after": float(answer.outputs[n]),
        }
        words = " and ".join(
            f"{amount:.6g} {resource} on {server}"
            for server, row in more.items()
            for resource, amount in row.items()
        )
        witness = f"with {words} {_loses(found)}"
        if residual <= TOLERANCE:
            witness = f"no growth of {search.tried} makes anybody lose"
        witness += remark(notion) if residual > TOLERANCE else ""
    return search.said("resource-monotone", residual, witness, found)


def population_monotone(
    instance: Instance, notion: Notion, trials: int = 100, seed: int = 0
) -> Searched:
    r"""Nobody who stays is worse off when others leave.

    .. math:: x_n(N \setminus S) \ge x_n(N) \quad \forall S, \ n \notin S

    Tried are the departures of one user, then of two, and so on, as far as the trials go.

    Parameters
    ----------
    instance : the cluster. notion : the notion judged. trials : departures tried, one solve each.
    seed : not used; present so that all properties of notions have the same signature.

    Returns
    -------
    Searched : residual is the largest part of its tasks that a user loses; tolerance 1e-4. `found`
        is that departure: left, loser, before, after.

    Raises
    ------
    NotCertified, UsageError, ... : as `solve` on the instance. UsageError : trials below 1.

    Examples
    --------
    >>> import fairopt as fo
    >>> from fairopt import properties
    >>> inst = fo.Instance([[1, 4], [3, 1]], [[9, 18]])
    >>> properties.population_monotone(inst, fo.ProportionalFair(), trials=2).holds
    True
    """
    truth = truth_of(instance, notion)
    users = range(len(instance.users))
    groups = (g for size in range(1, len(users)) for g in combinations(users, size))

    def after(left: tuple[int, ...]) -> tuple[float, int, float] | None:
        stay = [n for n in users if n not in left]
        answer = proved(instance.select(stay, range(len(instance.servers))), notion)
        if answer is None:
            return None
        lost, k = worst_loss(truth.outputs[stay], answer.outputs)
        return lost, stay[k], float(answer.outputs[k])

    def value(left: tuple[int, ...], _: Floats) -> float | None:
        loss = after(left)
        return None if loss is None else loss[0]

    search = PointSearch(value, trials, seed)
    starts: list[Point] = [(group, np.empty(0)) for group in islice(groups, trials)]
    residual, point = search.run(starts, None)
    found: dict[str, Any] = {}
    witness = f"no departure of {search.tried} makes anybody lose"
    if point is not None and residual > TOLERANCE:
        loss = after(point[0])
        assert loss is not None
        found = {
            "left": [instance.users[n] for n in point[0]],
            "loser": instance.users[loss[1]],
            "before": float(truth.outputs[loss[1]]),
            "after": loss[2],
        }
        witness = f"without {', '.join(found['left'])} {_loses(found)}{remark(notion)}"
    return search.said("population-monotone", residual, witness, found)


def _loses(found: dict[str, Any]) -> str:
    return f"{found['loser']} runs {found['after']:.6g} tasks instead of {found['before']:.6g}"


def grown(instance: Instance, what: tuple[int, ...], numbers: Floats) -> Instance:
    """The instance with the capacities at flat positions `what` grown by exp(abs(number)).

    A capacity of 0 grows to (factor - 1) times the mean capacity of the resource over servers.
    """
    capacity = instance.capacity.copy()
    mean = instance.capacity.mean(axis=0)
    for place, number in zip(what, numbers, strict=True):
        i, r = divmod(int(place), capacity.shape[1])
        base = capacity[i, r] if capacity[i, r] > 0 else mean[r]
        capacity[i, r] += base * np.expm1(abs(number))
    return instance.replace(capacity=capacity)


def _growths(instance: Instance) -> list[Point]:
    """Growths of each capacity, each server, each resource on all servers, and everything."""
    _, servers, resources = instance.shape
    places = np.arange(servers * resources).reshape(servers, resources)
    sets = [*([p] for p in places.ravel()), *places, *places.T, places.ravel()]
    unique = dict.fromkeys(tuple(int(p) for p in group) for group in sets)
    return [(group, np.full(len(group), np.log(f))) for f in _FACTORS for group in unique]


def _growth(instance: Instance, rng: np.random.Generator) -> Point:
    """Some capacities, each by a factor of its own."""
    size = instance.capacity.size
    chosen = np.flatnonzero(rng.random(size) < rng.uniform(0.2, 1.0))
    if not chosen.size:
        chosen = np.array([int(rng.integers(size))])
    what = tuple(int(place) for place in chosen)
    return what, rng.exponential(float(rng.choice([0.1, 0.5, 1.5])), len(what))
