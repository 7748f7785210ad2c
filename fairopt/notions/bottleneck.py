"""Bottleneck max fairness: every user has a full resource of which no other user has more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fairopt.errors import UsageError
from fairopt.instance import Floats, Instance
from fairopt.notions import bottlenecks
from fairopt.notions.notion import Merging, Notion
from fairopt.notions.way import Choose, Patterns
from fairopt.program import Program, feasible_set, usage_matrix


@dataclass(frozen=True)
class BottleneckMaxFair(Notion):
    r"""Bottleneck max fairness (BMF) of one pool.

    .. math:: \forall i \ \exists j: \quad \sum_k a_{kj} \varphi_k = 1, \quad
              a_{ij} \varphi_i / w_i = \max_k a_{kj} \varphi_k / w_k

    with a the part of the pool one task uses, and the weight in both places. A user at its limit
    needs no bottleneck. As a program, with booleans b ("i is stopped by j"; by its limit: l) and
    levels scaled so that none exceeds 1:

    .. math:: \max_{\varphi \ge 0, \theta} \sum_i g_i \varphi_i, \quad
              \sum_k a_{kj} \varphi_k \le 1, \quad \sum_k a_{kj} \varphi_k \ge b_{ij}, \\
              \theta_j - (1 - b_{ij}) \le a_{ij} \varphi_i / w_i \le \theta_j, \quad
              \varphi_i \ge l_i \, \text{limit}_i, \quad l_i + \sum_j b_{ij} \ge 1

    An answer exists; it is unique for two resources and need not be for three (bonald2015
    Propositions 3 and 4): the objective g chooses.

    Parameters
    ----------
    method : "levels" (water levels, any number of users), "milp" (a mixed-integer program, some
        thirty users), "enumeration" (section 3.3, a few users); None is "levels" without an
        objective and "milp" with one.
    objective : which answer where several exist: "most-tasks", "fewest-tasks", or the name of the
        user to favour; None leaves the choice to the method.

    Raises
    ------
    BadInput : an unknown method, or "levels" with an objective.
    UsageError : (when solved) several servers, an unknown user, too many maps to enumerate.

    References
    ----------
    bonald2015 sections 2.5, 3.3.

    Examples
    --------
    >>> import fairopt as fo
    >>> cluster = fo.Instance([[1, 4], [3, 1]], [[9, 18]], users=["A", "B"])
    >>> print(fo.solve(cluster, fo.BottleneckMaxFair()).totals.round(4))
    [4.0909 1.6364]
    """

    name: ClassVar[str] = "bmf"
    summary: ClassVar[str] = "every user has a full resource it uses most of (bonald2015 2.5)"
    family: ClassVar[str] = "bmf"
    method: str | None = None
    objective: str | None = None

    def method_for(self, instance: Instance) -> str:
        """The method used on this instance."""
        return self.method or ("levels" if self.objective is None else "milp")

    def way(self, instance: Instance) -> Patterns:
        """The mixed-integer program of the class docstring."""
        gain = bottlenecks.gain(instance, self.objective)
        return Patterns(self.patterns, gain, chooses=self.method_for(instance) == "milp")

    def patterns(self, instance: Instance, choose: Choose, gain: Floats) -> Program:
        """The mixed-integer program; a user's level at a resource is its part of it, by weight."""
        import cvxpy as cp

        part = one_pool(instance)
        space = feasible_set(instance, 1.0 / instance.alone, np.ones(len(part)))
        entries = usage_matrix(instance)[0].tocoo()
        user, weight = entries.col, instance.weight
        share = entries.data * space.pair_unit[user] * weight.min() / weight[user]
        rules = bottlenecks.everybody_stopped(
            instance, space, cp.multiply(share, space.y[user]), choose
        )
        return Program(bottlenecks.total(space, gain), space, rules)

    @property
    def merging(self) -> Merging | None:
        """Tasks of merged users go by weight, where the method names no user."""
        # the other methods name users, in their objective or their steps
        plain = self.method in (None, "levels") and self.objective is None
        return Merging(servers=False) if plain else None


def one_pool(instance: Instance) -> Floats:
    """(N, R) part of the pool one task uses.

    Raises
    ------
    UsageError : more than one server; bottleneck max fairness is defined for one pool.
    """
    if len(instance.servers) != 1:
        raise UsageError(
            f"bmf: found {len(instance.servers)} servers; wanted one (bonald2015 defines "
            "bottleneck max fairness for one pool; ps-dsf has a bottleneck at every server)"
        )
    return instance.pair_part
