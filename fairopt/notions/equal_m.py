"""Program (9) of the pools paper: equal tasks on every pool, then as many shares as possible."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from fairopt.notions.notion import Notion


@dataclass(frozen=True)
class EqualTasks(Notion):
    r"""Largest total of shares when everybody has the same tasks on every pool, by weight.

    .. math:: \max_{x \ge 0} \sum_{n,i,r} \alpha_{n,i,r} / \phi_n, \quad
              \alpha_{n,i,r} = x_{n,i} d_{n,r} / c_{i,r}, \\
              M_n / \phi_n \text{ all equal}, \quad M_n = \min_{i} x_{n,i}

    over the pools the user is eligible on, per machine. M_n is concave, so the equality is read in
    two steps that are linear: M is the largest level with :math:`M_n \ge \phi_n M` for all n, then
    the total of shares is maximised under it. Users of the pool that decides M have M_n = phi_n M
    exactly; one that shares no full resource with them may be handed more. (As printed, with M
    free, M = 0 can maximise the total.)

    References
    ----------
    kesidis2016 (8), (9).
    """

    name: ClassVar[str] = "equal-m"
    summary: ClassVar[str] = "equal tasks on every pool, then max sum of shares (kesidis2016 (9))"
    procedure_path: ClassVar[str] = "fairopt.engines.pools:solve_equal"
