"""One page of all measurements of time, made from the figures of the other pages.

    python -m benchmarks.summary --write docs/results

Nothing is measured here: `docs/results/*.json` and the tables of other pages are read, so that the
page says what they say. To be run after any of them was written anew; a test compares.
"""

from __future__ import annotations

import argparse
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.peers.cells import kind, seconds, side, size
from benchmarks.peers.running import best_peer
from benchmarks.peers.sides import BARE, DENSE, OURS

RESULTS = Path(__file__).resolve().parent.parent / "docs" / "results"
PAGES = ("engine-speed", "placement", "lexicographic-speed", "growth")
SLOW = 1.0
"""times ours below which a peer is the faster one"""
Record = dict[str, Any]


@dataclass(frozen=True)
class Line:
    """One case: what was asked, how long it took, and what stands beside it."""

    page: str
    question: str
    size: str
    pairs: int
    seconds: float
    beside: str = "-"
    times: float | None = None
    memory: float | None = None


def lines(folder: Path) -> list[Line]:
    """Every case of the pages that the suite of peers writes, in their order."""
    found = []
    for page in PAGES:
        path = folder / f"{page}.json"
        if not path.exists():
            continue
        for record in json.loads(path.read_text(encoding="utf-8"))["cases"]:
            mine = side(record, OURS)
            if "wall" not in mine or "busy" in record:
                continue
            words = record["words"].replace("proportional fairness, ", "")
            beside, times = _beside(record, mine)
            found.append(
                Line(
                    page,
                    words,
                    size(record),
                    record["pairs"],
                    mine["wall"],
                    beside,
                    times,
                    mine.get("peak"),
                )
            )
    return found


def _beside(record: Record, mine: Record) -> tuple[str, float | None]:
    """The best peer and its time over ours; else the physical limit and ours over its time."""
    best = best_peer(record)
    if best is not None:
        return best["side"], best["wall"] / mine["wall"]
    for name in (BARE, DENSE):
        limit = side(record, name)
        if "wall" in limit:
            return name, limit["wall"] / mine["wall"]
    failed = [row.get("failed", "") for row in record["sides"] if kind(row) == "peer"]
    if failed and all(why.startswith("not asked") for why in failed):
        return "peers were too slow at a smaller size", None
    return ("no peer came close" if failed else "-"), None


def rows(folder: Path, page: str) -> list[list[str]]:
    """The cells of the tables of a page, headings left out; empty where there is no such page."""
    path = folder / f"{page}.md"
    if not path.exists():
        return []
    cells = [
        [cell.strip() for cell in text.strip("|").split("|")]
        for text in path.read_text(encoding="utf-8").splitlines()
        if re.match(r"\| \d", text)
    ]
    return [row for row in cells if len(row) > 1]


def page(folder: Path) -> str:
    """The page as markdown."""
    found = lines(folder)
    text = [
        "# How fast, where, and where not",
        "",
        "All measurements of time in one place, made by `python -m benchmarks.summary` from the "
        "pages named below; each says what was measured, how, and by which command. One BLAS "
        "thread, certified answers, the whole call with judging. *Times ours*: how many times as "
        "long as ours the fastest peer takes whose answer is close; *a bare pass* and *dense "
        "algebra alone* are not peers but what no method can go below.",
        "",
        "![Seconds over pairs](speed.svg)",
        "",
    ]
    for name, title in TITLES.items():
        own = [line for line in found if line.page == name]
        if own:
            text += [f"## {title}", "", f"From [{name}]({name}.md).", "", *_table(own), ""]
    text += [*_many(folder), *_copied(folder), *_tail(folder), *_not(found), *WORDS]
    return "\n".join(text).rstrip() + "\n"


TITLES = {
    "engine-speed": "One cluster, beside every peer",
    "placement": "Sparse and dense placement, servers alike and not",
    "growth": "More users, more servers",
    "lexicographic-speed": "All levels of max-min",
}


def _table(own: list[Line]) -> list[str]:
    head = "| question | users x servers x resources | pairs | s | beside | times ours | peak MB |"
    return [
        head,
        "|---|---|---:|---:|---|---:|---:|",
        *(
            f"| {line.question} | {line.size} | {line.pairs:,} | {seconds(line.seconds)} "
            f"| {line.beside} | {'-' if line.times is None else f'{line.times:.2g}'} "
            f"| {'-' if line.memory is None else f'{line.memory:,.0f}'} |"
            for line in own
        ),
    ]


