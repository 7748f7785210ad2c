"""Bottleneck max fairness: everybody has a full resource of which nobody uses more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from fairopt.errors import BadInput, Fault
from fairopt.instance import Floats, Instance
from fairopt.notions.notion import Notion

OBJECTIVES = ("most-tasks", "fewest-tasks")


@dataclass(frozen=True)
class BottleneckMaxFair(Notion):
    r"""Bottleneck max fairness (BMF) of one pool.

    .. math:: \forall i \ \exists j: \quad \sum_k a_{kj} \varphi_k = 1, \quad
              a_{ij} \varphi_i / w_i = \max_k a_{kj} \varphi_k / w_k

    with a the part of the pool one task uses, and the weight in both places. A user at its limit
    needs no bottleneck. An answer exists; it is unique for two resources and need not be for three
    (bonald2015 Propositions 3 and 4).

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
    """

    name: ClassVar[str] = "bmf"
    summary: ClassVar[str] = "every user has a full resource it uses most of (bonald2015 2.5)"
    procedure_path: ClassVar[str] = "fairopt.engines.water_levels:solve"
    method: str | None = None
    objective: str | None = None

    def method_for(self, instance: Instance) -> str:
        """The method used on this instance."""
        return self.method or ("levels" if self.objective is None else "milp")

    def gain(self, instance: Instance) -> Floats:
        """(N,) gain of one task under the objective; all ones when there is none."""
        users = instance.users
        if self.objective in (None, "most-tasks"):
            return np.ones(len(users))
        if self.objective == "fewest-tasks":
            return -np.ones(len(users))
        if self.objective not in users:
            wanted = f"{', '.join(OBJECTIVES)} or a user"
            raise BadInput([Fault("objective", repr(self.objective), wanted)])
        return np.array([float(user == self.objective) for user in users])


def program(part: Floats, weight: Floats, limit: Floats, gain: Floats) -> tuple[Any, Any]:
    """The mixed-integer program and its boolean (N, R+1): user i is bottlenecked at j.

    Column R says "at its limit". Shares a phi / w are scaled so that none exceeds 1, the big M.

    Parameters
    ----------
    part : (N, R) part of the pool one task uses. weight, limit : (N,). gain : (N,) per task.
    """
    import cvxpy as cp

    users, resources = part.shape
    unit = 1.0 / part.max(axis=1)  # tasks alone: phi / unit lies in [0, 1]
    use = part * unit[:, None]
    share = use * (weight.min() / weight)[:, None]
    phi = cp.Variable(users, nonneg=True)
    top = cp.Variable(resources, nonneg=True)
    bottleneck = cp.Variable((users, resources + 1), boolean=True)
    bounded = np.isfinite(limit)
    limits = np.where(bounded, limit, unit) / unit
    at_limit = np.where(bounded, np.minimum(limits, 2.0), 0.0)
    rules = [
        use.T @ phi <= 1,
        phi <= np.where(bounded, limits, 1.0),
        cp.sum(bottleneck, axis=1) == 1,
        bottleneck[:, resources] <= bounded,
        phi >= cp.multiply(at_limit, bottleneck[:, resources]),
    ]
    for j in range(resources):
        mine = bottleneck[:, j]
        rules += [
            mine <= (part[:, j] > 0),
            cp.multiply(share[:, j], phi) <= top[j],
            cp.multiply(share[:, j], phi) >= top[j] - (1 - mine),
            use[:, j] @ phi >= mine,
        ]
    worth = gain * unit
    goal = cp.Maximize((worth / np.abs(worth).max()) @ phi)
    return cp.Problem(goal, [*rules, top <= 1]), bottleneck
