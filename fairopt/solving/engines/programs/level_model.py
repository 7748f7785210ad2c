"""The model of max-min levels that is kept (`programs.kept`), and one of thirty digits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fairopt import clock
from fairopt.errors import SolverFailure
from fairopt.highs import program, quiet, run
from fairopt.instance import Bools, Floats, Instance
from fairopt.solving.engines import units
from fairopt.solving.engines.point import AlphaQuestion
from fairopt.solving.engines.programs.vertex import Data, Pair, product

TIGHT = 1e-10
"""tolerance of HiGHS on rows and prices, which are of order 1"""
SURE = 1e-9
"""part of all money above which a multiplier stops a user, and a price counts"""
PIVOTS = 2000
"""the least bound on the pivots of a level"""
NOISE = 1e-13
"""part of all money below which a price is rounding"""
KEPT = (1e-12, 1e-9)
"""if a program fails, frozen users may fall by these parts; corrected after the last program"""
DIGITS = 1e-20
"""part of a share that is 0, in a vertex of thirty digits"""
WRONG = 1e-18
"""a vertex may break a bound or a sign by this, in units of the model; HiGHS drops what is below
1e-12, which may be all that a light user has"""
DUAL, PRIMAL = 1, 4
"""HiGHS's numbers of the two simplex methods"""
DEVEX = 1
"""its number of weights that need no system solved for each row before the first pivot"""
WIDE = 1e-6
"""the smallest unit of a user relative to others'"""


@dataclass(frozen=True)
class LevelKnown:
    """A level that is taken as known: t, who (N,) is stopped at it, money of rows (I, R)."""

    t: float
    who: Bools
    money: Floats


@dataclass(frozen=True)
class Begin:
    """What an answer before a change says of the first basis: held (P,) pairs with tasks, paying
    (N,) users whose share costs something, priced (I, R) rows. Any guess is a beginning. `before`
    are the levels below that of the basis, as the last answer has them; the judge tells."""

    held: Bools
    paying: Bools
    priced: Bools
    before: tuple[LevelKnown, ...] = ()


