"""The judge of trade-off answers (kesidis2016 (16)), soft and hard forms.

Without penalties (16) is alpha-fairness with its weight inside; a variance adds rows with pulls
(`pulls`), and so one judge proves every user's level. The hard forms (14) and (15) are checked
beside it.
"""

from __future__ import annotations

import numpy as np

from fairopt.allocation import Allocation
from fairopt.allocation.check import Certificate, Check
from fairopt.certificates import fair
from fairopt.certificates.proof import measure
from fairopt.certificates.tolerance import TOLERANCE
from fairopt.formulas import penalties

EQUAL = 1e-9
"""levels, or shares on a server, may differ by one part in 1e9 of the user's own share"""


def judge(alloc: Allocation, tolerance: float = TOLERANCE) -> Certificate:
    """The certificate of an answer.

    Parameters
    ----------
    tolerance : the largest distance of a level from the optimum's that is certified.
    """
    return fair.judge(alloc, tolerance, equalities(alloc))


def equalities(alloc: Allocation) -> tuple[Check, ...]:
    """Whether the answer keeps the hard forms asked for, the worst user named."""
    inst, terms = alloc.instance, alloc.terms
    if not (terms.equal_across or terms.equal_within):
        return ()
    dominant = np.where(inst.eligible, alloc.score * np.maximum(alloc.tasks, 0.0), 0.0)
    share, found = dominant.sum(axis=1), []
    if terms.equal_across:
        level = share / inst.weight
        away = np.abs(level / level.mean() - 1.0)
        worst = int(np.argmax(away))
        found.append(Check.of("equal levels (14)", away[worst], EQUAL, inst.users[worst]))
    if terms.equal_within:
        apart = np.abs(dominant - penalties.means(inst, dominant))
        apart = np.where(inst.eligible, apart, 0.0) / np.maximum(share, 1e-300)[:, None]
        n, i = np.unravel_index(int(np.argmax(apart)), apart.shape)
        where = f"{inst.users[n]} at {inst.servers[i]}"
        found.append(Check.of("equal shares on each server (15)", apart[n, i], EQUAL, where))
    return tuple(found)


def keeps_equalities(alloc: Allocation) -> bool:
    """Whether the answer keeps the hard forms that its notion asks for."""
    return all(check.holds for check in equalities(alloc))


__all__ = ["equalities", "judge", "keeps_equalities", "measure"]
