"""A replay of users with modes: what is held and due is output, by hand."""

from __future__ import annotations

import json

import numpy as np
import pytest

import fairopt as fo
from fairopt.cli import run
from fairopt.connect.readers.jobs_log import read_jobs
from fairopt.errors import BadInput, UsageError
from fairopt.overtime import rules
from fairopt.overtime.judged import judged
from fairopt.overtime.logs import read_log
from fairopt.overtime.waiting import WaitingJobs
from fairopt.report.html import replay_data
from fairopt.report.replay_owed import owed, words
from fairopt.report.replay_text import replay_text

TASKS = fo.MaxMin("tasks")
LOG = """time,user,mode,server,tasks
0,A,slow,t4,1
0,A,fast,a100,1
0,B,,t4,1
0,B,,a100,1
1,A,slow,t4,0
1,A,fast,a100,0
1,B,,t4,2
1,B,,a100,2
2,B,,t4,0
2,B,,a100,0
"""
WANTS = "time,user,tasks\n0,A,4\n0,B,4\n1,A,0\n2,B,0\n"


@pytest.fixture
def cards():
    """Two cards each of two kinds; on the newer ones A is three times as fast, B is not."""
    return fo.Instance(
        [[1], [1]],
        [[2], [2]],
        users=["A", "B"],
        servers=["t4", "a100"],
        resources=["gpu"],
        modes={"A": [fo.Mode("slow", servers=["t4"]), fo.Mode("fast", None, 3.0, ["a100"])]},
    )


@pytest.fixture
def found(cards, tmp_path):
    (tmp_path / "log.csv").write_text(LOG)
    (tmp_path / "wants.csv").write_text(WANTS)
    log = read_log(tmp_path / "log.csv", cards)
    wants = read_log(tmp_path / "wants.csv", cards, wants=True)
    return fo.replay(cards, log, wants, "1h", "kueue:half=1h", TASKS)


def test_what_is_held_and_due_is_output(found):
    """In hindsight A has both new cards in the first hour, 6, and B the rest, 2, and then all four.

    In each hour alone A has one new card, and both have 3.
    """
    assert found.answer.certificate.certified
    assert found.wants.tolist() == [[4, 4], [0, 4]]
    assert found.held_tasks.tolist() == [[2, 2], [0, 4]]
    assert found.held.tolist() == [[4, 2], [0, 4]]
    assert found.hindsight == pytest.approx(np.array([[6, 2], [0, 4]]), abs=1e-6)
    assert found.alone == pytest.approx(np.array([[3, 3], [0, 4]]), abs=1e-6)
    assert found.debt == pytest.approx(np.array([[2, 0], [2, 0]]), abs=1e-6)
    assert found.ratios["held"] == pytest.approx(2 / 3, rel=1e-6)
    assert found.ratios["alone"] == pytest.approx(1 / 2, rel=1e-6)


def test_it_is_told_in_output(found):
    told = replay_text(found, "cards")
    assert "wanted and run in task-hours, the rest in hours of output" in told
    row = next(line.split() for line in told.splitlines() if line.startswith("A "))
    assert row == ["A", "4", "2", "4", "6", "2", "2", "3", "3"]
    data = replay_data.checked(json.loads(json.dumps(found.to_dict())), "r.json")
    said = words(owed(data, "A"))
    assert "A is owed 2: 6 hours of output were due in hindsight, 4 were held" in said
    assert "4 task-hours were wanted, 2 were run" in said


def test_it_is_judged(found):
    data = json.loads(json.dumps(found.to_dict()))
    assert judged(data, "r.json").sound

    def spoiled(change):
        other = json.loads(json.dumps(data))
        change(other)
        return judged(other, "r.json").sound

    def faster(other):  # A's slow task is said to have been a fast one
        row = next(row for row in other["plans"]["held"] if row[:2] == [0, 0])
        row[1] = 1

    def more(other):
        other["users"]["A"]["held"][0] = 6.0
        other["users"]["A"]["debt"] = [0.0, 0.0]

    def fewer(other):
        other["users"]["A"]["held_tasks"][0] = 1.0

    def in_tasks(other):  # due less held, in tasks
        other["users"]["A"]["debt"] = [0.0, 0.0]

    def better(other):
        other["ratios"]["held"] = 1.0

    def wanted(other):
        other["users"]["A"]["wants"][0] = 1.0

    assert not any(spoiled(lie) for lie in (faster, more, fewer, in_tasks, better, wanted))
    del data["plans"]
    with pytest.raises(BadInput, match="plans.held"):
        judged(data, "r.json")


def test_tasks_where_they_cannot_run_count_for_nothing(cards):
    """A's fast task lay on the old card; what B ran in that hour alone is what counts."""
    held = np.zeros((1, 3, 2))
    held[0, 1, 0] = held[0, 2, 1] = 1.0
    found = fo.replay(cards, held, [[1, 1]], notion=TASKS)
    assert found.hindsight == pytest.approx(np.array([[3, 1]]), abs=1e-6)
    assert found.ratios["held"] == 0.0
    assert judged(json.loads(json.dumps(found.to_dict())), "r.json").sound


