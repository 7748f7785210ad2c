"""What the errors of users that prices prove do together: in money, and to targets in groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fairopt.certificates.crowds import Choices, Turn, Uses
from fairopt.certificates.pushed import ENTRIES, pushed, rearranged
from fairopt.certificates.ruled.shifted import Reached, Shift, Sums
from fairopt.instance import Floats, Ints


@dataclass(frozen=True)
class Paid:
    """What is paid at the prices that prove some users.

    Parameters
    ----------
    users : whom they prove. own : what each of them pays, w_n, for a rise.
    who, money : of all that pay, w_m, for a rise. gives : the same for a fall, which is less where
        a limit makes what is next dearer.
    open : for each of `users` the money left open, which all that are stopped together share: what
        all of them rise by costs no more than that and what others give up. nan where a limit makes
        what is next dearer. None: each is looked at alone.
    turns : what may change hands in the rounds of these users. choices : where users may go then.
    """

    users: Ints
    own: Floats
    who: Ints
    money: Floats
    gives: Floats
    open: Floats | None = None
    turns: Sequence[Turn] = ()
    choices: Choices | None = None


def earlier(stage: Ints, money: Floats, part: Floats, rounds: int) -> Floats:
    """(K,) the sum of money times part over users of the rounds before each."""
    with np.errstate(invalid="ignore", over="ignore"):
        amount = np.where(money > 0, money * part, 0.0)
    total = np.cumsum(np.bincount(stage, amount, rounds))
    return np.concatenate([[0.0], total[:-1]])


class RoundTogether:
    """Those that the same prices prove in one round: what all of them rise by costs no more than
    what is open to one of them, so that it is not missing once for each."""

    def __init__(self, stage: Ints, proofs: Sequence[Paid]) -> None:
        self._stage, self._rounds = stage, int(stage.max()) + 1
        self._lot, self._own = np.full(len(stage), -1), np.ones(len(stage))
        self._open, lots = np.zeros(len(stage)), 0
        for paid in proofs:
            if paid.open is None:
                continue
            known = np.isfinite(paid.open) & np.isfinite(paid.own) & (paid.own > 0)
            users = paid.users[known]
            which, lot = np.unique(stage[users], return_inverse=True)
            self._lot[users], self._own[users] = lots + lot, paid.own[known]
            self._open[users] = paid.open[known]
            lots += len(which)
        self._of = np.zeros(lots, dtype=np.int64)
        joint = np.flatnonzero(self._lot >= 0)
        self._of[self._lot[joint]] = stage[joint]
        self._most = np.full(lots, np.inf)

    def met(self, paid: Paid, fall: Floats) -> None:
        """`fall` is what others give up at most, for each of the users of these prices."""
        mine = self._lot[paid.users] >= 0
        users = paid.users[mine]
        if len(users):
            lot = self._lot[users]
            self._most[lot] = 0.0
            np.maximum.at(self._most, lot, self._open[users] + fall[mine])

    def rise(self, paid: Paid, up: Floats, k: Ints) -> Floats:
        """(len(k),) what those stopped before rounds k may cost more at these prices."""
        who, money = paid.who, paid.money
        if not len(self._of):
            return earlier(self._stage[who], money, up[who], self._rounds)[k]
        lot = self._lot[who]
        alone, joint = np.flatnonzero(lot < 0), np.flatnonzero(lot >= 0)
        found = earlier(self._stage[who[alone]], money[alone], up[who[alone]], self._rounds)
        lot, who, money = lot[joint], who[joint], money[joint]
        with np.errstate(invalid="ignore", over="ignore"):
            each = np.bincount(lot, np.where(money > 0, money * up[who], 0.0), len(self._of))
            dear = np.zeros(len(self._of))
            np.maximum.at(dear, lot, money / self._own[who])
            most = np.where(dear > 0, dear * self._most, 0.0)
        total = np.cumsum(np.bincount(self._of, np.fmin(each, most), self._rounds))
        return np.asarray((found + np.append(0.0, total[:-1]))[k])

    def sums(self, at: Ints, user: Ints, each: Floats, up: Floats) -> Floats:
        """(len(at),) what entries ask, `each` times `up` of its user, and no more of one place than
        those that the same prices prove can ask together: parts of entries of a place add up.

        Parameters
        ----------
        at : the place of each entry. user : who asks there. each : >= 0, for its whole share.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            asked = np.where(each > 0, each * up[user], 0.0)
        lot = self._lot[user]
        joint = np.flatnonzero((lot >= 0) & (asked > 0))
        if not len(joint):
            return asked
        key = at[joint] * len(self._of) + lot[joint]
        which, place = np.unique(key, return_inverse=True)
        total = np.bincount(place, asked[joint])
        dear = np.zeros(len(which))
        np.maximum.at(dear, place, each[joint] / self._own[user[joint]])
        with np.errstate(over="ignore", invalid="ignore"):
            most = dear * self._most[which % len(self._of)]
            part = np.where(most < total, most / total, 1.0)
        asked[joint] *= part[place]
        return asked


