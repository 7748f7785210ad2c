"""Levels in exact fractions beside an independent simplex in fractions, and attacked."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fairopt as fo
from fairopt.certificates.enclosed_search import exact_levels
from fairopt.certificates.exact_case import ExactCase
from fairopt.formulas.entitled import entitled
from fairopt.formulas.lowered import QUOTA, lower
from fairopt.instance.generate import random_instance
from tests.certificates.test_nearby import changing_places, draw
from tests.rational import max_min_levels


def small(seed: int) -> fo.Instance:
    """Small whole numbers, so that much ties and rows are degenerate; limits, weights over decades
    in every third draw."""
    rng = np.random.default_rng(seed)
    users, servers, resources = rng.integers(2, 6), rng.integers(1, 4), rng.integers(1, 4)
    demand = rng.integers(0, 4, (users, resources)).astype(float)
    demand[np.arange(users), rng.integers(resources, size=users)] += 1
    placement = rng.random((users, servers)) < 0.6
    placement[np.arange(users), rng.integers(servers, size=users)] = True
    limit = np.where(rng.random(users) < 0.3, rng.integers(1, 9, users) / 4, np.inf)
    weight = 10.0 ** rng.integers(-3, 4, users) if seed % 3 == 0 else rng.integers(1, 3, users)
    capacity = rng.integers(1, 13, (servers, resources))
    return fo.Instance(demand, capacity, placement=placement, limit=limit, weight=weight)


def solved(inst: fo.Instance, notion: fo.MaxMin) -> fo.Allocation:
    return fo.solve(inst, notion, uncertified="return")


@pytest.mark.parametrize("criterion", ["tasks", "drf", "dominant-share"])
def test_levels_are_those_of_a_simplex_in_fractions(criterion: str) -> None:
    found = 0
    for seed in range(25):
        inst = small(seed)
        alloc = solved(inst, fo.MaxMin(criterion))
        levels = exact_levels(alloc)
        found += levels is not None
        if levels is not None:
            assert list(levels.level) == max_min_levels(inst, scores(inst, criterion))
            near = np.array([float(level) for level in levels.level])
            np.testing.assert_allclose(alloc.levels, near, rtol=1e-6)
    assert found >= 23


def scores(inst: fo.Instance, criterion: str) -> np.ndarray:
    """(N, I) the scores in fractions, whose floats are only near them."""
    users, servers, resources = inst.shape
    found = np.full((users, servers), Fraction(1), dtype=object)
    demand, capacity = (
        [[Fraction(v) for v in row] for row in values.tolist()]
        for values in (inst.demand, inst.capacity)
    )
    for n in range(users if criterion != "tasks" else 0):
        for i in range(servers):
            of = (
                capacity[i]
                if criterion == "dominant-share"
                else list(map(sum, zip(*capacity, strict=True)))
            )
            found[n, i] = max(demand[n][r] / of[r] for r in range(resources) if of[r])
    return found


@pytest.mark.parametrize("seed", range(12))
def test_answers_in_floats_of_all_digits_are_proved(seed: int) -> None:
    alloc = solved(draw(seed), fo.MaxMin("tasks"))
    levels = exact_levels(alloc)
    assert levels is not None
    assert list(levels.level) == max_min_levels(alloc.instance, alloc.score)


def test_what_two_floats_do_not_prove() -> None:
    """Scores that tie in fractions and differ by a last digit in floats."""
    inst = random_instance(30, 12, 3, density=0.1, seed=3, zero_demand=0.3, limits=0.4)
    alloc = solved(inst, fo.MaxMin("dominant-share"))
    levels = exact_levels(alloc)
    assert levels is not None
    off = np.log(alloc.shares / np.array([float(s) for s in levels.share]))
    assert np.abs(off).max() < 1e-9


@pytest.mark.parametrize("much, factor", [(2.0**20, 2.0**10), (2.0**25, 1.0)])
def test_what_amplifies_every_rounding_gives_no_wrong_levels(much: float, factor: float) -> None:
    inst = changing_places(much, factor, 0)
    score = np.ones((5, 4))
    alloc = solved(inst, fo.MaxMin(criterion=lambda _: score))
    levels = exact_levels(alloc)
    assert levels is None or list(levels.level) == max_min_levels(inst, score)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([1e-12, 1e-6, 1e-2, 1.0]), st.booleans())
def test_spoiled_answers_never_give_wrong_levels(seed: int, by: float, of_prices: bool) -> None:
    inst = small(seed)
    alloc = solved(inst, fo.MaxMin("tasks"))
    rng = np.random.default_rng(seed)
    if of_prices:
        assert alloc.level_prices is not None
        prices = alloc.level_prices * (1 + by * rng.standard_normal(alloc.level_prices.shape))
        wrong = alloc.with_(level_prices=np.maximum(prices, 0.0), certificate=None)
    else:
        tasks = alloc.tasks * np.maximum(1 + by * rng.standard_normal(alloc.tasks.shape), 0.0)
        wrong = alloc.with_(tasks=tasks, certificate=None)
    levels = exact_levels(wrong)
    assert levels is None or list(levels.level) == max_min_levels(inst, alloc.score)


def test_by_hand() -> None:
    """6 of one CPU for weights 1 and 2, of which the second may run one task and a half."""
    inst = fo.Instance(np.ones((2, 1)), [[6.0]], weight=[1, 2], limit=[np.inf, 1.5])
    levels = exact_levels(fo.solve(inst, fo.MaxMin("tasks")))
    assert levels is not None
    assert levels.level == (Fraction(9, 2), Fraction(3, 4))
    assert levels.share == (Fraction(9, 2), Fraction(3, 2))
    assert levels.rounds == (("u2",), ("u1",))


def test_what_is_refused() -> None:
    inst = fo.Instance(np.ones((2, 1)), [[6.0]])
    with pytest.raises(fo.UsageError, match="found proportional; wanted max-min"):
        exact_levels(fo.solve(inst, fo.ProportionalFair()))
    with pytest.raises(fo.UsageError, match="no level prices"):
        exact_levels(fo.Allocation(inst, fo.MaxMin("tasks"), [[3], [3]]))


def test_levels_of_groups() -> None:
    """Of 6 CPU one team has 3 for a weight of 1 to 2, and the other 3 for one user."""
    inst = fo.Instance(
        np.ones((3, 1)),
        [[6.0]],
        weight=[1, 2, 1],
        quotas=fo.Quotas([fo.Group("a"), fo.Group("b")], {"u1": "a", "u2": "a", "u3": "b"}),
    )
    levels = exact_levels(fo.solve(inst, fo.MaxMin("tasks", measure="sum")))
    assert levels is not None
    assert levels.share == (1, 2, 3)
    assert sorted(name for users in levels.rounds for name in users) == ["u1", "u2", "u3"]


def test_scores_that_are_nearly_those_of_a_criterion_prove_nothing() -> None:
    """Scores may differ by 1e-9 from those that a criterion's name says: that part of a task of `a`
    is a thousandth of what it leaves to c."""
    inst = fo.Instance([[1, 1e5], [1, 0], [0, 1]], [[1, 5e4 + 0.015625]], weight=[1, 1, 2.0**-10])
    given = np.ones((3, 1))
    given[0] -= 2.0**-31
    own = solved(inst, fo.MaxMin(criterion=lambda _: given))
    assert own.certificate is not None and own.certificate.certified
    due = np.array([float(level) for level in max_min_levels(inst, np.ones((3, 1)))])
    assert np.abs(np.log(own.tasks[:, 0] / inst.weight / due)).max() > 7e-4
    alloc = fo.Allocation(
        inst, fo.MaxMin("tasks"), own.tasks, score=given, level_prices=own.level_prices
    )
    assert fo.certify(alloc).verdict == "refuted"
    right = alloc.with_(tasks=[[0.5], [0.5], [0.015625]], certificate=None)
    assert fo.certify(right).certified


def test_scores_and_rows_are_not_rounded() -> None:
    """Speeds times scores, what nodes that share a row bring along, tasks of subnormal shares."""
    users, more = ["a", "b"], [fo.Quota("a", "r1", 0.1), fo.Quota("b", "r1", 0.2)]
    modes = {"a": [fo.Mode("one"), fo.Mode("other", demand=[0.3], speed=10.1)]}
    inst = fo.Instance([[0.1], [0.7]], [[9]], users=users, modes=modes)
    inst = inst.replace(quotas=fo.Quotas(quotas=more))
    alloc = solved(inst, fo.MaxMin("drf"))
    low = lower(inst, alloc.score)
    case = ExactCase.of(alloc, low, entitled(inst, alloc.score, alloc.kind))
    part = Fraction(0.3) / 9 / Fraction(10.1)  # of the mode that takes least
    assert [Fraction(u, case.unit[0]) for u in case.score[:2]] == [part, part * Fraction(10.1)]
    [k] = np.flatnonzero(low.kind == QUOTA).tolist()
    entry = Fraction(case.row[k][0]) / Fraction(0.1)
    assert case.rhs[k] / entry == Fraction(0.1) + Fraction(0.2)