def test_ledgers_count_what_modes_take():
    """A's fast task takes two of four cards, and B's two one each: both used half."""
    one = fo.Instance(
        [[1], [1]],
        [[4]],
        users=["A", "B"],
        resources=["gpu"],
        modes={"A": [fo.Mode("slow"), fo.Mode("fast", [2.0], 3.0)]},
    )
    ways = np.array([0.0, 1.0, 2.0])
    for of, use in (("gpu", [0.5, 0.5]), ("tasks", [1, 2]), ("output", [3, 2])):
        book = fo.Ledger.of(f"window:of={of}")
        assert book.after(book.start(one), one, ways).amount.tolist() == use
    # of half a cluster-hour A makes a fast task, and not two slow ones
    book = fo.Ledger.of("budget:most=0.5")
    due = book.due(book.start(one), one, [np.inf, np.inf], notion=TASKS)
    assert due[:, 0] == pytest.approx([0, 1, 2], abs=1e-6)
    assert not book.due(book.after(book.start(one), one, ways), one, [1, 1], notion=TASKS).any()
    # a mode without cards goes on when the budget is used up, and the one with cards stops
    two = fo.Instance(
        [[1, 0]],
        [[4, 4]],
        users=["A"],
        resources=["cpu", "gpu"],
        modes={"A": [fo.Mode("slow"), fo.Mode("fast", [1.0, 1.0], 3.0)]},
    )
    book = fo.Ledger.of("budget:most=0.75,of=gpu")
    state = book.start(two)
    for due in ([1, 3], [4, 0], [4, 0]):
        found, state = book.division(state, two, [np.inf], notion=TASKS)
        assert found[:, 0] == pytest.approx(due, abs=1e-6)
    # B has had more output, and is last: both of A's fast tasks come first
    book = fo.Ledger.of("kueue:half=1h,of=output")
    due = book.due(book.after(book.start(one), one, ways * [0, 0, 1]), one, [4, 4], notion=TASKS)
    assert due[:, 0] == pytest.approx([0, 2, 0], abs=1e-6)
    found = fo.replay(one, None, [[4, 0], [4, 4]], policy="kueue:half=1h,of=output", notion=TASKS)
    assert found.held == pytest.approx(np.array([[6, 0], [0, 4]]), abs=1e-6)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("time,user,server,tasks\n0,A,t4,1\n", "line 1: found no column mode"),
        ("time,user,mode,server,tasks\n0,A,fats,t4,1\n", "line 2, mode"),
        ("time,user,mode,server,tasks\n0,A,,t4,1\n", "line 2, mode"),
        ("time,user,mode,server,tasks\n0,B,fast,t4,1\n", "none: B has no modes"),
    ],
)
def test_faults_of_the_column(cards, tmp_path, text, fault):
    (tmp_path / "log.csv").write_text(text)
    with pytest.raises(BadInput, match=fault):
        read_log(tmp_path / "log.csv", cards)


def test_jobs_that_wait_run_in_modes(cards):
    """A's two tasks run on new cards, three times as fast: 8 hours' work in 4/3 of an hour.

    In the first half hour 3 of it, in the second 3, and of the third one third of an hour's two.
    """
    jobs = WaitingJobs(np.array([0]), np.full(1, 2.0), np.zeros(1), np.full(1, 4.0))
    found = fo.replay(cards, jobs=jobs, notion=TASKS, slice="30m")
    assert found.ran.end == pytest.approx([4 / 3])
    assert found.ran.held[:, 0] == pytest.approx([2, 2, 2])
    # beside B, which is as fast on either card: A has the new ones, for 2 hours and a third
    both = WaitingJobs(np.array([0, 1]), np.full(2, 2.0), np.zeros(2), np.array([7.0, 2.0]))
    beside = fo.replay(cards, jobs=both, notion=TASKS, slice="1h", policy="slice")
    alone = fo.replay(cards.replace(modes=None), jobs=both, notion=TASKS, slice="1h")
    assert beside.ran.end[1] == pytest.approx(2.0)
    assert beside.ran.end[0] < alone.ran.end[0] == pytest.approx(7.0)


def test_a_log_of_modes_is_run_anew(cards, tmp_path, capsys):
    """It ran two hours on a new card, so that its work is 6 hours at speed 1, and takes 2 again."""
    fo.write(cards, tmp_path / "m.toml")
    head = "JobID|User|Account|Partition|Submit|Start|End|State|AllocTRES\n"
    row = "1|A|x|a100|2024-01-01T00:00:00|2024-01-01T00:00:00|2024-01-01T02:00:00|COMPLETED|gpu=1\n"
    (tmp_path / "jobs.txt").write_text(head + row)
    ran = read_jobs(tmp_path / "jobs.txt", cards, "sacct")
    assert ran.anew.alone.tolist() == [6.0] and ran.ended.alone.tolist() == [2.0]
    out = str(tmp_path / "r.json")
    given = ["replay", str(tmp_path / "m.toml"), "--format", "sacct", "--criterion", "tasks"]
    assert run([*given, "--log", str(tmp_path / "jobs.txt"), "--rerun", "-o", out]) == 0
    capsys.readouterr()
    assert json.loads((tmp_path / "r.json").read_text())["job_ends"] == pytest.approx([2.0])


