"""Answers of instances with groups and modes: tasks by mode, prices of rules, rounds."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import fairopt as fo
from fairopt.allocation.fields import shapes
from tests.quota_cases import cards, story

TASKS = fo.MaxMin("tasks")


def ruled() -> fo.Instance:
    """The story with a ceiling and quotas of two kinds."""
    return story(
        bounds=[fo.Bound("C1", "gpu", 200)],
        quotas=[fo.Quota("C1", "gpu", 150), fo.Quota("2A", "gpu", 100, flavor="f")],
        flavors={"f": ["pool"]},
    )


def answer(**changes) -> fo.Allocation:
    """An answer with every field that groups bring; its numbers mean nothing."""
    prices = {"prices": [[0.5]], "bound_prices": [0.25], "node_prices": np.ones((2, 7))}
    rounds = [
        {"t": 1.5, "users": ["1A", "1C"], "prices": prices},
        {"t": 2, "jump": 1, "priority": 1, "users": []},
    ]
    return fo.Allocation(
        ruled(),
        TASKS,
        [[1], [2], [3], [4]],
        **{**prices, "floor_prices": {"1A": 2.0}, "rounds": rounds, **changes},
    )


def faults(inst: fo.Instance, tasks=None, **given) -> dict[str, tuple[str, str]]:
    with pytest.raises(fo.BadInput) as error:
        fo.Allocation(inst, TASKS, tasks, **given)
    return {f.place: (f.found, f.wanted) for f in error.value.faults}


def test_the_fields_are_kept_sealed_compared_and_pickled():
    alloc = answer()
    assert alloc.floor_prices is not None and alloc.floor_prices.tolist() == [2, 0, 0, 0]
    first, second = alloc.rounds or ()
    assert first["users"] == ("1A", "1C") and first["jump"] == 0 and first["priority"] == 0
    assert first["prices"]["node_prices"].shape == (2, 7) and second["prices"] == {}
    with pytest.raises(ValueError, match="read-only"):
        first["prices"]["prices"][0, 0] = 7
    assert pickle.loads(pickle.dumps(alloc)) == alloc == alloc.with_(objective=1.0)
    for change in (
        {"rounds": None},
        {"rounds": []},
        {"bound_prices": [1]},
        {"node_prices": None},
        {"floor_prices": [1] * 4},
        {"rounds": [{"t": 1.5, "users": ["1A", "1C"]}]},
    ):
        assert answer(**change) != alloc


def test_every_fault_of_prices_and_rounds():
    found = faults(
        ruled(),
        np.ones((4, 1)),
        bound_prices=[-1],
        node_prices=np.ones((2, 4)),
        floor_prices=[1, np.nan, 1, 1],
        rounds=[
            3,
            {"t": -1, "jump": 2, "users": "1A", "at": 1, "prices": [1]},
            {"t": 10**400, "users": [["1A"]]},
            {"users": ["nobody"], "prices": {"price": 1, "prices": [[-1]], "bound_prices": [1, 2]}},
        ],
    )
    assert found == {
        "bound_prices": ("-1", "numbers >= 0"),
        "node_prices": ("shape (2, 4)", "shape (2, 7)"),
        "floor_prices": ("NaN or infinity", "finite numbers"),
        "rounds[0]": ("a int", "{t, jump, priority, users, prices}"),
        "rounds[1].at": ("an unknown key", "t, the nearest of: t, jump, priority, users, prices"),
        "rounds[1].users": ("a str", "names of users"),
        "rounds[1].prices": ("a list", "prices by kind"),
        "rounds[1].t": ("-1", "a finite number >= 0"),
        "rounds[1].jump": ("2", "a number from 0 to 1"),
        "rounds[2].t": (repr(10**400), "a finite number >= 0"),
        "rounds[2].users": ("the unknown user ['1A']", "1A, the nearest of: 1A, 1B, 1C, 2A"),
        "rounds[3].users": ("the unknown user 'nobody'", "one of: 1A, 1B, 1C, 2A"),
        "rounds[3].prices.price": (
            "an unknown key",
            f"prices, the nearest of: {', '.join(shapes(ruled()))}",
        ),
        "rounds[3].t": ("None", "a finite number >= 0"),
        "rounds[3].prices.prices": ("-1", "numbers >= 0"),
        "rounds[3].prices.bound_prices": ("shape (2,)", "shape (1,)"),
    }
    assert faults(ruled(), np.ones((4, 1)), rounds={"t": 1}) == {
        "rounds": ("a dict", "a list of rounds")
    }


def test_tasks_by_mode_give_tasks_output_and_use():
    x = [[4.0], [1], [0], [3]]
    alloc = fo.Allocation(cards(), TASKS, None, way_tasks=x)
    assert alloc.tasks.tolist() == [[5], [3]] and alloc.used.tolist() == [[8, 4, 4]]
    np.testing.assert_allclose(alloc.output, [[4.4], [2.4]], rtol=1e-15)
    np.testing.assert_allclose(alloc.shares, [4.4, 2.4], rtol=1e-15)
    assert alloc.least == 0 and not alloc.strays
    assert pickle.loads(pickle.dumps(alloc)) == alloc
    assert alloc != fo.Allocation(cards(), TASKS, None, way_tasks=[[3.0], [2], [0], [3]])
    stray = cards(b=[fo.Mode("A100", [2, 1, 0]), fo.Mode("T4", [1, 0, 1], 0.8, servers=[])])
    assert fo.Allocation(stray, TASKS, None, way_tasks=x).strays


def test_tasks_by_mode_must_be_there_and_agree():
    x = np.array([[4.0], [1], [0], [3]])
    assert faults(cards(), [[5], [3]]) == {
        "way_tasks": ("nothing", "tasks of each mode: users have modes")
    }
    assert faults(cards(), [[5], [3.1]], way_tasks=x) == {
        "tasks.b.node": ("3.1", "3, the sum over its modes")
    }
    assert faults(cards(), way_tasks=x[:3]) == {"way_tasks": ("shape (3, 1)", "shape (4, 1)")}
    assert faults(ruled(), np.ones((4, 1)), way_tasks=x) == {
        "way_tasks": ("tasks by mode", "none: no user has modes")
    }
    assert faults(ruled()) == {"tasks": ("nothing", "tasks of each user on each server")}


def test_plain_answers_have_no_such_fields():
    alloc = fo.solve(fo.Instance([[1]], [[2]]), fo.MaxMin())
    for name in ("way_tasks", "bound_prices", "node_prices", "floor_prices", "rounds"):
        assert getattr(alloc, name) is None
