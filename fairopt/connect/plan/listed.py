"""The tables of a plan: queues, workloads, shapes, quotas, and what is out of service."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from fairopt import allocation
from fairopt.connect.cluster.nodes import DELETED
from fairopt.connect.cluster.shapes import SLACK, Shape
from fairopt.connect.plan import could_hold, scarcity, status
from fairopt.connect.plan.packing import Packed
from fairopt.connect.plan.problem import ClusterProblem
from fairopt.connect.readers.sources import NOUNS
from fairopt.connect.text.fields import Amounts
from fairopt.exact import reaches
from fairopt.files.quantities import written
from fairopt.instance import Bools

SHOWN = 20
"""most names listed for what is not modelled; their number is always given"""


def exact(amounts: Mapping[str, Any]) -> dict[str, str]:
    """Amounts by resource, without loss."""
    return {key: written(amount) for key, amount in sorted(amounts.items())}


def _amounts(row: Any, problem: ClusterProblem) -> dict[str, float]:
    """{resource: amount} of a row of floats; what is within rounding of 0 is 0."""
    names = problem.instance.resources
    return {key: float(x) + 0.0 for key, x in zip(names, row, strict=True)}


# -- rows of the plan -----------------------------------------------------------------------------


def workloads(
    problem: ClusterProblem, answer: allocation.Allocation, packed: Packed, proved: bool = False
) -> list[Any]:
    """A row for each workload: what it asks, holds and is due, and why no more; `proved`: as of
    `status.status`."""
    stops = scarcity.blocks(answer, problem.plain)
    held_back = scarcity.held_back(answer, problem.plain)
    rows = []
    held = problem.held.sum(axis=1)
    for n, (name, work) in enumerate(zip(problem.instance.users, problem.users, strict=True)):
        due, whole = float(answer.totals[n]), int(packed.totals[n])
        gang, back = work.together.gang, held_back.get(name, ())
        found = status.status(work.asked, due, whole, stops.get(name, ()), back, gang, proved)
        rows.append(
            {
                "workload": name,
                "queue": work.queue,
                "weight": float(problem.instance.weight[n]),
                "demand": exact(problem.demand(n)),
                "asked": work.asked,
                **work.together.plain(),
                "held": int(held[n] + problem.held_out[n]),
                "held_out": int(problem.held_out[n]),
                "held_on": {
                    problem.shapes[i].name: int(problem.held[n, i])
                    for i in np.flatnonzero(problem.held[n])
                },
                "due": due,
                "whole": whole,
                "loss": max(due - whole, 0.0),
                "level": float(answer.levels[n]),
                "status": found.word,
                "says": found.says,
            }
        )
    for name, work, why in problem.stuck:
        rows.append(
            {
                "workload": name,
                "queue": work.queue,
                "weight": 0.0,
                "demand": exact(work.demand),
                "asked": work.asked,
                "held": sum(work.held.values()),
                "held_out": sum(work.held.values()),
                "held_on": {},
                "due": 0.0,
                "whole": 0,
                "loss": 0.0,
                "level": 0.0,
                "status": status.STUCK,
                "says": why,
            }
        )
    return rows


def queues(problem: ClusterProblem, answer: allocation.Allocation, packed: Packed) -> list[Any]:
    """A row for each queue: what all its workloads hold and are due."""
    owner = [work.queue for work in problem.users]
    names = sorted({*owner, *(work.queue for _, work, _ in problem.stuck)})
    demand = problem.plain.demand
    held = problem.held.sum(axis=1) + problem.held_out
    rows = []
    for name in names:
        own = np.flatnonzero([queue == name for queue in owner])
        more = answer.totals[own] - held[own]
        lost = [work for _, work, _ in problem.stuck if work.queue == name]
        asked = [problem.users[n].asked for n in own] + [work.asked for work in lost]
        rows.append(
            {
                "queue": name,
                "weight": float(problem.cluster.weights.get(name, 1.0)),
                "guaranteed": {},
                "asked": None if None in asked else sum(a for a in asked if a is not None),
                "held": int(held[own].sum()) + sum(sum(work.held.values()) for work in lost),
                "due": float(answer.totals[own].sum()),
                "whole": int(packed.totals[own].sum()),
                "share": float(answer.shares[own].sum()),
                "difference": _amounts(more @ demand[own], problem),
                "could_hold": _could_hold(problem, answer, owner, name),
            }
        )
    return rows


def _could_hold(
    problem: ClusterProblem, answer: allocation.Allocation, owner: list[str], queue: str
) -> dict[str, Any] | None:
    """What the queue could hold, with the prices that prove it; None where it is not computed."""
    names = sorted(set(owner))
    size = len(names) * len(problem.plain.pairs[0])
    if problem.bounded or problem.cluster.volcano is not None:
        return None  # what queues may borrow and are promised is not part of that program
    if queue not in names or not problem.held.any() or size > could_hold.MOST_NUMBERS:
        return None
    weight = {name: problem.cluster.weights.get(name, 1.0) for name in names}
    found = could_hold.of_queue(problem.plain, answer.score, owner, weight, problem.held, queue)
    if found is None:
        return None
    users, servers, resources = problem.instance.names.values()
    return {
        "tasks": found.tasks,
        "share": found.share,
        "mix": {users[n]: float(found.mix[n]) for n in np.flatnonzero(found.mix)},
        "prices": {
            server: {key: float(p) for key, p in zip(resources, row, strict=True) if p > 0}
            for server, row in zip(servers, found.prices, strict=True)
            if row.any()
        },
        "keep": {users[n]: float(found.keep[n]) for n in np.flatnonzero(found.keep)},
    }


def shapes(problem: ClusterProblem, answer: allocation.Allocation, packed: Packed) -> list[Any]:
    """A row for each shape of nodes: what is used of it, what it is worth, and what is stranded."""
    names = problem.instance.users
    demand = [problem.demand(n) for n in range(len(names))]
    waits = np.array(
        [
            work.asked is None or whole < work.asked
            for work, whole in zip(problem.users, packed.totals.tolist(), strict=True)
        ]
    )
    prices, use = scarcity.prices(answer), scarcity.use(answer, problem.plain)
    rows = []
    for i, shape in enumerate(problem.shapes):
        idle, stranded = _left(problem, packed, i, demand, waits & problem.instance.placement[:, i])
        rows.append(
            {
                "shape": shape.name,
                "count": shape.count,
                "capacity": exact(shape.capacity),
                "nodes": _names(shape),
                "kinds": dict(shape.kinds),
                "use": _amounts(use[i], problem),
                "price": _amounts(prices[i], problem),
                "idle": idle,
                "stranded": stranded,
                "machines": [
                    {"count": count, "tasks": {names[n]: tasks for n, tasks in sorted(own.items())}}
                    for count, own in packed.machines[i]
                ],
            }
        )
    return rows


def not_modelled(problem: ClusterProblem) -> list[dict[str, Any]]:
    """What is not modelled, with the pods, or what else, that it is told of."""
    return [
        {
            "what": words,
            "pods": len(names),
            **({"noun": NOUNS[words]} if words in NOUNS else {}),
            "names": names[:SHOWN],
            **_of_whom(problem, names),
        }
        for words, names in problem.cluster.beyond.items()
    ]


def _of_whom(problem: ClusterProblem, names: Sequence[str]) -> dict[str, dict[str, int]]:
    """How many of the pods are of which workload; nothing where they are none of its pods."""
    those = set(names)
    every = [
        *zip(problem.instance.users, problem.users, strict=True),
        *((name, work) for name, work, _ in problem.stuck),
    ]
    found = {
        name: count
        for name, work in every
        if (count := sum(pod in those for pods in work.pods.values() for pod in pods))
    }
    return {"workloads": found} if found else {}


def _names(shape: Shape) -> list[str]:
    """Names of a shape's nodes; none where a row of a table stands for several of them."""
    counted = any(count > 1 for name, count in shape.members if name != shape.name)
    return [] if counted else [name for name, _ in shape.members if name]


