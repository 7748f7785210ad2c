"""One HiGHS model kept from round to round: only targets change, and it starts from its last basis.

Unknowns are scaled: a user's share is counted in its own `unit`, every row in a typical amount, so
that a user of tiny weight is above the solver's tolerances like any other. A limit on a server
that bounds one column alone is a bound of that column, met to the last digit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fairopt.errors import SolverFailure
from fairopt.formulas.lowered import PLACE, Lowered
from fairopt.highs import program, quiet, run
from fairopt.instance import Bools, Floats
from fairopt.solving.engines.path import level

TIGHT = 1e-10
"""tolerance of HiGHS on rows and prices, which are of order 1"""

SHARP = 1e2
"""the objective's unit with many limits on servers, so that prices are as much finer"""
ROUNDS = 3
"""most steps of the simplex method then, for each column and row"""
KEPT = 1e-9
"""if a program fails, shares that are kept may be lower by this part"""


WIDE = 3_000
"""columns from which the first level is that of the path (`path.level`), and the first program
after it, or beside own rules, is solved by HiGHS's interior method"""


@dataclass(frozen=True)
class LevelOptimum:
    """An optimum: t, tasks x (P,), prices (M,) of the rows, in their own units; whether it is as
    sharp as floats are; the flows (F,) of lending, None if they are not known."""

    t: float
    x: Floats
    price: Floats
    sharp: bool = False
    flow: Floats | None = None


