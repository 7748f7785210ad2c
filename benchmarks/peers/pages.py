"""The pages and their JSON, from the records of a run and nothing else."""

from __future__ import annotations

import json
import math
import os
import platform
from pathlib import Path
from typing import Any

from benchmarks.peers import calls, placement, plot
from benchmarks.peers.cells import Record, capital, cell, kind, ratio, seconds, side, size, small
from benchmarks.peers.registry import PAGES
from benchmarks.peers.running import TIGHT, best_peer
from benchmarks.peers.sides import BARE, DENSE, OURS

TITLES = {
    "engine-speed": "The engine beside its peers",
    "lexicographic-speed": "All levels of max-min beside its peers",
    "growth": "Growth of time with size",
    "placement": "Sparse and dense placement, servers alike and not",
}
_HOW = """\
Written by

    {command}

Every side answers in a process of its own with one BLAS thread and one solver thread; imports and
a first toy question are not timed. The sides take turns, round after round, in one run; seconds are
medians over the rounds, and ratios are of medians of this run. A side that took {patience:g} s in
all is not asked again, and one that passes the time limit of the case is stopped.

Our seconds are the whole call of `fo.solve`: merging, solving and judging. A peer's are the whole
call too: building the program, compiling it and solving it; *own s* is what its solver reports
itself. Every answer is made feasible by scaling each server's tasks to fit (*overrun* is by how
much it was not) and then judged by `fo.certify`, with the side's own duals as prices or with ours,
whichever proves more. *Gap*: every share could rise at once by at most this part. *Residual*: the
worst user's own distance from the optimum.
"""
_LEVELS = """\
Here *gap* is the room of the lowest user and *residual* that of any user: what it could still
gain, relative, while nobody at or below its level falls. *Apart* is the largest relative difference
of a user's share from ours.
"""
CANNOT = (
    "Not asked: fairpyx divides items, one resource each, and maximises the least utility alone; "
    "it states neither several resources nor proportional fairness nor further levels."
)


def write(folder: Path, records: list[Record], command: str, quick: bool) -> list[Path]:
    """Write a page and a JSON file for every page that has records; the paths."""
    folder.mkdir(parents=True, exist_ok=True)
    about = surroundings()
    paths = []
    for page in PAGES:
        own = [record for record in records if record["page"] == page]
        if not own:
            continue
        drawn = page == "growth" and plot.draw(own, folder / "growth.svg")
        text = markdown(page, own, command, about, quick, drawn)
        kept = {"command": command, "quick": quick, "about": about, "cases": own}
        (folder / f"{page}.md").write_text(text, encoding="utf-8")
        (folder / f"{page}.json").write_text(
            json.dumps(calls.plain(kept), indent=1) + "\n", encoding="utf-8"
        )
        paths += [folder / f"{page}.md", folder / f"{page}.json"]
    return paths


def surroundings() -> dict[str, Any]:
    """What the numbers depend on, without naming the machine."""
    from threadpoolctl import threadpool_info

    libraries = {
        f"{lib['internal_api']} {lib['version']}"
        for lib in threadpool_info()
        if lib["user_api"] == "blas"
    }
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else math.nan
    return {
        "python": platform.python_version(),
        "blas": sorted(libraries),
        "cores": os.cpu_count(),
        "load": round(load, 1),
    }


def markdown(
    page: str, records: list[Record], command: str, about: dict[str, Any], quick: bool, drawn: bool
) -> str:
    """The page as text."""
    from benchmarks.peers.running import PATIENCE

    lines = [f"# {TITLES[page]}", ""]
    if quick:
        lines += ["**Tiny sizes (`--quick`): the figures below mean nothing.**", ""]
    lines += [_HOW.format(command=command, patience=PATIENCE)]
    if page == "lexicographic-speed":
        lines += [_LEVELS]
    lines += [_about(records, about), ""]
    if page == "growth":
        lines += _growth(records, drawn)
    elif page == "placement":
        lines += placement.table(records)
    else:
        lines += ["## In short", "", *_short(records), ""]
        for record in records:
            lines += _case(record)
    if page == "engine-speed":
        lines += [CANNOT, ""]
    return "\n".join(lines).rstrip() + "\n"


def _about(records: list[Record], about: dict[str, Any]) -> str:
    versions: dict[str, set[str]] = {}
    for record in records:
        for row in record["sides"]:
            for name, number in row.get("versions", {}).items():
                versions.setdefault(name, set()).add(number)
    listed = ", ".join(f"{name} {' and '.join(sorted(n))}" for name, n in sorted(versions.items()))
    load = about.get("load")
    return (
        f"Python {about['python']}, BLAS: {', '.join(about['blas']) or 'unknown'}; {listed}. "
        f"{about['cores']} cores; load average at the end of the run {load}."
    )


def _short(records: list[Record]) -> list[str]:
    lines = [
        f"*Best peer*: the fastest whose gap is at most {TIGHT:g}; of max-min, gap and residual.",
        "",
        "| case | users x servers x resources | pairs | fairopt s | gap | residual | best peer "
        "| its time / ours | its solver alone / ours |",
        "|---" * 9 + "|",
    ]
    for record in records:
        mine = side(record, OURS)
        best = best_peer(record)
        peer = ("-", "-", "-")
        if best is not None and "wall" in mine:
            inner = f"{best['inner'] / mine['wall']:.2g}" if best.get("inner") else "-"
            peer = (best["side"], f"{best['wall'] / mine['wall']:.2g}", inner)
        elif len(record["sides"]) > 1 and any("peer" in kind(r) for r in record["sides"]):
            peer = ("none reached it", "-", "-")
        ours = (
            (seconds(mine["wall"]), small(mine.get("gap")), small(mine.get("residual")))
            if "wall" in mine
            else (mine.get("failed", "-"), "-", "-")
        )
        lines.append(
            f"| {record['case']} | {size(record)} | {record['pairs']:,} | "
            + " | ".join([*ours, *peer])
            + " |"
        )
    for record in records:
        lines += _floor(record)
    return lines


