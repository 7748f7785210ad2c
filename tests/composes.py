"""What goes with what: every feature asked of every kind of instance, through the public API."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import fairopt as fo
from fairopt import properties
from fairopt.auditing.losses import losses
from fairopt.compare import rows
from fairopt.filling import optimum
from fairopt.filling.trials import run_trials
from fairopt.notions import Notion
from fairopt.properties.envy import envy
from fairopt.report import plot_answer
from fairopt.report.html import results
from fairopt.report.tables import allocation_text
from fairopt.solving.planner import Planner

NAMES = {"users": ["A", "B", "C"], "servers": ["x", "y"], "resources": ["cpu", "gpu"]}
TREE = {"groups": [fo.Group("team", weight=2)], "group": {"A": "team", "B": "team"}}


def cluster(**more: Any) -> fo.Instance:
    """Three users on two servers."""
    return fo.Instance([[1, 2], [3, 1], [1, 1]], [[12, 9], [9, 18]], **NAMES, **more)


def under(**quotas: Any) -> fo.Instance:
    """The same cluster with promises."""
    return cluster(quotas=fo.Quotas(**quotas))


INSTANCES: dict[str, Callable[[], fo.Instance]] = {
    "plain": cluster,
    "limits": lambda: cluster(limit=[2, 9, 9]),
    "limits on servers": lambda: cluster(limit_on={"A": {"x": 1}}),
    "groups": lambda: under(**TREE),
    "guarantees": lambda: under(guarantees=[fo.Guarantee("B", "cpu", 9)]),
    "a user's ceiling": lambda: under(bounds=[fo.Bound("A", "gpu", 5)]),
    "a group's ceiling": lambda: under(**TREE, bounds=[fo.Bound("team", "gpu", 9)]),
    "lending": lambda: under(
        quotas=[fo.Quota("A", "gpu", 9, lend=3), fo.Quota("B", "gpu", 9), fo.Quota("C", "gpu", 9)]
    ),
    "priorities": lambda: under(priority={"A": 1}),
    "own rules": lambda: cluster(
        rules=[fo.Rule("power", most=6, terms=[fo.Term(servers=["x"], times=1.5)])]
    ),
    "modes": lambda: cluster(
        modes={"A": [fo.Mode("fast"), fo.Mode("slow", {"cpu": 2, "gpu": 1}, 0.5)]}
    ),
    "shares already had": lambda: cluster(start=[1, 0, 0]),
}
"""the columns: what an instance has besides demand, capacity, placement and weights"""
MAX_MIN, FAIR = fo.MaxMin(criterion="tasks"), fo.ProportionalFair()


@cache
def instance(column: str) -> fo.Instance:
    """The instance of a column."""
    return INSTANCES[column]()


@cache
def answer(column: str, notion: fo.MaxMin | fo.ProportionalFair = MAX_MIN) -> fo.Allocation:
    """The answer of max-min on the instance of a column, where that has one."""
    return fo.solve(instance(column), notion)


def solved(notion: Any) -> Callable[[str], object]:
    """The notion asked of a column; certified, or it raises."""

    def ask(column: str) -> object:
        return fo.solve(instance(column), notion)

    return ask


def judged(name: str) -> Callable[[str], object]:
    """A property of an allocation."""
    return lambda column: properties.PROPERTIES[name](answer(column))


def searched(name: str) -> Callable[[str], object]:
    """A property of a notion, over a few changes."""
    search = getattr(properties, properties.NOTION_PROPERTIES[name])
    return lambda column: search(instance(column), MAX_MIN, trials=2)


def drawn(kind: str) -> Callable[[str], object]:
    """A picture of an answer."""

    def ask(column: str) -> object:
        with tempfile.TemporaryDirectory() as folder:
            found = answer(column, FAIR if kind == "prices" else MAX_MIN)
            plot_answer.plot(found, Path(folder) / "picture.svg", kind)
        return kind

    return ask


def again(notion: fo.MaxMin | fo.ProportionalFair) -> Callable[[str], object]:
    """An answer from the answer before, after a change of a weight."""

    def ask(column: str) -> object:
        other = instance(column).replace(weight=[1, 1.1, 1])
        found = fo.solve(other, notion, start=answer(column, notion))
        status = found.steps[0]["status"]
        few = status.endswith("few columns beside rules")  # of many it is used
        few |= other.plain and notion.family == "max-min"
        if status != "used" and not few:
            raise fo.UsageError(f"start: {status}")
        return found

    return ask


def planned(column: str) -> object:
    """A planner of the instance, and its answer."""
    return Planner(instance(column), FAIR).answer()


def kept(column: str) -> object:
    """Saved to a file, read back and judged."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "answer.json"
        answer(column).save(path)
        return fo.certify(fo.load(path))


