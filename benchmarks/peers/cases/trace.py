"""The machines of the Google trace of May 2011: identical users and machines as one, or apart.

Every machine is a server of its own (models/real/google2011), the model's users over and over,
with its placement. A tenth of the machines of every shape, also with nothing merged; then all.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

import fairopt as fo
from benchmarks.peers.registry import Case
from benchmarks.peers.sides import APART, OURS


def build(quick: bool, users: int, part: int) -> tuple[fo.Instance, Any]:
    users, part = (20, 500) if quick else (users, part)
    model = fo.read("real/google2011").instance
    who = np.arange(users) % len(model.users)
    rows = np.repeat(np.arange(len(model.servers)), np.maximum(model.count // part, 1))
    placement = model.placement[np.ix_(who, rows)]
    inst = fo.Instance(
        model.demand[who],
        model.capacity[rows],
        placement,
        model.weight[who],
        model.limit[who] / part,
    )
    return inst, fo.ProportionalFair()


CASES = (
    Case(
        "trace-tenth",
        "a tenth of the machines of a trace, placement",
        "engine-speed",
        partial(build, users=1000, part=10),
        (OURS, APART),
        rounds=3,
        limit=60,
    ),
    Case(
        "trace",
        "all machines of a trace, placement",
        "engine-speed",
        partial(build, users=1000, part=1),
        (OURS,),
        rounds=3,
        limit=60,
    ),
)
