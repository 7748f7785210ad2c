"""The benchmark suite: sides in processes, judging of both sides, pages. No timing is tested."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import fairopt as fo
from fairopt.instance.generate import random_instance

ROOT = Path(__file__).resolve().parents[2]

from benchmarks.peers import calls, judging, pages, running
from benchmarks.peers.__main__ import main
from benchmarks.peers.question import Answer, Reply
from benchmarks.peers.registry import PAGES, Case, cases
from benchmarks.peers.sides import OURS, SIDES, Side
from benchmarks.peers.sides import ours as our_side
from benchmarks.peers.worker import named

HERE = (sys.executable,)


def throughput(quick: bool = True) -> tuple[fo.Instance, fo.Throughput]:
    return random_instance(8, 4, 2, density=0.7, seed=3), fo.Throughput()


def proportional() -> tuple[fo.Instance, fo.ProportionalFair]:
    return random_instance(8, 4, 2, density=0.7, seed=3), fo.ProportionalFair()


CASE = Case("tiny", "throughput", "engine-speed", throughput, (OURS, "SciPy linprog"), rounds=2)


@pytest.fixture(scope="module")
def record() -> dict:
    return running.run(CASE, True, HERE, say=lambda _: None)


# -- the registry -------------------------------------------------------------------------------


def test_every_case_names_known_sides_and_a_page() -> None:
    found = cases()
    assert len({case.name for case in found}) == len(found) >= 20
    for case in found:
        assert case.page in PAGES
        assert case.sides[0] == OURS
        assert set(case.sides) <= set(SIDES)


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.name)
def test_quick_questions_can_be_asked_of_the_sides(case: Case) -> None:
    inst, notion = case.build(True)
    assert inst.shape[0] <= 500 and inst.eligible.any(axis=1).all()
    if any(not SIDES[name].ours for name in case.sides):
        data = judging.data_of(inst, notion)
        assert data.shape == inst.shape
        assert (data.usage() @ np.zeros(len(data.n))).shape == (inst.pool.size,)


def test_what_peers_cannot_state_is_refused() -> None:
    inst, notion = proportional()
    limited = inst.replace(limit=np.full(8, 2.0))
    with pytest.raises(ValueError, match="limits"):
        judging.data_of(limited, notion)
    with pytest.raises(ValueError, match="tradeoff"):
        judging.data_of(inst, fo.Tradeoff(1.0, 1.0))


# -- a run --------------------------------------------------------------------------------------


def test_both_sides_are_measured_and_judged(record: dict) -> None:
    ours, theirs = record["sides"]
    assert (ours["side"], theirs["side"]) == CASE.sides
    for row in (ours, theirs):
        assert row["runs"] == 2 and row["wall"] > 0 and "failed" not in row
        assert row["gap"] <= 1e-6 and row["residual"] <= 1e-6 and row["verdict"] == "certified"
    assert ours["prices"] == "own"
    assert theirs["ratio"] == pytest.approx(theirs["wall"] / ours["wall"])
    assert theirs["versions"].keys() == {"scipy"}
    assert running.best_peer(record) is theirs


def test_a_peer_that_is_not_installed_is_left_out_with_a_word() -> None:
    side = Side("absent", "linprog", ("no_such_module_here",))
    python, _, why = calls.interpreter(side, HERE)
    assert python is None and why == "not installed: no_such_module_here"


def test_a_side_that_cannot_answer_leaves_the_others_standing() -> None:
    inst, notion = proportional()
    case = replace(CASE, build=lambda quick: (inst, notion), rounds=1)
    rows = running.run(case, True, HERE, say=lambda _: None)["sides"]
    assert "wall" in rows[0]
    assert rows[1]["failed"] == "ValueError: linear programs only"


def test_a_call_past_its_limit_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    caller = calls.Caller(SIDES["SciPy linprog"], sys.executable)
    try:
        caller.limit = 0.0
        monkeypatch.setattr(caller.line, "send", lambda _: None)  # a side that never answers
        reply = caller.call()
        assert reply.error == "stopped after 0 s"
        assert caller.process.returncode is not None
        assert caller.call().error == "stopped after 0 s"
    finally:
        caller.close()


def test_slow_sides_are_not_asked_larger_cases() -> None:
    case = replace(CASE, series="users", limit=10.0)
    tired = running.Tired()
    slow = running.Runs(SIDES["HiGHS"], replies=[Reply(Answer(np.ones(1)), wall=2.0)])
    quick = running.Runs(SIDES[OURS], replies=[Reply(Answer(np.ones(1)), wall=0.5)])
    for runs in (slow, quick):
        tired.look(case, runs)
    assert tired.why == {("users", "HiGHS"): "not asked: took 2.0 s at a smaller size"}


def test_the_best_peer_of_max_min_has_all_levels_right(record: dict) -> None:
    ours, theirs = record["sides"]
    wrong = theirs | {"residual": 0.5, "wall": 1e-9}
    both = record | {"sides": [ours, wrong, theirs]}
    assert running.best_peer(both) is wrong
    assert running.best_peer(both | {"notion": fo.MaxMin().plain()}) is theirs


def test_errors_are_named_without_addresses() -> None:
    error = RuntimeError("an actor (pid=1, ip=10.0.0.1, id=2)\nx\ny\nValueError: bad /a/b/c.py")
    assert named(error) == "RuntimeError: ValueError: bad "


# -- judging ------------------------------------------------------------------------------------


def test_an_answer_that_overruns_is_scaled_before_it_is_judged() -> None:
    inst, notion = proportional()
    good = our_side.solve((inst, notion))
    fine = judging.judge(inst, notion, good)
    assert fine.error <= 1e-9 and fine.overrun <= 1e-9
    twice = judging.judge(inst, notion, Answer(good.tasks * 2.0, good.rows))
    assert twice.overrun == pytest.approx(1.0)
    # all servers are full at the optimum, so that scaling gives it back
    assert twice.verdict == "certified"


def test_a_worse_answer_is_seen_whatever_its_status() -> None:
    inst, notion = proportional()
    good = our_side.solve((inst, notion))
    spoiled = Answer(good.tasks * np.linspace(0.5, 1.0, len(good.tasks)), good.rows, status="best")
    verdict = judging.judge(inst, notion, spoiled, good)
    assert verdict.gap > 1e-3 and verdict.verdict != "certified"


def test_wrong_prices_change_no_verdict_on_tasks() -> None:
    inst, notion = proportional()
    good = our_side.solve((inst, notion))
    wrong = Answer(good.tasks, np.ones(inst.pool.shape))
    # prices are believed for nothing: the tasks are right, whatever they are
    assert judging.judge(inst, notion, wrong).gap <= 1e-6
    bare = judging.judge(inst, notion, Answer(good.tasks))
    assert bare.prices == "guessed" and bare.gap <= 1e-6
    assert judging.apart(inst, notion, wrong, good) == 0.0


def test_levels_without_prices_are_proved_by_ours() -> None:
    inst, _ = proportional()
    notion = fo.MaxMin()
    good = our_side.solve((inst, notion))
    bare = Answer(good.tasks)
    # without prices the judge works out who is due what, and proves that
    assert judging.judge(inst, notion, bare).verdict == "certified"
    wrong = Answer(good.tasks * np.linspace(0.9, 1.0, len(good.tasks)))
    assert judging.judge(inst, notion, wrong).verdict == "refuted"
    assert judging.judge(inst, notion, bare, good).verdict == "certified"


def test_negative_and_missing_numbers_are_made_feasible() -> None:
    inst, _ = proportional()
    pairs = np.full(len(inst.pairs[0]), 1e-3)
    pairs[0], pairs[1] = -1.0, np.nan
    tasks, over = judging.feasible(inst, pairs)
    assert tasks.min() == 0.0 and over > 0
    assert (inst.used(tasks) <= inst.pool * (1 + 1e-12)).all()


@pytest.mark.parametrize("method", ["simplex", "ipm"])
def test_a_highs_program_a_level_finds_our_levels(method: str) -> None:
    pytest.importorskip("highspy")
    from benchmarks.peers.sides import highs_levels

    inst = random_instance(12, 6, 2, density=0.3, seed=4)
    notion = fo.MaxMin()
    found = highs_levels.solve(judging.data_of(inst, notion), method=method)
    assert found.status == "Optimal" and found.notes["programs"] == len(found.levels) > 1
    assert judging.judge(inst, notion, found).verdict == "certified"


def test_the_dense_algebra_is_that_of_the_engine() -> None:
    from benchmarks.peers.sides import dense

    inst = random_instance(300, 70, 2, seed=5)
    calls_made = dense.recorded(inst, fo.ProportionalFair())
    many = [name for name, _, _ in calls_made]
    assert many.count("dpotrf") == many.count("dsyrk") > 3
    assert {size for name, size, _ in calls_made if name == "dpotrf"} == {140}
    assert dense.replayed(calls_made, 2) > 0


# -- pages --------------------------------------------------------------------------------------


def test_pages_and_json_are_written_from_the_record(record: dict, tmp_path: Path) -> None:
    grown = record | {"page": "growth", "series": "users", "size": 8, "case": "users-8"}
    more = grown | {"users": 16, "case": "users-16"}
    paths = pages.write(tmp_path, [record, grown, more], "a command", quick=True)
    names = {"engine-speed.md", "engine-speed.json", "growth.md", "growth.json"}
    assert {path.name for path in paths} == names
    page = (tmp_path / "engine-speed.md").read_text(encoding="utf-8")
    assert "| SciPy linprog | 2 |" in page and "    a command" in page and "--quick" in page
    kept = json.loads((tmp_path / "engine-speed.json").read_text(encoding="utf-8"))
    assert kept["cases"][0]["sides"][1]["gap"] == record["sides"][1]["gap"]
    growth = (tmp_path / "growth.md").read_text(encoding="utf-8")
    assert "users^0.00" in growth
    for text in (page, growth, json.dumps(kept)):
        assert str(ROOT) not in text and sys.executable not in text


def test_failures_are_on_the_page(record: dict) -> None:
    gone = {"side": "HiGHS", "versions": {}, "failed": "stopped after 3 s"}
    text = pages.markdown(
        "engine-speed",
        [record | {"sides": [record["sides"][0], gone]}],
        "x",
        pages.surroundings(),
        False,
        False,
    )
    assert "stopped after 3 s" in text and "none reached it" in text and "--quick" not in text


def test_the_command_lists_cases_and_refuses_unknown_ones(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["--list"]) == 0
    assert "throughput" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["--only", "nothing"])
    assert "found nothing" in capsys.readouterr().err


def test_the_command_runs_a_tiny_case(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--quick", "--rounds", "2", "--only", "busy", "--write", str(tmp_path)]) == 0
    record = json.loads((tmp_path / "engine-speed.json").read_text(encoding="utf-8"))["cases"][0]
    assert record["busy"]["alone"]["wall"] > 0 and record["busy"]["beside"]["cpu"] > 0
    assert record["sides"][0]["verdict"] == "certified"
    assert "beside the other process" in (tmp_path / "engine-speed.md").read_text("utf-8")
