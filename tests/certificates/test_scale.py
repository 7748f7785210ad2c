"""Certificates of very many users: the same proofs, in little memory, with nothing left out.

The answers are planted: every user runs where its cheapest price is, W/q tasks, and capacity is
what they use; so the prices prove the answer, whatever its size.
"""

from __future__ import annotations

import copy
import pickle
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fairopt as fo
from fairopt.allocation.check import Intervals
from fairopt.certificates.losses import bracket, loss
from fairopt.certificates.words import PLACES, SERVERS

USERS = 200_000


def planted(users, servers=10, resources=3, seed=0):
    """An instance and its proportionally fair answer with prices."""
    rng = np.random.default_rng(seed)
    demand = rng.uniform(0.1, 1.0, (users, resources))
    # tangents of a concave function: every server is the cheapest of somebody
    place = rng.uniform(0.1, 1.0, (servers, resources))
    prices = np.exp(np.log(place).mean(axis=1))[:, None] / place
    cost = demand @ prices.T
    best = cost.argmin(axis=1)
    tasks = np.zeros((users, servers))
    tasks[np.arange(users), best] = 1.0 / cost[np.arange(users), best]
    inst = fo.Instance(demand, tasks.T @ demand)
    return fo.Allocation(inst, fo.ProportionalFair(), tasks, prices)


def test_two_hundred_thousand_users_are_certified_in_little_memory():
    alloc = planted(USERS)
    tracemalloc.start()
    found = fo.certify(alloc)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # of so many users a tenth of the tolerance is enough for the search
    assert found.certified and found.residual <= 1e-7 and found.undetermined == ()
    # one array of a number for every pair is 16 MB; sums in two floats over pairs that are looked
    # at closely take as many as seventeen
    assert peak < 320e6
    assert len(found.intervals) == USERS and found.notes[-1] == f"and {USERS - 200} more users"


def test_one_short_among_very_many_is_found():
    alloc = planted(USERS)
    tasks = np.array(alloc.tasks)
    tasks[123_456] *= 0.9
    found = fo.certify(alloc.with_(tasks=tasks, objective=None, equivalent=None))
    assert not found.certified and "u123457" in found.undetermined
    assert next(c for c in found.checks if c.name == "residual").witness == "u123457"


def test_blocks_judge_as_one(monkeypatch):
    """The verdict, to the last bit, does not depend on how users are cut into blocks."""
    whole = planted(60, seed=3)
    whole = whole.with_(tasks=whole.tasks * 0.99, objective=None, equivalent=None)
    monkeypatch.setattr("fairopt.instance.BLOCK", 70)
    again = planted(60, seed=3)
    again = again.with_(tasks=again.tasks * 0.99, objective=None, equivalent=None)
    assert again == whole and again.blocked == whole.blocked
    a, b = fo.certify(again), fo.certify(whole)
    assert (a.gap, a.residual, a.checks, a.notes) == (b.gap, b.residual, b.checks, b.notes)
    assert a.intervals == b.intervals


def test_a_user_stopped_on_very_many_machines_is_told_briefly():
    machines = 300
    inst = fo.Instance([[1.0]], np.ones((machines, 1)))
    found = fo.certify(
        fo.Allocation(inst, fo.ProportionalFair(), np.ones((1, machines)), np.ones((machines, 1)))
    )
    assert found.certified and f"s8 and {machines - SERVERS} more, one more" in found.notes[0]


def test_a_user_stopped_by_very_many_prices_is_told_briefly():
    prices = np.arange(1.0, 26.0)[None] / 325
    inst = fo.Instance(np.ones((1, 25)), np.ones((1, 25)))
    found = fo.certify(fo.Allocation(inst, fo.ProportionalFair(), np.ones((1, 1)), prices))
    assert found.certified and found.notes[0].endswith(f"; by {25 - PLACES} more")


# -- ends of intervals ------------------------------------------------------------------------


def bisected(function, eps, sign):
    """The end of {function(log t) <= eps} by 80 halvings; inf where it is open."""
    inside, outside = np.zeros_like(eps), np.full_like(eps, 600.0)
    for _ in range(80):
        middle = (inside + outside) / 2
        ok = function(sign * middle) <= eps
        inside, outside = np.where(ok, middle, inside), np.where(ok, outside, middle)
    return np.where(inside > 599, np.inf, outside)


@given(
    st.lists(st.floats(-14, 40), min_size=1, max_size=20),
    st.sampled_from([0.1, 0.5, 0.99, 1.0, 1.01, 2.0, 10.0, 100.0]),
)
def test_ends_are_those_of_bisection(decades, alpha):
    eps = 10.0 ** np.array(decades)

    def of(log_t):
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            return loss(log_t, alpha)

    low, high = bracket(of, eps)
    for sign, end in ((-1.0, low), (1.0, high)):
        z, old = (
            np.abs(np.log(end, where=end > 0, out=np.full_like(end, np.inf))),
            bisected(of, eps, sign),
        )
        known = np.isfinite(old)
        assert (np.isinf(z) | known).all()
        near = known & np.isfinite(z)
        # log loses what is near t = 1; the loss itself is known to rounding / loss
        noise = 1e-12 * old[near] + 1e-15 + 4e-16 / np.maximum(old[near] * alpha, 1e-12)
        steep = np.minimum(np.sqrt(eps[near]), 1.0)
        assert (np.abs(z[near] - old[near]) <= noise + 1e-9 * steep * old[near]).all()


def test_intervals_are_a_tuple_that_is_made_when_asked_for():
    asked = []

    def ends():
        asked.append(1)
        return np.array([1.0, 2.0]), np.array([3.0, np.inf])

    found = Intervals(2, ends)
    assert len(found) == 2 and not asked
    pairs = ((1.0, 3.0), (2.0, np.inf))
    assert found == pairs and tuple(found) == pairs and hash(found) == hash(pairs)
    assert found[1] == pairs[1] and found[:1] == pairs[:1] and np.array(found).shape == (2, 2)
    assert found != pairs[:1] and found != ((1.0, 3.0), (2.0, 4.0)) and asked == [1]
    for again in (pickle.loads(pickle.dumps(found)), copy.deepcopy(found)):
        assert again == found
    with pytest.raises(IndexError):
        found[2]


def test_the_proof_kept_with_an_answer_is_of_no_use_to_another():
    """Many pairs; what is certified once stays so, a copy that was changed is examined anew."""
    alloc = planted(10_000)
    assert fo.certify(alloc).certified
    tasks = np.array(alloc.tasks)
    tasks[7] *= 1 - 1e-4
    forged = alloc.with_(tasks=tasks)
    assert not fo.certify(forged).certified and not fo.certify(forged).certified
    # other prices are the same answer
    assert fo.certify(alloc.with_(prices=alloc.prices * 1.01)).certified
    assert "_proved" in alloc.__dict__ and "_proved" not in alloc.with_(tasks=tasks).__dict__
    for kept in ("_proved", "_question", "_sights"):
        assert kept not in copy.deepcopy(alloc).__dict__
        assert kept not in pickle.loads(pickle.dumps(alloc)).__dict__
    for array in (alloc.tasks, alloc.prices, alloc.score, alloc.instance.demand):
        with pytest.raises(ValueError):
            array.flags.writeable = True
    assert fo.certify(alloc).certified
