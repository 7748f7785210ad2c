"""Parts of a cluster that share no rule: each has its own optimum, whatever the others hold.

The errors of one cannot harm the users of another, and each is searched with money in a unit of its
own: of two servers of capacities 1e12 apart one has e^-1354 of the money at alpha 50.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fairopt.certificates.given import Given
from fairopt.certificates.question import Question
from fairopt.instance import Bools, Floats, Ints

MOST_PAIRS = 2_000_000
"""pairs up to which parts are looked for"""
FULL = 1e-6
"""part left of a row that may have a price where an answer tells none"""


def labels(question: Question) -> Ints | None:
    """(N + M + F,) the part of each user, row and flow; None if there is one, or too many pairs."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    columns = question.columns
    if columns.count > MOST_PAIRS or question.users == 1:
        return None
    users, rows, flows = question.users, len(question.rhs), len(question.low)
    cost = columns.cost(np.zeros(rows))
    every = np.concatenate([np.flatnonzero(np.isfinite(cost)), columns.count + np.arange(flows)])
    row, each, _ = columns.entries(every)
    task = every < columns.count
    mine = np.empty(len(every), dtype=np.int64)
    mine[task] = columns.owner(every[task])
    mine[~task] = users + rows + np.arange(flows)
    size = users + rows + flows
    graph = coo_array((np.ones(len(row)), (mine[each], users + row)), shape=(size, size))
    count, found = connected_components(graph, directed=False)
    return None if np.ptp(found[:users]) == 0 or count == 1 else np.asarray(found, np.int64)


@dataclass(frozen=True)
class QuestionPart:
    """Some parts of a cluster as a question of their own.

    Parameters
    ----------
    label : of its own users, rows and flows. users, rows, flows : of the whole. columns : of the
        whole, tasks alone, in order. mine : (m,) rows that these users share; the others only
        stand on the same servers. before : columns of tasks of the whole.
    """

    question: Question
    label: Ints
    users: Ints
    rows: Ints
    flows: Ints
    columns: Ints
    mine: Bools
    before: int

    def given(self, whole: Given) -> Given:
        """An answer to the whole question as one to this, money in a unit of its own."""
        at = np.searchsorted(self.columns, whole.held)
        own = at < len(self.columns)
        own[own] = self.columns[at[own]] == whole.held[own]
        held, x, y = at[own], whole.x[own], whole.y[self.flows]
        price = np.where(self.mine, whole.price[self.rows], 0.0)
        top = float(price.max(initial=0.0))
        price = price / top if top > 0 else np.where(self.mine, self._equal(held, x, y), 0.0)
        return Given(held, x, y, price, whole.share[self.users])

    def _equal(self, held: Ints, x: Floats, y: Floats) -> Floats:
        """(m,) prices for an answer without any: equal money for every row that is full."""
        question = self.question
        every = np.concatenate([held, question.columns.count + np.arange(len(y))])
        row, each, entry = question.columns.entries(every)
        used = np.bincount(row, entry * np.concatenate([x, y])[each], len(question.rhs))
        return np.where(question.rhs - used <= FULL * question.unit, 1 / question.unit, 0.0)

    def whole(self, columns: Ints) -> Ints:
        """Columns of this question, tasks or flows, as the whole counts them."""
        return np.concatenate([self.columns, self.before + self.flows])[columns]


def part(question: Question, label: Ints, names: Ints) -> QuestionPart:
    """The parts of these names."""
    count, users, size = question.columns.count, question.users, len(question.rhs)
    own = np.isin(label, names)
    n, flows = np.flatnonzero(own[:users]), np.flatnonzero(own[users + size :])
    columns, kept, rows = question.columns.of_users(own[:users], own[users : users + size], flows)
    mine = own[users + rows]
    small = replace(
        question,
        columns=kept,
        **{name: getattr(question, name)[rows] for name in ("rhs", "unit", "row_unit")},
        **{name: getattr(question, name)[flows] for name in ("low", "high")},
        **{name: getattr(question, name)[n] for name in BY_USER},
    )
    if question.paid is not None:
        paid, owner = question.paid[n], kept.owner(np.arange(kept.count))
        small = replace(small, paid=paid, signed=np.flatnonzero(paid[owner]))
    if question.further is not None:
        small = replace(small, further=question.further[rows])
    within = np.concatenate(
        [label[n], np.where(mine, label[users + rows], -1), label[users + size + flows]]
    )
    within = np.unique(within, return_inverse=True)[1]
    return QuestionPart(small, within, n, rows, flows, columns, mine, count)


BY_USER = (
    "log_w",
    "log_size",
    "base",
    "least",
    "most",
    "nothing",
    "within",
    "share_unit",
    "weight",
    "tasks_unit",
)

__all__ = ["QuestionPart", "labels", "part"]
