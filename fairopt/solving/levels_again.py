r"""Plain max-min again after one change: the rows that stopped each user do so again.

The prices of a level say how high it is: with q_n the cheapest price of a unit of share, B the
value of what is priced and s_n the shares of who was stopped before, or is at its limit,

.. math:: t = \Big( B - \sum_{before} q_n s_n \Big) \Big/ \sum_{level} q_n \phi_n .

So all shares are known, level after level. Tasks follow, by the least change of the last ones that
fills the rows with a price. Whether all of that is still so is for the judge to say.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from fairopt.allocation import Allocation
from fairopt.formulas import rows
from fairopt.formulas.blocked import task_cost
from fairopt.instance import Bools, Floats, Instance, Ints
from fairopt.notions import Notion
from fairopt.solving import renamed
from fairopt.solving.engines.again import matching
from fairopt.solving.engines.again.held import PairsHeld
from fairopt.solving.engines.again.level import LevelAgain, LevelPairs
from fairopt.solving.engines.programs.level_model import Begin, LevelKnown

BASIS_PAIRS = 6_000
"""pairs up to which a basis is worth more than what else an answer of few pairs says"""
FEWEST = 2_000
"""pairs from which a start is worth trying"""
SURE = 1e-9
"""prices of less than this part of the dearest are noise"""
MUCH = 1e-3
"""part of a share that stays where it is though its server is dearer now: its price is to change"""
DUST = 1e-9
"""part of a share that a pair holds which proximal steps leave behind, as that of no pair"""
MANY_MORE, PART = 1.5, 0.1
"""where so many times more pairs cost least than hold tasks, steps begin with that part on all"""
NOISE = 10.0
"""so many times what is left of an error, in parts of the dearest row, is no price"""
CHEAPEST = 1e-6
"""a newcomer begins on servers whose price is within this part of its cheapest"""


def again(
    instance: Instance, notion: Notion, score: Floats, start: Allocation
) -> Allocation | None:
    """The answer to which the last one leads, not judged; None where it leads nowhere."""
    with np.errstate(all="ignore"):
        return _again(instance, notion, score, start)


def begin(instance: Instance, score: Floats, start: Allocation) -> Begin | None:
    """What the last answer says of the first basis of a kept model; None if nothing."""
    with np.errstate(all="ignore"):
        guess = _Guess.of(instance, score, start, moved=False)
        return None if guess is None else guess.begin(_new_servers(start, instance))


def _again(
    instance: Instance, notion: Notion, score: Floats, start: Allocation
) -> Allocation | None:
    few = instance.shape[0] * instance.shape[1] < FEWEST
    guess = None if few or at_vertex(instance, start) else _Guess.of(instance, score, start)
    if guess is None:
        return None
    found = guess.finished()
    if found is None and guess.single:
        for nearer in guess.nearer():
            found = nearer.finished()
            if found is not None:
                break
    if found is None:
        return None
    return Allocation(instance, notion, found[0], level_prices=found[1], score=score)


def at_vertex(instance: Instance, start: Allocation) -> bool:
    """Whether there are few pairs, of which the last answer held hardly more than a basis may."""
    told = start.level_prices
    if told is None or len(instance.pairs[0]) > BASIS_PAIRS:
        return False
    rows_priced = int((told > 0).any(axis=0).sum())
    return int((start.tasks > 0).sum()) <= len(start.instance.users) + 2 * rows_priced


@dataclass(frozen=True)
class _Guess:
    """What the last answer says: money, one (I, R) for each level; level (N,) of which users are,
    -1 of those whom limits alone stop; most (N,) share that a limit allows; tasks (N, I), of which
    those that are `kept` say what costs a user the same."""

    instance: Instance
    score: Floats
    money: list[Floats]
    level: Ints
    most: Floats
    tasks: Floats
    kept: Bools

    @classmethod
    def of(
        cls, instance: Instance, score: Floats, start: Allocation, moved: bool = True
    ) -> _Guess | None:
        """The guess; None where the start says too little. `moved`: with tasks on new servers."""
        if start.level_prices is None:
            return None
        came, money = _new_servers(start, instance), []
        for prices in start.level_prices[start.level_prices.any(axis=(1, 2))]:
            given = renamed.prices({"prices": prices}, start.instance, instance)["prices"]
            if came.any() and not came.all():
                given[came] = np.median(given[~came], axis=0)
            one = given * instance.pool
            money.append(np.where(one > SURE * one.max(initial=0.0), one, 0.0))
        if not money:
            return None
        pays = np.array([_cheapest(instance, score, one) > 0 for one in money])
        most = np.where(instance.eligible, score, 0.0).max(axis=1) * instance.limit
        # the first level at which a user pays is that at which it is stopped
        level = np.where(pays.any(axis=0), pays.argmax(axis=0), -1)
        if not np.isfinite(most[level < 0]).all():
            return None
        before = renamed.columns(start, instance)
        if moved and came.any():
            before = _moved_on(instance, score, before, came)
        tasks, kept = before.copy(), before > 0
        for k, one in enumerate(money):
            mine = level == k
            begun = _begun(instance, score, before, one, mine)
            tasks[mine], kept[mine] = begun[mine], _cheap(instance, score, begun, one)[mine]
        return cls(instance, score, money, level, most, tasks, kept)

    @property
    def single(self) -> bool:
        """Whether there is one level beside those of limits."""
        return len(self.money) == 1 and bool((self.level == 0).all())

    def finished(self) -> tuple[Floats, Floats] | None:
        """Tasks (N, I) and prices (K, I, R) of the levels, if users pay the same on the pairs that
        are kept, and tasks near those there are fill the rows with a price; None where not."""
        instance, score, level, most = self.instance, self.score, self.level, self.most
        n, i = (part.astype(np.int64) for part in np.nonzero(self.kept))
        held = PairsHeld(instance, score, n, i)
        share = np.where(level < 0, most, 0.0)
        told = []
        full = np.zeros(instance.pool.shape, dtype=bool)
        for k, one in enumerate(self.money):
            found = held.alike(one)
            if found is None:
                return None
            money, paid = found
            if (_cheapest(instance, score, money) < paid * (1 - SURE)).any():
                return None  # somebody has to come to a server
            t = self._next(k, money, paid, share)
            if t == np.inf:
                continue  # nobody of this level is left
            if not 0 < t < np.inf:
                return None
            told.append((t, money / float(money.sum())))
            full |= money > 0
        x = held.filled(self.tasks[n, i], share, full)
        if x is None:
            return None
        answer = np.zeros(instance.shape[:2])
        answer[n, i] = x
        pool = np.where(instance.pool > 0, instance.pool, 1.0)
        told.sort(key=lambda one: one[0])
        return answer, np.array([price / pool for _, price in told])

    def _next(self, k: int, money: Floats, paid: Floats, share: Floats) -> float:
        """The height of level k if a unit of share costs so much (N,); its users' shares (N,) are
        set. inf if nobody is left at it."""
        mine, weight = self.level == k, self.instance.weight
        if not float((paid * weight)[mine].sum()) > 0:
            return np.inf
        left = float(money.sum()) - float((paid * share)[~mine].sum())
        t = _height(left, paid[mine], weight[mine], self.most[mine])
        share[mine] = np.minimum(t * weight, self.most)[mine]
        return t

    def begin(self, came: Bools) -> Begin:
        """The basis of the level of most users, and the levels below it: users are on the servers
        that cost them least, and pay."""
        instance, score = self.instance, self.score
        n, i = instance.pairs
        of_most = int(np.bincount(self.level[self.level >= 0]).argmax())
        share, before = np.where(self.level < 0, self.most, 0.0), list[LevelKnown]()
        for k in range(of_most):
            t = self._next(k, self.money[k], _cheapest(instance, score, self.money[k]), share)
            if not 0 < t < np.inf:
                break
            who = (self.level == k) & (self.most > share)
            before.append(LevelKnown(t, who, self.money[k]))
        held = self.kept[n, i]
        cost = _costs(instance, score, self.money[of_most])
        bare = np.flatnonzero(~self.kept.any(axis=1))
        if len(bare):
            held |= np.isin(n, bare) & (i == cost.argmin(axis=1)[n])
        priced = (self.money[of_most] > 0) & ~came[:, None]
        paying = np.isfinite(cost).any(axis=1) & ((self.level >= 0) & (self.level <= of_most))
        return Begin(held, paying, priced, tuple(before))

    def nearer(self) -> Iterator[_Guess]:
        """Of one level: the guesses to which proximal steps lead."""
        instance, score, (money,) = self.instance, self.score, self.money
        n, i = instance.pairs
        cost = _costs(instance, score, money)
        paid = rows.least(cost)
        t = _height(float(money.sum()), paid, instance.weight, self.most)
        if not 0 < t < np.inf:
            return
        due = np.minimum(t * instance.weight, self.most)
        worth, share = score[n, i], rows.total(self.tasks * score)
        demand = instance.demand[n] if instance.demand.ndim == 2 else instance.demand[n, i]
        pool = np.where(instance.pool > 0, instance.pool, 1.0)
        uses = demand / pool[i] * (due[n] / worth)[:, None]
        rises = self.most > t * instance.weight
        pairs = LevelPairs(n, i, uses, rises, len(instance.servers))
        first = self.tasks[n, i] * worth / share[n]
        near = (cost <= paid[:, None] * (1 + CHEAPEST))[n, i]
        if np.count_nonzero(near) > MANY_MORE * np.count_nonzero(self.kept):
            # of many answers the last was a vertex: what costs the same is to be used a little
            many = np.bincount(n[near], minlength=len(due))
            first = (1 - PART) * first + PART * near / np.maximum(many, 1)[n]
        patient = bool(np.isfinite(self.most).any())  # each limit reached is another level
        for found in LevelAgain(pairs, first, money, patient).rounds():
            tasks = np.zeros_like(self.tasks)
            tasks[n, i] = found.v * due[n] / worth
            kept = np.zeros_like(self.kept)
            kept[n, i] = found.v > DUST
            price = found.money * (found.money > NOISE * found.off * found.money.max())
            yield replace(self, money=[price], tasks=tasks, kept=kept)


def _new_servers(start: Allocation, instance: Instance) -> Bools:
    """(I,) servers that were not there before."""
    there = set(start.instance.servers)
    return np.array([name not in there for name in instance.servers], dtype=bool)


def _moved_on(instance: Instance, score: Floats, tasks: Floats, came: Bools) -> Floats:
    """The tasks (N, I), with a part of everybody's on each server that came."""
    share = matching.filled(instance, score, tasks * score, np.flatnonzero(came))
    return np.divide(share, score, out=np.zeros_like(share), where=share > 0)


