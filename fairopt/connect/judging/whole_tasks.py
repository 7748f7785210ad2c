"""Judge the whole tasks of a plan: the question asked again from its rows, then as any answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from fairopt.allocation import Allocation
from fairopt.connect.cluster.together import of_row
from fairopt.connect.plan import whole_tasks as whole_plan
from fairopt.connect.plan.rows import PlanLists
from fairopt.instance.reading import table
from fairopt.whole.proof import certificate
from fairopt.whole.proof.answer import Asked, WholeTasks
from fairopt.whole.proof.judging import Verdict, judge


@dataclass(frozen=True)
class JudgedWhole:
    """The verdict on whole tasks, and where the plan says something else.

    Parameters
    ----------
    verdict : on the placement and the prices. wrong : what the plan says and is not so.
    """

    verdict: Verdict
    wrong: tuple[str, ...]


def question(
    rows: PlanLists, answer: Allocation, cards: Sequence[str] = ()
) -> tuple[Asked, list[list[tuple[int, dict[int, int]]]]]:
    """What a plan asks of whole tasks, and its machines by shape.

    Parameters
    ----------
    answer : the fluid answer with its certificate as judged here: dues are read off it again.
    cards : resources that come on single cards.

    Raises
    ------
    BadInput : amounts that are no cards.
    """
    inst = answer.instance
    limit = [None if np.isinf(x) else int(x) for x in inst.limit.tolist()]
    quotas = inst.quotas
    wanted = whole_plan.asked(
        answer,
        [rows.exact(rows.workloads[name], "demand", name) for name in inst.users],
        [
            (name, rows.shapes[name]["count"], rows.exact(rows.shapes[name], "capacity", name))
            for name in inst.servers
        ],
        limit,
        quotas is not None and bool(quotas.quotas or quotas.bounds),
        [of_row(rows.workloads[name]) for name in inst.users],
        cards,
    )
    at = {name: n for n, name in enumerate(inst.users)}
    return wanted, [
        [
            (own["count"], {at[name]: m for name, m in own["tasks"].items()})
            for own in rows.shapes[name].get("machines", [])
        ]
        for name in inst.servers
    ]


def off_cards(
    wanted: Asked, machines: Sequence[Sequence[tuple[int, Mapping[int, int]]]]
) -> Iterator[str]:
    """Machines whose tasks do not lie on their cards."""
    for j, _, tasks in whole_plan.nodes(wanted, machines):
        if not wanted.problem.classes[j].lies(tasks):
            yield f"a node of {wanted.rows[j].name}"


def judge_whole(
    data: Mapping[str, Any],
    rows: PlanLists,
    wanted: Asked,
    machines: list[list[tuple[int, dict[int, int]]]],
) -> JudgedWhole:
    """Judge the whole tasks of a plan whose rows were checked."""
    faults = rows.faults
    told = table(data["proof"], "proof", faults)
    proof = certificate.read(told.get("certificate", {}), wanted.problem, faults, "proof")
    faults.stop()
    found = WholeTasks(wanted, whole_plan.nodes(wanted, machines), proof)
    verdict = judge(found)
    dues = table(told.get("due", {}), "proof.due", faults)
    wrong = [
        f"due of {name}"
        for name, d in zip(wanted.users, wanted.due, strict=True)
        if not isinstance(dues.get(name), str) or dues[name] != _written(d)
    ]
    for key in ("state", "short", "least"):
        if told.get(key) != getattr(verdict, key):
            wrong.append(f"{key}: {told.get(key)}, where it is {getattr(verdict, key)}")
    if not verdict.sound:
        wrong += [f"{c.name}: {c.witness}" for c in verdict.checks if not c.holds]
    return JudgedWhole(verdict, tuple(wrong))


def _written(exact: Fraction) -> str:
    return str(exact)
