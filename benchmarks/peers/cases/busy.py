"""A second process burns one core: does a solve lose more than its part of the machine?"""

from __future__ import annotations

from dataclasses import replace

from benchmarks.peers.cases.medium import CASES as _MEDIUM
from benchmarks.peers.sides import OURS

CASES = (
    replace(
        _MEDIUM[-1],
        name="busy",
        words="the medium case beside a process that takes one core",
        sides=(OURS,),
        busy=True,
        rounds=7,
    ),
)
