"""Tasks and levels that full rows and what users are due determine, enclosed in floats.

Of each user one column in use, its home, is determined by the others and its level; so the unknowns
are the other columns and the levels, and there is an equation for each full row. How far they may
be off is proved by an approximate inverse (`near`) and by what is missing of the equations
themselves, summed up in two floats.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fairopt.certificates.digits import SURE, ExactSums
from fairopt.certificates.strict.case import LEAST_SIZE, MOST_SIZE, SCORE, UNIT, StrictCase
from fairopt.certificates.strict.claim import Claim
from fairopt.certificates.strict.held import Shares
from fairopt.certificates.strict.near import NearInverse
from fairopt.formulas.doubles import exact_product, exact_sum
from fairopt.instance import Bools, Floats, Ints

TURNS = 3
"""corrections; each finds some ten digits or more, and two floats have thirty"""


@dataclass(frozen=True)
class TasksFound:
    """Tasks and levels that equations determine.

    Parameters
    ----------
    x : (U,) tasks of columns in use, t : (K,) levels, each (2, .) a sum of two floats.
    x_off, t_off : how far each may be off.
    """

    case: StrictCase
    claim: Claim
    x: Floats
    x_off: Floats
    t: Floats
    t_off: Floats

    @classmethod
    def of(cls, case: StrictCase, claim: Claim) -> TasksFound | None:
        """None where the equations are not proved to be regular."""
        if not sound(case, claim):
            return None
        equations = _Equations(case, claim)
        return equations.solved() if equations.square else None

    @property
    def kept(self) -> bool:
        """Whether what is in use runs, every other row has room, and rounds come in this order."""
        case, claim, (t, _) = self.case, self.claim, self.t
        x, off = self.x[0], self.x_off
        if not (x > 2 * off).all():
            return False
        if not (np.diff(t) > self.t_off[1:] + self.t_off[:-1] + 8 * UNIT * t[1:]).all():
            return False
        rest = np.ones(len(case.right[0]), dtype=bool)
        rest[claim.rows] = False
        rest[case.limit[claim.capped]] = False  # their tasks are just their limits
        of, whole = claim.inside, case.right[0]
        many = np.bincount(of.indices, minlength=len(whole))
        lost = of @ (2 * off + (int(many.max()) + 8) * UNIT * x) + 8 * UNIT * whole
        return bool(((whole - of @ x > lost) | (many == 0) | ~rest).all())

    def order(self, users: Ints, rounds: Ints) -> Bools:
        """(E,) whether these capped users have less than the levels of these rounds."""
        case = self.case
        first, limit = case.first[users], case.right[0][case.limit[users]]
        level = limit * case.score[0][first] / case.weight[users]
        return np.asarray(level * (1 + 16 * UNIT) < (self.t[0] - self.t_off)[rounds])

    def shares(self) -> Shares:
        """What everybody is due."""
        case, claim = self.case, self.claim
        stage, rising = np.maximum(claim.stage, 0), claim.stage >= 0
        # a weight times a level, a score times a limit; nothing of who may hold nothing
        factor = np.where(rising, [case.weight, np.zeros(len(stage))], case.score[:, case.first])
        limit = np.where(claim.capped, case.right[0][case.limit], 0.0)
        amount = np.where(rising, self.t[:, stage], [limit, np.zeros(len(stage))])
        high, low = exact_product(factor[0], amount[0])
        share = exact_sum(high, low + (factor[0] * amount[1] + factor[1] * amount[0]))
        off = np.where(rising, case.weight * self.t_off[stage] * (1 + 4 * UNIT), 0.0)
        return Shares(case, np.array(share), off + 2 * SCORE * share[0])


def sound(case: StrictCase, claim: Claim) -> bool:
    """Whether a claim says of everybody where it runs, and by what it is stopped: by its limit,
    where it holds the same wherever it runs, or in a round."""
    some, stage = case.some, claim.stage
    home = claim.home[some]
    capped, rising = claim.capped, stage >= 0
    return bool(
        case.open_[claim.used].all()
        and np.array_equal(case.owner[home], np.flatnonzero(some))
        and np.array_equal(np.sort(np.concatenate([home, claim.rest])), claim.used)
        and (capped ^ rising)[some].all()
        and not (capped | rising)[~some].any()
        and (case.even & (case.limit >= 0))[capped].all()
        and stage.max() == len(claim.level) - 1
        and np.bincount(stage[rising]).all()
        and (case.right[0][claim.rows] > 0).all()
        and (np.diff(claim.rows) > 0).all()
    )


class _Equations:
    """What full rows, and what users hold, ask of tasks and levels."""

    def __init__(self, case: StrictCase, claim: Claim) -> None:
        self.case, self.claim = case, claim
        self.matrix = _dense(claim.inside, claim.rows)
        self.right = case.right[:, claim.rows]
        # of the capped tasks are counted, of all others shares
        capped = claim.capped[case.owner[claim.used]]
        self.unit = np.where(capped, [[1.0], [0.0]], case.score[:, claim.used])
        self.users = np.flatnonzero(case.some)
        self.user = np.zeros(len(case.weight), dtype=np.int64)
        self.user[self.users] = np.arange(len(self.users))
        self.home = claim.place[claim.home[self.users]]
        self.rest = claim.place[claim.rest]
        self._chosen()

    def _chosen(self) -> None:
        """Of more columns than rows determine, some; the others keep the tasks that they have."""
        claim = self.claim
        many = len(claim.rows) - len(claim.level)
        self.square = 0 <= many <= len(self.rest)
        if not self.square or many == len(self.rest):
            return
        from scipy.linalg import qr

        at, own, home = self._of_rest()
        size = self.matrix[:, at] - self.matrix[:, home] * own
        size *= claim.x[claim.rest] / self.right[0][:, None]
        self.rest = np.sort(at[qr(size, mode="r", pivoting=True, check_finite=False)[1][:many]])

    def _of_rest(self) -> tuple[Ints, Floats, Ints]:
        """Columns that are unknown, what a task of each is in tasks of the home, and that."""
        owner = self.case.owner[self.claim.used[self.rest]]
        home = self.home[self.user[owner]]
        return self.rest, self.unit[0][self.rest] / self.unit[0][home], home

    def _system(self) -> tuple[Floats, Floats, Floats]:
        """(F, C) entries, (F, C) by how much these may be wrong, and (C,) sizes of unknowns.

        A row is in parts of itself, an unknown in its size.
        """
        case, claim = self.case, self.claim
        at, own, home = self._of_rest()
        more, less = self.matrix[:, at], self.matrix[:, home] * own
        rising = np.flatnonzero(claim.stage >= 0)
        order = rising[np.argsort(claim.stage[rising], kind="stable")]
        begin = np.flatnonzero(np.diff(claim.stage[order], prepend=-1))
        where = claim.place[claim.home[order]]
        each = self.matrix[:, where] * (case.weight[order] / self.unit[0][where])
        due = np.add.reduceat(each, begin, axis=1)
        many = int(np.diff(begin, append=len(order)).max())
        size = np.concatenate([claim.x[claim.used[at]], claim.level])
        scale = size / self.right[0][:, None]
        entries = np.concatenate([more - less, due], axis=1) * scale
        wrong = np.concatenate([16 * UNIT * (more + less), (many + 16) * UNIT * due], axis=1)
        return entries, wrong * scale, size

    def _sums(self) -> tuple[ExactSums, Floats, Floats]:
        """What is asked of users, then of rows: sums of tasks, levels and a 1, and what they are
        to be; about the amounts."""
        case, claim, columns = self.case, self.claim, len(self.claim.used)
        many, rows, rounds = len(self.users), len(claim.rows), len(claim.level)
        entry = np.nonzero(self.matrix)
        user, column = self.user[case.owner[claim.used]], np.arange(columns)
        rising = np.flatnonzero(claim.stage >= 0)
        row = [user, user, self.user[rising], many + entry[0], many + np.arange(rows)]
        factor = [*self.unit, -case.weight[rising], self.matrix[entry], -self.right[1]]
        last = np.full(rows, columns + rounds)
        at = [column, column, columns + claim.stage[rising], entry[1], last]
        limit = np.where(claim.capped, case.right[0][case.limit], 0.0)[self.users]
        amount = np.concatenate([claim.x[claim.used], claim.level, [1.0]])
        parts = [np.concatenate(part) for part in (row, factor, at)]
        return ExactSums(*parts), np.concatenate([limit, self.right[0]]), amount

    def solved(self) -> TasksFound | None:
        """The unknowns, bettered in two floats, and how far they may be off."""
        case, claim = self.case, self.claim
        entries, wrong, size = self._system()
        near = NearInverse.of(entries, wrong)
        sums, whole, first = self._sums()
        if near is None or not (first.min() > LEAST_SIZE and first.max() < MOST_SIZE):
            return None
        at, columns, many = self.rest, len(claim.used), len(self.users)
        user = self.user[case.owner[claim.used[at]]]
        unit, own = self.unit[0][self.home], self.unit[0][at]
        stage = np.maximum(claim.stage[self.users], 0)
        weight = np.where(claim.capped[self.users], 0.0, case.weight[self.users])
        homes = self.matrix[:, self.home]

        def of_home(users: Floats, level: Floats, rest: Floats, sign: float) -> Floats:
            """What homes change by, or by how much they may be off."""
            other = np.bincount(user, own * rest, many)
            return np.asarray((users + weight * level[stage] + sign * other) / unit)

        amount = np.array([first, np.zeros(len(first))])
        gross = np.abs(whole) + np.bincount(
            sums.rows, np.abs(sums.factor) * first[sums.at], len(whole)
        )
        for turn in range(TURNS + 1):
            left, error = sums.left(whole, amount)
            if turn == TURNS:
                break
            short = (left[many:] - homes @ (left[:many] / unit)) / self.right[0]
            step = near.inverse @ short * size
            change = np.zeros(len(first))
            change[at], change[columns:-1] = step[: len(at)], step[len(at) :]
            change[self.home] = of_home(left[:many], step[len(at) :], step[: len(at)], -1.0)
            high, low = exact_sum(amount[0], change)
            amount = np.array(exact_sum(high, low + amount[1]))
        # amounts have stayed near the first ones, or nothing is regular
        off = np.abs(left) + error + 16 * SURE * (gross + np.abs(whole))
        goal = (off[many:] + homes @ (off[:many] / unit)) / self.right[0] * (1 + 1e-9)
        wide = near.wide(goal)
        if wide is None or not (np.abs(amount[0] - first) <= first).all():
            return None
        wide = wide * size * (1 + 1e-9)
        x_off = np.zeros(columns)
        x_off[at] = wide[: len(at)]
        x_off[self.home] = of_home(off[:many], wide[len(at) :], wide[: len(at)], 1.0) * (1 + 1e-9)
        return TasksFound(
            case, claim, amount[:, :columns], x_off, amount[:, columns:-1], wide[len(at) :]
        )


def _dense(matrix: Any, rows: Ints) -> Floats:
    """(F, U) some rows of a sparse matrix (M, U), by column."""
    place = np.full(matrix.shape[0], -1)
    place[rows] = np.arange(len(rows))
    row = place[matrix.indices]
    column = np.repeat(np.arange(matrix.shape[1]), np.diff(matrix.indptr))
    some = row >= 0
    found = np.zeros((len(rows), matrix.shape[1]))
    found[row[some], column[some]] = matrix.data[some]
    return found


__all__ = ["TasksFound", "sound"]
