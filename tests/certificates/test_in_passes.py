"""Very many users judged in memory, in compiled passes over pieces of them."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import fairopt as fo
from fairopt import fast
from fairopt.certificates import digits, fair, filled, filled_loop, in_passes
from fairopt.certificates.asking import asked
from fairopt.certificates.filled_rows import Filling
from fairopt.certificates.given import read
from fairopt.certificates.partitions import JudgedTerms, Shown, spent, used
from fairopt.certificates.proof import nearer
from fairopt.certificates.search import search
from fairopt.certificates.told import logs, off
from fairopt.formulas.asked import AlphaAsked
from fairopt.instance.partition import Partition

needs_numba = pytest.mark.skipif(not fast.available(), reason="needs numba")
INF = np.inf


def drawn(users: int, seed: int, pool: bool = False) -> fo.Instance:
    """Three servers that are alike but for their sizes, and a fourth that is not; or a pool."""
    rng = np.random.default_rng(seed)
    one = np.array([2.0, 3.0])
    last = 1.5 * one if pool else np.array([3.0, 1.0])
    capacity = np.array([one, 2 * one, 0.7 * one, last]) * users
    placement = rng.random((users, 4)) < 0.6
    placement[np.arange(users), rng.integers(0, 4, users)] = True
    weight = 10.0 ** rng.uniform(-2, 0, users)
    return fo.Instance(rng.lognormal(0, 1, (users, 2)), capacity, placement, weight)


def shown(inst: fo.Instance, alpha: float) -> tuple[Shown, JudgedTerms, Filling]:
    """An answer as one partition, before a step."""
    answer = fo.solve(inst, fo.AlphaFair(alpha))
    given = AlphaAsked(alpha, False, "tasks", inst.capacity, inst.count)
    terms = JudgedTerms.of(given, answer.prices)
    part = Partition(inst.demand, inst.placement, inst.weight, inst.limit)
    seen = Shown(part, answer.tasks)
    first = used(seen, terms)
    return seen, terms, Filling.of(terms, first, spent(seen, terms, first), 10)


@needs_numba
@pytest.mark.parametrize("alpha", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("pool", [False, True])
def test_compiled_passes_are_those_of_the_text(
    alpha: float, pool: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen, terms, filling = shown(drawn(700, 3, pool), alpha)
    for _ in range(2):
        found = {}
        for choice in ("0", "1"):
            monkeypatch.setenv(fast.CHOICE, choice)
            with np.errstate(all="ignore"):
                found[choice] = filled.summed(seen, terms, filling)
        text, loops = found["0"], found["1"]
        tasks = terms.pool * 2.0**-48
        assert (np.abs((text.high - loops.high) + (text.low - loops.low)) <= tasks).all()
        top = np.abs(text.slope).max(initial=0.0)
        np.testing.assert_allclose(loops.slope, text.slope, rtol=1e-9, atol=1e-9 * top)
        np.testing.assert_allclose(loops.money, text.money, rtol=1e-12)
        np.testing.assert_allclose(loops.lightest, text.lightest, rtol=1e-12)
        if np.isfinite(text.eps):
            assert 0 < loops.eps < 100 * text.eps < 1e-10 * text.money
        moved = filling.moved(terms.pool, text)
        assert moved is not None
        filling = moved


@needs_numba
def test_rows_and_columns_are_what_fractions_say() -> None:
    """What the compiled sums of two floats say of rows, values and losses, beside fractions."""
    inst = drawn(120, 5)
    seen, terms, filling = shown(inst, 1.0)
    with np.errstate(all="ignore"):
        moved = filling.moved(terms.pool, filled.summed(seen, terms, filling))
        assert moved is not None
        part = seen.users
        given = part.demand, part.placement, seen.tasks, terms.log_w(part), moved.price, moved.more
        at = filled_loop.point(*given, 1.0)
    price = np.array(digits.exact_sum(moved.price, moved.more))
    dear = filled_loop.dear(part.demand, part.placement, price, at)
    lowest = [min(at.above[at.columns // 4 == n]) for n in range(len(part))]
    tried = [digits.exact_sum(a, b) for a, b in zip(at.cheapest, np.array(lowest), strict=True)]
    for n in range(len(part)):
        cost = {
            i: sum(
                Fraction(float(d)) * (Fraction(float(p)) + Fraction(float(q)))
                for d, p, q in zip(part.demand[n], price[0, i], price[1, i], strict=True)
            )
            for i in np.flatnonzero(part.placement[n]).tolist()
        }
        value = Fraction(float(tried[n][0])) + Fraction(float(tried[n][1]))
        assert float(tried[n][0]) == dear.value[n]
        own = value - Fraction(float(dear.less[n]))
        assert own <= min(cost.values())
        mine = np.flatnonzero(at.columns // 4 == n)
        lost = sum(
            Fraction(float(at.amount[0, c])) * (cost[int(at.columns[c]) % 4] - own) for c in mine
        )
        assert 0 <= lost <= Fraction(float(dear.eps[n])) * (1 + Fraction(1, 10**9))


@needs_numba
def test_what_is_no_number_proves_nothing() -> None:
    """A number that is none is handed on, whatever comes after it."""
    inst = drawn(60, 6)
    seen, terms, filling = shown(inst, 1.0)
    with np.errstate(all="ignore"):
        moved = filling.moved(terms.pool, filled.summed(seen, terms, filling))
    assert moved is not None
    part = seen.users
    given = part.demand, part.placement, seen.tasks, terms.log_w(part), moved.price, moved.more
    at = filled_loop.point(*given, 1.0)
    price = np.array(digits.exact_sum(moved.price, moved.more))
    price[1, 0, 0] = np.nan
    dear = filled_loop.dear(part.demand, part.placement, price, at)
    on = np.unique(at.columns[at.columns % 4 == 0] // 4)
    assert len(on) and np.isnan(dear.less[on]).all() and np.isnan(dear.eps[on]).all()


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(fast.CHOICE, "1")
    monkeypatch.setattr(in_passes, "PIECE", 256)


@needs_numba
@pytest.mark.parametrize("alpha", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("pool", [False, True])
@pytest.mark.usefixtures("compiled")
def test_the_proof_agrees_with_that_of_a_search(alpha: float, pool: bool) -> None:
    """Both have every optimum in their intervals, so these meet; and the point is near."""
    answer = fo.solve(drawn(900, 7, pool), fo.AlphaFair(alpha))
    with np.errstate(all="ignore"):
        question = asked(answer)
        given = read(answer, question)
        found = in_passes.in_passes(question, given, 1e-6)
        assert found is not None
        other = search(question, given).proved
    here = found.proved
    apart = np.abs(here.log_share - other.log_share)
    assert (apart <= here.below + here.above + other.below + other.above).all()
    assert max(here.below.max(), here.above.max()) <= 1e-6
    assert off(here, *logs(question, given))[0].max() <= 1e-6


@needs_numba
@pytest.mark.usefixtures("compiled")
def test_users_of_many_servers_move_to_those_that_are_cheaper() -> None:
    """Where prices that should be the same are not, the point has tasks other than the answer's:
    more is proved then, and nothing else."""
    more = 0
    for seed in range(8):
        answer = fo.solve(drawn(900, seed), fo.AlphaFair(1))
        with np.errstate(all="ignore"):
            question = asked(answer)
            given = read(answer, question)
            known = search(question, given).proved
            for part in (3e-9, 1e-8):
                noise = 1 + part * np.random.default_rng(1).random(len(given.price))
                rough = replace(given, price=given.price * noise)
                found = in_passes.in_passes(question, rough, 1e-6)
                if found is None:
                    continue
                here, more = found.proved, more + 1
                apart = np.abs(here.log_share - known.log_share)
                assert (apart <= here.below + here.above + known.below + known.above).all()
                place = found.at()
                assert place is not None
                use = place.amount[0][:, None] * answer.instance.demand[place.columns // 4]
                used = np.zeros(answer.prices.shape)
                np.add.at(used, place.columns % 4, use)
                assert (used <= answer.instance.pool * (1 + 1e-12)).all()
    assert more >= 4, "of 16; with the tasks of the answer 2"


@needs_numba
@pytest.mark.usefixtures("compiled")
def test_whoever_is_off_is_never_called_near() -> None:
    cluster = drawn(900, 8)
    answer = fo.solve(cluster, fo.AlphaFair(1))
    assert fair.judge(answer).certified
    other = 1 + 1e-3 * np.random.default_rng(0).random(answer.prices.shape)
    for part in (0.9e-6, 1.1e-6, 1e-4, 0.5):
        tasks = answer.tasks.copy()
        tasks[11] *= 1 - part
        for factor in (1.0, 1 + 1e-12, other):
            forged = fo.Allocation(
                cluster, answer.notion, tasks, answer.prices * factor, answer.limit_prices
            )
            verdict = fair.judge(forged)
            assert verdict.residual >= -np.log1p(-part) - 1e-8
            assert verdict.certified <= (part < 1e-6)


@needs_numba
@pytest.mark.usefixtures("compiled")
def test_who_asks_for_more_than_passes_prove_is_told_by_a_search(monkeypatch) -> None:
    monkeypatch.setattr("fairopt.certificates.told.FEW_USERS", 100)
    monkeypatch.setattr("fairopt.certificates.told.at_one_price", lambda *_: None)
    answer = replace_proof(fo.solve(drawn(900, 8), fo.AlphaFair(1)))
    first = fair.judge(answer).residual
    assert first <= 1e-6
    least = first / 10
    assert fair.judge(answer, tolerance=least).certified == (
        fair.judge(replace_proof(answer), tolerance=least).residual <= least
    )
    assert fair.judge(answer, tolerance=least).residual < first


@needs_numba
@pytest.mark.usefixtures("compiled")
def test_the_point_is_there_when_it_is_asked_for() -> None:
    """As tasks that fit and as prices, of nearly the same shares."""
    answer = fo.solve(drawn(900, 9), fo.AlphaFair(2))
    again = replace_proof(answer)
    found = nearer(again)
    assert found is not None
    near = fo.Allocation(answer.instance, answer.notion, found["tasks"], found["prices"])
    assert fair.judge(near).certified
    np.testing.assert_allclose(near.totals, answer.totals, rtol=1e-6)


def replace_proof(answer: fo.Allocation) -> fo.Allocation:
    """The answer as if nobody had judged it."""
    return fo.Allocation(
        answer.instance, answer.notion, answer.tasks, answer.prices, answer.limit_prices
    )


@pytest.mark.usefixtures("compiled")
def test_whom_it_is_not_for() -> None:
    """Limits, scores that differ and other alphas than those above 0 go to the search."""
    inst = drawn(600, 2)
    limited = fo.Instance(
        inst.demand, inst.capacity, inst.placement, inst.weight, np.full(600, 0.5)
    )
    answer = fo.solve(limited, fo.AlphaFair(1))
    assert not in_passes.applies(asked(answer))
    plain = asked(fo.solve(inst, fo.AlphaFair(1)))
    assert in_passes.applies(plain) == fast.available()
    assert not in_passes.applies(replace(plain, alpha=0.0))
