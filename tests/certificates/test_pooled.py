"""Servers of the same prices taken as one: what is proved there is true, whoever hands it in."""

from __future__ import annotations

import numpy as np
import pytest

import fairopt as fo
from fairopt.certificates.given import given
from fairopt.certificates.pooled import MANY, pooled
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


@pytest.fixture(scope="module", params=[None, 3])
def answered(request):
    inst = cluster(request.param)
    return fo.solve(inst, fo.ProportionalFair())


def read(alloc):
    question = asked(alloc)
    return question, given(alloc, question)


def test_what_is_proved_is_what_a_search_of_all_columns_proves(answered):
    question, answer = read(answered)
    assert question.columns.count >= MANY
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
