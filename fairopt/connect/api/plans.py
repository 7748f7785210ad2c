"""A plan in Python: its tables as frames, its verdict, its moves, and its way back into quotas."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from fairopt import files, markup, storage
from fairopt.allocation import Allocation
from fairopt.connect.judging.plans import JudgedPlan
from fairopt.errors import MissingExtra, UsageError
from fairopt.files.answers import LARGEST_ANSWER

if TYPE_CHECKING:
    from pandas import DataFrame

FRAMES = ("queues", "workloads", "shapes", "placed", "moves")


class Plan:
    """Who is due what on a cluster, why, and on which node (fairopt/plan/v1).

    Parameters
    ----------
    data : the plan as plain data; `docs/reference/plans.md` says what is in it.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from fairopt import connect
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "nodes.csv").write_text("node,cpu,memory,count\\nn,8,32Gi,2\\n")
    >>> _ = (folder / "teams.csv").write_text("team,cpu,memory,tasks\\na,1,4Gi,20\\nb,2,2Gi,9\\n")
    >>> cluster = connect.tables(folder / "nodes.csv", folder / "teams.csv")
    >>> plan = cluster.plan()
    >>> print(plan)
    Plan(2 queues, 12 whole tasks of 12 due, certified)
    """

    def __init__(self, data: Mapping[str, Any]) -> None:
        self.data = data

    @cached_property
    def answer(self) -> Allocation:
        """The fluid answer, with its prices."""
        return files.loads(json.dumps(self.data["answer"]), "plan: answer")

    @cached_property
    def verdict(self) -> JudgedPlan:
        """The plan judged again, without any solver: the fluid answer, and every whole task."""
        from fairopt.connect.judging import plans as judging

        return judging.judge(self.data)

    @property
    def certified(self) -> bool:
        """Whether the plan holds, by `verdict`."""
        return self.verdict.certified

    @property
    def moves(self) -> DataFrame:
        """What starts, stops and moves, row by row; empty where the plan does not say."""
        return self.to_frame("moves")

    def to_frame(self, what: str = "workloads") -> DataFrame:
        """A table of the plan.

        Parameters
        ----------
        what : "queues", "workloads", "shapes", "placed" (whole tasks: so many machines of a shape
            with so many tasks of a workload each) or "moves".

        Raises
        ------
        UsageError : something else. MissingExtra : without pandas.
        """
        if what not in FRAMES:
            raise UsageError(f"to_frame: found {what!r}; wanted one of {', '.join(FRAMES)}")
        if what == "placed":
            placed = [
                {"shape": row["shape"], "machines": own["count"], "workload": name, "tasks": tasks}
                for row in self.data["shapes"]
                for own in row["machines"]
                for name, tasks in own["tasks"].items()
            ]
            return framed(placed, "shape")
        if what == "moves":
            moves = self.data.get("moves", ())
            return framed(moves, next(iter(moves[0]))) if moves else framed((), "")
        keep = {
            "queues": ("queue", "weight", "asked", "held", "due", "whole", "share"),
            "workloads": (
                *("workload", "queue", "asked", "held", "due", "whole", "level"),
                *("status", "says"),
            ),
            "shapes": ("shape", "count"),
        }[what]
        rows = [{key: row[key] for key in keep} for row in self.data[what]]
        if what == "shapes":
            for row, given in zip(rows, self.data["shapes"], strict=True):
                row |= {f"{key} used": x for key, x in given["use"].items()}
                row |= {f"{key} price": x for key, x in given["price"].items()}
        return framed(rows, keep[0])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the plan as JSON, whole or not at all, as `fairopt plan -o` does."""
        from fairopt.connect.plan import made as plan

        storage.write_text(path, plan.dumps(self.data))

    def export(self, kind: str, *paths: str, **options: Any) -> str:
        """What is due, for a scheduler, as `fairopt export` writes it.

        Parameters
        ----------
        kind : "kueue", "kueue-boost", "volcano", "kai", "resourcequotas" or "slurm".
        paths : files with the objects that were planned.
        options : as of `exports.running.exported`.

        Raises
        ------
        NotCertified : the plan does not hold. UsageError, BadInput : as of the command.
        """
        from fairopt.connect.exports.running import exported

        return exported(kind, self.data, paths, **options)[0]

    def __repr__(self) -> str:
        rows = self.data["queues"]
        whole, due = sum(row["whole"] for row in rows), sum(row["due"] for row in rows)
        verdict = self.data["answer"]["certificate"]["verdict"]
        return f"Plan({len(rows)} queues, {whole} whole tasks of {due:.6g} due, {verdict})"

    def _repr_html_(self) -> str:
        queues, work = self.data["queues"], self.data["workloads"]
        head = ["queue", "weight", "asked", "held", "due", "whole"]
        first = ([_shown(row[key]) for key in head] for row in queues)
        blocked = [row for row in work if row["says"]]
        second = ([row["workload"], row["says"]] for row in blocked)
        return markup.block(
            markup.line(repr(self)),
            markup.table("Queues", head, first, len(queues)),
            markup.table("Workloads", ["workload", "why"], second, len(blocked)),
        )


def load(path: str | os.PathLike[str]) -> Plan:
    """A plan that was saved.

    Raises
    ------
    BadInput : not a plan in JSON.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from fairopt import connect
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "nodes.csv").write_text("node,cpu,memory,count\\nn,8,32Gi,2\\n")
    >>> _ = (folder / "teams.csv").write_text("team,cpu,memory,tasks\\na,1,4Gi,20\\nb,2,2Gi,9\\n")
    >>> cluster = connect.tables(folder / "nodes.csv", folder / "teams.csv")
    >>> cluster.plan().save(folder / "plan.json")
    >>> connect.load(folder / "plan.json")
    Plan(2 queues, 12 whole tasks of 12 due, certified)
    """
    from fairopt.connect.plan import rows as plan_rows

    content = storage.read_text(path, LARGEST_ANSWER, "a plan in JSON")
    return Plan(plan_rows.loads(content, storage.source_name(path)))


def _shown(value: object) -> object:
    return "any" if value is None else value


def framed(rows: Sequence[Mapping[str, Any]], index: str) -> DataFrame:
    """A frame with a row for each of the tables, named by one of its columns.

    Raises
    ------
    MissingExtra : without pandas.
    """
    try:
        import pandas as pd
    except ImportError as error:
        raise MissingExtra("to_frame needs pandas: pip install 'fairopt[frame]'") from error
    return pd.DataFrame(list(rows)).set_index(index) if rows else pd.DataFrame()