class LevelModel:
    """max t: share_n >= offset_n + slope_n t, least <= t <= most, and all rules of `low`.

    Parameters
    ----------
    low : the rules. unit : (N,) a share of about the size expected of each user.
    scale : t of about the size expected.
    """

    def __init__(self, low: Lowered, unit: Floats, scale: float) -> None:
        import highspy
        from scipy.sparse import bmat, coo_array, csc_array

        self.low, self.unit, self.scale = low, unit, scale
        users, flows = low.shape[0], len(low.low)
        self.t = low.columns + flows
        per_row = low.matrix.multiply(1.0 / low.unit[:, None]).tocsc()
        per_share = low.of_user().multiply(1.0 / unit[:, None]).tocsc()
        # a column in units in which its user's row has the entry 1, a flow in those of its quota
        rows_of_flow = np.abs(low.matrix.tocsc()[:, low.columns :])
        size = (rows_of_flow.T @ low.unit) / np.maximum(rows_of_flow.sum(axis=0), 1.0)
        self.size = np.concatenate([unit[low.owner] / low.score, np.asarray(size).ravel()])
        # limits on a server with a single way are bounds of columns
        rows = low.matrix.tocsr()
        self.alone = np.flatnonzero((low.kind == PLACE) & (np.diff(rows.indptr) == 1))
        self.at = rows.indices[rows.indptr[self.alone]]
        self.shared = np.setdiff1d(np.arange(len(low.rhs)), self.alone)
        most = np.full(low.columns, np.inf)
        most[self.at] = low.rhs[self.alone] / self.size[self.at]
        # what a rule that allows nothing takes may be nothing beside the tolerance as well
        by = low.shutting
        by[self.at] = -1
        self.shut = np.flatnonzero(by >= 0)
        self.by = by[self.shut]
        self.entry = np.asarray(rows[self.by, self.shut]).ravel()
        most[self.shut] = 0.0
        body = per_row.tocsr()[self.shared].multiply(self.size[None, :])
        top = coo_array(per_share.multiply(self.size[None, : low.columns]))
        top.resize((users, self.t))
        # the column of t is filled in by `targets`
        whole = csc_array(bmat([[top], [coo_array(body)]], format="csc"))
        cost = np.zeros(self.t + 1)
        self.sharp = SHARP if len(self.alone) else 1.0
        cost[self.t] = -self.sharp
        flow = self.size[low.columns :]
        columns = (
            np.concatenate([np.zeros(low.columns), low.low / flow, [0.0]]),
            np.concatenate([most, low.high / flow, [np.inf]]),
        )
        bounds = (
            np.concatenate([np.zeros(users), np.full(len(self.shared), -np.inf)]),
            np.concatenate([np.full(users, np.inf), (low.rhs / low.unit)[self.shared]]),
        )
        entries = np.append(whole.indptr, whole.indptr[-1]), whole.indices, whole.data
        options: dict[str, Any] = {
            "small_matrix_value": 1e-12,
            # primal: the last point stays feasible when targets change, its prices do not
            # (but where columns have bounds the dual simplex is ten times as fast)
            "simplex_strategy": 1 if len(self.alone) else 4,
            "primal_feasibility_tolerance": TIGHT,
            "dual_feasibility_tolerance": TIGHT,
        }
        if len(self.alone):  # so fine that it might turn in circles
            self.most = ROUNDS * (self.t + len(self.shared))
            options["simplex_iteration_limit"] = self.most
        self.highs = quiet(**options)
        self.highs.passModel(program(cost, columns, bounds, entries))
        self.slope, self.offset = np.zeros(users), np.zeros(users)
        # rows of many users: simplex goes a long way and ends with coarse prices
        self.first = low.columns > WIDE
        self.wide = self.first and bool(low.shape[6])
        self.optimal = highspy.HighsModelStatus.kOptimal
        self.iterations = 0

    def begin(self, x: Floats, priced: Bools) -> None:
        """The first program from the basis that tasks (P,) and rows (M,) with a price tell, which
        may be singular or of another size: HiGHS makes one of it."""
        import highspy

        status = highspy.HighsBasisStatus
        told = {True: status.kBasic, False: status.kLower}
        basis = highspy.HighsBasis()
        flows = [status.kLower] * len(self.low.low)
        basis.col_status = [*map(told.__getitem__, (x > 0).tolist()), *flows, status.kUpper]
        rows = [status.kUpper if one else status.kBasic for one in priced[self.shared].tolist()]
        basis.row_status = [*[status.kLower] * len(self.unit), *rows]
        basis.valid = basis.alien = True
        if self.highs.setBasis(basis) == highspy.HighsStatus.kOk:
            self.highs.setOptionValue("simplex_strategy", 1)
            self.first = self.wide = False

    def targets(self, slope: Floats, offset: Floats) -> None:
        """Set what each share must reach."""
        slope, offset = slope / self.unit * self.scale, offset / self.unit
        for n in np.flatnonzero(slope != self.slope).tolist():
            self.highs.changeCoeff(n, self.t, -float(slope[n]))
        for n in np.flatnonzero(offset != self.offset).tolist():
            self.highs.changeRowBounds(n, float(offset[n]), np.inf)
        self.slope, self.offset = slope, offset

    def _coarser(self) -> None:
        """The objective in its own unit from now on, and more steps."""
        self.sharp = 1.0
        self.highs.changeColCost(self.t, -1.0)
        self.highs.setOptionValue("simplex_iteration_limit", 10 * self.most)

    def _level(self, least: float, most: float) -> LevelOptimum | None:
        """The first level, where everybody begins at nothing, by the path; None where it fails."""
        self.first = False
        if self.offset.any():
            return None
        found = level.highest(self.low, self.slope * self.unit / self.scale, self.unit)
        if found is None or not least <= found.t <= most:
            return None
        self.wide = True  # there is no basis to go on from
        return LevelOptimum(*found)

    def highest(self, least: float, most: float) -> LevelOptimum:
        """The optimum for t from least to most.

        Raises
        ------
        SolverFailure : HiGHS finds none.
        """
        found = self._level(least, most) if self.first else None
        if found is not None:
            return found
        self.highs.changeColBounds(self.t, least / self.scale, most / self.scale)
        if self.wide:
            self.highs.setOptionValue("solver", "ipm")
        run(self.highs)
        if self.wide:  # the next program starts from this one's basis
            self.highs.setOptionValue("solver", "simplex")
            self.wide = False
        if self.highs.getModelStatus() != self.optimal:
            # from scratch, as the kept basis may be at fault, or the presolver, which calls some
            # bounded programs unbounded
            self.highs.clearSolver()
            if len(self.alone):
                self._coarser()
            self.highs.setOptionValue("presolve", "off")
            run(self.highs)
            self.highs.setOptionValue("presolve", "choose")
        if self.highs.getModelStatus() != self.optimal:
            # with shares kept exactly there may be no room for the solver's own rounding
            for n in np.flatnonzero((self.slope == 0) & (self.offset > 0)).tolist():
                self.offset[n] *= 1 - KEPT
                self.highs.changeRowBounds(n, float(self.offset[n]), np.inf)
            run(self.highs)
        if self.highs.getModelStatus() != self.optimal:
            status = self.highs.modelStatusToString(self.highs.getModelStatus())
            raise SolverFailure(f"HiGHS: {status}")
        self.iterations += self.highs.getInfo().simplex_iteration_count
        told = self.highs.getSolution()
        value = np.asarray(told.col_value)
        dual = np.zeros(len(self.low.rhs))
        dual[self.shared] = np.asarray(told.row_dual)[len(self.unit) :]
        if len(self.alone):
            below = np.minimum(np.asarray(told.col_dual)[self.at], 0.0)
            dual[self.alone] = below / self.size[self.at] * self.low.unit[self.alone]
            dual /= self.sharp
        x = np.maximum(value[: self.low.columns] * self.size[: self.low.columns], 0.0)
        flow = value[self.low.columns : self.t] * self.size[self.low.columns :]
        price = np.maximum(-dual, 0.0) / self.low.unit
        if len(self.shut):
            below = np.minimum(np.asarray(told.col_dual)[self.shut], 0.0) / self.sharp
            np.maximum.at(price, self.by, -below / self.size[self.shut] / self.entry)
        return LevelOptimum(float(value[self.t]) * self.scale, x, price, flow=flow)
