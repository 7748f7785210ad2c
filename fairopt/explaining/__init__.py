"""Why one user gets what it gets: `explain`, behind `Allocation.explain` and `fairopt explain`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from fairopt.allocation import Allocation
from fairopt.allocation.explained import Explanation
from fairopt.certificates import certify
from fairopt.errors import UsageError
from fairopt.explaining import facts
from fairopt.explaining.again import changes
from fairopt.formulas import families, welfare
from fairopt.instance.reading import nearest
from fairopt.notions import NOTIONS


def explain(
    alloc: Allocation,
    user: str,
    again: bool = True,
    progress: Callable[[int, int], None] | None = None,
) -> Explanation:
    """Why one user gets what it gets.

    Parameters
    ----------
    alloc : the answer; it is judged if it was not.
    user : a name of `alloc.instance.users`.
    again : also solve again with a little more of what stops the user, and with more weight.
    progress : called with (done, of) before every solve.

    Raises
    ------
    UsageError : an unknown user; the message names the nearest.

    Examples
    --------
    >>> import fairopt as fo
    >>> answer = fo.solve(fo.read("ghodsi2011/example").instance, fo.MaxMin())
    >>> print(answer.explain("A", again=False))
    A gets 3 tasks (share 0.666667, level 0.666667, weight 1)
      on pool 3
      holds cpu 3, 33.3% of all; memory 12, 66.7% of all
    What it is due
      max-min: nobody's level can rise unless one that is no higher falls
      nobody has a level below its own, of 2 users
      proved: at any optimum its share is 0.666667
    What stops it
      cpu on pool: full; it holds 33.3%; B 66.7%
    Equal users
      nobody has the same demand, weight, limit and servers
    """
    inst = alloc.instance
    inst.only_known("explain")
    if user not in inst.users:
        raise UsageError(f"user: found {user!r}; wanted {nearest(user, inst.users)}")
    if alloc.certificate is None or not len(alloc.certificate.intervals):
        alloc = alloc.with_(certificate=certify(alloc))
    n = inst.users.index(user)
    stops = facts.stops(alloc, n)
    return Explanation(
        user,
        dict(alloc.notion),
        rule(alloc.notion),
        float(inst.weight[n]),
        float(inst.limit[n]),
        float(alloc.totals[n]),
        float(alloc.shares[n]),
        float(alloc.levels[n]),
        tuple(facts.places(alloc, n)),
        tuple(facts.held(alloc, n)),
        facts.due(alloc, n),
        tuple(stops),
        tuple(
            (inst.users[m], float(alloc.totals[m]), float(alloc.shares[m]))
            for m in facts.peers(alloc, n)
        ),
        tuple(changes(alloc, n, stops, progress)) if again else (),
        None if inst.modes is None else float(alloc.outputs[n]),
    )


def rule(notion: Mapping[str, Any]) -> str:
    """What a notion says about a user's share, in one line."""
    name = str(notion["name"])
    alpha = welfare.alpha_of(notion)
    if families.member(notion)["name"] == "max-min":
        return f"{name}: nobody's level can rise unless one that is no higher falls"
    if alpha == 1:
        return f"{name}: what a user holds is worth its part of all weight, at the prices"
    if alpha == 0:
        return f"{name}: tasks go where they weigh most for what they cost; a user may get none"
    if alpha is not None:
        return f"{name}: the larger alpha, the more counts who has little; here it is {alpha:g}"
    known = NOTIONS.get(name)
    return f"{name}: {known.summary}" if known and known.summary else name


__all__ = ["Explanation", "explain"]
