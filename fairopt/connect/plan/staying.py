"""Tasks that stay where they run: the key `stay` of a plan.

The plan lists what each node runs now, so that the judge (`judging_stay`) asks the same question
from the plan's own rows. Machines of a shape are then in the order of its nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np

from fairopt import storage
from fairopt.connect.plan.packing import Packed
from fairopt.errors import UsageError
from fairopt.files.cells import CsvText
from fairopt.instance.reading import Faults
from fairopt.whole.proof import claims, staying
from fairopt.whole.proof.answer import Asked
from fairopt.whole.proof.certificate import PatternPrices
from fairopt.whole.proof.placement import Nodes
from fairopt.whole.proof.problem import Problem
from fairopt.whole.proof.running import LARGEST_COST
from fairopt.whole.proof.staying import Dear, Held

if TYPE_CHECKING:
    from fairopt.connect.plan.problem import ClusterProblem as Cluster

STEPS = ("0", "0.005", "0.01", "0.02", "0.05", "0.1", "0.2", "0.5", "1")
"""parts of everybody's tasks that may be missing, tried in order for a most number of moves"""
Single = dict[str, dict[str, dict[str, int]]]
"""{node: {workload: {pod: cost}}}"""


@dataclass(frozen=True)
class Moving:
    """How much may be moved.

    Parameters
    ----------
    within : part of its tasks of the plan that everybody may miss.
    most : moves at most; `within` is then the smallest of STEPS at which they are enough.
    cost : of moving a task of a workload, 1 where it is not named.
    pods : of moving single pods, by their full names; others cost what their workload says.
    frontier : whether STEPS are all answered, up to the first at which all that runs can stay.
    seconds, told : as of whole tasks, of each answer.
    """

    within: Fraction = Fraction(0)
    most: int | None = None
    cost: Mapping[str, int] = field(default_factory=dict)
    pods: Mapping[str, int] = field(default_factory=dict)
    frontier: bool = False
    seconds: float | None = None
    told: Callable[[str], None] | None = None


@dataclass(frozen=True)
class _StayPoint:
    """What stays where everybody may miss a part of its tasks: a placement, and prices for it."""

    part: Fraction
    question: staying.Staying
    nodes: Nodes
    prices: PatternPrices

    @property
    def found(self) -> staying.Stays:
        return staying.judge(self.question, self.nodes, self.prices)


def moved(
    cluster: Cluster, wanted: Asked, packed: Packed, how: Moving
) -> tuple[Packed, dict[str, Any]]:
    """The plan's machines with as much as can be kept where it runs, and the key `stay`.

    Raises
    ------
    UsageError : a cost of something that is no workload.
    """
    users = wanted.users
    unknown = sorted(how.cost.keys() - set(users))
    if unknown:
        raise UsageError(f"--cost: found {unknown[0]!r}; wanted workloads of the plan")
    cost = [how.cost.get(name, 1) for name in users]
    held = _held(cluster)
    names = [_nodes(row.members) for row in cluster.shapes]
    single = _single(cluster, how)
    asked = held, cost, dear(names, users, single)
    points, chosen = _points(wanted.problem, asked, packed, how)
    key = {
        "within": str(chosen.part),
        "held": {
            names[j][i]: {users[n]: k for n, k in sorted(own.items())}
            for j, nodes_of in enumerate(held)
            for i, own in enumerate(nodes_of)
            if own
        },
        "cost": dict(zip(users, cost, strict=True)),
        **({"pods": single} if single else {}),
        **_told(chosen, users),
    }
    if how.frontier:
        key["frontier"] = [
            {
                "within": str(point.part),
                **_told(point, users),
                "short": claims.short(wanted.problem, point.question.problem.totals(point.nodes)),
                "machines": _machines(cluster, wanted, point),
            }
            for point in points
        ]
    return _in_order(chosen.question, chosen.nodes, wanted.problem), key


