"""Answers that an attacker made, each proved once though it is wrong: users left out where targets
begin to jump, floors that are nearly another number, weights that are not what they stand for."""

from __future__ import annotations

import numpy as np
import pytest

import fairopt as fo
from fairopt.certificates.enclosed_search import enclosed_levels
from tests.oracles import nested

DOMINANT = {"criterion": "drf", "measure": "dominant"}


def told(users, t, jump=0.0, prices=(), limits=()):
    """A round of the cluster below: prices of (server, resource), and of limits."""
    priced, own = np.zeros((2, 2)), np.zeros(4)
    for at in prices:
        priced[at] = 1.0
    for n in limits:
        own[n] = 1.0
    return {
        "t": t,
        "jump": jump,
        "users": users,
        "prices": {"prices": priced, "limit_prices": own},
    }


def two_groups() -> fo.Instance:
    """a and b in a group, n and c in another: a and n are stopped by their limits at the same
    level, so that both groups jump from there, together."""
    return fo.Instance(
        [[1.0, 0], [0, 1.0], [1.0, 0], [0, 1.0]],
        [[100.0, 28], [0, 72]],
        placement=np.array([[1, 0]] * 4, dtype=bool),
        weight=[2.0, 1, 2, 1],
        limit=[20, np.inf, 20, np.inf],
        users=["a", "b", "n", "c"],
        resources=["r0", "r1"],
        quotas=fo.Quotas(
            [fo.Group("g1"), fo.Group("g2")], {"a": "g1", "b": "g1", "n": "g2", "c": "g2"}
        ),
    )


LATE = {
    "together": [told(["n", "c"], 0.2, prices=[(0, 1)], limits=[2])],
    "after": [told(["c"], 0.2, prices=[(0, 1)]), told(["n"], 0.2, limits=[2])],
    "before": [told(["n"], 0.2, limits=[2]), told(["c"], 0.2, prices=[(0, 1)])],
}


@pytest.mark.parametrize("last", list(LATE))
def test_who_could_be_stopped_where_a_jump_begins_is_stopped_there(last: str) -> None:
    """n is told after the jump: then its group does not seem to stand still, b has all of what b
    and c should share, and that was certified."""
    inst, notion = two_groups(), fo.MaxMin(measure="dominant")
    exact = nested.shares(nested.of_instance(inst, **DOMINANT))[0]
    np.testing.assert_allclose(exact.astype(float), [0.2, 0.14, 0.2, 0.14])
    assert fo.certify(nested.answer(inst, notion, **DOMINANT)).certified
    first = [told(["a"], 0.2, limits=[0]), told(["b"], 0.2, 0.8, prices=[(0, 1)])]
    tasks = np.array([[20, 0], [18, 0], [20, 0], [10, 0.0]])
    forged = fo.Allocation(inst, notion, tasks, rounds=[*first, *LATE[last]])
    assert not fo.certify(forged).certified and enclosed_levels(forged) is None


@pytest.mark.parametrize("tree", [False, True])
def test_a_floor_is_what_was_guaranteed_and_not_a_limit_that_is_near(tree: bool) -> None:
    """A has 4 - e for sure, and a limit of 4; what it leaves decides whether B has one task or
    two."""
    e = 2.0**-41
    groups = {"groups": [fo.Group("g"), fo.Group("h")], "group": {"A": "g", "B": "h", "D": "h"}}
    quotas = fo.Quotas(
        guarantees=[fo.Guarantee("A", "r", 4 * (1 - e / 4))], **(groups if tree else {})
    )
    inst = fo.Instance(
        [[1.0, 0], [e, 1.0], [0, 1]],
        [[4 + e, 10.0]],
        limit=[4, np.inf, np.inf],
        weight=[2**-6, 1, 1],
        users=["A", "B", "D"],
        resources=["r", "q"],
        quotas=quotas,
    )
    rounds = [
        {
            "t": t * (1 + tree) if t == 1 else t + tree,
            "jump": 0.0,
            "users": users,
            "prices": {"prices": np.array([price]), "limit_prices": np.zeros(3)},
        }
        for t, users, price in ((1.0, ["A", "B"], [1.0, 0]), (9.0, ["D"], [0, 1.0]))
    ]
    notion = fo.MaxMin("tasks", measure="sum")
    forged = fo.Allocation(inst, notion, np.array([[4.0], [1.0], [9.0]]), rounds=rounds)
    assert not fo.certify(forged).certified
    found = enclosed_levels(forged)
    exact = nested.shares(nested.of_instance(inst, criterion="tasks", measure="sum"))[0]
    for n, share in enumerate(exact if found is not None else ()):
        assert found.low[n] <= share <= found.high[n]


def test_weights_in_proportion_to_guarantees_are_fractions() -> None:
    """1/3 to 1/5; of floats B would be due 1.3125 instead of 1."""
    e = 2.0**-50
    inst = fo.Instance(
        [[3.0, 3, 0], [5, 0, 0], [0, e, 1], [0, 0, 1]],
        [[10.0, 5 + e, 10.0]],
        users=["A", "C", "B", "D"],
        resources=["q", "r", "s"],
        quotas=fo.Quotas(guarantees=[fo.Guarantee("A", "q", 1.0), fo.Guarantee("C", "q", 1.0)]),
    )
    rounds = [
        {
            "t": t,
            "jump": 0.0,
            "users": users,
            "prices": {"prices": np.array([price]), "limit_prices": np.zeros(4)},
        }
        for t, users, price in (
            (5.0, ["A", "C"], [1.0, 0, 0]),
            (1.3125, ["B"], [0, 1.0, 0]),
            (8.6875, ["D"], [0, 0, 1.0]),
        )
    ]
    notion = fo.MaxMin("tasks", measure="sum", over="proportion")
    tasks = np.array([[5 / 3], [1.0], [1.3125], [8.6875]])
    forged = fo.Allocation(inst, notion, tasks, rounds=rounds)
    assert not fo.certify(forged).certified
