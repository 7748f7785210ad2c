"""What a side is asked and what it answers: plain arrays, so that a peer needs NumPy alone."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

Floats = np.ndarray


@dataclass(frozen=True)
class Data:
    """max sum W g_alpha(s_n), or all levels of max-min, over eligible pairs.

    Parameters
    ----------
    demand : (N, R) resource per task. pool : (I, R) capacity of each server.
    n, i : (P,) user and server of the eligible pairs, in row order. score : (P,) share per task.
    weight : (N,). alpha : >= 0; None asks for all levels of lexicographic max-min of s_n / weight.
    """

    demand: Floats
    pool: Floats
    n: Floats
    i: Floats
    score: Floats
    weight: Floats
    alpha: float | None

    @property
    def shape(self) -> tuple[int, int, int]:
        """(N, I, R)."""
        return len(self.weight), *self.pool.shape

    @property
    def use(self) -> Floats:
        """(P, R) part of the server's capacity that one task of the pair uses."""
        return self.demand[self.n] / self.pool[self.i]

    @property
    def unit(self) -> Floats:
        """(P,) tasks in the equal part: 1/N of what the user could have alone on the server."""
        return 1.0 / (self.use.max(axis=1) * self.shape[0])

    def of_user(self) -> Any:
        """(N, P) sparse, 1 where the pair is the user's."""
        return self._sparse(np.ones(len(self.n)), self.n, self.shape[0])

    def usage(self) -> Any:
        """(I R, P) sparse: part of each row, server by server, that one task uses."""
        _, _, resources = self.shape
        row = self.i[:, None] * resources + np.arange(resources)
        pair = np.broadcast_to(np.arange(len(self.n))[:, None], row.shape)
        from scipy.sparse import coo_array, csr_array

        shape = (self.pool.size, len(self.n))
        found = csr_array(coo_array((self.use.ravel(), (row.ravel(), pair.ravel())), shape=shape))
        found.eliminate_zeros()
        return found

    def _sparse(self, values: Floats, rows: Floats, many: int) -> Any:
        from scipy.sparse import coo_array, csr_array

        entries = values, (rows, np.arange(len(self.n)))
        return csr_array(coo_array(entries, shape=(many, len(self.n))))


@dataclass(frozen=True)
class Answer:
    """What a side found.

    Parameters
    ----------
    tasks : (P,) of each eligible pair, as the side left them.
    rows : (I, R) money of each capacity row (price times pool), where the side gives duals.
    levels : (K, I, R) the same of each level of max-min.
    status : what the side claims. inner : seconds the solver itself reports, where it does.
    notes : whatever else is to be recorded, as plain data.
    """

    tasks: Floats | None
    rows: Floats | None = None
    levels: Floats | None = None
    status: str = ""
    inner: float | None = None
    notes: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Reply:
    """What one call gave: seconds of wall and processor, peak memory of the process, or an error.

    `before` is the peak before the first call, in MB.
    """

    answer: Answer | None
    wall: float = 0.0
    cpu: float = 0.0
    peak: float = 0.0
    before: float = 0.0
    error: str = ""
