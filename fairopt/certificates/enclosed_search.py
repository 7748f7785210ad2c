"""Max-min levels enclosed, or as fractions, from an answer in floats: which equations its rounds
mean.

Only the equations that determine tasks and prices are looked for, so that many columns may be in
use. `enclosed_levels` and `enclosed_prices` judge what is found.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from fairopt import clock
from fairopt.allocation import Allocation
from fairopt.certificates.enclosed_levels import TasksEnclosed
from fairopt.certificates.enclosed_prices import Judge, PricesEnclosed
from fairopt.certificates.exact_search import TURNS, ExactSearch, searches
from fairopt.certificates.exact_tree import ROOT
from fairopt.certificates.groups_levels import LevelsTold
from fairopt.certificates.groups_told import GroupsTold
from fairopt.certificates.search_prices import prices_of
from fairopt.certificates.search_tasks import at_most, tasks_of
from fairopt.errors import UsageError
from fairopt.formulas.entitled import entitled
from fairopt.formulas.lowered import lower

COLUMNS, ENTRIES = 300_000, 20_000_000
"""most columns in use, and most of those looked at times rows that several share: some seconds"""
WORK = 100_000_000
"""most eligible pairs times rounds"""
EARLIER = 300
"""binary digits by which one round is before another"""


class EnclosedLevels(NamedTuple):
    """Shares (N,) of every max-min optimum, between two fractions each; first: users who may be
    those of the lowest level."""

    low: tuple[Fraction, ...]
    high: tuple[Fraction, ...]
    first: tuple[int, ...]


class ExactLevels(NamedTuple):
    """Levels proved in exact fractions.

    Parameters
    ----------
    level : (N,) share over weight of each user at every max-min optimum. share : (N,).
    rounds : users of each level, from the lowest, class by class.
    """

    level: tuple[Fraction, ...]
    share: tuple[Fraction, ...]
    rounds: tuple[tuple[str, ...], ...]


def exact_levels(alloc: Allocation) -> ExactLevels | None:
    """The levels of every max-min optimum in exact fractions; None where that is not proved, or
    where they are not rational, as beside products of levels.

    Only where an answer is looked for: its tasks and prices say which rows and columns determine
    the levels. What is found is proved in integers, without any rounding.

    Raises
    ------
    UsageError : another notion than max-min, or an answer without level prices or rounds.
    """
    if alloc.kind["name"] != "max-min":
        raise UsageError(f"exact levels: found {alloc.notion['name']}; wanted max-min")
    if alloc.rounds is None and (alloc.level_prices is None or not alloc.instance.plain):
        raise UsageError("exact levels: found no level prices; wanted an answer of max-min")
    held = next(_proofs(alloc), None)
    solution = None if held is None else held.system.exact()
    if held is None or solution is None:
        return None
    case, first = held.case, len(held.place)
    level = [
        solution[first + g] if g >= 0 else case.level(n, held.share(n)[0])
        for n, g in enumerate(held.group)
    ]
    share = [case.due(n, t) for n, t in enumerate(level)]
    key = list(zip(case.rank, level, strict=True))
    order = sorted(range(len(key)), key=key.__getitem__)
    rounds: list[Sequence[int]] = [
        [n for n in order if key[n] == each] for each in sorted(set(key))
    ]
    if held.claim.targets is not None:  # levels of different groups say nothing of each other
        rounds = [each.users for each in held.claim.targets.rounds]
    names = alloc.instance.users
    told = tuple([tuple([names[n] for n in users]) for users in rounds])
    return ExactLevels(tuple(level), tuple(share), told)


def enclosed_levels(alloc: Allocation) -> EnclosedLevels | None:
    """The levels of an answer; None where nothing is proved."""
    return next((found for held in _proofs(alloc) if (found := _enclosed(held))), None)


def _proofs(alloc: Allocation) -> Iterator[TasksEnclosed]:
    """Tasks that are proved to give everybody what it is due, by where an answer tells to look."""
    if not few(alloc) or clock.late():
        return
    for search in searches(alloc):
        with np.errstate(all="ignore"):
            told = None
            if not alloc.instance.tree.flat:
                asked = entitled(alloc.instance, alloc.score, alloc.kind)
                told = GroupsTold.of(alloc, asked, search.case, search.met)
                if told is None:
                    return
            found = _found(search, told)
        if found is not None:
            yield found


def few(alloc: Allocation) -> bool:
    """Whether an answer is small enough to look for its levels."""
    columns = int(np.count_nonzero(alloc.by_way))
    told = alloc.level_prices if alloc.rounds is None else alloc.rounds
    pairs = int(np.count_nonzero(alloc.instance.ways.eligible))
    if columns > COLUMNS or pairs * (0 if told is None else len(told)) > WORK:
        return False
    low = lower(alloc.instance, alloc.score)
    used = np.flatnonzero(alloc.by_way[low.way, low.server])
    both = low.matrix.tocsc()[:, np.append(used, np.arange(low.columns, low.matrix.shape[1]))]
    shared = int((np.bincount(both.indices, minlength=len(low.rhs)) > 1).sum())
    return at_most(columns, alloc.instance.shape[0], shared) * shared <= ENTRIES


def _found(search: ExactSearch, told: GroupsTold | None) -> TasksEnclosed | None:
    """Tasks and prices that a search tells, if these prove that everybody has what it is due."""
    held = tasks_of(search) if told is None else _in_groups(search, told)
    if held is None or not held.kept:
        return None
    parts = list[PricesEnclosed]()
    for lot, each, cheap in zip(search.lots, search.bundles, search.cheap, strict=True):
        for part in each:
            found = prices_of(search, held, lot, part, cheap)
            if found is None:
                return None
            parts.append(found)
    return held if Judge(held).proved(parts) else None


def _enclosed(held: TasksEnclosed) -> EnclosedLevels | None:
    """What they give everybody, between two fractions each."""
    low, high = zip(*[held.share(n) for n in range(len(held.group))], strict=True)
    if any(most > 0 and not least for least, most in zip(low, high, strict=True)):
        return None  # nothing and next to nothing are not told apart
    case = held.case
    if held.claim.targets is not None:
        rounds = held.claim.targets.rounds  # none where nobody may hold anything
        return EnclosedLevels(low, high, tuple(rounds[0].users) if rounds else ())
    least = min([(r, case.level(n, high[n])) for n, r in enumerate(case.rank)])
    first = [n for n, r in enumerate(case.rank) if (r, case.level(n, low[n])) <= least]
    return EnclosedLevels(low, high, tuple(first))


def _in_groups(search: ExactSearch, told: GroupsTold) -> TasksEnclosed | None:
    """The same in groups, where what nothing connects is stopped in an order of its own."""
    rounds, of = told.rounds(search.lots, search.parts), LevelsTold(told)
    for _ in range(TURNS):
        claim, levels, own = of.claim(rounds)
        held = tasks_of(search, claim, levels)
        if held is None:
            return None
        one = held.system
        at = [one.middle[len(held.place) + claim.level[j, ROOT]] for j in own]
        cut = max(0, one.bits - EARLIER)
        keys = [(claim.rank_of(j), v >> cut) for j, v in zip(own, at, strict=True)]
        order = sorted(range(len(rounds)), key=keys.__getitem__)
        if order == list(range(len(rounds))):
            return held
        rounds = [rounds[j] for j in order]
    return None


__all__ = ["EnclosedLevels", "ExactLevels", "enclosed_levels", "exact_levels", "few"]
