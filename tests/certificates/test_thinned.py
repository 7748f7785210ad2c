"""A search that begins on few of very many tied columns: what it proves is of the answer itself.

The answers are planted: prices are the same on every server, so that all pairs tie, and each user
holds W/q tasks, divided over the servers in one proportion, which capacity is what they use of.
"""

from __future__ import annotations

import numpy as np
import pytest

import fairopt as fo
from fairopt import fast
from fairopt.certificates import told
from fairopt.certificates.asking import asked
from fairopt.certificates.given import given
from fairopt.certificates.thinned import GOLDEN, _drawn, thinned

USERS, PARTS = 20_000, np.array([0.4, 0.3, 0.2, 0.1])
DEMAND = np.random.default_rng(5).lognormal(0, 1, (USERS, 2))
PRICE = np.array([0.7, 0.3])
CHOICES = [
    pytest.param("0", id="numpy"),
    pytest.param(
        "1", id="compiled", marks=pytest.mark.skipif(not fast.available(), reason="needs numba")
    ),
]


def tied(tasks: np.ndarray | None = None, full: float = 1.0, **of: object) -> fo.Allocation:
    """The planted optimum, or other tasks of it; `full`: what capacity is multiplied by."""
    own = planted()
    inst = fo.Instance(DEMAND, own.T @ DEMAND * full, **of)
    x = own if tasks is None else tasks
    return fo.Allocation(inst, fo.ProportionalFair(), x, np.tile(PRICE, (len(PARTS), 1)))


def planted() -> np.ndarray:
    return np.asarray((1.0 / (DEMAND @ PRICE))[:, None] * PARTS)


def test_each_user_keeps_its_share_and_some_keep_all_their_columns() -> None:
    alloc = tied()
    question = asked(alloc)
    answer = given(alloc, question)
    few = thinned(question, answer)
    assert few is not None and len(few.held) < len(answer.held) / 2
    assert (np.diff(few.held) > 0).all() and np.isin(few.held, answer.held).all()
    owner = few.held // len(PARTS)
    share = np.bincount(owner, question.columns.worth(few.held) * few.x, USERS)
    np.testing.assert_allclose(share, answer.share, rtol=1e-14)
    count = np.bincount(owner, minlength=USERS)
    assert set(count.tolist()) == {1, len(PARTS)}
    # the others are on each server as often as it holds a part of theirs
    single = few.held[count[owner] == 1] % len(PARTS)
    np.testing.assert_allclose(np.bincount(single) / len(single), PARTS, atol=5e-3)


def test_few_columns_are_left_as_they_are() -> None:
    inst = fo.Instance(DEMAND[:50], [[9.0, 9.0]] * 3)
    alloc = fo.Allocation(inst, fo.ProportionalFair(), np.full((50, 3), 0.01), np.ones((3, 2)))
    question = asked(alloc)
    assert thinned(question, given(alloc, question)) is None


def test_columns_are_drawn_as_often_as_they_have_a_part() -> None:
    part = np.tile([0.0, 0.25, 0.75, 0.0], 8_000)
    place = np.modf(GOLDEN * np.arange(1, 8_001))[0]
    at = _drawn(part, np.arange(0, 4 * 8_001, 4), place) % 4
    np.testing.assert_allclose(np.bincount(at, minlength=4) / 8_000, [0, 0.25, 0.75, 0], atol=1e-3)


@pytest.mark.parametrize("compiled", CHOICES)
def test_the_optimum_is_certified(monkeypatch, compiled) -> None:
    monkeypatch.setenv(fast.CHOICE, compiled)
    # compiled passes, which come first, prove what is asked for and no more (`in_passes`)
    assert fo.certify(tied()).certified
    monkeypatch.setattr(told, "in_passes", lambda *_: None)
    found = fo.certify(tied())
    assert found.certified and found.residual <= 1e-8


@pytest.mark.parametrize("compiled", CHOICES)
@pytest.mark.parametrize("spoil", ["less", "moved", "tiny", "cheaper", "overrun"])
def test_what_is_not_the_optimum_is_not_certified(monkeypatch, spoil, compiled) -> None:
    """A user has 3e-6 too little; another user has it; so of a user of a billionth of the others'
    money, 1e-5; one pair is worth 1e-5 more than it costs; rows are overrun by 1e-8."""
    monkeypatch.setenv(fast.CHOICE, compiled)
    tasks = planted()
    if spoil in ("less", "moved"):
        tasks[7] *= 1 - 3e-6
    if spoil == "moved":
        tasks[8] += 3e-6 * planted()[7] * (DEMAND[7] / DEMAND[8]).min()
    alloc = tied(tasks)
    if spoil == "tiny":
        weight = np.ones(USERS)
        weight[7] = 1e-9
        tasks[7] *= 1e-9
        inst = fo.Instance(DEMAND, tasks.T @ DEMAND, weight=weight)
        tasks[7] *= 1 - 1e-5
        alloc = fo.Allocation(inst, fo.ProportionalFair(), tasks, alloc.prices)
    if spoil == "cheaper":
        score = np.ones((USERS, len(PARTS)))
        score[7, 3] += 1e-5
        notion = fo.ProportionalFair(criterion=lambda _: score)
        alloc = fo.Allocation(alloc.instance, notion, tasks, alloc.prices, score=score)
    if spoil == "overrun":
        alloc = tied(full=1 - 1e-8)
    assert not fo.certify(alloc).certified


@pytest.mark.parametrize("compiled", CHOICES)
def test_one_pair_that_is_worth_a_little_more_costs_no_proof(monkeypatch, compiled) -> None:
    """Who would have 1e-9 more on one server leaves the others, column by column."""
    monkeypatch.setenv(fast.CHOICE, compiled)
    score = np.ones((USERS, len(PARTS)))
    score[11, 2] += 1e-9
    notion = fo.ProportionalFair(criterion=lambda _: score)
    plain = tied()
    alloc = fo.Allocation(plain.instance, notion, plain.tasks, plain.prices, score=score)
    found = fo.certify(alloc)
    assert found.certified and found.residual <= 1e-7
