"""Optima in whole tasks that need no due: the most tasks of all, and the fairest levels."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from fairopt.errors import UsageError
from fairopt.instance import Instance
from fairopt.whole.asking import asking, searched
from fairopt.whole.proof.answer import EXACT, Asked, WholeTasks

MOST_TASKS, LEVELS = "most", "levels"
KINDS = (MOST_TASKS, LEVELS)
_DENOMINATOR = 10**9
"""scores are the nearest fractions with no larger denominator: 1/3 is one third"""


def optimum(
    instance: Instance,
    kind: str = MOST_TASKS,
    criterion: str = "drf",
    seconds: float | None = None,
    who: str = "whole tasks",
    **options: object,
) -> WholeTasks:
    """Whole tasks on single nodes without a due, with their proof.

    Parameters
    ----------
    kind : "most": as many tasks as can be, whoever runs them (utilitarian); "levels": the lowest
        score x_n m_n / w_n as high as it can be, then as few users at it as can be, then the next
        (leximin over integers).
    criterion : the score of a task, for levels (`fairopt.criteria`). who : asks, in words.
    seconds, options : as of `fairopt.whole.asking.whole`: gang, per_node, spread, zones, limits,
        told.

    Returns
    -------
    WholeTasks : what is due is all that is asked, or that fits on all nodes; for levels it is in
        proportion to what one task of each user scores, and no part of it comes first.

    Raises
    ------
    UsageError : another kind; as of `whole`.

    Examples
    --------
    >>> import fairopt as fo
    >>> from fairopt.whole.optima import optimum
    >>> inst = fo.Instance([[1, 4], [3, 1]], [[9, 18]])
    >>> optimum(inst).totals
    (4, 1)
    """
    if kind not in KINDS:
        raise UsageError(f"optimum: found {kind!r}; wanted one of {', '.join(KINDS)}")
    own = ("asked", "gang", "per_node", "cards", "at_least", "spread", "zones")
    known = {key: options.pop(key) for key in own if key in options}
    nothing = [0] * len(instance.users)
    first = asking(instance, nothing, who=who, free=True, **known)  # type: ignore[arg-type]
    most = first.problem.asked
    if kind == MOST_TASKS:
        wanted = replace(first, due=tuple(map(Fraction, most)))
    else:
        wanted = _in_proportion(first, instance, criterion)
    return searched(wanted, seconds=seconds, fewest=kind == MOST_TASKS, **options)  # type: ignore[arg-type]


def _in_proportion(first: Asked, instance: Instance, criterion: str) -> Asked:
    """Dues T / score_n, T so large that nobody has all of it: m_n / due_n = score_n m_n / T."""
    from fairopt import criteria

    if criterion not in criteria.CRITERIA:
        known = ", ".join(criteria.CRITERIA)
        raise UsageError(f"criterion: found {criterion!r}; wanted one of {known}")
    if criterion in criteria.BY_SERVER:
        raise UsageError(f"levels: found {criterion!r}, a score by server; wanted one by user")
    by_server = criteria.score(instance, criterion)
    score = [
        Fraction(x).limit_denominator(_DENOMINATOR) / Fraction(w).limit_denominator(_DENOMINATOR)
        for x, w in zip(by_server.max(axis=1).tolist(), instance.weight.tolist(), strict=True)
    ]
    if not all(score):
        raise UsageError(f"levels: found a task that scores nothing under {criterion}")
    most = first.problem.asked
    top = max(m * s for m, s in zip(most, score, strict=True)) or Fraction(1)
    due = tuple(top / s for s in score)
    return replace(first, due=due, taken=(EXACT,) * len(due), parts=False)


def total(found: WholeTasks) -> tuple[int, int]:
    """(tasks placed, no placement has more), of an answer of kind "most", as judged."""
    from fairopt.whole.proof.judging import judge

    return sum(found.totals), sum(found.problem.whole) - judge(found).least
