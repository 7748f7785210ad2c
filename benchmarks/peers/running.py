"""Run a case: the sides in turns, then every last answer before the judge; a plain record."""

from __future__ import annotations

import os
import pickle
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks.peers import calls, judging
from benchmarks.peers.question import Answer, Reply
from benchmarks.peers.registry import Case
from benchmarks.peers.sides import OURS, SIDES, Side
from fairopt.formulas import welfare
from fairopt.instance.generate import random_instance

PATIENCE = 8.0
"""seconds of one side after which it is not asked again in this case"""
TIGHT = 1e-6
"""gap of a competitor's answer that counts as reached"""
STEEP = 10.0
"""a side is not asked a larger case of a series once it took more than limit / STEEP"""

Say = Callable[[str], None]


@dataclass
class Runs:
    """The calls of one side in one case."""

    side: Side
    caller: calls.Caller | None = None
    versions: dict[str, str] = field(default_factory=dict)
    failed: str = ""
    replies: list[Reply] = field(default_factory=list)

    @property
    def answer(self) -> Answer | None:
        return self.replies[-1].answer if self.replies else None

    @property
    def seconds(self) -> list[float]:
        floor = self.side.floor
        return [r.answer.inner or 0.0 if floor and r.answer else r.wall for r in self.replies]

    @property
    def done(self) -> bool:
        return bool(self.failed) or sum(r.wall for r in self.replies) > PATIENCE

    def ask(self) -> None:
        """One more call."""
        assert self.caller is not None
        reply = self.caller.call()
        answer = reply.answer
        if reply.error or answer is None:
            self.failed = reply.error
        elif answer.tasks is None and not (self.side.floor and answer.inner is not None):
            self.failed = f"no answer: {answer.status}"
        else:
            self.replies.append(reply)


class Tired:
    """Which sides are not asked larger cases of a series any more, and why."""

    def __init__(self) -> None:
        self.why: dict[tuple[str, str], str] = {}

    def look(self, case: Case, runs: Runs) -> None:
        if not case.series:
            return
        key = case.series, runs.side.name
        if runs.failed and not runs.failed.startswith("not "):
            self.why[key] = f"not asked: {runs.failed} at a smaller size"
        elif runs.seconds and statistics.median(runs.seconds) > case.limit / STEEP:
            took = statistics.median(runs.seconds)
            self.why[key] = f"not asked: took {took:.1f} s at a smaller size"


def run(
    case: Case,
    quick: bool = False,
    pythons: Sequence[str] = (),
    tired: Tired | None = None,
    say: Say = print,
    callers: calls.Callers | None = None,
) -> dict[str, Any]:
    """The record of one case, as plain data. `callers` that are handed in are left running."""
    inst, notion = case.build(quick)
    sides = [Runs(SIDES[name]) for name in case.sides]
    tired, pool = tired or Tired(), callers or calls.Callers()
    try:
        for runs in sides:
            runs.failed = tired.why.get((case.series, runs.side.name), "")
            if not runs.failed:
                _start(runs, case, inst, notion, pythons, pool)
        if case.busy:
            busy = _busy(sides[0], case.rounds)
        else:
            _rounds(sides, case.rounds, say)
    finally:
        pool.close(ours_only=callers is not None)
    for runs in sides:
        tired.look(case, runs)
    record = _head(case, inst, notion) | {"sides": _judged(inst, notion, sides)}
    if case.busy:
        record["busy"] = busy
    return record


def _start(
    runs: Runs, case: Case, inst: Any, notion: Any, pythons: Sequence[str], pool: calls.Callers
) -> None:
    python, runs.versions, runs.failed = calls.interpreter(runs.side, pythons)
    if python is None:
        return
    # ours imports more for what is not tiny
    toy = random_instance(*((300, 70) if runs.side.ours else (3, 2)), 2, seed=1)
    given = [(i, notion) if runs.side.ours else judging.data_of(i, notion) for i in (toy, inst)]
    blobs = [pickle.dumps(one) for one in given]
    runs.caller = pool.get(runs.side, python)
    runs.caller.prepare(*blobs, case.limit)


