r"""The linear program over patterns, with new ones found at its prices (column generation).

.. math:: \min \sum_n c_n y_n + \sum_p \rho_p \lambda_p, \quad
          \sum_p a_{np} \lambda_p + y_n \ge w_n + v_n t, \quad \sum_{p \in j} \lambda_p \le k_j

Patterns p of class j hold a_np tasks of user n; y_n tasks are short. With rates v the value t is
as large as it can be. Prices are smoothed, and those with the best bound are kept. A rent rho of
a node in scarce resources makes patterns that round well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from time import monotonic

import numpy as np

from fairopt.highs import quiet
from fairopt.instance import Floats
from fairopt.whole.patterns import SHORT, Sack, sacks
from fairopt.whole.proof.certificate import PatternPrices
from fairopt.whole.proof.problem import Problem, Tasks

_EASY = 10**6
_FINE = 10**9
"""prices are whole numbers of these parts of the dearest one: the first up to a million tasks"""
_BONUS = 1000
"""what a unit of a bonus is worth in whole prices"""
_ROUNDS = 400
_PROGRESS, _STALLED = 1e-5, 25
"""the program ends when its value moved by no such part in so many rounds"""
_SHARE = 0.4
"""part of the seconds that are left for one program"""
_SETTLING = 12
"""most rounds at the program's own prices in which every class is searched to its end"""
_OLD = 0.6
"""weight of the best prices so far beside the newest ones"""


class Clock:
    """Seconds that may be used; without a limit answers are the same on every machine."""

    def __init__(self, seconds: float | None = None) -> None:
        self.end = None if seconds is None else monotonic() + seconds

    def left(self) -> float:
        """Seconds that are left; inf without a limit."""
        return float("inf") if self.end is None else max(0.0, self.end - monotonic())

    @property
    def over(self) -> bool:
        """Whether the time is over."""
        return self.left() <= 0

    def stop(self) -> None:
        """Let the time be over now."""
        self.end = monotonic()


@dataclass
class PatternPool:
    """The patterns found so far, each once, and the programs of single nodes that find them."""

    problem: Problem
    columns: list[tuple[int, Tasks]] = field(default_factory=list)
    sacks: list[Sack | None] = field(default_factory=list)
    known: set[tuple[int, Tasks]] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.sacks = sacks(self.problem)

    def add(self, j: int, tasks: Tasks) -> bool:
        """Add a pattern; whether it is new and holds anything."""
        if (j, tasks) in self.known or not any(tasks):
            return False
        self.known.add((j, tasks))
        self.columns.append((j, tasks))
        return True


@dataclass(frozen=True)
class MasterGoal:
    """What a program is to reach.

    Parameters
    ----------
    want : (N,) tasks. cost : (N,) of a task that is short.
    rate : (N,) tasks for each unit of a value t that is to be as large as can be; () for none.
    rent : (J,) of a node. bonus : whether bonuses of kinds count as gains.
    """

    want: Sequence[int]
    cost: Sequence[float]
    rate: Sequence[Fraction] = ()
    rent: Sequence[float] = ()
    bonus: bool = False


