"""Whole tasks on the public lists openb: 8,152 pods, 6,212 cards, parts of cards.

    python -m benchmarks.whole.openb FOLDER --times 1.3

FOLDER is `data/csv` of github.com/hkust-adsl/kubernetes-scheduler-simulator (Apache-2.0; Weng et
al., "Beware of fragmentation", USENIX ATC 2023). A pod asks 1, 2, 4 or 8 whole cards, or parts
of one card. Pods that ask the same are a workload. With `--stored`, a file of runs that the
repository keeps (`experiments/analysis/expected_results`), all its lists are set beside them.

The cards of a node are alike, and a pod that asks part of one lies on a single card: the problem is
that of the list, and so is what is proved. With `--pooled` the cards of a node are one resource.
"""

from __future__ import annotations

import argparse
import csv
import time
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

import fairopt as fo
from benchmarks.whole.journal import Row, answered
from fairopt.whole.asking import asking, searched
from fairopt.whole.proof.answer import Asked
from fairopt.whole.proof.judging import judge

CARD = 1000


class Need(NamedTuple):
    """What a pod asks: thousandths of CPU, MiB, cards, thousandths of each card, models."""

    cpu: int
    memory: int
    cards: int
    part: int
    models: str


class Node(NamedTuple):
    """What a node has."""

    cpu: int
    memory: int
    cards: int
    model: str


def pods(path: Path) -> Counter[Need]:
    """How many pods ask what."""
    with path.open(encoding="utf-8", newline="") as file:
        return Counter(
            Need(
                int(row["cpu_milli"]),
                int(row["memory_mib"]),
                int(row["num_gpu"]),
                int(row["gpu_milli"]),
                row.get("gpu_spec", ""),
            )
            for row in csv.DictReader(file)
        )


def nodes(path: Path) -> Counter[Node]:
    """How many nodes have what."""
    with path.open(encoding="utf-8", newline="") as file:
        return Counter(
            Node(int(r["cpu_milli"]), int(r["memory_mib"]), int(r["gpu"]), r["model"])
            for r in csv.DictReader(file)
        )


def may(need: Need, node: Node) -> bool:
    """Whether a pod may run on a node."""
    return not need.models or node.model in need.models.split("|")


def asked(
    some: Counter[Need], there: Counter[Node], times: Fraction, pooled: bool = False
) -> Asked:
    """So many times the pods, with what max-min of dominant shares says that they are due."""
    needs, rows = sorted(some), sorted(there)
    many = [-int(-some[need] * times // 1) for need in needs]
    names = [f"w{k:03}" for k in range(len(needs))]
    inst = fo.Instance(
        [[n.cpu, n.memory, n.cards * n.part / CARD] for n in needs],
        [[row.cpu, row.memory, row.cards] for row in rows],
        placement=[[may(n, row) for row in rows] for n in needs],
        count=[there[row] for row in rows],
        limit=many,
        users=names,
        resources=["cpu", "memory", "cards"],
    )
    due = fo.solve(inst, fo.MaxMin(), uncertified="return")
    return asking(inst, due, cards=[] if pooled else ["cards"])


def times_of(some: Counter[Need], there: Counter[Node], arrivals: Fraction) -> Fraction:
    """How many times the pods ask for so many times the cards."""
    asks = sum(n.cards * n.part * count for n, count in some.items())
    return arrivals * CARD * sum(row.cards * count for row, count in there.items()) / asks


def answered_list(own: argparse.Namespace, which: str) -> Row:
    """What is found of one list, as judged."""
    some = pods(own.folder / f"openb_pod_list_{which}.csv")
    there = nodes(own.folder / f"openb_node_list_{own.nodes}.csv")
    times = times_of(some, there, own.arrivals) if own.arrivals else own.times
    wanted = asked(some, there, times, own.pooled)
    needs = sorted(some)
    begun, cpu = time.monotonic(), time.process_time()
    found = searched(wanted, seconds=own.seconds, fewest=not own.levels)
    took = time.monotonic() - begun, time.process_time() - cpu
    begun = time.process_time()
    verdict = judge(found)
    return {
        "list": which,
        "times": float(times),
        "asked": sum(a or 0 for a in wanted.asked),
        "due": sum(wanted.problem.whole),
        "placed": sum(found.totals),
        "short": verdict.short,
        "least": verdict.least,
        "lowest": float(min(found.parts())),
        "cards": sum(m * needs[n].cards * needs[n].part for n, m in enumerate(found.totals)) / CARD,
        "there": sum(row.cards * count for row, count in there.items()),
        "clock": took[0],
        "seconds": took[1],
        "judge": time.process_time() - begun,
        "says": verdict.explain(),
    }


def stored(path: Path, arrivals: int = 130) -> dict[tuple[str, str], float]:
    """Averages of stored runs: {(list, scheduler): per cent of cards} at so many per cent asked."""
    found: dict[tuple[str, str], list[float]] = {}
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            key = row["workload"].removeprefix("openb_pod_list_"), row["sc_policy"][3:]
            found.setdefault(key, []).append(float(row[str(arrivals)]))
    return {key: sum(own) / len(own) for key, own in found.items()}


def beside(own: argparse.Namespace) -> str:
    """A table of all lists of stored runs, beside what is found here."""
    known = stored(own.stored, round(own.arrivals * 100))
    schedulers = sorted({key[1] for key in known})
    lists = sorted({key[0] for key in known})
    rows = answered(own.journal, lists, lambda which: answered_list(own, which))
    lines = [
        f"| list | {' | '.join(schedulers)} | whole tasks | due whole | short | at least "
        "| seconds |",
        "|---" + "|---:" * (len(schedulers) + 5) + "|",
    ]
    for row in rows:
        best = " | ".join(f"{known[row['list'], key]:.2f}" for key in schedulers)
        lines.append(
            f"| {row['list']} | {best} | {row['cards'] / row['there']:.2%} | {row['due']:,} | "
            f"{row['short']} | {row['least']} | {row['seconds']:.0f} |"
        )
    return "\n".join(lines)


def main(given: list[str] | None = None) -> None:
    """Print one row of docs/results/whole.md, or with stored runs a table of all lists."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--pods", default="default")
    parser.add_argument("--nodes", default="all_node", choices=("all_node", "gpu_node"))
    parser.add_argument("--times", type=Fraction, default=Fraction(1))
    parser.add_argument("--arrivals", type=Fraction, help="cards asked in all, in times of all")
    parser.add_argument("--seconds", type=float, default=150.0)
    parser.add_argument("--levels", action="store_true", help="not only the fewest short")
    parser.add_argument("--pooled", action="store_true", help="cards of a node as one resource")
    parser.add_argument("--stored", type=Path, help="analysis_allo_discrete.csv of that repository")
    parser.add_argument("--journal", type=Path)
    own = parser.parse_args(given)
    if own.stored:
        own.arrivals = own.arrivals or Fraction("1.3")
        print(beside(own))
        return
    row = answered_list(own, own.pods)
    print(
        f"openb {row['list']} x {row['times']:g}, {own.nodes}{', pooled' if own.pooled else ''}: "
        f"{row['asked']:,} asked, {row['due']:,} due whole, {row['placed']:,} placed, "
        f"short {row['short']}, at least {row['least']}, lowest part {row['lowest']:.4f}, "
        f"{row['cards']:,.1f} of {row['there']:,} cards ({row['cards'] / row['there']:.2%}), "
        f"{row['clock']:.0f} s ({row['seconds']:.0f} of the processor), judge {row['judge']:.1f} s"
    )
    print(row["says"])


if __name__ == "__main__":
    main()
