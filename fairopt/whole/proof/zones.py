r"""Tasks of a user spread over zones: no zone has more than `skew` tasks more than another.

With t the tasks of the emptiest zone, :math:`t \le m_z \le t + s`. Let a task in zone z be worth
:math:`\delta_z` more than its price, the differences adding up to 0. Then

.. math:: \sum_z \delta_z m_z = \sum_z \delta_z (m_z - t) \ge -s \sum_z \max(0, -\delta_z),

so that the price of all its tasks is at most what they are worth in their zones and that much more:
a row of prices like any other. A zone without a node that may hold the user has none of its tasks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fairopt.errors import Fault
from fairopt.instance.reading import Faults, known_keys, listed, shown, table

LARGEST_COUNT = 10**15
"""no count, number asked, gang, floor or skew of a file is larger"""


@dataclass(frozen=True)
class Spread:
    """A user whose tasks are spread over zones.

    Parameters
    ----------
    user : position of the user. zones : names, those without a node for it as well.
    zone : (J,) the zone of each class of nodes, -1 for none, where the user has no task.
    skew : at least 1; no zone has more tasks than another one and so many.
    """

    user: int
    zones: tuple[str, ...]
    zone: tuple[int, ...]
    skew: int

    def to_dict(self) -> dict[str, Any]:
        """As in a file: the classes of each zone."""
        at = {
            name: [j for j, own in enumerate(self.zone) if own == z]
            for z, name in enumerate(self.zones)
        }
        return {"skew": self.skew, "zones": at}

    def counts(self, tasks: Iterable[tuple[int, int]]) -> list[int]:
        """(Z,) tasks in each zone, of (class, tasks of the user) on nodes."""
        found = [0] * len(self.zones)
        for j, m in tasks:
            if m:
                z = self.zone[j]
                if z < 0:
                    raise ValueError("a task where there is no zone")
                found[z] += m
        return found

    def uneven(self, counts: Sequence[int]) -> bool:
        """Whether some zone has too many beside another."""
        return max(counts) - min(counts) > self.skew

    def budget(self, differences: Sequence[int]) -> int:
        """What uneven zones may cost at most at these differences of prices."""
        return self.skew * sum(max(0, -x) for x in differences)


def read(given: Any, user: int, classes: int, place: str, faults: Faults) -> Spread:
    """How a user is spread, from plain data; faults are collected."""
    data = table(given, place, faults)
    known_keys(data, ("skew", "zones"), place, faults)
    skew = data.get("skew")
    if isinstance(skew, bool) or not isinstance(skew, int) or not 1 <= skew <= LARGEST_COUNT:
        faults.add(f"{place}.skew", shown(skew), "a whole number >= 1")
        skew = 1
    zone = [-1] * classes
    zones = table(data.get("zones"), f"{place}.zones", faults)
    for z, (name, own) in enumerate(zones.items()):
        for j in listed(own, f"{place}.zones.{name}", faults):
            if isinstance(j, bool) or not isinstance(j, int) or not 0 <= j < classes:
                faults.add(f"{place}.zones.{name}", shown(j), f"a class from 0 to {classes - 1}")
            elif zone[j] >= 0:
                faults.add(f"{place}.zones.{name}", f"class {j} again", "each in one zone")
            else:
                zone[j] = z
    if not zones:
        faults.add(f"{place}.zones", "none", "at least one")
    return Spread(user, tuple(zones), tuple(zone), skew)


Places = Sequence[Mapping[int, int]]
"""for each class, of users that are spread: the position of its zone among all zones of all"""


def places(spreads: Sequence[Spread], classes: int) -> tuple[dict[int, int], ...]:
    """See `Places`."""
    found: list[dict[int, int]] = [{} for _ in range(classes)]
    first = 0
    for own in spreads:
        for j, z in enumerate(own.zone):
            if z >= 0:
                found[j][own.user] = first + z
        first += len(own.zones)
    return tuple(found)


def faults(spreads: Sequence[Spread], users: Sequence[str], classes: int) -> list[Fault]:
    """What is wrong with spreads, by name."""
    found = []
    seen: set[int] = set()
    for own in spreads:
        here = f"users.{users[own.user]}.spread"
        if own.skew < 1:
            found.append(Fault(f"{here}.skew", str(own.skew), "a whole number >= 1"))
        if own.user in seen:
            found.append(Fault(here, "a second one", "zones of one kind for a user"))
        if not own.zones or len(set(own.zones)) < len(own.zones):
            found.append(Fault(f"{here}.zones", str(list(own.zones)), "names, each once"))
        if len(own.zone) != classes or any(not -1 <= z < len(own.zones) for z in own.zone):
            found.append(Fault(f"{here}.zones", "other classes of nodes", "classes of the file"))
        seen.add(own.user)
    return found


def raised(counts: Sequence[int], room: Sequence[int], skew: int, many: int) -> list[int]:
    """(Z,) up to `many` further tasks, the emptiest zones first, as far as room and skew allow.

    The zone that is full first holds all others back; below that every number can be had.
    """
    full = [m + r for m, r in zip(counts, room, strict=True)]
    top = [min(f, min(full) + skew) for f in full]
    pairs = list(zip(counts, top, strict=True))

    def at(level: int) -> list[int]:
        return [max(0, min(level, t) - m) for m, t in pairs]

    return _shared(at, counts, min(counts), max([*top, *counts]), many)


def lowered(counts: Sequence[int], many: int) -> list[int]:
    """(Z,) tasks that are taken away, `many` in all, from the fullest zones first."""
    negative = [-m for m in counts]

    def at(level: int) -> list[int]:
        return [max(0, min(level, 0) - m) for m in negative]

    return _shared(at, negative, min(negative), 0, many)


def _shared(
    at: Callable[[int], list[int]], counts: Sequence[int], low: int, high: int, many: int
) -> list[int]:
    """At the highest level that costs at most `many`, and one more each as far as that goes."""
    while low < high:
        middle = (low + high + 1) // 2
        if sum(at(middle)) <= many:
            low = middle
        else:
            high = middle - 1
    found, next_ = at(low), at(low + 1)
    left = many - sum(found)
    for z in sorted(range(len(counts)), key=lambda z: (counts[z] + found[z], z)):
        if left > 0 and next_[z] > found[z]:
            found[z] += 1
            left -= 1
    return found
