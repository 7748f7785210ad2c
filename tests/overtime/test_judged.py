"""A replay that was saved: judged anew, explained by user, beside another."""

from __future__ import annotations

import json

import numpy as np
import pytest

import fairopt as fo
from fairopt.cli import run
from fairopt.errors import BadInput
from fairopt.overtime.judged import judged
from fairopt.report.html import replay_data
from fairopt.report.replay_owed import owed
from fairopt.report.replay_text import beside

ONE = fo.Instance([[1], [1], [1]], [[8]], users=["A", "B", "never"], resources=["gpu"])
WANTS = [[8, 0, 0], [8, 0, 0], [8, 8, 0], [8, 8, 0], [0, 8, 0]]
HELD = [[8, 0, 0], [8, 0, 0], [4, 4, 0], [4, 4, 0], [0, 8, 0]]


@pytest.fixture(scope="module")
def data():
    return json.loads(json.dumps(fo.replay(ONE, HELD, WANTS, policy="kai:half=7h,k=1").to_dict()))


def changed(data, **more):
    return {**json.loads(json.dumps(data)), **more}


def test_what_is_saved_is_judged(data):
    found = judged(data, "r.json")
    assert found.sound and found.certificate.certified
    assert found.ratios["held"] == pytest.approx(0.8)  # 16 of 20 in hindsight
    assert "certified" in found.explain() and found.to_dict()["ratios"]["held"] == pytest.approx(
        0.8
    )


def test_what_is_spoiled_is_found(data):
    """Each lie alone: a ratio, a debt, what hindsight gives, what was held, an unfair hindsight."""
    better = changed(data, ratios={**data["ratios"], "held": 0.9})
    assert [c.name for c in judged(better, "").checks if not c.holds] == [
        "held: ratio to hindsight"
    ]
    none = changed(data, ratios={**data["ratios"], "held": None})
    assert not judged(none, "").sound
    owing = changed(data)
    owing["users"]["B"]["debt"][-1] += 1
    assert not judged(owing, "").sound
    due = changed(data)
    due["users"]["B"]["hindsight"][2] += 1
    assert not judged(due, "").sound
    more = changed(data)
    more["users"]["B"]["wants"][0] = 8.0  # then more was due to B than the file says
    found = judged(more, "")
    assert not found.sound and not found.certificate.certified
    greedy = changed(data)
    greedy["users"]["never"]["held"][0] = 1.0
    assert "nobody held" in next(c.name for c in judged(greedy, "").checks if not c.holds)


def test_several_servers_are_judged_by_their_plans():
    two = fo.Instance(
        [[1, 2], [2, 1]], [[9, 9], [3, 6]], users=["A", "B"], resources=["cpu", "gpu"]
    )
    wants = np.array([[4.0, 1], [0, 5], [3, 3]])
    data = json.loads(
        json.dumps(fo.replay(two, None, wants, notion=fo.ProportionalFair()).to_dict())
    )
    assert judged(data, "").sound
    data["plans"]["held"][0][3] += 0.5
    assert not judged(data, "").sound
    data["plans"]["held"][0][1] = 7
    with pytest.raises(BadInput, match=r"plans.held\[0\]"):
        judged(data, "r.json")


@pytest.mark.parametrize(
    ("key", "value", "match"),
    [
        ("instance", None, "instance"),
        ("answer", {}, "tasks"),
        ("users", {}, "users.A"),
        ("hours", -1, "hours"),
        ("starts", [0], "one a slice"),
    ],
)
def test_faults_are_named(data, key, value, match):
    with pytest.raises(BadInput, match=match):
        judged(changed(data, **{key: value}), "r.json")


def test_who_held_what_was_owed(data):
    found = owed(replay_data.checked(data, ""), "B")
    # 24 of 40 is all that B wanted; 20 due, 16 held
    assert found["owed"] == pytest.approx(4) and found["hindsight"] == pytest.approx(20)
    assert sum(one["change"] for one in found["stretches"]) == pytest.approx(4)
    first = found["stretches"][0]
    assert first["from"] >= 2 and first["until"] <= 4 and first["others"]["A"] > 0
    assert owed(replay_data.checked(data, ""), "A")["owed"] == pytest.approx(-4)
    assert owed(replay_data.checked(data, ""), "never")["stretches"] == []


def test_two_replays_side_by_side(data):
    other = fo.replay(ONE, None, WANTS, policy="kueue:half=7h")
    after = replay_data.checked(json.loads(json.dumps(other.to_dict())), "")
    found = beside(replay_data.checked(data, ""), after)
    rows = {row["user"]: row for row in found["users"]}
    for n, name in enumerate(ONE.users):
        assert rows[name]["after"]["owed"] == pytest.approx(other.debt[-1, n], abs=1e-9)
    assert found["same_wants"] and found["users"][0]["user"] == "A"  # loses most: it comes first


def test_the_commands(data, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "r.json").write_text(json.dumps(data))
    assert run(["verify", "r.json"]) == 0 and "ok   held: ratio" in capfd.readouterr().out
    assert run(["explain", "r.json", "B"]) == 0
    assert "B is owed 4: 20 task-hours" in capfd.readouterr().out
    assert run(["explain", "r.json", "A"]) == 0
    assert "A held 4 more than due" in capfd.readouterr().out
    assert run(["explain", "r.json", "Bob"]) == 2 and "nearest" in capfd.readouterr().err
    assert run(["explain", "r.json", "B", "--json"]) == 0
    assert json.loads(capfd.readouterr().out)["owed"] == pytest.approx(4)
    assert run(["diff", "r.json", "r.json", "-o", "d.json"]) == 0
    assert "80 % of hindsight, then 80 %" in capfd.readouterr().out
    assert json.loads((tmp_path / "d.json").read_text())["schema"] == "fairopt/replay/diff/v1"
    other = changed(data)
    other["users"] = {f"{name}'": row for name, row in other["users"].items()}
    (tmp_path / "o.json").write_text(json.dumps(other))
    assert run(["diff", "r.json", "o.json"]) == 2 and "in common" in capfd.readouterr().err
    (tmp_path / "s.json").write_text('{"schema": "fairopt/replay/v1", ')
    for asked in (["verify", "s.json"], ["explain", "s.json", "B"], ["diff", "r.json", "s.json"]):
        assert run(asked) == 2 and "wanted a replay in JSON" in capfd.readouterr().err
    data["ratios"] = {"held": 0.9}
    (tmp_path / "r.json").write_text(json.dumps(data))
    assert run(["verify", "r.json"]) == 4


def test_groups_are_kept():
    groups = fo.Quotas([fo.Group("x"), fo.Group("y")], {"A": "x", "B": "x", "C": "y"})
    inst = fo.Instance([[1]] * 3, [[6]], users=list("ABC"), resources=["gpu"], quotas=groups)
    found = fo.replay(inst, None, [[4, 4, 4], [6, 0, 6]], policy="slurm")
    assert judged(json.loads(json.dumps(found.to_dict())), "").sound
