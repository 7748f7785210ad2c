"""What is said of one user or server that comes or changes, checked before anything does."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from fairopt.errors import BadInput, Fault
from fairopt.formulas.parameters import words
from fairopt.instance import Bools, Floats, Instance
from fairopt.instance.labels import nearest

Amounts = Mapping[str, float] | ArrayLike
"""of each resource, by name or in the order of the instance"""


def user(
    resources: Sequence[str], name: str, demand: Amounts, weight: float, limit: float
) -> tuple[Floats, float, float]:
    """Demand (R,), weight and limit; BadInput if one is wrong."""
    need = amounts(resources, f"demand of {name}", demand)
    # an instance of this user alone says what is wrong, in the words of every other place
    room = np.ones((1, len(need)))
    alone = Instance(
        [need], room, weight=[weight], limit=[limit], users=[name], resources=resources
    )
    return alone.demand[0], float(alone.weight[0]), float(alone.limit[0])


def server(
    resources: Sequence[str], name: str, capacity: Amounts, count: int
) -> tuple[Floats, float]:
    """Capacity (R,) and count; BadInput if one is wrong."""
    offer = amounts(resources, f"capacity of {name}", capacity)
    if not np.isfinite(offer).all() or (offer < 0).any():
        raise BadInput([Fault(f"capacity of {name}", words(capacity), "numbers >= 0")])
    if not isinstance(count, int | np.integer) or isinstance(count, bool) or count < 1:
        raise BadInput([Fault(f"count of {name}", words(count), "a whole number >= 1")])
    return offer, float(count)


def amounts(resources: Sequence[str], what: str, given: Amounts) -> Floats:
    """(R,) amounts of the resources; those that a mapping leaves out are 0."""
    size = len(resources)
    if isinstance(given, Mapping):
        for resource in given:
            if resource not in resources:
                wanted = nearest(str(resource), resources)
                raise BadInput([Fault(what, f"the resource {resource}", wanted)])
        given = [given.get(resource, 0.0) for resource in resources]
    try:
        found = np.array(given, dtype=np.float64)
    except (TypeError, ValueError):
        found = np.zeros(0)
    if found.shape != (size,):
        raise BadInput([Fault(what, words(given), f"{size} numbers, of each resource one")])
    return found


def where(what: str, given: Iterable[str] | None, known: Sequence[str]) -> Bools:
    """(names,) bool, which of the known names are given; all if None."""
    if given is None:
        return np.ones(len(known), bool)
    chosen = {given} if isinstance(given, str) else set(given)
    unknown = sorted(map(str, chosen - set(known)))
    if unknown:
        raise BadInput([Fault(what, unknown[0], nearest(unknown[0], known))])
    return np.array([name in chosen for name in known], bool)


def position(kind: str, name: str, known: list[str]) -> int:
    """Where a name is among the known; BadInput with the nearest if it is not."""
    try:
        return known.index(name)
    except ValueError:
        raise BadInput([Fault(kind, str(name), nearest(str(name), known))]) from None


def new(kind: str, name: str, known: list[str]) -> None:
    """BadInput for a name that is taken, or none."""
    if not isinstance(name, str) or not name or name in known:
        raise BadInput([Fault(kind, words(name), "a name that nobody has")])
