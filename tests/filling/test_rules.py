"""Filling beside ceilings, lending, limits on servers, own rules and priorities: by hand."""

from __future__ import annotations

import numpy as np
import pytest

import fairopt as fo
from fairopt.errors import UsageError
from fairopt.filling import SCHEDULERS, Event, churn, optimum
from fairopt.filling.trials import run_trials
from fairopt.formulas.room import Room


def pool(users: str, cpu: float, **more) -> fo.Instance:
    """Users of one CPU a task on one server."""
    names = {"users": list(users), "servers": ["pool"], "resources": ["cpu"]}
    return fo.Instance([[1]] * len(users), [[cpu]], **names, **more)


TEAM = {"groups": [fo.Group("team")], "group": {"A": "team", "B": "team"}}
LENT = [fo.Quota("A", "cpu", 6, lend=1), fo.Quota("B", "cpu", 3)]
CASES = {
    "ceiling": (pool("AB", 9, quotas=fo.Quotas(bounds=[fo.Bound("A", "cpu", 3)])), [3, 6]),
    "ceiling of two": (
        pool("ABC", 12, quotas=fo.Quotas(**TEAM, bounds=[fo.Bound("team", "cpu", 4)])),
        [2, 2, 8],
    ),
    "lending": (pool("AB", 9, limit=[2, np.inf], quotas=fo.Quotas(quotas=LENT)), [2, 4]),
    "no lending": (
        pool(
            "AB", 9, quotas=fo.Quotas(quotas=[fo.Quota("A", "cpu", 7), fo.Quota("B", "cpu", 2, 1)])
        ),
        [6, 3],
    ),
    "own rule": (
        pool("ABC", 12, rules=[fo.Rule("few", most=4, terms=[fo.Term(["A", "B"])])]),
        [2, 2, 8],
    ),
    "limit on a server": (pool("AB", 9, limit_on=[[2], [100]]), [2, 7]),
    "priority": (pool("AB", 9, quotas=fo.Quotas(priority={"A": 1})), [9, 0]),
    "priority and limit": (
        pool("AB", 9, limit=[5, np.inf], quotas=fo.Quotas(priority={"A": 1})),
        [5, 4],
    ),
    "decimals": (
        pool("AB", 9, rules=[fo.Rule("r", most=0.3, terms=[fo.Term("A", times=0.1)])]),
        [3, 6],
    ),
}


@pytest.mark.parametrize("scheduler", list(SCHEDULERS))
@pytest.mark.parametrize("case", list(CASES))
def test_what_every_scheduler_gives(case, scheduler):
    inst, totals = CASES[case]
    found = fo.fill(inst, scheduler, seed=3)
    assert found.totals.tolist() == totals
    assert fo.certify(found).certified
    assert run_trials(inst, scheduler, trials=2).mean[:, 0].tolist() == totals


@pytest.mark.parametrize("case", list(CASES))
def test_one_task_less_is_refuted_and_one_more_is_too_many(case):
    inst, totals = CASES[case]
    found = fo.fill(inst, "drf")
    n = 1
    for change, verdict in ((-1, "refuted"), (1, "unproved")):
        tasks = np.array(found.tasks)
        tasks[n, 0] += change
        if tasks[n, 0] >= 0:
            assert fo.certify(found.with_(tasks=tasks)).verdict == verdict


def test_two_servers_of_two_machines():
    """A runs at most one task on x and the team at most 5 CPU on both; C takes the rest of 8."""
    inst = fo.Instance(
        [[1], [1], [1]],
        [[2], [4]],
        count=[2, 1],
        users=["A", "B", "C"],
        servers=["x", "y"],
        resources=["cpu"],
        limit_on={"A": {"x": 1}},
        quotas=fo.Quotas(**TEAM, bounds=[fo.Bound("team", "cpu", 5)]),
    )
    for scheduler in SCHEDULERS:
        found = fo.fill(inst, scheduler, seed=1)
        assert found.tasks[0, 0] <= 1 and found.totals[:2].sum() <= 5
        assert found.totals.sum() == 8 and fo.certify(found).certified


def test_taking_a_task_back_opens_what_it_had_closed():
    inst, _ = CASES["own rule"]
    found = churn(inst, [Event(4, "leave", "A")], "drf")
    assert found.allocation.totals.tolist()[0] == 0
    assert found.allocation.totals[1] == 4 and found.allocation.totals.sum() == 12


def test_rooms_are_those_of_the_linear_system():
    inst, _ = CASES["lending"]
    room = Room(inst, "test")
    assert room.allows(1, 0, 4) and not room.allows(1, 0, 5)
    room.add(0, 0, 6)
    assert room.allows(1, 0, 3) and not room.allows(1, 0, 4)
    room.add(0, 0, -6)
    assert room.allows(1, 0, 4)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"rules": [fo.Rule("r", least=5, terms=[fo.Term("A")])]}, "own rules that ask for tasks"),
        ({"quotas": fo.Quotas(guarantees=[fo.Guarantee("A", "cpu", 3)])}, "found guarantees"),
        ({"modes": {"A": [fo.Mode("m")]}}, "modes of A"),
        ({"start": [1, 0]}, "shares already had"),
    ],
)
def test_what_no_scheduler_can_keep_is_named(more, words):
    with pytest.raises(UsageError, match=words):
        fo.fill(pool("AB", 8, **more), "drf")


def test_the_most_whole_tasks_within_limits_in_other_words():
    """10 CPU, A 3 a task and at most 6 CPU, B 4: A twice and B once."""
    bounds = [fo.Bound("A", "cpu", 6)]
    names = {"users": ["A", "B"], "resources": ["cpu"]}
    inst = fo.Instance([[3], [4]], [[10]], quotas=fo.Quotas(bounds=bounds), **names)
    assert optimum(inst).allocation.totals.tolist() == [2, 1]
    groups = fo.Instance([[3], [4]], [[10]], quotas=fo.Quotas([fo.Group("g")], {"A": "g"}), **names)
    assert optimum(groups).total == 3
    whole = fo.whole(
        inst.replace(quotas=None, rules=[fo.Rule("r", most=2, terms=[fo.Term("A")])]), [3, 1]
    )
    assert whole.totals == (2, 1)
