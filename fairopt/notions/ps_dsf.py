"""PS-DSF: per-server dominant-share fairness, with resources or time divided on each server."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from fairopt.instance import Floats, Instance
from fairopt.notions import bottlenecks
from fairopt.notions.notion import Merging, Notion, SameAs
from fairopt.notions.proportional import ProportionalFair
from fairopt.notions.way import Choose, Patterns
from fairopt.program import Program, feasible_set, usage_matrix


@dataclass(frozen=True)
class PerServerDominantShare(Notion):
    r"""Per-server dominant-share fairness (PS-DSF).

    With :math:`s_{n,i} = x_n / \gamma_{n,i}` (all tasks of n, relative to those it could run alone
    on i): the allocation is feasible, and no x_n can grow without lowering some x[m,i] with
    :math:`s_{m,i}/\phi_m \le s_{n,i}/\phi_n`. Feasible means, by `division`,

    .. math:: \text{rdm: } \sum_n x_{n,i} d_{n,r} \le c_{i,r}, \qquad
              \text{tdm: } \sum_n x_{n,i} / \gamma_{n,i} \le 1

    For tdm this is the program max sum phi_n log x_n under the tdm constraint, and x_n is unique.
    Where users have limits, the answer is that of the program (Theorem 2 exempts users at their
    limits, so it admits other answers too).

    For rdm, Theorem 1 as a program: booleans b ("n is stopped at i by r"), h ("n holds tasks on
    i") and l ("n is at its limit"), levels scaled so that none exceeds 1:

    .. math:: \max_{x \ge 0, \theta} \sum_n g_n x_n, \quad
              b_{n,i,r} \le \sum_m x_{m,i} d_{m,r} / c_{i,r} \le 1, \quad
              x_{n,i} \le \gamma_{n,i} h_{n,i}, \quad x_n \ge l_n \, \text{limit}_n, \\
              \theta_{i,r} \ge s_{n,i} / \phi_n - (1 - h_{n,i}), \quad
              s_{n,i} / \phi_n \ge \theta_{i,r} - (1 - b_{n,i,r}), \quad
              l_n + \sum_r b_{n,i,r} \ge 1

    Several answers may exist, and one may even dominate another. The order of the servers, or the
    objective g, is a parameter of the notion and chooses one; `fairopt.fixed_points` looks for
    others.

    Parameters
    ----------
    division : "rdm" (resources are divided) or "tdm" (time is divided).
    order : names of all servers in the order they are refilled; None is the instance's own. Where
        the rounds do not settle soon, all servers go on at once from where they are
        (`engines.water.implicit`), which may lead to another fixed point than more rounds would.
    method : "refill" (server by server) or "algorithm-1" (khamse2016 Algorithm I), for rdm.
    seed : with "algorithm-1", servers act one at a time, picked at random from this seed (the
        distributed form); None is round after round in `order`.
    objective : which of the answers for rdm, found by the mixed-integer program (some eight users):
        "most-tasks", "fewest-tasks", or the name of the user to favour; None leaves the choice to
        the method.

    Raises
    ------
    BadInput : a parameter out of range, or one that the division or method does not use.

    References
    ----------
    khamse2016 Theorems 1 and 2, Algorithm I.

    Examples
    --------
    >>> import fairopt as fo
    >>> cluster = fo.Instance([[1, 2], [2, 1]], [[12, 12], [6, 18]])
    >>> print(fo.solve(cluster, fo.PerServerDominantShare()).totals.round(4))
    [6. 6.]
    """

    name: ClassVar[str] = "ps-dsf"
    summary: ClassVar[str] = "per-server dominant-share fairness (khamse2016 Theorems 1, 2)"
    family: ClassVar[str] = "ps-dsf"
    compared: ClassVar[tuple[dict[str, Any], ...]] = ({"division": "rdm"}, {"division": "tdm"})
    fluid: ClassVar[bool] = True
    division: str = "rdm"
    order: tuple[str, ...] | None = None
    method: str = "refill"
    seed: int | None = None
    objective: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.order is not None:
            object.__setattr__(self, "order", tuple(self.order))

    def way(self, instance: Instance) -> SameAs | Patterns:
        """Proportional fairness of time for tdm, a mixed-integer program for rdm."""
        if self.division == "tdm":
            return SameAs(transformed(instance), ProportionalFair())
        gain = bottlenecks.gain(instance, self.objective)
        return Patterns(self.patterns, gain, chooses=self.objective is not None)

    def patterns(self, instance: Instance, choose: Choose, gain: Floats) -> Program:
        """Theorem 1 as a mixed-integer program; the level of a pair is s[n,i] / phi_n."""
        import cvxpy as cp

        alone = np.where(instance.eligible, instance.alone, 1.0)
        space = feasible_set(instance, 1.0 / alone, np.ones(len(instance.users)))
        n, i = instance.pairs
        # no level on a server is above what its user alone on all its servers would make it
        size = instance.weight[n] * alone[n, i]
        highest = np.zeros(len(instance.servers))
        np.maximum.at(highest, i, np.minimum(instance.alone.sum(axis=1), instance.limit)[n] / size)
        entries = usage_matrix(instance)[0].tocoo()
        of_user = np.equal.outer(np.arange(len(instance.users)), n) * space.pair_unit
        level = cp.multiply(1.0 / size / highest[i], (of_user @ space.y)[n])
        rules = bottlenecks.everybody_stopped(instance, space, level[entries.col], choose)
        return Program(bottlenecks.total(space, gain[n]), space, rules)

    @property
    def unique(self) -> bool:
        """Whether the totals are unique, as they are for tdm."""
        return self.division == "tdm"

    @property
    def merging(self) -> Merging | None:
        """Tasks of merged users go by weight; nothing is merged under an objective."""
        # divided resources: the merged answer is one of the original's, which has others; an
        # objective names users
        if self.objective is not None:
            return None
        return Merging(servers=self.division == "tdm", alone_matters=True)


def transformed(instance: Instance) -> Instance:
    """The instance whose one resource is time: a task of n on i takes 1/gamma[n,i] of a machine.

    Users, servers, counts, weights and limits stay; tasks (N, I) of either are tasks of the other.
    """
    machine = instance.alone / instance.count[None, :]
    demand = np.where(instance.eligible, 1.0 / np.where(instance.eligible, machine, 1.0), 1.0)
    return Instance(
        demand[:, :, None],
        np.ones((len(instance.servers), 1)),
        instance.eligible,
        instance.weight,
        instance.limit,
        instance.count,
        instance.users,
        instance.servers,
        ["time"],
    )
