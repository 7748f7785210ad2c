"""Servers of the same prices taken as one: what is proved there is true, whoever hands it in."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import fairopt as fo
from fairopt.certificates.given import given
from fairopt.certificates.one_price import at_one_price
from fairopt.certificates.pooled import MANY_COLUMNS, grid, pooled
from fairopt.certificates.proof import asked
from fairopt.certificates.search import search

USERS, SERVERS = 200, 150


def cluster(kinds=None, density=0.9, seed=0):
    """Servers all different, or of a few kinds and open to users by kind."""
    rng = np.random.default_rng(seed)
    kind = np.arange(SERVERS) if kinds is None else np.arange(SERVERS) % kinds
    many = int(kind.max()) + 1
    allowed = rng.random((USERS, many)) < density
    allowed[np.arange(USERS), rng.integers(0, many, USERS)] = True
    capacity = rng.uniform(5, 20, (many, 3))[kind]
    demand = rng.uniform(0.1, 1, (USERS, 3))
    return fo.Instance(demand, capacity, allowed[:, kind], rng.uniform(0.5, 2, USERS))


def pool(alpha, resources=3, scarce=1.0):
    """A question of one pool, and its answer: what all servers have is one multiple of another, and
    there is more of the last resource than anybody can use."""
    rng = np.random.default_rng(5)
    size = rng.uniform(0.5, 2, SERVERS)[:, None]
    capacity = size * rng.uniform(5, 20, resources) * ([1.0] * (resources - 1) + [1 / scarce])
    demand, allowed = rng.uniform(0.1, 1, (USERS, resources)), rng.random((USERS, SERVERS)) < 0.7
    allowed[:, 0] = True
    inst = fo.Instance(demand, capacity, allowed, rng.uniform(0.5, 2, USERS))
    return read(fo.solve(inst, fo.AlphaFair(alpha)))


@pytest.fixture(scope="module", params=[None, 3])
def answered(request):
    inst = cluster(request.param)
    return fo.solve(inst, fo.ProportionalFair())


def read(alloc):
    question = asked(alloc)
    return question, given(alloc, question)


def test_what_is_proved_is_what_a_search_of_all_columns_proves(answered):
    question, answer = read(answered)
    assert question.columns.count >= MANY_COLUMNS
    found = pooled(question, answer, 1e-8)
    assert found is not None
    whole = search(question, answer, enough=1e-8).proved
    mine = found.proved
    apart = np.abs(mine.log_share - whole.log_share)
    assert (apart <= mine.below + mine.above + whole.below + whole.above).all()
    assert (np.maximum(mine.below, mine.above) <= 1e-8).all()


@pytest.mark.parametrize("size", [1e-9, 1e-6, 1e-3, 0.3])
def test_an_answer_that_is_off_proves_nothing_untrue(answered, size):
    """Tasks and prices are forged: the optimum's shares are where the proof says, or none is
    given."""
    question, answer = read(answered)
    true = np.log(answer.share)  # certified to 1e-8
    rng = np.random.default_rng(3)
    x = answer.x * np.exp(size * rng.normal(size=len(answer.x)))
    owner = question.columns.owner(answer.held)
    share = np.bincount(owner, question.columns.worth(answer.held) * x, question.users)
    price = answer.price * (1 + size * rng.random())
    forged = type(answer)(answer.held, x, answer.y, price, share)
    found = pooled(question, forged, np.inf)
    if found is not None:
        low, high = -found.proved.below, found.proved.above
        apart = true - found.proved.log_share
        assert ((apart >= low - 2e-8) & (apart <= high + 2e-8)).all()


def test_a_wrong_answer_is_refuted_with_what_is_due(answered):
    tasks = answered.tasks.copy()
    tasks[0] *= 0.9
    wrong = answered.with_(tasks=tasks)
    assert fo.certify(wrong).verdict == "refuted"


def test_many_prices_are_left_to_the_search(answered):
    question, answer = read(answered)
    rng = np.random.default_rng(0)
    price = answer.price * rng.uniform(0.5, 1, len(answer.price))
    assert pooled(question, type(answer)(*vars(answer).values()), 1e-8) is not None
    other = type(answer)(answer.held, answer.x, answer.y, price, answer.share)
    assert pooled(question, other, 1e-8) is None


@pytest.mark.parametrize(("alpha", "scarce"), [(1.0, 1.0), (0.5, 1e-3), (3.0, 1e-3)])
def test_at_one_price_nothing_is_searched(alpha, scarce):
    """The intervals are within those of a search from the same answer, though none is made; also
    where a resource that is left has a price by rounding."""
    question, answer = pool(alpha, scarce=scarce)
    found = at_one_price(question, answer, 1e-8)
    assert found is not None
    whole = search(question, answer, enough=1e-8).proved
    apart = np.abs(found.proved.log_share - whole.log_share)
    mine = found.proved
    assert (apart <= mine.below + mine.above + whole.below + whole.above).all()
    assert np.maximum(mine.below, mine.above).max() <= 1e-8


@pytest.mark.parametrize("size", [1e-12, 1e-9, 1e-6, 1e-3, 0.3])
def test_at_one_price_a_forged_answer_proves_nothing_untrue(size):
    question, answer = pool(2.0)
    true, rng = np.log(answer.share), np.random.default_rng(3)
    owner, close = question.columns.owner(answer.held), []
    for tasks, prices in ((size, 0.0), (0.0, size), (size, size)):
        x = answer.x * np.exp(tasks * rng.normal(size=len(answer.x)))
        share = np.bincount(owner, x, question.users)
        each = 1 + prices * rng.random(3)  # of a resource alike on all servers, or it is not tried
        price = answer.price * np.tile(each, SERVERS)
        found = at_one_price(question, type(answer)(answer.held, x, answer.y, price, share), np.inf)
        if found is None:
            continue
        low, high = -found.proved.below, found.proved.above
        apart = true - found.proved.log_share
        assert ((apart >= low - 2e-8) & (apart <= high + 2e-8)).all()
        close.append(np.maximum(-low, high).max() <= 1e-6)
    assert len(close) == 3 or size > 1e-6
    assert all(close) or size > 1e-12


def test_at_one_price_others_are_not_tried(answered):
    question, answer = read(answered)
    price = answer.price.copy()
    price[:3] *= 1.5
    other = type(answer)(answer.held, answer.x, answer.y, price, answer.share)
    assert at_one_price(question, other, np.inf) is None


def test_where_limits_stop_users_nothing_is_pooled():
    """What is left of limits is not summed up there."""
    inst = cluster(1)
    alloc = fo.solve(inst.replace(limit=np.full(USERS, 3.0)), fo.ProportionalFair())
    question, answer = read(alloc)
    assert question.bounded and grid(question) is None
    assert at_one_price(question, answer, np.inf) is None
    assert pooled(question, answer, np.inf) is None


def test_servers_of_one_price_count_a_task_alike():
    """Scores that differ by kind of server; and servers of one price where one counts otherwise."""
    alloc = fo.solve(cluster(3), fo.AlphaFair(2, criterion="dominant-share"))
    question, answer = read(alloc)
    found = pooled(question, answer, 1e-8)
    assert question.columns.score is not None and found is not None
    whole = search(question, answer, enough=1e-8).proved
    apart = np.abs(found.proved.log_share - whole.log_share)
    assert (apart <= found.proved.below + found.proved.above + whole.below + whole.above).all()
    score = question.columns.score.copy()
    score[:, 0] *= 1 + 1e-3
    other = replace(question, columns=replace(question.columns, score=score))
    assert pooled(other, answer, np.inf) is None
