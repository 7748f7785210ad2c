r"""Max-min in groups under cuts of shares alone: the path of targets, followed until it ends.

Everybody has at most what its own limits allow, and :math:`\sum_n part_{k,n} l_n \le 1`
for every cut k. Where targets (`formulas.targets`) reach either, users stop: one that has all its
limits allow alone, whoever a cut counts together. No program is solved: each is a linear equation.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fairopt import clock
from fairopt.formulas.targets import Jump, PathPoint, TargetTree
from fairopt.instance import Bools, Floats
from fairopt.solving.engines.quotas.rounds import LEAST_JUMP

SAME_WAY = 1e-12
"""part of the way to where users stop that is rounding"""


class StopAtCut(NamedTuple):
    """Users (N,) that stop at level t, or at part `jump` of the line that begins there, at a cut,
    or -1: at their limits."""

    t: float
    jump: float
    users: Bools
    cut: int


def followed(
    tree: TargetTree, floor: Floats, base: Floats, most: Floats, parts: Floats
) -> tuple[Floats, list[StopAtCut]] | None:
    """The shares (N,) in the end, and who stops where, in order; None if somebody never does.

    Parameters
    ----------
    floor, base : (N,) the least that everybody is due, and what of it the tree does not divide.
    most : (N,) the most that each may have. parts : (K, N) what of a cut a unit of share takes.
    """
    point, stops = PathPoint.start(tree, floor - base), list[StopAtCut]()
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
                stops.append(StopAtCut(float(point.t), 1.0, np.zeros_like(point.free), -1))
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
                stops.append(StopAtCut(float(point.t), part, users, by))
        point = point.freeze(limited | counted)
    return point.due + base, stops


__all__ = ["StopAtCut", "followed"]
