r"""The allocation with the same shares that is nearest to tasks spread over very many pairs.

.. math:: \min c^T (e + d), \quad \sum_{p \in n} (h_p + e_p - d_p) = 1, \quad
          A (h + e - d) + s = b, \quad e, s \ge 0, \quad 0 \le d \le h

where a column's unit is all that its user has, and rows that every optimal answer fills have no s.
Every vertex of it is degenerate where tasks are many more than rows, and the simplex method takes
tens of thousands of pivots. The path begins at an answer that is known, e - d = x - h, so that it
misses nothing from its first point on (Mehrotra 1992, predictor and corrector). Columns are
eliminated, then users, whose columns meet in no row of another; rows are left as a dense matrix.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from fairopt.instance import Bools, Floats, Ints

ENOUGH, ALMOST = 1e-7, 1e-3
"""part of what moves by which it may be more than proved; the second where steps lead no further"""
NEARER, PATIENCE = 0.9, 8
"""a step leads further that leaves at most this part; so many others in a row end the path"""
NOTHING = 1e-8
"""part of all tasks that counts as none"""
KEPT = 1e-8
"""part of a share, or of a row, that a point may miss"""
STEPS, CLOSINGS = 120, 6
INSIDE = 0.995
"""part of the way to the nearest bound that a step takes"""
LEAST_ROOM = 1e-12
"""the least room of a column at the first point"""
REGULAR = (1e-9, 1e-7, 1e-5)
"""parts of the diagonal that are added to it: full rows follow from one another"""
WIDE = 1e6
"""as much as a row takes that is not to be held"""
BEGIN = 1e-6
"""the least room of a row at the first point"""


@dataclass(frozen=True)
class MoveQuestion:
    """The program; columns in units of what their user has, rows in units of order 1.

    Parameters
    ----------
    owner : (P,) user of each column. use : sparse (M, P). cost, held, tasks : (P,), `tasks` an
        answer. room : (M,) what rows have left beside what is held. full : (M,) bool, rows that
        stay as full as in the answer.
    """

    owner: Ints
    use: Any
    cost: Floats
    held: Floats
    tasks: Floats
    room: Floats
    full: Bools


class FewMoves(NamedTuple):
    """What begins less what stops (P,), and prices of users (N,) and rows (M,)."""

    change: Floats
    users: Floats
    rows: Floats


class _MovePoint(NamedTuple):
    """begun (P,), stopped and left (those held), slack (M,); prices of their bounds."""

    begun: Floats
    stopped: Floats
    left: Floats
    slack: Floats
    of_begun: Floats
    of_stopped: Floats
    of_left: Floats
    of_slack: Floats


def moved(program: MoveQuestion) -> FewMoves | None:
    """The nearest allocation; None if the path does not reach it."""
    return _MovePath(program).followed()


class _MovePath:
    def __init__(self, program: MoveQuestion) -> None:
        self.program = program
        self.own, self.cost = program.owner, program.cost
        self.users, self.rows = int(self.own.max()) + 1, len(program.room)
        self.use = program.use.tocsr()
        self.back = self.use.T.tocsr()
        self.held = np.flatnonzero(program.held > 0)
        self.had = program.held[self.held]
        self.open = np.where(program.full, 0.0, 1.0)
        begin = self.down(program.tasks - program.held)
        room = np.where(program.full, begin[self.users :], program.room)
        self.right = np.concatenate([begin[: self.users], room])

    def down(self, change: Floats) -> Floats:
        """(N + M,) what a change (P,) of columns is to users and to rows."""
        mine = np.bincount(self.own, change, self.users)
        return np.concatenate([mine, self.use @ change])

    def up(self, price: Floats) -> Floats:
        """(P,) what prices say of a unit of each column."""
        found: Floats = price[self.own] + self.back @ price[self.users :]
        return found

    def change(self, begun: Floats, stopped: Floats) -> Floats:
        found = begun.copy()
        found[self.held] -= stopped
        return found

    def followed(self) -> FewMoves | None:
        point, price = self._first()
        best, since = np.inf, 0
        for _ in range(STEPS):
            change = self.change(point.begun, point.stopped)
            missed = self.right - self.down(change)
            missed[self.users :] -= point.slack * self.open
            off = self._off(point, price)
            since = 0 if off < NEARER * best else since + 1
            best = min(best, off)
            if off <= ENOUGH or (off <= ALMOST and since == PATIENCE):
                break
            try:
                ahead = self._step(point, price, missed)
            except np.linalg.LinAlgError:
                break
            if not np.isfinite(ahead[1]).all():
                break
            point, price = ahead
        if self._off(point, price) > ALMOST:
            return None
        change, worst = self._closed(self.change(point.begun, point.stopped))
        found = FewMoves(change, price[: self.users], price[self.users :])
        return found if worst <= KEPT else None

    def _off(self, point: _MovePoint, price: Floats) -> float:
        """What moves above what the prices prove, as a part of it."""
        value = float(self.cost @ point.begun + self.cost[self.held] @ point.stopped)
        proved = float(self.right @ price - self.had @ point.of_left)
        return (value - proved) / max(value, NOTHING * float(self.cost @ self.program.tasks))

    def _closed(self, change: Floats) -> tuple[Floats, float]:
        """The change (P,) with users and overfull rows put right, and what is missed then.

        What is to be put right is taken from tasks in proportion to them.
        """
        held = self.program.held
        for _ in range(CLOSINGS):
            missed = self.right - self.down(change)
            rows = missed[self.users :]
            kept = self.program.full | (rows < 0)
            missed[self.users :] = np.where(kept, rows, 0.0)
            worst = float(np.abs(missed).max())
            if worst <= KEPT / 100:
                break
            try:
                solver = _MoveSystem(self, held + change, np.where(kept, 0.0, WIDE))
            except np.linalg.LinAlgError:
                break
            change = np.maximum(change + solver.each * self.up(solver.solved(missed)), -held)
        return change, worst

    def _first(self) -> tuple[_MovePoint, Floats]:
        tasks, held = np.maximum(self.program.tasks, 1e-9), self.program.held
        both = np.where(held > 0, 0.5 * np.minimum(tasks, held), 0.0)
        begun = np.maximum(np.maximum(tasks - held, 0.0) + both, LEAST_ROOM)
        stopped = np.maximum((np.maximum(held - tasks, 0.0) + both)[self.held], LEAST_ROOM)
        left = np.maximum(self.had - stopped, LEAST_ROOM)
        slack = (self.right - self.down(self.change(begun, stopped)))[self.users :]
        size = float(self.cost @ begun + self.cost[self.held] @ stopped)
        mean = size / (len(begun) + len(stopped))
        of_left = np.minimum(mean / left, self.cost[self.held])
        of_slack = 0.01 * float(self.cost.mean()) * self.open
        price = np.concatenate([np.zeros(self.users), -of_slack])
        at = _MovePoint(
            begun,
            stopped,
            left,
            np.maximum(slack, BEGIN),
            self.cost.copy(),
            self.cost[self.held] + of_left,
            of_left,
            of_slack,
        )
        return at, price

    def _step(self, at: _MovePoint, price: Floats, missed: Floats) -> tuple[_MovePoint, Floats]:
        """One step: towards the optimum, and by how far it would come, towards the middle."""
        begun = at.begun / at.of_begun
        stopped = 1.0 / (at.of_stopped / at.stopped + at.of_left / at.left)
        each = begun.copy()
        each[self.held] += stopped
        slack = self.open * at.slack / np.where(self.open > 0, at.of_slack, 1.0)
        solver = _Solver(_MoveSystem(self, each, slack), begun, stopped)
        count = 2 * len(self.held) + len(at.begun) + float(self.open.sum())
        mean = _product(at[:4], at[4:]) / count
        aims = tuple(-value * cost for value, cost in zip(at[:4], at[4:], strict=True))
        ahead, _ = self._direction(solver, at, price, missed, aims)
        far = _far(at[:4], ahead[:4]), _far(at[4:], ahead[4:])
        there = _moved(at, ahead, far)
        middle = mean * (_product(there[:4], there[4:]) / count / mean) ** 3
        aims = tuple(
            middle + aim - dv * dz for aim, dv, dz in zip(aims, ahead[:4], ahead[4:], strict=True)
        )
        ahead, dprice = self._direction(solver, at, price, missed, aims)
        long = min(1.0, INSIDE * _far(at[:4], ahead[:4]))
        wide = min(1.0, INSIDE * _far(at[4:], ahead[4:]))
        return _moved(at, ahead, (long, wide)), price + wide * dprice

    def _direction(
        self,
        solver: _Solver,
        at: _MovePoint,
        price: Floats,
        missed: Floats,
        aims: tuple[Floats, ...],
    ) -> tuple[_MovePoint, Floats]:
        """The step at which products of values and their prices would be as aimed at."""
        told, mine = self.up(price), self.held
        over_begun = self.cost - told - at.of_begun
        over_stopped = self.cost[mine] + told[mine] - at.of_stopped + at.of_left
        over_slack = (-price[self.users :] - at.of_slack) * self.open
        short = self.had - at.stopped - at.left
        begin = aims[0] / at.begun - over_begun
        stop = aims[1] / at.stopped - over_stopped - (aims[2] - at.of_left * short) / at.left
        slacken = (aims[3] / at.slack - over_slack) * self.open
        right = missed - self.down(self.change(solver.begun * begin, solver.stopped * stop))
        right[self.users :] -= solver.system.slack * slacken
        dprice = solver.system.solved(right)
        told = self.up(dprice)
        begun = solver.begun * (begin + told)
        stopped = solver.stopped * (stop - told[mine])
        slack = solver.system.slack * (slacken + dprice[self.users :])
        left = short - stopped
        return _MovePoint(
            begun,
            stopped,
            left,
            slack,
            (aims[0] - at.of_begun * begun) / at.begun,
            (aims[1] - at.of_stopped * stopped) / at.stopped,
            (aims[2] - at.of_left * left) / at.left,
            self.open * (aims[3] - at.of_slack * slack) / at.slack,
        ), dprice


class _MoveSystem:
    """The linear system of a point: users eliminated, rows dense."""

    def __init__(self, path: _MovePath, each: Floats, slack: Floats) -> None:
        from scipy.linalg import cho_factor
        from scipy.sparse import csr_array

        self.path, self.each, self.slack = path, each, slack
        pairs = len(each)
        weighted = path.use.copy()
        weighted.data = weighted.data * self.each[weighted.indices]
        ones = csr_array((np.ones(pairs), (np.arange(pairs), path.own)), shape=(pairs, path.users))
        self.across = (weighted @ ones).toarray()
        self.of_users = np.bincount(path.own, self.each, path.users)
        dense = (weighted @ path.back).toarray()
        corner = np.arange(path.rows)
        dense[corner, corner] += self.slack
        diagonal = dense[corner, corner]
        dense -= (self.across / self.of_users) @ self.across.T
        for part in REGULAR:
            self.more = part * diagonal + np.finfo(np.float64).tiny
            dense[corner, corner] += self.more
            with contextlib.suppress(np.linalg.LinAlgError):
                self.factor = cho_factor(dense, lower=True, check_finite=False)
                return
        raise np.linalg.LinAlgError("rows of a step follow from one another")

    def solved(self, right: Floats) -> Floats:
        found = self._once(right)
        users = self.path.users
        left = right - self.path.down(self.each * self.path.up(found))
        left[users:] -= (self.slack + self.more) * found[users:]
        again: Floats = found + self._once(left)
        return again

    def _once(self, right: Floats) -> Floats:
        from scipy.linalg import cho_solve

        mine, rows = right[: self.path.users], right[self.path.users :]
        of_rows = cho_solve(
            self.factor, rows - self.across @ (mine / self.of_users), check_finite=False
        )
        return np.concatenate([(mine - self.across.T @ of_rows) / self.of_users, of_rows])


class _Solver(NamedTuple):
    """The system of a step, and how much columns that begin and stop give for a price."""

    system: _MoveSystem
    begun: Floats
    stopped: Floats


def _product(values: tuple[Floats, ...], prices: tuple[Floats, ...]) -> float:
    return sum(float(value @ price) for value, price in zip(values, prices, strict=True))


def _far(values: tuple[Floats, ...], steps: tuple[Floats, ...]) -> float:
    """How much of a step can be taken before something is below 0; at most 1."""
    far = 1.0
    for value, step in zip(values, steps, strict=True):
        falls = step < 0
        if falls.any():
            far = min(far, float((value[falls] / -step[falls]).min()))
    return far


def _moved(at: _MovePoint, step: _MovePoint, far: tuple[float, float]) -> _MovePoint:
    parts = zip(at, step, (far[0],) * 4 + (far[1],) * 4, strict=True)
    return _MovePoint(*(value + part * change for value, change, part in parts))
