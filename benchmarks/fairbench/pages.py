"""The table and the page of a run, from its records and nothing else."""

from __future__ import annotations

import os
import platform
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.fairbench.entrants import SHIPPED
from benchmarks.fairbench.picture import SOLVED, draw
from benchmarks.fairbench.scoring import EXACT, FAIR, FITS

SHIFT = 0.1
"""seconds of the shifted geometric mean"""
Record = dict[str, Any]
WORST = 3
"""answers of each entrant that the page names"""


def mean(records: list[Record], limit: float) -> float:
    """Shifted geometric mean of the seconds; whatever is not solved counts as the limit."""
    seconds = [r["seconds"] if r["outcome"] in SOLVED else limit for r in records]
    return float(np.exp(np.mean(np.log(np.array(seconds) + SHIFT))) - SHIFT)


def table(records: list[Record], limit: float) -> list[str]:
    """A row an entrant, the quickest by shifted geometric mean first."""
    heads = ["entrant", "asked", "exact", "solved", "far", "overrun", "failed", "late", "cannot"]
    heads += ["mean s", "of what it states", "median distance", "worst", "largest MB"]
    rows = []
    for entrant in {r["entrant"]: None for r in records}:
        own = [r for r in records if r["entrant"] == entrant]
        if own[0]["outcome"] == "absent":
            continue
        count = {word: sum(r["outcome"] == word for r in own) for word in heads[2:9]}
        stated = [r for r in own if r["outcome"] != "cannot"]
        off = [r["distance"] for r in stated if "distance" in r]
        cells = [_called(entrant), len(own), *count.values(), f"{mean(own, limit):.3g}"]
        cells += [f"{mean(stated, limit):.3g}" if stated else "-"]
        cells += [f"{np.median(off):.1e}", f"{max(off):.1e}"] if off else ["-", "-"]
        cells.append(f"{max((r.get('memory', 0.0) for r in stated), default=0.0):.0f}")
        rows.append((mean(own, limit), cells))
    rows.sort(key=lambda row: row[0])
    out = ["| " + " | ".join(heads) + " |", "|---|" + "---:|" * (len(heads) - 1)]
    return out + ["| " + " | ".join(map(str, cells)) + " |" for _, cells in rows]


def write(
    folder: Path,
    records: list[Record],
    lines: dict[str, Any],
    limit: float,
    everything: int,
    journal: list[Record],
) -> list[Path]:
    """fairbench.md and fairbench.svg in a folder; their paths.

    journal : further records; entrants that were asked every instance have a table of their own.
    """
    folder.mkdir(parents=True, exist_ok=True)
    page, picture = folder / "fairbench.md", folder / "fairbench.svg"
    draw(records, picture)
    page.write_text(
        "\n".join(_page(records, lines, limit, everything, journal)) + "\n", encoding="utf-8"
    )
    return [page, picture]


def _page(
    records: list[Record],
    lines: dict[str, Any],
    limit: float,
    everything: int,
    journal: list[Record],
) -> list[str]:
    names = list({r["name"]: None for r in records})
    levels = sum(name.endswith("max-min") for name in names)
    proofs = [lines[name]["proof"] for name in names]
    ours = sum(lines[name]["candidate"] == "ours" for name in names)
    absent = sorted({_called(r["entrant"]) for r in records if r["outcome"] == "absent"})
    entrants = list({r["entrant"]: None for r in records})
    out = [
        "# fairbench: entrants beside proved answers",
        "",
        "Every entrant is a file of at most forty lines with `solve(problem) -> tasks[, prices]`; "
        "`benchmarks/fairbench/README.md` says how to enter. Written by",
        "",
        f"    python -m benchmarks.fairbench{' --all' if len(names) == everything else ''} "
        "--journal runs.jsonl --write docs/results",
        "",
        f"{len(names)} of {everything} instances ({len(names) - levels} alpha-fair, {levels} "
        f"max-min), {limit:g} s a run, each in a process of its own with one thread; imports and a "
        "toy are not timed. **The machine was shared when this was measured**: others used "
        f"its {os.cpu_count()} processors at the same time, so a time may be twice what it would "
        "be alone; distances do not depend on that. A journal goes on where it stopped, so that "
        "entrants may be of different hours of a day.",
        "",
        f"Of the {len(names)} reference answers, {proofs.count('fractions')} are exact fractions, "
        f"{proofs.count('digits')} optima of a path in 160 decimals that ends in a proof, "
        f"{proofs.count('duality')} proved by weak duality and {proofs.count('linear programs')} "
        f"by a linear program a user (HiGHS). For the last two kinds ({ours}) the candidate was an "
        "answer of fairopt; the proof, which believes nothing of it, is what is kept: every "
        "optimum is within what it says. This favours fairopt in one way: an instance whose "
        "candidate could not be proved to 1e-5 is not in the set.",
        "",
        f"- *exact*: fits to {FITS:g}, and the worst user's share is within {EXACT:g} (and what "
        "the reference is proved to) of the reference.",
        f"- *solved*: the same within {FAIR:g}. *far*: it fits, and somebody is further off.",
        f"- *overrun*: a row is overrun by more than {FITS:g}. *failed*: an error or no answer. "
        f"*late*: none in {limit:g} s. *cannot*: the entrant says that it cannot state the notion.",
        f"- *mean s*: shifted geometric mean (shift {SHIFT:g} s) over all instances asked; what is "
        f"not exact or solved counts as {limit:g} s. Next to it the same without those it cannot "
        "state.",
        "- *distance*: the worst user's relative distance from the reference, after the answer "
        "is cut to fit.",
        "- *MB*: what the solve adds to the process's peak memory.",
        "",
        *table(records, limit),
        "",
    ]
    unaided = {name for name in names if lines[name]["candidate"] != "ours"}
    out += [
        f"Where the candidate was ours, our distance is 0 by construction. On the {len(unaided)} "
        "instances whose reference fairopt had no part in, exact are: "
        + ", ".join(
            f"{_called(e)} {sum(_exact(r, e) and r['name'] in unaided for r in records)}"
            for e in entrants
            if any(_exact(r, e) for r in records)
        )
        + ".",
        "",
        "The adapters are ours, and what a solver's own authors would write may be faster; general "
        "solvers run with their default tolerances.",
        "",
    ]
    if absent:
        out += [f"Not installed where this was measured, and not scored: {', '.join(absent)}.", ""]
    out += [
        "```{figure} fairbench.svg",
        ":alt: Performance profiles of the entrants, for alpha-fairness and for max-min",
        "",
        "Performance profiles: which part of the instances is solved or exact within so many times "
        "the seconds of the fastest that solves it. Times under a millisecond count as one.",
        "```",
        "",
        *_whole(journal, lines, limit, everything, len(names)),
        "## By family",
        "",
        "Instances solved or exact, of those asked.",
        "",
        *_families(records),
        "",
        "## What each got wrong",
        "",
        f"The {WORST} worst of each entrant's answers not solved; *gap* is the equal part "
        "by which all shares together fall short, which hides what happens to one user.",
        "",
        "| entrant | instance | outcome | words | distance | gap | seconds |",
        "|---|---|---|---|---:|---:|---:|",
    ]
    for entrant in entrants:
        own = [r for r in records if r["entrant"] == entrant]
        wrong = [r for r in own if r["outcome"] in ("far", "overrun", "failed", "late")]
        wrong.sort(key=lambda r: -r.get("distance", np.inf))
        for r in wrong[:WORST]:
            cells = [_called(entrant), r["name"], r["outcome"], r["words"].replace("|", "/")]
            cells += [_number(r.get("distance")), _number(r.get("gap")), _number(r.get("seconds"))]
            out.append("| " + " | ".join(cells) + " |")
        if not wrong and own[0]["outcome"] != "absent":
            out.append(f"| {_called(entrant)} | nothing | | | | | |")
    out += ["", "## Who proves it", "", *_proved(records), "", _about()]
    return out


