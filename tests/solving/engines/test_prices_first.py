"""Prices found with servers of one price as one, and the path inside that leads there."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import fairopt as fo
from fairopt.solving.engines.again import matching, prices_first
from fairopt.solving.engines.again.inside import Inside
from fairopt.solving.engines.again.same_prices import SamePrices
from fairopt.solving.engines.interior.layout import Pairs
from fairopt.solving.engines.point import AlphaQuestion


def begun(alpha, change=1.0, seed=1):
    """The question of a cluster whose first server grew, and where an answer from before begins."""
    rng = np.random.default_rng(seed)
    placement = rng.random((200, 20)) < 0.4
    placement[np.arange(200), rng.integers(0, 20, 200)] = True
    inst = fo.Instance(
        rng.uniform(0.1, 1, (200, 3)), rng.uniform(5, 20, (20, 3)), placement, np.ones(200)
    )
    last = fo.solve(inst, fo.AlphaFair(alpha))
    capacity = inst.capacity.copy()
    capacity[0] *= change
    inst = inst.replace(capacity=capacity)
    question = AlphaQuestion.of(inst, last.score, alpha, False)
    start = matching.matched(question, last.tasks, last.prices, last.instance)
    assert start is not None
    return question, start


def test_servers_keep_their_parts_of_a_class():
    question, start = begun(1.0)
    small = SamePrices.at(question, start)
    assert small is not None and len(small.start.prices) < 20 / 3
    np.testing.assert_allclose(small.question.instance.pool.sum(0), question.instance.pool.sum(0))
    same = small.apart(small.start)
    np.testing.assert_allclose(same.share, start.share, rtol=1e-12)
    np.testing.assert_allclose(same.prices, start.prices, rtol=1e-6)


def test_who_comes_to_a_class_has_as_much_on_all_its_servers():
    question, start = begun(1.0)
    small = SamePrices.at(question, start)
    assert small is not None
    share, prices = small.start.share, small.start.prices
    none = replace(small, start=matching.Start(np.zeros(share.shape), prices, 0.0))
    found = none.apart(matching.Start(share, prices, 0.0)).share
    np.testing.assert_allclose(found @ small.among, share, rtol=1e-12, atol=1e-15)
    assert (found[~question.instance.eligible] == 0).all()


def test_a_server_that_strays_has_a_class_of_its_own():
    question, start = begun(1.0)
    small = SamePrices.at(question, start)
    assert small is not None
    big = int(np.bincount(small.of).argmax())
    stray = int(np.flatnonzero(small.of == big)[0])
    parted = small.parted(start, np.arange(20) == stray)
    assert parted is not None
    assert np.bincount(parted.of)[parted.of[stray]] == 1
    assert len(parted.start.prices) == len(small.start.prices) + 1


@pytest.mark.parametrize("alpha", [0.5, 1.0, 2.0])
def test_the_path_ends_at_the_prices_of_the_answer(alpha):
    question, start = begun(alpha, 1.3)
    unit = start.share.sum(axis=1)
    layout = Pairs(question, unit)
    w = np.exp(question.log_w - start.log_unit + (1 - alpha) * np.log(unit))
    y = (start.share / unit[:, None])[question.pairs]
    money = np.where(layout.rows, start.prices * question.instance.pool, 0.0)
    with np.errstate(all="ignore"):
        found = Inside(layout, alpha, w, y, money).end()
    assert found is not None
    shares = layout.of_user(found[0]) * unit
    cold = fo.solve(question.instance, fo.AlphaFair(alpha))
    np.testing.assert_allclose(shares, cold.shares, rtol=1e-5)


@pytest.mark.parametrize("alpha", [0.5, 1.0, 2.0])
def test_prices_first_lead_to_the_answer_to_its_last_digits(alpha):
    question, start = begun(alpha, 1.3)
    found = prices_first.follow(question, start)
    assert found.point is not None
    shares = (found.point.tasks(question.instance) * question.score).sum(axis=1)
    cold = fo.solve(question.instance, fo.AlphaFair(alpha))
    np.testing.assert_allclose(shares, cold.shares, rtol=1e-9)