def _left(
    problem: ClusterProblem, packed: Packed, i: int, demand: Sequence[Amounts], waits: Bools
) -> tuple[dict[str, str], dict[str, str]]:
    """What whole tasks leave idle on a shape, and the part of it no waiting task can use."""
    shape, resources = problem.shapes[i], problem.instance.resources
    waiting, need = np.flatnonzero(waits), problem.plain.demand[waits]
    idle = dict.fromkeys(resources, Fraction(0))
    stranded = dict(idle)
    for count, tasks in packed.machines[i]:
        room = {key: shape.capacity.get(key, Fraction(0)) for key in resources}
        for n, k in tasks.items():
            for key, amount in demand[n].items():
                room[key] -= k * amount
        # floats tell most of those apart for whom there is no room
        there = np.array([float(room[key]) for key in resources])
        some = (need * (1 - SLACK) <= there).all(axis=1)
        fits = any(
            all(reaches(room[key], x) for key, x in demand[n].items())
            for n in waiting[some].tolist()
        )
        for key, amount in room.items():
            idle[key] += count * amount
            if len(waiting) and not fits:
                stranded[key] += count * amount
    return exact(idle), exact(stranded)


def quotas(problem: ClusterProblem) -> list[Any]:
    """Quotas beside what the nodes in service have for those that share."""
    rows = []
    for own in problem.cluster.ceilings:
        there = sum(
            (row.count * row.capacity.get(own.resource, Fraction(0)) for row in problem.shapes),
            Fraction(0),
        )
        rows.append(
            {
                "queue": own.queue,
                "quota": own.name,
                "resource": own.resource,
                "most": written(own.most),
                "there": written(there),
                "above": own.most > there,
            }
        )
    return rows


def out(problem: ClusterProblem) -> list[Any]:
    """Nodes out of service, with the tasks that are held there; by name where the node is gone."""
    held: dict[str, int] = {}
    names: dict[str, list[str]] = {}
    for work in problem.cluster.workloads:
        for name, tasks in work.held.items():
            held[name] = held.get(name, 0) + tasks
            names.setdefault(name, []).extend(work.pods.get(name, ()))
    return [
        {
            "node": node.name,
            "why": node.out,
            "held": held.get(node.name, 0),
            **(
                {"pods": sorted(names[node.name])[:SHOWN]}
                if node.out == DELETED and names.get(node.name)
                else {}
            ),
        }
        for node in problem.cluster.nodes
        if node.out
    ]
