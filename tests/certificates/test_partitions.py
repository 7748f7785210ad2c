"""The judge of users in partitions: together as one instance, or the same sum in readings."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

import fairopt as fo
from fairopt.allocation.check import Certificate
from fairopt.certificates.partitioned import together
from fairopt.certificates.partitions import (
    JudgedTerms,
    Shown,
    errors,
    farthest,
    feasible,
    fits,
    spent,
    used,
    verdict,
)
from fairopt.formulas.asked import AlphaAsked
from fairopt.instance.partition import Partition

INF = np.inf


def in_passes(shown: Sequence[Shown], terms: JudgedTerms) -> Certificate:
    """The four readings of partitions that are at hand; `partitioned.certify` reads files."""
    first = used(shown[0], terms)
    for one in shown[1:]:
        first = first + used(one, terms)
    second = spent(shown[0], terms, first)
    for one in shown[1:]:
        second = second + spent(one, terms, first)
    third = errors(shown[0], terms, first, second)
    for one in shown[1:]:
        third = third + errors(one, terms, first, second)
    eps = third.whole(terms, first, second)
    found = [farthest(one, terms, first, second, eps) for one in shown]
    before = np.cumsum([0, *(len(one.users) for one in shown)])
    worst = int(np.argmax([off for off, _ in found]))
    return verdict(terms, first, found[worst][0], int(before[worst]) + found[worst][1])


def planted(
    alpha: float, limits: bool = False, users: int = 60, seed: int = 0
) -> tuple[fo.Instance, np.ndarray, np.ndarray]:
    """An instance, its optimum and prices: all run where they are cheapest, W/q to the power of
    1/alpha or their limit, and capacity is what they use."""
    rng = np.random.default_rng(seed)
    demand = 10.0 ** rng.uniform(-1, 1, (users, 2))
    # tangents of a concave function: every server is the cheapest of somebody
    prices = np.array([[0.5, 2.0], [1.0, 1.0], [2.0, 0.5]])
    weight, cost = rng.uniform(0.5, 2, users), demand @ prices.T
    total = (weight / cost.min(axis=1)) ** (1 / alpha)
    limit = np.where(rng.random(users) < 0.4 * limits, total * rng.uniform(0.3, 0.9, users), INF)
    tasks = np.zeros((users, 3))
    tasks[np.arange(users), cost.argmin(axis=1)] = np.minimum(total, limit)
    inst = fo.Instance(demand, tasks.T @ demand, weight=weight, limit=limit)
    return inst, tasks, prices


def parts(inst: fo.Instance, tasks: np.ndarray, size: int = 25) -> list[Shown]:
    found = []
    for start in range(0, len(tasks), size):
        some = slice(start, start + size)
        users = Partition(
            inst.demand[some], inst.placement[some], inst.weight[some], inst.limit[some]
        )
        found.append(Shown(users, tasks[some]))
    return found


def terms(inst: fo.Instance, prices: np.ndarray, alpha: float) -> JudgedTerms:
    return JudgedTerms.of(AlphaAsked(alpha, False, "tasks", inst.capacity, inst.count), prices)


@pytest.mark.parametrize("limits", [False, True])
@pytest.mark.parametrize("alpha", [0.5, 1.0, 2.0])
def test_together_is_the_verdict_on_one_instance(alpha: float, limits: bool) -> None:
    inst, tasks, prices = planted(alpha, limits)
    for part in (0.0, 0.9e-6, 1.1e-6, 1e-2):
        given = tasks.copy()
        given[7] *= 1 - part
        one = fo.certify(fo.Allocation(inst, fo.AlphaFair(alpha), given, prices))
        found = together(parts(inst, given), terms(inst, prices, alpha))
        assert (found.verdict, found.gap, found.residual) == (one.verdict, one.gap, one.residual)
        assert found.certified == (part < 1e-6)


@pytest.mark.parametrize("limits", [False, True])
@pytest.mark.parametrize("alpha", [0.5, 1.0, 2.0, 5.0])
def test_in_passes_the_bound_is_never_false(alpha: float, limits: bool) -> None:
    """The worst user's true distance is within it, at any prices; at the right ones it is near."""
    inst, tasks, prices = planted(alpha, limits)
    rng = np.random.default_rng(1)
    for part in (0.0, 1e-9, 1e-6, 1e-4, 1e-2, 0.5):
        given = tasks.copy()
        given[7] *= 1 - part
        for factor in (1.0, rng.uniform(0.5, 2), rng.uniform(0.5, 2, prices.shape)):
            with np.errstate(all="ignore"):
                found = in_passes(parts(inst, given), terms(inst, prices * factor, alpha))
            assert found.residual >= -np.log1p(-part) * (1 - 1e-9)
            assert found.verdict == ("certified" if found.residual <= 1e-6 else "unproved")
    with np.errstate(all="ignore"):
        assert in_passes(parts(inst, tasks), terms(inst, prices, alpha)).residual < 1e-5


