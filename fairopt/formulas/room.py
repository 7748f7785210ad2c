"""What ceilings, lending, limits on servers and own rules leave while tasks are given one by one.

Who fills servers and takes nothing back can keep each of these, as more tasks never loosen one.
It can keep no rule that asks for tasks: of 8 CPU with "A at least 5" two users would be served in
turn, 4 and 4.
"""

from __future__ import annotations

import numpy as np

from fairopt.errors import UsageError
from fairopt.formulas.lowered import BOUND, PLACE, RULE, lower
from fairopt.instance import Floats, Instance
from fairopt.instance.quotas.tree import QuotaRow

SLACK = 1e-9
"""part of an amount by which it may be exceeded, as in the judge of feasibility"""


class Room:
    """What is left of the rows beside capacity and users' limits.

    Raises
    ------
    UsageError : modes, guarantees, shares already had, own rules that ask for tasks.
    """

    def __init__(self, instance: Instance, who: str) -> None:
        instance.only_known("fill", who)
        tree = instance.tree
        if len(tree.guarantees) or tree.own_tasks.any():
            raise UsageError(f"{who}: found guarantees; wanted an instance without them")
        low = lower(instance, np.ones(instance.shape[:2]))
        kept = np.isin(low.kind, (PLACE, BOUND, RULE))
        rows = low.matrix.tocsr()[kept][:, : low.columns].tocsc()
        self.rhs: Floats = low.rhs[kept]
        if (rows.data < 0).any() or (self.rhs < 0).any():
            raise UsageError(
                f"{who}: found own rules that ask for tasks, or count some below 0; wanted rules "
                "that allow, as tasks are given one by one and not taken back"
            )
        self._instance, self._rows = instance, rows
        self._column = np.full(instance.shape[:2], -1)
        self._column[low.owner, low.server] = np.arange(low.columns)
        self._need = instance.demand_by_server
        self.clear()

    def clear(self) -> None:
        """No tasks at all."""
        self.used = np.zeros(len(self.rhs))
        self.own = np.zeros((len(self._instance.tree.quotas), len(self._instance.tree.nodes)))

    def add(self, user: int, server: int, tasks: float) -> None:
        """So many tasks more of a user on a server, or fewer."""
        at, value = self._entries(user, server)
        self.used[at] += tasks * value
        leaf = self._instance.tree.leaf[user]
        for q, row in enumerate(self._instance.tree.quotas):
            self.own[q, leaf] += tasks * self._taken(row, user, server)

    def allows(self, user: int, server: int, tasks: float) -> bool:
        """Whether so many tasks more of a user on a server keep all rows."""
        at, value = self._entries(user, server)
        if (self.used[at] + tasks * value > self.rhs[at] * (1 + SLACK)).any():
            return False
        leaf = int(self._instance.tree.leaf[user])
        return all(
            self._lends(row, self.own[q], leaf, tasks * self._taken(row, user, server))
            for q, row in enumerate(self._instance.tree.quotas)
        )

    def _entries(self, user: int, server: int) -> tuple[slice, Floats]:
        """The rows that a task of a user on a server counts in, and how much it counts."""
        k = int(self._column[user, server])
        here = slice(self._rows.indptr[k], self._rows.indptr[k + 1])
        return self._rows.indices[here], self._rows.data[here]

    def _taken(self, row: QuotaRow, user: int, server: int) -> float:
        return float(self._need[user, server, row.resource]) if row.servers[server] else 0.0

    def _lends(self, row: QuotaRow, own: Floats, leaf: int, more: float) -> bool:
        """Whether nobody borrows more than it may when a user uses so much more."""
        if not more:
            return True
        parent = self._instance.tree.parent
        left = row.nominal - own
        left[leaf] -= more
        some = SLACK * (float(row.nominal.sum()) + float(own.sum()))
        for node in range(len(left) - 1, 0, -1):  # children come after their parents
            if left[node] < -row.borrow[node] - some:
                return False
            left[parent[node]] += min(row.lend[node], left[node])
        return bool(left[0] >= -some)


__all__ = ["Room"]
