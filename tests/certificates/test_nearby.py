"""Max-min where rounding is multiplied from round to round: beside fractions, and attacked."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import fairopt as fo
from fairopt.certificates import judged, rounds
from tests.rational import max_min_levels


def exact(alloc: fo.Allocation) -> np.ndarray:
    """(N,) the levels in fractions."""
    return np.array([float(level) for level in max_min_levels(alloc.instance, alloc.score)])


def draw(seed: int, users: int = 6) -> fo.Instance:
    """Users in several rounds, some at limits, some with nearly parallel demand, and some who need
    1e3 to 1e5 times as much of a row as others."""
    rng = np.random.default_rng(seed)
    servers, resources = int(rng.integers(1, 4)), int(rng.integers(2, 4))
    near = 1 + rng.choice([0, 1e-4, 1e-5, -1e-5], (users, resources))
    demand = rng.integers(1, 4, (1, resources)) * near * (rng.random((users, resources)) < 0.7)
    much = np.flatnonzero(rng.random(users) < 0.5)
    demand[much, rng.integers(resources, size=len(much))] *= 10.0 ** rng.integers(3, 6, len(much))
    demand[np.arange(users), rng.integers(resources, size=users)] += 1
    placement = rng.random((users, servers)) < 0.7
    placement[np.arange(users), rng.integers(servers, size=users)] = True
    held = rng.random((users, servers)) * placement
    limit = np.where(rng.random(users) < 0.3, rng.uniform(0.1, 1, users), np.inf)
    capacity = np.maximum(np.einsum("ni,nr->ir", held, demand), 1.0)
    return fo.Instance(demand, capacity, placement=placement, limit=limit)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("part", [1e-13, 1e-9, 1e-5])
def test_what_one_lacks_and_another_has_is_seen(seed: int, part: float) -> None:
    """One user holds a part less, and another all that this leaves of rows."""
    alloc = fo.solve(draw(seed), fo.MaxMin("tasks"))
    inst, rng = alloc.instance, np.random.default_rng(seed)
    one, other = rng.permutation(len(inst.users))[:2]
    tasks = alloc.tasks.copy()
    tasks[one] *= 1 - part
    left = np.maximum(inst.pool - np.einsum("ni,nr->ir", tasks, inst.demand), 0.0)
    need = inst.demand[other]
    more = np.where(need > 0, left / np.where(need > 0, need, 1.0), np.inf).min(axis=1)
    more = np.minimum(more, max(inst.limit[other] - tasks[other].sum(), 0.0))
    tasks[other] += np.where(inst.placement[other], more, 0.0) * (1 - 1e-12)
    forged = alloc.with_(tasks=tasks, certificate=None)
    verdict = rounds.judge(forged)
    off = np.abs(np.log(forged.levels / exact(forged)))
    assert verdict.verdict != ("certified" if off.max() > 1e-6 else "refuted")
    if verdict.certified:
        assert off.max() <= verdict.residual + 1e-15


def changing_places(much: float, factor: float, more: int) -> fo.Instance:
    """Of five users a gets the last of its server only if c leaves and b comes, who needs hardly
    more, `much` times as often; where c goes it needs `factor` times as much of what is z's. And
    `more` users on two other servers."""
    part = 1 / (much * factor * 2**10)
    ratio, come, leave = 1 + 1 / much, much * part, (much + 1) * part
    demand = np.zeros((5 + more, 4, 4))
    demand[0, 0, 0] = demand[3, 1, 0] = demand[4, 1, 2:] = demand[5:, 2:, 0] = 1
    demand[1, :2, :2], demand[2, :2, :2], demand[1, 1, 2] = 1, [1, ratio], factor
    capacity = np.zeros((4, 4))
    capacity[0, :2] = [2 - leave + come, 1 - leave + ratio * come]
    capacity[1, :2] = [2 + leave - come, leave + ratio * (1 - come)]
    capacity[1, 2:] = [factor * leave + 1, 1 + factor * leave]
    capacity[2:, 0] = more / 2
    may = np.zeros((5 + more, 4))
    may[:5, :2], may[5:, 2:] = [[1, 0], [1, 1], [1, 1], [0, 1], [0, 1]], 1
    weight = np.ones(5 + more)
    weight[4] = 0.5
    return fo.Instance(demand, capacity, placement=may, weight=weight)


@pytest.mark.every(5)
@pytest.mark.parametrize("more", [0, 10, 400, 3000])
@pytest.mark.parametrize("much, factor", [(2.0**20, 2.0**10), (2.0**24, 2.0**10), (2.0**25, 1.0)])
def test_rounding_that_is_multiplied_without_end_proves_nothing(
    much: float, factor: float, more: int
) -> None:
    """What a float's last digit leaves of the first round decides a thousandth of z's share: once
    this was certified, beside 250 others with 1e-12 of a share, and alone with 1e-15."""
    inst = changing_places(much, factor, more)
    part = 1 / (much * factor * 2**10)
    tasks = np.full((5 + more, 4), 0.5) * inst.placement
    leave = (much + 1) * part
    tasks[:5, :2] = [[1 - part, 0], [1, 0], [0, 1], [0, 1 + part], [0, 1 + factor * leave]]
    prices = np.zeros((2, 4, 4))
    prices[0, :2, :2] = prices[0, 2:, 0] = prices[1, 1, 3] = 1
    score = np.ones(tasks.shape)
    kind = fo.MaxMin(criterion=lambda _: score)
    forged = fo.Allocation(inst, kind, tasks, score=score, level_prices=[*prices])
    off = np.log1p(factor * leave)  # of z, whose level is 2 in fractions
    verdict = judged(forged)
    assert off > 9e-4 and not verdict.certified
    assert verdict.verdict == "refuted" or verdict.residual >= off


def test_our_own_answer_to_it_is_not_certified_unless_it_is_right() -> None:
    """The solver's prices are no better than its tasks; z is due 1, and got 1.00098, certified."""
    inst = changing_places(2.0**20, 2.0**10, 0)
    score = np.ones((5, 4))
    alloc = fo.solve(inst, fo.MaxMin(criterion=lambda _: score), uncertified="return")
    off = float(np.abs(np.log(alloc.levels / exact(alloc))).max())
    assert alloc.certificate is not None
    assert off <= 1e-6 or not alloc.certificate.certified


