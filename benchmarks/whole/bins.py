r"""Fewest bins: the program over patterns, whose prices bound them, and whole numbers of patterns.

.. math:: \min \sum_p \lambda_p, \quad \sum_p a_{np} \lambda_p \ge w_n

With one class of nodes a program would get one pattern a round from `fairopt.whole.master`. Here
patterns are made greedily at the program's prices, one beginning with every item, and by the
judge's search only where that finds none. What is found is judged elsewhere, in integers.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from fairopt.highs import quiet
from fairopt.whole.patterns import Sack
from fairopt.whole.proof.certificate import PatternPrices
from fairopt.whole.proof.problem import Problem, Tasks

_PARTS = 10**6
"""prices are whole numbers of these parts of one"""
_OLD = 0.5
"""weight of the prices with the best bound beside the newest"""
_MANY = 60
"""most patterns added in a round"""
_BRANCHES = 20_000
"""of a search that proves the worth of the best pattern"""


class Bins:
    """Bounds and packings of items in bins that are alike.

    Parameters
    ----------
    problem : one class, whose kinds are the users in order. lower : bins that are needed, as known.
    best : bins that are enough, as known.
    """

    def __init__(self, problem: Problem, lower: int, best: int, seconds: float) -> None:
        self.problem, self.own = problem, problem.classes[0]
        self.end = time.process_time() + seconds
        self.need = np.array([kind.need for kind in self.own.kinds], float)
        self.room = np.array(self.own.room, float)
        self.many = np.array(problem.whole)
        self.lower, self.best = lower, best
        self.prices: PatternPrices | None = None
        self.packing: list[Tasks] | None = None
        self.columns: list[Tasks] = []
        self.known: set[Tasks] = set()
        self.sack = Sack(self.own)
        self.reached = Fraction(0)

    @property
    def over(self) -> bool:
        """Whether nothing is left to find, or no time."""
        return time.process_time() > self.end or self.lower >= self.best

    def search(self) -> None:
        """Bounds first, then packings with the patterns that were found."""
        rng = np.random.default_rng(0)
        part = self.need / self.room
        scarce = (part * self.many[:, None]).sum(axis=0)
        for k in range(12):
            weight = scarce / scarce.max() * (rng.random(len(scarce)) if k else 1.0)
            self._packed(self._best_fit(part, part @ weight, weight))
            if self.packing is not None and len(self.packing) == self.lower:
                return
        if self.lower < self.best:
            self._bound()
        if self.packing is not None and self.lower < len(self.packing):
            self._whole()

    def _packed(self, found: list[Tasks]) -> None:
        """Keep the patterns of a packing, and it itself if it has fewer bins."""
        for tasks in found:
            self._add(tasks)
        if self.packing is None or len(found) < len(self.packing):
            self.packing = found
            self.best = min(self.best, len(found))

    def _add(self, tasks: Tasks) -> bool:
        if tasks in self.known or not self.own.fits(tasks):
            return False
        self.known.add(tasks)
        self.columns.append(tasks)
        return True

    def _best_fit(self, part: Any, size: Any, weight: Any) -> list[Tasks]:
        """Large items first, each into the bin whose room is most like it."""
        left = np.empty((0, len(self.room)))
        held: list[list[int]] = []
        for n in np.argsort(-size, kind="stable").tolist():
            for _ in range(int(self.many[n])):
                fits = np.flatnonzero((left >= part[n] - 1e-12).all(axis=1))
                if len(fits):
                    g = int(fits[np.argmax((left[fits] * weight) @ part[n] / _norm(left[fits]))])
                else:
                    g = len(held)
                    held.append([0] * len(part))
                    left = np.vstack([left, np.ones(len(self.room))])
                held[g][n] += 1
                left[g] -= part[n]
        return [tuple(own) for own in held]

    def _greedy(self, pi: Any) -> list[tuple[float, Tasks]]:
        """For every item, a pattern that begins with it and goes on by worth for size."""
        part = self.need / self.room
        useful = np.flatnonzero(pi > 1e-9)
        found: dict[Tasks, float] = {}
        for weight in self._weights(pi):
            load = part @ weight + 1e-12
            order = useful[np.argsort(-(pi / load)[useful], kind="stable")]
            left = 1 - part[useful]
            held = np.zeros((len(useful), len(pi)), dtype=np.int64)
            held[np.arange(len(useful)), useful] = 1
            for n in order.tolist():
                for _ in range(int(self.many[n])):
                    go = (left >= part[n] - 1e-12).all(axis=1) & (held[:, n] < self.many[n])
                    if not go.any():
                        break
                    held[go, n] += 1
                    left[go] -= part[n]
            worth = held @ pi
            for k in np.flatnonzero(worth > 1 + 1e-6).tolist():
                found[tuple(held[k].tolist())] = float(worth[k])
        return sorted(((x, t) for t, x in found.items()), reverse=True)

    def _weights(self, pi: Any) -> list[Any]:
        """Weights of the resources that patterns are made by: of one bin's program, and alike."""
        hint = np.array(self.sack.hint(self._prices(pi).items(self.problem, 0)), float) * self.room
        top = hint.max()
        return [hint / top, hint / top + 0.1] if top > 0 else [np.ones(len(self.room))]

    def _prices(self, pi: Any) -> PatternPrices:
        return PatternPrices(tuple(int(round(float(x) * _PARTS)) for x in pi), (), ())

    def _bound(self) -> None:
        """Prices that say how many bins are needed at least."""
        model = quiet()
        none = np.array([], dtype=np.int32)
        for w in self.many:
            model.addRow(float(w), 1e30, 0, none, np.array([]))
        have, kept, exact = 0, None, 0.0
        while not self.over:
            for tasks in self.columns[have:]:
                at = np.flatnonzero(tasks).astype(np.int32)
                model.addCol(1.0, 0.0, 1e30, len(at), at, np.array(tasks, float)[at])
            have = len(self.columns)
            model.run()
            value = model.getInfo().objective_function_value
            if math.ceil(value - 1e-7) <= self.lower:
                return  # no prices prove more
            pi = np.maximum(np.array(model.getSolution().row_dual), 0)
            mixed = pi if kept is None else _OLD * kept + (1 - _OLD) * pi
            new = 0
            for own in (mixed, pi):
                for _, tasks in self._greedy(own)[:_MANY]:
                    new += bool(np.dot(tasks, pi) > 1 + 1e-7 and self._add(tasks))
                if new:
                    break
            if new and time.process_time() < exact:
                continue
            begun = time.process_time()
            for own in (mixed, pi) if kept is not None else (pi,):
                prices = self._prices(own)
                top, tasks = self.sack.best(prices.items(self.problem, 0), _BRANCHES)
                new += bool(np.dot(tasks, pi) > 1 + 1e-7 and self._add(tasks))
                kept = self._kept(prices, top, own, kept)
                if new:
                    break
            # as much time for searches as for greedy rounds, once patterns get rare
            exact = time.process_time() + 3 * (time.process_time() - begun) if new else 0.0
            if not new:
                return

    def _kept(self, prices: PatternPrices, top: int, pi: Any, kept: Any) -> Any:
        """The prices with the best bound; it is rounded up to whole bins."""
        total = sum(p * w for p, w in zip(prices.price, self.many.tolist(), strict=True))
        bound = Fraction(total, max(1, top))
        if kept is None or bound > self.reached:
            self.reached, kept = bound, pi
        if math.ceil(bound) > self.lower:
            self.lower = math.ceil(bound)
            hint = self.sack.hint(prices.items(self.problem, 0))
            self.prices = PatternPrices(prices.price, (top,), (hint,))
        return kept

    def _whole(self) -> None:
        """Whole numbers of the patterns found."""
        import highspy

        left = self.end - time.process_time()
        if left < 0.2 or self.packing is None:
            return
        table = np.array(self.columns, float)
        program = highspy.HighsLp()
        size, users = table.shape
        program.num_col_, program.num_row_ = size, users
        program.col_cost_, program.col_lower_ = np.ones(size), np.zeros(size)
        program.col_upper_ = np.full(size, float(self.many.max()))
        program.row_lower_, program.row_upper_ = self.many.astype(float), np.full(users, 1e30)
        program.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        at = [np.flatnonzero(row) for row in table.T]
        program.a_matrix_.start_ = np.cumsum([0, *map(len, at)]).astype(np.int32)
        program.a_matrix_.index_ = np.concatenate(at).astype(np.int32)
        program.a_matrix_.value_ = np.concatenate([table[i, n] for n, i in enumerate(at)])
        program.integrality_ = [highspy.HighsVarType.kInteger] * size
        model = quiet(mip_rel_gap=0.0, mip_abs_gap=0.99, objective_target=self.lower + 0.5)
        model.setOptionValue("time_limit", left)
        model.passModel(program)
        model.run()
        if model.getInfo().primal_solution_status != 2:
            return
        found, rest = [], self.many.copy()
        for tasks, x in zip(self.columns, model.getSolution().col_value, strict=True):
            for _ in range(round(x)):
                own = np.minimum(tasks, rest)
                rest -= own
                found.append(tuple(own.tolist()))
        if not rest.any():
            self._packed(found)


def _norm(rows: Any) -> Any:
    return np.sqrt((rows * rows).sum(axis=1)) + 1e-12


def every(found: Sequence[Tasks]) -> tuple[tuple[int, int, Tasks], ...]:
    """Bins as nodes of the one class."""
    return tuple((0, 1, tasks) for tasks in found)
