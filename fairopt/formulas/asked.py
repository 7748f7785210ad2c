"""What is asked of users in partitions: the numbers of a notion, and each user's W from its row.

A criterion by which a task of a user counts the same share u on every server moves into the weight:
W g(u x) and W u^(1-alpha) g(x) differ by a constant only. So shares are counted in tasks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from fairopt import criteria
from fairopt.errors import Fault
from fairopt.formulas import families, parameters, welfare
from fairopt.instance import Floats, Instance, Ints
from fairopt.instance.partition import Partition

FLATTEST = 0.1
"""smallest alpha"""


@dataclass(frozen=True, eq=False)
class AlphaAsked:
    """alpha > 0, W inside or outside, the criterion's name, and the servers of a folder.

    Parameters
    ----------
    capacity : (I, R) of one machine. count : (I,) machines of each row.
    """

    alpha: float
    inside: bool
    criterion: str
    capacity: Floats
    count: Ints

    @classmethod
    def of(cls, notion: Mapping[str, Any], capacity: Floats, count: Ints) -> AlphaAsked:
        """What a notion (plain data without `faults`) asks."""
        kind = families.member(notion)["parameters"]
        return cls(
            float(kind["alpha"]),
            bool(kind.get("weight_inside", False)),
            str(kind.get("criterion", "tasks")),
            capacity,
            count,
        )

    @cached_property
    def pool(self) -> Floats:
        """(I, R) capacity of all machines of a row together.

        Where a server lacks a resource nobody who demands it may run, so nothing of it is used
        there, whatever it had: any number > 0 keeps the divisions by it finite.
        """
        pool = self.capacity * self.count[:, None]
        return np.where(pool > 0, pool, pool.sum(axis=0))

    def log_due(self, users: Partition) -> Floats:
        """(n,) log W of their weights alone."""
        return welfare.log_weight(users.weight, self.alpha, self.inside)

    def log_w(self, users: Partition) -> Floats:
        """(n,) log W u^(1-alpha)."""
        found = self.log_due(users)
        if self.criterion != "tasks" and self.alpha != 1:
            inst = Instance(
                users.demand, self.capacity, users.placement, users.weight, users.limit, self.count
            )
            score = criteria.score(inst, self.criterion).max(axis=1)
            found = found + (1 - self.alpha) * np.log(score)
        return found


def faults(notion: Mapping[str, Any]) -> list[Fault]:
    """Why a notion is not answered for users in partitions; empty if it is."""
    kind = families.member(notion)
    given = kind["parameters"]
    if kind["name"] != "alpha-fair":
        return [Fault("notion", str(notion.get("name")), "proportional or alpha-fair")]
    wrong = parameters.faults(str(notion["name"]), notion.get("parameters", {}))
    if wrong:
        return wrong
    found, alpha, criterion = [], float(given.get("alpha", 0.0)), given.get("criterion", "tasks")
    if not alpha >= FLATTEST:
        found.append(Fault("alpha", f"{alpha:g}", f"at least {FLATTEST}"))
    if criterion not in criteria.ONE_SCORE:
        wanted = (
            f"a criterion that counts a task alike on all servers: {', '.join(criteria.ONE_SCORE)}"
        )
        found.append(Fault("criterion", repr(criterion), wanted))
    if given.get("over") == "proportion":
        found.append(Fault("over", "'proportion'", "'floor': nobody has a guarantee here"))
    return found
