"""Whole tasks on the public lists openb: 8,152 pods, 6,212 cards, parts of cards.

    python -m benchmarks.whole.openb FOLDER --times 1.3

FOLDER is `data/csv` of github.com/hkust-adsl/kubernetes-scheduler-simulator (Apache-2.0; Weng et
al., "Beware of fragmentation", USENIX ATC 2023). A pod asks 1, 2, 4 or 8 whole cards, or parts
of one card. Pods that ask the same are a workload.

Two questions are asked. *Placed*: parts of cards lie on the first two cards of a node, each of
which is a resource of its own; whole cards are the others, or one of these. Cards of a node are
alike, so that every such placement is one of the list; not every one of the list is such. *Bound*:
cards are one resource, beside the sums of (k + 1) x rounded down over k, k = 1 to 3, which no card
exceeds 1 of (dual feasible functions): what no placement with the first is short of less.
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
from fairopt.whole.asking import searched, taken_from
from fairopt.whole.proof.answer import Asked
from fairopt.whole.proof.judging import judge
from fairopt.whole.proof.problem import Row

CARD = 1000
_STEPS = (1, 2, 3)


class Need(NamedTuple):
    """What a pod asks: thousandths of CPU, MiB, cards, thousandths of each card, models."""

    cpu: int
    memory: int
    cards: int
    part: int
    models: str

    @property
    def whole(self) -> bool:
        """Whether it asks whole cards, or none."""
        return self.part in (0, CARD)


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


def rounded(part: int, k: int) -> Fraction:
    """(k + 1) x rounded down over k, x itself where (k + 1) x is whole: at most 1 on a card."""
    x = Fraction(part, CARD) * (k + 1)
    return Fraction(part, CARD) if x.denominator == 1 else Fraction(int(x), k)


Amounts = dict[str, Fraction]


def bounding(need: Need) -> Amounts:
    """What a pod takes of a node where cards are one resource, with what bounds their parts."""
    found = {"cards": need.cards * Fraction(need.part, CARD)}
    for k in _STEPS:
        found[f"cards/{k}"] = need.cards * rounded(need.part, k)
    return found


def ways(need: Need, cards: int) -> list[Amounts]:
    """Where the cards of a pod may lie: the first two cards of a node, or its others."""
    first = [f"card{k}" for k in range(min(2, cards))]
    if not need.cards:
        return [{}]
    if not need.whole:
        return [{own: Fraction(need.part, CARD)} for own in first]
    found: list[Amounts] = []
    if need.cards == 1:
        found = [{own: Fraction(1)} for own in first]
    elif need.cards >= len(first) and len(first) == 2:
        found = [{**dict.fromkeys(first, Fraction(1)), "others": Fraction(need.cards - 2)}]
    if need.cards <= cards - 2:
        found.append({"others": Fraction(need.cards)})
    return found


def asked(some: Counter[Need], there: Counter[Node], times: Fraction, bound: bool) -> Asked:
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
    due = taken_from(fo.solve(inst, fo.MaxMin(), uncertified="return"), [1] * len(needs))
    classes = []
    for i, row in enumerate(rows):
        room = {"cpu": Fraction(row.cpu), "memory": Fraction(row.memory)}
        if bound:
            keys = ("cards", *(f"cards/{k}" for k in _STEPS))
            room.update(dict.fromkeys(keys, Fraction(row.cards)))
        else:
            room.update({f"card{k}": Fraction(1) for k in range(min(2, row.cards))})
            room["others"] = Fraction(max(0, row.cards - 2))
        kinds = []
        for n, need in enumerate(needs):
            base = {"cpu": Fraction(need.cpu), "memory": Fraction(need.memory)}
            for k, own in enumerate([bounding(need)] if bound else ways(need, row.cards)):
                takes = {key: x for key, x in {**base, **own}.items() if x}
                if may(need, row) and need.cards <= row.cards:
                    kinds.append((n, str(k), takes, None))
        room = {key: x for key, x in room.items() if x}
        classes.append(Row(f"{row.model or 'cpu'}-{i}", there[row], room, tuple(kinds)))
    return Asked(
        tuple(names),
        tuple(classes),
        tuple(d for d, _ in due),
        tuple(many),
        (1,) * len(needs),
        tuple(words for _, words in due),
        tuple({row.name: row.count} for row in classes),
    )


def main(given: list[str] | None = None) -> None:
    """Print one row of docs/results/whole.md."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--pods", default="default")
    parser.add_argument("--nodes", default="all_node", choices=("all_node", "gpu_node"))
    parser.add_argument("--times", type=Fraction, default=Fraction(1))
    parser.add_argument("--seconds", type=float, default=150.0)
    parser.add_argument("--levels", action="store_true", help="not only the fewest short")
    parser.add_argument("--bound", action="store_true", help="the second question")
    own = parser.parse_args(given)
    some = pods(own.folder / f"openb_pod_list_{own.pods}.csv")
    there = nodes(own.folder / f"openb_node_list_{own.nodes}.csv")
    wanted = asked(some, there, own.times, own.bound)
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
        f"openb {own.pods} x {float(own.times):g}, {own.nodes}{', bound' * own.bound}: "
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
