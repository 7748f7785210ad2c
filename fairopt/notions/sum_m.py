"""Program (10) of the pools paper: most tasks that run on every pool at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from fairopt.notions.notion import Notion


@dataclass(frozen=True)
class CommonTasks(Notion):
    r"""Largest weighted sum of the tasks each user has on every one of its pools.

    .. math:: \max_{x \ge 0} \sum_n M_n / \phi_n, \quad M_n = \min_i x_{n,i}, \quad
              \sum_n d_{n,r} x_{n,i} \le c_{i,r}

    the minimum over the pools the user is eligible on, per machine. Nothing is used beyond
    x[n,i] = M_n. Efficiency, not fairness: a user may get nothing; the answer need not be unique.

    References
    ----------
    kesidis2016 (8), (10).
    """

    name: ClassVar[str] = "sum-m"
    summary: ClassVar[str] = "max sum M_n/phi_n, M_n = fewest tasks on a pool (kesidis2016 (10))"
    procedure_path: ClassVar[str] = "fairopt.engines.pools:solve_sum"
