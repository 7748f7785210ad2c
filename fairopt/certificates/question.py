r"""An alpha-fair question over linear rules, and an answer to it, in one form whatever the rules.

.. math:: \max \sum_n W_n g(s_n - b_n), \quad s = U x, \quad A (x, y) \le r, \quad x \ge 0, \quad
          low \le y \le high, \quad \sigma_n \le s_n \le S_n

A column x is a user's task on a server (in a mode), y what is lent, a row a capacity, limit,
ceiling or quota. A floor is a bound of the share and needs no price; so is a limit of tasks where
all of a user's scores are equal, and that user's share is counted in tasks then, so that the limit
is reached to the last digit. Amounts are in powers of two of their own, rows and users alike, so
that numbers are about 1 and no digit is changed.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fairopt.certificates.columns import Columns
from fairopt.certificates.pulls import Pulls
from fairopt.instance import Bools, Floats, Ints

LEAST_APART = 1e-300
"""a difference of logarithms that is not 0"""


@dataclass(frozen=True)
class Question:
    """The question; see the module.

    Parameters
    ----------
    columns : P columns of tasks, F of flows. rhs, unit : (M,) of rows, and a typical amount.
    low, high : (F,) bounds of flows. alpha : > 0, or 0.
    log_w, base, least, most : (N,) log W, b, sigma and S. nothing : (N,) a share that counts as 0,
        of throughput alone: with alpha > 0 nobody's share does, however small.
    log_size : (N,) sum of the sizes of what log W was added up from, of which its error is a part.
    within : (N,) the most that each could have alone, its limit included.
    share_unit : (N,) what a share of 1 is in the notion's unit. weight : (N,), W = weight, or
        weight^alpha where `inside`.
    tasks_unit : (N,) powers of two, what 1 is in tasks. row_unit : (M,) the same of rows.
    pulls : the rows whose prices may have any sign; None without penalties on variances.
    paid : (N,) whom a rule may pay for running, so that a unit of share could cost less than
        nothing; None: nobody. signed : their columns, the prices of which cancel out.
        further : (M,) how many times as far below full as others a row is aimed at: those that
        fewer tasks would break, as tasks are scaled down to keep the others; None: 1.
    """

    columns: Columns
    rhs: Floats
    unit: Floats
    low: Floats
    high: Floats
    alpha: float
    log_w: Floats
    log_size: Floats
    base: Floats
    least: Floats
    most: Floats
    nothing: Floats
    within: Floats
    share_unit: Floats
    weight: Floats
    inside: bool
    tasks_unit: Floats
    row_unit: Floats
    pulls: Pulls | None = None
    paid: Bools | None = None
    signed: Ints | None = None
    further: Floats | None = None

    @property
    def users(self) -> int:
        """N."""
        return len(self.log_w)

    @cached_property
    def rules(self) -> Bools:
        """(M,) the rows that may not be overrun, whose prices are >= 0."""
        found = np.ones(len(self.rhs), dtype=bool)
        if self.pulls is not None:
            found[self.pulls.rows] = False
        return found

    @cached_property
    def lent(self) -> Bools:
        """(F,) the flows that are lent; the others are means that rows with pulls are about."""
        found = np.ones(len(self.low), dtype=bool)
        if self.pulls is not None:
            found[self.pulls.flow] = False
        return found

    @cached_property
    def bounded(self) -> bool:
        """Whether anybody's share has a bound of its own."""
        return bool((self.least > 0).any() or np.isfinite(self.most).any())

    @cached_property
    def free(self) -> Floats:
        """(N,) how far shares are from a bound where there is none."""
        return np.full(self.users, np.inf)

    def proves_nothing(self, value: Floats) -> bool:
        """Whether values (N,) that no column's price exceeds leave somebody's share without a
        price, though tasks may cost less than nothing: then they bound nobody's."""
        return self.paid is not None and not bool((value[self.paid] > 0).all())

    def log_best(self, log_price: Floats, log_unit: float) -> tuple[Floats, Floats]:
        """(N,) log of the share above b that is best at these prices of share, money counted in
        exp(log_unit); and log of its marginal value less log of the price: > 0 at S, < 0 at
        sigma, else 0."""
        log_w = self.log_w - log_unit
        free = (log_w - log_price) / self.alpha
        if not self.bounded:
            return free, np.zeros(len(free))
        ends = np.log(self.least - self.base), np.log(self.most - self.base)
        log_t = np.clip(free, *ends)
        apart = log_w - self.alpha * log_t - log_price
        # which bound it is, whatever rounding says of how much dearer or cheaper
        at_most = np.where(free > ends[1], np.maximum(apart, LEAST_APART), 0.0)
        return log_t, np.where(free < ends[0], np.minimum(apart, -LEAST_APART), at_most)


NOBODY = -1e5
"""log W of users that do not count"""


__all__ = ["NOBODY", "Question"]
