"""Replay: worked by hand, never above hindsight, policies run on their own; the two commands."""

from __future__ import annotations

import json

import numpy as np
import pytest

import fairopt as fo
from fairopt.cli import run
from fairopt.errors import BadInput, UsageError
from fairopt.overtime.policies import POLICIES

ONE = fo.Instance([[1], [1]], [[1]], users=["A", "B"], servers=["pool"], resources=["gpu"])


def test_t1_by_hand():
    found = fo.replay(ONE, [[0.5, 0.5], [0, 1]], [[1, 1], [0, 1]], policy="kueue:half=24h")
    np.testing.assert_allclose(found.hindsight, [[1, 0], [0, 1]], atol=1e-9)
    np.testing.assert_allclose(found.debt, [[0.5, -0.5], [0.5, -0.5]], atol=1e-9)
    assert found.ratios["held"] == pytest.approx(0.5)
    assert found.answer.certificate.certified and not found.said


def test_without_wants_nothing_more_is_due():
    found = fo.replay(ONE, [[0.5, 0.5], [0, 1]])
    np.testing.assert_allclose(found.debt, 0, atol=1e-9)
    assert "wants" in found.said[0]


def test_more_held_than_there_is_has_no_ratio():
    found = fo.replay(ONE, [[2.0, 0], [0, 1]], [[1, 1], [0, 1]])
    assert found.ratios["held"] is None and any("2 times" in line for line in found.said)
    assert any("more than it wanted" in line for line in found.said)


@pytest.mark.parametrize("policy", POLICIES)
def test_no_policy_is_above_hindsight(policy):
    rng = np.random.default_rng(6)
    inst = fo.Instance([[1]] * 3, [[4]], users=list("ABC"), weight=[3, 2, 1])
    wants = rng.uniform(0, 5, (12, 3)) * (rng.random((12, 3)) < 0.7)
    for notion in (fo.MaxMin(), fo.ProportionalFair()):
        asked = fo.MaxMin() if policy in ("kueue", "slurm", "window") else notion
        found = fo.replay(inst, None, wants, policy=policy, notion=asked)
        assert np.array_equal(found.held, found.ledger)
        assert all(0 <= ratio <= 1 + 1e-6 for ratio in found.ratios.values())
        assert (found.held <= wants * (1 + 1e-8) + 1e-9).all()


def test_a_ledger_remembers_what_was_held():
    """A had everything in slice 1: KAI with k = 1 leaves it out of slice 2."""
    found = fo.replay(ONE, [[1, 0], [0.5, 0.5]], [[1, 1], [1, 1]], policy="kai:k=1")
    np.testing.assert_allclose(found.ledger, [[0.5, 0.5], [0, 1]], atol=1e-9)


def test_several_servers_and_a_user_who_never_comes():
    inst = fo.Instance([[1, 1], [1, 2], [1, 1]], [[3, 3], [3, 5]], users=list("ABC"))
    held = np.zeros((2, 3, 2))
    held[:, 0, 0] = held[:, 1, 1] = 1.0
    found = fo.replay(inst, held, [[2, 2, 0], [1, 3, 0]])
    assert not found.hindsight[:, 2].any() and 0 < found.ratios["held"] <= 1


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ((None, None), UsageError),
        (([[1, 1]], [[1, 1], [1, 1]]), BadInput),
        (([[1]], None), BadInput),
        (([[0, 0]], None), BadInput),
        (([[-1, 0]], None), BadInput),
    ],
)
def test_faults(arguments, error):
    with pytest.raises(error):
        fo.replay(ONE, *arguments)


def test_a_slice_must_be_a_length():
    with pytest.raises(UsageError, match="slice"):
        fo.replay(ONE, [[1, 0]], slice="soon")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    fo.write(
        fo.Instance([[1], [1]], [[8]], users=["A", "B"], servers=["pool"], resources=["gpu"]),
        "m.toml",
    )
    (tmp_path / "w.csv").write_text("time,user,tasks\n0,A,8\n2,B,8\n3,A,0\n4,B,0\n")
    (tmp_path / "l.csv").write_text(
        "time,user,server,tasks\n0,A,pool,8\n2,A,pool,4\n2,B,pool,4\n3,A,pool,0\n3,B,pool,8\n"
        "4,B,pool,0\n"
    )
    return tmp_path


def test_the_commands(folder, capfd):
    asked = ["replay", "m.toml", "--log", "l.csv", "--wants", "w.csv"]
    assert run([*asked, "--policy", "kai:half=7d,k=1", "-o", "r.json"]) == 0
    said = capfd.readouterr().out
    assert "what was held reached 75 % of hindsight (proved)" in said
    data = json.loads((folder / "r.json").read_text())
    assert data["schema"] == "fairopt/replay/v1" and data["ratios"]["ledger"] == pytest.approx(1)
    assert data["users"]["B"]["debt"][-1] == pytest.approx(4)
    assert run(["horizon", "m.toml", "--wants", "w.csv", "-o", "h.json"]) == 0
    assert "certified" in capfd.readouterr().out and run(["verify", "h.json"]) == 0


