"""Equal users and servers solved as one beside groups, modes and rules: the same answers."""

from __future__ import annotations

import numpy as np
import pytest

import fairopt as fo
from fairopt.solving.reduce import reduce_ruled

NOTIONS = (
    fo.MaxMin(),
    fo.MaxMin("tasks"),
    fo.ProportionalFair(),
    fo.AlphaFair(2),
    fo.AlphaFair(0.5),
)
USERS, SERVERS = list("ABCDEF"), ["x1", "x2", "y"]


def twins(seed: int, **more) -> fo.Instance:
    """A and B are alike, and C, D, E but for weights; x1 and x2 are alike, y is not."""
    rng = np.random.default_rng(seed)
    kinds = rng.uniform(0.5, 3, (3, 2))
    weight = rng.uniform(0.5, 2, 6)
    capacity = rng.uniform(5, 20, (2, 2))
    return fo.Instance(
        kinds[[0, 0, 1, 1, 1, 2]],
        capacity[[0, 0, 1]],
        weight=weight,
        users=USERS,
        servers=SERVERS,
        resources=["cpu", "gpu"],
        **more,
    )


TREE = {"groups": [fo.Group("t", weight=2)], "group": dict.fromkeys("ABCDE", "t")}
MODES = {user: [fo.Mode("one"), fo.Mode("two", (1, 0.5), 0.7)] for user in "AB"}
KINDS = {
    "groups": {"quotas": fo.Quotas(**TREE)},
    "a group's ceiling": {"quotas": fo.Quotas(**TREE, bounds=[fo.Bound("t", "cpu", 6)])},
    "a ceiling on a flavor": {
        "quotas": fo.Quotas(
            **TREE, bounds=[fo.Bound("t", "gpu", 4, "x")], flavors={"x": ["x1", "x2"]}
        )
    },
    "lending": {
        "quotas": fo.Quotas(
            **TREE, quotas=[fo.Quota("t", "cpu", 9, lend=2), fo.Quota("F", "cpu", 20)]
        )
    },
    "modes": {"modes": MODES},
    "modes and a rule": {
        "modes": MODES,
        "rules": [fo.Rule("r", most=5, terms=[fo.Term(["A", "B", "F"], resource="cpu")])],
    },
    "a rule": {"rules": [fo.Rule("r", most=4, terms=[fo.Term(list("CDE"), times=1.5)])]},
    "a limit on a server": {"limit_on": {"F": {"y": 1}}},
}


@pytest.mark.parametrize("notion", NOTIONS, ids=str)
@pytest.mark.parametrize("kind", list(KINDS))
def test_the_answer_is_that_without_merging(kind, notion):
    for seed in range(2):
        inst = twins(seed, **KINDS[kind])
        found = fo.solve(inst, notion)
        other = fo.solve(inst, notion, reduce=False)
        assert found.certificate.certified and other.certificate.certified
        assert found.shares == pytest.approx(other.shares, rel=2e-6)
        assert any(step.get("step") == "reduce" for step in found.steps)
        assert not any(step.get("step") == "reduce" for step in other.steps)
        assert fo.certify(found.with_(certificate=None)).certified


def test_modes_of_twins_are_split_by_weight():
    """4 A100 and 10 T4 for a and a twin of weight 2, beside b of weight 3, on two nodes."""
    modes = [fo.Mode("fast", (1, 0)), fo.Mode("slow", (0, 1), 0.5)]
    inst = fo.Instance(
        [[0, 0], [0, 0], [0, 1]],
        [[2, 5], [2, 5]],
        weight=[1, 2, 3],
        users=["a", "a2", "b"],
        servers=["n1", "n2"],
        modes={"a": modes, "a2": modes},
    )
    found = fo.solve(inst, fo.ProportionalFair())
    assert found.steps[0] == {"step": "reduce", "users": [3, 2], "servers": [2, 1]}
    assert found.outputs == pytest.approx([1.5, 3, 9])
    assert found.way_tasks[0] * 2 == pytest.approx(found.way_tasks[2])


@pytest.mark.parametrize(
    ("more", "users", "servers"),
    [
        ({"quotas": fo.Quotas(**TREE)}, 3, 2),
        ({"quotas": fo.Quotas(guarantees=[fo.Guarantee("F", "cpu", 1)])}, 6, 3),
        ({"quotas": fo.Quotas(bounds=[fo.Bound("A", "cpu", 2), fo.Bound("B", "cpu", 2)])}, 4, 2),
        ({"quotas": fo.Quotas(priority={"A": 1})}, 4, 2),
        ({"quotas": fo.Quotas(**{**TREE, "group": {"A": "t"}})}, 4, 2),
        ({"rules": [fo.Rule("r", most=4, terms=[fo.Term(["A"])])]}, 4, 2),
        ({"rules": [fo.Rule("r", most=4, terms=[fo.Term(servers=["x1"])])]}, 3, 3),
        ({"modes": {"A": [fo.Mode("m")], "B": [fo.Mode("m", speed=2)]}}, 4, 2),
        ({"modes": {"F": [fo.Mode("m", servers=["x1", "y"])]}}, 3, 3),
        ({"limit_on": {"A": {"y": 1}, "B": {"y": 1}}}, 4, 3),
        ({"start": [1, 1, 0, 0, 0, 0]}, 6, 3),
    ],
)
def test_who_is_told_apart_is_not_merged(more, users, servers):
    inst = twins(0, **more)
    found = reduce_ruled(inst, fo.MaxMin("tasks"), np.ones((6, 3)))
    assert found.instance.shape[:2] == (users, servers)


def test_a_power_of_weights_does_not_add_up_down_a_tree():
    inst = twins(0, quotas=fo.Quotas(**TREE))
    score = np.ones((6, 3))
    assert reduce_ruled(inst, fo.AlphaFair(2), score).instance.shape[:2] == (6, 2)
    assert reduce_ruled(inst, fo.AlphaFair(1), score).instance.shape[:2] == (3, 2)
    flat = twins(0, modes=MODES)
    assert reduce_ruled(flat, fo.AlphaFair(2), score).instance.shape[:2] == (3, 2)
