"""Tasks apart as rows of the fluid problem: what is due is never more than the nodes may hold.

A workload of which a node may hold k tasks runs at most k times the nodes of a shape there: a limit
on that server (`Instance.limit_on`). What at most one task on a node may have, such as a host port
that several workloads want, is a rule that counts all of them. Rows that cannot bind are left out,
so that a cluster without such workloads stays the problem that it was.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fairopt.connect.cluster.together import Together
from fairopt.instance import Floats, Instance
from fairopt.instance.rules import Rule, Term


def limits(inst: Instance, together: Sequence[Together]) -> Floats:
    """(N, I) most tasks of each user on each shape, by what a node may hold; inf where that is no
    less than its limit, and than what fits."""
    most = np.full(inst.shape[:2], np.inf)
    for n, own in enumerate(together):
        each = 1 if own.alone else own.per_node
        if each is not None:
            most[n] = each * inst.count
    fits = np.minimum(inst.limit[:, None], np.where(inst.placement, _fitting(inst), 0.0))
    return np.where(most < fits, most, np.inf)


def rules(inst: Instance, together: Sequence[Together]) -> tuple[Rule, ...]:
    """A rule for each shape, and each thing that at most one task on a node may have, where the
    workloads that want it could be more than the nodes."""
    tags = sorted({tag for own in together for tag in own.alone})
    fits = np.minimum(inst.limit[:, None], np.where(inst.placement, inst.count, 0.0))
    found = []
    for tag in tags:
        who = [n for n, own in enumerate(together) if tag in own.alone]
        for i, server in enumerate(inst.servers):
            here = [n for n in who if fits[n, i] > 0]
            if len(here) > 1 and fits[here, i].sum() > inst.count[i]:
                users = tuple(inst.users[n] for n in here)
                term = Term(users=users, servers=(server,))
                found.append(Rule(f"{tag} on {server}", most=float(inst.count[i]), terms=(term,)))
    return tuple(found)


def with_rows(inst: Instance, together: Sequence[Together]) -> Instance:
    """The instance with what keeps tasks apart, beside the limits and rules that it has."""
    most, more = limits(inst, together), rules(inst, together)
    if inst.limit_on is not None:
        most = np.minimum(most, inst.limit_on)
    if np.isfinite(most).any():
        inst = inst.replace(limit_on=most)
    known = {own.name for own in inst.rules or ()}
    more = tuple(own for own in more if own.name not in known)
    return inst.replace(rules=(*(inst.rules or ()), *more)) if more else inst


def without(inst: Instance, together: Sequence[Together]) -> Instance:
    """The instance without the rows that keep tasks apart; others that it has stay."""
    names = {own.name for own in rules(inst, together)}
    most = inst.limit_on
    if most is not None:
        most = np.where(most == limits(inst, together), np.inf, most)
        most = most if np.isfinite(most).any() else None
    rest = [own for own in inst.rules or () if own.name not in names]
    return inst.replace(limit_on=most, rules=rest or None)


def _fitting(inst: Instance) -> Floats:
    """(N, I) tasks of each user that fit on all nodes of a shape, by its own demand."""
    with np.errstate(divide="ignore", invalid="ignore"):
        each = np.where(inst.demand[:, None] > 0, inst.pool / inst.demand[:, None], np.inf)
    most: Floats = each.min(axis=2)
    return most
