"""What users hold of every row of an answer beside rules: what earlier rounds may take of them.

Whoever is stopped in a round may be due a little more than it holds, and take that of any row, be
it of capacity, a ceiling, lending or a rule of one's own. What others then lose of a full row is
lost even where the row has no price in their own round (`crowds`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fairopt.certificates.crowds import Uses
from fairopt.certificates.ruled.answer import ROUNDING, Ruled
from fairopt.certificates.ruled.lending import Flow
from fairopt.instance import Bools, Floats, Ints
from fairopt.instance.quotas.tree import QuotaRow


def uses(ruled: Ruled, dues: Sequence[Floats] = ()) -> Uses:
    """What each user holds of each row.

    Parameters
    ----------
    dues : of each round the shares (N,) that all are due by then.
    """
    found = _Rows(ruled)
    found.of_ceilings()
    for row, flow in zip(ruled.tree.quotas, ruled.flows, strict=True):
        found.of_lending(row, flow)
    if ruled.inst.own_rows:
        # less of a task may break a rule: nobody is taken to do without any
        found.of_rules()
        return found.uses()
    if not len(dues):
        return found.uses()
    with np.errstate(divide="ignore", invalid="ignore"):
        due = np.array(dues) / ruled.share
    return found.uses()._replace(due=np.where(np.isfinite(due), due, 1.0))


class _Rows:
    """Entries of rows: first of every resource of every server, then row by row."""

    def __init__(self, ruled: Ruled) -> None:
        self._ruled = ruled
        k, i = np.nonzero(ruled.tasks)
        resources = ruled.inst.shape[2]
        pool = np.where(ruled.inst.pool > 0, ruled.inst.pool, 1.0)
        part = ruled.tasks[k, i][:, None] * self._demand(k, i) / pool[i]
        entry, r = np.nonzero(part)
        part = part[entry, r]
        row = i[entry] * resources + r
        share = self._share(k, i)[entry]
        self._found = [(ruled.owner[k][entry], row, part, share, part)]
        self._left = [np.maximum(1.0 - (ruled.used / pool).ravel(), 0.0)]
        self._rows = len(self._left[0])

    def uses(self) -> Uses:
        """All of them."""
        user, row, *rest = zip(*self._found, strict=True)
        part, share, taken = (np.concatenate(each) for each in rest)
        return Uses(
            np.concatenate(user),
            np.concatenate(row),
            part,
            share,
            taken,
            np.concatenate(self._left),
        )

    def _demand(self, k: Ints, i: Ints) -> Floats:
        """(len(k), R) demand of tasks of ways k on servers i."""
        demand = self._ruled.demand
        return np.asarray(demand[k, i if demand.shape[1] > 1 else np.zeros_like(i)])

    def _share(self, k: Ints, i: Ints) -> Floats:
        """(len(k),) the part of its user's share that the tasks of a way on a server are."""
        ruled = self._ruled
        with np.errstate(divide="ignore", invalid="ignore"):
            part = ruled.tasks[k, i] * ruled.score[k, i] / ruled.share[ruled.owner[k]]
        return np.where(ruled.tasks[k, i] > 0, part, 0.0)

    def _add(self, k: Ints, i: Ints, amount: Floats, left: float, gives: Floats) -> None:
        """A row that `amount` of tasks of ways k on servers i is taken of, and of which `left` is
        not used. `gives` is what it gets back when these are given up."""
        whole = float(amount.sum())
        if not whole > 0:
            return
        row = np.full(len(k), self._rows)
        share = np.where(gives > 0, self._share(k, i), 0.0)
        self._found.append((self._ruled.owner[k], row, gives / whole, share, amount / whole))
        self._left.append(np.array([max(left, 0.0) / whole]))
        self._rows += 1

    def _taken(self, resource: int, servers: Bools) -> tuple[Ints, Ints, Floats]:
        """What tasks of each way on each of these servers use of a resource, where it is any."""
        ruled = self._ruled
        k, i = np.nonzero(ruled.use_of(resource) * servers)
        return k, i, ruled.tasks[k, i] * self._demand(k, i)[:, resource]

    def of_ceilings(self) -> None:
        """A row of each ceiling."""
        ruled, bounds = self._ruled, self._ruled.tree.bounds
        for b in range(len(bounds)):
            k, i, amount = self._taken(int(bounds.resource[b]), bounds.servers[b])
            inside = ruled.members(int(bounds.node[b]))[k]
            k, i, amount = k[inside], i[inside], amount[inside]
            self._add(k, i, amount, float(bounds.amount[b] - ruled.under_bounds[b]), amount)

    def of_lending(self, row: QuotaRow, flow: Flow) -> None:
        r"""A row of each group: what is free there is at least minus what it may borrow.

        That falls by no more than what is taken below it. What is given up below a child c rises to
        it as far as c may still lend, h_c = lend_c - T_c: if of gifts g_c a part is made, at least
        the part min(1, h_c / g_c) of that. Who is below a child that lends all it may gives nothing
        further up; that the child still lends as much is one more row, of those below it.
        """
        ruled, tree = self._ruled, self._ruled.tree
        k, i, amount = self._taken(row.resource, row.servers)
        user, borrow = ruled.owner[k], np.append(0.0, row.borrow[1:])
        room = np.maximum(row.lend - flow.free, 0.0)
        room[room <= ROUNDING * (row.nominal + flow.taken)] = 0.0
        gives = amount * _part(room[tree.leaf], np.bincount(user, amount, len(tree.leaf)))[user]
        for v in np.concatenate([*reversed(ruled.layers), [0]]).tolist():
            if v in tree.leaf:
                continue
            below = np.flatnonzero(np.isin(user, tree.below(v)))
            for least in {-borrow[v], row.lend[v] if room[v] == 0 else -np.inf} - {-np.inf}:
                left = float(flow.free[v] - least)
                self._add(k[below], i[below], amount[below], left, gives[below])
            gives[below] *= _part(room[v], gives[below].sum())

    def of_rules(self) -> None:
        """A row for each side of a rule of one's own: of tasks that bring it nearer to being full,
        as a part of all that do."""
        counted, _ = self._ruled.counted
        for j, rule in enumerate(self._ruled.inst.own_rows):
            for holds, sign in ((rule.up, 1.0), (rule.down, -1.0)):
                on = np.flatnonzero(sign * rule.value > 0) if holds else np.zeros(0, np.int64)
                k, i = rule.way[on], rule.server[on]
                amount = sign * rule.value[on] * self._ruled.tasks[k, i]
                self._add(k, i, amount, sign * float(rule.amount - counted[j]), amount)


def _part(room: Any, gifts: Any) -> Any:
    """The part of gifts that there is room for, at most 1."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(gifts > room, room / gifts, 1.0)


__all__ = ["uses"]
