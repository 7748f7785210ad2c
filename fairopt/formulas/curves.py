r"""Demand that is not linear, on a pool: what is answered, and as what (kesidis2016 section 5).

x > 0 tasks of user n take :math:`D_{n,r}(x) = d_{n,r} x^{a_{n,r}} + e_{n,r}` of resource r, none
take nothing. Answered are

* weighted DRF, by the family `per-server-drf`: the shares max_r D[n,r](x_n) / c_r rise together
  (Corollary 1);
* with set-up costs alone (a = 1), notions that give everybody something whatever it costs: what is
  served first is then no question, and e is only a smaller capacity. These are alpha-fairness with
  alpha >= 1 and max-min, where a share is the number of tasks.

Whether a user is worth its set-up is a question of whole numbers; and with a < 1 the tasks that fit
are no convex set. Both are refused by name.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from fairopt.errors import Infeasible
from fairopt.formulas import families
from fairopt.instance import Instance

DRF = "per-server-drf"


def unanswered(instance: Instance, notion: Mapping[str, Any]) -> str | None:
    """Why a notion (plain data) has no answer with this demand; None where it has."""
    kind = families.member(notion)
    name, given = kind["name"], kind["parameters"]
    if notion["name"] == DRF:
        idle = np.argwhere((instance.demand_fixed > 0) & (instance.demand == 0))
        if not len(idle):
            return None
        n, r = idle[0]
        return (
            f"a share that does not grow with the tasks ({instance.users[n]} takes "
            f"{instance.resources[r]} to begin, and none for a task); a demand above 0 there"
        )
    if (instance.demand_power != 1).any():
        return "the tasks that fit are no convex set; per-server-drf"
    alpha = float(given.get("alpha", 0.0))
    if not (name == "max-min" or (name == "alpha-fair" and alpha >= 1)):
        return "a notion that may leave users out, or measures them by linear demand; " + _OTHERS
    if given.get("criterion", "drf" if name == "max-min" else "tasks") != "tasks":
        return "a criterion that measures shares by linear demand; criterion 'tasks'"
    return None


_OTHERS = "per-server-drf, or with demand_fixed alone max-min or alpha-fair (alpha >= 1) of tasks"


def after_setup(instance: Instance) -> Instance:
    """The pool with linear demand that is left once everybody's set-up is paid.

    Raises
    ------
    Infeasible : nothing is left of a resource that somebody demands.
    """
    fixed = np.array([math.fsum(column) for column in instance.demand_fixed.T.tolist()])
    left = instance.pool[0] - fixed
    short = np.flatnonzero((left <= 0) & (instance.demand > 0).any(axis=0))
    if len(short):
        r = int(short[0])
        raise Infeasible(
            f"demand_fixed: everybody's set-up takes {fixed[r]:g} of {instance.resources[r]}, "
            f"and there is {instance.pool[0, r]:g}"
        )
    if (left < 0).any():
        r = int(np.argmin(left))
        raise Infeasible(f"demand_fixed: more {instance.resources[r]} than there is")
    return Instance(
        instance.demand,
        left[None, :],
        instance.placement,
        instance.weight,
        instance.limit,
        None,
        instance.users,
        instance.servers,
        instance.resources,
    )