class Master:
    """The program of a goal over the patterns of a pool."""

    def __init__(self, pool: PatternPool, goal: MasterGoal) -> None:
        import highspy

        self.pool, self.goal = pool, goal
        self.problem = problem = pool.problem
        self.users = len(problem.users)
        self.total = sum(problem.whole)
        self.inf = highspy.kHighsInf
        self.model = quiet()
        none = np.array([], dtype=np.int32)
        for want in goal.want:
            self.model.addRow(float(want), self.inf, 0, none, np.array([]))
        for own in problem.classes:
            self.model.addRow(-self.inf, float(own.count), 0, none, np.array([]))
        for spread in problem.spreads:  # t <= tasks in a zone <= t + skew
            for _ in spread.zones:
                self.model.addRow(0.0, float(spread.skew), 0, none, np.array([]))
        for n in range(self.users):
            most = self.inf if goal.rate or goal.bonus else float(goal.want[n])
            self._column(goal.cost[n], most, {n: 1.0})
        if goal.rate:
            self._column(-1.0, 1.0, {n: -float(v) for n, v in enumerate(goal.rate) if v})
        for entries, low in zone_columns(problem, self.users + len(problem.classes), goal.bonus):
            self._column(0.0, self.inf, entries, low)
        self.cost = np.array([*goal.cost, *(np.inf for own in problem.spreads for _ in own.zones)])
        self.first = self.model.getNumCol()
        self.have = 0
        self.bound = -np.inf
        self.prices: PatternPrices | None = None
        self.kept: Floats | None = None
        self.scale = 1.0
        self.value = np.inf

    def _column(
        self, cost: float, most: float, entries: dict[int, float], low: float = 0.0
    ) -> None:
        at = np.array(list(entries), dtype=np.int32)
        self.model.addCol(cost, low, most, len(at), at, np.array(list(entries.values())))

    def _bonus(self, j: int, tasks: Tasks) -> int:
        if not self.goal.bonus:
            return 0
        kinds = self.problem.classes[j].kinds
        return sum(m * kind.bonus for m, kind in zip(tasks, kinds, strict=True))

    def _take_new(self) -> None:
        for j, tasks in self.pool.columns[self.have :]:
            held = self.problem.classes[j].by_user(tasks)
            entries = {n: float(m) for n, m in held.items()}
            entries[self.users + j] = 1.0
            after = self.users + len(self.problem.classes)
            for n, z in self.problem.places[j].items():
                if n in held:
                    entries[after + z] = float(held[n])
            rent = self.goal.rent[j] if self.goal.rent else 0.0
            self._column(rent - self._bonus(j, tasks), self.inf, entries)
        self.have = len(self.pool.columns)

    def _run(self) -> None:
        """The program over all patterns of the pool, and its prices."""
        self._take_new()
        self.model.run()
        self.value = float(self.model.getInfo().objective_function_value)
        dual = np.array(self.model.getSolution().row_dual)
        after = self.users + len(self.problem.classes)
        self.sigma = -dual[self.users : after]
        self.pi = np.concatenate([np.maximum(dual[: self.users], 0), dual[after:]])

    def solve(self, clock: Clock, told: Callable[[str], None] | None = None) -> Master:
        """Add patterns until none is worth more than its node costs, or the time is over."""
        rounds, before, slow = 0, np.inf, 0
        half = Clock(None if clock.end is None else clock.left() * _SHARE)
        while True:
            self._run()
            capped = np.minimum(self.pi, self.cost)
            new = self._price(capped if self.kept is None else self._mixed(capped))
            if not new and self.kept is not None:
                new = self._price(capped)
            rounds += 1
            if told is not None:
                told(f"patterns {len(self.pool.columns)}")
            close = self.value - self.bound <= 1e-7 * max(1.0, abs(self.value))
            slow = slow + 1 if self.value > before - _PROGRESS * abs(before) else 0
            before = min(before, self.value)
            if not new or close or slow >= _STALLED or rounds >= _ROUNDS or half.over:
                return self

    def settle(self, branches: int, clock: Clock) -> Master:
        """Go on at the program's own prices, each class searched as far as `branches` go.

        Prices that are smoothed leave a gap where many are right: the program's own close it.
        """
        for _ in range(_SETTLING):
            if clock.over or not self._price(np.minimum(self.pi, self.cost), branches):
                break
            self._run()
        return self

    def missing(self) -> float:
        """Tasks that the program leaves short."""
        return float(sum(list(self.model.getSolution().col_value)[: self.users]))

    def used(self) -> list[float]:
        """How often each pattern of the pool is used."""
        return list(self.model.getSolution().col_value)[self.first :]

    def _price(self, pi: Floats, branches: int = SHORT) -> int:
        """The best pattern of each class at these prices; how many of them are new."""
        goal = self.goal
        prices, scale = self._whole(pi)
        new, worth = 0, 0
        for j, sack in enumerate(self.pool.sacks):
            if sack is None:
                continue
            own = self.problem.classes[j]
            top, tasks = sack.best(prices.items(self.problem, j), branches)
            rent = goal.rent[j] if goal.rent else 0.0
            worth += own.count * max(0, top - int(rent * scale))
            held = own.by_user(tasks)
            gain = sum(self.pi[n] * m for n, m in held.items()) + self._bonus(j, tasks) - rent
            places = self.problem.places[j]
            gain += sum(self.pi[self.users + places[n]] * held[n] for n in places if n in held)
            if gain > self.sigma[j] + 1e-7 * max(1e-6, abs(self.sigma[j])):
                new += self.pool.add(j, tasks)
        pairs = zip(self.problem.spreads, prices.zones, strict=True)
        worth += sum(own.budget(row) for own, row in pairs)
        bound = self._bound(prices, worth, scale)
        if bound > self.bound:
            self.bound, self.prices, self.kept, self.scale = bound, prices, pi, scale
        return new

    def _bound(self, prices: PatternPrices, budget: int, scale: float) -> float:
        """What no placement is below, by these prices."""
        goal = self.goal
        due = sum(p * w for p, w in zip(prices.price, goal.want, strict=True))
        if not goal.rate:
            return (due - budget) / scale
        per = sum(p * v for p, v in zip(prices.price, goal.rate, strict=True))
        return float(-max(0, budget - due) / per) if per else -np.inf

    def _whole(self, pi: Floats) -> tuple[PatternPrices, float]:
        """Prices in whole numbers, and how many of them are one."""
        if self.goal.bonus:
            scale, unit = float(_BONUS), _BONUS
        else:
            top = float(pi[: self.users].max(initial=0.0))
            parts = _EASY if self.total <= 10**6 else _FINE
            scale, unit = parts / top if top > 0 else 1.0, 0
        whole = [round(float(x) * scale) for x in pi]
        rows, first = [], self.users
        for own in self.problem.spreads:  # differences that add up to 0
            row = whole[first : first + len(own.zones)]
            row[0] -= sum(row)
            rows.append(tuple(row))
            first += len(own.zones)
        return PatternPrices(tuple(whole[: self.users]), (), (), unit, tuple(rows)), scale

    def _mixed(self, newest: Floats) -> Floats:
        """The best prices so far mixed with the newest."""
        assert self.kept is not None
        old = self.kept
        if self.goal.rate:  # only the ratios of prices have a meaning there
            rate = np.array([float(v) for v in self.goal.rate])
            a, b = float(old[: self.users] @ rate), float(newest[: self.users] @ rate)
            old = old * (b / a) if a > 0 else old
        return _OLD * old + (1 - _OLD) * newest


