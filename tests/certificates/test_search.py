"""The search for the optimum nearby: found to the last digit, and believed for nothing."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

import fairopt as fo
from fairopt.certificates import active as module
from fairopt.certificates import digits
from fairopt.certificates import search as searching
from fairopt.certificates.asking import asked
from fairopt.certificates.bound import Proved
from fairopt.certificates.given import given
from fairopt.certificates.places import sums
from fairopt.certificates.proof import Proof, nearer, proof
from fairopt.certificates.search import SearchFound, search
from tests.decimal_truth import optimal_shares

DEMAND = [[1.0, 2.0, 0.3], [2.0, 1.0, 0.5], [1.0, 1.5, 0.0], [0.2, 0.4, 1.0]]
ALPHAS = (0.5, 1.0, 2.0, 5.0)


@cache
def solved(alpha: float, light: float = 1.0, servers: int = 1) -> fo.Allocation:
    capacity = [[2.0, 4.0, 1.0], [3.0, 2.0, 1.0]][:servers]
    weight = [1.0, light**alpha, 2.0, 0.5]
    return fo.solve(fo.Instance(DEMAND, capacity, weight=weight), fo.AlphaFair(alpha))


@cache
def log_truth(alpha: float, light: float = 1.0, servers: int = 1) -> np.ndarray:
    found = optimal_shares(solved(alpha, light, servers), alpha)
    assert found is not None
    return np.log(found[0])


def afresh(alloc: fo.Allocation, tasks: np.ndarray, prices: np.ndarray) -> fo.Allocation:
    return fo.Allocation(
        alloc.instance, fo.AlphaFair(alloc.notion["parameters"].get("alpha", 1.0)), tasks, prices
    )


def log_share(found: Proved, alloc: fo.Allocation) -> np.ndarray:
    return np.asarray(found.log_share + np.log(asked(alloc).share_unit))


def contains(found: Proved, alloc: fo.Allocation, truth: np.ndarray) -> None:
    apart = truth - log_share(found, alloc)
    assert (apart >= -found.below - 1e-13).all() and (apart <= found.above + 1e-13).all()


def of_proof(found: Proof) -> SearchFound:
    return found.found


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("light", [1.0, 1e-4, 1e-8, 1e-12])
def test_the_optimum_is_found_to_the_last_digit(alpha: float, light: float) -> None:
    alloc = solved(alpha, light)
    found = proof(alloc)
    assert np.maximum(found.proved.below, found.proved.above).max() < 1e-7
    contains(found.proved, alloc, log_truth(alpha, light))
    assert np.abs(log_share(found.proved, alloc) - log_truth(alpha, light)).max() < 1e-7


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("servers", [1, 2])
@pytest.mark.parametrize("away", [1e-9, 1e-6, 1e-3, 1e-2])
def test_from_every_answer_nearby_what_is_proved_is_true(
    alpha: float, servers: int, away: float
) -> None:
    """Tasks and prices off by so much, each by a part of its own."""
    alloc = solved(alpha, 1.0, servers)
    rng = np.random.default_rng([int(10 * alpha), servers, int(-np.log10(away))])
    near = 0
    for _ in range(5):
        tasks = alloc.tasks * (1 - away * rng.random(alloc.tasks.shape))
        prices = alloc.prices * (1 + away * rng.normal(size=alloc.prices.shape))
        here = afresh(alloc, tasks, prices)
        question = asked(here)
        with np.errstate(all="ignore"):
            found = search(question, given(here, question))
        truth = log_truth(alpha, 1.0, servers)
        contains(found.proved, here, truth)
        near += int((found.proved.below + found.proved.above).max() < 1e-6)
    assert near >= 4


@pytest.mark.parametrize("alpha", ALPHAS)
def test_steps_at_random_prove_nothing_false(monkeypatch, alpha: float) -> None:
    """What solves for a step may return anything: the search is believed for nothing."""
    rng = np.random.default_rng(int(10 * alpha))
    honest = module.solved

    def wild(wanted, floats, nearing=False):
        step = honest(wanted, floats, nearing)
        if step is None:
            return None
        return tuple(part * rng.uniform(-2, 3, part.shape) for part in step)

    monkeypatch.setattr(module, "solved", wild)
    alloc, truth = solved(alpha, 1.0, 2), log_truth(alpha, 1.0, 2)
    for _ in range(6):
        tasks = np.array(alloc.tasks)
        tasks[rng.integers(4)] *= 1 - 10.0 ** rng.uniform(-5, -1)
        here = afresh(alloc, tasks, alloc.prices * rng.uniform(0.5, 2, alloc.prices.shape))
        contains(of_proof(proof(here)).proved, here, truth)
        assert not fo.certify(here).certified


def test_a_search_that_finds_nothing_proves_little_and_nothing_false(monkeypatch) -> None:
    monkeypatch.setattr(module, "solved", lambda wanted, floats, nearing: None)
    alloc, truth = solved(1.0, 1.0, 2), log_truth(1.0, 1.0, 2)
    here = afresh(alloc, alloc.tasks * (1 - 1e-9), alloc.prices)
    found = proof(here)
    contains(found.proved, here, truth)
    assert 1e-9 <= found.off.max() < 1e-3


def test_the_place_found_is_an_answer() -> None:
    """Through the one door for the solver: tasks that fit, prices, closer than what was given."""
    alloc = solved(2.0, 1.0, 2)
    rough = afresh(alloc, alloc.tasks * (1 - 1e-4), alloc.prices * 1.001)
    assert proof(rough).off.max() == pytest.approx(1e-4, rel=1e-2)
    fields = nearer(rough)
    assert fields is not None
    again = afresh(alloc, fields["tasks"], fields["prices"])
    assert (again.used <= again.instance.pool * (1 + 1e-15)).all()
    assert fo.certify(again).residual < 1e-12


@pytest.mark.parametrize("alpha", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("slack", [0.0, 1e-16, 1e-12, 1e-9, 1e-6])
def test_a_row_that_is_just_full_or_all_but(alpha: float, slack: float) -> None:
    """The second row has next to nothing left at the optimum, and its price is 0."""
    best = 2.0 / 2
    inst = fo.Instance([[1.0, 2.0], [1.0, 1.0]], [[2.0, 3.0 * best * (1 + slack)]])
    for second in (0.0, 1e-9, 1e-3):
        alloc = fo.Allocation(inst, fo.AlphaFair(alpha), [[best], [best]], [[1.0, second]])
        found = proof(alloc)
        contains(found.proved, alloc, np.zeros(2))
        assert fo.certify(alloc).certified


def test_from_the_same_beginning_nothing_is_searched_twice(monkeypatch) -> None:
    """Rows with nothing left are full whatever may be left of them, and all else is the same."""
    from fairopt.certificates import search as steps

    alloc = solved(1.0, 1.0, 2)
    question = asked(alloc)
    begun: list[bytes] = []
    first: list[bytes] = []
    own = steps.begun

    def noted(*args):
        point = own(*args)
        begun.append(point.full.tobytes())
        return point

    def stepped(question, point, seen, nearing):
        first.append(point.full.tobytes())
        return None, None

    monkeypatch.setattr(steps, "begun", noted)
    monkeypatch.setattr(steps, "stepped", stepped)
    search(question, given(alloc, question))
    assert len(begun) == len(steps.ROOMS) and len(set(begun)) < len(begun)
    assert first == list(dict.fromkeys(begun))


@pytest.mark.parametrize("over", [1e-30, 1e-24, 1e-15])
def test_a_place_scaled_into_its_rows_knows_what_is_left(over: float) -> None:
    """In fractions, where a server has none of a resource: what nobody uses is not overrun."""
    capacity = [[2.0, 4.0, 1.0], [3.0, 2.0, 0.0]]
    demand = np.array([[1.0, 2.0, 0.3], [2.0, 1.0, 0.0], [1.0, 1.5, 0.0], [0.2, 0.4, 1.0]])
    alloc = fo.solve(fo.Instance(demand, capacity), fo.AlphaFair(2))
    question = asked(alloc)
    place = proof(alloc).found.at()
    assert place is not None
    at = replace(place, amount=digits.plus(place.amount, over * place.amount[0]))
    seen, scaled = searching._within(question, at, sums(question, at))
    columns = question.columns
    row, each, entry = columns.entries(scaled.columns)
    left = [Fraction(float(most)) for most in question.rhs]
    for r, c, part in zip(row.tolist(), each.tolist(), entry.tolist(), strict=True):
        left[r] -= Fraction(part) * sum(Fraction(float(digit)) for digit in scaled.amount[:, c])
    assert min(left) >= 0
    assert not searching._overrun(question, seen)
    for told, error, true in zip(seen.rest.left, seen.rest.left_error, left, strict=True):
        rounded = abs(true) / 2**52
        assert abs(Fraction(float(told)) - true) <= Fraction(float(error)) + rounded
    nobody = question.rhs == 0
    assert nobody.sum() == 1
    assert not seen.rest.left_error[nobody].any()


def test_trifles_on_a_dear_server_leave_together() -> None:
    """Users of a cheap server hold next to nothing on one that costs four times as much: the step
    is cut, for it asks for much less than nothing of all of them, and all of them leave."""
    demand, capacity = np.ones((5, 1)), [[8.0], [1.0]]
    placement = np.array([[True, True]] * 3 + [[False, True], [True, False]])
    inst = fo.Instance(demand, capacity, placement)
    alloc = fo.solve(inst, fo.AlphaFair(1.0))
    question = asked(alloc)
    best = proof(alloc).found.at()
    assert best is not None
    columns = np.flatnonzero(placement.ravel())
    held = np.searchsorted(columns, best.columns)
    amount = np.zeros((2, len(columns)))
    amount[:, held] = best.amount
    dear = np.searchsorted(columns, [1, 3, 5])
    amount[0, dear] = np.array([1e-7, 2e-7, 3e-8]) * amount[0, dear - 1]
    point = module.ActivePlace(
        replace(best, columns=columns, amount=amount),
        np.ones(len(columns), dtype=bool),
        np.ones(2, dtype=bool),
        np.zeros(5, dtype=np.int64),
    )
    after, known = module.stepped(question, point, None)
    assert after is not None
    assert known is not None
    np.testing.assert_array_equal(after.place.columns, best.columns)
    assert np.abs(known.rest.left / question.unit).max() < 1e-5
