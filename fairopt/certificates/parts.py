"""Parts of a cluster that share no rule: the errors of one cannot harm the users of another."""

from __future__ import annotations

import numpy as np

from fairopt.certificates.question import Question
from fairopt.instance import Ints

MOST = 2_000_000
"""pairs up to which parts are looked for"""


def labels(question: Question) -> Ints | None:
    """(N + M + F,) the part of each user, row and flow; None if there is one, or too many pairs."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    columns = question.columns
    if columns.count > MOST:
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


__all__ = ["labels"]
