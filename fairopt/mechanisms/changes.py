"""A change of an instance by name: a lie, larger tasks, more capacity, users who leave.

Users, servers and resources are given by name, so that the change can still be made after others
of them were left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fairopt.allocation import Allocation
from fairopt.errors import UsageError
from fairopt.instance import Instance
from fairopt.instance.shrink import DIGITS, rounded
from fairopt.properties.lies import Lie, described, in_words, truly_runs
from fairopt.properties.scaling import scaled
from fairopt.properties.searching import worst_loss


@dataclass(frozen=True)
class Change:
    """One change, and how to measure its effect.

    Parameters
    ----------
    kind : the property it may violate.
    found : the change as plain data, as the search gave it.
    """

    kind: str
    found: dict[str, Any]

    def made(self, inst: Instance) -> Instance:
        """The changed instance.

        Raises
        ------
        UsageError : the user it is about, or everything that it changes, was left out.
        """
        if self.kind == "strategy-proof":
            return self._lie(inst).told(inst)
        if self.kind == "scale-invariant":
            return scaled(inst, _position(self.found["user"], inst), self.found["factor"])
        if self.kind == "resource-monotone":
            capacity = inst.capacity.copy()
            for i, r, amount in self._amounts(inst):
                capacity[i, r] = max(capacity[i, r], amount)
            return inst.replace(capacity=capacity)
        left = set(self.found["left"])
        stay = [n for n, user in enumerate(inst.users) if user not in left]
        if not stay or len(stay) == len(inst.users):
            raise UsageError("no user leaves, or no user stays")
        return inst.select(stay, range(len(inst.servers)))

    def residual(self, before: Allocation, after: Allocation) -> tuple[float, str]:
        """By how much the two answers violate the property, and the violation in words."""
        inst = before.instance
        if self.kind == "strategy-proof":
            lie = self._lie(inst)
            runs, truth = truly_runs(inst, lie, after.by_way), float(before.totals[lie.user])
            words = in_words(inst, lie, described(inst, before, lie, after))
            return (runs - truth) / max(runs, truth, 1e-9), words
        if self.kind == "scale-invariant":
            n, factor = _position(self.found["user"], inst), self.found["factor"]
            wanted = before.totals.copy()
            wanted[n] /= factor
            off = np.abs(after.totals - wanted) / np.maximum(np.maximum(wanted, after.totals), 1e-9)
            m = int(off.argmax())
            return float(off[m]), (
                f"with tasks of {self.found['user']} {factor:.6g} times as large {inst.users[m]} "
                f"runs {after.totals[m]:.6g} of them instead of {wanted[m]:.6g}"
            )
        stay = [inst.users.index(user) for user in after.instance.users]
        lost, k = worst_loss(before.totals[stay], after.totals)
        if self.kind == "resource-monotone":
            what = "with " + " and ".join(
                f"{amount:.6g} {inst.resources[r]} on {inst.servers[i]}"
                for i, r, amount in self._amounts(inst)
            )
        else:
            what = "without " + ", ".join(u for u in self.found["left"] if u in inst.users)
        return lost, (
            f"{what} {after.instance.users[k]} runs {after.totals[k]:.6g} tasks "
            f"instead of {before.totals[stay[k]]:.6g}"
        )

    def rounder(self) -> Iterator[Change]:
        """Simpler variants: fewer digits (fewest first), or some servers or growths left out."""
        for digits in DIGITS:
            found = _rounded(self.found, digits)
            if found != self.found:
                yield replace(self, found=found)
        if self.kind == "resource-monotone":
            for server, row in self.found["capacity"].items():
                for resource in row:
                    fewer = {
                        s: {r: a for r, a in rest.items() if (s, r) != (server, resource)}
                        for s, rest in self.found["capacity"].items()
                    }
                    yield replace(self, found={**self.found, "capacity": fewer})

    def _lie(self, inst: Instance) -> Lie:
        n = _position(self.found["user"], inst)
        if inst.demand.ndim == 3:
            raise UsageError("a lie by name is about demand that is the same on every server")
        demand = np.array([self.found["demand"].get(r, 0.0) for r in inst.resources])
        return Lie(n, demand, np.isin(inst.servers, self.found["servers"]))

    def _amounts(self, inst: Instance) -> list[tuple[int, int, float]]:
        return [
            (inst.servers.index(server), inst.resources.index(resource), amount)
            for server, row in self.found["capacity"].items()
            if server in inst.servers
            for resource, amount in row.items()
            if resource in inst.resources
        ]


def _position(user: str, inst: Instance) -> int:
    if user not in inst.users:
        raise UsageError(f"user {user} was left out")
    return inst.users.index(user)


def _rounded(value: Any, digits: int) -> Any:
    if isinstance(value, dict):
        return {key: _rounded(each, digits) for key, each in value.items()}
    return float(rounded(value, digits)) if isinstance(value, float) else value
