"""Runs in processes of their own with a time limit, and the journal of what has been run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.fairbench.problem import Problem
from benchmarks.fairbench.scoring import score

STARTING = 60.0
"""seconds for imports and the toy"""
ROOT = Path(__file__).resolve().parents[2]


def run(
    problem: Problem, entrant: str, limit: float, python: str = sys.executable
) -> dict[str, Any]:
    """What the worker said, or {"late": ...}.

    entrant : a module with `solve`, as `benchmarks.fairbench.entrants.ours`. limit : seconds.
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
        process.stdin.close()
        first = process.stdout.readline()
        timer.cancel()
        if not first:
            return {"failed": "ended before it began"}
        said = json.loads(first)
        if "ready" not in said:
            return said
        timer = threading.Timer(limit, process.kill)
        timer.start()
        last = process.stdout.readline()
        if last:
            return json.loads(last)
        late = not timer.is_alive()
        return {"late": f"no answer in {limit:g} s"} if late else {"failed": "the process ended"}
    except BrokenPipeError:
        return {"failed": "ended before it began"}
    finally:
        timer.cancel()
        process.kill()
        process.stdout.close()
        process.wait()


class Journal:
    """Records by (entrant, instance), one JSON line each; a run that stopped goes on from there."""

    def __init__(self, file: Path | None = None) -> None:
        self.file = file
        self.records: dict[tuple[str, str], dict[str, Any]] = {}
        if file is not None and file.exists():
            for line in file.read_text(encoding="utf-8").splitlines():
                record = json.loads(line)
                self.records[record["entrant"], record["name"]] = record

    def add(self, record: dict[str, Any]) -> None:
        """Keep a record."""
        self.records[record["entrant"], record["name"]] = record
        if self.file is not None:
            with self.file.open("a", encoding="utf-8") as out:
                out.write(json.dumps(record) + "\n")


def campaign(
    problems: Iterable[tuple[Problem, dict[str, Any]]],
    entrants: dict[str, str],
    limit: float,
    journal: Journal,
    say: Callable[[str], None],
    pythons: Sequence[str] = (sys.executable,),
) -> None:
    """Every entrant on every instance; an entrant that is not installed is asked once.

    entrants : module by name. pythons : interpreters that are tried in turn for what is absent.
    """
    absent: dict[str, dict[str, Any]] = {}
    where = dict.fromkeys(entrants, pythons[0])
    for problem, line in problems:
        for name, module in entrants.items():
            known = journal.records.get((name, problem.name))
            if known is not None and known["digest"] == line["digest"]:
                continue
            reply = absent.get(name)
            if reply is None:
                for python in dict.fromkeys([where[name], *pythons]):
                    reply = run(problem, module, limit, python)
                    if "absent" not in reply:
                        where[name] = python
                        break
                assert reply is not None
                if "absent" in reply:
                    absent[name] = reply
            record = score(problem, reply, line)
            head = {"entrant": name, "name": problem.name, "family": problem.family}
            journal.add(head | {"digest": line["digest"]} | record)
            seconds = f" {record['seconds']:.2f} s" if "seconds" in record else ""
            say(f"{problem.name} {name}: {record['outcome']}{seconds} {record['words']}")
