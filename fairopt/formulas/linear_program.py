r"""Linear programs over all rules of an instance, by HiGHS, for searches, audits and properties.

.. math:: \max\ \sum_p g_p x_p \ \text{or}\ t, \quad \text{all rules of } (x, y), \quad
          s_n(x) \ge \text{floor}_n + \text{slope}_n t, \quad 0 \le x \le \text{within},
          \quad 0 \le t \le \text{most}

Nothing of an answer is to be believed: it brings the prices from which whoever asks proves it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fairopt.formulas.gathered import sparse
from fairopt.formulas.lowered import Lowered
from fairopt.instance import Bools, Floats

FINE = 1e-10
"""tolerance of HiGHS on rows and prices, of parts of their size; its own is 1e-7"""

WIDE = 5_000
"""columns from which HiGHS goes by its interior method and a crossover: its simplex may take a
hundred times as long there (66 s for 10,000 columns and 1,400 rows, .6 s so)"""


class LinearOptimum(NamedTuple):
    """x (P,) tasks of the columns, t, and prices per unit of the rows (M,) and of floors (N,), for
    a unit of what was maximised."""

    x: Floats
    t: float
    price: Floats
    paid: Floats


class LinearProgram:
    """The rules of a system, scaled once: rows in typical amounts, columns so that their largest
    entry is 1."""

    def __init__(self, low: Lowered) -> None:
        self.low = low
        entries = low.matrix.tocoo()
        self.row, self.column = entries.row, entries.col
        value = entries.data / low.unit[self.row]
        largest = np.zeros(low.matrix.shape[1])
        np.maximum.at(largest, self.column, np.abs(value))
        self.size = 1.0 / np.where(largest > 0, largest, 1.0)
        self.value = value * self.size[self.column]

    def most(
        self,
        gain: Floats | None = None,
        floor: Floats | None = None,
        slope: Floats | None = None,
        most: float = np.inf,
        within: Floats | None = None,
        unit: Floats | None = None,
        tolerance: float | None = None,
        among: Bools | None = None,
        asked: Bools | None = None,
    ) -> LinearOptimum | None:
        """The optimum; None where HiGHS finds none.

        Parameters
        ----------
        gain : (P,) of one task of each column; t is maximised without it.
        floor : (N,) shares that are asked for, -inf of nobody. slope : (N,) of t in them.
        most : of t. within : (P,) tasks of each column. unit : (N,) a typical share of each user.
        among : (M,) rows that hold; all without it. asked : (M,) those whose right side is times t.
        """
        from scipy.optimize import linprog

        low, tasks, total, rows = self.low, self.low.columns, len(self.size), len(self.low.rhs)
        nobody = np.zeros(low.shape[0])
        floor = nobody - np.inf if floor is None else floor
        slope = nobody if slope is None else slope
        unit = nobody + 1.0 if unit is None else unit
        held = np.ones(rows, dtype=bool) if among is None else among
        lifted = np.flatnonzero(held & asked) if asked is not None else np.zeros(0, dtype=np.int64)
        who = np.flatnonzero(floor > -np.inf)
        at = np.full(len(floor), -1)
        at[who] = rows + np.arange(len(who))
        mine = np.flatnonzero(at[low.owner] >= 0)
        share = -low.score[mine] * self.size[mine] / unit[low.owner[mine]]
        right = np.where(held, low.rhs / low.unit, 1.0)
        pace = np.concatenate([slope[who] / unit[who], -right[lifted]])
        right[lifted] = 0.0
        scale = float(np.abs(pace).max(initial=0.0)) or 1.0
        goal = np.zeros(total + 1)
        if gain is None:
            best, goal[-1] = 1.0 / scale, -1.0
        else:
            goal[:tasks] = -gain * self.size[:tasks]
            best = float(np.abs(goal).max()) or 1.0
            goal /= best
        matrix = sparse(
            np.concatenate([self.value * held[self.row], share, pace / scale]),
            np.concatenate([self.row, at[low.owner[mine]], at[who], lifted]),
            np.concatenate([self.column, mine, np.full(len(pace), total)]),
            (rows + len(who), total + 1),
        )
        least, largest = np.zeros(total + 1), np.full(total + 1, most * scale)
        least[tasks:-1], largest[tasks:-1] = (
            low.low / self.size[tasks:],
            low.high / self.size[tasks:],
        )
        largest[:tasks] = np.inf if within is None else within / self.size[:tasks]
        options = (
            {}
            if tolerance is None
            else {f"{side}_feasibility_tolerance": tolerance for side in ("primal", "dual")}
        )
        right = np.concatenate([right, -floor[who] / unit[who]])
        bounds = np.column_stack([least, largest])
        for method in ("highs-ipm", "highs") if total > WIDE else ("highs",):
            found = linprog(
                goal, A_ub=matrix, b_ub=right, bounds=bounds, method=method, options=options
            )
            if found.x is not None and found.status == 0:
                break
        else:
            return None
        price = np.maximum(-found.ineqlin.marginals, 0.0) * best
        paid = np.zeros(len(floor))
        paid[who] = price[rows:] / unit[who]
        x = np.maximum(found.x[:tasks], 0.0) * self.size[:tasks]
        return LinearOptimum(x, float(found.x[-1]) / scale, price[:rows] / low.unit, paid)


__all__ = ["FINE", "LinearOptimum", "LinearProgram"]
