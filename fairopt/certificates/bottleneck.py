"""Judge of bottleneck max fairness (Bonald and Roberts 2015, section 2.5), with weights and limits.

By the definition every user i has a full resource j with a_ij phi_i / w_i =
max_k a_kj phi_k / w_k, or is at its limit. The gap is the largest relative change of a user's tasks
that would make this hold. For user i and resource j it is the sum of what i could gain from what is
left of j (beyond rounding, as in `per_server`) and of its distance from the largest share of j.
`refuted` means that the answer is infeasible or breaks the definition by more than 1e-3; the
witness says where.
"""

from __future__ import annotations

import numpy as np

from fairopt.allocation import Allocation
from fairopt.allocation.check import Certificate, Check
from fairopt.certificates.feasibility import feasibility
from fairopt.certificates.per_server import left_of, verdict
from fairopt.certificates.tolerance import TOLERANCE
from fairopt.errors import UsageError


def judge(alloc: Allocation) -> Certificate:
    """Certificate of `bmf`.

    Raises
    ------
    UsageError : several servers; the notion is defined for one pool.
    """
    inst = alloc.instance
    if len(inst.servers) != 1:
        raise UsageError(f"bmf: found {len(inst.servers)} servers; wanted one")
    checks = list(feasibility(alloc))
    part = inst.pair_part
    held = np.maximum(alloc.totals, 0.0)
    own, left = part * held[:, None], left_of(part, held)
    share = own / inst.weight[:, None]
    top = share.max(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        room = np.where(left > 0, left / own, 0.0)
        below = np.where(top > 0, 1.0 - share / top, 0.0)
    distance = np.where(part > 0, room + below, np.inf)
    short = np.maximum(0.0, 1.0 - alloc.totals / inst.limit)
    residual = np.minimum(distance.min(axis=1), short)
    n = int(np.argmax(residual))
    worst = float(residual[n])
    nearest = inst.resources[int(np.argmin(distance[n]))]
    witness = f"{inst.users[n]}, nearest bottleneck {nearest}" if worst > 0 else ""
    checks.append(Check.of("a bottleneck for every user", worst, TOLERANCE, witness))
    return Certificate(verdict(checks, worst), worst, worst, checks=tuple(checks))
