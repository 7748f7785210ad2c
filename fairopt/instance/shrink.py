"""Shrink an instance with a fault to a smaller one with rounder numbers that still has the fault.

So a counterexample becomes one that a reader can follow.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from fairopt.errors import FairoptError, UsageError
from fairopt.instance import Floats, Instance

Move = Callable[[Instance], Instance | None]
DIGITS = (1, 2, 3)
"""significant digits that numbers are rounded to, fewest first"""
_NUMBERS = ("demand", "capacity", "weight", "limit")


def shrink(
    instance: Instance, still_bad: Callable[[Instance], bool], budget: int = 400
) -> Instance:
    """The smallest and roundest instance found that is still bad.

    Greedy: users, servers and resources are left out one at a time; weights, counts, limits and
    placement are set to their defaults; numbers are rounded, all together and one by one. It ends
    when no such step keeps the fault, or when the budget is spent. Users, servers and resources
    that remain keep their names.

    Parameters
    ----------
    instance : a bad instance.
    still_bad : tells whether an instance has the fault; a FairoptError that it raises means no.
    budget : the most calls of `still_bad`.

    Raises
    ------
    UsageError : the instance given is not bad, or the budget is below 1.

    Examples
    --------
    >>> start = Instance([[1.234, 2], [3, 4]], [[9, 9], [7.5, 8]])
    >>> small = shrink(start, lambda inst: bool(1.1 < inst.demand[0, 0] < 1.9))
    >>> small.shape, small.demand.tolist()
    ((1, 1, 1), [[1.2]])
    """
    if budget < 1:
        raise UsageError(f"budget: found {budget}; wanted a whole number >= 1")
    left = budget

    def bad(candidate: Instance) -> bool:
        nonlocal left
        left -= 1
        try:
            return bool(still_bad(candidate))
        except FairoptError:
            return False

    if not bad(instance):
        raise UsageError("shrink: the instance given is not bad")
    smaller = True
    while smaller:
        smaller = False
        for moves in (_fewer, _plainer, _rounder):
            for move in moves(instance):
                if left <= 0:
                    return instance
                candidate = _after(move, instance)
                if candidate is not None and bad(candidate):
                    instance, smaller = candidate, True
    return instance


# A move maps the present instance, which earlier moves may have changed, to a simpler one, or
# to None if it would change nothing. It refers to users, servers and resources by name.


def _fewer(inst: Instance) -> list[Move]:
    """The moves that leave out one user, server or resource."""
    return [
        *(partial(_without_user, name) for name in inst.users),
        *(partial(_without_server, name) for name in inst.servers),
        *(partial(_without_resource, name) for name in inst.resources),
    ]


def _without_user(name: str, inst: Instance) -> Instance | None:
    kept = [n for n, user in enumerate(inst.users) if user != name]
    return inst.select(kept, range(len(inst.servers))) if kept else None


def _without_server(name: str, inst: Instance) -> Instance | None:
    kept = [i for i, server in enumerate(inst.servers) if server != name]
    return inst.select(range(len(inst.users)), kept) if kept else None


def _without_resource(name: str, inst: Instance) -> Instance | None:
    kept = [r for r, resource in enumerate(inst.resources) if resource != name]
    if not kept:
        return None
    return inst.replace(
        demand=inst.demand[..., kept],
        capacity=inst.capacity[:, kept],
        resources=[inst.resources[r] for r in kept],
    )


def _plainer(inst: Instance) -> list[Move]:
    """The moves that replace weights, limits, counts, placement or demand by server by defaults."""
    return [
        *(partial(_default, name) for name in ("weight", "limit", "count", "placement")),
        _same_everywhere,
        *(partial(_opened, int(n), int(i)) for n, i in np.argwhere(~inst.placement)),
    ]


def _default(name: str, inst: Instance) -> Instance | None:
    plain = inst.replace(**{name: None})
    return None if plain == inst else plain


def _same_everywhere(inst: Instance) -> Instance | None:
    return inst.replace(demand=inst.demand[:, 0]) if inst.demand.ndim == 3 else None


def _opened(n: int, i: int, inst: Instance) -> Instance | None:
    if inst.placement[n, i]:
        return None
    placement = inst.placement.copy()
    placement[n, i] = True
    return inst.replace(placement=placement)


def _rounder(inst: Instance) -> list[Move]:
    """The moves that round numbers: all of them together, then one by one."""
    moves: list[Move] = [partial(_all_rounded, digits) for digits in DIGITS]
    for name in _NUMBERS:
        for place in np.ndindex(getattr(inst, name).shape):
            moves += [partial(_one_rounded, name, place, digits) for digits in DIGITS]
    return moves


def _all_rounded(digits: int, inst: Instance) -> Instance | None:
    whole = inst.replace(**{name: rounded(getattr(inst, name), digits) for name in _NUMBERS})
    return None if whole == inst else whole


def _one_rounded(name: str, place: tuple[int, ...], digits: int, inst: Instance) -> Instance | None:
    array = getattr(inst, name).copy()
    value = rounded(array[place], digits)
    if array[place] == value:
        return None
    array[place] = value
    return inst.replace(**{name: array})


def _after(move: Move, inst: Instance) -> Instance | None:
    """The instance after the move; None if it would be invalid (a user without a server)."""
    try:
        return move(inst)
    except FairoptError:
        return None


def rounded(array: object, digits: int) -> Floats:
    """The numbers (any shape) to so many significant digits; zeros and infinities stay.

    Examples
    --------
    >>> rounded([0.0, 123.4, 0.05678], 2).tolist()
    [0.0, 120.0, 0.057]
    """
    flat = np.asarray(array, dtype=np.float64)
    # by way of decimal text, which gives 0.1 and not 0.10000000000000001
    text = [float(f"{x:.{digits}g}") for x in flat.ravel()]
    return np.array(text, dtype=np.float64).reshape(flat.shape)


__all__ = ["rounded", "shrink"]