def test_karma_cannot_know_which_mode_is_wanted():
    """A task is one card or four: A of two cards lends one, or borrows two; nothing says which."""
    credits, own = np.full(3, 6.0), np.full(3, 2.0)
    one, four = (rules.divide(np.array([cards, 3.0, 3.0]), credits, own, 6.0) for cards in (1, 4))
    assert one.credits.tolist() == [7.0, 5.5, 5.5] and one.held.tolist() == [1.0, 2.5, 2.5]
    assert four.credits.tolist() == [6.0, 6.0, 6.0] and four.held.tolist() == [2.0, 2.0, 2.0]
    gpu = fo.Instance(
        [[1]] * 2, [[6]], users=["A", "B"], modes={"A": [fo.Mode("one"), fo.Mode("four", [4.0])]}
    )
    with pytest.raises(UsageError, match="karma: found modes of A"):
        fo.replay(gpu, wants=[[1, 1]], policy="karma:alpha=.5")


def test_the_command(cards, tmp_path, capsys):
    fo.write(cards, tmp_path / "m.toml")
    (tmp_path / "log.csv").write_text(LOG)
    (tmp_path / "wants.csv").write_text(WANTS)
    out = str(tmp_path / "r.json")
    given = [str(tmp_path / name) for name in ("m.toml", "log.csv", "wants.csv")]
    asked = ["replay", given[0], "--log", given[1], "--wants", given[2], "--criterion", "tasks"]
    kept = ["--resume", str(tmp_path / "kept.jsonl"), "-o", out]
    assert run([*asked, "--notion", "max-min", "--policy", "kai:half=7d,k=1", *kept]) == 0
    first = (tmp_path / "r.json").read_text()
    assert run([*asked, "--notion", "max-min", "--policy", "kai:half=7d,k=1", *kept]) == 0
    assert (tmp_path / "r.json").read_text() == first
    assert run(["verify", out]) == 0
    assert run(["explain", out, "A"]) == 0
    assert run(["diff", out, out]) == 0
    assert run(["plot", out, "-o", str(tmp_path / "debt.svg")]) == 0
    assert run(["report", out, "-o", str(tmp_path / "page.html")]) == 0
    plain = str(tmp_path / "plain.json")
    other = fo.replay(cards.replace(modes=None), None, [[4, 4], [0, 4]], notion=TASKS)
    (tmp_path / "plain.json").write_text(json.dumps(other.to_dict()))
    capsys.readouterr()
    assert run(["diff", out, plain]) == 2
    assert run(["plot", out, plain, "-o", str(tmp_path / "two.svg")]) == 2
    told = capsys.readouterr().err
    assert "hours of output and one in task-hours" in told and "plot: found replays in" in told
    assert "owed (hours of output)" in (tmp_path / "debt.svg").read_text()
    assert "hours of output" in (tmp_path / "page.html").read_text()


def hindsight(seed):
    """Slices of several servers, so that wants are rules, and users with two modes."""
    rng = np.random.default_rng(seed)
    n, steps, servers, r = (
        int(rng.integers(low, high)) for low, high in ((2, 7), (2, 8), (1, 4), (1, 4))
    )
    demand = rng.uniform(0.3, 3, (n, r))
    modes = {
        f"u{k}": [
            fo.Mode("a"),
            fo.Mode("b", (demand[k] * rng.uniform(0.5, 3, r)).tolist(), float(rng.uniform(0.5, 3))),
        ]
        for k in range(n)
        if rng.random() < 0.7
    }
    users = [f"u{k}" for k in range(n)]
    base = fo.Instance(
        demand,
        np.ones((servers, r)) * 4,
        users=users,
        weight=rng.choice([1.0, 2], n),
        modes=modes or None,
    )
    wants = rng.uniform(0, 4, (steps, n)) * (rng.random((steps, n)) < 0.8)
    wants[0, ~wants.any(axis=0)] = 1
    return fo.horizon(base, wants, capacity=rng.uniform(1, 5, (steps, servers, r))).instance


def test_small_hindsights_with_modes_are_certified():
    """And what is a little of another division, with the same rounds, is not."""
    refused = 0
    for seed in (*range(1000, 1057, 3), 1120, 1149, 1233):
        inst = hindsight(seed)
        found = fo.solve(inst, fo.MaxMin())
        assert found.certificate.certified
        other = fo.solve(inst, fo.ProportionalFair(), uncertified="return")
        tasks = found.by_way + 1e-3 * (other.by_way - found.by_way)
        lie = found.with_(**plan(inst, tasks), certificate=None)
        if np.abs(np.log(lie.shares / found.shares)).max() > 3e-6:
            refused += 1
            assert not fo.certify(lie).certified
            untold = found.with_(**plan(inst, tasks), rounds=None, certificate=None)
            assert not fo.certify(untold).certified
    assert refused > 10


def plan(inst, tasks):
    return {"tasks": tasks} if inst.modes is None else {"tasks": None, "way_tasks": tasks}
