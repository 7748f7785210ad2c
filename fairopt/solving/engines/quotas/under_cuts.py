r"""Max-min in groups under cuts of shares alone: the path of targets, followed until it ends.

Everybody has at most what its own limits allow, and :math:`\sum_n part_{k,n} l_n \le 1`
for every cut k. Where targets (`formulas.targets`) reach either, users stop: one that has all its
limits allow alone, whoever a cut counts together. No program is solved: each is a linear equation.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fairopt import clock
from fairopt.formulas.targets import Jump, PathPoint
from fairopt.instance import Bools, Floats
from fairopt.solving.engines.quotas.rounds import LEAST_JUMP, RoundsQuestion

SAME_WAY = 1e-12
"""part of the way to where users stop that is rounding"""


class StopAtCut(NamedTuple):
    """Users (N,) of a class that stop at level t, or at part `jump` of the line that begins there,
    at a cut, or -1: at their limits."""

    t: float
    jump: float
    users: Bools
    cut: int
    rank: int = 0


def followed(
    asked: RoundsQuestion, most: Floats, parts: Floats
) -> tuple[Floats, list[StopAtCut]] | None:
    """The shares (N,) in the end, and who stops where, in order; None if somebody never does.

    Parameters
    ----------
    most : (N,) the most that each may have. parts : (K, N) what of a cut a unit of share takes.
    """
    share, stops = asked.floor, list[StopAtCut]()
    for rank in np.unique(asked.rank).tolist():
        met = _of_class(asked, rank, share, most, parts)
        if met is None:
            return None
        share, stops = met[0], [*stops, *met[1]]
    return share, stops


def _of_class(
    asked: RoundsQuestion, rank: int, share: Floats, most: Floats, parts: Floats
) -> tuple[Floats, list[StopAtCut]] | None:
    """The same of a priority class, from the shares (N,) that the others have."""
    base = asked.floor if asked.added else np.zeros_like(asked.floor)
    point = PathPoint.start(asked.tree, share - base, asked.rank == rank)
    stops = list[StopAtCut]()
    while point.free.any():
        clock.tick()
        # along one line at a time: where it ends, or somebody stops, everybody moves another way
        piece, due = point.piece(), point.due + base
        if isinstance(piece, Jump):
            line, far = piece.end.due - point.due, 1.0
        else:
            line, far = piece.slope, float(piece.until) - float(point.t)
        moving = point.free & (line > 0)
        counts = parts[:, moving] @ line[moving]
        with np.errstate(divide="ignore", invalid="ignore"):
            own = np.where(moving, np.maximum(most - due, 0.0) / line, np.inf)
            cuts = np.where(counts > 0, np.maximum(1.0 - parts @ due, 0.0) / counts, np.inf)
        cut = int(np.argmin(cuts))
        first = min(float(own.min()), float(cuts[cut]))
        if first >= far * (1 - SAME_WAY) and far < np.inf:
            if isinstance(piece, Jump):
                point = piece.end
                stops.append(StopAtCut(float(point.t), 1.0, np.zeros_like(point.free), -1, rank))
            else:
                point = piece.at(piece.until)
            continue
        if not first < np.inf:
            return None
        jump = isinstance(piece, Jump)
        point = piece.at(first if jump else point.t + first)
        part = max(first, LEAST_JUMP) if jump else 0.0
        limited = own <= first * (1 + SAME_WAY)
        counted = point.free & (parts[cut] > 0) & ~limited & (cuts[cut] <= first * (1 + SAME_WAY))
        for users, by in ((limited, -1), (counted, cut)):
            if users.any():
                stops.append(StopAtCut(float(point.t), part, users, by, rank))
        point = point.freeze(limited | counted)
    return point.due + base, stops


__all__ = ["StopAtCut", "followed"]
