"""Judge what stays where it runs in a plan: the question asked again from its rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fairopt.connect.plan.rows import PlanLists
from fairopt.instance.reading import known_keys, shown, table
from fairopt.whole.proof import certificate, staying
from fairopt.whole.proof.answer import Asked
from fairopt.whole.proof.staying import Stays

_KEYS = ("within", "held", "floor", "cost", "kept", "running", "most", "prices")


def judge_stay(
    data: Mapping[str, Any],
    rows: PlanLists,
    wanted: Asked,
    placed: Sequence[Sequence[dict[int, int]]],
) -> tuple[Stays, list[str]]:
    """The verdict on what stays, and what the plan says that is not so.

    Parameters
    ----------
    placed : tasks by user on every node of each shape, in order.
    """
    faults, problem = rows.faults, wanted.problem
    told = table(data["stay"], "stay", faults)
    known_keys(told, _KEYS, "stay", faults)
    at = {name: n for n, name in enumerate(wanted.users)}
    numbers = {
        key: {
            name: rows.whole(x, f"stay.{key}.{name}")
            for name, x in table(told.get(key, {}), f"stay.{key}", faults).items()
        }
        for key in ("floor", "cost")
    }
    runs = {
        node: {
            name: rows.whole(k, f"stay.held.{node}.{name}")
            for name, k in table(own, f"stay.held.{node}", faults).items()
        }
        for node, own in table(told.get("held", {}), "stay.held", faults).items()
    }
    for key, own in (("floor", numbers["floor"]), ("cost", numbers["cost"])):
        if own.keys() != at.keys():
            faults.add(f"stay.{key}", "other workloads", "each workload of the answer once")
    for node, own in runs.items():
        for name in own.keys() - at.keys():
            faults.add(f"stay.held.{node}.{name}", "an unknown workload", "one of the answer")
    faults.stop()
    held, wrong, known = [], [], set()
    for j, row in enumerate(wanted.rows):
        names = rows.shapes[row.name].get("nodes") or []
        known |= set(names)
        held.append(
            [
                {
                    at[name]: k
                    for name, k in runs.get(names[i] if i < len(names) else "", {}).items()
                }
                for i in range(row.count)
            ]
        )
        for name in at:
            here = sum(own.get(at[name], 0) for own in held[j])
            if here != rows.workloads[name].get("held_on", {}).get(row.name, 0):
                wrong.append(f"what {name} runs on {row.name}")
    wrong += [f"held on {node}, which is no node" for node in runs if node not in known]
    question = staying.staying(
        problem,
        held,
        [numbers["floor"][name] for name in at],
        [numbers["cost"][name] for name in at],
    )
    given = certificate.read(
        {"prices": [told.get("prices", {})]}, question.problem, faults, "stay"
    ).prices[0]
    faults.stop()
    nodes = [
        (c, 1, staying.by_kind(question.problem, c, placed[j][i]))
        for c, which in enumerate(question.members)
        for j, i in which
    ]
    found = staying.judge(question, tuple(nodes), given)
    for key, x in (("kept", found.kept), ("running", found.held), ("most", found.most)):
        if told.get(key) != x:
            wrong.append(f"stay.{key}: {shown(told.get(key))}, where it is {x}")
    return found, [*found.wrong, *wrong]
