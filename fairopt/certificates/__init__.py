"""Judges of allocations, written in NumPy alone: they import no solver and no engine of fairopt.

`certify` finds the judge by the family of the notion, in the table JUDGES. What prices prove is
derived in docs/maths/prices.md.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from fairopt import criteria
from fairopt.allocation import Allocation
from fairopt.allocation.by_rows import in_limits
from fairopt.allocation.check import REFUTED, UNPROVED, Certificate
from fairopt.certificates import started
from fairopt.certificates.tolerance import TOLERANCE
from fairopt.errors import UsageError
from fairopt.formulas import curves, families, parameters, penalties, pool_rows

Judge = Callable[[Allocation, float, ArrayLike | None], Certificate]
"""the verdict on an answer, for a tolerance; the gradient is of a notion of one's own"""


def _fair(alloc: Allocation, tolerance: float, _: ArrayLike | None) -> Certificate:
    from fairopt.certificates.fair import judge

    return judge(alloc, tolerance)


def _rounds(alloc: Allocation, tolerance: float, _: ArrayLike | None) -> Certificate:
    from fairopt.certificates.rounds import judge

    return judge(alloc, tolerance=tolerance)


def _tradeoff(alloc: Allocation, tolerance: float, _: ArrayLike | None) -> Certificate:
    from fairopt.certificates.tradeoff import judge

    return judge(alloc, tolerance)


def _per_server(alloc: Allocation, *_: object) -> Certificate:
    from fairopt.certificates.per_server import judge

    return judge(alloc)


def _per_server_drf(alloc: Allocation, *_: object) -> Certificate:
    from fairopt.certificates.per_server_drf import judge

    return judge(alloc)


def _bottleneck(alloc: Allocation, *_: object) -> Certificate:
    from fairopt.certificates.bottleneck import judge

    return judge(alloc)


def _equal(alloc: Allocation, *_: object) -> Certificate:
    from fairopt.certificates.common_tasks import judge_equal

    return judge_equal(alloc)


def _sum(alloc: Allocation, *_: object) -> Certificate:
    from fairopt.certificates.common_tasks import judge_sum

    return judge_sum(alloc)


def _whole_tasks(alloc: Allocation, *_: object) -> Certificate:
    from fairopt.certificates.whole_tasks import judge

    return judge(alloc)


def _own(alloc: Allocation, _: float, gradient: ArrayLike | None) -> Certificate:
    from fairopt.certificates.own import judge

    return judge(alloc, gradient)


JUDGES: dict[str, Judge] = {
    "alpha-fair": _fair,
    "max-min": _rounds,
    "tradeoff": _tradeoff,
    "ps-dsf": _per_server,
    "per-server-drf": _per_server_drf,
    "bmf": _bottleneck,
    "equal-m": _equal,
    "sum-m": _sum,
    parameters.FILL: _whole_tasks,
    families.OWN: _own,
}
"""family -> its judge, imported when asked; `formulas.families` says which family a notion has"""
RULED = ("max-min", "alpha-fair")
"""families whose judges know quotas and modes, and rounds that an answer tells"""
LEAST_TOLERANCE = 1e-12
"""smallest tolerance that may be asked for: below, shares that are floats say nothing"""
TOLERANT = ("alpha-fair", "max-min", "tradeoff")
"""families whose judges prove a bound of each share, and so may be asked for another tolerance"""