def proved(pool: PatternPool, prices: PatternPrices, limit: int) -> PatternPrices:
    """Prices with the sigma and hint of each class that the judge can check."""
    sigma, hint = [], []
    for j, sack in enumerate(pool.sacks):
        if sack is None:
            sigma.append(0)
            hint.append((0,) * len(pool.problem.classes[j].room))
        else:
            top, weights = sack.sure(prices.items(pool.problem, j), limit)
            sigma.append(top)
            hint.append(weights)
    return PatternPrices(prices.price, tuple(sigma), tuple(hint), prices.unit, prices.zones)


def zone_columns(
    problem: Problem, first: int, bonus: bool = False
) -> Iterator[tuple[dict[int, float], float]]:
    """(entries, least) of what rows of zones have beside patterns, the rows beginning at `first`.

    Of each user that is spread, the tasks of its emptiest zone, and tasks of patterns that are left
    out in a zone.
    """
    for own in problem.spreads:
        rows = range(first, first + len(own.zones))
        yield dict.fromkeys(rows, -1.0), -float("inf")
        for row in () if bonus else rows:  # what stays is not left out for nothing
            yield {own.user: -1.0, row: -1.0}, 0.0
        first += len(own.zones)


def rents(problem: Problem) -> list[float]:
    """(J,) a small rent of a node of each class: its part of what is scarce, at most a fifth."""
    size = len(problem.classes[0].room)
    asked, there = [0.0] * size, [0.0] * size
    for own in problem.classes:
        for r in range(size):
            there[r] += float(own.count * own.room[r])
    need: dict[int, tuple[int, ...]] = {}
    for own in problem.classes:
        for kind in own.kinds:
            need.setdefault(kind.user, kind.need)
    for n, w in enumerate(problem.whole):
        for r, x in enumerate(need.get(n, ())):
            asked[r] += float(w) * x
    scarce = [min(a / c, 1.0) ** 4 if c > 0 else 0.0 for a, c in zip(asked, there, strict=True)]
    found = [
        sum(s * x / c for s, x, c in zip(scarce, own.room, there, strict=True) if c > 0)
        for own in problem.classes
    ]
    top = max(found, default=0.0)
    return [0.2 * x / top if top > 0 else 0.0 for x in found]


def start(pool: PatternPool, nodes: Iterable[tuple[int, int, Tasks]]) -> None:
    """Begin with the patterns of a placement."""
    for j, _, tasks in nodes:
        pool.add(j, tasks)
