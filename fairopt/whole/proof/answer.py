"""An answer in whole tasks as data: what was asked, who runs where, and what proves it.

The file (fairopt/whole/v1) has exact amounts as texts, so that the judge needs nothing else.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

from fairopt.whole.proof import claims
from fairopt.whole.proof.certificate import Prices
from fairopt.whole.proof.placement import Nodes
from fairopt.whole.proof.problem import NodeRow, Problem, problem
from fairopt.whole.proof.running import Running
from fairopt.whole.proof.zones import Spread

SCHEMA = "fairopt/whole/v1"
MULTIPLE, EXACT = "multiple", "exact"


@dataclass(frozen=True)
class Asked:
    """What is asked of whole tasks, exactly as given.

    Parameters
    ----------
    users : names. rows : nodes with their kinds of task.
    due : tasks. asked : most tasks, None for no limit. gang : tasks that run together.
    taken : how each due was read: a whole "multiple" of the gang that lies within what is proved of
        it, or the number itself, "exact".
    servers : for each row {server: nodes of it}, in the order in which they are filled.
    parts : whether whole parts of what is due come first; see `Problem`.
    cards : resources of which 1 is a card: a task takes part of a single one, or whole ones.
    at_least : fewest tasks with which each user runs at all; () for 1 of everybody.
    spreads : users whose tasks are spread over zones of rows.
    """

    users: tuple[str, ...]
    rows: tuple[NodeRow, ...]
    due: tuple[Fraction, ...]
    asked: tuple[int | None, ...]
    gang: tuple[int, ...]
    taken: tuple[str, ...] = ()
    servers: tuple[Mapping[str, int], ...] = ()
    parts: bool = True
    cards: tuple[str, ...] = ()
    at_least: tuple[int, ...] = ()
    spreads: tuple[Spread, ...] = ()

    @cached_property
    def problem(self) -> Problem:
        """The same in integers."""
        return problem(
            self.users,
            self.rows,
            self.due,
            self.asked,
            self.gang,
            self.parts,
            self.cards,
            self.at_least,
            self.spreads,
        )


@dataclass(frozen=True)
class WholeTasks:
    """Whole tasks of everybody on single nodes, with what proves how good they are.

    Parameters
    ----------
    asked : what was asked.
    nodes : (class, nodes alike, tasks by kind on each).
    certificate : prices that the judge checks; see `fairopt.whole.proof.judging.judge`.
    stopped : whether a limit in seconds ended the search: then another run may end elsewhere.
    running : what ran before, of which as much stays as could be found, if that was asked.

    Examples
    --------
    >>> import fairopt as fo
    >>> cluster = fo.Instance([[3], [2]], [[10]], users=["A", "B"])
    >>> found = fo.whole(cluster, ["5/3", "5/2"])
    >>> found.totals, found.short
    ((2, 2), 0)
    """

    asked: Asked
    nodes: Nodes
    certificate: Prices = field(default_factory=Prices)
    stopped: bool = False
    running: Running | None = None

    @property
    def problem(self) -> Problem:
        """What was asked, in integers."""
        return self.asked.problem

    @cached_property
    def totals(self) -> tuple[int, ...]:
        """(N,) tasks of each user."""
        return tuple(self.problem.totals(self.nodes))

    @property
    def short(self) -> int:
        """Tasks that are missing of the whole parts of what is due."""
        return claims.short(self.problem, self.totals)

    def parts(self) -> tuple[Fraction, ...]:
        """(N,) part of its whole part that each user has, at most 1."""
        return tuple(
            claims.value(self.problem, claims.PARTS, n, m) for n, m in enumerate(self.totals)
        )

    def tasks(self) -> dict[str, dict[str, int]]:
        """{user: {server: tasks}}, without zeros; nodes of a class fill its servers in order."""
        found: dict[str, dict[str, int]] = {name: {} for name in self.asked.users}
        for server, count, own in self.machines():
            for name, m in own.items():
                found[name][server] = found[name].get(server, 0) + count * m
        return found

    def machines(self) -> list[tuple[str, int, dict[str, int]]]:
        """(server, nodes alike, {user: tasks on each})."""
        found = []
        left = [list(own.items()) for own in self.asked.servers]
        for j, count, tasks in self.nodes:
            own = self.problem.classes[j].by_user(tasks)
            named = {self.asked.users[n]: m for n, m in sorted(own.items())}
            while count:
                server, there = left[j][0]
                used = min(count, there)
                found.append((server, used, named))
                count -= used
                left[j][0] = (server, there - used)
                if there == used:
                    left[j].pop(0)
        return found

    def to_dict(self) -> dict[str, Any]:
        """Plain data, as in a file."""
        asked = self.asked
        spread = {own.user: own.to_dict() for own in asked.spreads}
        users = {
            name: {
                "due": str(asked.due[n]),
                "taken": asked.taken[n],
                "asked": asked.asked[n],
                "gang": asked.gang[n],
                **({"at_least": asked.at_least[n]} if asked.at_least else {}),
                **({"spread": spread[n]} if n in spread else {}),
                "tasks": self.totals[n],
            }
            for n, name in enumerate(asked.users)
        }
        groups: list[list[dict[str, Any]]] = [[] for _ in asked.rows]
        for j, count, tasks in self.nodes:
            own = self.problem.classes[j].kinds
            named = [
                [asked.users[kind.user], kind.mode, m]
                for kind, m in zip(own, tasks, strict=True)
                if m
            ]
            groups[j].append({"count": count, "tasks": named})
        classes = [
            {
                "class": row.name,
                "count": row.count,
                "servers": dict(asked.servers[j]),
                "capacity": _amounts(row.capacity),
                "kinds": [
                    {
                        "user": asked.users[user],
                        "mode": mode,
                        "demand": _amounts(need),
                        "per_node": most,
                    }
                    for user, mode, need, most in row.kinds
                ],
                "nodes": groups[j],
            }
            for j, row in enumerate(asked.rows)
        ]
        return {
            "schema": SCHEMA,
            **({} if asked.parts else {"parts": False}),
            **({"cards": list(asked.cards)} if asked.cards else {}),
            "users": users,
            "classes": classes,
            "certificate": self.certificate.to_dict(),
            **(
                {}
                if self.running is None
                else {"running": self.running.to_dict(asked.users, asked.servers)}
            ),
            "stopped": self.stopped,
        }


def dumps(answer: WholeTasks) -> str:
    """An answer as JSON text, one line for each user, class and row of prices."""
    data = answer.to_dict()
    parts = []
    for key, value in data.items():
        if key == "users":
            rows = ",\n".join(f"    {_json(k)}: {_json(v)}" for k, v in value.items())
            parts.append(f"  {_json(key)}: {{\n{rows}\n  }}")
        elif key == "classes":
            rows = ",\n".join(f"    {_json(row)}" for row in value)
            parts.append(f"  {_json(key)}: [\n{rows}\n  ]")
        else:
            parts.append(f"  {_json(key)}: {_json(value)}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _json(value: Any) -> str:
    return json.dumps(value, allow_nan=False, ensure_ascii=False)


def _amounts(given: Mapping[str, Fraction]) -> dict[str, str]:
    return {key: str(x) for key, x in sorted(given.items()) if x}
