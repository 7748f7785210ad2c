"""An answer as data: what follows from tasks and prices, and nothing that can be changed."""

from __future__ import annotations

import copy
import pickle
import sys

import numpy as np
import pytest

import fairopt as fo
from fairopt.allocation import Blocked
from fairopt.errors import BadInput, MissingExtra


def inst(limit=None):
    return fo.Instance(
        [[1, 4], [3, 1]],
        [[9, 18], [6, 6]],
        weight=[1, 2],
        limit=limit,
        users=["A", "B"],
        servers=["s", "t"],
        resources=["cpu", "memory"],
    )


def alloc(tasks=((3, 0), (2, 1)), notion=None, limit=None, **rest):
    return fo.Allocation(inst(limit), notion or fo.ProportionalFair(), tasks, **rest)


def test_what_follows_from_tasks():
    a = alloc(notion=fo.AlphaFair(2, "dominant-share"))
    assert a.totals.tolist() == [3, 3]
    assert a.score.ravel() == pytest.approx([4 / 18, 4 / 6, 1 / 3, 1 / 2])
    assert a.shares == pytest.approx([2 / 3, 7 / 6])
    assert a.levels == pytest.approx([2 / 3, 7 / 12])
    assert a.used.tolist() == [[9, 14], [3, 1]]
    assert a.utilisation.ravel() == pytest.approx([1, 14 / 18, 1 / 2, 1 / 6])
    assert a.objective == pytest.approx(-(3 / 2 + 2 * 6 / 7))
    assert a.equivalent == pytest.approx(3 / (3 / 2 + 2 * 6 / 7))
    assert a.notion == {
        "name": "alpha-fair",
        "parameters": {"alpha": 2.0, "criterion": "dominant-share", "weight_inside": False},
    }


def test_a_resource_that_is_not_there_is_not_used():
    a = fo.Allocation(fo.Instance([[1, 0]], [[2, 0]]), {"name": "throughput"}, [[1]])
    assert a.utilisation.tolist() == [[0.5, 0]]


