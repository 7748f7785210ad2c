"""What becomes of every pod: it stays, stops, starts, moves, waits, or is left where it is.

Tasks of a workload are all alike, so a pod that must leave its node takes any new place of its
workload; then pods on nodes out of service do, and then those that wait. Pods on such nodes that
get no place are left to themselves: the plan says nothing of those nodes.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from fairopt.connect.cluster.node_room import ZoneCounts
from fairopt.connect.cluster.nodes import DELETED
from fairopt.connect.cluster.record import Workload
from fairopt.connect.plan.move_order import Move, in_order
from fairopt.connect.plan.packing import Packed
from fairopt.connect.text.fields import Amounts

if TYPE_CHECKING:
    from fairopt.connect.plan.problem import ClusterProblem

COLUMNS = ("step", "do", "pod", "workload", "from", "to", "why")


def unnamed(problem: ClusterProblem) -> str:
    """The first shape with nodes that have no name each; empty where all have one."""
    for row in problem.shapes:
        if any(not name or count != 1 for name, count in row.members):
            return row.name
    return ""


def of(
    problem: ClusterProblem, packed: Packed, costs: Mapping[str, int] | None = None
) -> list[dict[str, Any]]:
    """The rows of the key `moves` of a plan whose machines are in the order of its nodes.

    Of the pods of a workload on a node, those that `costs` says most of stay.

    Every node has a name of its own (`unnamed` says whether that is so).
    """
    found = list(_all(problem, packed, costs or {}))
    capacity = {name: row.capacity for row in problem.shapes for name, _ in row.members}
    made = [move for move in found if move.do in ("stop", "start", "move")]
    stay = [move for move in found if move.do == "stay"]
    pairs = zip(problem.instance.users, problem.users, strict=True)
    zones = ZoneCounts(
        {name: spread for name, work in pairs if (spread := work.together.spread) is not None},
        {name: row.name for row in problem.shapes for name, _ in row.members},
    )
    steps = in_order(made, stay, capacity, problem.cluster.cards, zones)
    rows = [_row(k, move) for k, move in enumerate(steps, 1)]
    rest = [move for move in found if move.do not in ("stop", "start", "move")]
    return rows + [_row(None, m) for m in sorted(rest, key=lambda m: (m.do, m.workload, m.pod))]


def to_csv(rows: Sequence[Mapping[str, Any]]) -> str:
    """The rows as CSV: the steps in order, then the pods that need none."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(["" if row[key] is None else row[key] for key in COLUMNS] for row in rows)
    return out.getvalue()


def _row(step: int | None, move: Move) -> dict[str, Any]:
    return {
        "step": step,
        "do": move.do,
        "pod": move.pod,
        "workload": move.workload,
        "from": move.source,
        "to": move.target,
        "why": move.why,
    }


def _all(problem: ClusterProblem, packed: Packed, costs: Mapping[str, int]) -> Iterator[Move]:
    """What becomes of every pod, in no order."""
    final: dict[str, Mapping[int, int]] = {}
    for row, machines in zip(problem.shapes, packed.machines, strict=True):
        each = [own for count, own in machines for _ in range(count)]
        final.update({name: own for (name, _), own in zip(row.members, each, strict=True)})
    out = {node.name: node.out for node in problem.cluster.nodes if node.out}
    for n, (name, work) in enumerate(zip(problem.instance.users, problem.users, strict=True)):
        places = {node: own[n] for node, own in final.items() if own.get(n)}
        yield from _of_one(name, work, problem.demand(n), places, final, out, costs)
    for name, work, why in problem.stuck:
        for move in _of_one(name, work, work.demand, {}, final, out, costs):
            yield move if move.do == "leave" else replace(move, why=why)


def _of_one(
    name: str,
    work: Workload,
    demand: Amounts,
    places: Mapping[str, int],
    nodes: Mapping[str, object],
    out: Mapping[str, str],
    costs: Mapping[str, int],
) -> Iterator[Move]:
    """What becomes of the pods of one workload, which gets `places`."""
    pods = _pods(name, work, sum(places.values()))
    pods = {node: sorted(own, key=lambda pod: -costs.get(pod, 0)) for node, own in pods.items()}
    new: list[str] = []
    leaving, away = [], []
    for node in sorted({*places, *pods} - {""}):
        here, due = pods.get(node, []), places.get(node, 0)
        for pod in here[:due]:
            yield Move("stay", pod, name, demand, node, node)
        rest = [Move("move", pod, name, demand, node) for pod in here[due:]]
        if node in nodes:
            leaving += rest
        else:
            away += [replace(move, why=f"{node} is {out[node]}") for move in rest]
        new += [node] * (due - len(here))
    waiting = [Move("start", pod, name, demand) for pod in pods.get("", [])]
    sources = [*leaving, *away, *waiting]
    for move, target in zip(sources, new, strict=False):
        gone = out.get(move.source) == DELETED  # there is nothing left to stop
        yield replace(move, do="start" if gone else move.do, target=target)
    for k, move in enumerate(sources[len(new) :], len(new)):
        if k < len(leaving):
            yield replace(move, do="stop", why=f"{name} is due {sum(places.values())} whole tasks")
        elif move.source:
            yield replace(move, do="leave", why=f"{move.why}; no place in service is due to it")
        else:
            yield replace(move, do="wait")


def _pods(name: str, work: Workload, places: int) -> dict[str, list[str]]:
    """Names of pods by node, those that wait by ""; made up where nothing says them."""
    held = sum(work.held.values())
    waiting = max(places - held, 0) if work.waiting is None else work.waiting
    found: dict[str, list[str]] = {}
    k = 0
    for node, count in [*sorted(work.held.items()), ("", waiting)]:
        own = sorted(work.pods.get(node, ()))
        if len(own) != count:
            own = [f"{name} #{k + i}" for i in range(1, count + 1)]
            k += count
        found[node] = own
    return found
