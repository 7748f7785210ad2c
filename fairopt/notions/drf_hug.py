"""The two-phase allocation of the pools paper: DRF per pool, then hand out the rest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from fairopt.notions.notion import Notion


@dataclass(frozen=True)
class HandOutDRF(Notion):
    r"""DRF on every pool, then idle resources are handed out (like HUG).

    Phase 1 is `per-server-drf`. In phase 2 every resource that is left goes to the users eligible
    on the pool, the lowest share by weight first, with no user's share of it above its dominant
    share there, :math:`\alpha_{n,i,r} \le \max_r x_{n,i} d_{n,r} / c_{i,r}`. After phase 1 every
    user lacks some full resource, so the tasks do not change: the second phase is about resources,
    and stands in the steps of the result ("resources", in the user's units).

    References
    ----------
    kesidis2016 section 2, two-phase allocation.
    """

    name: ClassVar[str] = "drf-hug"
    summary: ClassVar[str] = "DRF per pool, the rest handed out to the dominant share (kesidis2016)"
    procedure_path: ClassVar[str] = "fairopt.engines.per_server:solve_hug"