class KeptModel:
    """The model.

    ceiling : (N,) level at which the user is at its limit, inf where there is none or it has a row.
    sure, noise : parts of all money above which a price counts, and below which it is rounding.
    """

    sure, noise, status = SURE, NOISE, "kept"

    def __init__(self, instance: Instance, score: Floats) -> None:
        import highspy
        from scipy.sparse import csc_array

        self.instance = instance
        n, i = instance.pairs
        users, servers, resources = instance.shape
        pairs = len(n)
        self.unit, self.scale, self.w = _units(instance, score)
        self.size = self.unit[n] / score[n, i]  # tasks in one unit of y
        down, across, entries = [n], [np.arange(pairs)], [np.ones(pairs)]
        pair, r = np.nonzero(instance.pair_part)
        down.append(users + i[pair] * resources + r)
        across.append(pair)
        entries.append((instance.pair_part * self.size[:, None])[pair, r])
        top = score.max(axis=1, where=instance.eligible, initial=0.0)
        even = score.min(axis=1, where=instance.eligible, initial=np.inf) == top
        self.ceiling = np.where(even, instance.limit * top / instance.weight, np.inf)
        self.limited = np.flatnonzero(np.isfinite(instance.limit) & ~even)
        if len(self.limited):
            place = np.full(users, -1)
            place[self.limited] = users + servers * resources + np.arange(len(self.limited))
            mine = np.flatnonzero(place[n] >= 0)
            down.append(place[n[mine]])
            across.append(mine)
            entries.append(self.size[mine] / instance.limit[n[mine]])
        down.append(np.arange(users))
        across.append(np.full(users, pairs))
        entries.append(-self.w)
        rows = servers * resources + len(self.limited)
        matrix = csc_array(
            (np.concatenate(entries), (np.concatenate(down), np.concatenate(across))),
            shape=(users + rows, pairs + 1),
        )
        low = np.concatenate([np.zeros(users), np.full(rows, -np.inf)])
        high = np.concatenate([np.full(users, np.inf), np.ones(rows)])
        cost = np.append(np.zeros(pairs), -float(users))
        free = np.zeros(pairs + 1), np.full(pairs + 1, np.inf)
        self.most = max(PIVOTS, users + rows)
        options: dict[str, Any] = {
            "small_matrix_value": 1e-12,
            # primal: the last point stays feasible from level to level, its prices do not; and
            # the first level has one vertex after another at t = 0 by the dual method
            "simplex_strategy": PRIMAL,
            "presolve": "off",
            "simplex_iteration_limit": self.most,
            "primal_feasibility_tolerance": TIGHT,
            "dual_feasibility_tolerance": TIGHT,
        }
        self.highs = quiet(**options)
        self.highs.passModel(program(cost, free, (low, high), matrix))
        self.optimal = highspy.HighsModelStatus.kOptimal
        self.limit = highspy.HighsModelStatus.kIterationLimit
        self.frozen, self.least = np.zeros(users, bool), np.zeros(users)
        self.begun = False

    def begin(self, given: Begin) -> None:
        """The first level from this basis, which may be singular or of another size: HiGHS makes
        one of it. By the dual method, as prices mostly stay right and tasks do not."""
        import highspy

        status = highspy.HighsBasisStatus
        told = {True: status.kBasic, False: status.kLower}
        basis = highspy.HighsBasis()
        basis.col_status = [*map(told.__getitem__, given.held.tolist()), status.kBasic]
        users = [told[not pays] for pays in given.paying.tolist()]
        rows = [status.kUpper if full else status.kBasic for full in given.priced.ravel().tolist()]
        basis.row_status = [*users, *rows, *[status.kBasic] * len(self.limited)]
        basis.valid = basis.alien = True
        if self.highs.setBasis(basis) == highspy.HighsStatus.kOk:
            self.highs.setOptionValue("simplex_strategy", DUAL)
            self.highs.setOptionValue("simplex_dual_edge_weight_strategy", DEVEX)
            self.begun = True

    def highest(self) -> tuple[float, Floats, Floats, Floats, Floats]:
        """t, tasks (P,), money of rows (I, R) and limits (N,), and of users' own rows (N,).

        Raises
        ------
        SolverFailure : HiGHS finds no optimum.
        """
        if not self._run():
            raise SolverFailure(f"HiGHS: {self._status()}")
        if self.begun:
            self.highs.setOptionValue("simplex_strategy", PRIMAL)
            self.begun = False
        found = self.highs.getSolution()
        value, dual = np.asarray(found.col_value), np.asarray(found.row_dual)
        users, servers, resources = self.instance.shape
        money = np.maximum(-dual[users:], 0.0)
        limits = np.zeros(users)
        limits[self.limited] = money[servers * resources :]
        return (
            float(value[-1]) * self.scale,
            np.maximum(value[:-1], 0.0) * self.size,
            money[: servers * resources].reshape(servers, resources),
            limits,
            np.maximum(dual[:users], 0.0) * self.w,
        )

    def _run(self) -> bool:
        """Whether HiGHS says that it found the optimum.

        If it does not, it begins anew, then with a little room below the frozen users.
        """
        run(self.highs)
        if self.highs.getModelStatus() == self.limit:
            self._longer()
        for room in (0.0, *KEPT):
            if self.highs.getModelStatus() == self.optimal:
                return True
            clock.tick()
            self.highs.clearSolver()
            for n in np.flatnonzero(self.frozen).tolist() if room else ():
                self.highs.changeRowBounds(n, float(self.least[n]) * (1 - room), np.inf)
            run(self.highs)
        return bool(self.highs.getModelStatus() == self.optimal)

    def _status(self) -> str:
        return str(self.highs.modelStatusToString(self.highs.getModelStatus()))

    def _longer(self) -> None:
        """Go on without the bound on pivots; the first level by interior method and crossover.

        Later levels have no interior: frozen users fill their servers exactly.
        """
        if not self.frozen.any():
            self.highs.clearSolver()
            self.highs.setOptionValue("solver", "ipx")
        self.highs.setOptionValue("simplex_iteration_limit", 100 * self.most)
        run(self.highs)
        self.highs.setOptionValue("simplex_iteration_limit", self.most)
        self.highs.setOptionValue("solver", "simplex")

    def freeze(self, who: Bools, level: Floats) -> None:
        """These users keep their level (N,), and rise no more."""
        column = len(self.size)
        self.least[who] = (self.w * level / self.scale)[who]
        self.frozen |= who
        for n in np.flatnonzero(who).tolist():
            self.highs.changeCoeff(n, column, 0.0)
            self.highs.changeRowBounds(n, float(self.least[n]), np.inf)


