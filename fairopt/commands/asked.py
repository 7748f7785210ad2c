"""What may stand where a model does: a plan, or what kubectl prints."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from fairopt import files, storage
from fairopt.errors import UsageError
from fairopt.files import Case, Model
from fairopt.files.answers import LARGEST_ANSWER
from fairopt.files.mistaken import START, is_kubernetes

if TYPE_CHECKING:
    from fairopt.allocation import Allocation
    from fairopt.connect.cluster.together import Together
    from fairopt.instance import Instance
    from fairopt.instance.quotas import Mode

NODE = "node/"
PLAN = '"fairopt/plan/v1"'
PLAIN: Mapping[str, Any] = {
    "group_by": "owner",
    "undivided": (),
    "gpu_kinds": (),
    "weights": (),
    "see": (),
    "cards": (),
}
"""what the options of a cluster are where none is given"""
_CLUSTER = (".json", ".yaml", ".yml", ".gz")


@dataclass(frozen=True)
class NamedNodes:
    """A model, and the row of each node that has a name.

    Parameters
    ----------
    model : its case is the notion of the plan, or that of the file.
    nodes : the row of every node with a name of its own.
    held : rows of what runs where, as an audit takes them; None of a model.
    out : tasks that run where nothing of `model` is: on nodes out of service, or of no user.
    together : what binds the tasks of users to each other.
    answer : that of a plan, which nobody has judged yet.
    """

    model: Model
    nodes: Mapping[str, str] = field(default_factory=dict)
    held: tuple[Mapping[str, Any], ...] | None = None
    out: int = 0
    together: Mapping[str, Together] = field(default_factory=dict)
    answer: Allocation | None = None

    def changed(
        self,
        settings: Sequence[str] = (),
        servers: Sequence[str] = (),
        dropped: Sequence[str] = (),
        users: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> Instance:
        """The instance with changes made as of `fairopt.auditing.changes.changed`, with the rows
        that keep tasks apart as they are with so many nodes.

        Raises
        ------
        BadInput : as there.
        """
        from fairopt.auditing.changes import changed

        instance = self.model.instance
        if not any(self.together.values()):
            return changed(instance, settings, servers, dropped, users)
        from fairopt.connect.cluster.together import Together
        from fairopt.connect.plan import apart

        before = [self.together.get(name, Together()) for name in instance.users]
        found = changed(apart.without(instance, before), settings, servers, dropped, users)
        return apart.with_rows(found, [self.together.get(n, Together()) for n in found.users])

    def without(self, dropped: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """(settings, names to drop) of what is dropped; `node/NAME` is one machine of its row.

        Raises
        ------
        UsageError : a node that is none, or a second time.
        """
        from fairopt.instance.labels import nearest

        inst = self.model.instance
        known = {*inst.users, *inst.servers}
        less: dict[str, int] = {}
        seen: set[str] = set()
        rest = []
        for name in dropped:
            if not name.startswith(NODE) or name in known:
                rest.append(name)
                continue
            node = name.removeprefix(NODE)
            if node not in self.nodes:
                raise UsageError(f"--drop: found {name!r}; wanted {nearest(node, self.nodes)}")
            if node in seen:
                raise UsageError(f"--drop: found {name!r} a second time; wanted every node once")
            seen.add(node)
            less[self.nodes[node]] = less.get(self.nodes[node], 0) + 1
        counts = dict(zip(inst.servers, inst.count.tolist(), strict=True))
        left = {row: int(counts[row]) - k for row, k in less.items()}
        rest += [row for row, k in left.items() if not k]
        return tuple(f"count.{row}={k}" for row, k in left.items() if k), tuple(rest)


def is_replay(content: str) -> bool:
    """Whether the text is a replay, told from its first lines."""
    return '"fairopt/replay/v1"' in content[:4096]


def replays(*paths: str) -> list[dict[str, Any]] | None:
    """The files as plain data of replays; None where the first is none.

    Raises
    ------
    BadInput : with the faults of a file, each with its place.
    """
    found = []
    for k, path in enumerate(paths):
        if path == "-" or not os.path.isfile(path):
            return None  # stdin is read once, by whoever reads answers
        with open(path, encoding="utf-8", errors="replace") as file:
            if k == 0 and not is_replay(file.read(4096)):
                return None
        from fairopt.report.html import replay_data

        content = storage.read_text(path, LARGEST_ANSWER, "a replay in JSON")
        source = storage.source_name(path)
        found.append(replay_data.checked(replay_data.parsed(content, source), source))
    return found


def newcomer(text: str, instance: Instance) -> tuple[str, dict[str, Any]]:
    """A new user of `--add`: its name, and its row as in a model file.

    Parameters
    ----------
    text : team=NAME,queue=QUEUE,tasks=10,weight=2,on=SHAPE,cpu=4,memory=16Gi; all but the name and
        one amount may be left out, and `on` may be given several times.

    Raises
    ------
    UsageError : not of that form, an unknown queue or resource, a task that fits nowhere.
    """
    from fairopt.files.quantities import NoQuantity, quantity
    from fairopt.instance.labels import nearest

    def wrong(found: str, wanted: str) -> UsageError:
        return UsageError(f"--add {text}: found {found}; wanted {wanted}")

    row: dict[str, Any] = {"demand": {}}
    name, on = "", []
    groups = () if instance.quotas is None else [group.name for group in instance.quotas.groups]
    for part in text.split(","):
        key, _, value = part.partition("=")
        if key == "team":
            name = value
        elif key == "on":
            if value not in instance.servers:
                raise wrong(part, nearest(value, instance.servers))
            on.append(value)
        elif key == "queue":
            row["group"] = value if value in groups else f"{value} (queue)"
            if groups and row["group"] not in groups:
                raise wrong(part, nearest(value, groups))
        elif key in ("tasks", "weight", *instance.resources):
            try:
                amount = float(quantity(value))
            except NoQuantity as error:
                raise wrong(f"{key}={error}", "a quantity such as 2, 500m or 16Gi") from None
            where, field = (row, {"tasks": "limit"}.get(key, key))
            if key in instance.resources:
                where = row["demand"]
            where[field] = amount
        else:
            raise wrong(part, nearest(key, ["team", "queue", "tasks", *instance.resources]))
    if not name or not row["demand"]:
        raise wrong("no name or no amount", "team=NAME,queue=QUEUE,cpu=4,...")
    if groups and "group" not in row:
        raise wrong("no queue", nearest("", groups))
    if not groups:
        row.pop("group", None)
    if "pods" in instance.resources:
        row["demand"].setdefault("pods", 1.0)
    need = [row["demand"].get(key, 0.0) for key in instance.resources]
    fits = np.all(instance.capacity >= np.array(need), axis=1)
    row["servers"] = [
        server for i, server in enumerate(instance.servers) if fits[i] and (not on or server in on)
    ]
    if not row["servers"]:
        raise wrong("a task that fits on no node", "one that fits")
    return name, row


def asked(path: str) -> NamedNodes:
    """The model of a path: a model, a plan, or files of a cluster with the options' defaults.

    Raises
    ------
    BadInput, UsageError : as of each.
    """
    if not path.endswith(_CLUSTER) or not os.path.isfile(path):
        return NamedNodes(files.read(path))
    data = _plan(path)
    if data is not None:
        return of_plan(data, path)
    from fairopt.commands import cluster_options
    from fairopt.connect.plan import models

    found = cluster_options.problem((path,), PLAIN)
    nodes = {name: row.name for row in found.shapes for name, count in row.members if count == 1}
    names, servers = found.instance.users, found.instance.servers
    at = [(names[n], servers[i], found.held[n, i]) for n, i in np.argwhere(found.held)]
    held = _held(found.instance, at)
    stuck = sum(sum(work.held.values()) for _, work, _ in found.stuck)
    together = {name: own.together for name, own in zip(names, found.users, strict=True)}
    out = int(found.held_out.sum()) + stuck
    return NamedNodes(models.model(found, path), nodes, held, out, together)


def _held(instance: Instance, at: Sequence[tuple[str, str, int]]) -> tuple[Mapping[str, Any], ...]:
    """Rows of (user, server, tasks), each with the mode that the user has there."""
    modes: Mapping[str, Sequence[Mode]] = instance.modes or {}
    rows = []
    for user, server, tasks in at:
        own = modes.get(user, ())
        here = [one.name for one in own if one.servers is None or server in one.servers]
        row = {"user": user, "server": server, "tasks": float(tasks)}
        rows.append({**row, "mode": (here or [own[0].name])[0]} if own else row)
    return tuple(rows)


def of_plan(data: Mapping[str, Any], path: str) -> NamedNodes:
    """The model of a plan, with its notion and the rows of its nodes."""
    from fairopt.connect.cluster.together import of_row

    found = answer_of(data, path)
    case = Case("notion", found.notion["name"], dict(found.notion.get("parameters", {})))
    nodes = {name: row["shape"] for row in data["shapes"] for name in row["nodes"]}
    own, at, out = set(found.instance.users), [], 0
    for row in data["workloads"]:
        known = row["workload"] in own
        out += row["held_out"] if known else row["held"]
        at += [(row["workload"], *each) for each in row["held_on"].items() if known]
    model = Model(found.instance, (case,), title=path)
    together = {row["workload"]: of_row(row) for row in data["workloads"]}
    return NamedNodes(model, nodes, _held(found.instance, at), int(out), together, found)


def planned(path: str) -> Mapping[str, Any]:
    """The plan of a path: one that was saved, or that of a model or of files of a cluster.

    Raises
    ------
    BadInput, UsageError : as of each.
    """
    data = _plan(path) if path.endswith(_CLUSTER) and os.path.isfile(path) else None
    if data is not None:
        return data
    from fairopt.commands import cluster_options
    from fairopt.connect.plan import made as plan
    from fairopt.connect.plan.whole_tasks import chosen

    problem = cluster_options.problem((path,), PLAIN)
    return plan.make(problem, proving=chosen(problem, None))


def result(path: str) -> str:
    """The text of a result in JSON; of what kubectl prints, that of its plan.

    Raises
    ------
    BadInput, UsageError : as of each.
    """
    if not _is_cluster(path):
        return storage.read_text(path, LARGEST_ANSWER, "a result in JSON")
    from fairopt.connect.plan import made as plan

    return plan.dumps(planned(path))


def _is_cluster(path: str) -> bool:
    """Whether a file holds objects of a cluster, and no result."""
    if not path.endswith(_CLUSTER) or not os.path.isfile(path):
        return False
    if not path.endswith(".json"):
        return True
    with open(path, encoding="utf-8", errors="replace") as file:
        return is_kubernetes(file.read(START))


def answer(path: str) -> Allocation:
    """The answer of a file that `solve -o` or `plan -o` wrote, or of the plan of a cluster."""
    if _is_cluster(path):
        return answer_of(planned(path), path)
    data = _plan(path) if os.path.isfile(path) else None
    return files.load(path) if data is None else answer_of(data, path)


def _plan(path: str) -> Mapping[str, Any] | None:
    """The plan in a file; None if it is something else."""
    if path.endswith((".gz", ".yaml", ".yml")):
        return None
    with open(path, encoding="utf-8", errors="replace") as file:
        if PLAN not in file.read(4096):
            return None
    from fairopt.connect.plan import rows as plan_rows
    from fairopt.connect.plan.rows import PlanLists
    from fairopt.instance.reading import Faults

    data = plan_rows.loads(storage.read_text(path, LARGEST_ANSWER, "a plan in JSON"), path)
    PlanLists(data, Faults(path))  # stops at a plan of another form
    return data


def answer_of(data: Mapping[str, Any], path: str) -> Allocation:
    """The fluid answer of a plan."""
    return files.loads(json.dumps(data["answer"]), path)
