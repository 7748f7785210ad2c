r"""What the errors of earlier rounds of a max-min proof do to the later ones.

Prices of a round say what everybody pays at least, w_m = q_m l_m for what user m is due by then.
Let m, stopped earlier, be due up to a part up_m more, or down_m less, than it holds. Money w_m up_m
is then missing in this round, so that all who are stopped in it are due up to a part less, and what
those do not get who are due less may all go to one (docs/maths/prices.md, "Errors carried on"):

.. math:: down = \frac{\sum_{m\ earlier} w_m\, up_m}{\sum_{m\ of\ the\ round} w_m}, \qquad
          up_n = room_n + \frac{1}{w_n} \sum_{m \ne n,\ not\ later} w_m\, down_m

A row that is full and has no price passes errors on as well, since those stopped earlier may take
more of it (`crowded`). What rounding leaves open of full rows is shared by all of a round.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from fairopt.instance import Floats, Ints

ROUNDING = 8 * 2.0**-52
"""part of a row, and of a price, within which products and sums are rounded"""
SWEEPS = 100
"""times that errors are followed through all rounds; where they still grow nothing is proved"""
SCANT = 1e-12
"""what later users hold of a row is not known better than this part of it"""


@dataclass(frozen=True)
class Paid:
    """What is paid at the prices that prove some users.

    Parameters
    ----------
    users : whom they prove. own : what each of them pays, w_n, for a rise.
    who, money : of all that pay, w_m, for a rise. gives : the same for a fall, which is less where
        a limit makes what is next dearer.
    """

    users: Ints
    own: Floats
    who: Ints
    money: Floats
    gives: Floats


class Uses(NamedTuple):
    """What users hold of rows, one entry for each user and row (a user may have several of a row).

    user, row : positions. part : of the row that it uses. share : part of the user's share that it
    gives up with the entry. asked : of the row, for each part by which its share rises; as much as
    `part`, or more where it must move tasks for it.
    left : (rows,) part of each row that nobody uses.
    """

    user: Ints
    row: Ints
    part: Floats
    share: Floats
    asked: Floats
    left: Floats


class Turn(NamedTuple):
    """Of a round, the parts of rows that change hands if tasks that are too dear, or what is left
    of priced rows, are put right: money of that size moves from server to server.

    stage : the round. row, asked : of each row, the most of it that may be asked for.
    """

    stage: int
    row: Ints
    asked: Floats


@dataclass(frozen=True)
class Bounds:
    """How far each user can be from what it is due at the optimum, (N,) parts of what it holds.

    up : it is due at most 1 + up of it. down : at least 1 - down. rounding : of both, beyond that.
    """

    up: Floats
    down: Floats
    rounding: Floats

    @property
    def residual(self) -> Floats:
        """(N,) bound on the logarithm of what is held over what is due."""
        with np.errstate(divide="ignore"):
            far = np.maximum(np.log1p(self.up), -np.log1p(-self.down))
        return np.asarray(far + self.rounding)

    def ends(self, share: Floats) -> tuple[Floats, Floats]:
        """The least and the most that each may be due, for the shares held."""
        with np.errstate(over="ignore", invalid="ignore"):
            low, top = (1 - self.down) * np.exp(-self.rounding), 1 + self.up
            top = np.where(np.isfinite(top), share * top * np.exp(self.rounding), np.inf)
        return share * low, top


def carried(
    stage: Ints,
    room: Floats,
    drop: Floats,
    proofs: Sequence[Paid],
    uses: Uses | None,
    level: Floats | None = None,
    turns: Sequence[Turn] = (),
) -> Bounds:
    """The bounds of all users once errors of earlier rounds are counted.

    Parameters
    ----------
    stage : (N,) the round in which each is stopped. room : (N,) what its own prices leave open.
    drop : (N,) the part of its share that it holds of what stops earlier rounds.
    proofs : the users that prices prove, and what is paid at them.
    uses : of rows, for those that are full and free; None if there is one round.
    level : (N,) of a plain answer: whoever is stopped later is at least at the levels before.
    turns : what may change hands in each round.
    """
    rounds = int(stage.max()) + 1
    up, down, rounding = room.copy(), drop.copy(), np.full(len(room), ROUNDING)
    crowd, unknown = np.zeros(len(room)), np.isinf(room)
    order = sorted(proofs, key=lambda paid: int(stage[paid.users].min()))
    top = np.ones(len(room))
    for _ in range(SWEEPS):
        before = up.copy(), down.copy(), rounding.copy()
        lost = np.zeros(len(room))
        if uses is not None and rounds > 1:
            crowd = crowded(stage, up, uses, turns)
            lost = crowded(stage, rounding, uses)
        less = np.where(unknown, 1.0, crowd)  # of a level, for all that are stopped at it
        alone = np.ones(len(room), dtype=bool)
        for paid in order:
            mine, k, at = paid.users, stage[paid.users], stage[paid.who]
            rise = _earlier(at, paid.money, up[paid.who], rounds)[k]
            fall = _earlier(at, paid.money, down[paid.who], rounds + 1)[k + 1]
            own = paid.own * down[mine]
            fall = np.where(fall > own * (1 + 1e-12), fall - own, 0.0)
            rounded = _earlier(at, paid.money, rounding[paid.who], rounds)[k]
            here = np.bincount(at, paid.gives, rounds)[k]
            with np.errstate(divide="ignore", invalid="ignore"):
                up[mine] = room[mine] + np.where(fall > 0, fall / paid.own, 0.0)
                # who falls for nothing, to a corner at its limit, is stopped by that limit
                less[mine] += np.where((rise > 0) & (here > 0), rise / here, 0.0)
                level_wise = (ROUNDING * float(paid.money.sum()) + 2 * rounded) / here
            rounding[mine] = lost[mine] + np.where(here > 0, level_wise, ROUNDING)
            down[mine] = np.minimum(less[mine] + drop[mine], top[mine])
            alone[mine] = False
        rounding[alone] = ROUNDING + lost[alone]
        down[alone] = np.minimum(less + drop, top)[alone]
        less = np.minimum(less, 1.0)
        old = top
        if level is not None:
            held = level * np.maximum(1 - drop - crowd, 0.0)
            top = np.minimum(1.0, _above_the_last(stage, level, less, held, rounds))
        same = all(np.array_equal(a, b) for a, b in zip(before, (up, down, rounding), strict=True))
        if same and np.array_equal(old, top):
            return Bounds(up, down, rounding)
    moved = (up != before[0]) | (down != before[1]) | (rounding != before[2])
    return Bounds(np.where(moved, np.inf, up), np.where(moved, 1.0, down), rounding)


def _above_the_last(stage: Ints, level: Floats, less: Floats, held: Floats, rounds: int) -> Floats:
    """(N,) the part by which each is above all levels of earlier rounds, as these are proved.

    A level is no higher than what anybody stopped then or later is left with (`held`) when those
    stopped earlier have taken theirs. The first round takes nothing from anybody.
    """
    least, left = np.full(rounds, np.inf), np.full(rounds, np.inf)
    np.minimum.at(least, stage, level * (1 - less))
    np.minimum.at(left, stage, held)
    left = np.minimum.accumulate(left[::-1])[::-1]
    left[0] = level.min()
    least[0] = left[0]
    sure = np.maximum.accumulate(np.append(0.0, np.minimum(least, left)))[:-1][stage]
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(sure > 0, np.maximum(1 - sure / level, 0.0), 1.0)


def _earlier(stage: Ints, money: Floats, part: Floats, rounds: int) -> Floats:
    """(K,) the sum of money times part over users of the rounds before each."""
    with np.errstate(invalid="ignore", over="ignore"):
        amount = np.where(money > 0, money * part, 0.0)
    total = np.cumsum(np.bincount(stage, amount, rounds))
    return np.concatenate([[0.0], total[:-1]])


def crowded(stage: Ints, error: Floats, uses: Uses, turns: Sequence[Turn] = ()) -> Floats:
    """(N,) the part of its share that each loses if all that are stopped earlier take `error` more
    of the rows they use: whoever is stopped later gives up the same part of its tasks there."""
    found = np.zeros(len(stage))
    if not error.any() and not turns:
        return found
    with np.errstate(over="ignore", invalid="ignore"):
        asked = np.where(uses.asked > 0, uses.asked * error[uses.user], 0.0)
    user, row, at = uses.user, uses.row, stage[uses.user]
    part, share = uses.part, uses.share
    for turn in turns:
        none = np.zeros(len(turn.row))
        row, asked = np.concatenate([row, turn.row]), np.concatenate([asked, turn.asked])
        at = np.concatenate([at, np.full(len(none), turn.stage)])
        user = np.concatenate([user, np.zeros(len(none), dtype=np.int64)])
        part, share = np.concatenate([part, none]), np.concatenate([share, none])
    short = np.bincount(row, asked, len(uses.left)) > uses.left
    keep = np.flatnonzero(short[row])
    if not len(keep):
        return found
    row, at = row[keep], at[keep]
    order = np.lexsort((at, row))
    keep, row, at = keep[order], row[order], at[order]
    # entries of one row and round are together: what comes before them is asked, the rest gives
    begins = np.flatnonzero(np.append(True, (row[1:] != row[:-1]) | (at[1:] != at[:-1])))
    group = np.cumsum(np.isin(np.arange(len(row)), begins)) - 1
    of_row = row[begins]
    asked, part = (np.add.reduceat(each[keep], begins) for each in (asked, part))
    first = np.flatnonzero(np.append(True, of_row[1:] != of_row[:-1]))
    count = np.diff(np.append(first, len(of_row)))
    before, after = np.zeros(len(of_row)), part.copy()
    # side by side, so that the sums of a row know nothing of other rows, not even in rounding
    for j in range(1, int(count.max())):
        at = first[count > j] + j
        before[at] = before[at - 1] + asked[at - 1]
        at = (first + count)[count > j] - 1 - j
        after[at] += after[at + 1]
    with np.errstate(divide="ignore", invalid="ignore"):
        lost = np.where(after > SCANT, (before - uses.left[of_row]) / after, 1.0)
    lost = np.where(before > uses.left[of_row], np.minimum(lost, 1.0), 0.0)
    np.add.at(found, user[keep], lost[group] * share[keep])
    return found