def _units(instance: Instance, score: Floats) -> tuple[Floats, float, Floats]:
    """(N,) units of shares, the unit of t, and weights (N,) in these units.

    They are the shares if every server is divided by weight, so that all numbers are near 1.
    """
    n, i = instance.pairs
    users, servers, _ = instance.shape
    alone = units.alone(AlphaQuestion.of(instance, score, 1.0, False))
    ratio = instance.weight / alone
    wanted = np.maximum(ratio / ratio.max(), WIDE)
    whole = instance.alone[n, i] * score[n, i] / alone[n]
    part = wanted[n] / np.bincount(i, wanted[n] / whole, servers)[i]
    typical = float(np.median(np.bincount(n, part, users) / wanted))
    unit = alone * wanted * typical
    scale = float((unit / instance.weight).min())
    return unit, scale, instance.weight / unit * scale


class RefinedModel(KeptModel):
    """The model whose levels are those of its bases, for the data as given, to thirty digits.

    HiGHS finds the basis alone. Levels that are frozen have two floats each, because a later level
    may multiply what is rounded there by many decades.
    """

    sure, noise, status = 1e-15, 1e-18, "refined"

    def __init__(self, instance: Instance, score: Floats) -> None:
        super().__init__(instance, score)
        n, i = instance.pairs
        users, servers, resources = instance.shape
        pair, r = np.nonzero(instance.pair_demand)
        place = np.full(users, -1)
        place[self.limited] = users + servers * resources + np.arange(len(self.limited))
        mine = np.flatnonzero(place[n] >= 0)
        limit = instance.limit[self.limited]
        pool = np.where(instance.pool > 0, instance.pool, 1.0).ravel()
        self.top = score.max(axis=1, where=instance.eligible, initial=0.0)
        self.t = Pair(np.zeros(1), np.zeros(1))
        self.data = Data(
            np.concatenate([n, users + i[pair] * resources + r, place[n[mine]]]),
            np.concatenate([np.arange(len(n)), pair, mine]),
            np.concatenate([score[n, i], instance.pair_demand[pair, r], np.ones(len(mine))]),
            instance.weight,
            np.concatenate([instance.pool.ravel(), limit]),
            np.concatenate([self.unit, pool, limit]),
            np.append(self.size, self.scale),
        )

    def highest(self) -> tuple[float, Floats, Floats, Floats, Floats]:
        """As of the kept model, to thirty digits."""
        found = None
        for again in (False, True):
            if again:  # the basis that a crossover left is not always that of its point
                self.highs.setBasis()
                self.highs.setOptionValue("simplex_iteration_limit", 100 * self.most)
            self._run()  # whatever HiGHS says of its basis: the vertex tells whether it is right
            found = self.data.vertex(self.highs.getBasicVariables()[1])
            if found is not None and found.wrong <= WRONG:
                break
        self.highs.setOptionValue("simplex_iteration_limit", self.most)
        if found is None or not found.wrong <= WRONG:
            raise SolverFailure(
                f"HiGHS: {self._status()}, and the vertex of its basis is not right"
            )
        users, servers, resources = self.instance.shape
        x, price = found.x, found.price.high * self.data.unit
        self.t = x.at(np.array([-1]))
        money = np.maximum(-price[users:], 0.0)
        limits = np.zeros(users)
        limits[self.limited] = money[servers * resources :]
        return (
            float(x.high[-1]),
            self._clean(x.high[:-1]),
            money[: servers * resources].reshape(servers, resources),
            limits,
            np.maximum(price[:users], 0.0) * self.w,
        )

    def _clean(self, x: Floats) -> Floats:
        """Tasks (P,) without those that are 0 but for the last of thirty digits."""
        n, i = self.instance.pairs
        part = x / self.size * self.unit[n]
        share = np.bincount(n, np.maximum(part, 0.0), len(self.unit))
        return np.where(part > DIGITS * share[n], x, 0.0)

    def freeze(self, who: Bools, level: Floats) -> None:
        """As of the kept model; what is beyond a float is kept too."""
        super().freeze(who, level)
        users = np.flatnonzero(who)
        at_limit = level[users] == self.ceiling[users]
        factor = np.where(at_limit, self.instance.limit[users], self.instance.weight[users])
        size = len(users)
        share = product(
            factor,
            Pair(
                np.where(at_limit, self.top[users], np.broadcast_to(self.t.high, size)),
                np.where(at_limit, 0.0, np.broadcast_to(self.t.low, size)),
            ),
        )
        self.data.freeze(users, share)
