"""Wants of users with modes, and of tasks that take something else on every server."""

from __future__ import annotations

import numpy as np
import pytest

import fairopt as fo
from benchmarks import over_time
from fairopt.cli import run

TASKS = fo.MaxMin("tasks")
SLOW = fo.Mode("slow")
INF = np.inf


def cluster(**more):
    """A runs slowly anywhere on a card, or three times as fast on two cards of x; B on one card."""
    given = {
        "demand": [[1], [1]],
        "capacity": [[2], [2]],
        "users": ["A", "B"],
        "servers": ["x", "y"],
        "resources": ["gpu"],
        "modes": {"A": [SLOW, fo.Mode("fast", [2.0], 3.0, ["x"])]},
    }
    return fo.Instance(**{**given, **more})


@pytest.mark.parametrize("hours", [1.0, 3.0])
@pytest.mark.parametrize(
    ("want", "due"),
    [
        (INF, [4.8, 4.8]),  # 3 f = 4 - 2 f in each slice
        (0.5, [3, 6]),  # half a fast task at once takes one card
    ],
)
def test_several_servers_share_a_want_in_whatever_mode(want, due, hours):
    whole = fo.horizon(cluster(), {"A": [want] * 2, "B": [4, 4]}, hours)
    found = fo.solve(whole.instance, TASKS)
    assert found.certificate.certified
    assert found.shares == pytest.approx(np.array(due) * hours, rel=1e-8)
    plan = whole.split(found)
    assert (plan.sum(axis=2)[:, 0] <= want * (1 + 1e-9)).all()
    ways = whole.split(found, by_way=True)
    assert ways.shape == (2, 3, 2) and not ways[:, 1, 1].any()
    again = whole.answer(ways, TASKS)
    assert fo.certify(again).certified
    assert whole.ratio(ways / 2, found) == pytest.approx(0.5, rel=1e-9)


def test_on_one_server_a_want_is_a_limit_there():
    """A's two fast tasks of t1 are 6; B has t2."""
    one = cluster(capacity=[[4]], servers=["x"])
    whole = fo.horizon(one, {"A": [2, 2], "B": [0, 4]})
    assert whole.instance.rules is None and whole.instance.limit_on is not None
    found = fo.solve(whole.instance, TASKS)
    assert found.certificate.certified
    assert found.shares == pytest.approx([6, 4], rel=1e-8)


def test_work_that_waits_in_modes():
    """One task-hour wanted in t1; x is away then, and A has it fast in t2."""
    away = [[[0], [0.5]], [[2], [2]]]
    whole = fo.horizon(cluster(), {"A": [1, 0], "B": [1, 0]}, capacity=away, carry=True)
    found = fo.solve(whole.instance, fo.ProportionalFair())
    assert found.certificate.certified
    assert found.shares[0] == pytest.approx(3, rel=1e-6)
    assert found.totals == pytest.approx([1, 1], rel=1e-6)


def test_equal_slices_merged_change_nothing():
    rng = np.random.default_rng(1)
    for notion in (TASKS, fo.ProportionalFair()):
        for _ in range(6):
            base = cluster(demand=rng.uniform(0.5, 2, (2, 1)), weight=rng.uniform(0.5, 2, 2))
            wants = rng.uniform(0.2, 2, (1, 2))
            one = fo.solve(fo.horizon(base, wants, 4.0).instance, notion)
            several = fo.solve(fo.horizon(base, np.repeat(wants, 4, axis=0)).instance, notion)
            assert several.shares == pytest.approx(one.shares, rel=3e-6)


def test_one_slice_is_the_notion():
    base = cluster()
    whole = fo.horizon(base, [[INF, INF]])
    for notion in (TASKS, fo.ProportionalFair()):
        assert np.array_equal(
            fo.solve(whole.instance, notion).way_tasks, fo.solve(base, notion).way_tasks
        )


def test_tasks_that_take_something_else_on_every_server():
    """A's tasks take 1 of x's cpu, or 2 of y's; of its want of 1 at once it has just that."""
    base = fo.Instance([[[1], [2]], [[1], [1]]], [[2], [2]], users=["A", "B"], servers=["x", "y"])
    whole = fo.horizon(base, {"A": [1, 1], "B": [4, 4]})
    assert [rule.name for rule in whole.instance.rules] == ["A at t1", "A at t2"]
    found = fo.solve(whole.instance, TASKS)
    assert found.certificate.certified
    assert found.totals == pytest.approx([2, 6], rel=1e-8)


def test_the_command(tmp_path, capsys):
    fo.write(cluster(), tmp_path / "m.toml")
    (tmp_path / "w.csv").write_text("time,user,tasks\n0,A,0.5\n0,B,4\n2,A,0\n2,B,0\n")
    out = str(tmp_path / "a.json")
    given = ["horizon", str(tmp_path / "m.toml"), "--wants", str(tmp_path / "w.csv"), "-o", out]
    assert run([*given, "--notion", "max-min", "--criterion", "tasks"]) == 0
    assert "certified" in capsys.readouterr().out
    assert run(["verify", out]) == 0


@pytest.mark.parametrize(
    ("size", "more"),
    [
        ((50, 96, 4, 2), ""),  # left unproved at 2.7e-6 before what rounds leave was carried on
        ((20, 48, 2, 0), "two servers"),
        ((20, 48, 2, 0), "carry"),
    ],
)
def test_horizons_of_many_rounds_are_certified(size, more):
    whole = over_time.draw(*size, more)
    for notion in (fo.MaxMin(), fo.ProportionalFair()):
        found = fo.solve(whole.instance, notion)
        assert found.certificate.certified and found.certificate.residual < 1e-6


def test_a_horizon_of_many_rounds_is_certified_or_has_its_bound() -> None:
    """Errors of many rounds add up to more than 1e-6 here, and fractions prove it all the same."""
    whole = over_time.draw(50, 84, 4, 8, "")
    found = fo.solve(whole.instance, fo.MaxMin(), uncertified="return").certificate
    assert found is not None and found.residual < 1e-5
    assert found.certified == (found.residual <= 1e-6)
