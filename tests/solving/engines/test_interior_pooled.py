"""Very many users: the pool's answer dealt out is the answer."""

from __future__ import annotations

import re

import numpy as np
import pytest

import fairopt as fo
from fairopt.instance.generate import random_instance
from fairopt.solving.engines.interior import pooled
from fairopt.solving.engines.path import plain
from fairopt.solving.engines.point import AlphaQuestion


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tried from a few users on."""
    monkeypatch.setattr(pooled, "MANY_PAIRS", 1000)
    monkeypatch.setattr(pooled, "PER_ROW", 20)


@pytest.mark.parametrize("density", [1.0, 0.7])
@pytest.mark.parametrize("alpha", [0.3, 1.0, 2.0, 10.0])
def test_dealt_out_it_is_the_answer(few: None, alpha: float, density: float) -> None:
    inst = random_instance(600, 4, 3, density=density, seed=5, weight_decades=2)
    question = AlphaQuestion.of(inst, np.ones(inst.shape[:2]), alpha, False)
    assert pooled.worthwhile(question)
    point = pooled.follow(question)
    assert point is not None
    found = fo.solve(inst, fo.AlphaFair(alpha))
    assert found.certificate.certified and found.certificate.gap < 1e-9
    plain = fo.solve(inst, fo.AlphaFair(alpha), solver="clarabel")
    np.testing.assert_allclose(found.shares, plain.shares, rtol=1e-6)


def test_a_mix_that_cannot_be_dealt_is_left_to_the_method(few: None) -> None:
    # all who want the second resource may use one server only
    rng = np.random.default_rng(0)
    demand = np.where(np.arange(600)[:, None] < 300, [1.0, 0.0], [0.1, 1.0])
    demand *= rng.uniform(0.5, 1, (600, 1))
    placement = np.ones((600, 2), bool)
    placement[300:, 1] = False
    inst = fo.Instance(demand, [[100.0, 100.0], [100.0, 100.0]], placement)
    question = AlphaQuestion.of(inst, np.ones((600, 2)), 1.0, False)
    assert pooled.worthwhile(question)
    assert pooled.follow(question) is None
    assert re.search(r"which lack [1-9]\d*\.\d+% of what servers want", pooled.attempt(question)[1])
    assert fo.solve(inst, fo.ProportionalFair(), reduce=False).certificate.certified


@pytest.mark.parametrize("alpha", [0.5, 1.0, 5.0])
def test_samples_first_end_at_the_same_answer(
    few: None, monkeypatch: pytest.MonkeyPatch, alpha: float
) -> None:
    inst = random_instance(3000, 4, 3, density=0.8, seed=6, weight_decades=1)
    question = AlphaQuestion.of(inst, np.ones(inst.shape[:2]), alpha, False)
    whole = pooled.follow(question)
    monkeypatch.setattr(pooled, "SAMPLES", (400, 1200))
    found = pooled.follow(question)
    assert whole is not None and found is not None
    one, two = found.rows / found.rows.sum(), whole.rows / whole.rows.sum()  # up to a factor
    np.testing.assert_allclose(one, two, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found.tasks(inst), whole.tasks(inst), rtol=1e-7)


def some_without(users: int, servers: int, density: float) -> fo.Instance:
    """Three in ten ask for the third resource, which every second server has none of; of the second
    there is a thousand times as much as is asked for."""
    rng = np.random.default_rng(5)
    demand = rng.lognormal(0, 1, (users, 3)) * [1.0, 1e-3, 1.0]
    demand[rng.random(users) < 0.7, 2] = 0.0
    capacity = rng.uniform(4, 6, (servers, 3))  # tasks of a size that general solvers like
    capacity[1::2, 2] = 0.0
    placement = rng.random((users, servers)) < density
    placement[:, 0] = True
    return fo.Instance(demand, capacity, placement)


@pytest.mark.parametrize("density", [1.0, 0.7])
@pytest.mark.parametrize("alpha", [1.0, 3.0])
def test_servers_that_lack_a_resource_and_one_that_is_plentiful(
    few: None, alpha: float, density: float
) -> None:
    inst = some_without(500, 4, density)
    question = AlphaQuestion.of(inst, np.ones(inst.shape[:2]), alpha, False)
    assert pooled.likely(question)
    assert pooled.follow(question) is not None
    found = fo.solve(inst, fo.AlphaFair(alpha))
    assert found.certificate.certified
    plain = fo.solve(inst, fo.AlphaFair(alpha), solver="clarabel", uncertified="return")
    np.testing.assert_allclose(found.shares, plain.shares, rtol=1e-6)


def test_what_has_no_price_is_not_overrun_by_what_is_divided(few: None) -> None:
    """One server has little of what has no price: divided by the other alone it would be overrun,
    so that both are used in proportion then."""
    rng = np.random.default_rng(3)
    demand = rng.uniform(0.5, 2, (600, 2)) * np.where(rng.random((600, 1)) < 0.5, [1, 1e-2], 1)
    # of the second there is enough, as a whole
    inst = fo.Instance(demand, [[100.0, 400.0], [100.0, 30.0]])
    question = AlphaQuestion.of(inst, np.ones((600, 2)), 1.0, False)
    point, why = pooled.attempt(question)
    assert why == "" and point is not None
    answer = fo.solve(inst, fo.ProportionalFair(), reduce=False)
    assert answer.certificate.certified and answer.prices[:, 1].max() < 1e-9


def test_a_division_far_from_even_does_not_underflow(few: None) -> None:
    inst = random_instance(500, 3, 2, density=0.9, seed=2)
    division = pooled._MixDivision.of(
        inst.pool / inst.pool.sum(axis=0),
        inst.demand,
        np.ones(500),
        np.asarray(inst.eligible, bool),
    )
    far = np.array([[0.0, -4000.0], [-2000.0, -10.0], [-900.0, -900.0]])
    f = division.shares(far)
    assert np.isfinite(f).all()
    np.testing.assert_allclose(f.sum(axis=1), 1.0, rtol=1e-12)
    assert (f[~inst.eligible] == 0).all()
    np.testing.assert_allclose(division.shares(far / 10), division.shares(far / 10 + [3.0, 70.0]))


def test_not_tried_where_it_does_not_apply(few: None) -> None:
    inst = random_instance(600, 4, 3, seed=5)
    score = np.ones(inst.shape[:2])
    assert pooled.worthwhile(AlphaQuestion.of(inst, score, 1.0, False))
    assert not pooled.worthwhile(AlphaQuestion.of(inst, score, 0.0, False))
    limited = inst.replace(limit=np.full(600, 5.0))
    assert not pooled.worthwhile(AlphaQuestion.of(limited, score, 1.0, False))
    score[0, 0] = 2.0
    assert not pooled.worthwhile(AlphaQuestion.of(inst, score, 1.0, False))


def test_the_method_is_not_asked(few: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plain, "follow", None)
    inst = random_instance(600, 4, 3, seed=5)
    assert fo.solve(inst, fo.ProportionalFair(), reduce=False).certificate.certified


def test_where_there_is_a_division_nothing_proves_that_there_is_none() -> None:
    rng = np.random.default_rng(7)
    eligible = rng.random((200, 3)) < 0.7
    eligible[:, 0] = True
    f = rng.random((200, 3)) * eligible
    z, weight = rng.dirichlet(np.ones(2), 200), rng.lognormal(size=200)
    wanted = (f / f.sum(axis=1)[:, None] * weight[:, None]).T @ z
    division = pooled._MixDivision(z, weight, eligible, False, wanted)
    found = [division.lacking(rng.normal(size=(3, 2))) for _ in range(100)]
    assert max(found) <= 1e-12
    # all of it on the last server, where not all users may be
    more = division._replace(wanted=np.outer([0, 0, 1], wanted.sum(axis=0)))
    assert more.lacking(np.array([[0.0, 0.0], [0.0, 0.0], [1.0, 1.0]])) > 0.05
