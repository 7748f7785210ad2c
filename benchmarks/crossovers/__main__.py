"""Measure either side of the constants by which `solver="auto"` chooses, and write the page.

    OPENBLAS_NUM_THREADS=1 python -m benchmarks.crossovers --write docs/results
    OPENBLAS_NUM_THREADS=1 python -m benchmarks.crossovers --only pool tiny

Both ways answer the same instance in turns; seconds are of this process, the least of the rounds,
without judging. A way whose answer is off by more than 1e-6 counts as not having answered.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.crossovers.lines import CROSSOVERS, Crossover, constant, error

ROUNDS, PATIENCE = 5, 1.0
"""most calls of a way, and seconds of it after which it is not called again"""
CLOSE = 1e-6
"""error of an answer"""
NEARLY = 1.25
"""ratio of times up to which either way will do"""


@dataclass(frozen=True)
class Row:
    """Seconds of both ways at one size; inf where a way did not answer."""

    at: float
    below: float
    above: float


def measured(line: Crossover, at: float) -> Row:
    inst = line.make(at)
    ways = line.below[1], line.above[1]
    best, spent = [np.inf, np.inf], [0.0, 0.0]
    off = [error(inst, way(inst)) for way in ways]  # imports and first calls are nobody's time
    for _ in range(ROUNDS):
        for k, way in enumerate(ways):
            if spent[k] < PATIENCE:
                start = time.process_time()
                way(inst)
                seconds = time.process_time() - start
                best[k], spent[k] = min(best[k], seconds), spent[k] + seconds
    return Row(at, *(s if e <= CLOSE else np.inf for s, e in zip(best, off, strict=True)))


def stands(line: Crossover, rows: list[Row]) -> str:
    """Whether the way the code takes is the faster one, or nearly, at every size measured."""
    lost = []
    for row in rows:
        taken, other = (row.below, row.above) if row.at <= line.value else (row.above, row.below)
        if not taken <= NEARLY * other:
            lost.append((row.at, taken / other))
    if not lost:
        return "The way the code takes is the faster one, or within a quarter of it, at every size."
    words = ", ".join(f"{ratio:.1f} times at {at:,g}" for at, ratio in lost)
    return f"The way the code takes is slower than the other: {words}."


def section(line: Crossover, rows: list[Row]) -> list[str]:
    named = ", ".join(f"`{place} = {constant(place)!r}`" for place in line.constants)
    below, above = line.below[0], line.above[0]
    return [
        f"## {line.words}",
        "",
        f"{named}. Up to {line.value:,g} {line.of}: {below}; beyond: "
        f"{above}.{' ' + line.why if line.why else ''}",
        "",
        f"| {line.of} | {below}, s | {above}, s | {above} / {below} | taken |",
        "|---:|---:|---:|---:|---|",
        *(
            f"| {row.at:,g} | {_told(row.below)} | {_told(row.above)} "
            f"| {row.above / row.below:.2f} | {below if row.at <= line.value else above} |"
            for row in rows
        ),
        "",
        stands(line, rows),
        "",
    ]


def _told(seconds: float) -> str:
    return f"{seconds:.4f}" if np.isfinite(seconds) else "no answer"


def page(found: dict[str, list[Row]]) -> str:
    """The page as markdown."""
    lines = [
        "# Where the engines change",
        "",
        '`solver="auto"` takes the engine that is fastest for the size. These are the constants '
        "that say so, as they stand in the code, and times on either side of each: both ways "
        "answer the same instances of proportional fairness (servers of sizes over a decade) in "
        "turns, one BLAS thread, seconds of the process without judging. Made by",
        "",
        "```sh",
        "OPENBLAS_NUM_THREADS=1 python -m benchmarks.crossovers --write docs/results",
        "```",
        "",
    ]
    for line in CROSSOVERS:
        if line.name in found:
            lines += section(line, found[line.name])
    return "\n".join([*lines, *OTHERS])


OTHERS = (
    "## Constants that are not about speed",
    "",
    "`fairopt.solving.ladder:SMALL = 3000`: pairs up to which an interior answer is polished "
    "to rounding even where the judge is content. "
    "`fairopt.solving.engines.smoothed.newton:FLATTEST = 0.1`: smallest alpha of prices smoothed; "
    "below it the interior method answers.",
    "",
)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.crossovers")
    names = [line.name for line in CROSSOVERS]
    parser.add_argument("--only", nargs="+", choices=names, default=names)
    parser.add_argument("--first", type=int, help="only so many sizes, the smallest ones")
    parser.add_argument("--write", type=Path, metavar="FOLDER", help="write crossovers.md there")
    given = parser.parse_args(arguments)
    found: dict[str, list[Row]] = {}
    for line in CROSSOVERS:
        if line.name in given.only:
            found[line.name] = [measured(line, at) for at in line.at[: given.first]]
            print("\n".join(section(line, found[line.name])), flush=True)
            if given.write is not None:  # at once: a run that is stopped leaves what it has
                (given.write / "crossovers.md").write_text(page(found), encoding="utf-8")


if __name__ == "__main__":
    main()
