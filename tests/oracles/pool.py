"""Nested max-min on one pool by filling: all targets rise together until a resource is full.

Fast enough to search for lies; `nested` is the definition.
"""

from __future__ import annotations

import numpy as np

import fairopt as fo
from fairopt.criteria import drf
from fairopt.formulas.entitled import entitled
from fairopt.formulas.targets import Jump, PathPoint

FULL = 1e-12


def tasks(inst: fo.Instance, notion: fo.MaxMin) -> np.ndarray:
    """(N,) tasks of each user under the criterion drf; ceilings on all servers are kept."""
    assert inst.shape[1] == 1
    score = drf(inst)
    asked = entitled(inst, score, {"name": "max-min", "parameters": notion.plain()["parameters"]})
    tree, u = inst.tree, score[:, 0]
    # each row: what a unit of share takes of it, and how much there is
    rows = [(inst.demand[:, r] / u, inst.pool[0, r]) for r in range(inst.shape[2])]
    for b in range(len(tree.bounds)):
        inside = np.isin(np.arange(len(u)), tree.below(int(tree.bounds.node[b])))
        need = np.where(inside, inst.demand[:, tree.bounds.resource[b]] / u, 0.0)
        rows.append((need, tree.bounds.amount[b]))
    need = np.array([row for row, _ in rows])
    most, cap = np.array([amount for _, amount in rows]), inst.limit * u
    due = asked.floor - asked.base
    for rank in np.unique(asked.rank):
        point = PathPoint.start(asked.tree, due, asked.rank == rank)
        while point.free.any():
            piece = point.piece()
            jump = isinstance(piece, Jump)
            line = piece.end.due - point.due if jump else piece.slope
            share = point.due + asked.base
            with np.errstate(divide="ignore", invalid="ignore"):
                full = np.where(need @ line > 0, (most - need @ share) / (need @ line), np.inf)
                own = np.where(line > 0, (cap - share) / line, np.inf)
            step = max(min(full.min(), own.min()), 0.0)
            if step >= (1.0 if jump else piece.until - point.t):
                point = piece.at(1 if jump else piece.until)
                continue
            point = piece.at(step if jump else point.t + step)
            near = step + FULL * max(step, 1.0 if jump else point.t)
            stopped = (need[full <= near] > 0).any(axis=0) | (own <= near)
            point = point.freeze(stopped)
        due = point.due
    return (due + asked.base) / u
