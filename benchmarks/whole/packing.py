"""Vector bin packing: instances that a public set leaves open, closed by prices and patterns.

    python -m benchmarks.whole.packing FOLDER --journal packing.jsonl

FOLDER is a copy of github.com/Vectorpack/experiments_vector_paper (MIT) with the archives of its
folder `data` unpacked in place. Items of one size are a user who is due all of them, bins are
nodes: that k bins are too few is a certificate that somebody is short, that k are enough a
placement; both are judged in integers.
"""

from __future__ import annotations

import argparse
import csv
import math
import time
from collections import Counter
from fractions import Fraction
from pathlib import Path

from benchmarks.whole.journal import Row as Line
from benchmarks.whole.journal import answered
from fairopt.whole.asking import searched
from fairopt.whole.proof.answer import EXACT, Asked
from fairopt.whole.proof.judging import judge
from fairopt.whole.proof.problem import NodeRow

SETS = ("New", "Panigrahy")
"""those with open instances; of the third, Triplet, every optimum is known"""


def read(path: Path) -> tuple[tuple[int, ...], Counter[tuple[int, ...]]]:
    """The bin and how many items there are of each size, as in files for VPSolver."""
    numbers = iter(path.read_text(encoding="utf-8").split())
    size = int(next(numbers))
    room = tuple(int(next(numbers)) for _ in range(size))
    items: Counter[tuple[int, ...]] = Counter()
    for _ in range(int(next(numbers))):
        need = tuple(int(next(numbers)) for _ in range(size))
        items[need] += int(next(numbers))
    return room, items


def asked(room: tuple[int, ...], items: Counter[tuple[int, ...]], bins: int) -> Asked:
    """All items in so many bins."""
    keys = [f"r{k}" for k in range(len(room))]
    sizes = sorted(items)
    kinds = tuple(
        (n, "", dict(zip(keys, map(Fraction, need), strict=True)), None)
        for n, need in enumerate(sizes)
    )
    row = NodeRow("bin", bins, dict(zip(keys, map(Fraction, room), strict=True)), kinds)
    many = [items[need] for need in sizes]
    return Asked(
        tuple(f"i{n}" for n in range(len(sizes))),
        (row,),
        tuple(map(Fraction, many)),
        tuple(many),
        (1,) * len(sizes),
        (EXACT,) * len(sizes),
        ({"bin": bins},),
    )


def volume(room: tuple[int, ...], items: Counter[tuple[int, ...]]) -> int:
    """Bins that the items fill of some resource."""
    return max(
        -(-sum(need[r] * k for need, k in items.items()) // c) for r, c in enumerate(room) if c
    )


def closed(path: Path, best: int, seconds: float) -> Line:
    """The fewest bins found and proved, beginning at what the prices prove."""
    room, items = read(path)
    begun, cpu = time.monotonic(), time.process_time()
    bins, lower, upper, judged = max(1, volume(room, items) - 1), 0, None, 0.0
    while bins <= best and time.monotonic() - begun < seconds:
        left = max(0.5, seconds - (time.monotonic() - begun))
        found = searched(asked(room, items, bins), seconds=left, fewest=True)
        start = time.process_time()
        verdict = judge(found)
        judged = max(judged, time.process_time() - start)
        if not verdict.sound:
            break
        if verdict.short == 0:
            upper = bins
            break
        if not verdict.least:
            break
        lower = bins + 1
        for own in found.certificate.prices:  # the same prices say how many bins are needed
            need = sum(p * w for p, w in zip(own.price, found.problem.whole, strict=True))
            if own.sigma[0]:
                lower = max(lower, math.ceil(Fraction(need, own.sigma[0])))
        bins = lower
    return {
        "items": items.total(),
        "resources": len(room),
        "lower": lower,
        "upper": upper,
        "closed": lower in (upper, best),
        "seconds": time.process_time() - cpu,
        "judge": judged,
    }


def table(rows: list[Line]) -> str:
    """Closed instances by set and size, and by what the set says of its bounds."""
    lines = [
        "| set | items | resources | open | closed | bound above the set's | fewer bins than known "
        "| seconds, median and most | judge, most |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    keys = sorted({(r["set"], r["items"], r["resources"]) for r in rows})
    for key in [*keys, None]:
        own = [r for r in rows if key in (None, (r["set"], r["items"], r["resources"]))]
        took = sorted(r["seconds"] for r in own)
        lines.append(
            f"| {' | '.join(map(str, key or ('all', '', '')))} | {len(own)} | "
            f"{sum(r['closed'] for r in own)} | {sum(r['lower'] > r['LB'] for r in own)} | "
            f"{sum(r['upper'] is not None and r['upper'] < r['best'] for r in own)} | "
            f"{took[len(took) // 2]:.1f}, {took[-1]:.1f} | {max(r['judge'] for r in own):.2f} |"
        )
    new = sum(r["closed"] and r["LB"] < r["best"] for r in rows)
    lines.append(f"\nOf those closed the set's own bounds differ in {new}.")
    return "\n".join(lines)


def main(given: list[str] | None = None) -> None:
    """Try open instances, small ones first, and print what was closed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seconds", type=float, default=10.0, help="of each instance")
    parser.add_argument("--most", type=int, default=774, help="instances")
    parser.add_argument("--journal", type=Path)
    own = parser.parse_args(given)
    known: dict[str, tuple[str, int, int, Path]] = {}
    for name in SETS:
        summary = own.folder / "results_data" / f"{name}_summary_known.csv"
        folder = own.folder / "data" / f"{name}_instances_multidim"
        with summary.open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file, delimiter="\t"):
                if row["OPT"] == "-1":
                    which = row["instance_name"]
                    path = folder / which.split("_")[0] / f"{which}.vbp"
                    known[f"{name}/{which}"] = (
                        name,
                        int(row["LB"]),
                        int(row["best_overall"]),
                        path,
                    )

    def ask(name: str) -> Line:
        which, low, best, path = known[name]
        return {"set": which, "LB": low, "best": best, **closed(path, best, own.seconds)}

    order = sorted(known, key=lambda name: (int(name.split("_")[1]), name))
    print(table(answered(own.journal, order[: own.most], ask)))


if __name__ == "__main__":
    main()