def _whole(
    journal: list[Record], lines: dict[str, Any], limit: float, everything: int, asked: int
) -> list[str]:
    """A table of those who were asked every instance, unless the page is of every instance."""
    many = {e: sum(r["entrant"] == e for r in journal) for e in {r["entrant"] for r in journal}}
    done = [r for r in journal if many[r["entrant"]] == everything and r["outcome"] != "absent"]
    if not done or asked == everything:
        return []
    words = f"The entrants that were asked all {everything} (`--all`), on the same machine."
    unaided = {name for name, line in lines.items() if line["candidate"] != "ours"}
    exact = ", ".join(
        f"{_called(e)} {sum(_exact(r, e) and r['name'] in unaided for r in done)}"
        for e in {r["entrant"]: None for r in done}
    )
    said = f"On the {len(unaided)} whose reference fairopt had no part in, exact are: {exact}."
    return ["## All instances", "", words, "", *table(done, limit), "", said, ""]


def _exact(record: Record, entrant: str) -> bool:
    return record["entrant"] == entrant and record["outcome"] == "exact"


def _families(records: list[Record]) -> list[str]:
    families = list({r["family"]: None for r in records})
    out = ["| entrant | " + " | ".join(families) + " |", "|---|" + "---:|" * len(families)]
    for entrant in {r["entrant"]: None for r in records if r["outcome"] != "absent"}:
        cells = [_called(entrant)]
        for family in families:
            own = [r for r in records if r["entrant"] == entrant and r["family"] == family]
            cells.append(f"{sum(r['outcome'] in SOLVED for r in own)}/{len(own)}")
        out.append("| " + " | ".join(cells) + " |")
    return out


def _proved(records: list[Record]) -> list[str]:
    """Of the alpha-fair answers with prices, how far the prices prove them."""
    out = [
        "Prices that come with an alpha-fair answer prove how far every user is at most from its "
        "optimum, whoever solved (`benchmarks/fairbench/proof.py`). A reader who has no reference "
        "has only this.",
        "",
        "| entrant | answers with prices | proved to 1e-3 | to 1e-5 | median of what is proved |",
        "|---|---:|---:|---:|---:|",
    ]
    for entrant in {r["entrant"]: None for r in records}:
        bounds = [r["proved"] for r in records if r["entrant"] == entrant and "proved" in r]
        if bounds:
            close = [sum(b <= most for b in bounds) for most in (1e-3, 1e-5)]
            cells = [_called(entrant), len(bounds), *close, f"{np.median(bounds):.1e}"]
            out.append("| " + " | ".join(map(str, cells)) + " |")
    return out


def _called(entrant: str) -> str:
    return SHIPPED.get(entrant, entrant)


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.2g}"


def _about() -> str:
    versions = []
    for name in ("numpy", "scipy", "cvxpy", "clarabel", "ecos", "scs", "highspy"):
        versions.append(f"{name} {metadata.version(name)}")
    return f"Python {platform.python_version()} on {platform.machine()}; {', '.join(versions)}."
