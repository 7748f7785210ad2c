"""What ran on the nodes of an answer in whole tasks, and what proves how much of it stays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fairopt.instance.reading import Faults, known_keys, listed, shown, table
from fairopt.whole.proof import certificate, staying
from fairopt.whole.proof.certificate import PatternPrices
from fairopt.whole.proof.placement import Nodes
from fairopt.whole.proof.problem import Problem
from fairopt.whole.proof.staying import Held, Staying, Stays
from fairopt.whole.proof.zones import LARGEST_COUNT

LARGEST_COST = 10**6
"""no cost of moving a task is larger"""
_NODES = 10**6
"""of more nodes than these nothing is known one by one"""
Servers = Sequence[Mapping[str, int]]
"""for each class {server: nodes of it}, in the order of its nodes"""


@dataclass(frozen=True)
class Running:
    """What ran, and the prices that bound what of it can stay.

    Parameters
    ----------
    held : for each class, on each of its nodes {user: tasks that run there}.
    cost : (N,) of moving a task. floor : (N,) the fewest tasks of each user.
    prices : of the question; see `fairopt.whole.proof.staying`.
    """

    held: Held
    cost: tuple[int, ...]
    floor: tuple[int, ...]
    prices: PatternPrices

    def question(self, problem: Problem) -> Staying:
        """What may stay."""
        return staying.staying(problem, self.held, self.floor, self.cost)

    def judged(self, problem: Problem, nodes: Nodes) -> Stays:
        """What stays on nodes in the order of those that hold it, as judged."""
        question = self.question(problem)
        each: list[list[dict[int, int]]] = [[] for _ in problem.classes]
        for j, count, tasks in nodes:
            each[j] += [problem.classes[j].by_user(tasks)] * count
        wanted = tuple(
            (c, 1, staying.by_kind(question.problem, c, each[j][i]))
            for c, which in enumerate(question.members)
            for j, i in which
        )
        return staying.judge(question, wanted, self.prices)

    def to_dict(self, users: Sequence[str], servers: Servers) -> dict[str, Any]:
        """As in a file: what runs on the nodes of each server."""
        held: dict[str, list[dict[str, int]]] = {}
        for own, nodes in zip(servers, self.held, strict=True):
            first = 0
            for name, count in own.items():
                here = nodes[first : first + count]
                if any(here):
                    held[name] = [{users[n]: m for n, m in sorted(x.items())} for x in here]
                first += count
        return {
            "held": held,
            "cost": dict(zip(users, self.cost, strict=True)),
            "floor": dict(zip(users, self.floor, strict=True)),
            "prices": self.prices.to_dict(),
        }


def by_class(
    given: Mapping[str, Any], users: Sequence[str], servers: Servers, place: str, faults: Faults
) -> Held:
    """What runs, by class and node, from {server: {user: tasks}, or a list of these by node}."""
    at = {name: n for n, name in enumerate(users)}
    known = {name for own in servers for name in own}
    for name in given.keys() - known:
        faults.add(f"{place}.{name}", "an unknown server", "a server")
    found: list[list[dict[int, int]]] = []
    many = sum(sum(own.values()) for own in servers)
    if many > _NODES:
        faults.add(place, f"{many:,} nodes", f"at most {_NODES:,}, each by itself")
        return found
    for own in servers:
        nodes: list[dict[int, int]] = []
        for name, count in own.items():
            rows = given.get(name, [])
            rows = [rows] if isinstance(rows, Mapping) else listed(rows, f"{place}.{name}", faults)
            if len(rows) not in (0, count):
                faults.add(f"{place}.{name}", f"{len(rows)} nodes", f"{count}, each by itself")
            for row in [*rows, *[{}] * count][:count]:
                runs = table(row, f"{place}.{name}", faults)
                for user in runs.keys() - at.keys():
                    faults.add(f"{place}.{name}.{user}", "an unknown user", "a user")
                nodes.append(
                    {
                        at[user]: whole(m, f"{place}.{name}.{user}", faults)
                        for user, m in runs.items()
                        if user in at
                    }
                )
        found.append(nodes)
    return found


def whole(given: Any, place: str, faults: Faults, most: int = 10**15) -> int:
    """A whole number from 0."""
    if isinstance(given, int) and not isinstance(given, bool) and 0 <= given <= most:
        return given
    faults.add(place, shown(given), f"a whole number from 0 to {most:.0e}")
    return 0


def read(
    given: Any, problem: Problem, servers: Servers, faults: Faults, place: str
) -> Running | None:
    """What ran, from plain data; faults are collected."""
    data = table(given, place, faults)
    known_keys(data, ("held", "cost", "floor", "prices"), place, faults)
    users = problem.users
    held = by_class(
        table(data.get("held"), f"{place}.held", faults), users, servers, f"{place}.held", faults
    )
    numbers = []
    for key, most in (("cost", LARGEST_COST), ("floor", LARGEST_COUNT)):
        own = table(data.get(key), f"{place}.{key}", faults)
        if own.keys() != set(users):
            faults.add(f"{place}.{key}", "other users", "each user once")
        numbers.append(
            tuple(whole(own.get(name, 0), f"{place}.{key}.{name}", faults, most) for name in users)
        )
    if faults.found:
        return None
    cost, floor = numbers
    question = staying.staying(problem, held, floor, cost)
    proof = certificate.read({"prices": [data.get("prices", {})]}, question.problem, faults, place)
    return Running(held, cost, floor, proof.prices[0])
