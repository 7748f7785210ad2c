"""How long the slowest ordinary clusters take: 200 random ones of each size, and of max-min 100.

    OPENBLAS_NUM_THREADS=1 python -m benchmarks.tail --write docs/results
    OPENBLAS_NUM_THREADS=1 python -m benchmarks.tail --only max-min --each 2

Densities of placement from 0.02 to 1, servers alike and not alike, seeds 0, 1, 2, ... Seconds are
of this process, so that another one beside it counts for little, and judging is included. With
--journal FILE every instance is written down at once, and a run that was stopped goes on there.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

import fairopt as fo

RESOURCES = 4
DENSITIES = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
SAID = 50
"""rows after which it is said how many are done"""
TIMES = 20
"""times the median of its size that the slowest may take"""


@dataclass(frozen=True)
class Family:
    """What is asked of which sizes (users, servers), and how many draws of each kind."""

    words: str
    notion: Callable[[], Any]
    sizes: tuple[tuple[int, int], ...]
    each: int


FAMILIES = {
    "proportional": Family(
        "Proportional fairness",
        fo.ProportionalFair,
        ((100, 20), (300, 30), (1_000, 100), (5_000, 10), (200, 500), (20_000, 5)),
        17,
    ),
    "max-min": Family("All levels of max-min", fo.MaxMin, ((30, 10), (100, 20), (300, 30)), 9),
}


@dataclass(frozen=True)
class Row:
    """One cluster solved."""

    family: str
    users: int
    servers: int
    density: float
    alike: bool
    seed: int
    pairs: int = 0
    seconds: float = 0.0
    error: float = 0.0
    certified: bool = False

    @property
    def key(self) -> tuple[Any, ...]:
        return self.family, self.users, self.servers, self.density, self.alike, self.seed


def cluster(
    users: int, servers: int, density: float, seed: int, alike: bool = False
) -> fo.Instance:
    """Large and small users, whose mixes differ by a factor of ten; servers alike, or within one
    of four.

    Seed 5 of 1,000 users and 100 servers at density 0.1 is the one that no answer was found for in
    an hour.
    """
    rng = np.random.default_rng(seed)
    demand = rng.uniform(0.1, 1, (users, RESOURCES)) * rng.lognormal(0, 0.5, (users, 1))
    capacity = rng.uniform(5, 20, (servers, RESOURCES))
    if alike:
        capacity = np.tile(capacity[:1], (servers, 1))
    placement = rng.random((users, servers)) < density
    placement[np.arange(users), rng.integers(0, servers, users)] = True
    return fo.Instance(demand, capacity, placement, rng.uniform(0.5, 2, users))


def wanted(names: list[str], each: int | None) -> Iterator[Row]:
    """What is to be solved, in an order in which a slow minute does not hit one kind alone."""
    for name in names:
        family = FAMILIES[name]
        for users, servers in family.sizes:
            for seed in range(each or family.each):
                for density in DENSITIES:
                    for alike in (True, False):
                        yield Row(name, users, servers, density, alike, seed)


def solved(row: Row) -> Row:
    inst = cluster(row.users, row.servers, row.density, row.seed, row.alike)
    notion = FAMILIES[row.family].notion()
    start = time.process_time()
    judged = fo.solve(inst, notion, uncertified="return").certificate
    seconds = time.process_time() - start
    assert judged is not None
    return Row(
        *row.key, len(inst.pairs[0]), seconds, max(judged.gap, judged.residual), judged.certified
    )


def measured(names: list[str], each: int | None, journal: Path | None) -> list[Row]:
    """Every row, from the journal where it is there."""
    known: dict[tuple[Any, ...], Row] = {}
    if journal is not None and journal.exists():
        rows = (Row(**json.loads(text)) for text in journal.read_text("utf-8").splitlines())
        known = {row.key: row for row in rows}
    found = []
    for name in names:  # imports and first calls are nobody's time
        solved(Row(name, *FAMILIES[name].sizes[0], 0.2, False, 0))
    every = list(wanted(names, each))
    for count, row in enumerate(every):
        if count % SAID == 0:
            print(f"{count} of {len(every)}: {row.users} x {row.servers}", file=sys.stderr)
        if row.key not in known:
            known[row.key] = solved(row)
            if journal is not None:
                with journal.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(asdict(known[row.key])) + "\n")
        found.append(known[row.key])
    return found


def line(name: str, rows: list[Row]) -> str:
    seconds = np.array([row.seconds for row in rows])
    median, late, worst = np.quantile(seconds, [0.5, 0.99, 1.0])
    good, error = sum(row.certified for row in rows), max(row.error for row in rows)
    return (
        f"| {name} | {max(row.pairs for row in rows):,} | {len(rows)} | {good} | {error:.0e} "
        f"| {median:.3f} | {late:.3f} | {worst:.3f} | {worst / median:.1f} |"
    )


def over(rows: list[Row]) -> float:
    """The slowest of a size over the median of that size, the largest of all sizes."""
    sizes = {(row.family, row.users, row.servers) for row in rows}
    groups = ([r.seconds for r in rows if (r.family, r.users, r.servers) == s] for s in sizes)
    return max(max(seconds) / float(np.median(seconds)) for seconds in groups)


def table(rows: list[Row]) -> list[str]:
    """A row a size and density, two a size for servers alike and not, and one a size."""
    lines = [
        "| users x servers | pairs, most | tried | certified | worst error | median s "
        "| 99th percentile | slowest | over the median |",
        "|---|" + "---:|" * 8,
    ]
    for users, servers in dict.fromkeys((row.users, row.servers) for row in rows):
        own = [row for row in rows if (row.users, row.servers) == (users, servers)]
        named = f"{users:,} x {servers}"
        for density in DENSITIES:
            lines.append(line(f"{named}, {density:g}", [r for r in own if r.density == density]))
        for words, alike in (("alike", True), ("not alike", False)):
            lines.append(line(f"{named}, servers {words}", [r for r in own if r.alike == alike]))
        lines.append(line(f"**{named}, all**", own))
    return lines


def page(rows: list[Row], command: str) -> str:
    """The page as markdown."""
    certified = sum(row.certified for row in rows)
    lines = [
        "# The slowest ordinary clusters",
        "",
        f"{len(rows):,} random clusters of {RESOURCES} resources: users large and small, mixes of "
        "demand that differ by a factor of ten, placement of density 0.02 to 1, half of them with "
        "servers that are all alike, half with servers within a factor of four. One BLAS thread, "
        "seconds of the process, judging included. Made by",
        "",
        "```sh",
        f"OPENBLAS_NUM_THREADS=1 {command}",
        "```",
        "",
        f"{certified:,} of {len(rows):,} are certified. The slowest of a size takes "
        f"{over(rows):.1f} times the median of that size (wanted: at most {TIMES}).",
        "",
    ]
    for name in dict.fromkeys(row.family for row in rows):
        own = [row for row in rows if row.family == name]
        lines += [f"## {FAMILIES[name].words}", "", *table(own), ""]
    slow = sorted(rows, key=lambda row: -row.seconds)[:10]
    lines += [
        "## The ten slowest",
        "",
        "| notion | users x servers | density | servers | seed | s |",
        "|---|---|---|---|---|---:|",
        *(
            f"| {r.family} | {r.users:,} x {r.servers} | {r.density:g} "
            f"| {'alike' if r.alike else 'not alike'} | {r.seed} | {r.seconds:.2f} |"
            for r in slow
        ),
        "",
    ]
    return "\n".join(lines)


def plain(rows: list[Row], command: str) -> str:
    """JSON for `benchmarks.summary`: one line a size."""
    sizes = {}
    for row in rows:
        sizes.setdefault((row.family, row.users, row.servers), []).append(row)
    kept = [
        {
            "family": family,
            "users": users,
            "servers": servers,
            "tried": len(own),
            "certified": sum(row.certified for row in own),
            "pairs": max(row.pairs for row in own),
            "median": float(np.median([row.seconds for row in own])),
            "slowest": max(row.seconds for row in own),
        }
        for (family, users, servers), own in sizes.items()
    ]
    return json.dumps({"command": command, "sizes": kept}, indent=1) + "\n"


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", nargs="+", choices=FAMILIES, default=list(FAMILIES))
    parser.add_argument("--each", type=int, help="draws of each size, density and kind of server")
    parser.add_argument("--journal", type=Path, help="keeps what is measured; a new run goes on")
    parser.add_argument(
        "--write", type=Path, metavar="FOLDER", help="write tail.md and .json there"
    )
    given = parser.parse_args(arguments)
    command = "python -m benchmarks.tail" + (f" --each {given.each}" if given.each else "")
    if len(given.only) < len(FAMILIES):
        command += f" --only {' '.join(given.only)}"
    rows = measured(given.only, given.each, given.journal)
    text = page(rows, f"{command} --write docs/results")
    if given.write is None:
        print(text)
    else:
        (given.write / "tail.md").write_text(text, encoding="utf-8")
        (given.write / "tail.json").write_text(plain(rows, command), encoding="utf-8")


if __name__ == "__main__":
    main()
