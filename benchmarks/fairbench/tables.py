"""The tables of a run, from its records and nothing else."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.fairbench.entrants import SHIPPED
from benchmarks.fairbench.picture import SOLVED

SHIFT = 0.1
"""seconds of the shifted geometric mean"""
WORST = 3
"""answers of each entrant that the page names"""
WRONG = ("far", "overrun", "failed", "late")
Record = dict[str, Any]


def mean(records: list[Record], limit: float, key: str = "seconds") -> float:
    """Shifted geometric mean of the seconds; whatever is not solved counts as the limit."""
    seconds = [r.get(key, limit) if r["outcome"] in SOLVED else limit for r in records]
    return float(np.exp(np.mean(np.log(np.array(seconds) + SHIFT))) - SHIFT)


def by_entrant(records: list[Record]) -> dict[str, list[Record]]:
    """The records of everybody who ran, in the order of those shipped and then by name."""
    there = {r["entrant"] for r in records if r["outcome"] != "absent"}
    order = [e for e in SHIPPED if e in there] + sorted(there - set(SHIPPED))
    return {e: [r for r in records if r["entrant"] == e] for e in order}


def table(records: list[Record], limit: float) -> list[str]:
    """A row an entrant, the least mean seconds of a processor first."""
    heads = ["entrant", "asked", "exact", "solved", "far", "overrun", "failed", "late", "cannot"]
    heads += ["mean s", "of a processor", "of what it states", "median distance", "worst"]
    heads += ["largest MB"]
    rows = []
    for entrant, own in by_entrant(records).items():
        count = {word: sum(r["outcome"] == word for r in own) for word in heads[2:9]}
        stated = [r for r in own if r["outcome"] != "cannot"]
        off = [r["distance"] for r in stated if "distance" in r]
        cells = [called(entrant), len(own), *count.values(), f"{mean(own, limit):.3g}"]
        cells += [f"{mean(own, limit, 'processor'):.3g}"]
        cells += [f"{mean(stated, limit):.3g}" if stated else "-"]
        cells += [f"{np.median(off):.1e}", f"{max(off):.1e}"] if off else ["-", "-"]
        cells.append(f"{max((r.get('memory', 0.0) for r in stated), default=0.0):.0f}")
        rows.append((mean(own, limit, "processor"), cells))
    rows.sort(key=lambda row: row[0])
    out = ["| " + " | ".join(heads) + " |", "|---|" + "---:|" * (len(heads) - 1)]
    return out + ["| " + " | ".join(map(str, cells)) + " |" for _, cells in rows]


def families(records: list[Record]) -> list[str]:
    """Solved or exact of those asked, by family."""
    named = list({r["family"]: None for r in records})
    out = ["| entrant | " + " | ".join(named) + " |", "|---|" + "---:|" * len(named)]
    for entrant, own in by_entrant(records).items():
        cells = [called(entrant)]
        for family in named:
            here = [r for r in own if r["family"] == family]
            solved = sum(r["outcome"] in SOLVED for r in here)
            cells.append(f"{solved}/{len(here)}" if here else "")
        out.append("| " + " | ".join(cells) + " |")
    return out


def wrong(records: list[Record]) -> list[str]:
    """The worst answers of everybody that were not solved."""
    out = [
        "| entrant | instance | outcome | words | distance | gap | seconds |",
        "|---|---|---|---|---:|---:|---:|",
    ]
    for entrant, own in by_entrant(records).items():
        bad = [r for r in own if r["outcome"] in WRONG]
        bad.sort(key=lambda r: -r.get("distance", np.inf))
        for r in bad[:WORST]:
            cells = [called(entrant), r["name"], r["outcome"], r["words"].replace("|", "/")]
            cells += [_number(r.get(key)) for key in ("distance", "gap", "seconds")]
            out.append("| " + " | ".join(cells) + " |")
        if not bad:
            out.append(f"| {called(entrant)} | nothing | | | | | |")
    return out


def proved(records: list[Record]) -> list[str]:
    """Of the alpha-fair answers with prices, how far the prices prove them."""
    out = [
        "| entrant | answers with prices | proved to 1e-3 | to 1e-5 | median of what is proved |",
        "|---|---:|---:|---:|---:|",
    ]
    for entrant, own in by_entrant(records).items():
        bounds = [r["proved"] for r in own if "proved" in r]
        if bounds:
            close = [sum(b <= most for b in bounds) for most in (1e-3, 1e-5)]
            cells = [called(entrant), len(bounds), *close, f"{np.median(bounds):.1e}"]
            out.append("| " + " | ".join(map(str, cells)) + " |")
    return out


def unaided(records: list[Record], lines: dict[str, Any]) -> tuple[int, str]:
    """Instances whose reference fairopt had no part in, and who is exact on how many of them."""
    names = {r["name"] for r in records if lines[r["name"]]["candidate"] != "ours"}
    counts = []
    for entrant, own in by_entrant(records).items():
        exact = [r for r in own if r["outcome"] == "exact"]
        if exact:
            counts.append(f"{called(entrant)} {sum(r['name'] in names for r in exact)}")
    return len(names), "; ".join(counts)


def called(entrant: str) -> str:
    """What the tables call an entrant."""
    return SHIPPED.get(entrant, entrant)


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.2g}"
