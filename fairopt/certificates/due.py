"""What everybody is due under max-min, worked out for a division that came without any prices.

SciPy searches, the judges check: each round is a linear program over all rules, whose multipliers
are the prices of the round. If they prove the shares that the programs found, then no other shares
are max-min fair, so a division with others is refuted, and it is known who is due what.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import numpy as np

from fairopt import clock
from fairopt.allocation import Allocation
from fairopt.certificates.ruled.prices import PricesGiven, none, of_rules
from fairopt.formulas.entitled import Entitled, entitled
from fairopt.formulas.linear_program import FINE, LinearProgram
from fairopt.formulas.lowered import Lowered, lower
from fairopt.formulas.targets import Jump, PathPoint
from fairopt.instance import Bools, Floats, Instance, remembered

MOST_PAIRS = 20_000
"""most eligible pairs, or columns, of an instance for which this is tried"""
WORK = 600_000
"""most pairs times programs"""
SURE = 1e-9
"""prices of less than this part of all money are noise"""
FAR, LISTED = 1e-6, 12
"""part of a share that is no rounding; most users that are named"""
SAME_T = 1e-9
"""values of t that differ by at most this part are one"""
_Round = tuple[float, float, Bools, Floats]
"""t, the part of a jump, who was stopped, prices"""


def _highest(
    program: LinearProgram, unit: Floats, slope: Floats, offset: Floats, most: float
) -> tuple[float, Floats, Floats]:
    """max t <= `most`, share_n >= offset_n + slope_n t: t, tasks (P,) of the columns, prices (M,).

    Parameters
    ----------
    unit : (N,) what each user could have alone.
    """
    asked = np.where((offset > 0) | (slope != 0), offset, -np.inf)
    found = program.most(None, asked, slope, most, unit=unit, tolerance=FINE)
    if found is None:
        raise _NoneError
    return found.t, found.x, found.price


class _NoneError(Exception):
    """No optimum was found, or nobody was stopped at it."""


def due(alloc: Allocation) -> Allocation | None:
    """The max-min division of the instance with its rounds; None if it is not found.

    It is as good as its certificate: judge it.
    """
    inst = alloc.instance
    if int(np.count_nonzero(inst.ways.eligible)) > MOST_PAIRS or clock.over():
        return None
    low, name = lower(inst, alloc.score), _name(alloc)
    try:  # several judges of one answer ask for it
        known = remembered(inst, name, lambda: _worked_out(alloc, low))
    except clock.OutOfTime:
        return None
    if known is None:
        return None
    rounds, x = known
    tasks = low.tasks(x, len(inst.ways))
    own: dict[str, Any] = {"tasks": tasks, "way_tasks": None}
    if inst.modes is not None:
        own = {"tasks": None, "way_tasks": tasks}
    told = []
    for t, jump, stopped, price in rounds:
        named = low.named(price)
        prices = {"prices": named.capacity, "limit_prices": named.limits}
        if named.places.size:
            prices["limit_on_prices"] = named.places
        if inst.quotas is not None:
            prices |= {"bound_prices": named.bounds, "node_prices": named.nodes}
        if inst.rules is not None:
            prices |= {"rule_prices": named.rules}
        users = [inst.users[n] for n in np.flatnonzero(stopped).tolist()]
        told.append({"t": t, "jump": jump, "users": users, "prices": prices})
    return alloc.with_(
        **own,
        rounds=told,
        prices=None,
        limit_prices=None,
        level_prices=None,
        bound_prices=None,
        node_prices=None,
        floor_prices=None,
        rule_prices=None,
        limit_on_prices=None,
        certificate=None,
        steps=(),
    )


def _name(alloc: Allocation) -> str:
    """What the rounds of an instance are kept by: its notion and scores."""
    asked = sorted((name, str(value)) for name, value in alloc.kind["parameters"].items())
    of = sha256(np.ascontiguousarray(alloc.score).tobytes()).hexdigest()
    return f"due {alloc.kind['name']} {asked} {of}"


def _worked_out(alloc: Allocation, low: Lowered) -> tuple[list[_Round], Floats] | None:
    """The rounds, and the tasks of the last program; None where they are not found."""
    alone = (alloc.score * alloc.instance.alone).sum(axis=1)
    asked = entitled(alloc.instance, alloc.score, alloc.kind)
    try:
        return _rounds(asked, LinearProgram(low), alone)
    except _NoneError:
        return None


def lowest(alloc: Allocation) -> Floats:
    """(I, R) prices that tell how far the lowest level of a plain division could rise; perhaps 0.

    max t: whoever is at the lowest level holds t times what it has, whatever others hold.
    """
    low, level = lower(alloc.instance, alloc.score), alloc.levels
    slope = np.where(level <= level.min() * (1 + SAME_T), alloc.shares, 0.0)
    alone = (alloc.score * alloc.instance.alone).sum(axis=1)
    try:
        _, _, price = _highest(LinearProgram(low), alone, slope, np.zeros_like(slope), np.inf)
    except _NoneError:
        price = np.zeros(len(low.rhs))
    return low.named(price).capacity


def at_floors(alloc: Allocation, asked: Entitled, users: Bools) -> list[PricesGiven]:
    """Prices that may prove that users (N,), who hold their floors, cannot hold more while all
    others hold theirs; one program after another, each for those who are left."""
    inst = alloc.instance
    low = lower(inst, alloc.score)
    found: list[PricesGiven] = []
    if low.columns > MOST_PAIRS:
        return []
    program, alone = LinearProgram(low), (alloc.score * inst.alone).sum(axis=1)
    point = PathPoint.start(asked.tree, asked.floor, users)
    while point.free.any() and len(found) * low.columns < WORK:
        slope = np.where(point.free, asked.floor, 0.0)
        try:
            t, x, price = _highest(program, alone, slope, asked.floor, 1.0)
        except _NoneError:
            break
        stopped, price = _stopped(low, point, 0 * asked.floor, x, price, alone)
        if t > FAR or not stopped.any():
            break
        found.append(_of(inst, low, price))
        point = point.freeze(stopped)
    return found


def tangent(alloc: Allocation, floor: Floats, value: Floats) -> PricesGiven:
    """Prices of the rules at which what each user has is best, a unit of its share being worth
    `value` (N,); at an optimum, with marginal values, they prove it. 0 if there are none."""
    inst, low = alloc.instance, lower(alloc.instance, alloc.score)
    found = None
    if low.columns <= MOST_PAIRS:
        alone = (alloc.score * inst.alone).sum(axis=1)
        worth = value / (value * alone).max()
        asked = np.where(floor > 0, floor, -np.inf)
        found = LinearProgram(low).most(
            worth[low.owner] * low.score, asked, unit=alone, tolerance=FINE
        )
    return _of(inst, low, np.zeros(len(low.rhs)) if found is None else found.price)


def _of(inst: Instance, low: Lowered, price: Floats) -> PricesGiven:
    """Prices (M,) of the rows as judges use them."""
    named = low.named(price)
    places = named.places if named.places.size else none(inst).places
    return PricesGiven(*named[:4], of_rules(inst, named.rules), places)


def _rounds(asked: Entitled, program: LinearProgram, alone: Floats) -> tuple[list[_Round], Floats]:
    """The rounds and the tasks of the last program."""
    found: list[_Round] = []
    base, held = asked.base, asked.floor - asked.base
    programs, x = 0, np.zeros(program.low.columns)
    for rank in np.unique(asked.rank).tolist():
        point = PathPoint.start(asked.tree, held, asked.rank == rank)
        while point.free.any():
            programs += 1
            clock.tick()
            if programs * program.low.columns > WORK:
                raise _NoneError
            piece = point.piece()
            if isinstance(piece, Jump):
                line = piece.end.due - point.due
                part, x, price = _highest(program, alone, line, point.due + base, 1.0)
                ended = part < 1 - SAME_T
                point, jump = piece.at(part if ended else 1), max(part, 1e-300) if ended else 1.0
            else:
                offset = point.due + base - piece.slope * point.t
                t, x, price = _highest(program, alone, piece.slope, offset, float(piece.until))
                ended, jump = t < piece.until * (1 - SAME_T), 0.0
                if not ended:
                    point = piece.at(piece.until)
                elif t > point.t * (1 + SAME_T):
                    point = piece.at(t)
            stopped = np.zeros_like(point.free)
            if ended:
                stopped, price = _stopped(program.low, point, base, x, price, alone)
                if not stopped.any():
                    raise _NoneError
            if ended or jump:
                found.append((float(point.t), jump, stopped, price))
            point = point.freeze(stopped)
        held = point.due
    return found, x


def _stopped(
    low: Lowered, point: PathPoint, base: Floats, x: Floats, price: Floats, alone: Floats
) -> tuple[Bools, Floats]:
    """Who has no column that costs nothing, and holds no more than its target; clean prices."""
    money = price * low.unit
    price = np.where(money > SURE * money.max(initial=0.0), price, 0.0)
    dear = low.dear(price)
    cheap = np.bincount(low.owner[~dear], minlength=len(base)) > 0
    share = np.bincount(low.owner, low.score * x, len(base))
    due = point.due + base
    stopped: Bools = point.free & ~cheap & (share <= due * (1 + 1e-6) + 1e-12 * alone)
    return stopped, price


def told(alloc: Allocation, found: Allocation, far: float = FAR) -> tuple[str, ...]:
    """Who holds less than it is due, the worst first, then who holds more, in words.

    Parameters
    ----------
    far : the part of a share that is no rounding.
    """
    return told_of(alloc, found.shares, far)


def told_of(alloc: Allocation, right: Floats, far: float = FAR) -> tuple[str, ...]:
    """The same, of the shares (N,) that are due."""
    share = alloc.shares
    with np.errstate(divide="ignore", invalid="ignore"):
        part = np.where(share == right, 0.0, share / right - 1.0)
    order = np.argsort(part, kind="stable")
    wrong = order[np.abs(part[order]) > far]
    users = alloc.instance.users
    lines = [
        f"{users[n]} holds a share of {share[n]:.6g} and is due {right[n]:.6g}"
        for n in wrong[:LISTED].tolist()
    ]
    more = len(wrong) - LISTED
    return (*lines, *([f"and {more} more users"] if more > 0 else []))


__all__ = ["at_floors", "due", "lowest", "tangent", "told", "told_of"]
