"""fairbench: entrants on instances with proved answers, a table, and the page.

python -m benchmarks.fairbench --entrants ours,cvxpy_clarabel
python -m benchmarks.fairbench --journal benchmarks/fairbench/runs.jsonl --write docs/results
python -m benchmarks.fairbench --export folder
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
from pathlib import Path
from typing import Any

from benchmarks.fairbench import pages, tables
from benchmarks.fairbench.catalogue import catalogue, forty
from benchmarks.fairbench.entrants import SHIPPED
from benchmarks.fairbench.kept import kept
from benchmarks.fairbench.problem import Problem
from benchmarks.fairbench.running import Journal, campaign

LIMIT = 10.0
PREFIX = "benchmarks.fairbench.entrants."


def main(arguments: list[str] | None = None) -> int:
    """0, or 2 with a message."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.fairbench", description=__doc__.splitlines()[0]
    )
    parser.add_argument(
        "--entrants",
        help="names of shipped entrants or modules with `solve`, by commas; all shipped",
    )
    parser.add_argument("--instances", nargs="+", metavar="NAME", help="these, instead of forty")
    parser.add_argument("--all", action="store_true", help="every instance instead of forty")
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds a run; %(default)s")
    parser.add_argument("--journal", type=Path, help="JSON lines of runs; goes on where it was")
    parser.add_argument("--write", type=Path, metavar="FOLDER", help="write fairbench.md and .svg")
    parser.add_argument("--export", type=Path, metavar="FOLDER", help="write the instances as JSON")
    parser.add_argument("--list", action="store_true", help="names of instances, and no run")
    parser.add_argument(
        "--python", action="append", default=[], help="another interpreter for what is not here"
    )
    parser.add_argument("--again", action="store_true", help="run what the journal has, too")
    asked = parser.parse_args(arguments)
    lines = kept()
    everything = [name for name in catalogue() if name in lines]
    chosen = everything if asked.all or asked.export or asked.list else forty(everything)
    if asked.instances:
        unknown = [name for name in asked.instances if name not in lines]
        if unknown:
            parser.error(f"--instances: found {', '.join(unknown)}; wanted names of --list")
        chosen = asked.instances
    if asked.list:
        print("\n".join(chosen))
        return 0
    if asked.export:
        return _export(asked.export, chosen, lines)
    entrants = _entrants(parser, asked.entrants)
    journal = Journal(asked.journal)
    problems = ((_built(name, lines), lines[name]) for name in chosen)
    pythons = [sys.executable, *asked.python]
    campaign(problems, entrants, asked.limit, journal, _say, pythons, asked.again)
    known = [r for r in journal.records.values() if r["name"] in lines]
    there = [journal.records[e, n] for n in chosen for e in entrants]
    if asked.write:
        for path in pages.write(asked.write, there, lines, asked.limit, known):
            _say(str(path))
    else:
        print("\n".join(tables.table(there, asked.limit)))
        for name in sorted(
            {tables.called(r["entrant"]) for r in there if r["outcome"] == "absent"}
        ):
            print(f"{name}: not installed")
    return 0


def _built(name: str, lines: dict[str, dict[str, Any]]) -> Problem:
    """The instance, held to the digest of its reference."""
    problem = catalogue()[name]()
    if problem.digest() != lines[name]["digest"]:
        raise SystemExit(
            f"{name}: digest {problem.digest()}, the reference is of {lines[name]['digest']}; "
            "make it again with python -m benchmarks.fairbench.kept"
        )
    return problem


def _entrants(parser: argparse.ArgumentParser, given: str | None) -> dict[str, str]:
    """Modules by name."""
    found = {}
    for name in given.split(",") if given else SHIPPED:
        module = PREFIX + name if name in SHIPPED else name
        if name not in SHIPPED:
            try:
                importlib.util.find_spec(module) or parser.error(_unknown(name))
            except ModuleNotFoundError:
                parser.error(_unknown(name))
        found[name] = module
    return found


def _unknown(name: str) -> str:
    return f"--entrants: found {name}; wanted {', '.join(SHIPPED)}, or a module with `solve`"


def _export(folder: Path, names: list[str], lines: dict[str, dict[str, Any]]) -> int:
    """Each instance as NAME.json, with slashes as folders."""
    for name in names:
        path = folder / f"{name}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(_built(name, lines).text(), encoding="utf-8")
    _say(f"{len(names)} instances in {folder}")
    return 0


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
