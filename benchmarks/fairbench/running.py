"""Runs in processes of their own with a time limit, and the journal of what has been run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.fairbench.problem import Problem
from benchmarks.fairbench.scoring import score

STARTING = 60.0
"""seconds for imports and the toy"""
AHEAD = 2
"""runs at once, of which one is timed and the others import"""
ROOT = Path(__file__).resolve().parents[2]


def run(
    problem: Problem,
    entrant: str,
    limit: float,
    python: str = sys.executable,
    turn: AbstractContextManager[Any] | None = None,
) -> dict[str, Any]:
    """What the worker said, or {"late": ...}.

    entrant : a module with `solve`, as `benchmarks.fairbench.entrants.ours`. limit : seconds.
    turn : held while the answer is timed, so that of several runs one at a time is.
    """
    alone = {name: "1" for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")}
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    process = subprocess.Popen(
        [python, "-m", "benchmarks.fairbench.worker", entrant],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=os.environ | alone | {"PYTHONPATH": path},
    )
    assert process.stdin is not None and process.stdout is not None
    timer = threading.Timer(STARTING, process.kill)
    timer.start()
    try:
        process.stdin.write(problem.text())
        process.stdin.flush()
        first = process.stdout.readline()
        timer.cancel()
        said = json.loads(first) if first else {"failed": "ended before it began"}
        if "uses" not in said:
            return said
        with turn or nullcontext():
            timer = threading.Timer(limit, process.kill)
            timer.start()
            process.stdin.write("begin\n")
            process.stdin.close()
            last = process.stdout.readline()
        if last:
            return said | json.loads(last)
        late = not timer.is_alive()
        return said | (
            {"late": f"no answer in {limit:g} s"} if late else {"failed": "the process ended"}
        )
    except BrokenPipeError:
        return {"failed": "ended before it began"}
    finally:
        timer.cancel()
        process.kill()
        process.stdout.close()
        with suppress(BrokenPipeError):  # of what was not read
            process.stdin.close()
        process.wait()


class Journal:
    """Records by (entrant, instance), one JSON line each; a run that stopped goes on from there."""

    def __init__(self, file: Path | None = None) -> None:
        self.file = file
        self.records: dict[tuple[str, str], dict[str, Any]] = {}
        self.uses: dict[str, Any] = {}
        if file is not None and file.exists():
            for line in file.read_text(encoding="utf-8").splitlines():
                record = json.loads(line)
                self.records[record["entrant"], record["name"]] = record
                self.uses[record["entrant"]] = record.get("uses", self.uses.get(record["entrant"]))

    def has(self, entrant: str, problem: Problem, line: dict[str, Any]) -> bool:
        """Whether there is a record of this very problem; not of an entrant that was absent."""
        known = self.records.get((entrant, problem.name))
        if known is None or known["outcome"] == "absent":
            return False
        return bool(known["digest"] == line["digest"])

    def add(self, record: dict[str, Any]) -> None:
        """Keep a record, numbers to four digits; libraries where they are not as before."""
        record = {key: _short(value) for key, value in record.items()}
        if "uses" in record:
            if record["uses"] == self.uses.get(record["entrant"]):
                del record["uses"]
            else:
                self.uses[record["entrant"]] = record["uses"]
        self.records[record["entrant"], record["name"]] = record
        if self.file is not None:
            self.file.parent.mkdir(parents=True, exist_ok=True)
            with self.file.open("a", encoding="utf-8") as out:
                out.write(json.dumps(record) + "\n")


def campaign(
    problems: Iterable[tuple[Problem, dict[str, Any]]],
    entrants: dict[str, str],
    limit: float,
    journal: Journal,
    say: Callable[[str], None],
    pythons: Sequence[str] = (sys.executable,),
    again: bool = False,
) -> None:
    """Every entrant on every instance; an entrant that is not installed is asked once.

    What the journal has is not run, except who was absent. Two runs are prepared side by side, and
    one at a time is timed.

    entrants : module by name. pythons : interpreters that are tried in turn for what is absent.
    again : run what the journal has, too.
    """
    absent: dict[str, dict[str, Any]] = {}
    where = dict.fromkeys(entrants, pythons[0])
    turn = threading.Lock()

    def asked(name: str, problem: Problem) -> dict[str, Any]:
        reply = absent.get(name)
        if reply is None:
            for python in dict.fromkeys([where[name], *pythons]):
                reply = run(problem, entrants[name], limit, python, turn)
                if "absent" not in reply:
                    where[name] = python
                    break
            assert reply is not None
            if "absent" in reply:
                absent[name] = reply
        return reply

    with ThreadPoolExecutor(AHEAD) as pool:
        for problem, line in problems:
            left = [name for name in entrants if again or not journal.has(name, problem, line)]
            replies = pool.map(lambda name, problem=problem: asked(name, problem), left)
            for name, reply in zip(left, replies, strict=True):
                record = score(problem, reply, line)
                head = {"entrant": name, "name": problem.name, "family": problem.family}
                head |= {"day": datetime.now(UTC).date().isoformat(), "limit": limit}
                journal.add(head | {"digest": line["digest"]} | record)
                seconds = f" {record['seconds']:.2f} s" if "seconds" in record else ""
                say(f"{problem.name} {name}: {record['outcome']}{seconds} {record['words']}")


def _short(value: Any) -> Any:
    return float(f"{value:.4g}") if isinstance(value, float) else value
