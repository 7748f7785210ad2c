"""What the errors of those stopped earlier take of full rows without a price, beside fractions.

m is short of one unit by a part, and n holds what m leaves of a row of which m takes a thousand
times as much; n is stopped by a resource of its own as well, and that is all its prices name.
"""

from __future__ import annotations

import numpy as np
import pytest

import fairopt as fo
from fairopt.certificates import rounds

BIG, PART = 1000.0, 9e-7
BOTH = {"m": "g", "n": "g"}
ROOM = BIG + 2 - BIG * PART


def quotas(kind: str) -> fo.Quotas:
    """Groups, with a rule that gives both ROOM of r1."""
    groups = [fo.Group("g")]
    if kind == "ceiling":
        return fo.Quotas(groups, BOTH, bounds=[fo.Bound("g", "r1", ROOM)])
    if kind == "ceiling above":
        above = [fo.Group("all"), fo.Group("g", "all")]
        return fo.Quotas(above, {"m": "g", "n": "all"}, bounds=[fo.Bound("all", "r1", ROOM)])
    if kind == "borrowing":
        lent = [fo.Quota("g", "r1", ROOM - 7, borrow=7.0), fo.Quota("spare", "r1", 20.0)]
        return fo.Quotas([*groups, fo.Group("spare")], BOTH, quotas=lent)
    if kind == "lending to users":
        lent = [fo.Quota("g", "r1", 1.0), fo.Quota("m", "r1", ROOM - 1, lend=BIG)]
        return fo.Quotas(groups, BOTH, quotas=lent)
    return fo.Quotas(groups, BOTH)


def short(kind: str, part: float) -> fo.Allocation:
    """m has 1 - part, and n 2; right are 1 and 2 - BIG PART."""
    pool = [[1.0, ROOM if kind == "capacity" else 1e4, 2.0]]
    demand = [[1, BIG, 0], [0, 1, 1]]
    users, resources = list("mn"), ["r0", "r1", "r2"]
    inst = fo.Instance(demand, pool, users=users, resources=resources, quotas=quotas(kind))
    answer = fo.solve(inst, fo.MaxMin("tasks", measure="sum"))
    np.testing.assert_allclose(answer.totals, [1, 2 - BIG * PART], rtol=1e-9)
    assert answer.certificate.certified
    both = []
    for user, t, row in zip("mn", (2 * (1 - part), 3 - part), (0, 2), strict=True):
        prices = {k: np.zeros_like(v) for k, v in answer.rounds[0]["prices"].items()}
        prices["prices"][0, row] = 1.0
        both.append({"t": t, "jump": 0.0, "users": (user,), "prices": prices, "priority": 0})
    return answer.with_(tasks=np.array([[1 - part], [2.0]]), rounds=both, certificate=None)


@pytest.mark.parametrize(
    "kind", ["capacity", "ceiling", "ceiling above", "borrowing", "lending to users"]
)
def test_a_full_row_without_a_price_passes_errors_on(kind: str) -> None:
    off = np.log(2 / (2 - BIG * PART))
    verdict = rounds.judge(short(kind, PART))
    assert off > 4e-4 and not verdict.certified
    assert off <= verdict.residual < 4 * off
    low, high = verdict.intervals.ends
    assert low[1] <= 2 - BIG * PART <= high[1] * (1 + 1e-12)