@pytest.mark.parametrize(
    ("asked", "code", "match"),
    [
        (["replay", "m.toml", "--log", "w.csv", "--policy", "kia"], 2, "nearest"),
        (["replay", "m.toml"], 2, "neither a log nor wants"),
        (["replay", "m.toml", "--log", "m.toml"], 2, "found a model in TOML; wanted a CSV table"),
        (["horizon", "m.toml", "--wants", "w.csv", "--promise", "B:gpu=20"], 3, "4/5"),
        (["horizon", "m.toml", "--wants", "w.csv", "--budget", "B"], 2, "WHO:RESOURCE"),
        (["horizon", "m.toml", "--wants", "w.csv", "--slice", "0"], 2, "length of time"),
    ],
)
def test_exit_codes(folder, capfd, asked, code, match):
    assert run(asked) == code
    assert match in capfd.readouterr().err


def test_a_replay_goes_on_where_it_was_cut(tmp_path):
    rng = np.random.default_rng(2)
    wants = rng.uniform(0, 2, (12, 2))
    path, calls = tmp_path / "slices.jsonl", []
    whole = fo.replay(ONE, None, wants, policy="kueue:half=3h", resume=path)
    lines = path.read_bytes().splitlines(keepends=True)
    assert len(lines) == 13
    path.write_bytes(b"".join(lines[:8]) + lines[8][:20])  # killed in the midst of a line
    again = fo.replay(
        ONE, None, wants, policy="kueue:half=3h", resume=path, progress=lambda *x: calls.append(x)
    )
    assert again.to_dict() == whole.to_dict() and calls[-1] == (12, 12)
    assert path.read_bytes() == b"".join(lines)
    # another policy reads none of these lines
    other = fo.replay(ONE, None, wants, policy="kai:half=3h,k=1", resume=path)
    alone = fo.replay(ONE, None, wants, policy="kai:half=3h,k=1")
    assert other.to_dict() == alone.to_dict()
    karma = [fo.replay(ONE, None, wants, policy="karma:alpha=.5", resume=path) for _ in range(2)]
    assert karma[0].to_dict() == karma[1].to_dict()


def test_finish_time_fairness_of_jobs(folder, capfd):
    # two jobs of an hour at once on one machine, one after the other: 2 of the mean of 1.5, and 1
    found = fo.replay(ONE, None, [[1, 1]], jobs=[[0, 1, 1], [0, 2, 1]], machines=1)
    assert found.finish["worst"] == pytest.approx(4 / 3) and found.finish["above"] == 0.5
    static = fo.replay(ONE, None, [[1, 1]], jobs=[[0, 1, 1], [0, 2, 1]], static=True)
    assert static.finish["worst"] == pytest.approx(2 / 1.5)
    (folder / "jobs.csv").write_text("name,arrival,end,alone\na,0,1,1\nb,0,2,1\n")
    asked = ["replay", "m.toml", "--wants", "w.csv", "--jobs", "jobs.csv"]
    assert run(asked) == 0
    assert "finish-time fairness of 2 jobs: worst 1.333" in capfd.readouterr().out
    (folder / "jobs.csv").write_text("arrival,end,alone\n3,1,1\nx,1,0\n")
    assert run(asked) == 2
    told = capfd.readouterr().err
    assert "line 2, end" in told and "line 3, arrival" in told and "line 3, alone" in told


def test_factors_of_condor(folder, capfd):
    asked = ["replay", "m.toml", "--wants", "w.csv", "--policy", "condor", "--json"]
    parts = []
    for more in ([], ["--factor", "B=4"]):
        assert run([*asked, *more]) == 0
        users = json.loads(capfd.readouterr().out)["users"]
        parts.append(users["A"]["ledger"][2] / users["B"]["ledger"][2])  # both want all then
    assert parts[1] == pytest.approx(4 * parts[0])
    assert run([*asked, "--factor", "C=4"]) == 2 and "--factor" in capfd.readouterr().err
    assert run(["replay", "m.toml", "--wants", "w.csv", "--factor", "B=4"]) == 2


def test_use_may_be_a_weighted_sum():
    two = fo.Instance([[1, 0], [1, 2]], [[10, 10]], users=["A", "B"], resources=["cpu", "gpu"])
    book = fo.Ledger.of("kueue:half=1h,of=4*gpu+cpu")
    assert book.use_of_one(two).tolist() == pytest.approx([1 / 50, 9 / 50])
    for wrong in ("4*tpu+cpu", "x*gpu+cpu", "0*gpu+0*cpu"):
        with pytest.raises(UsageError, match="of"):
            fo.Ledger.of(f"kueue:of={wrong}").use_of_one(two)
