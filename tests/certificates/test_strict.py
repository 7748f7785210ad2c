"""Levels that strict inequalities prove, beside a simplex in fractions, and attacked."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fairopt as fo
from fairopt.certificates import judged
from fairopt.certificates.enclosed_search import exact_levels
from fairopt.certificates.exact_case import ExactCase
from fairopt.certificates.exact_verdict import ALL_ROUNDS
from fairopt.certificates.strict import TRIFLES, strict_levels
from fairopt.certificates.strict.case import StrictCase
from fairopt.certificates.strict.claim import Claim
from fairopt.certificates.strict.held import Shares
from fairopt.certificates.strict.near import NearInverse
from fairopt.certificates.strict.prices import proved
from fairopt.certificates.strict.tasks import TasksFound
from fairopt.formulas.entitled import entitled
from fairopt.formulas.lowered import lower
from tests.certificates.test_enclosed import KINDS, draw
from tests.certificates.test_exact_levels import scores, small
from tests.rational import max_min_levels

CRITERIA = ("drf", "tasks", "dominant-share")


def generic(seed: int) -> fo.Instance:
    """Few users: demands nearly in one direction, weights over decades, limits, twins nearly tied,
    servers nearly alike."""
    rng = np.random.default_rng([7, seed])
    users, servers, resources = rng.integers(2, 6), rng.integers(1, 4), rng.integers(1, 4)
    demand = rng.lognormal(0, 1, (users, resources))
    capacity = rng.lognormal(2, 1, (servers, resources))
    may = rng.random((users, servers)) < 0.6
    may[np.arange(users), rng.integers(servers, size=users)] = True
    weight, limit, kind = np.ones(users), np.full(users, np.inf), seed % 6
    near = 10.0 ** -rng.uniform(9, 13, max(users, servers))
    if kind == 1:
        demand = demand[0] * (1 + 10.0 ** -rng.uniform(5, 12) * rng.normal(size=demand.shape))
    if kind == 2:
        weight = 10.0 ** rng.uniform(-6, 6, users)
    if kind == 3:
        limit = np.where(rng.random(users) < 0.5, rng.lognormal(0, 1, users), np.inf)
    if kind == 4:
        of = rng.integers(0, max(users // 2, 1), users)
        demand, may, weight = demand[of], may[of], 1 + near[:users]
    if kind == 5:
        capacity = capacity[rng.integers(0, servers, servers)] * (1 + near[:servers, None])
    return fo.Instance(demand, capacity, placement=may, weight=weight, limit=limit)


def asked(seed: int) -> tuple[fo.Allocation, list[Fraction]]:
    """An answer, and what everybody is due at every optimum."""
    inst, criterion = (small if seed % 3 == 0 else generic)(seed), CRITERIA[seed % 7 % 3]
    alloc = fo.solve(inst, fo.MaxMin(criterion), uncertified="return")
    level = max_min_levels(inst, scores(inst, criterion))
    return alloc, [t * Fraction(float(w)) for t, w in zip(level, inst.weight, strict=True)]


def right(found: Shares, due: list[Fraction]) -> bool:
    """Whether what is due is where it is said to be."""
    each = zip(*found.share.tolist(), found.off.tolist(), due, strict=True)
    return all(abs(Fraction(a) + Fraction(b) - t) <= Fraction(off) for a, b, off, t in each)


@pytest.mark.parametrize("first", range(0, 60, 10))
def test_levels_are_those_of_a_simplex_in_fractions(first: int) -> None:
    known = 0
    for seed in range(first, first + 10):
        alloc, due = asked(seed)
        found = strict_levels(alloc)
        known += found is not None
        if found is not None:
            assert right(found, due)
            assert (found.off <= 1e-24 * found.share[0]).all()
    assert known >= 3


@pytest.mark.parametrize("kind", KINDS)
def test_levels_are_those_in_fractions(kind: str) -> None:
    for seed in range(4):
        alloc = fo.solve(draw(kind, seed), fo.MaxMin("drf"))
        exact, found = exact_levels(alloc), strict_levels(alloc)
        if exact is not None and found is not None:
            assert right(found, list(exact.share))


def test_answers_are_certified_by_them() -> None:
    alloc = fo.solve(draw("", 3), fo.MaxMin())
    assert strict_levels(alloc) is not None
    verdict = judged(alloc)
    assert verdict.certified and verdict.residual < 1e-13
    assert verdict.checks[-1].name == ALL_ROUNDS
    low, high = verdict.intervals.ends
    share = strict_levels(alloc).share[0]
    assert ((low < share) & (share < high) & (high < low * (1 + 1e-14))).all()


def spoiled(alloc: fo.Allocation, rng: np.random.Generator, part: float) -> list[fo.Allocation]:
    """Answers with tasks, levels and prices that are wrong by a part, or altogether."""
    tasks, prices = alloc.tasks, alloc.level_prices
    some = np.where(rng.random(len(tasks)) < 0.5, 1 - part, 1.0)
    forged = prices * 10.0 ** rng.uniform(-3, 3, prices.shape)
    more = np.where(rng.random(prices.shape) < 0.3, rng.random(prices.shape), prices)
    two = rng.permutation(len(tasks))
    return [
        alloc.with_(tasks=tasks * (1 - part * rng.random(tasks.shape))),
        alloc.with_(tasks=tasks * some[:, None]),
        alloc.with_(tasks=np.where(alloc.instance.eligible, tasks[two], 0.0)),
        alloc.with_(level_prices=prices[rng.permutation(len(prices))]),
        alloc.with_(level_prices=prices[:1]),
        alloc.with_(level_prices=forged),
        alloc.with_(level_prices=more),
    ]


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), part=st.sampled_from([1e-2, 1e-4, 1e-6, 1e-9, 1e-12]))
def test_whatever_answers_tell_only_the_truth_is_proved(seed: int, part: float) -> None:
    alloc, due = asked(seed)
    if alloc.level_prices is None:
        return
    near = np.array([float(t) for t in due])
    for forged in spoiled(alloc, np.random.default_rng(seed), part):
        found = strict_levels(forged)
        assert found is None or right(found, due)
        verdict = fo.certify(forged)
        with np.errstate(divide="ignore", invalid="ignore"):
            off = np.where(near == forged.shares, 0.0, np.abs(np.log(forged.shares / near)))
        assert not verdict.certified or off.max() <= min(verdict.residual, 1e-6) + 1e-15


def changed(case: StrictCase, claim: Claim, rng: np.random.Generator) -> Claim:
    """A claim that says something else: rounds, rows, columns, limits or prices."""
    stage, kind = claim.stage.copy(), rng.integers(7)
    k, n = rng.integers(len(claim.level)), rng.integers(len(stage))
    if kind == 0 and k:
        stage = np.where(stage >= k, stage - 1, stage)
        return replace(claim, stage=stage, level=np.delete(claim.level, k))
    if kind == 1:
        up = (stage == k) & (rng.random(len(stage)) < 0.5)
        stage = np.where(stage > k, stage + 1, stage) + up
        return replace(claim, stage=stage, level=np.insert(claim.level, k, claim.level[k]))
    if kind == 2:
        other = np.delete(claim.rows, rng.integers(len(claim.rows)))
        rows = np.unique(np.append(other, rng.integers(len(case.right[0]))))
        return replace(claim, rows=rows)
    if kind == 3 and len(claim.rest):
        gone = rng.choice(claim.rest)
        used = np.setdiff1d(claim.used, gone)
        rest = np.setdiff1d(claim.rest, gone)
        return replace(claim, used=used, rest=rest, inside=case.matrix[:, used])
    if kind == 4:
        other = np.setdiff1d(np.flatnonzero(case.open_), claim.used)
        if len(other):
            new, x = rng.choice(other), claim.x.copy()
            x[new] = x[claim.home[case.owner[new]]] * rng.random()
            used, rest = (np.sort(np.append(own, new)) for own in (claim.used, claim.rest))
            return replace(claim, x=x, used=used, rest=rest, inside=case.matrix[:, used])
    if kind == 5:
        capped = claim.capped.copy()
        capped[n] = ~capped[n]
        stage[n] = -1 if capped[n] else k
        return replace(claim, capped=capped, stage=stage)
    price = claim.price.copy()
    price[rng.choice(claim.rows), rng.integers(price.shape[1])] = rng.random() * rng.integers(2)
    return replace(claim, price=price, priced=price > 0)


@pytest.mark.parametrize("seed", range(40))
def test_whatever_is_claimed_only_the_truth_is_proved(seed: int) -> None:
    alloc, due = asked(seed)
    rng = np.random.default_rng(seed)
    with np.errstate(all="ignore"):
        case = StrictCase.of(alloc)
        claim = None if case is None else Claim.of(case, alloc, TRIFLES[0])
        for _ in range(0 if claim is None else 25):
            other = claim
            for _ in range(rng.integers(1, 4)):
                other = changed(case, other, rng)
            tasks = TasksFound.of(case, other)
            if tasks is not None and tasks.kept and proved(case, other, tasks.order):
                assert right(tasks.shares(), due)


def test_a_chain_that_multiplies_errors_is_not_certified() -> None:
    """User A takes a million GB a task and one CPU, B one GB; A is short by a part 5e-12."""
    inst = fo.Instance([[1.0, 1e6], [0.0, 1.0]], [[1.0, 1e6 + 1]])
    alloc = fo.solve(inst, fo.MaxMin("tasks"))
    found = strict_levels(alloc)
    assert found is None or right(found, [Fraction(1), Fraction(1)])
    short = alloc.with_(tasks=np.array([[1 - 5e-12], [1 + 5e-6]]))
    assert not fo.certify(short).certified


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("by_server", [False, True])
def test_scores_are_next_to_those_in_fractions(criterion: str, by_server: bool) -> None:
    rng = np.random.default_rng(5)
    shape = (6, 4, 3) if by_server else (6, 3)
    count = rng.integers(1, 9, 4)
    inst = fo.Instance(rng.lognormal(size=shape), rng.lognormal(3, 1, (4, 3)), count=count)
    alloc = fo.solve(inst, fo.MaxMin(criterion), uncertified="return")
    case = StrictCase.of(alloc)
    asks = entitled(inst, alloc.score, alloc.kind)
    exact = ExactCase.of(alloc, lower(inst, alloc.score), asks)
    for n, u, a, b in zip(exact.owner, exact.score, *case.score.tolist(), strict=True):
        true = Fraction(u, exact.unit[n])
        assert abs(Fraction(a) + Fraction(b) - true) <= true * Fraction(2) ** -98
    for k, b in enumerate(exact.rhs):
        c = next(iter(exact.row[k]))
        unit = Fraction(exact.row[k][c]) / Fraction(float(case.matrix[k, c]))
        assert Fraction(b) / unit == sum(map(Fraction, case.right[:, k].tolist()))


@pytest.mark.parametrize("size", [1, 2, 9])
def test_solutions_of_all_matrices_within_an_error_are_within_bounds(size: int) -> None:
    rng = np.random.default_rng(size)
    matrix = rng.normal(size=(size, size)) + 3 * np.eye(size)
    error = 1e-6 * rng.random((size, size))
    near = NearInverse.of(matrix, error)
    x = rng.normal(size=size)
    for _ in range(50):
        other = matrix + error * rng.choice([-1, 0, 1], (size, size))
        right_ = matrix @ x
        missing = np.abs(right_ - other @ x)
        wide = near.wide(missing + 1e-15)
        assert (np.abs(np.linalg.solve(other, right_) - x) <= wide).all()


def test_a_matrix_that_may_be_singular_is_not_regular() -> None:
    assert NearInverse.of(np.zeros((2, 2)), np.zeros((2, 2))) is None
    near = NearInverse.of(np.array([[1.0, 1.0], [1.0, 1.001]]), np.full((2, 2), 1e-3))
    assert near.wide(np.ones(2)) is None


def test_how_much_more_somebody_holds_is_what_fractions_say() -> None:
    """To the digits of what is due: whoever holds the float next to it holds another amount."""
    known = 0
    for seed in range(12):
        alloc, due = asked(seed)
        found = strict_levels(alloc)
        if found is None or CRITERIA[seed % 7 % 3] != "tasks":
            continue
        most, least = found.far(alloc)
        for n, t in enumerate(due):
            held = sum(map(Fraction, alloc.tasks[n].tolist()))
            part, wide = (held - t) / t, Fraction(2) ** -50
            assert Fraction(least[n]) - wide * abs(part) <= part
            assert part <= Fraction(most[n]) + wide * abs(part)
            assert most[n] - least[n] <= 1e-20
            known += 0 < abs(part) < 1e-15
    assert known


@pytest.mark.parametrize("power", [-20, 20])
def test_the_unit_of_a_task_changes_nothing(power: int) -> None:
    """Tasks of another size are another number of tasks; shares, and what they may be off by, are
    the same to the last digits."""
    known = 0
    for seed in range(0, 14, 7):
        alloc, _ = asked(seed)
        inst, found = alloc.instance, strict_levels(alloc)
        if found is None:
            continue
        size = 2.0 ** (power * (np.arange(len(inst.users)) % 2))[:, None]
        other = inst.replace(demand=inst.demand * size, limit=inst.limit / size[:, 0])
        same = fo.Allocation(other, fo.MaxMin("drf"), alloc.tasks / size)
        again = strict_levels(same.with_(level_prices=alloc.level_prices))
        assert again is not None and np.array_equal(again.share, found.share)
        np.testing.assert_allclose(again.off, found.off, rtol=1e-9)
        known += 1
    assert known