def _height(left: float, paid: Floats, weight: Floats, most: Floats) -> float:
    """The level t at which users (N,) who pay so much for a unit of share spend what is left, each
    t times its weight or the most that its limit allows."""
    order = np.argsort(most / weight)
    cap, rate = most[order] / weight[order], (paid * weight)[order]
    spent = np.concatenate([[0.0], np.cumsum(rate * cap)])  # by those at their limits
    rising = np.cumsum(rate[::-1])[::-1]
    with np.errstate(invalid="ignore"):
        stops = spent[:-1] + rising * cap > left
    if not stops.any():
        return np.inf
    first = int(stops.argmax())
    return float((left - spent[first]) / rising[first])


def _cheap(instance: Instance, score: Floats, tasks: Floats, money: Floats) -> Bools:
    """(N, I) pairs that hold tasks where these are about as cheap as anywhere, or much of a
    share."""
    each = _costs(instance, score, money)
    with np.errstate(divide="ignore", invalid="ignore"):
        part = tasks * score / rows.total(tasks * score)[:, None]
        dearer = each / rows.least(each)[:, None] - 1.0
    used = (dearer < CHEAPEST) & (part > SURE * dearer)
    found: Bools = (tasks > 0) & (used | (part > MUCH))
    return found


def _costs(instance: Instance, score: Floats, money: Floats) -> Floats:
    """(N, I) the price of a unit of share for money (I, R) of rows, inf where not eligible."""
    pool = np.where(instance.pool > 0, instance.pool, 1.0)
    cost = task_cost(instance, money / pool, slice(None), None)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(instance.eligible, cost / score, np.inf)


def _cheapest(instance: Instance, score: Floats, money: Floats) -> Floats:
    """(N,) the cheapest price of a unit of share, for money (I, R) of rows; 0 of what is free."""
    return rows.least(_costs(instance, score, money))


def _begun(
    instance: Instance, score: Floats, tasks: Floats, money: Floats, stopped: Bools
) -> Floats:
    """The tasks, with those of whoever came, or lost all it had, on its cheapest servers."""
    new = np.flatnonzero(stopped & ~(tasks > 0).any(axis=1))
    if not len(new):
        return tasks.copy()
    each = _costs(instance, score, money)[new]
    near = each <= rows.least(each)[:, None] * (1 + CHEAPEST)
    found = tasks.copy()
    found[new] = np.where(near, np.minimum(instance.alone[new], 1e300) / 1e3, 0.0)
    return found


__all__ = ["again", "at_vertex", "begin"]
