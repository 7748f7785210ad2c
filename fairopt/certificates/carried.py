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

import numpy as np

from fairopt import clock
from fairopt.certificates.crowds import Turn, Uses, asked_for, crowded
from fairopt.certificates.ruled.shifted import Reached
from fairopt.certificates.together import Moved, Paid, RoundTogether, Targets, each_alone, earlier
from fairopt.certificates.tolerance import ROUNDING
from fairopt.instance import Floats, Ints

SWEEPS = 100
"""times that errors are followed through all rounds; where they still grow nothing is proved"""


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
    reached: Sequence[Reached] = (),
) -> Bounds:
    """The bounds of all users once errors of earlier rounds are counted.

    Parameters
    ----------
    stage : (N,) the round in which each is stopped. room : (N,) what its own prices leave open.
    drop : (N,) the part of its share that it holds of what stops earlier rounds.
    proofs : the users that prices prove, and what is paid at them.
    uses : of rows, for those that are full and free; None if there is one round.
    level : (N,) of a plain answer: whoever is stopped later is at least at the levels before.
    reached : where each round stopped, if errors of some change the targets of others.

    Out of time nothing is proved.
    """
    rounds = int(stage.max()) + 1
    up, down, rounding = room.copy(), drop.copy(), np.full(len(room), ROUNDING)
    crowd, unknown = np.zeros(len(room)), np.isinf(room)
    alone = np.ones(len(room), dtype=bool)
    of_round: dict[int, list[Paid]] = {}
    for paid in proofs:
        alone[paid.users] = False
        of_round.setdefault(int(stage[paid.users].min()), []).append(paid)
    top = np.ones(len(room))
    together = RoundTogether(stage, proofs)
    targets = Targets(stage, reached, together.sums)
    rough, moved = Targets(stage, reached, each_alone), Moved(proofs)
    for _ in range(SWEEPS):
        if clock.late():
            return Bounds(np.full(len(room), np.inf), np.ones(len(room)), rounding)
        before = up.copy(), down.copy(), rounding.copy(), crowd
        lost = np.zeros(len(room))
        if uses is not None and rounds > 1:
            asked = together.sums(uses.row, uses.user, uses.asked, up)
            crowd = crowded(
                stage, asked, uses, moved.turns(stage, crowd, asked, uses), targets.more
            )
            lost = crowded(stage, asked_for(uses, rounding), uses, moved.rounded())
        moved.begin()
        less = np.where(unknown, 1.0, crowd)  # of a level, for all that are stopped at it
        rounding[alone] = ROUNDING + lost[alone]
        for first in range(rounds) if len(reached) else sorted(of_round):
            targets.enter(first, up, down)
            for paid in of_round.get(first, []):
                mine, k, at = paid.users, stage[paid.users], stage[paid.who]
                rise = together.rise(paid, up, k) + targets.dearer(paid)
                fall = earlier(at, paid.money, down[paid.who], rounds + 1)[k + 1]
                with np.errstate(invalid="ignore"):
                    own = np.where(down[mine] > 0, paid.own * down[mine], 0.0)
                together.met(paid, fall)
                rounded = earlier(at, paid.money, rounding[paid.who], rounds)[k]
                left_open = ROUNDING * float(paid.money.sum()) + 2 * rounded
                moved.met(paid, k, room[mine], fall, left_open)
                fall = np.where(fall > own * (1 + 1e-12), fall - own, 0.0)
                gives = np.bincount(at, paid.gives, rounds)[k]
                here = np.bincount(at, paid.gives * targets.along[paid.who], rounds)[k]
                with np.errstate(divide="ignore", invalid="ignore"):
                    up[mine] = room[mine] + np.where(fall > 0, fall / paid.own, 0.0)
                    # who falls for nothing, to a corner at its limit, is stopped by that limit
                    less[mine] += np.where((rise > 0) & (gives > 0), rise / here, 0.0)
                    # of one round nobody asks further: one user may have all that rounding hides
                    level_wise = left_open / (np.fmin(gives, paid.own) if rounds == 1 else gives)
                rounding[mine] = lost[mine] + np.where(gives > 0, level_wise, ROUNDING)
                if not len(reached):
                    down[mine] = np.minimum(less[mine] + drop[mine], top[mine])
            if len(reached):
                mine = np.flatnonzero(stage == first)
                down[mine] = np.minimum(targets.leave(first, less, up)[mine] + drop[mine], 1.0)
                # and of what rounding leaves open, in the same way
                rough.enter(first, rounding, rounding)
                low = rough.leave(first, rounding, rounding)
                rounding[mine] = np.maximum(rounding, low + rough.above)[mine]
        if not len(reached):
            down[alone] = np.minimum(less + drop, top)[alone]
        less = np.minimum(less, 1.0)
        old = top
        if level is not None:
            held = level * np.maximum(1 - drop - crowd, 0.0)
            top = np.minimum(1.0, _above_the_last(stage, level, less, held, rounds))
        same = all(
            np.array_equal(a, b) for a, b in zip(before, (up, down, rounding, crowd), strict=True)
        )
        if same and moved.same and np.array_equal(old, top):
            return Bounds(up, down, rounding)
    grows = (up != before[0]) | (down != before[1]) | (rounding != before[2])
    return Bounds(np.where(grows, np.inf, up), np.where(grows, 1.0, down), rounding)


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


__all__ = ["ROUNDING", "Bounds", "Paid", "Turn", "Uses", "carried", "crowded"]
