"""Server selections: which machine the next increment goes to.

There are two families. *User first* (joint, first-fit, best-fit, best-fit-any) chooses the user of
smallest criterion among those whose task fits somewhere, then its machine. *Server first*
(random-server, rrr, in-order) chooses a machine, then the user of smallest criterion whose task
fits there.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

import numpy as np

from fairopt.filling.cluster import Machines
from fairopt.filling.states import States
from fairopt.instance import Floats, Ints


def shape_distance(cluster: Machines, states: States, kind: int, which: Ints) -> Floats:
    """sum_r |d~_r/d~_1 - cbar_r/cbar_1| (DRFH; the Mesos code of kesidis2018).

    d~ is the demand and cbar the residual, both divided by the pool's total; component 1 is the
    first resource that the user demands. +inf where a machine has none of it left.
    """
    total = np.where(cluster.total > 0, cluster.total, 1.0)
    need = cluster.demand[kind, states.shape[which]] if cluster.by_server else cluster.demand[kind]
    need = need / total
    have = states.residual(which) / total
    one = int(np.flatnonzero(np.atleast_2d(need).max(axis=0) > 0)[0])
    with np.errstate(divide="ignore", invalid="ignore"):
        off = np.abs(need / need[..., one : one + 1] - have / have[:, one : one + 1]).sum(axis=1)
    return np.where((have[:, one] > 0) & ~np.isnan(off), off, np.inf)


def first_of_least(states: States, which: Ints, value: Floats) -> int:
    """Position of the first machine among the states of least value (equal to 1e-12)."""
    near = which[value <= value.min() * (1 + 1e-12)]
    return int(states.first[near].min())


# -- the order in which server-first selections visit machines ---------------------------------


class Open:
    """The machines that may still take a task; drawing or closing one takes constant time."""

    def __init__(self, machines: int) -> None:
        self.list = list(range(machines))
        self._where = list(range(machines))

    def __contains__(self, position: int) -> bool:
        return self._where[position] >= 0

    def close(self, position: int) -> None:
        """Remove a machine on which nothing more fits; the last of the list takes its place."""
        at, last = self._where[position], self.list.pop()
        if last != position:
            self.list[at] = last
            self._where[last] = at
        self._where[position] = -1


Visit = Callable[[Open, random.Random], Iterator[int]]
"""(open machines, generator) -> positions, for as long as a machine is open"""


def random_server(machines: Open, draw: random.Random) -> Iterator[int]:
    """A machine drawn uniformly for every increment."""
    while machines.list:
        yield machines.list[draw.randrange(len(machines.list))]


def rounds(machines: Open, draw: random.Random) -> Iterator[int]:
    """Every open machine once per round, each round in a new random order."""
    while machines.list:
        tour = sorted(machines.list)
        draw.shuffle(tour)
        yield from tour


def in_order(machines: Open, draw: random.Random) -> Iterator[int]:
    """One machine after the other, each until nothing more fits."""
    for position in range(len(machines.list)):
        while position in machines:
            yield position


VISITS: dict[str, Visit] = {"random-server": random_server, "rrr": rounds, "in-order": in_order}