def _many(folder: Path) -> list[str]:
    """Very many users: seconds and bare passes."""
    kept = [row for row in rows(folder, "many-users") if len(row) == 8]
    if not kept:
        return []
    return [
        "## Very many users, any placement",
        "",
        "From [many-users](many-users.md): the engine alone, in passes over all pairs that "
        "compute costs, the cheapest, an exponential and sums, and nothing else.",
        "",
        "| users x servers, density, alpha | s | bare passes | gap | residual |",
        "|---|---:|---:|---:|---:|",
        *(f"| {row[0]} | {row[3]} | {row[5]} | {row[6]} | {row[7]} |" for row in kept),
        "",
    ]


COPIED = {
    "small": "Small answers",
    "after-change": "Again after one change",
    "jobs": "Jobs on kinds of machines",
    "partitions": "More users than memory holds",
    "sweep": "Sweeps",
}
"""pages whose first table says it all"""


def _copied(folder: Path) -> list[str]:
    """The first table of other pages, as it stands there."""
    text: list[str] = []
    for name, title in COPIED.items():
        path = folder / f"{name}.md"
        if path.exists():
            found = re.search(r"(?:^\|.*\n)+", path.read_text(encoding="utf-8"), re.MULTILINE)
            if found:
                text += [f"## {title}", "", f"From [{name}]({name}.md), its first table.", ""]
                text += [*found.group().splitlines(), ""]
    return text


def _tail(folder: Path) -> list[str]:
    """The slowest of many clusters of a size."""
    path = folder / "tail.json"
    if not path.exists():
        return []
    kept = json.loads(path.read_text(encoding="utf-8"))["sizes"]
    return [
        "## The slowest of many",
        "",
        "From [tail](tail.md): random clusters of every density.",
        "",
        "| question | users x servers | tried | certified | median s | slowest s "
        "| over the median |",
        "|---|---|---:|---:|---:|---:|---:|",
        *(
            f"| {row['family']} | {row['users']:,} x {row['servers']} | {row['tried']} "
            f"| {row['certified']} | {row['median']:.3f} | {row['slowest']:.3f} "
            f"| {row['slowest'] / row['median']:.1f} |"
            for row in kept
        ),
        "",
    ]


def _not(found: list[Line]) -> list[str]:
    """The cases in which a peer was the faster one."""
    lost = [
        line
        for line in found
        if line.times is not None and line.times < SLOW and line.beside not in (BARE, DENSE)
    ]
    words = [
        f"- {line.question}, {line.size}: {line.beside} takes {line.times:.2g} times ours "
        f"([{line.page}]({line.page}.md))."
        for line in lost
    ]
    return ["## Where a peer is faster", "", *(words or ["In no case of these pages."]), ""]


WORDS = (
    "## What is not measured here",
    "",
    "- Other machines: every page names its versions and load; ratios are of one run.",
    "- Imports: the first call of a process pays for NumPy, and for SciPy where it is needed.",
    "- Notions that state a program of their own go to general solvers and take what these take.",
    "- Which engine answers at which size: [where the engines change](crossovers.md).",
    "",
)


def draw(found: list[Line], path: Path) -> None:
    """Seconds over pairs, both axes logarithmic, as an SVG file."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "fairopt"  # the same figures give the same bytes
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.2, 4.2), layout="constrained")
    axis = figure.subplots()
    for name, mark in zip(TITLES, "os^v", strict=True):
        own = [line for line in found if line.page == name]
        axis.scatter(
            [line.pairs for line in own],
            [line.seconds for line in own],
            marker=mark,
            s=22,
            label=f"fairopt, {TITLES[name].lower()}",
        )
    peers = [line for line in found if line.times and line.beside not in (BARE, DENSE)]
    axis.scatter(
        [line.pairs for line in peers],
        [line.seconds * (line.times or 0) for line in peers],
        marker="x",
        s=22,
        color="0.5",
        label="best peer",
    )
    axis.set(xscale="log", yscale="log", xlabel="pairs", ylabel="seconds")
    axis.grid(alpha=0.3)
    axis.legend(fontsize=7)
    figure.savefig(path, format="svg", metadata={"Date": None})


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument(
        "--write", type=Path, metavar="FOLDER", help="write speed.md and .svg there"
    )
    given = parser.parse_args(arguments)
    if given.write is None:
        print(page(RESULTS))
        return
    (given.write / "speed.md").write_text(page(RESULTS), encoding="utf-8")
    draw(lines(RESULTS), given.write / "speed.svg")


if __name__ == "__main__":
    main()