def test_users_to_whom_rules_allow_nothing_hide_nothing() -> None:
    """Who can have nothing is due nothing; the others are judged all the same."""
    inst = fo.Instance(
        [[1, 1e6], [0, 1], [1, 0]],
        [[1, 1e6 + 1]],
        users=["A", "B", "nobody"],
        quotas=fo.Quotas(bounds=[fo.Bound("nobody", "r1", 0.0)]),
    )
    right = fo.solve(inst, fo.MaxMin("tasks"))
    assert right.totals[2] == 0 and right.certificate is not None and right.certificate.certified
    wrong = right.with_(tasks=[[1 - 5e-12], [1 + 5e-6], [0.0]])
    assert not judged(wrong).certified


def test_levels_that_are_equal_but_for_rounding_become_one() -> None:
    """Two servers whose users are at one level but for its last digit, and may change places."""
    inst = fo.Instance(
        [[0.75], [1.0], [0.25], [0.75]],
        [[3.0], [9.0]],
        placement=[[1, 1], [1, 1], [1, 1], [0, 1]],
        limit=[np.inf, 13.1, 24.02, 24.9],
        weight=[3, 2, 2, 1],
    )
    alloc = fo.solve(inst, fo.MaxMin("drf"))
    assert alloc.certificate is not None and alloc.certificate.certified