def _rounds(sides: list[Runs], rounds: int, say: Say) -> None:
    for number in range(rounds):
        # the first to go changes from round to round
        turn = number % len(sides)
        for runs in sides[turn:] + sides[:turn]:
            if not runs.done and runs.caller is not None:
                runs.ask()
                last = runs.failed or f"{runs.seconds[-1]:.3g} s"
                say(f"  {runs.side.name}: {last}")


def _busy(runs: Runs, rounds: int) -> dict[str, Any]:
    """Medians of wall and processor time, alone and beside a process that takes one core."""
    found: dict[str, list[Reply]] = {"alone": [], "beside": []}
    for _ in range(rounds):
        for how, replies in found.items():
            if how == "beside":
                with calls.burning():
                    runs.ask()
            else:
                runs.ask()
            if runs.failed:
                return {"failed": runs.failed}
            replies.append(runs.replies[-1])
    runs.replies = found["alone"]
    record: dict[str, Any] = {
        how: {key: statistics.median(getattr(r, key) for r in replies) for key in ("wall", "cpu")}
        for how, replies in found.items()
    }
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    # two processes on one core get half of it each
    return record | {"cores": cores, "share": 2.0 if cores == 1 else 1.0}


def _head(case: Case, inst: Any, notion: Any) -> dict[str, Any]:
    users, servers, resources = inst.shape
    return {
        "case": case.name,
        "words": case.words,
        "page": case.page,
        "series": case.series,
        "size": case.size,
        "notion": notion.plain(),
        "users": users,
        "servers": servers,
        "resources": resources,
        "pairs": len(inst.pairs[0]),
        "limit": case.limit,
    }


def _judged(inst: Any, notion: Any, sides: list[Runs]) -> list[dict[str, Any]]:
    """One row a side: medians, what was proved, ratio to ours."""
    ours = next((r.answer for r in sides if r.side.name == OURS), None)
    rows = []
    for runs in sides:
        row: dict[str, Any] = {"side": runs.side.name, "versions": runs.versions}
        rows.append(row)
        if not runs.replies:
            row["failed"] = runs.failed
            continue
        row |= _figures(runs)
        answer = runs.answer
        assert answer is not None
        if answer.tasks is None:
            continue
        verdict = judging.judge(inst, notion, answer, ours)
        row |= {
            "gap": verdict.gap,
            "residual": verdict.residual,
            "verdict": verdict.verdict,
            "prices": verdict.prices,
            "overrun": verdict.overrun,
            "status": answer.status,
        }
        # for alpha = 0 shares are not unique
        if ours is not None and answer is not ours and welfare.alpha_of(notion.plain()) != 0:
            row["apart"] = judging.apart(inst, notion, answer, ours)
    mine = next((row["wall"] for row in rows if row["side"] == OURS and "wall" in row), None)
    for row in rows:
        if mine and "wall" in row:
            row["ratio"] = row["wall"] / mine
    return rows


def _figures(runs: Runs) -> dict[str, Any]:
    replies, answer = runs.replies, runs.answer
    assert answer is not None
    inner = [r.answer.inner for r in replies if r.answer is not None and r.answer.inner is not None]
    notes = {key: value for key, value in answer.notes.items() if key != "limit prices"}
    return {
        "runs": len(replies),
        "wall": statistics.median(runs.seconds),
        "all": runs.seconds,
        "cpu": statistics.median(r.cpu for r in replies),
        "inner": statistics.median(inner) if inner else None,
        "peak": max(r.peak for r in replies),
        "before": replies[0].before,
        "notes": notes,
        **({"failed": runs.failed} if runs.failed else {}),
    }


def best_peer(record: dict[str, Any]) -> dict[str, Any] | None:
    """The fastest competitor whose gap is at most 1e-6, whatever its residual.

    Of max-min, where the gap is the room of the lowest user alone, the residual counts too.
    """
    wanted = ("gap", "residual") if record["notion"]["name"] == "max-min" else ("gap",)
    reached = [
        row
        for row in record["sides"]
        if not SIDES[row["side"]].ours and all(row.get(key, 1.0) <= TIGHT for key in wanted)
    ]
    return min(reached, key=lambda row: row["wall"], default=None)
