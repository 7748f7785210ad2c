"""A plan (fairopt/plan/v1): what each queue holds and is due, why, and whole tasks on every node.

The fluid answer with its certificate is part of the plan, beside the exact amounts that the whole
tasks were placed with, so that `fairopt verify` needs the plan alone.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from fairopt import allocation
from fairopt.allocation.writing import to_dict
from fairopt.connect.plan import listed, moves
from fairopt.connect.plan import staying as stay_plan
from fairopt.connect.plan import whole_tasks as whole_plan
from fairopt.connect.plan.packing import pack
from fairopt.connect.plan.problem import ClusterProblem, measured, set_aside
from fairopt.connect.plan.staying import Moving
from fairopt.connect.plan.whole_tasks import Proving
from fairopt.errors import Infeasible
from fairopt.whole.proof.judging import PROVED

if TYPE_CHECKING:
    from fairopt.notions import Notion

SCHEMA = "fairopt/plan/v1"


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
    from fairopt.notions import MaxMin

    notion, cards = notion or MaxMin(**measured(problem)), problem.cluster.cards
    problem, answer = _solved(problem, notion, progress)
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
        if not moves.unnamed(problem):
            whole["moves"] = moves.of(problem, packed, moving.pods)
    if found is not None:
        whole["proof"] = whole_plan.proof(whole_plan.replaced(found, packed))
    proved = whole.get("proof", {}).get("state") == PROVED
    return {
        "schema": SCHEMA,
        "resources": list(problem.instance.resources),
        "queues": listed.queues(problem, answer, packed),
        "workloads": listed.workloads(problem, answer, packed, proved),
        "shapes": listed.shapes(problem, answer, packed),
        "out": listed.out(problem),
        "undivided": [
            {
                "node": row.node,
                "pod": row.name,
                "why": row.why,
                "request": listed.exact(row.request),
            }
            for row in problem.cluster.undivided
        ],
        "quotas": listed.quotas(problem),
        "nested": problem.nested,
        "overfull": list(problem.over),
        "not_modelled": listed.not_modelled(problem),
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


def _solved(
    problem: ClusterProblem, notion: Notion, progress: Callable[[int, int], None] | None
) -> tuple[ClusterProblem, allocation.Allocation]:
    """The answer, of the workloads for whom quotas leave something where a notion divides among
    those alone; the others are set aside, and what leaves them nothing is said of each."""
    from fairopt import solving

    try:
        answer = solving.solve(problem.instance, notion, progress=progress, uncertified="return")
    except Infeasible as conflict:
        if not conflict.nothing or len(conflict.nothing) == len(problem.users):
            raise
        problem = set_aside(problem, conflict.nothing)
        answer = solving.solve(problem.instance, notion, progress=progress, uncertified="return")
    return problem, answer


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