def merged(column: str) -> object:
    """A twin of C, solved with it as one."""
    inst = instance(column)
    demand = np.vstack([inst.demand, inst.demand[2:]])
    rows = {"weight": [1, 1, 1, 1], "limit": [*inst.limit, inst.limit[2]]}
    for name in ("limit_on", "start"):
        own = getattr(inst, name)
        rows[name] = None if own is None else np.concatenate([own, own[2:]])
    twins = fo.Instance(
        demand,
        inst.capacity,
        users=["A", "B", "C", "D"],
        servers=inst.servers,
        resources=inst.resources,
        quotas=inst.quotas,
        modes=inst.modes,
        rules=inst.rules,
        **rows,
    )
    if not any(step.get("step") == "reduce" for step in fo.solve(twins, MAX_MIN).steps):
        raise fo.UsageError("merging: every user is solved by itself")
    return twins


def swept(over: str) -> Callable[[str], object]:
    """A grid over one number; every point is certified, or the first reason is raised."""
    from fairopt.sweeping import grid

    def ask(column: str) -> object:
        pairs, labels = grid(instance(column), MAX_MIN, {over: [1, 2]})
        found = fo.sweep(None, pairs, parameters=labels)
        for row in found.rows:
            if row["status"] != "answered":
                raise fo.UsageError(str(row["reason"]))
        return found

    return ask


def audited(column: str) -> object:
    """What is held today beside what is due."""
    held = {"user": "A", "server": "x", "tasks": 1, "mode": "fast"}
    if column != "modes":
        del held["mode"]
    return fo.audit(instance(column), [held, {"user": "B", "server": "y", "tasks": 2}])


def filled(column: str) -> object:
    """Whole tasks by a scheduler."""
    return fo.fill(instance(column), "rps-dsf")


def shown(column: str) -> object:
    """The answer as a page of text, and as data of the HTML page."""
    found = answer(column)
    return allocation_text(found, "title", True, True), results.of_answer(found)


def differing(column: str) -> object:
    """The answer beside that after a change."""
    other = instance(column).replace(weight=[1, 1.1, 1])
    return fo.differences(answer(column), fo.solve(other, MAX_MIN))


def half(space: Any) -> dict[str, Any]:
    """A constraint in cvxpy: A runs at most a task and a half on x."""
    return {"half": space.tasks[0, 0] <= 1.5}


ANSWERS: dict[str, Notion] = {
    "max-min": MAX_MIN,
    "max-min of dominant shares": fo.MaxMin(),
    "throughput": fo.Throughput(),
    "proportional": FAIR,
    "alpha-fair, alpha 2": fo.AlphaFair(2),
    "tradeoff": fo.Tradeoff(1.0),
    "per-server-drf": fo.PerServerDRF(),
    "drf-hug": fo.HandOutDRF(),
    "equal-m": fo.EqualTasks(),
    "sum-m": fo.CommonTasks(),
    "ps-dsf": fo.PerServerDominantShare(),
}
"""every notion that is not for one pool alone"""
FEATURES: dict[str, dict[str, Callable[[str], object]]] = {
    "Answers": {
        **{name: solved(notion) for name, notion in ANSWERS.items()},
        "start=, max-min": again(MAX_MIN),
        "start=, proportional": again(FAIR),
        "near=": lambda column: fo.solve(instance(column), FAIR, near=answer(column, FAIR)),
        "constraints=": lambda column: fo.solve(instance(column), FAIR, constraints=half),
        "Planner": planned,
        "equal users solved as one": merged,
    },
    "Looking at an answer": {
        "save, load, certify": kept,
        "explain": lambda column: str(answer(column).explain("A")),
        "kkt": lambda column: answer(column, FAIR).kkt("rows"),
        "differences": differing,
        "report": shown,
        "plot allocation": drawn("allocation"),
        "plot prices": drawn("prices"),
        "plot levels": drawn("levels"),
        "plot envy": drawn("envy"),
        "envy matrix": lambda column: envy(answer(column)),
        "measures": lambda column: fo.measures.measure(answer(column)),
        "audit": audited,
        "losses": lambda column: losses(instance(column), MAX_MIN, whole=False),
    },
    "Many answers": {
        "compare": lambda column: rows(instance(column)),
        "sweep over weight": swept("weight.A"),
        "sweep over capacity": swept("capacity.x.cpu"),
        "horizon": lambda column: fo.horizon(instance(column), [[1, 1, 1], [2, 2, 2]]),
    },
    "Whole tasks": {
        "whole": lambda column: fo.whole(instance(column), answer(column)),
        "fill": filled,
        "fill, trials": lambda column: run_trials(instance(column), "drf", "random-server", 2),
        "most whole tasks": lambda column: optimum(instance(column)),
    },
    "Properties": {
        **{name: judged(name) for name in properties.PROPERTIES},
        **{name: searched(name) for name in properties.NOTION_PROPERTIES},
    },
}
"""the rows, room by room"""


def told(ask: Callable[[str], object], column: str) -> str:
    """What it says where it does not work; nothing where it does."""
    try:
        ask(column)
    except fo.UsageError as error:
        return " ".join(str(error).split())
    return ""


def measured() -> dict[str, dict[str, dict[str, str]]]:
    """{room: {feature: {kind of instance: what it says, or nothing}}}."""
    return {
        room: {
            name: {column: told(ask, column) for column in INSTANCES}
            for name, ask in features.items()
        }
        for room, features in FEATURES.items()
    }
