"""Who is spared, case by case: several prices together prove what none proves alone.

Where users are spared at a level, each prices alone leaves the choice of these users to whoever
looks for a better placement, and another choice to other prices. Here one choice must do for all
prices at once: a user that prices find dear is spared, or it is not, and so on, until in every case
some prices cost more than the budget.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from fairopt.whole.proof.claims import NeedRow, steps

MOST_CASES = 300
"""cases looked at; beyond, nothing is proved"""

Priced = tuple[Sequence[int], int]
"""price (N,) and budget"""


def impossible(
    priced: Sequence[Priced], rows: Sequence[NeedRow], last: NeedRow, most: int = MOST_CASES
) -> bool:
    """Whether no placement keeps all rows and the last one, by these prices together."""
    left = [most]
    return _none(priced, [*rows, last], frozenset(), left)


def _none(
    priced: Sequence[Priced], rows: list[NeedRow], kept: frozenset[tuple[int, int]], left: list[int]
) -> bool:
    """Whether no choice of users to be spared is within all budgets.

    Parameters
    ----------
    rows : as they are left; a user that was chosen to be spared needs nothing there any more.
    kept : (row, user) that are not spared, by choice.
    left : cases that may still be looked at.
    """
    left[0] -= 1
    if left[0] < 0:
        return False
    branch: tuple[int, int, int] | None = None
    for price, budget in priced:
        # a row of its own for those that are kept: it spares nobody
        held = _held(rows, kept)
        for some in ([*rows, held], [*(row for row in rows if not row.spared), rows[-1], held]):
            found = steps(price, some)
            if found is None or found[0] > budget:
                return True
            place = {id(row): k for k, row in enumerate(rows)}
            for saved, k, n in found[1]:
                at = place.get(id(some[k]))
                scale = max(1, max(price))
                if at is not None and saved and (at, n) not in kept:
                    part = saved * 1000 // scale
                    if branch is None or part > branch[0]:
                        branch = (part, at, n)
    if branch is None:
        return False
    _, at, n = branch
    need = rows[at].need[n]
    assert need is not None
    spared = [
        row
        if (own := row.need[n]) is None or own < need
        else replace(row, need=_without(row.need, n), spared=row.spared - 1)
        for row in rows
    ]
    if all(row.spared >= 0 for row in spared) and not _none(priced, spared, kept, left):
        return False
    return _none(priced, rows, kept | {(at, n)}, left)


def _without(need: Sequence[int | None], n: int) -> list[int | None]:
    return [0 if k == n else x for k, x in enumerate(need)]


def _held(rows: Sequence[NeedRow], kept: frozenset[tuple[int, int]]) -> NeedRow:
    """What users that are kept need."""
    need: list[int | None] = [0] * len(rows[0].need)
    for k, n in kept:
        own = rows[k].need[n]
        need[n] = max(need[n] or 0, own or 0)
    return NeedRow(need, 0)
