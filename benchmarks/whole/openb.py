"""Whole tasks on the public lists openb: 8,152 pods, 6,212 cards, parts of cards.

    python -m benchmarks.whole.openb FOLDER --times 1.3

FOLDER is `data/csv` of github.com/hkust-adsl/kubernetes-scheduler-simulator (Apache-2.0; Weng et
al., "Beware of fragmentation", USENIX ATC 2023). A pod asks 1, 2, 4 or 8 whole cards, or parts
of one card. Pods that ask the same are a workload.

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
                row["gpu_spec"],
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


def main(given: list[str] | None = None) -> None:
    """Print one row of docs/results/whole.md."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--pods", default="default")
    parser.add_argument("--nodes", default="all_node", choices=("all_node", "gpu_node"))
    parser.add_argument("--times", type=Fraction, default=Fraction(1))
    parser.add_argument("--seconds", type=float, default=150.0)
    parser.add_argument("--levels", action="store_true", help="not only the fewest short")
    parser.add_argument("--pooled", action="store_true", help="cards of a node as one resource")
    own = parser.parse_args(given)
    some = pods(own.folder / f"openb_pod_list_{own.pods}.csv")
    there = nodes(own.folder / f"openb_node_list_{own.nodes}.csv")
    wanted = asked(some, there, own.times, own.pooled)
    needs = sorted(some)
    begun, cpu = time.monotonic(), time.process_time()
    found = searched(wanted, seconds=own.seconds, fewest=not own.levels)
    took = time.monotonic() - begun, time.process_time() - cpu
    begun = time.process_time()
    verdict = judge(found)
    judged = time.process_time() - begun
    cards = sum(m * needs[n].cards * needs[n].part for n, m in enumerate(found.totals)) / CARD
    total = sum(row.cards * count for row, count in there.items())
    print(
        f"openb {own.pods} x {float(own.times):g}, {own.nodes}{', pooled' if own.pooled else ''}: "
        f"{sum(a or 0 for a in wanted.asked):,} asked, "
        f"{sum(wanted.problem.whole):,} due whole, {sum(found.totals):,} placed, "
        f"short {verdict.short}, at least {verdict.least}, lowest part "
        f"{float(min(found.parts())):.4f}, {cards:,.1f} of {total:,} cards "
        f"({cards / total:.2%}), "
        f"{took[0]:.0f} s ({took[1]:.0f} of the processor), judge {judged:.1f} s"
    )
    print(verdict.explain())


if __name__ == "__main__":
    main()
