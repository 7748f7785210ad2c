"""What stops users of max-min answers: what has a price at their own level, or in their round."""

from __future__ import annotations

import numpy as np
import pytest

import fairopt as fo
from fairopt.instance.generate import random_instance


def test_full_without_a_price_stops_nobody():
    """khamse2016 section V: the CPU of D is full, and more of it would bring nobody anything."""
    inst = fo.read("khamse2016/section-v").instance
    answer = fo.solve(inst, fo.MaxMin("drf"))
    assert answer.utilisation[3, 0] == pytest.approx(1)
    assert {stop.resource for stop in answer.blocked} == {"ram"}
    for i, r, brings in ((3, 0, False), (2, 1, True)):
        capacity = inst.capacity.copy()
        capacity[i, r] *= 1.1
        # shares as they were: parts of the pool as it was
        more = fo.solve(inst.replace(capacity=capacity), fo.MaxMin(lambda _: answer.score))
        assert (more.levels > answer.levels * (1 + 1e-6)).any() == brings


@pytest.mark.parametrize("seed", range(8))
def test_every_stop_has_a_price_at_a_level(seed):
    inst = random_instance(4, 3, 3, 0.7, seed, 1.0, 0.2)
    answer = fo.solve(inst, fo.MaxMin())
    assert {stop.user for stop in answer.blocked} == set(inst.users)
    for stop in answer.blocked:
        i, r = inst.servers.index(stop.server), inst.resources.index(stop.resource)
        assert (answer.level_prices[:, i, r] > 0).any()


def test_the_users_own_level():
    """A stops first, by r1; r2 has a price at B's level alone, though A demands it too."""
    inst = fo.Instance(
        [[1, 1], [0, 1]], [[1, 3]], users=["A", "B"], resources=["r1", "r2"], servers=["s"]
    )
    answer = fo.solve(inst, fo.MaxMin("tasks"))
    assert answer.totals == pytest.approx([1, 2])
    assert [(stop.user, stop.resource) for stop in answer.blocked] == [("A", "r1"), ("B", "r2")]


def test_prices_of_no_level():
    """Prices that say nothing of a user: what is full stops it, as without prices."""
    inst = fo.Instance([[1.0]], [[2.0]], users=["A"], servers=["s"], resources=["r"])
    answer = fo.Allocation(inst, fo.MaxMin(), [[2.0]], level_prices=np.zeros((1, 1, 1)))
    assert [stop.resource for stop in answer.blocked] == ["r"]


def test_the_round_that_froze_a_user():
    """quotas/c1: A and B stop at their ceiling, C at the cpu, which is full then."""
    answer = fo.solve(fo.read("quotas/c1").instance, fo.MaxMin("tasks"))
    found = {(stop.user, stop.server) for stop in answer.blocked}
    assert {server for user, server in found if user == "C"} == {"pool"}
    assert all("ceiling" in server for user, server in found if user != "C")
