r"""Max-min by rounds: raise all targets l(t) together, freeze who cannot exceed them, repeat.

.. math:: t_k = \max \{ t : s_n \ge \sigma_n + l_n(t) \ \text{for all } n, \ x \text{ feasible} \}

Targets are straight lines between breakpoints (`formulas.targets`), so that each piece is one
linear program on the kept model; where targets jump, the program goes along the straight line from
where they are to where they will be. At an optimum with prices, q_n the cheapest price of a unit of
share, sum q_n l_n(t_k) is the value of all that is priced: so every user with q_n > 0 holds its
target in every feasible answer, and is frozen.

Priority classes follow one another: the shares of earlier classes are kept (their places may
change), later ones keep what they are guaranteed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from fairopt import clock
from fairopt.errors import SolverFailure
from fairopt.formulas.lowered import Lowered
from fairopt.formulas.targets import Jump, PathPoint, TargetTree
from fairopt.instance import Bools, Floats, Ints
from fairopt.solving.engines.quotas.model import LevelModel, LevelOptimum

SURE = 1e-9
"""prices of less than this part of all money say nothing"""
SAME_T = 1e-9
"""values of t that differ by at most this part are one"""
TINY = 1e-12
"""part of the size of t, and of a share alone, that is none"""
LEAST_JUMP = 1e-300
"""part of a jump that was stopped where it begins: told apart from no jump"""
CLOSE = 1e-6
"""a user that holds more than its target by this part was not stopped, whatever prices say"""
FINEST = 1e-9
"""units of users, as parts of what they could have alone, where finer ones do not do"""


@dataclass(frozen=True)
class RoundsQuestion:
    """What is asked of the rounds.

    Parameters
    ----------
    low : the rules. tree : of the users, with what their shares count in groups.
    floor : (N,) what each user holds at the least. added : whether the tree divides what is above
        the floors. rank : (N,) priority class, 0 first. alone : (N,) > 0, share of a user alone.
    """

    low: Lowered
    tree: TargetTree
    floor: Floats
    added: bool
    rank: Ints
    alone: Floats


@dataclass(frozen=True)
class Round:
    """A round as the judge reads it: users (N,) frozen, at level t or at part `jump` of the line
    that begins there; price (M,) of the rows."""

    t: float
    jump: float
    rank: int
    users: Bools
    price: Floats


@dataclass(frozen=True)
class Rounds:
    """All rounds; x (P,) tasks of the columns; share (N,); programs solved, simplex iterations;
    whether there is one program, and its optimum as sharp as floats are; the flows (F,) of lending,
    None if they are not known."""

    rounds: tuple[Round, ...]
    x: Floats
    share: Floats
    programs: int
    iterations: int
    sharp: bool = False
    flow: Floats | None = None


Solver = Callable[[Floats, Floats, float, float], LevelOptimum]
"""(slope, offset, least, most) -> the optimum of one round's program"""