def giving_way(n: int, stages: int, times: float) -> tuple[fo.Instance, float]:
    """a and c are stopped on a server at (n + 2) / (n + 1), d on the next one at (n + 1) / n, which
    is higher by about 1 / n^2: so c has a trifle there, for which whoever is at its limit there
    moves on to the next server, needs `times` as much, and so on. And the share z is left at last,
    in exact fractions."""
    users = 4 + stages
    demand, may = np.zeros((users, stages + 2, 2)), np.zeros((users, stages + 2))
    demand[:2, 0, 0], demand[1, 1], demand[2, 1, 0] = n + 1, [n + 1, 1], n
    may[:2, 0] = may[1:3, 1] = 1
    limit = np.full(users, np.inf)
    for j in range(stages):
        demand[3 + j, [1 + j, 2 + j], 1] = [1, times]
        may[3 + j, 1 + j : 3 + j] = limit[3 + j] = 1
    demand[-1, -1, 1] = may[-1, -1] = 1
    capacity = np.ones((stages + 2, 2))
    capacity[:2, 0] = [2 * (n + 2), n + 1]
    weight = np.append(np.ones(users - 1), 0.25)
    level = Fraction(3 * n + 5, 3 * n + 2)
    moves = 2 * level - Fraction(2 * (n + 2), n + 1)
    assert 0 < moves < Fraction(1, n**2)
    inst = fo.Instance(demand, capacity, placement=may, limit=limit, weight=weight)
    return inst, float(1 - moves * Fraction(times) ** stages)


@pytest.mark.parametrize(
    "n, stages, times", [(2**27, 5, 512), (2**30, 6, 512), (10**10, 7, 300), (2**40, 8, 512)]
)
def test_levels_that_differ_by_less_than_a_float_shows_are_two(
    n: int, stages: int, times: float
) -> None:
    """They once counted as one up to a float's digits, so that nobody had to give way: z had up to
    1 % too much, certified with 2e-15, our own answers too."""
    inst, due = giving_way(n, stages, times)
    score = np.ones(inst.shape[:2])
    kind = fo.MaxMin(criterion=lambda _: score)
    tasks = np.zeros(inst.shape[:2])
    tasks[[0, 1], 0], tasks[2, 1] = (n + 2) / (n + 1), (n + 1) / n
    tasks[np.arange(3, 3 + stages), np.arange(1, 1 + stages)] = tasks[-1, -1] = 1
    prices = np.zeros((2, stages + 2, 2))
    prices[0, :2, 0] = prices[1, -1, 1] = 1
    forged = fo.Allocation(inst, kind, tasks, score=score, level_prices=[*prices])
    assert 1 / due - 1 > 9e-6 and not judged(forged).certified
    own = fo.solve(inst, kind, uncertified="return")
    assert own.certificate is not None
    assert abs(own.shares[-1] / due - 1) <= 1e-6 or not own.certificate.certified


@pytest.mark.parametrize("more", [70, 140])
def test_a_chain_beside_many_others_is_proved_in_fractions_or_not_at_all(more: int) -> None:
    """Users who have nothing to do with it once left it to an estimate: certified."""
    n, stages = 2**48, 10
    inst, due = giving_way(n, stages, 512)
    users, servers, resources = inst.demand_by_server.shape
    whole = users + more, servers + 1
    demand, may = np.zeros((*whole, resources)), np.zeros(whole)
    demand[:users, :servers], may[:users, :servers] = inst.demand_by_server, inst.placement
    demand[users:, servers, 0] = may[users:, servers] = 1
    capacity = np.vstack([inst.capacity, [8.0 * more, 1]])
    limit, weight = (
        np.append(each, np.full(more, rest))
        for each, rest in ((inst.limit, np.inf), (inst.weight, 1))
    )
    tasks = np.zeros(whole)
    tasks[[0, 1], 0], tasks[2, 1] = (n + 2) / (n + 1), (n + 1) / n
    tasks[np.arange(3, 3 + stages), np.arange(1, 1 + stages)] = 1
    tasks[users - 1, servers - 1], tasks[users:, servers] = 1, 8
    prices = np.zeros((3, servers + 1, resources))
    prices[0, :2, 0] = prices[1, servers - 1, 1] = prices[2, servers, 0] = 1
    score = np.ones(whole)
    forged = fo.Allocation(
        fo.Instance(demand, capacity, placement=may, limit=limit, weight=weight),
        fo.MaxMin(criterion=lambda _: score),
        tasks,
        score=score,
        level_prices=[*prices],
    )
    assert 1 / due - 1 > 1e-2 and not judged(forged).certified
