"""Level by level: the lowest value as high as it can be, then as few users at it as can be.

A placement is improved until prices prove that its lowest level is the best there is; then the
next level. Where no prices prove it, the level stays open and its gap is stated.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from fairopt.whole import integer
from fairopt.whole.found import Found
from fairopt.whole.master import Master, MasterGoal
from fairopt.whole.proof import claims
from fairopt.whole.proof.claims import DUES, PARTS, ProvedLevel

_SHORT = 1e3
"""cost of a task that is short of a level that is known: above every price"""
_MOST_CHOICES = 3000
"""most users times rows for which all choices of users are looked at in one program"""


def climb(state: Found) -> None:
    """Improve the best placement level by level, as long as prices do not prove it best."""
    k = 0
    known: list[tuple[int, ...]] = []
    while not state.tired:
        found = claims.levels(state.problem, state.best.total)
        if k >= len(found):
            return
        state.proofs = [p for own in known[:k] for p in own]
        proof = state.proves(found, k)
        if not proof:
            state.say(f"level {k + 1} of {len(found)}")
            if _improve(state, found, k):
                now = claims.levels(state.problem, state.best.total)
                while k and not claims.alike(found[:k], now[:k]):
                    k -= 1
                del known[k:]
                continue
            proof = state.proves(found, k) or state.look(found, k)
        known.append(proof)
        k += 1


def _improve(state: Found, found: Sequence[ProvedLevel], k: int) -> bool:
    """Whether a better placement was found; prices that were met are kept."""
    level = found[k]
    base = _base(state, found, k)
    open_users = [n for n in range(len(base)) if _open(state, found, k, n)]
    first = level.measure == PARTS or not state.problem.parts
    if first and _higher(state, level, base, open_users):
        return True
    return _fewer(state, level, base, open_users) or _exchanged(state, found, k)


def _open(state: Found, found: Sequence[ProvedLevel], k: int, n: int) -> bool:
    """Whether a user is above the levels before level k."""
    own = [one for one in found[:k] if one.measure == found[k].measure]
    due = claims.of(state.problem, found[k].measure, n)
    return bool(due) and not any(n in one.users for one in own)


def _base(state: Found, found: Sequence[ProvedLevel], k: int) -> list[int]:
    """(N,) tasks that each user keeps: those of the levels before, and of all parts."""
    base = [0] * len(state.problem.users)
    if found[k].measure == DUES:
        parts = {n for one in found if one.measure == PARTS for n in one.users}
        base = [state.best.total[n] if n in parts else w for n, w in enumerate(state.problem.whole)]
    for one in found[:k]:
        for n in one.users:
            base[n] = max(base[n], state.best.total[n])
    return base


def _higher(
    state: Found, level: ProvedLevel, base: Sequence[int], open_users: Sequence[int]
) -> bool:
    """Raise the lowest value of the open users."""
    users = range(len(base))
    rate = [
        claims.of(state.problem, level.measure, n) if n in set(open_users) else Fraction(0)
        for n in users
    ]
    goal = MasterGoal([0 if rate[n] else base[n] for n in users], [_SHORT] * len(base), rate)
    master = Master(state.pool, goal).solve(state.clock, state.told)
    state.keep(master)
    before = state.best
    state.rounded(master)
    if state.best is not before:
        return True
    after = min(claims.candidates(state.problem, level.measure, level.value), default=None)
    if after is None or -master.bound < float(after) * (1 - 1e-9):
        return False
    if state.tired:
        return False
    state.programs += 1
    return state.take(
        integer.highest(state.pool, goal.want, rate, state.limits, state.clock, state.best)
    )


def _fewer(
    state: Found, level: ProvedLevel, base: Sequence[int], open_users: Sequence[int]
) -> bool:
    """Let fewer of the open users be at the level, the others above it."""
    want, most, unit = list(base), [0] * len(base), [1] * len(base)
    for n in open_users:
        at = claims.least(state.problem, level.measure, n, level.value)
        up = claims.least(state.problem, level.measure, n, level.value, above=True)
        want[n] = max(want[n], at or 0)
        if up is not None and up > want[n]:
            unit[n], most[n], want[n] = up - want[n], 1, up
    if not any(most):
        return False
    cost = [1.0 / unit[n] if most[n] else _SHORT for n in range(len(base))]
    master = Master(state.pool, MasterGoal(want, cost)).solve(state.clock, state.told)
    state.keep(master)
    if master.bound > len(level.users) - 1 + 1e-6 or state.tired:
        return False
    state.programs += 1
    return state.take(
        integer.fewest_short(
            state.pool, want, unit, most, state.limits, state.clock, state.best, [1] * len(base)
        )
    )


def _exchanged(state: Found, found: Sequence[ProvedLevel], k: int) -> bool:
    """Let other users than these be at the levels before: all choices of them at once.

    With the prices that come nearest to a proof, what they leave is the most that a pattern of
    a better placement may be worth less than the best one: all such patterns are added.
    """
    rows, last = claims.better(state.problem, found, k)
    if state.tired or len(state.problem.users) * (len(rows) + 1) > _MOST_CHOICES:
        return False
    slack: list[tuple[float, int]] = []
    for p, own in enumerate(state.prices):
        least = claims.cost(own.price, rows, last)
        if least is None or not any(own.price):
            continue
        slack.append(((state.budget[p] - least) / max(own.price), p))
    for left, p in sorted(slack)[:1]:
        state.add_near(state.prices[p], left * max(state.prices[p].price))
    state.programs += 1
    return state.take(integer.exchange(state.pool, rows, last, state.limits, state.clock))
