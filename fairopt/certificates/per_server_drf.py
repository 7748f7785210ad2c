"""Judge of DRF on every server by itself (kesidis2016 Claim 3; khamse2016, start of Algorithm I).

On every server each user has a bottleneck: a full resource whose holders have a dominant share of
THAT server, by weight, of at most its own. Without limits exactly one answer has this property, the
weighted max-min of the dominant shares on each server. With limits all servers are filled at the
same speed, so that a user that reaches its limit stops on all servers at one level, its highest. So
a user at its limit needs no bottleneck on the servers where it has its highest level, and again
there is exactly one answer. Judged as in `per_server`, but with levels made of the tasks on the
server instead of all tasks of the user.
"""

from __future__ import annotations

import numpy as np

from fairopt.allocation import Allocation
from fairopt.allocation.check import Certificate
from fairopt.certificates.feasibility import feasibility
from fairopt.certificates.per_server import by_bottlenecks, to_limit


def judge(alloc: Allocation) -> Certificate:
    """Certificate of `per-server-drf` and of `drf-hug`, whose tasks are the same."""
    inst = alloc.instance
    theorem = "a bottleneck for every user on every server, by its share there"
    checks = list(feasibility(alloc))
    level = alloc.tasks / np.where(inst.eligible, inst.alone, np.inf)
    top = level.max(axis=1, keepdims=True)
    below = 1.0 - level / np.where(top > 0, top, 1.0)
    limited = np.maximum(to_limit(alloc)[:, None], below)
    return by_bottlenecks(
        alloc, checks, inst.part_of_row(), alloc.tasks, inst.resources, theorem, limited
    )
