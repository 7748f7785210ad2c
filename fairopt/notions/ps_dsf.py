"""PS-DSF: per-server dominant-share fairness, with resources or time divided on each server."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fairopt.instance import Instance
from fairopt.notions.notion import Notion


@dataclass(frozen=True)
class PerServerDominantShare(Notion):
    r"""Per-server dominant-share fairness (PS-DSF).

    With :math:`s_{n,i} = x_n / \gamma_{n,i}` (all tasks of n, against what it could run alone on
    i): the allocation is feasible, and no x_n can grow without lowering some x[m,i] with
    :math:`s_{m,i}/\phi_m \le s_{n,i}/\phi_n`. Feasible means, by `division`,

    .. math:: \text{rdm: } \sum_n x_{n,i} d_{n,r} \le c_{i,r}, \qquad
              \text{tdm: } \sum_n x_{n,i} / \gamma_{n,i} \le 1

    For tdm this is exactly the program max sum phi_n log x_n under the tdm constraint, and x_n is
    unique, and where users have limits the answer is that of the program (Theorem 2, which exempts
    users at their limits, then admits others).

    For rdm several answers may exist and one may even dominate another: the order of the servers is
    part of the notion and chooses, and the result says so; `fairopt.fixed_points` looks for others.

    Parameters
    ----------
    division : "rdm" (resources are divided) or "tdm" (time is divided).
    order : names of all servers in the order they are refilled; None is the instance's own.
    method : "refill" (server by server) or "algorithm-1" (khamse2016 Algorithm I), for rdm.
    seed : with "algorithm-1", servers act one at a time, picked at random from this seed (the
        distributed form); None is round after round in `order`.

    Raises
    ------
    BadInput : a parameter out of range, or one that the division or method does not use.

    References
    ----------
    khamse2016 Theorems 1 and 2, Algorithm I.
    """

    name: ClassVar[str] = "ps-dsf"
    summary: ClassVar[str] = "per-server dominant-share fairness (khamse2016 Theorems 1, 2)"
    division: str = "rdm"
    order: tuple[str, ...] | None = None
    method: str = "refill"
    seed: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.order is not None:
            object.__setattr__(self, "order", tuple(self.order))

    @property
    def procedure_path(self) -> str | None:
        """The engine, "module:function"; None for tdm, which is a program (`reduces_to`)."""
        if self.division == "tdm":
            return None
        module = "refill" if self.method == "refill" else "algorithm_one"
        return f"fairopt.engines.{module}:solve"

    @property
    def closing_path(self) -> str | None:
        """What brings the answer of the equal problem to rounding, "module:function", for tdm."""
        return "fairopt.engines.refill:close" if self.division == "tdm" else None

    def reduces_to(self, instance: Instance) -> tuple[Instance, Notion] | None:
        """The equal problem for tdm: proportional fairness of the tasks over time; None for rdm."""
        if self.division != "tdm":
            return None
        from fairopt.notions.proportional import ProportionalFair

        return transformed(instance), ProportionalFair()


def transformed(instance: Instance) -> Instance:
    """The instance whose one resource is time: a task of n on i takes 1/gamma[n,i] of a machine.

    Users, servers, counts, weights and limits stay; tasks (N, I) of either are tasks of the other.
    """
    machine = instance.alone / instance.count[None, :]
    demand = np.where(instance.eligible, 1.0 / np.where(instance.eligible, machine, 1.0), 1.0)
    return Instance(
        demand[:, :, None], np.ones((len(instance.servers), 1)), instance.eligible,
        instance.weight, instance.limit, instance.count, instance.users, instance.servers, ["time"],
    )  # fmt: skip
