"""Judge of DRF on every server by itself (kesidis2016 Claim 3; khamse2016, start of Algorithm I).

On every server each user has a full resource whose holders' own share of THAT server, by weight, is
at most its own; a user at its limit needs none. Without limits this is one answer: weighted max-min
of the dominant shares on each server. Judged as in `per_server`, with the tasks on the server in
place of the tasks of the user.
"""

from __future__ import annotations

from fairopt.allocation import Allocation
from fairopt.certificates.feasibility import feasibility
from fairopt.certificates.per_server import by_bottlenecks, parts
from fairopt.check import Certificate


def judge(alloc: Allocation) -> Certificate:
    """Certificate of `per-server-drf` and of `drf-hug`, whose tasks are the same."""
    inst = alloc.instance
    theorem = "a bottleneck for every user on every server, by its share there"
    checks = list(feasibility(alloc))
    return by_bottlenecks(alloc, checks, parts(inst), alloc.tasks, inst.resources, theorem)