@pytest.mark.parametrize("alpha", [0.5, 1.0, 2.0])
def test_readings_of_partitions_add_up_to_that_of_all(alpha: float) -> None:
    """In any order, and whoever is wrong: sums are those of all users, what is worst the worst."""
    inst, tasks, prices = planted(alpha, True)
    for who in (7, 55):  # of the first partition and of the last
        given = tasks.copy()
        given[who] *= -0.5
        placement = np.array(inst.placement)
        placement[who] = given[who] == 0
        asked, kinds = terms(inst, prices, alpha), ("below", "stray", "beyond", "top", "finite")
        astray = inst.replace(placement=placement)
        whole, several = parts(astray, given, len(given))[0], parts(astray, given)
        with np.errstate(all="ignore"):
            first = used(whole, asked)
            found = [used(one, asked) for one in several]
            for one in (found[0] + found[1] + found[2], found[2] + found[1] + found[0]):
                np.testing.assert_allclose(one.used, first.used, rtol=1e-12)
                assert [getattr(one, x) for x in kinds] == [getattr(first, x) for x in kinds]
        given[who] *= -1
        whole, several = parts(inst, given, len(given))[0], parts(inst, given)
        first = used(whole, asked)
        second, seconds = spent(whole, asked, first), [spent(x, asked, first) for x in several]
        added = seconds[0] + seconds[1] + seconds[2]
        np.testing.assert_allclose([added.mass, added.money], [second.mass, second.money])
        third = errors(whole, asked, first, second)
        thirds = [errors(x, asked, first, second) for x in several]
        summed = thirds[0] + thirds[1] + thirds[2]
        assert third.eps > 1e-3
        np.testing.assert_allclose([summed.eps, summed.money], [third.eps, third.money])


@pytest.mark.parametrize("spoil", ["capacity", "limit", "tasks >= 0", "placement", "finite"])
def test_what_is_not_feasible_is_refuted(spoil: str) -> None:
    inst, tasks, prices = planted(1.0, True)
    given = tasks.copy()
    if spoil == "capacity":
        given *= 1 + 2e-9
    elif spoil == "limit":
        given[int(np.argmin(inst.limit))] *= 1 + 2e-9
    elif spoil == "tasks >= 0":
        given[0, np.argmin(given[0])] = -1e-12
    elif spoil == "finite":
        given[0, 0] = np.nan
    else:
        placement = np.array(inst.placement)
        placement[0] = given[0] == 0
        inst = inst.replace(placement=placement)
    asked = terms(inst, prices, 1.0)
    shown = parts(inst, given)
    first = used(shown[0], asked)
    for one in shown[1:]:
        first = first + used(one, asked)
    failing = {check.name for check in feasible(first, asked) if not check.holds}
    wanted = "numbers are finite, prices >= 0" if spoil == "finite" else spoil
    assert wanted in failing
    assert verdict(asked, first, 0.0, 0).verdict == "refuted"


def test_so_many_pairs_are_judged_together_on_every_machine():
    assert fits(5_000_000) and not fits(5_000_001)
