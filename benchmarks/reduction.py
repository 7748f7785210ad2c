"""Identical users and servers solved as one, and every one by itself: times and ratios in one run.

The 12,583 machines of the Google trace of May 2011 (models/real/google2011), each a server of its
own, and the model's users over and over. With placement as in the model, and without.

    python benchmarks/reduction.py [--users 100 1000] [--notion proportional] [--repeat 3]
        [--off-pairs 1300000] [--write docs/results]

Columns: eligible pairs; what is left of users and servers; seconds of `reduce` alone, of
`solve(reduce=True)` and of its parts (scores, engine, certificate and the rest), medians; and of
`solve(reduce=False)`, once, where there are at most --off-pairs pairs. For that comparison the same
machines are also taken in smaller numbers, every shape at least once.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import fairopt as fo
from fairopt import criteria
from fairopt.notions import make
from fairopt.solving.reduce import reduce

PARTS = (1, 10, 100)
"""the machines of the trace, a tenth, a hundredth of every shape"""


def cluster(users: int, placed: bool, part: int) -> fo.Instance:
    """The model with single machines, and its users repeated."""
    model = fo.read("real/google2011").instance
    who = np.arange(users) % len(model.users)
    rows = np.repeat(np.arange(len(model.servers)), np.maximum(model.count // part, 1))
    placement = model.placement[np.ix_(who, rows)] if placed else None
    return fo.Instance(
        model.demand[who],
        model.capacity[rows],
        placement,
        model.weight[who],
        model.limit[who] / part,
    )


def seconds(run: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    found = run()
    return time.perf_counter() - start, found


def measured(inst: fo.Instance, notion: Any, repeat: int, off_pairs: int) -> dict[str, Any]:
    """One row of the table."""
    scoring, reducing, solving = [], [], []
    for _ in range(repeat):
        used, score = seconds(lambda: criteria.score(inst, notion.criterion))
        scoring.append(used)
        used, small = seconds(lambda score=score: reduce(inst, notion, score))
        reducing.append(used)
        used, merged = seconds(lambda: fo.solve(inst, notion, uncertified="return"))
        solving.append(used)
    engine, _ = seconds(lambda: fo.solve(small.instance, small.notion, uncertified="return"))
    judging, _ = seconds(lambda: fo.certify(merged))
    row = {
        "users": inst.shape[0],
        "servers": inst.shape[1],
        "pairs": int(inst.eligible.sum()),
        "left": f"{small.instance.shape[0]} x {small.instance.shape[1]}",
        "scores": statistics.median(scoring),
        "reduce": statistics.median(reducing),
        "engine": engine,
        "certificate": judging,
        "on": statistics.median(solving),
        "gap": merged.certificate.gap,
        "residual": merged.certificate.residual,
        "off": None,
    }
    if row["pairs"] <= off_pairs:
        row["off"], apart = seconds(
            lambda: fo.solve(inst, notion, reduce=False, uncertified="return")
        )
        row["gap off"], row["residual off"] = apart.certificate.gap, apart.certificate.residual
        row["ratio"] = row["off"] / row["on"]
        row["difference"] = float(np.abs(merged.shares / apart.shares - 1).max())
    return row


def table(rows: list[dict[str, Any]]) -> str:
    """The rows in Markdown."""
    heads = [
        "users",
        "servers",
        "placement",
        "pairs",
        "solved as",
        "reduce s",
        "engine s",
        "certificate s",
        "on s",
        "gap",
        "residual",
        "off s",
        "off/on",
        "difference",
    ]
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    for row in rows:
        off = ("-", "-", "-")
        if row["off"] is not None:
            off = (f"{row['off']:.2f}", f"{row['ratio']:.0f}", f"{row['difference']:.1e}")
        cells = [
            f"{row['users']:,}",
            f"{row['servers']:,}",
            "yes" if row["placed"] else "no",
            f"{row['pairs']:,}",
            row["left"],
            f"{row['reduce']:.3f}",
            f"{row['engine']:.3f}",
            f"{row['certificate']:.3f}",
            f"{row['on']:.2f}",
            f"{row['gap']:.0e}",
            f"{row['residual']:.0e}",
            *off,
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--users", type=int, nargs="+", default=[100, 1000])
    parser.add_argument("--notion", default="proportional")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--off-pairs", type=int, default=1_300_000)
    parser.add_argument("--write", type=Path)
    asked = parser.parse_args()
    notion = make(asked.notion)
    fo.solve(fo.Instance([[1.0]], [[1.0]]), notion)  # imports are not what is measured
    rows = []
    for users in asked.users:
        for part in PARTS:
            for placed in (True, False):
                row = measured(cluster(users, placed, part), notion, asked.repeat, asked.off_pairs)
                rows.append({"placed": placed, **row})
                print(table(rows[-1:]).splitlines()[-1], flush=True)
    text = f"Notion: {asked.notion}.\n\n{table(rows)}\n"
    print("\n" + text)
    if asked.write is not None:
        (asked.write / "reduction.md").write_text(
            "# Identical users and servers as one: what it saves\n\n"
            "Made by `benchmarks/reduction.py`; seconds, medians of "
            f"{asked.repeat} runs, one BLAS thread.\n\n{text}",
            encoding="utf-8",
        )
        (asked.write / "reduction.json").write_text(
            json.dumps(rows, indent=1) + "\n", encoding="utf-8"
        )


if __name__ == "__main__":
    main()
