"""What proves an answer in whole tasks: prices in integers, and for every class the best pattern.

With prices pi_n >= 0 of a task of each user, and sigma_j at least the worth of every pattern of
class j, every placement has sum_n pi_n m_n <= B = sum_j count_j sigma_j. Whatever costs more than B
is impossible. Nothing else is needed: no solver and no rounding.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fairopt.instance.reading import Faults, known_keys, listed, shown, table
from fairopt.whole.proof.problem import Problem
from fairopt.whole.proof.search import LIMIT, Item, TooLong, most

LARGEST_NUMBER = 10**60
"""no number of a certificate is larger: one of 100 digits is a mistake or an attack"""
TOGETHER = 8
"""most prices that prove a level together"""


@dataclass(frozen=True)
class PatternPrices:
    """Prices of tasks with the worth of the best pattern of each class.

    Parameters
    ----------
    price : (N,) of a task of each user, >= 0.
    sigma : (J,) no pattern of class j is worth more.
    hint : (J, R) weights that make the search of sigma short; any weights are right.
    unit : worth of one unit of a kind's bonus (tasks that stay); 0 where there is none.
    zones : for every user that is spread, what a task in each zone is worth beside its price; the
        sum of a row is 0. () for no differences.
    """

    price: tuple[int, ...]
    sigma: tuple[int, ...]
    hint: tuple[tuple[int, ...], ...]
    unit: int = 0
    zones: tuple[tuple[int, ...], ...] = ()

    def items(self, problem: Problem, j: int) -> list[Item]:
        """What the kinds of class j are worth, take, and how many of each a node holds."""
        price: Mapping[int, int] = {}
        if self.zones:
            more = [x for row in self.zones for x in row]
            price = {n: self.price[n] + more[z] for n, z in problem.places[j].items()}
        return [
            (
                price.get(kind.user, self.price[kind.user]) + self.unit * kind.bonus,
                kind.need,
                kind.most,
            )
            for kind in problem.classes[j].kinds
        ]

    def budget(self, problem: Problem) -> int:
        """B: no placement is worth more."""
        pairs = zip(problem.classes, self.sigma, strict=True)
        uneven = zip(problem.spreads, self.zones, strict=True) if self.zones else ()
        return sum(own.count * sigma for own, sigma in pairs) + sum(
            own.budget(row) for own, row in uneven
        )

    def to_dict(self) -> dict[str, Any]:
        """As in a file."""
        return {
            "price": list(self.price),
            "unit": self.unit,
            "sigma": list(self.sigma),
            "hint": [list(row) for row in self.hint],
            **({"zones": [list(row) for row in self.zones]} if self.zones else {}),
        }


@dataclass(frozen=True)
class Prices:
    """All prices of an answer, and which of them prove what.

    Parameters
    ----------
    prices : each is searched once by the judge.
    levels : for every level of the answer, in order, the numbers of the prices that prove it, one
        or several together; none if it is not proved. They only say where to look: wrong numbers
        prove nothing.
    least : no placement is fewer tasks short, by the fillings that the prices `looked` leave open;
        0 where only prices say it.
    """

    prices: tuple[PatternPrices, ...] = ()
    levels: tuple[tuple[int, ...], ...] = ()
    least: int = 0
    looked: tuple[int, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """As in a file."""
        return {
            "prices": [own.to_dict() for own in self.prices],
            "levels": [list(own) for own in self.levels],
            **({"least": self.least, "looked": list(self.looked)} if self.least else {}),
        }


def too_little(
    problem: Problem, prices: PatternPrices, limit: int = LIMIT
) -> tuple[list[str], list[str]]:
    """Classes of which a pattern is worth more than sigma, and those where the search gave up."""
    wrong, unknown = [], []
    if any(map(sum, prices.zones)):  # then they bound nothing
        wrong.append("zones whose differences do not add up to 0")
    for j, own in enumerate(problem.classes):
        try:
            items, sigma = prices.items(problem, j), prices.sigma[j]
            _, found = most(items, own.room, prices.hint[j], sigma, limit, own.cards)
        except TooLong:
            unknown.append(own.name)
            continue
        if found is not None:
            wrong.append(f"a pattern of {own.name} is worth more")
    return wrong, unknown


def read(given: Any, problem: Problem, faults: Faults, place: str) -> Prices:
    """A certificate from plain data; faults are collected."""
    data = table(given, place, faults)
    known_keys(data, ("prices", "levels", "least", "looked"), place, faults)
    found = []
    users, classes = len(problem.users), len(problem.classes)
    for k, row in enumerate(listed(data.get("prices", []), f"{place}.prices", faults)):
        here = f"{place}.prices[{k}]"
        own = table(row, here, faults)
        known_keys(own, ("price", "unit", "sigma", "hint", "zones"), here, faults)
        hints = listed(own.get("hint", []), f"{here}.hint", faults)
        if len(hints) != classes:
            faults.add(f"{here}.hint", f"{len(hints)} rows", f"{classes}, one for each class")
        resources = len(problem.classes[0].room)
        found.append(
            PatternPrices(
                _numbers(own.get("price"), users, f"{here}.price", faults),
                _numbers(own.get("sigma"), classes, f"{here}.sigma", faults),
                tuple(
                    _numbers(h, resources, f"{here}.hint[{j}]", faults) for j, h in enumerate(hints)
                ),
                _number(own.get("unit", 0), f"{here}.unit", faults),
                _zones(own.get("zones", []), problem, f"{here}.zones", faults),
            )
        )
    levels = listed(data.get("levels", []), f"{place}.levels", faults)
    return Prices(
        tuple(found),
        tuple(
            _indices(row, len(found), f"{place}.levels[{k}]", faults)
            for k, row in enumerate(levels)
        ),
        _number(data.get("least", 0), f"{place}.least", faults),
        _indices(data.get("looked", []), len(found), f"{place}.looked", faults),
    )


def _indices(given: Any, size: int, place: str, faults: Faults) -> tuple[int, ...]:
    own = listed(given, place, faults)
    good = all(isinstance(x, int) and not isinstance(x, bool) and 0 <= x < size for x in own)
    if good and len(own) <= TOGETHER:
        return tuple(own)
    wanted = f"at most {TOGETHER} whole numbers below {size}"
    faults.add(place, str(list(own))[:40], wanted)
    return ()


def _zones(given: Any, problem: Problem, place: str, faults: Faults) -> tuple[tuple[int, ...], ...]:
    rows = listed(given, place, faults)
    if rows and len(rows) != len(problem.spreads):
        faults.add(place, f"{len(rows)} rows", f"{len(problem.spreads)}, one for each spread user")
        return ()
    found = []
    for k, (row, own) in enumerate(zip(rows, problem.spreads, strict=False)):
        some = listed(row, f"{place}[{k}]", faults)
        good = all(isinstance(x, int) and not isinstance(x, bool) for x in some)
        if not good or len(some) != len(own.zones) or any(abs(x) > LARGEST_NUMBER for x in some):
            wanted = f"{len(own.zones)} whole numbers from -1e60 to 1e60"
            faults.add(f"{place}[{k}]", shown(row), wanted)
            some = [0] * len(own.zones)
        found.append(tuple(some))
    return tuple(found)


def _number(given: Any, place: str, faults: Faults) -> int:
    whole = isinstance(given, int) and not isinstance(given, bool)
    if whole and 0 <= given <= LARGEST_NUMBER:
        return int(given)
    faults.add(place, shown(given), "a whole number from 0 to 1e60")
    return 0


def _numbers(given: Any, size: int, place: str, faults: Faults) -> tuple[int, ...]:
    some = listed(given, place, faults)
    if len(some) != size:
        faults.add(place, f"{len(some)} numbers", f"{size}")
        return (0,) * size
    return tuple(_number(x, f"{place}[{k}]", faults) for k, x in enumerate(some))
