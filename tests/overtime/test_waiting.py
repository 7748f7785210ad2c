"""Jobs that wait: ends beside queues that are known, work that is kept, and the command."""

from __future__ import annotations

import json

import numpy as np
import pytest

import fairopt as fo
from fairopt.cli import run
from fairopt.errors import UsageError
from fairopt.overtime.rules import filled
from fairopt.overtime.waiting import WaitingJobs

TWO = fo.Instance([[1], [1]], [[2]], users=["A", "B"], servers=["pool"], resources=["gpu"])


def jobs(rows):
    user, tasks, arrival, alone = np.array(rows, dtype=float).T
    return WaitingJobs(user.astype(np.int64), tasks, arrival, alone)


def test_two_users_by_hand():
    """2 cards. A's two jobs of 2 cards and an hour; B's one. Slices of half an hour: A and B have
    a card each for two hours, A the rest."""
    given = jobs([(0, 2, 0, 1), (0, 2, 0, 1), (1, 2, 0, 1)])
    found = fo.replay(TWO, jobs=given, slice="30m", machines=2)
    # the last half of what a job takes in a slice is taken at full size: .25 h of .5
    np.testing.assert_allclose(found.ran.end, [1.75, 3.0, 1.75], atol=1e-5)
    np.testing.assert_allclose(found.ran.held.sum(axis=0) * 0.5, [4, 2], rtol=1e-6)
    # three jobs for 1.75 hours and then one, on two machines
    rho = [1.75 / 1.5, 3 / ((3 * 1.75 + 1.25) / 3 / 2), 1.75 / 1.5]
    assert found.finish["worst"] == pytest.approx(max(rho), rel=1e-4)
    assert found.finish_of["B"]["worst"] == pytest.approx(rho[2], rel=1e-4)
    # what is owed counts what they asked for as they came: 6 cards for an hour, of 2
    np.testing.assert_allclose(found.wants.sum(axis=0) * 0.5, [4, 2])


def test_one_queue_beside_its_recursion():
    """One user on one card: each job ends as in a queue of one server, early by less than a
    slice."""
    rng = np.random.default_rng(3)
    came, alone = np.sort(rng.uniform(0, 40, 60)), rng.exponential(0.6, 60)
    given = WaitingJobs(np.zeros(60, dtype=np.int64), np.ones(60), came, alone)
    one = fo.Instance([[1]], [[1]], users=["A"])
    found = fo.replay(one, jobs=given, slice=0.25)
    last, due = 0.0, np.zeros(60)
    for j in range(60):
        last = due[j] = max(came[j], last) + alone[j]
    assert (found.ran.end <= due + 1e-5).all() and (found.ran.end > due - 0.25 - 1e-5).all()
    assert (found.ran.end >= came + alone - 0.25).all()


@pytest.mark.parametrize("policy", ["kueue:half=6h", "kai:half=6h,k=1", "karma:alpha=.5", "condor"])
def test_all_work_is_done(policy):
    rng = np.random.default_rng(5)
    n = 80
    given = WaitingJobs(
        rng.integers(0, 2, n),
        rng.choice([1.0, 2.0], n),
        rng.uniform(0, 20, n),
        rng.uniform(0.1, 1, n),
    )
    found = fo.replay(TWO, jobs=given, policy=policy)
    work = np.bincount(given.user, given.tasks * given.alone)
    np.testing.assert_allclose(found.ran.held.sum(axis=0), work, rtol=1e-5)
    assert (found.ran.held.sum(axis=1) <= 2 + 1e-6).all()
    assert (found.ran.end > given.arrival).all() and np.isfinite(found.ran.end).all()
    assert found.finish["jobs"] == n == sum(one["jobs"] for one in found.finish_of.values())


def test_what_a_budget_does_not_pay_for_never_ends():
    given = jobs([(0, 1, 0, 1), (0, 1, 0, 5), (1, 1, 0, 1)])
    found = fo.replay(TWO, jobs=given, policy="budget:most=1.5")
    assert np.isinf(found.ran.end[1]) and found.finish["jobs"] == 2
    assert "1 of 3 jobs never ended" in found.said
    assert found.to_dict()["job_ends"][1] is None