def _floor(record: Record) -> list[str]:
    """How far a case is from the dense algebra alone."""
    floor, mine, bare = (side(record, name) for name in (DENSE, OURS, BARE))
    if "wall" in bare and "wall" in mine:
        return [
            "",
            f"`{record['case']}`: one bare pass over the pairs (costs, the cheapest, an "
            f"exponential, sums of use) takes {seconds(bare['wall'])} s; the whole call, proof "
            f"included, takes {mine['wall'] / bare['wall']:.0f} times that.",
        ]
    if "wall" not in floor or "wall" not in mine:
        return []
    many = floor["notes"]["calls"]
    order = ", ".join(map(str, floor["notes"]["orders"]))
    return [
        "",
        f"`{record['case']}`: the dense linear algebra alone ({many['dpotrf']} factorisations of "
        f"order {order} with the products that make their matrices, and {many['dpotrs']} solves) "
        f"takes {seconds(floor['wall'])} s; the whole call takes "
        f"{mine['wall'] / floor['wall']:.2f} times that.",
    ]


def _case(record: Record) -> list[str]:
    lines = [
        f"## {record['case']}",
        "",
        f"{capital(record['words'])}: {size(record)}, {record['pairs']:,} pairs; time limit "
        f"{record['limit']:g} s a call.",
        "",
    ]
    if "busy" in record:
        return lines + _busy(record)
    lines += [
        "| side | runs | s | times ours | own s | gap | residual | prices | overrun | apart "
        "| remark |",
        "|---" * 11 + "|",
    ]
    for row in record["sides"]:
        if "wall" not in row:
            lines.append(f"| {row['side']} |" + " - |" * 9 + f" {cell(row['failed'])} |")
            continue
        remark = row.get("failed") or row.get("status") or ""
        if row["side"] == OURS:
            steps = ", ".join(f"{n} {k}" for k, n in row["notes"].get("steps", {}).items())
            remark = f"{row['verdict']} ({steps})"
        elif row.get("notes", {}).get("programs"):
            remark += f", {row['notes']['programs']} programs"
        lines.append(
            f"| {row['side']} | {row['runs']} | {seconds(row['wall'])} | {ratio(row)} "
            f"| {seconds(row.get('inner'))} | {small(row.get('gap'))} "
            f"| {small(row.get('residual'))} | {row.get('prices', '-')} "
            f"| {small(row.get('overrun'))} | {small(row.get('apart'))} | {cell(remark)} |"
        )
    mine = side(record, OURS)
    if "wall" in mine:
        lines += [
            "",
            f"fairopt: {seconds(mine['cpu'])} s of processor; peak memory of its "
            f"process {mine['peak']:,.0f} MB ({mine['before']:,.0f} MB before the first "
            "call).",
        ]
    return [*lines, ""]


def _busy(record: Record) -> list[str]:
    busy = record["busy"]
    if "failed" in busy:
        return [f"Failed: {busy['failed']}.", ""]
    alone, beside = busy["alone"], busy["beside"]
    lines = ["| | wall s | processor s |", "|---|---|---|"]
    for how, words in (("alone", "alone"), ("beside", "beside the other process")):
        lines.append(f"| {words} | {seconds(busy[how]['wall'])} | {seconds(busy[how]['cpu'])} |")
    lines.append(
        f"| ratio | {beside['wall'] / alone['wall']:.2f} | {beside['cpu'] / alone['cpu']:.2f} |"
    )
    return [
        *lines,
        "",
        f"With {busy['cores']} cores the other process takes one of them: its part of the machine "
        f"alone would make the ratio {busy['share']:.2f}.",
        "",
    ]


def _growth(records: list[Record], drawn: bool) -> list[str]:
    lines = ["![Seconds of a solve over size](growth.svg)", ""] if drawn else []
    for series in dict.fromkeys(record["series"] for record in records):
        own = [record for record in records if record["series"] == series]
        names = list(dict.fromkeys(row["side"] for record in own for row in record["sides"]))
        heads = ["pairs", *names, "gap", "residual", "peak MB"]
        lines += [
            f"## More {series}",
            "",
            f"{capital(own[0]['words'])}.",
            "",
            f"| {series} | " + " | ".join(heads) + " |",
            "|---" * (len(heads) + 1) + "|",
        ]
        for record in own:
            cells = [f"{record[series]:,}", f"{record['pairs']:,}"]
            for name in names:
                row = side(record, name)
                cells.append(
                    seconds(row["wall"]) + " s" if "wall" in row else cell(row.get("failed", "-"))
                )
            mine = side(record, OURS)
            cells += [small(mine.get("gap")), small(mine.get("residual"))]
            cells.append(f"{mine['peak']:,.0f}" if "peak" in mine else "-")
            lines.append("| " + " | ".join(cells) + " |")
        lines += ["", *_slope(own, series), ""]
    return lines


def _slope(own: list[Record], series: str) -> list[str]:
    """The exponent of the last two sizes solved."""
    solved = [(r[series], side(r, OURS)["wall"]) for r in own if "wall" in side(r, OURS)]
    if len(solved) < 2 or solved[-1][0] == solved[-2][0]:
        return []
    (small, quick), (large, slow) = solved[-2:]
    power = math.log(slow / quick) / math.log(large / small)
    return [f"Between the last two sizes the time of fairopt grows like {series}^{power:.2f}."]