class Moved:
    """The money that errors of each round move from server to server: what is left open to those
    who are stopped in it, and what all that are stopped by then may give up."""

    def __init__(self, proofs: Sequence[Paid]) -> None:
        self._proofs = proofs
        self._wide: dict[int, float] = {}
        self._proved = np.unique(
            np.concatenate([np.zeros(0, dtype=int), *(p.users for p in proofs)])
        )
        self._turns = [list(paid.turns) for paid in proofs]
        self._place = {id(paid): j for j, paid in enumerate(proofs)}
        self._exact = [[0.0] * len(turns) for turns in self._turns]
        self._rough = [[0.0] * len(turns) for turns in self._turns]
        self.same = True

    def begin(self) -> None:
        """Begin another sweep through all rounds."""
        self.same = True

    def met(self, paid: Paid, k: Ints, room: Floats, fall: Floats, rounded: Floats) -> None:
        """What is known of the users of these prices, of rounds k, each (U,) for each user.

        Parameters
        ----------
        room : that their prices leave open. fall : money that others give up. rounded : money that
            rounding leaves open.
        """
        j = self._place[id(paid)]
        if not self._turns[j]:
            return
        with np.errstate(invalid="ignore"):
            left = np.where(np.isfinite(paid.own), room * paid.own, 0.0)
        if paid.open is not None:
            left = np.where(np.isfinite(paid.own) & ~np.isnan(paid.open), paid.open, left)
        money = np.array([np.where(np.isnan(left), 0.0, left) + fall, rounded])
        for n, turn in enumerate(self._turns[j]):
            exact, rough = money[:, k == turn.stage].max(axis=1, initial=0.0).tolist()
            self.same &= (exact, rough) == (self._exact[j][n], self._rough[j][n])
            self._exact[j][n], self._rough[j][n] = exact, rough

    def turns(self, stage: Ints, lost: Floats, asked: Floats, uses: Uses) -> list[Turn]:
        """What changes hands in each round, with all whom that pushes out (`pushed`).

        Parameters
        ----------
        lost : (N,) the part of its share that each gives up on rows. asked : of the rows, for each
            entry of `uses`, by those who are due more than they hold.
        """
        all_: list[tuple[Turn, float, Choices | None, Paid | None]] = []
        for paid, turns, each in zip(self._proofs, self._turns, self._exact, strict=True):
            if any(each) and paid.choices is not None:
                each = [money * self._rearranged(paid) if money else 0.0 for money in each]
            all_ += [(t, m, paid.choices, paid) for t, m in zip(turns, each, strict=True)]
        if uses.anywhere is not None and (asked.any() or lost.any()):
            none = np.zeros(0, dtype=np.int64)
            alone = np.setdiff1d(np.flatnonzero(uses.anywhere.chooses), self._proved)
            all_ += [
                (Turn(rank, none, np.zeros(0)), 0.0, uses.anywhere, None)
                for rank in np.unique(stage[alone]).tolist()
            ]
        found = [turn.moving(money) for turn, money, *_ in all_]
        most = np.bincount(uses.row, asked, len(uses.left))
        for turn in found:
            most[turn.row] = most[turn.row] + turn.asked
        short = most > uses.left
        if lost.any():
            short[:] = True
        on = np.flatnonzero(short[uses.row])
        if not len(on):
            return found
        if len(uses.user) > ENTRIES:
            return [turn.moving(np.inf) for turn, *_ in all_]
        some = uses._replace(user=uses.user[on], row=uses.row[on])
        some = some._replace(part=uses.part[on], share=uses.share[on])
        some = some._replace(leaves=None if uses.leaves is None else uses.leaves[on])
        closed = np.zeros(len(uses.left), dtype=bool)
        for j in sorted(range(len(all_)), key=lambda j: all_[j][0].stage):
            turn, money, choices, paid_ = all_[j]
            if choices is not None:
                closed[choices.closed] = True
                done, pays = stage <= turn.stage, np.zeros(len(stage))
                if paid_ is not None:
                    pays[paid_.who] = paid_.money
                found[j] = pushed(turn, choices, closed, done, pays, money, lost, asked[on], some)
        return found

    def _rearranged(self, paid: Paid) -> float:
        """`rearranged` at the prices that prove some users, worked out once."""
        if id(paid) not in self._wide:
            assert paid.choices is not None
            self._wide[id(paid)] = rearranged(paid.choices)
        return self._wide[id(paid)]

    def rounded(self) -> list[Turn]:
        """The same of what rounding leaves open."""
        found = []
        for paid, turns, each in zip(self._proofs, self._turns, self._rough, strict=True):
            for turn, money in zip(turns, each, strict=True):
                if turn.each is not None and len(turn.each) and money > 0:
                    if paid.choices is not None:
                        money *= self._rearranged(paid)
                    found.append(turn._replace(asked=np.zeros_like(turn.asked)).moving(money))
        return found


