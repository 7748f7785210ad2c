"""DRF on every server by itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from fairopt.notions.notion import Notion


@dataclass(frozen=True)
class PerServerDRF(Notion):
    r"""Dominant-resource fairness on each server, as if it were alone.

    .. math:: \text{on every } i: \quad x_{n,i} = \phi_n \gamma_{n,i} t_{n,i}, \quad
              \text{all } t_{n,i} \text{ rise together until a resource that } n
              \text{ demands is full}

    Unique without limits: weighted max-min of the dominant shares x[n,i]/gamma[n,i] on each server.
    With limits all servers fill at the same speed and a user that reaches its limit stops on all of
    them. Where every user demands every resource it is the closed form of kesidis2016 Claim 3 (with
    the weight the right way up).

    References
    ----------
    kesidis2016 Claim 3, section 4.1; khamse2016, start of Algorithm I.
    """

    name: ClassVar[str] = "per-server-drf"
    summary: ClassVar[str] = "DRF on every server by itself (kesidis2016 Claim 3)"
    procedure_path: ClassVar[str] = "fairopt.engines.per_server:solve"