def certify(
    alloc: Allocation, gradient: ArrayLike | None = None, tolerance: float = TOLERANCE
) -> Certificate:
    """Judge an allocation, whatever made it: feasibility, and optimality from its prices.

    Parameters
    ----------
    alloc : the answer. If it has no prices they are guessed: any prices prove a bound.
    gradient : (N, I), only for a notion of your own: the derivatives of its concave objective by
        the tasks, at the answer.
    tolerance : the largest distance of a share from every optimum's that is certified, between 0
        and 1; another than 1e-6 is told in the verdict, and known to alpha-fair notions, max-min
        and the trade-off alone.

    Returns
    -------
    Certificate : verdict "certified", "refuted" or "unproved", gap and residual. The answer of a
        notion without a judge is "unproved" (or "refuted" if it is infeasible), and so is one whose
        scores are not those of the criterion it names; the notes say why.

    Raises
    ------
    UsageError : quotas or modes under a notion that does not know them; a tolerance that is not
        between 0 and 1, or under a notion whose judge knows one tolerance alone.

    Examples
    --------
    >>> import fairopt as fo
    >>> cluster = fo.Instance([[1, 4], [3, 1]], [[9, 18]], users=["A", "B"])
    >>> right = fo.Allocation(cluster, fo.ProportionalFair(), [[45 / 11], [18 / 11]])
    >>> fo.certify(right).verdict
    'certified'
    >>> wrong = fo.Allocation(cluster, fo.ProportionalFair(), [[4], [1.6]])
    >>> print(fo.certify(wrong).notes[0])
    A has a share of 4 and is due at least 4.09090909: at least 2.22 % and at most 2.22 % short
    """
    family = _family(alloc)
    check_tolerance(tolerance, family)
    name, criterion = alloc.notion["name"], parameters.criterion_of(alloc.notion)
    alloc.instance.only_known("judge", f"certify, notion {name}")
    if family not in JUDGES or (family == families.OWN and gradient is None):
        known = ", ".join([*families.SHIPPED, *(f for f in JUDGES if f != families.OWN)])
        return _unjudged(alloc, f"no judge is known for the notion {name!r}; judged are {known}")
    if criterion in criteria.CRITERIA:
        where = criteria.departure(alloc.instance, alloc.score, criterion)
        if where is not None:
            user, server = alloc.instance.users[where[0]], alloc.instance.servers[where[1]]
            return _unjudged(
                alloc,
                f"the score of {user} on {server} is not that of the "
                f"criterion {criterion!r}, so its shares are not",
            )
    if not alloc.instance.linear:
        return _bent(alloc)
    if family == families.OWN:
        alloc.instance.only_known("own", f"certify, notion {name}")
    elif family not in (*RULED, parameters.FILL) and not _beside_rows(alloc, family):
        alloc = in_limits(alloc, f"certify, notion {name}")
    try:
        if alloc.instance.start is not None:
            whole = started.whole(alloc)
            broken = started.broken(alloc)
            if broken is not None:
                return broken
            alloc = whole
        verdict = judged(alloc, gradient, tolerance)
        if family == "max-min" and verdict.verdict == UNPROVED:
            from fairopt.certificates import rounds

            with np.errstate(all="ignore"):
                verdict = rounds.against(alloc, verdict, tolerance=tolerance)
        return verdict
    except UsageError as error:  # a question that the instance does not have, as in a forged file
        return _unjudged(alloc, str(error))


def _beside_rows(alloc: Allocation, family: str) -> bool:
    """Whether the trade-off, or a notion over pools, is judged over the rows that there are."""
    who = f"certify, notion {alloc.notion['name']}"
    if family != penalties.NAME:
        return pool_rows.beside_rows(alloc.instance, alloc.kind, who)
    return penalties.beside_rows(alloc.instance, alloc.terms, who)


def _bent(alloc: Allocation) -> Certificate:
    """The verdict where demand is not linear, which few judges know (`fairopt.formulas.curves`)."""
    from fairopt.certificates import curved

    why = curves.unanswered(alloc.instance, alloc.notion)
    if why is not None:
        return _unjudged(alloc, f"demand is not linear, and this is {why.partition(';')[0]}")
    with np.errstate(all="ignore"):
        drf = alloc.notion["name"] == curves.DRF
        return curved.judge_drf(alloc) if drf else curved.judge_after_setup(alloc, judged)


def check_tolerance(tolerance: float, family: str) -> None:
    """Raise UsageError for a tolerance that this family's judge may not be asked for."""
    number = isinstance(tolerance, int | float) and not isinstance(tolerance, bool)
    if not number or not LEAST_TOLERANCE <= tolerance < 1:
        found = parameters.words(tolerance)
        raise UsageError(
            f"tolerance: found {found}; wanted a number from {LEAST_TOLERANCE:g} to below 1"
        )
    if tolerance != TOLERANCE and family not in TOLERANT:
        raise UsageError(
            f"tolerance: found {tolerance:g} with {family}; wanted {TOLERANCE:g}, or one of "
            + ", ".join(TOLERANT)
        )


def judged(
    alloc: Allocation, gradient: ArrayLike | None = None, tolerance: float = TOLERANCE
) -> Certificate:
    """The verdict of the notion's judge, for the scores that the answer holds.

    For reduced problems only, whose scores are taken from the original instance. Everybody else
    calls `certify`, which compares the scores with those of the criterion.
    """
    # prices from a file may overflow to infinity or NaN, which prove nothing
    with np.errstate(all="ignore"):
        return JUDGES[_family(alloc)](alloc, tolerance, gradient)


def _family(alloc: Allocation) -> str:
    """The key of JUDGES; all schedulers of whole tasks have the same."""
    name = str(alloc.kind["name"])
    return parameters.FILL if name.startswith(parameters.FILL) else name


def _unjudged(alloc: Allocation, why: str) -> Certificate:
    """The certificate of an answer without a judge: it says only whether the answer is feasible."""
    from fairopt.certificates.own import kept

    checks = kept(alloc)
    verdict = UNPROVED if all(check.holds for check in checks) else REFUTED
    return Certificate(verdict, np.inf, np.inf, alloc.instance.users, checks, notes=(why,))
