r"""What a user could hold today without anybody at or below it losing anything.

.. math:: \max s_n, \quad s_m \ge s^0_m \ (m \text{ served before } n, \text{ or at or below its
          level}), \quad s_m \ge \sigma_m \ (\text{the others})

over the feasible set, s0 what users hold and sigma their floors. One linear program a user, by
HiGHS; its answer is not trusted: with its prices, q_n the cheapest price of a unit of share and B
the value of all that is priced, no division gives user n more than

.. math:: \frac{B - \sum_{m \ne n} q_m f_m}{q_n}, \quad f_m = s^0_m \text{ or } \sigma_m ,

which is computed here from the prices alone (docs/maths/audit.md). Where a rule of one's own pays
for tasks, q_m may be below 0: then what m could have at most, alone, stands for f_m.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from fairopt.formulas.linear_program import LinearProgram
from fairopt.formulas.lowered import CAPACITY, Lowered
from fairopt.instance import Bools, Floats, Ints

TIE = 1e-9
"""levels that differ by less than this part are one level"""
PROVED = 1e-6
"""part by which the bound may exceed what was found, for it to count as proved"""


@dataclass(frozen=True, eq=False)
class Today:
    """What is held, in the terms of the feasible set.

    Parameters
    ----------
    system : the feasible set. share : (N,) s0. floor : (N,) sigma.
    level : (N,) share by weight; rank : (N,) priority class, 0 first.
    """

    system: Lowered
    share: Floats
    floor: Floats
    level: Floats
    rank: Ints

    def above(self, user: int) -> Bools:
        """(N,) who may lose: later classes, and users above this one's level in its class."""
        later = self.rank > self.rank[user]
        higher = self.level > self.level[user] * (1 + TIE)
        found: Bools = later | ((self.rank == self.rank[user]) & higher)
        return found


@dataclass(frozen=True, eq=False)
class Reach:
    """What one user could hold.

    Parameters
    ----------
    share : the most found; most : what the prices prove that nobody can exceed.
    tasks : (P,) of the division that reaches it, by column of the system.
    price : (M,) of the rows of the system, per unit; the proof.
    """

    share: float
    most: float
    tasks: Floats
    price: Floats

    @property
    def proved(self) -> bool:
        """Whether the prices prove that no more is possible."""
        return self.most <= self.share * (1 + PROVED)


def reaches(today: Today, progress: Callable[[int, int], None] | None = None) -> list[Reach | None]:
    """What each user could hold; None where what is held today does not fit the cluster."""
    program = LinearProgram(today.system)
    found = []
    for user in range(len(today.share)):
        found.append(_reach(program, today, user))
        if progress is not None:
            progress(user + 1, len(today.share))
    return found


def bound(today: Today, user: int, price: Floats) -> float:
    """The largest share of a user that any prices (M,) >= 0 of the rows allow."""
    low = today.system
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        each = low.cost(price) / low.score
    cheapest = np.full(len(today.share), np.inf)
    np.minimum.at(cheapest, low.owner, each)
    kept = np.where(today.above(user), today.floor, today.share)
    kept = np.where(cheapest < 0, _most(low), kept)
    kept[user] = 0.0
    if not cheapest[user] > 0:
        return np.inf
    spent = np.where(kept > 0, cheapest * kept, 0.0).sum()
    return float((low.budget(price) - spent) / cheapest[user])


def _most(low: Lowered) -> Floats:
    """(N,) shares that nobody can exceed, by capacity alone, each column by itself."""
    capacity = low.kind == CAPACITY
    part = low.matrix[capacity][:, : low.columns].multiply(1.0 / low.rhs[capacity][:, None])
    largest = part.tocsc().max(axis=0).toarray().ravel()
    with np.errstate(divide="ignore"):
        return np.asarray(np.bincount(low.owner, low.score / largest, low.shape[0]))


def _reach(program: LinearProgram, today: Today, user: int) -> Reach | None:
    """Solve the program of one user, and bound its answer by the prices found."""
    low = today.system
    kept = np.where(today.above(user), today.floor, today.share)
    kept[user] = 0.0
    gain = np.where(low.owner == user, low.score, 0.0)
    asked = np.where(kept > 0, kept, -np.inf)
    found = program.most(gain, asked, unit=np.where(kept > 0, kept, 1.0))
    if found is None:
        return None
    share = float(gain @ found.x)
    return Reach(share, bound(today, user, found.price), found.x, found.price)
