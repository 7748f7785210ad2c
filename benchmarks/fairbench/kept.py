"""References kept in a file, one line an instance; made again, or checked, by

    python -m benchmarks.fairbench.kept [--check] [NAME ...]

which goes on where it was. A line is {name, digest, within, proof, candidate, share}: `digest` is
of the instance, so that a reference is never held against another one.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.fairbench.catalogue import catalogue
from benchmarks.fairbench.problem import Problem
from benchmarks.fairbench.reference import ENOUGH, distance, reference

FILE = Path(__file__).with_name("references.jsonl")
PATIENCE = 20
"""seconds for an exact method, after which duality is asked"""


class TooLong(Exception):
    """An exact method took longer than PATIENCE."""


def kept(file: Path = FILE) -> dict[str, dict[str, Any]]:
    """The lines by name; an instance without one has no proved answer and is asked of nobody."""
    if not file.exists():
        return {}
    lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    return {line["name"]: line for line in lines}


def made(problem: Problem) -> dict[str, Any]:
    """The line of a problem, by exact methods where they end in time."""

    def stop(*_: Any) -> None:
        raise TooLong

    signal.signal(signal.SIGALRM, stop)
    signal.alarm(PATIENCE)
    try:
        found = reference(problem)
    except TooLong:
        found = reference(problem, fractions=0, digits=0)
    finally:
        signal.alarm(0)
    return {
        "name": problem.name,
        "digest": problem.digest(),
        "within": float(f"{found['within']:.2g}"),
        "proof": found["proof"],
        "candidate": found["candidate"],
        "share": [float(f"{s:.15g}") for s in found["share"]],
    }


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fairbench.kept")
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--check", action="store_true", help="prove again, and compare")
    asked = parser.parse_args(arguments)
    known, bad = kept(), 0
    for name, build in catalogue().items():
        if asked.names and name not in asked.names:
            continue
        if name in known and not asked.check:
            continue
        problem, start = build(), time.perf_counter()
        line = made(problem)
        words = f"{name}: {line['proof']}, within {line['within']:.2g}"
        if asked.check and name in known:
            off, _ = distance(np.array(line["share"]), np.array(known[name]["share"]))
            same = known[name]["digest"] == line["digest"] and off <= 2 * ENOUGH
            bad += not same
            words += f", {off:.2g} from the one kept" + ("" if same else ": NOT the same")
        elif line["within"] <= ENOUGH:
            with FILE.open("a", encoding="utf-8") as out:
                out.write(json.dumps(line, separators=(",", ":")) + "\n")
        else:
            words += ": not proved, left out"
        print(f"{words} ({time.perf_counter() - start:.1f} s)", file=sys.stderr, flush=True)
    return 4 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
