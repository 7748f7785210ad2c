r"""`equal-m` and `sum-m` of kesidis2016 beside ceilings of groups, limits on servers, own rules.

Rows leave a smaller set, and both programs are stated over any set in which less of everything
fits. So the same programs are asked of one server that has every row as a resource, where what was
a pair of user and server, or a user on all its servers, is a user that runs there alone:

.. math:: \sum_n a_{m,n,i} x_{n,i} \le b_m, \qquad
          (9)\ x_{n,i} \ge \phi_n k_i M, \qquad (10)\ x_{n,i} = k_i M_n

with k_i the machines of a server. A pair that a row keeps at 0 is none of the user's pools, as
where a server has none of a resource.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from fairopt import memory
from fairopt.errors import UsageError
from fairopt.formulas.entitled import leaf_weights
from fairopt.formulas.limits import in_limits_alone
from fairopt.formulas.lowered import Lowered, lower
from fairopt.instance import Floats, Instance, Ints, remembered

NOTIONS = ("equal-m", "sum-m")
SAME_WEIGHT = 1e-12
"""part by which the weights of a tree may differ from users' own"""


def among_all(instance: Instance, who: str) -> None:
    """Refuse what contradicts a caller `who` that compares all users with one another.

    Raises
    ------
    UsageError : guarantees, priorities, modes, shares already had, or trees that do not weigh users
        as they weigh themselves: a group as much as its members together.
    """
    tree = instance.tree
    instance.only_known("limits", who)
    if len(tree.guarantees) or tree.own_tasks.any():
        raise UsageError(f"{who}: found guarantees; wanted an instance without them")
    if tree.rank.any():
        raise UsageError(f"{who}: found priorities; wanted an instance without them")
    weight = leaf_weights(instance)
    if (np.abs(weight / instance.weight - 1.0) > SAME_WEIGHT).any():
        raise UsageError(
            f"{who}: found groups whose weights are not those of their members together; wanted "
            "such, as all users are compared with one another, or none"
        )


def beside_rows(instance: Instance, kind: Mapping[str, Any], who: str) -> bool:
    """Whether (9) or (10) is asked beside rows; not where all that there is are limits of single
    users.

    Parameters
    ----------
    kind : the notion as a member of its family.

    Raises
    ------
    UsageError : what (9) and (10) have no word for, for a caller `who`; rules by which less of
        everything may not do; a user that is left nothing.
    """
    if kind["name"] not in NOTIONS or instance.plain or in_limits_alone(instance):
        return False
    among_all(instance, who)
    if instance.tree.quotas:
        raise UsageError(f"{who}: found lending; wanted ceilings, or an instance without it")
    asking = [row.name for row in instance.own_rows if not row.packing]
    if asking:
        raise UsageError(
            f"{who}: found rules that less of everything may break ({', '.join(asking)}); wanted "
            "such that say how much there may be at the most"
        )
    if kind["parameters"].get("mix") == "free":
        raise UsageError(f"{who}: found mix 'free' beside rules; wanted mix 'demand'")
    left = np.unique(of_columns(instance).user)
    if len(left) < len(instance.users):
        (nothing, *_) = np.setdiff1d(np.arange(len(instance.users)), left).tolist()
        raise UsageError(
            f"{who}: found rules that leave {instance.users[nothing]} nothing; wanted an instance "
            "in which everybody may run something"
        )
    return True


class OneServer(NamedTuple):
    """The rows as resources of one server.

    instance : of one server; its users are pairs of user and server. low : the rows.
    column, user, server : (C,) of each pair, its column in `low`.
    """

    instance: Instance
    low: Lowered
    column: Ints
    user: Ints
    server: Ints


def of_columns(instance: Instance) -> OneServer:
    """Every pair of user and server that no row keeps at 0, by itself on the one server; its
    weight is what (9) has it run at M = 1."""
    found: OneServer = remembered(instance, "_of_columns", lambda: _of_columns(instance))
    return found


def _of_columns(instance: Instance) -> OneServer:
    low = lower(instance, np.ones(instance.shape[:2]))
    column = np.flatnonzero(~low.empty)
    user, server = low.owner[column], low.server[column]
    rows, columns = len(low.rhs), len(column)
    memory.enough("instance", 8.0 * rows * columns, f"{rows:,} rows of {columns:,} pairs")
    if not columns:
        return OneServer(instance, low, column, user, server)
    one = Instance(
        low.matrix.tocsc()[:, column].T.toarray(),
        low.rhs[None, :],
        weight=instance.weight[user] * instance.count[server],
    )
    return OneServer(one, low, column, user, server)


def of_users(instance: Instance) -> Instance:
    """Every user by itself on one server that has all rows as resources: one of its tasks there is
    one on every machine of its pools."""
    if instance.plain:
        part = instance.part_of_row() * (instance.eligible * instance.count)[:, :, None]
        limit = instance.limit / machines(instance).sum(axis=1)
        need, there = part.reshape(len(part), -1), np.ones((1, instance.pool.size))
    else:
        pairs = of_columns(instance)
        demand = pairs.instance.demand * instance.count[pairs.server][:, None]
        need, limit = np.zeros((len(instance.users), demand.shape[1])), None
        np.add.at(need, pairs.user, demand)
        there = pairs.low.rhs[None, :]
    return Instance(need, there, weight=instance.weight, limit=limit, users=instance.users)


def machines(instance: Instance) -> Floats:
    """(N, I) the machines of each user's pools."""
    found = np.where(instance.eligible, instance.count, 0.0)
    if not instance.plain:
        pairs = of_columns(instance)
        open_to = np.zeros(found.shape, dtype=bool)
        open_to[pairs.user, pairs.server] = True
        found = np.where(open_to, found, 0.0)
    return found


__all__ = ["NOTIONS", "OneServer", "among_all", "beside_rows", "machines", "of_columns", "of_users"]
