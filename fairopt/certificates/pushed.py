"""Users of earlier rounds, or of the same, who make room on a full row and run elsewhere.

Who is due more than it holds asks for more of every row it uses. Where a row is full, has no price
yet, and nobody is stopped later there, it may get that if others go to another server: those of
whom the row holds little for a unit of share go in large numbers. Whoever pays at the prices of the
round goes to servers as cheap for it, and its money pushes others on; whoever pays nothing goes
where it still pays nothing.
"""

from __future__ import annotations

import numpy as np

from fairopt.certificates.crowds import Choices, Turn, Uses
from fairopt.instance import Bools, Floats

STEPS = 60
"""pushes from server to server that are followed; where they still grow, all of the rows is lost"""
GROWS = 1e-6
"""a push that is larger by less is the same: whoever goes round in circles pushes no further"""
SINGULAR = 1e-13
"""smaller singular values are rounding"""
SEVERAL = 4
"""what is asked of a row counts so many times where it may come from several sides"""

PAIRS = 400
"""of more pairs that pay, how much must move is not worked out: as much as there is"""
ENTRIES = 4 * PAIRS
"""where users have more entries of rows, whoever may make room on full rows does"""


def rearranged(choices: Choices) -> float:
    """The money that changes hands, at least 1, for a unit of money that somebody rises by.

    On a server with two prices somebody whose tasks need the one alone gets room only if others
    come and go whose tasks need both, in nearly the same ratio: all the more of them. It is the
    least change, in squares, that gives any row or user a unit.
    """
    if choices.paid is None:
        return 1.0
    user, part = choices.paid()
    if not len(user):
        return 1.0
    if len(user) > PAIRS:  # of so many it is not worked out, and nothing is proved
        return np.inf
    own = np.unique(user, return_inverse=True)[1]
    both = np.hstack([part, np.eye(own.max() + 1)[own]])
    size = np.linalg.svd(both, compute_uv=False)
    return max(1.0, 1.0 / float(size[size > SINGULAR * size[0]].min()))


def pushed(
    turn: Turn,
    choices: Choices,
    closed: Bools,
    done: Bools,
    pays: Floats,
    money: float,
    lost: Floats,
    asked: Floats,
    uses: Uses,
) -> Turn:
    """The turn of a round with all that pushes ask for.

    Parameters
    ----------
    closed : rows with a price in this round or before. done : (N,) who is stopped by then.
    pays : (N,) money of each at the prices. money : that moves from server to server.
    lost : (N,) the part of its share that each gives up to others on rows they ask for.
    asked : of the rows, for each entry of `uses`.
    """
    rows, mine = len(uses.left), done[uses.user]
    if done.all():
        return turn
    base = np.bincount(uses.row[mine], asked[mine], rows)
    later = np.bincount(uses.row[~mine], uses.part[~mine], rows)
    base[turn.row] = base[turn.row] + turn.asked
    each = np.zeros(rows)
    if turn.each is not None:
        each[turn.row] = turn.each
    at = np.flatnonzero(
        mine & choices.chooses[uses.user] & (uses.part > 0) & (uses.share > 0) & ~closed[uses.row]
    )
    if uses.leaves is not None:
        at = at[uses.leaves[at]]
    user, row = uses.user[at], uses.row[at]
    share = uses.share[at] / uses.part[at]
    start = np.where(done & choices.chooses, np.minimum(lost, 1.0), 0.0)
    most, went, more, count = money, np.zeros(len(done)), np.zeros(rows), 1
    for _ in range(STEPS):
        with np.errstate(over="ignore", invalid="ignore"):
            bought = np.where(each > 0, each * most, 0.0)
        need = np.maximum(np.maximum(base, bought), more)
        need[SEVERAL * need <= uses.left + later] = 0.0
        now = np.maximum(start, went)
        np.maximum.at(now, user, np.minimum(need[row] * share, 1.0))
        if (now <= went * (1 + GROWS)).all():
            break
        went, count = now, max(count, int((need > 0).sum()))
        most = max(money, float((pays * went).max(initial=0.0)))
        gone = np.flatnonzero((went > 0) & ~(pays > 0))
        who, on, takes = choices.elsewhere(gone)
        more = np.zeros(rows)
        np.maximum.at(more, on, np.minimum(went[gone[who]] * takes, 1.0))
    else:
        most, more = np.inf, np.where(more > 0, np.inf, 0.0)
    found = turn.moving(money + (count * most if most > money else 0.0))
    on = np.flatnonzero((more > 0) & ~closed)
    if not len(on):
        return found
    total = np.zeros(rows)
    total[found.row] = found.asked
    total[on] += count * more[on]
    row = np.flatnonzero(total)
    return Turn(turn.stage, row, np.minimum(total[row], 1.0))


__all__ = ["ENTRIES", "pushed", "rearranged"]
