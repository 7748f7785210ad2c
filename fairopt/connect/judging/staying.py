"""Judge what stays where it runs in a plan: the question asked again from its rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fairopt.connect.plan.rows import PlanLists
from fairopt.connect.plan.staying import Single, dear
from fairopt.instance.reading import known_keys, listed, shown, table
from fairopt.whole.proof import certificate, claims, staying
from fairopt.whole.proof.answer import Asked
from fairopt.whole.proof.staying import Dear, Held, Stays

_POINT = ("within", "floor", "kept", "running", "most", "prices")
_KEYS = (*_POINT, "held", "cost", "pods", "frontier")


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
    cost = _by_user(told, "cost", rows, at, "stay")
    runs = {
        node: {
            name: rows.whole(k, f"stay.held.{node}.{name}")
            for name, k in table(own, f"stay.held.{node}", faults).items()
        }
        for node, own in table(told.get("held", {}), "stay.held", faults).items()
    }
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
    single = _single(told, rows, at)
    for node, known_pods in single.items():
        for name, costs in known_pods.items():
            if runs.get(node, {}).get(name) != len(costs):
                wrong.append(f"pods of {name} on {node}")
    names = [
        [*(rows.shapes[row.name].get("nodes") or []), *[""] * row.count][: row.count]
        for row in wanted.rows
    ]
    asked = held, cost, dear(names, wanted.users, single)
    found, more = _point(told, rows, wanted, asked, placed, "stay")
    wrong += more
    wrong += _others_stay(data.get("moves", ()), single)
    for k, given in enumerate(listed(told.get("frontier", []), "stay.frontier", faults)):
        place = f"stay.frontier[{k}]"
        point = table(given, place, faults)
        known_keys(point, (*_POINT, "short", "machines"), place, faults)
        there = _placed(point, rows, wanted, at, place)
        _, more = _point(point, rows, wanted, asked, there, place)
        wrong += [f"{place}: {words}" for words in more]
        totals = [sum(own.get(n, 0) for each in there for own in each) for n in at.values()]
        short = claims.short(problem, totals)
        if point.get("short") != short:
            wrong.append(f"{place}.short: {shown(point.get('short'))}, wplace it is {short}")
    return found, [*found.wrong, *wrong]


def _single(told: Mapping[str, Any], rows: PlanLists, at: Mapping[str, int]) -> Single:
    """What single pods cost, by node and workload."""
    found: Single = {}
    for node, given in table(told.get("pods", {}), "stay.pods", rows.faults).items():
        for name, pods in table(given, f"stay.pods.{node}", rows.faults).items():
            here = f"stay.pods.{node}.{name}"
            if name not in at:
                rows.faults.add(here, "an unknown workload", "one of the answer")
            found.setdefault(node, {})[name] = {
                pod: rows.whole(x, f"{here}.{pod}")
                for pod, x in table(pods, here, rows.faults).items()
            }
    rows.faults.stop()
    return found


def _others_stay(moves: Sequence[Mapping[str, Any]], single: Single) -> Iterator[str]:
    """Pods that stay where a dearer one of their workload on their node does not."""
    stay = {row["pod"] for row in moves if row["do"] == "stay"}
    for own in single.values() if moves else ():
        for name, costs in own.items():
            kept = [x for pod, x in costs.items() if pod in stay]
            if sum(kept) < sum(sorted(costs.values(), reverse=True)[: len(kept)]):
                yield f"pods of {name} that stay: others are dearer"


def _by_user(
    told: Mapping[str, Any], key: str, rows: PlanLists, at: Mapping[str, int], place: str
) -> list[int]:
    """Whole numbers of all workloads."""
    found = {
        name: rows.whole(x, f"{place}.{key}.{name}")
        for name, x in table(told.get(key, {}), f"{place}.{key}", rows.faults).items()
    }
    if found.keys() != at.keys():
        rows.faults.add(f"{place}.{key}", "other workloads", "each workload of the answer once")
    rows.faults.stop()
    return [found[name] for name in at]


def _placed(
    point: Mapping[str, Any], rows: PlanLists, wanted: Asked, at: Mapping[str, int], place: str
) -> list[list[dict[int, int]]]:
    """Tasks by user on every node of each shape, at a point of the frontier."""
    machines = table(point.get("machines", {}), f"{place}.machines", rows.faults)
    found: list[list[dict[int, int]]] = []
    for j, row in enumerate(wanted.rows):
        here = f"{place}.machines.{row.name}"
        nodes: list[dict[int, int]] = []
        for k, given in enumerate(listed(machines.get(row.name, []), here, rows.faults)):
            own = table(given, f"{here}[{k}]", rows.faults)
            tasks = table(own.get("tasks", {}), f"{here}[{k}].tasks", rows.faults)
            allowed = {kind.user for kind in wanted.problem.classes[j].kinds}
            for name in tasks:
                if at.get(name) not in allowed:
                    rows.faults.add(f"{here}[{k}].tasks.{name}", "no workload", "one that may run")
            count = rows.whole(own.get("count"), f"{here}[{k}].count")
            if len(nodes) + count > row.count:
                rows.faults.add(f"{here}[{k}].count", str(count), f"{row.count} nodes in all")
            rows.faults.stop()
            named = {at[name]: rows.whole(m, f"{here}[{k}].tasks") for name, m in tasks.items()}
            nodes += [named] * count
        if len(nodes) != row.count:
            rows.faults.add(here, f"{len(nodes)} nodes", str(row.count))
        found.append(nodes)
    rows.faults.stop()
    return found


def _point(
    told: Mapping[str, Any],
    rows: PlanLists,
    wanted: Asked,
    asked: tuple[Held, Sequence[int], Dear],
    placed: Sequence[Sequence[Mapping[int, int]]],
    place: str,
) -> tuple[Stays, list[str]]:
    """What stays with a point's floors, and what is said of it that is not so.

    Parameters
    ----------
    asked : what runs on each node, and what moving it costs: by workload, and of single tasks.
    """
    at = {name: n for n, name in enumerate(wanted.users)}
    held, cost, single = asked
    floor = _by_user(told, "floor", rows, at, place)
    question = staying.staying(wanted.problem, held, floor, cost, single)
    given = certificate.read(
        {"prices": [told.get("prices", {})]}, question.problem, rows.faults, place
    ).prices[0]
    rows.faults.stop()
    nodes = [
        (c, 1, staying.by_kind(question.problem, c, placed[j][i]))
        for c, which in enumerate(question.members)
        for j, i in which
    ]
    wrong = [
        f"a node of {question.problem.classes[c].name} is overfull"
        for c, _, tasks in nodes
        if not question.problem.classes[c].fits(tasks)
    ][:1]
    totals = question.problem.totals(nodes)
    pairs = zip(wanted.users, totals, wanted.problem.asked, wanted.problem.gang, strict=True)
    wrong += [f"{name} has {m} of {a} in gangs of {k}" for name, m, a, k in pairs if m > a or m % k]
    found = staying.judge(question, tuple(nodes), given)
    for key, x in (("kept", found.kept), ("running", found.held), ("most", found.most)):
        if told.get(key) != x:
            wrong.append(f"{place}.{key}: {shown(told.get(key))}, where it is {x}")
    return found, [*found.wrong, *wrong] if place != "stay" else wrong
