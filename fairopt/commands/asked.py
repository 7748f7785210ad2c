"""What may stand where a model does: a plan, or what kubectl prints."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from fairopt import files, storage
from fairopt.errors import UsageError
from fairopt.files import Case, Model
from fairopt.files.answers import LARGEST

if TYPE_CHECKING:
    from fairopt.allocation import Allocation

NODE = "node/"
PLAN = '"fairopt/plan/v1"'
_CLUSTER = (".json", ".yaml", ".yml", ".gz")


@dataclass(frozen=True)
class Asked:
    """A model, and the row of each node that has a name.

    Parameters
    ----------
    model : its case is the notion of the plan, or that of the file.
    nodes : the row of every node with a name of its own.
    """

    model: Model
    nodes: Mapping[str, str] = field(default_factory=dict)

    def without(self, dropped: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """(settings, names to drop) of what is dropped; `node/NAME` is one machine of its row.

        Raises
        ------
        UsageError : a node that is none, or a second time.
        """
        from fairopt.instance.near import nearest

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


def asked(path: str) -> Asked:
    """The model of a path: a model, a plan, or files of a cluster with the options' defaults.

    Raises
    ------
    BadInput, UsageError : as of each.
    """
    if not path.endswith(_CLUSTER) or not os.path.isfile(path):
        return Asked(files.read(path))
    data = _plan(path)
    if data is not None:
        answer = _answer(data, path)
        notion = answer.notion
        case = Case("notion", notion["name"], dict(notion.get("parameters", {})))
        nodes = {name: row["shape"] for row in data["shapes"] for name in row["nodes"]}
        return Asked(Model(answer.instance, (case,), title=path), nodes)
    from fairopt.commands import cluster_options
    from fairopt.connect import models

    given = {"group_by": "owner", "undivided": (), "gpu_kinds": (), "weights": (), "see": ()}
    found = cluster_options.problem((path,), given)
    nodes = {name: row.name for row in found.shapes for name, count in row.members if count == 1}
    return Asked(models.model(found, path), nodes)


def answer(path: str) -> Allocation:
    """The answer of a file that `solve -o` or `plan -o` wrote."""
    data = _plan(path) if os.path.isfile(path) else None
    return files.load(path) if data is None else _answer(data, path)


def _plan(path: str) -> Mapping[str, Any] | None:
    """The plan in a file; None if it is something else."""
    if path.endswith((".gz", ".yaml", ".yml")):
        return None
    with open(path, encoding="utf-8", errors="replace") as file:
        if PLAN not in file.read(4096):
            return None
    from fairopt.connect import plan_rows
    from fairopt.connect.plan_rows import Rows
    from fairopt.instance.reading import Faults

    data = plan_rows.loads(storage.read_text(path, LARGEST, "a plan in JSON"), path)
    Rows(data, Faults(path))  # stops at a plan of another form
    return data


def _answer(data: Mapping[str, Any], path: str) -> Allocation:
    return files.loads(json.dumps(data["answer"]), path)
