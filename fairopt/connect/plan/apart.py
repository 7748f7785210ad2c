"""Tasks apart as rows of the fluid problem: what is due is never more than the nodes may hold.

Of a workload that is spread over zones, no zone has more than the skew beside another.

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

MOST_ZONES = 6
"""zones of a workload of which each two have a row in the fluid problem"""


def limits(inst: Instance, together: Sequence[Together]) -> Floats:
    """(N, I) most tasks of each user on each shape, by what a node may hold; inf where that is no
    less than its limit, and than what fits."""
    most = np.full(inst.shape[:2], np.inf)
    for n, own in enumerate(together):
        each = 1 if own.alone else own.per_node
        if each is not None:
            there = each * inst.count.astype(float)
            fits = np.minimum(inst.limit[n], np.where(inst.placement[n], _fitting(inst, n), 0.0))
            most[n] = np.where(there < fits, there, np.inf)
    return most


def rules(inst: Instance, together: Sequence[Together]) -> tuple[Rule, ...]:
    """A rule for each shape, and each thing that at most one task on a node may have, where the
    workloads that want it could be more than the nodes."""
    tags = sorted({tag for own in together for tag in own.alone})
    found = []
    for tag in tags:
        who = np.array([n for n, own in enumerate(together) if tag in own.alone])
        fits = np.minimum(inst.limit[who, None], inst.placement[who] * inst.count)
        for i in np.flatnonzero(((fits > 0).sum(axis=0) > 1) & (fits.sum(axis=0) > inst.count)):
            server, most = inst.servers[i], float(inst.count[i])
            users = tuple(inst.users[n] for n in who[fits[:, i] > 0])
            found.append(Rule(f"{tag} on {server}", most=most, terms=(Term(users, (server,)),)))
    for n, own in enumerate(together):
        found += _even(inst, n, own)
    return tuple(found)


def _even(inst: Instance, n: int, own: Together) -> list[Rule]:
    """For each two zones, that one has no more than the skew beside the other; of many zones no
    rows: they would be as many as their pairs."""
    if own.spread is None or len(own.spread.zones) > MOST_ZONES or inst.limit[n] <= own.spread.skew:
        return []
    user = (inst.users[n],)
    may = {name for name, fits in zip(inst.servers, inst.placement[n], strict=True) if fits}
    zones = [(name, tuple(s for s in there if s in may)) for name, there in own.spread.zones]
    found = []
    for name, here in zones:
        for other, there in zones:
            if name != other and here:
                terms = [Term(user, here)]
                terms += [Term(user, there, times=-1.0)] if there else []
                said = f"{user[0]} in {name} beside {other}"
                found.append(Rule(said, most=float(own.spread.skew), terms=tuple(terms)))
    return found


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


def _fitting(inst: Instance, n: int) -> Floats:
    """(I,) tasks of a user that fit on all nodes of a shape, by its own demand."""
    need = inst.demand[n] > 0
    most: Floats = (inst.pool[:, need] / inst.demand[n][need]).min(axis=1, initial=np.inf)
    return most
