"""Tasks that stay where they run: the key `stay` of a plan.

The plan lists what each node runs now, so that the judge (`judging_stay`) asks the same question
from the plan's own rows. Machines of a shape are then in the order of its nodes.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np

from fairopt import storage
from fairopt.connect.plan.packing import Packed
from fairopt.errors import UsageError
from fairopt.instance.reading import Faults
from fairopt.whole.proof import staying
from fairopt.whole.proof.answer import Asked
from fairopt.whole.proof.placement import Nodes
from fairopt.whole.proof.problem import Problem
from fairopt.whole.proof.staying import Held

if TYPE_CHECKING:
    from fairopt.connect.plan.problem import ClusterProblem as Cluster

STEPS = ("0", "0.005", "0.01", "0.02", "0.05", "0.1", "0.2", "0.5", "1")
"""parts of everybody's tasks that may be missing, tried in order for a most number of moves"""
_LARGEST = 10**6


@dataclass(frozen=True)
class Moving:
    """How much may be moved.

    Parameters
    ----------
    within : part of its tasks of the plan that everybody may miss.
    most : moves at most; `within` is then the smallest of STEPS at which they are enough.
    cost : of moving a task of a workload, 1 where it is not named.
    seconds, told : as of whole tasks.
    """

    within: Fraction = Fraction(0)
    most: int | None = None
    cost: Mapping[str, int] = field(default_factory=dict)
    seconds: float | None = None
    told: Callable[[str], None] | None = None


def moved(
    cluster: Cluster, wanted: Asked, packed: Packed, how: Moving
) -> tuple[Packed, dict[str, Any]]:
    """The plan's machines with as much as can be kept where it runs, and the key `stay`.

    Raises
    ------
    UsageError : a cost of something that is no workload.
    """
    from fairopt.whole.stay import keep

    users = wanted.users
    unknown = sorted(how.cost.keys() - set(users))
    if unknown:
        raise UsageError(f"--cost: found {unknown[0]!r}; wanted workloads of the plan")
    cost = [how.cost.get(name, 1) for name in users]
    problem = wanted.problem
    held = _held(cluster)
    plain = [[own for count, own in machines for _ in range(count)] for machines in packed.machines]
    for part in (how.within,) if how.most is None else map(Fraction, STEPS):
        floor = floors(problem, packed.totals.tolist(), part)
        question = staying.staying(problem, held, floor, cost)
        begin = [[plain[j][i] for j, i in which] for which in question.members]
        nodes, prices = keep(question, begin, how.seconds, told=how.told)
        found = staying.judge(question, nodes, prices)
        if how.most is None or found.held - found.kept <= how.most:
            break
    names = [_nodes(row.members) for row in cluster.shapes]
    key = {
        "within": str(part),
        "held": {
            names[j][i]: {users[n]: k for n, k in sorted(own.items())}
            for j, nodes_of in enumerate(held)
            for i, own in enumerate(nodes_of)
            if own
        },
        "floor": dict(zip(users, floor, strict=True)),
        "cost": dict(zip(users, cost, strict=True)),
        "kept": found.kept,
        "running": found.held,
        "most": found.most,
        "prices": prices.to_dict(),
    }
    return _in_order(question, nodes, problem), key


def floors(problem: Problem, totals: Sequence[int], within: Fraction) -> list[int]:
    """(N,) the fewest tasks: what is due and placed, less a part, in whole gangs."""
    return [
        -gang * int(-(min(m, full) * (1 - within)) // gang)
        for m, full, gang in zip(totals, problem.full, problem.gang, strict=True)
    ]


def _nodes(members: Sequence[tuple[str, int]]) -> list[str]:
    return [name for name, count in members for _ in range(count)]


def _held(cluster: Cluster) -> Held:
    """What each node runs; nodes that only a number of is known run nothing that is known."""
    at = {
        name: (j, i)
        for j, row in enumerate(cluster.shapes)
        for i, name in enumerate(_nodes(row.members))
        if name and (name, 1) in row.members
    }
    held: list[list[dict[int, int]]] = [[{} for _ in range(row.count)] for row in cluster.shapes]
    for n, work in enumerate(cluster.users):
        for name, k in work.held.items():
            if name in at:
                j, i = at[name]
                held[j][i][n] = k
    return held


def _in_order(question: staying.Staying, nodes: Nodes, problem: Problem) -> Packed:
    """Machines of each shape in the order of its nodes; nodes alike get most of what they ran."""
    machines: list[list[dict[int, int]]] = [[{}] * own.count for own in problem.classes]
    left = [list(which) for which in question.members]
    for j, count, tasks in nodes:
        for _ in range(count):
            shape, i = left[j].pop(0)
            machines[shape][i] = question.problem.classes[j].by_user(tasks)
    total = question.problem.totals(nodes)
    groups = tuple(
        tuple((len(list(alike)), dict(own)) for own, alike in groupby(each)) for each in machines
    )
    return Packed(groups, np.array(total))


def read_costs(path: str) -> dict[str, int]:
    """Costs of moving a task, by workload: a CSV file with the columns workload and cost.

    Raises
    ------
    BadInput : other columns, a workload twice, a cost that is no whole number from 0 to 1e6.
    """
    source = storage.source_name(path)
    faults = Faults(source)
    content = storage.read_text(path, 2**25, "a CSV file of costs")
    found: dict[str, int] = {}
    try:
        lines = list(csv.reader(io.StringIO(content, newline=""), strict=True))
    except csv.Error as error:
        faults.add("file", f"text that is not CSV ({error})", "a CSV file of costs")
        lines = [["workload", "cost"]]
    if not lines or lines[0] != ["workload", "cost"]:
        head = ",".join(lines[0]) if lines else "nothing"
        faults.add("line 1", f"the columns {head[:60]}", "workload,cost")
    for k, line in enumerate(lines[1:], 2):
        if not line:
            continue
        name, number = (line[0], line[1]) if len(line) == 2 else ("", "")
        good = number.isascii() and number.isdigit() and int(number) <= _LARGEST
        if not good or not name or name in found:
            faults.add(f"line {k}", ",".join(line)[:60], "a workload once, and a cost up to 1e6")
            continue
        found[name] = int(number)
    faults.stop()
    return found
