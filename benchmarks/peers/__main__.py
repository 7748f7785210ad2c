"""Command line of the suite: run cases, print their tables, write the pages."""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import replace
from pathlib import Path

from benchmarks.peers import calls, pages, running
from benchmarks.peers.registry import PAGES, cases


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.peers", description=__doc__.splitlines()[0]
    )
    parser.add_argument("--quick", action="store_true", help="tiny sizes, to see that all runs")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="cases or pages, by name")
    parser.add_argument("--list", action="store_true", help="names of the cases, and no run")
    parser.add_argument("--rounds", type=int, help="calls of each side instead of each case's own")
    parser.add_argument("--write", type=Path, metavar="FOLDER", help="write pages and JSON there")
    parser.add_argument(
        "--python",
        action="append",
        default=[],
        metavar="PATH",
        help="interpreter of another environment, for peers that this one lacks; repeatable",
    )
    asked = parser.parse_args(arguments)
    chosen = cases()
    if asked.list:
        print("\n".join(f"{case.page:22}{case.name:18}{case.words}" for case in chosen))
        return 0
    if asked.only:
        known = {case.name for case in chosen} | set(PAGES)
        unknown = [name for name in asked.only if name not in known]
        if unknown:
            parser.error(f"--only: found {', '.join(unknown)}; wanted names that --list prints")
        chosen = [case for case in chosen if {case.name, case.page} & set(asked.only)]
    tired, records = running.Tired(), []
    pythons = [sys.executable, *asked.python]
    callers = calls.Callers()
    try:
        for case in chosen:
            start = time.perf_counter()
            _say(f"{case.name}: {case.words}")
            rounds = asked.rounds or case.rounds
            case = replace(case, rounds=rounds)
            records.append(running.run(case, asked.quick, pythons, tired, _say, callers))
            _say(f"  {time.perf_counter() - start:.0f} s in all")
    finally:
        callers.close()
    about = pages.surroundings()
    command = _command(asked)
    if asked.write is None:
        for page in PAGES:
            own = [record for record in records if record["page"] == page]
            if own:
                print(pages.markdown(page, own, command, about, asked.quick, False))
    else:
        for path in pages.write(asked.write, records, command, asked.quick):
            print(path, file=sys.stderr)
    return 0


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _command(asked: argparse.Namespace) -> str:
    """The command of the run without paths."""
    words = ["python -m benchmarks.peers"]
    if asked.quick:
        words.append("--quick")
    if asked.only:
        words.append("--only " + " ".join(asked.only))
    if asked.rounds:
        words.append(f"--rounds {asked.rounds}")
    words.append("--write docs/results")
    return " ".join(words)


if __name__ == "__main__":
    sys.exit(main())
