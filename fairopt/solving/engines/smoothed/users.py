"""What the method knows of its users, as plain arrays that can be read in pieces."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from fairopt import fast
from fairopt.instance import Bools, Floats, Ints
from fairopt.solving.engines.point import AlphaQuestion

CHUNK = 4096
"""users whose costs are computed at once, so that the arrays stay in the cache"""


T = TypeVar("T", bound=np.generic)


def picked(table: NDArray[T], pick: Ints | slice) -> NDArray[T]:
    """Rows of a table: `take` copies short rows whole, in a third of the time of `table[pick]`."""
    return table[pick] if isinstance(pick, slice) else np.take(table, pick, axis=0)


@dataclass(frozen=True, eq=False)
class UsersRead:
    """N users of I servers with R resources.

    Parameters
    ----------
    alpha : > 0. demand : (N, R), per task, the capacity of all servers together being 1 of each.
    log_w : (N,) log W. eligible : (N, I).
    log_score : (N, I) log share per task, or None where all users have one score on all servers
        (it is then part of `log_w` and `demand`: tasks are counted in shares).
    limit : (N,) most tasks, or None where no user has a limit.
    compiled : whether they are told apart by compiled loops (`passes`).
    """

    alpha: float
    demand: Floats
    log_w: Floats
    eligible: Bools
    log_score: Floats | None = None
    limit: Floats | None = None
    compiled: bool = False

    def __len__(self) -> int:
        return len(self.demand)

    @cached_property
    def level(self) -> Floats:
        """(N,) W^(1/alpha)."""
        found: Floats = np.exp(self.log_w / self.alpha)
        return found

    def some(self, pick: Ints | slice, eligible: Bools | None = None) -> UsersRead:
        """The users picked, in that order, perhaps with fewer servers."""
        return UsersRead(
            self.alpha,
            picked(self.demand, pick),
            picked(self.log_w, pick),
            picked(self.eligible, pick) if eligible is None else eligible,
            None if self.log_score is None else picked(self.log_score, pick),
            None if self.limit is None else picked(self.limit, pick),
            self.compiled,
        )

    def chunks(self, size: int = CHUNK) -> list[slice]:
        """Slices that together cover all users."""
        return [slice(a, min(len(self), a + size)) for a in range(0, len(self), size)]

    @classmethod
    def of(cls, question: AlphaQuestion) -> tuple[UsersRead, Floats]:
        """The users of a question, and the capacity (I, R) in their units: 1 where there is none,
        for nobody who may be there uses any."""
        inst = question.instance
        total = inst.pool.sum(axis=0)
        total = np.where(total > 0, total, 1.0)
        demand, log_w, eligible = inst.demand / total, question.log_w, inst.eligible
        limit = inst.limit if np.isfinite(inst.limit).any() else None
        log_score = None
        if question.one_score:
            unit = question.top_score
            demand = demand / unit[:, None]
            limit = None if limit is None else limit * unit
        else:
            log_score = np.log(np.where(eligible, question.score, 1.0))
        compiled = fast.chosen(eligible.size)
        users = cls(question.alpha, demand, log_w, eligible, log_score, limit, compiled)
        return users, np.where(inst.pool > 0, inst.pool / total, 1.0)
