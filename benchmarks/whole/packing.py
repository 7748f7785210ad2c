"""Vector bin packing: instances that a public set leaves open, closed by prices and patterns.

    python -m benchmarks.whole.packing FOLDER --journal packing.jsonl

FOLDER is a copy of github.com/Vectorpack/experiments_vector_paper (MIT) with the archives of its
folder `data` unpacked in place. Items of one size are a user who is due all of them, bins are
nodes: that k bins are too few is a certificate that somebody is short in them, that k are enough a
placement; both are judged in integers. `bins` searches for both.
"""

from __future__ import annotations

import argparse
import csv
import time
from collections import Counter
from fractions import Fraction
from pathlib import Path

from benchmarks.whole.bins import Bins, every
from benchmarks.whole.journal import Row as Line
from benchmarks.whole.journal import answered
from fairopt.whole.proof.answer import EXACT, Asked, WholeTasks
from fairopt.whole.proof.certificate import Prices
from fairopt.whole.proof.judging import judge
from fairopt.whole.proof.placement import Placement
from fairopt.whole.proof.problem import NodeRow
from fairopt.whole.rounding import filled, share_out
from fairopt.whole.shortage import volumes

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
    """The fewest bins found and proved, both as judged; the set knows that `best` are enough."""
    room, items = read(path)
    begun = time.process_time()
    least = volume(room, items)
    bins = Bins(asked(room, items, best).problem, least, best, seconds)
    bins.search()
    took, begun = time.process_time() - begun, time.process_time()
    lower = _lower(asked(room, items, bins.lower - 1), bins)
    upper = None
    if bins.packing is not None:
        size = len(bins.packing)
        own = WholeTasks(asked(room, items, size), every(bins.packing))
        verdict = judge(own)
        upper = size if verdict.sound and verdict.short == 0 else None
    return {
        "items": items.total(),
        "resources": len(room),
        "volume": least,
        "lower": lower,
        "upper": upper,
        "closed": lower in (upper, best),
        "seconds": took,
        "judge": time.process_time() - begun,
    }


def _lower(question: Asked, bins: Bins) -> int:
    """Bins that are needed: one more than those in which somebody is proved to be short."""
    prices = [*([bins.prices] if bins.prices else []), *volumes(question.problem)][:1]
    placed = Placement(question.problem)
    filled(placed)
    share_out(placed, question.problem.asked, question.due)
    verdict = judge(WholeTasks(question, placed.nodes(), Prices(tuple(prices))))
    return bins.lower if verdict.sound and verdict.least else 0


def table(rows: list[Line]) -> str:
    """Closed instances by set and size, and by what the set says of its bounds."""
    lines = [
        "| set | items | resources | tried | closed | with our own packing | set's bounds apart "
        "| of these closed | fewer bins than known | seconds, median and most | judge, most |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    keys = sorted({(r["set"], r["items"], r["resources"]) for r in rows})
    for key in [*keys, None]:
        own = [r for r in rows if key in (None, (r["set"], r["items"], r["resources"]))]
        took = sorted(r["seconds"] for r in own)
        lines.append(
            f"| {' | '.join(map(str, key or ('all', '', '')))} | {len(own)} | "
            f"{sum(r['closed'] for r in own)} | "
            f"{sum(r['closed'] and r['upper'] == r['lower'] for r in own)} | "
            f"{sum(r['LB'] < r['best'] for r in own)} | "
            f"{sum(r['closed'] and r['LB'] < r['best'] for r in own)} | "
            f"{sum(r['upper'] is not None and r['upper'] < r['best'] for r in own)} | "
            f"{took[len(took) // 2]:.1f}, {took[-1]:.1f} | {max(r['judge'] for r in own):.2f} |"
        )
    return "\n".join(lines)


def _size(name: str) -> int:
    return int(name.split("_")[1])


def main(given: list[str] | None = None) -> None:
    """Try open instances, small ones first, and print what was closed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument(
        "--seconds", type=float, default=10.0, help="of the processor, of each instance"
    )
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

    # where the set's bounds meet, and of few items, a proof is quick
    order = sorted(
        known,
        key=lambda name: (known[name][1] < known[name][2] and _size(name) > 60, _size(name), name),
    )
    print(table(answered(own.journal, order[: own.most], ask)))


if __name__ == "__main__":
    main()