def solve(
    asked: RoundsQuestion,
    solver: Solver | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Rounds:
    """All rounds of all classes.

    Parameters
    ----------
    solver : of one program; default the kept model.
    progress : called with (frozen, N) after each round.

    Raises
    ------
    SolverFailure : a program gave no answer, or nobody was stopped at an optimum.
    """
    run = _RoundsRun(asked, solver)
    for rank in np.unique(asked.rank).tolist():
        for done in run.of_class(rank):
            if progress is not None:
                progress(done, len(asked.floor))
    assert run.last is not None
    iterations = 0 if run.model is None else run.model.iterations
    sharp = run.last.sharp and run.programs == 1
    found = Rounds(tuple(run.rounds), run.last.x, run.share, run.programs, iterations, sharp)
    return replace(found, flow=run.last.flow)


class _RoundsRun:
    """The state from round to round.

    frozen : (N,) bool. share : (N,) of the frozen, the floor of others. last : the last optimum.
    """

    def __init__(self, asked: RoundsQuestion, solver: Solver | None) -> None:
        self.asked = asked
        self.base = asked.floor if asked.added else np.zeros_like(asked.floor)
        self.frozen = np.zeros(len(asked.floor), bool)
        self.share = asked.floor.copy()
        self.rounds: list[Round] = []
        self.programs = 0
        self.scale = _scale(asked)
        self.last: LevelOptimum | None = None
        self.finest = 0.0
        self.model = None if solver is not None else _model(asked)
        self.solver = solver or self._kept

    def of_class(self, rank: int) -> Iterator[int]:
        """Rounds until everybody of a class is frozen; how many users are, after each."""
        free = self.asked.rank == rank
        point = PathPoint.start(self.asked.tree, self.share - self.base, free)
        while point.free.any():
            clock.tick()
            before = point.v
            point, jump, ended = self._piece(point)
            if not (ended or jump) and np.array_equal(point.v, before):
                raise SolverFailure(f"round {len(self.rounds)}: nothing moves at t = {point.t:g}")
            stopped = self._stopped(point) if ended else np.zeros_like(free)
            if ended and jump < 1 and not stopped.any():
                raise SolverFailure(f"round {len(self.rounds)}: nobody stopped t = {point.t:g}")
            if stopped.any() or jump:
                assert self.last is not None
                price = self.last.price
                self.rounds.append(Round(float(point.t), jump, rank, stopped, price))
            self.share = np.where(stopped, point.due + self.base, self.share)
            self.frozen |= stopped
            point = point.freeze(stopped)
            yield int(self.frozen.sum())

    def _piece(self, point: PathPoint) -> tuple[PathPoint, float, bool]:
        """To the end of a piece, or where somebody stops it: the point, the part of a jump (0 if it
        is none), and whether it was stopped."""
        piece = point.piece()
        if isinstance(piece, Jump):
            line = piece.end.due - point.due
            part = self._asks(line, point.due, 0.0, 1.0)
            if part >= 1 - SAME_T:
                return piece.end, 1.0, False
            return piece.at(part), max(part, LEAST_JUMP), True
        t = float(point.t)
        reached = self._asks(piece.slope, point.due - piece.slope * t, t, float(piece.until))
        if reached >= piece.until * (1 - SAME_T):
            return piece.at(piece.until), 0.0, False
        still = reached <= t * (1 + SAME_T) + TINY * self.scale
        return (point if still else piece.at(reached)), 0.0, True

    def _asks(self, slope: Floats, offset: Floats, least: float, most: float) -> float:
        """How far the targets may go; the optimum is kept."""
        self.programs += 1
        self.last = self.solver(slope, self.base + offset, least, most)
        return self.last.t

    def _kept(self, slope: Floats, offset: Floats, least: float, most: float) -> LevelOptimum:
        assert self.model is not None
        self.model.targets(slope, offset)
        try:
            return self.model.highest(least, most)
        except SolverFailure:
            if self.finest:
                raise
            # the solver took what users need of rows for nothing, in the unit of the first level
            self.finest, self.model = FINEST, _model(self.asked, FINEST)
            return self._kept(slope, offset, least, most)

    def _stopped(self, point: PathPoint) -> Bools:
        """Who has only dear columns at the prices of the last program, and holds its target."""
        low, found = self.asked.low, self.last
        assert found is not None
        money = found.price * low.unit
        price = np.where(money > SURE * money.max(), found.price, 0.0)
        dear = low.dear(price)
        self.last = replace(found, price=price)
        cheap = np.bincount(low.owner[~dear], minlength=len(self.base)) > 0
        share = np.bincount(low.owner, low.score * found.x, len(self.base))
        most = (point.due + self.base) * (1 + CLOSE) + TINY * self.asked.alone
        stopped: Bools = point.free & ~cheap & (share <= most)
        return stopped


def _rise(asked: RoundsQuestion) -> Floats:
    """(N,) how fast targets begin to rise, about."""
    piece = PathPoint.start(asked.tree, np.zeros_like(asked.floor)).piece()
    rise = getattr(piece, "slope", np.zeros_like(asked.floor))
    weight: Floats = asked.tree.weight[asked.tree.leaf]
    return np.where(rise > 0, rise, weight * 1e-3)


def _scale(asked: RoundsQuestion) -> float:
    """The size of t: no first level is higher."""
    return float((asked.alone / _rise(asked)).min())


def _model(asked: RoundsQuestion, finest: float = 0.0) -> LevelModel:
    """The kept model, in units of about the size of the first level, and of no less than the part
    `finest` of what each could have alone."""
    top = _scale(asked)
    unit = np.maximum(np.minimum(_rise(asked) * top, asked.alone), asked.floor)
    unit = np.maximum(unit, finest * asked.alone)
    return LevelModel(asked.low, unit, top)