def test_it_goes_on_where_it_was_cut(tmp_path):
    rng = np.random.default_rng(1)
    given = WaitingJobs(
        rng.integers(0, 2, 20), np.ones(20), rng.uniform(0, 5, 20), rng.uniform(0.5, 2, 20)
    )
    path, said = tmp_path / "slices.jsonl", []
    whole = fo.replay(TWO, jobs=given, policy="kueue", resume=path)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:-4]))
    again = fo.replay(
        TWO, jobs=given, policy="kueue", resume=path, progress=lambda *at: said.append(at)
    )
    assert again.to_dict() == whole.to_dict() and path.read_bytes() == b"".join(lines)
    assert said[-1][0] == said[-1][1] and said == sorted(said)


def test_the_command(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    fo.write(TWO, "m.toml")
    (tmp_path / "j.csv").write_text(
        "name,user,tasks,arrival,alone\na,A,2,2026-01-05T08:00,1\nb,B,2,2026-01-05T08:00,1\n"
    )
    asked = ["replay", "m.toml", "--jobs", "j.csv", "--policy", "slice", "--slice", "1h"]
    assert run([*asked, "-o", "r.json"]) == 0
    said = capfd.readouterr().out
    assert "finish-time fairness of 2 jobs" in said and "half below" in said
    data = json.loads((tmp_path / "r.json").read_text())
    assert data["origin"].startswith("2026-01-05") and data["starts"][0] == 8
    assert data["job_ends"] == pytest.approx([9.5, 9.5], abs=1e-5)
    assert run(["report", "r.json", "-o", "r.html"]) == 0
    (tmp_path / "j.csv").write_text("user,tasks,arrival,alone\nC,0,x,1\n")
    assert run(asked) == 2
    told = capfd.readouterr().err
    assert "line 2, user" in told and "line 2, tasks" in told and "line 2, arrival" in told
    (tmp_path / "j.csv").write_text("tasks,arrival,alone\n1,0,1\n")
    assert run(asked) == 2 and "no column user" in capfd.readouterr().err


def test_jobs_of_sacct_are_run_anew(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    fo.write(TWO, "m.toml")
    (tmp_path / "s.txt").write_text(
        "User|Account|Submit|Start|End|AllocTRES\n"
        "A|x|2026-01-05T08:00:00|2026-01-05T08:00:00|2026-01-05T10:00:00|gres/gpu=2\n"
        "B|x|2026-01-05T08:00:00|2026-01-05T10:00:00|2026-01-05T11:00:00|gres/gpu=2\n"
    )
    asked = ["replay", "m.toml", "--log", "s.txt", "--format", "sacct", "--machines", "1"]
    assert run([*asked, "--json"]) == 0
    held = json.loads(capfd.readouterr().out)
    assert run([*asked, "--rerun", "--json"]) == 0
    anew = json.loads(capfd.readouterr().out)
    assert "job_ends" not in held and held["users"]["B"]["held"] == [0, 0, 2]
    # a card each for two hours is all of B's job, of which the second half is at full size
    assert anew["job_ends"] == pytest.approx([3.0, 1.5], abs=1e-5)
    assert run([*asked, "--rerun", "--jobs", "j.csv"]) == 2
    assert run(["replay", "m.toml", "--rerun", "--wants", "w.csv"]) == 2


def test_a_log_and_jobs_that_shall_run_do_not_go_together():
    with pytest.raises(UsageError, match="beside a log"):
        fo.replay(TWO, [[1, 1]], jobs=jobs([(0, 1, 0, 1)]))


def test_many_credits_lose_no_work():
    """Beside credits of a billion, a want of a billionth changes no level."""
    start, most = np.array([-1e9, -1e9 - 7, -1e9]), np.array([1e-9, 3.0, 2.0])
    with np.errstate(all="raise"):
        assert filled(start, most, 2.5).sum() == pytest.approx(2.5)
        assert filled(start[:1], most[:1], 5e-10).tolist() == [5e-10]
