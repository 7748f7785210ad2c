"""What a queue could hold: a known answer, the bound by prices, and forged prices."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fairopt as fo
from fairopt.connect.plan import could_hold

# two shapes of 6; A on x, B on both, C on y; they hold 2, 8 and 2 although 4 is due to each
CHAIN = fo.Instance([[1.0]] * 3, [[6.0]] * 2, placement=[[1, 0], [1, 1], [0, 1]], users=list("ABC"))
HELD = np.array([[2, 0], [4, 4], [0, 2]])


def of(instance, held, queue, owner=None):
    score = np.where(instance.eligible, 1.0, 0.0)
    owner = owner or list(instance.users)
    return could_hold.of_queue(instance, score, owner, dict.fromkeys(owner, 1.0), held, queue)


@pytest.mark.parametrize(("queue", "tasks"), [("A", 6), ("B", 8), ("C", 6)])
def test_known(queue, tasks):
    found = of(CHAIN, HELD, queue)
    assert found.tasks == pytest.approx(tasks)
    assert found.share == pytest.approx(tasks)


def test_those_below_keep_what_they_hold():
    # B holds least, so A may not take what it holds, and B may take all that A holds
    held = np.array([[4, 0], [2, 0], [0, 6]])
    assert of(CHAIN, held, "A").share == pytest.approx(6 - 0)  # B moves to y, where C holds more
    assert of(CHAIN, held, "B").share == pytest.approx(12)
    assert of(CHAIN, held, "C").share == pytest.approx(6)


def test_members_of_one_queue_count_together():
    found = of(CHAIN, HELD, "q", ["q", "r", "q"])
    assert found.share == pytest.approx(12)


def test_what_does_not_fit_gives_nothing():
    # A holds more than there is
    assert of(CHAIN, np.array([[9, 0], [1, 0], [0, 1]]), "A") is None
    # B and C hold more than there is: nobody could keep that
    assert of(CHAIN, np.array([[12, 0], [9, 0], [0, 9]]), "A") is None


@given(
    st.lists(st.floats(0, 2), min_size=2, max_size=2),
    st.lists(st.floats(0, 2), min_size=3, max_size=3),
)
@settings(deadline=None, max_examples=60)
def test_any_prices_prove_a_bound(prices, keep):
    own, floor = np.array([True, False, False]), np.array([0.0, 0.0, 2.0])
    score = np.where(CHAIN.eligible, 1.0, 0.0)
    bound = could_hold.bound(CHAIN, score, own, floor, np.array(prices)[:, None], np.array(keep))
    assert bound >= 6 - 1e-9