class Targets:
    """What errors do to the targets of users in groups, round after round; nothing without groups.

    along : (N,) the part by which each falls for a part by which the level does. more : (N,) the
    most that each is due more, at the same level, in any round until it is stopped. above : in
    this round.
    """

    def __init__(self, stage: Ints, reached: Sequence[Reached], sums: Sums) -> None:
        self._stage, self._reached, self._sums = stage, reached, sums
        self.along, self.more = np.ones(len(stage)), np.zeros(len(stage))
        self._waits = np.zeros((2, len(stage)))
        self._shift: Shift | None = None
        self.above = self.more

    def enter(self, k: int, up: Floats, down: Floats) -> None:
        """Begin round k, whose targets follow from errors of those stopped before."""
        if not len(self._reached):
            return
        if k == 0:
            self._waits, self.more = np.zeros_like(self._waits), np.zeros_like(self.more)
        done = self._stage < k
        up, down = (
            np.where(done, each, wait) for each, wait in zip((up, down), self._waits, strict=True)
        )
        last = self._reached[k - 1].start.due if k else None
        self._shift = Shift(self._reached[k], up, down, self._sums, last)
        self.along = self._shift.along()
        self.above = np.where(done, 0.0, self._shift.above())
        self.more = np.maximum(self.more, self.above)

    def dearer(self, paid: Paid) -> float:
        """Money that users who are not stopped yet ask for beyond what they were due."""
        more = self.above[paid.who]
        return float((paid.money * np.where(more > 0, more, 0.0)).sum())

    def leave(self, k: int, less: Floats, up: Floats) -> Floats:
        """(N,) how much less each may be due at the end of round k, whose level is `less` lower."""
        assert self._shift is not None
        mine = self._stage == k
        low = self._shift.below(float(less[mine].max(initial=0.0)))
        moves = mine & (self.along > 0)
        with np.errstate(invalid="ignore"):
            high = (up + self._shift.below(0.0))[moves] / self.along[moves]
        high = float(high.max()) if moves.any() else 0.0
        self._waits = np.array([self._shift.above(high), low])
        return low


def each_alone(at: Ints, user: Ints, each: Floats, up: Floats) -> Floats:
    """What entries ask as `RoundTogether.sums` says, of users of whom nothing is known together."""
    return np.asarray(each * up[user])


__all__ = ["Moved", "Paid", "Targets", "RoundTogether", "each_alone", "earlier"]