def test_another_notion_has_no_welfare():
    a = alloc(notion={"name": "bmf"})
    assert a.objective is None and a.equivalent is None
    assert a.notion == {"name": "bmf", "parameters": {}}


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"tasks": [[1, 1]]}, "tasks: found shape (1, 2); wanted shape (2, 2)"),
        ({"tasks": [1, 1]}, "tasks: found shape (2,)"),
        ({"tasks": "many"}, "tasks: found something that is no array"),
        ({"tasks": [[np.nan, 0], [0, 0]]}, "tasks: found NaN or infinity"),
        ({"prices": [[1, 1]]}, "prices: found shape (1, 2)"),
        ({"prices": [[1, 1], [1, -2]]}, "prices: found -2; wanted numbers >= 0"),
        ({"prices": [[1, 1], [1, np.inf]]}, "prices: found NaN or infinity"),
        ({"limit_prices": [1]}, "limit_prices: found shape (1,)"),
        ({"limit_prices": [1, -1]}, "limit_prices: found -1"),
        ({"level_prices": [[1, 1], [1, 1]]}, "level_prices: found shape (2, 2)"),
        ({"score": [[1, 1], [1, 0]]}, "score: found 0 where a user is eligible"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_arrays_that_are_refused(changes, fault):
    with pytest.raises(BadInput) as error:
        alloc(**changes)
    assert fault in str(error.value)


def test_all_faults_at_once():
    with pytest.raises(BadInput) as error:
        alloc(tasks=[[1]], prices=[[1]], limit_prices=[np.nan, 1], score=[[-1, 1], [1, 1]])
    places = [fault.place for fault in error.value.faults]
    assert places == ["tasks", "prices", "limit_prices", "score"]


def test_blocked_without_prices_names_every_full_resource():
    full = alloc(tasks=[[3, 0], [2, 2]])  # s is full of cpu, t of cpu
    assert full.blocked == (
        Blocked("A", "s", "cpu", None),
        Blocked("A", "t", "cpu", None),
        Blocked("B", "s", "cpu", None),
        Blocked("B", "t", "cpu", None),
    )
    assert alloc(tasks=[[1, 0], [1, 1]]).blocked == ()


def test_blocked_with_prices_names_where_one_more_is_cheapest():
    full = alloc(tasks=[[3, 0], [2, 2]], prices=[[0.2, 0.0], [0.5, 0.1]])
    # memory of t is priced but has room; s is cheaper for both
    assert full.blocked == (Blocked("A", "s", "cpu", 0.2), Blocked("B", "s", "cpu", 0.2))


def test_blocked_by_several_resources_and_not_by_what_is_not_demanded():
    one = fo.Instance([[1, 1, 0], [1, 1, 1]], [[2, 2, 1]])
    a = fo.Allocation(one, fo.ProportionalFair(), [[1], [1]], [[0.5, 0.25, 0.0]])
    assert a.blocked == (
        Blocked("u1", "s1", "r1", 0.5),
        Blocked("u1", "s1", "r2", 0.25),
        Blocked("u2", "s1", "r1", 0.5),
        Blocked("u2", "s1", "r2", 0.25),
    )
    bare = a.with_(prices=None)
    assert {b.resource for b in bare.blocked if b.user == "u1"} == {"r1", "r2"}
    assert {b.resource for b in bare.blocked if b.user == "u2"} == {"r1", "r2", "r3"}


def test_blocked_by_its_own_limit():
    a = alloc(limit=[3, np.inf])
    assert a.blocked[0] == Blocked("A", None, None, None)
    priced = a.with_(prices=[[0.1, 0], [0.1, 0]], limit_prices=[0.7, 0])
    assert priced.blocked == (Blocked("A", None, None, 0.7), Blocked("B", "s", "cpu", 0.1))


def test_with_changes_one_field_and_judges_nothing():
    a = alloc(prices=np.ones((2, 2)))
    b = a.with_(steps=({"step": "by hand"},))
    assert b == a and b.steps == ({"step": "by hand"},) and a.steps == ()
    assert a.with_(prices=None) != a
    with pytest.raises(BadInput):
        a.with_(tasks=[[1]])


@pytest.mark.parametrize(
    "changes",
    [
        {"tasks": [[3, 0], [2, 0.5]]},
        {"prices": np.ones((2, 2)) * 2},
        {"limit_prices": [1, 0]},
        {"level_prices": np.ones((1, 2, 2))},
        {"notion": fo.Throughput()},
        {"score": np.ones((2, 2)) * 2},
        {"instance": inst().replace(weight=[1, 3])},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_equal_means_equal_everywhere(changes):
    a = alloc(prices=np.ones((2, 2)))
    assert a == alloc(prices=np.ones((2, 2))) and a != a.with_(**changes)
    assert a != "an allocation"


def test_no_levels_is_a_shape_too():
    assert alloc(level_prices=np.ones((0, 2, 2))).level_prices.shape == (0, 2, 2)


@pytest.mark.parametrize(
    "copied",
    [copy.copy, copy.deepcopy, lambda a: pickle.loads(pickle.dumps(a))],
    ids=["copy", "deepcopy", "pickle"],
)
def test_copies_are_equal_and_frozen(copied):
    a = alloc(prices=np.ones((2, 2)), limit_prices=[0, 0], level_prices=np.ones((1, 2, 2)))
    judged = a.with_(certificate=fo.certify(a))
    b = copied(judged)
    assert b == judged and b.certificate == judged.certificate and b.objective == a.objective
    for name in (
        "tasks",
        "prices",
        "limit_prices",
        "level_prices",
        "score",
        "totals",
        "shares",
        "levels",
        "used",
        "utilisation",
    ):
        with pytest.raises(ValueError, match="read-only"):
            getattr(b, name)[...] = 0
        with pytest.raises(ValueError, match="WRITEABLE"):
            getattr(b, name).flags.writeable = True
        with pytest.raises(AttributeError):
            setattr(b, name, None)


def test_repr_is_short():
    assert repr(alloc()) == "Allocation(proportional, {A: 3, B: 3}, not judged)"
    judged = alloc().with_(certificate=fo.certify(alloc()))
    assert repr(judged).endswith(f"{judged.certificate.verdict})")
    many = fo.Instance(np.ones((100, 1)), [[100]])
    text = repr(fo.Allocation(many, fo.ProportionalFair(), np.ones((100, 1))))
    assert text.endswith("u6: 1, 94 more}, not judged)")


def test_to_frame():
    pytest.importorskip("pandas")
    frame = alloc(notion=fo.ProportionalFair("dominant-share")).to_frame()
    assert frame.columns.tolist() == ["user", "server", "tasks", "share"]
    assert frame[["user", "server", "tasks"]].values.tolist() == [
        ["A", "s", 3.0],
        ["B", "s", 2.0],
        ["B", "t", 1.0],
    ]
    assert frame["share"].tolist() == pytest.approx([2 / 3, 2 / 3, 1 / 2])


def test_to_frame_without_pandas_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtra, match=r"pip install 'fairopt\[frame\]'"):
        alloc().to_frame()


@pytest.mark.parametrize("score", [3e-320, 1e305])
def test_scores_near_the_ends_of_floating_point_are_refused(score: float) -> None:
    """Their shares and prices are no floats: one answer was refuted, of another came a crash."""
    inst, given = fo.Instance([[1], [1]], [[3]], limit=[0.7, np.inf]), np.full((2, 1), score)
    with pytest.raises(fo.BadInput, match="from 1e-250 to below 1e"):
        fo.Allocation(inst, fo.MaxMin("tasks"), [[0.7], [2.3]], score=given)
    with pytest.raises(fo.BadInput, match="from 1e-250 to below 1e"):
        fo.solve(inst, fo.MaxMin(criterion=lambda _: given))
