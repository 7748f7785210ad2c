"""A plan (fairopt/plan/v1): what each queue holds and is due, why, and whole tasks on every node.

The fluid answer with its certificate is part of the plan, beside the exact amounts that the whole
tasks were placed with, so that `fairopt verify` needs the plan alone.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from fairopt import allocation
from fairopt.allocation.writing import to_dict
from fairopt.connect.cluster.nodes import DELETED
from fairopt.connect.cluster.shapes import Shape
from fairopt.connect.plan import could_hold, moves, scarcity, status
from fairopt.connect.plan import staying as stay_plan
from fairopt.connect.plan import whole_tasks as whole_plan
from fairopt.connect.plan.packing import Packed, pack
from fairopt.connect.plan.problem import ClusterProblem, measured
from fairopt.connect.plan.staying import Moving
from fairopt.connect.plan.whole_tasks import Proving
from fairopt.files.quantities import written

if TYPE_CHECKING:
    from fairopt.notions import Notion

SCHEMA = "fairopt/plan/v1"
SHOWN = 20
"""most names of pods listed for what is not modelled; their number is always given"""


def make(
    problem: ClusterProblem,
    notion: Notion | None = None,
    progress: Callable[[int, int], None] | None = None,
    proving: Proving | None = None,
    moving: Moving | None = None,
) -> dict[str, Any]:
    """The plan of a problem, as plain data.

    Parameters
    ----------
    notion : what is fair; default max-min of dominant shares, queue by queue.
    progress : called with (done, of) while a long sequence of programs is solved.
    proving : how whole tasks are proved; None: they are those of the heuristic.
    moving : how much of what runs may be moved; None: nodes alike are filled in any order.

    Raises
    ------
    SolverFailure : no step gave an answer; one that is not certified is returned with its verdict.
    """
    from fairopt import solving
    from fairopt.notions import MaxMin

    notion, cards = notion or MaxMin(**measured(problem)), problem.cluster.cards
    answer = solving.solve(problem.instance, notion, progress=progress, uncertified="return")
    packed = pack(
        _whole(problem, answer),
        [problem.demand(n) for n in range(len(problem.users))],
        [row.capacity for row in problem.shapes],
        answer.tasks,
        answer.levels,
    )
    if proving is None and (cards or any(work.together for work in problem.users)):
        packed = whole_plan.bound(problem, answer, packed)
    whole: dict[str, Any] = {"cards": list(cards)} if cards else {}
    found = None
    if proving is not None:
        packed, found = whole_plan.proved(problem, answer, packed, proving)
    if moving is not None:
        wanted = whole_plan.of(problem, answer) if found is None else found.asked
        packed, stay = stay_plan.moved(problem, wanted, packed, moving)
        whole["stay"] = stay
        if not (cards or moves.unnamed(problem)):
            whole["moves"] = moves.of(problem, packed)
    if found is not None:
        whole["proof"] = whole_plan.proof(whole_plan.replaced(found, packed))
    return {
        "schema": SCHEMA,
        "resources": list(problem.instance.resources),
        "queues": _queues(problem, answer, packed),
        "workloads": _workloads(problem, answer, packed),
        "shapes": _shapes(problem, answer, packed),
        "out": _out(problem),
        "undivided": [
            {"node": row.node, "pod": row.name, "why": row.why, "request": _exact(row.request)}
            for row in problem.cluster.undivided
        ],
        "quotas": _quotas(problem),
        "nested": problem.nested,
        "overfull": list(problem.over),
        "not_modelled": [
            {
                "what": words,
                "pods": len(names),
                "names": names[:SHOWN],
                **_of_whom(problem, names),
            }
            for words, names in problem.cluster.beyond.items()
        ],
        "kinds": [
            {"resource": own.resource, "label": own.label, "speed": dict(sorted(own.speed.items()))}
            for own in problem.kinds
        ],
        **(
            {}
            if problem.kueue is None
            else {
                "kueue": {
                    "notes": problem.kueue.notes(problem.instance),
                    "shares": problem.kueue.shares(),
                }
            }
        ),
        **whole,
        "answer": to_dict(answer),
    }


def _whole(problem: ClusterProblem, answer: allocation.Allocation) -> Any:
    """The instance that whole tasks are placed in; no more of them than are due where quotas bind,
    as one more task could be above a quota."""
    if not problem.bounded:
        return problem.plain
    due = np.floor(answer.tasks.sum(axis=1) * (1 + 1e-9) + 1e-9)
    return problem.plain.replace(limit=np.minimum(problem.plain.limit, np.maximum(due, 0.5)))


def dumps(plan: Mapping[str, Any]) -> str:
    """A plan as JSON text, one line for each row of its lists, ending in a newline."""
    parts = []
    for key, value in plan.items():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            rows = ",\n".join(f"    {_json(row)}" for row in value)
            parts.append(f"  {_json(key)}: [\n{rows}\n  ]")
        else:
            parts.append(f"  {_json(key)}: {_json(value)}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _json(value: Any) -> str:
    return json.dumps(value, allow_nan=False, ensure_ascii=False)


def _exact(amounts: Mapping[str, Any]) -> dict[str, str]:
    return {key: written(amount) for key, amount in sorted(amounts.items())}


def _amounts(row: Any, problem: ClusterProblem) -> dict[str, float]:
    """{resource: amount} of a row of floats; what is within rounding of 0 is 0."""
    names = problem.instance.resources
    return {key: float(x) + 0.0 for key, x in zip(names, row, strict=True)}


# -- rows of the plan -----------------------------------------------------------------------------


def _workloads(problem: ClusterProblem, answer: allocation.Allocation, packed: Packed) -> list[Any]:
    stops = scarcity.blocks(answer, problem.plain)
    held_back = scarcity.quotas(answer, problem.plain)
    rows = []
    held = problem.held.sum(axis=1)
    for n, (name, work) in enumerate(zip(problem.instance.users, problem.users, strict=True)):
        due, whole = float(answer.totals[n]), int(packed.totals[n])
        gang, back = work.together.gang, held_back.get(name, ())
        found = status.status(work.asked, due, whole, stops.get(name, ()), back, gang)
        rows.append(
            {
                "workload": name,
                "queue": work.queue,
                "weight": float(problem.instance.weight[n]),
                "demand": _exact(problem.demand(n)),
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
                "demand": _exact(work.demand),
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


def _queues(problem: ClusterProblem, answer: allocation.Allocation, packed: Packed) -> list[Any]:
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
    if queue not in names or not problem.held.any() or size > could_hold.MOST:
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


def _shapes(problem: ClusterProblem, answer: allocation.Allocation, packed: Packed) -> list[Any]:
    names = problem.instance.users
    prices, use = scarcity.prices(answer), scarcity.use(answer, problem.plain)
    rows = []
    for i, shape in enumerate(problem.shapes):
        idle, stranded = _left(problem, packed, i)
        rows.append(
            {
                "shape": shape.name,
                "count": shape.count,
                "capacity": _exact(shape.capacity),
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


def _left(problem: ClusterProblem, packed: Packed, i: int) -> tuple[dict[str, str], dict[str, str]]:
    """What whole tasks leave idle on a shape, and the part of it no waiting task can use."""
    shape, resources = problem.shapes[i], problem.instance.resources
    waiting = [
        problem.demand(n)
        for n, work in enumerate(problem.users)
        if problem.instance.placement[n, i]
        and (work.asked is None or packed.totals[n] < work.asked)
    ]
    idle = dict.fromkeys(resources, Fraction(0))
    stranded = dict(idle)
    for count, tasks in packed.machines[i]:
        room = {key: shape.capacity.get(key, Fraction(0)) for key in resources}
        for n, k in tasks.items():
            for key, amount in problem.demand(n).items():
                room[key] -= k * amount
        fits = any(all(room[key] >= x for key, x in need.items()) for need in waiting)
        for key, amount in room.items():
            idle[key] += count * amount
            if waiting and not fits:
                stranded[key] += count * amount
    return _exact(idle), _exact(stranded)


def _quotas(problem: ClusterProblem) -> list[Any]:
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


def _out(problem: ClusterProblem) -> list[Any]:
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