def _points(
    problem: Problem, asked: tuple[Held, Sequence[int], Dear], packed: Packed, how: Moving
) -> tuple[list[_StayPoint], _StayPoint]:
    """Points for growing parts that everybody may miss, and the one of them that is asked for.

    Parameters
    ----------
    asked : what runs on each node, and what moving it costs: by workload, and of single tasks.
    """
    from fairopt.whole.stay import keep

    held, cost, single = asked
    plain = [[own for count, own in machines for _ in range(count)] for machines in packed.machines]
    parts = [how.within] if how.most is None else []
    if how.frontier or how.most is not None:
        parts = sorted({*parts, *map(Fraction, STEPS)})
    points: list[_StayPoint] = []
    chosen: _StayPoint | None = None
    for part in parts:
        floor = staying.floors(problem, packed.totals.tolist(), part)
        question = staying.staying(problem, held, floor, cost, single)
        begin = [[plain[j][i] for j, i in which] for which in question.members]
        point = _StayPoint(part, question, *keep(question, begin, how.seconds, told=how.told))
        points.append(point)
        kept = question.kept(point.nodes)
        enough = part >= how.within if how.most is None else question.held - kept <= how.most
        if chosen is None and enough:
            chosen = point
        if chosen is not None and (not how.frontier or kept == question.held):
            break
        # what is kept here is kept where more may be missing
        plain = question.nodewise(point.nodes)
    # prices bound what stays for any floors
    every = [point.prices for point in points]
    best = [replace(own, prices=min(every, key=own.question.most)) for own in points]
    return best, best[points.index(chosen or points[-1])]


def _told(point: _StayPoint, users: Sequence[str]) -> dict[str, Any]:
    found = point.found
    return {
        "floor": dict(zip(users, point.question.floor, strict=True)),
        "kept": found.kept,
        "running": found.held,
        "most": found.most,
        "prices": point.prices.to_dict(),
    }


def _machines(
    cluster: Cluster, wanted: Asked, point: _StayPoint
) -> dict[str, list[dict[str, Any]]]:
    """The machines of each shape as in the plan's rows, in the order of its nodes."""
    packed = _in_order(point.question, point.nodes, wanted.problem)
    return {
        row.name: [
            {"count": count, "tasks": {wanted.users[n]: m for n, m in sorted(own.items())}}
            for count, own in machines
        ]
        for row, machines in zip(cluster.shapes, packed.machines, strict=True)
    }


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


def _single(cluster: Cluster, how: Moving) -> Single:
    """Costs of pods on nodes and of workloads of which the costs name one.

    Raises
    ------
    UsageError : a pod that does not run.
    """
    found: Single = {}
    known: set[str] = set()
    there = {node for row in cluster.shapes for node, _ in row.members}
    for name, work in zip(cluster.instance.users, cluster.users, strict=True):
        for node, pods in sorted(work.pods.items()):
            some = how.pods.keys() & set(pods)
            known |= some
            if some and node in there and work.held.get(node) == len(pods):
                plain = how.cost.get(name, 1)
                found.setdefault(node, {})[name] = {
                    pod: how.pods.get(pod, plain) for pod in sorted(pods)
                }
    if unknown := sorted(how.pods.keys() - known):
        raise UsageError(f"--cost: found {unknown[0]!r}; wanted pods that run, as namespace/name")
    return found


def dear(names: Sequence[Sequence[str]], users: Sequence[str], single: Single) -> Dear:
    """The same by class, node and user.

    Parameters
    ----------
    names : of the nodes of each class.
    """
    at = {name: n for n, name in enumerate(users)}
    return [
        [
            {at[name]: list(costs.values()) for name, costs in single.get(node, {}).items()}
            for node in nodes
        ]
        for nodes in names
    ]


def _in_order(question: staying.Staying, nodes: Nodes, problem: Problem) -> Packed:
    """Machines of each shape in the order of its nodes."""
    machines = question.nodewise(nodes)
    machines += [[] for _ in range(len(problem.classes) - len(machines))]
    groups = tuple(
        tuple((len(list(alike)), dict(own)) for own, alike in groupby(each)) for each in machines
    )
    return Packed(groups, np.array(question.problem.totals(nodes)))


def read_costs(path: str) -> tuple[dict[str, int], dict[str, int]]:
    """Costs of moving a task, by workload and by pod: a CSV file with workload,cost or pod,cost.

    Raises
    ------
    BadInput : other columns, a name twice, a cost that is no whole number from 0 to 1e6.
    """
    source = storage.source_name(path)
    faults = Faults(source)
    content = storage.read_text(path, 2**25, "a CSV file of costs")
    found: dict[str, int] = {}
    text = CsvText(content, "", faults)
    if text.header not in (["workload", "cost"], ["pod", "cost"]):
        head = ",".join(text.header) or "nothing"
        faults.add("line 1", f"the columns {head[:60]}", "workload,cost or pod,cost")
        faults.stop()
    for line, row in text.rows():
        name, number = row.values()
        good = number.isascii() and number.isdigit() and int(number) <= LARGEST_COST
        if not good or not name or name in found:
            faults.add(f"line {line}", f"{name},{number}"[:60], "a name once, and a cost up to 1e6")
            continue
        found[name] = int(number)
    faults.stop()
    return ({}, found) if text.header[0] == "pod" else (found, {})
