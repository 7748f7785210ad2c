"""Rows that are full: what those stopped earlier take more of them, those stopped later lose."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from fairopt.instance import Bools, Floats, Ints

SURE = 1e-12
"""what users can do without is counted less this part of what they hold"""
SCANT = 1e-12
"""what later users hold of a row is not known better than this part of it"""
AT_ONCE = 5_000_000
"""rows, and users, times rounds that are looked at at once"""

Elsewhere = Callable[[Ints], tuple[Ints, Ints, Floats]]
"""users -> rows where each may run and pays nothing: its place among the users, the row, and the
part of it that it takes there for its whole share"""


class Choices(NamedTuple):
    """Where users may go at the prices of a round.

    chooses : (N,) who may run on several pairs. closed : rows with a price. elsewhere : where those
    go who pay nothing. paid : of pairs that are cheapest for their users, the user and what a unit
    of money there pays for each priced row, (C,) and (C, rows); None if no server has two prices.
    """

    chooses: Bools
    closed: Ints
    elsewhere: Elsewhere
    paid: Callable[[], tuple[Ints, Floats]] | None = None


class Uses(NamedTuple):
    """What users hold of rows, one entry for each user and row (a user may have several of a row).

    user, row : positions. part : of the row that it uses. share : part of the user's share that it
    gives up with the entry. asked : of the row, for each part by which its share rises; as much as
    `part`, or more where it must move tasks for it.
    left : (rows,) part of each row that nobody uses. due : (rounds, N) the part of its share that
        each, stopped later, is due by then: the rest it can do without until its own round. Of a
        plain answer `level` (N,) says it instead. anywhere : where users may go that are stopped by
        their limits alone. leaves : of each entry, whether its user could take less of the row by
        running elsewhere; None: whoever may.
    """

    user: Ints
    row: Ints
    part: Floats
    share: Floats
    asked: Floats
    left: Floats
    due: Floats | None = None
    level: Floats | None = None
    anywhere: Choices | None = None
    leaves: Bools | None = None


class Turn(NamedTuple):
    """Of a round, the parts of rows that change hands if tasks that are too dear, or what is left
    of priced rows, are put right: money of that size moves from server to server.

    stage : the round. row, asked : of each row, the most of it that may be asked for.
    each : the same, for each unit of money that the errors of the round move from server to server:
        whoever rises may push out others of the round, who run wherever they can; as many as all
        that money buys, and in turn others from there. None where nobody has a choice.
    """

    stage: int
    row: Ints
    asked: Floats
    each: Floats | None = None

    def moving(self, money: float) -> Turn:
        """With that of errors of so much money."""
        if self.each is None or not money > 0:
            return self
        with np.errstate(over="ignore", invalid="ignore"):
            more = np.where(self.each > 0, self.each * money, 0.0)
        return self._replace(asked=np.minimum(self.asked + more, 1.0))


def moves(score: Floats, held: Floats) -> Floats:
    """(C,) tasks that a user at its limit must move to each pair for its whole share once more,
    from that of its tasks that is worth least; 0 where that is worth as much.

    Parameters
    ----------
    score : (C,) of the pairs of one user, 0 where it may not run. held : (C,) tasks.
    """
    least = float(score[held > 0].min(initial=np.inf))
    found, better = np.zeros(len(score)), score > least
    found[better] = float(score @ held) / (score[better] - least)
    return found


def _spare(
    due: Floats,
    user: Ints,
    part: Floats,
    row: Ints,
    round_: Ints,
    of_row: Ints,
    of_round: Ints,
    more: Floats | None,
) -> Floats:
    """What those stopped after a round can do without in it, for each (row, round) of a group."""
    from scipy.sparse import csr_array

    above = 0.0 if more is None else more
    # entries are in order of rows; of a user they are of its round, but for those that hold nothing
    rows, at = np.unique(row, return_inverse=True)
    ends = np.searchsorted(at, np.arange(len(rows) + 1))
    holds = csr_array((part, user, ends), shape=(len(rows), due.shape[1]))
    last = np.zeros(due.shape[1], dtype=np.int64)
    last[user[part > 0]] = round_[part > 0]
    place, found = np.searchsorted(rows, of_row), np.zeros(len(of_row))
    step = max(1, AT_ONCE // (len(rows) + len(last)))
    for k in range(0, len(due), step):
        free = np.maximum(1.0 - SURE - due[k : k + step] * (1.0 + above), 0.0).T
        later = np.arange(k, k + free.shape[1]) < last[:, None]
        held = holds @ np.where(later, free, 0.0)
        here = np.flatnonzero((of_round >= k) & (of_round < k + step))
        found[here] = held[place[here], of_round[here] - k]
    return found


def _before(values: Floats, first: Ints, count: Ints) -> Floats:
    """What comes before each of some values, of `count` values from each of `first` on: sums of one
    row know nothing of other rows, not even in rounding."""
    found = np.zeros_like(values)
    if len(first) <= count.max():
        for at, many in zip(first.tolist(), count.tolist(), strict=True):
            np.cumsum(values[at : at + many - 1], out=found[at + 1 : at + many])
        return found
    for j in range(1, int(count.max())):  # side by side
        here = first[count > j] + j
        found[here] = found[here - 1] + values[here - 1]
    return found


def _after(values: Floats, first: Ints, count: Ints) -> Floats:
    """The same of what comes after each."""
    begins = (len(values) - first - count)[::-1]
    return _before(values[::-1], begins, count[::-1])[::-1]


def asked_for(uses: Uses, error: Floats) -> Floats:
    """What entries ask of their rows for a part `error` (N,) of their users' shares."""
    with np.errstate(over="ignore", invalid="ignore"):
        return np.where(uses.asked > 0, uses.asked * error[uses.user], 0.0)


def crowded(
    stage: Ints,
    asked: Floats,
    uses: Uses,
    turns: Sequence[Turn] = (),
    more: Floats | None = None,
) -> Floats:
    """(N,) the part of its share that each loses if those stopped earlier take what they ask of the
    rows they use: whoever is stopped later gives up what it can do without until its own round,
    then all the same part of their tasks there.

    Parameters
    ----------
    asked : of the row, for each entry of `uses`.
    more : (N,) what those stopped together or later may take more, whose targets are off.
    """
    found = np.zeros(len(stage))
    own = np.zeros_like(asked) if more is None else asked_for(uses, more)
    if not asked.any() and not turns and not own.any():
        return found
    user, row, at = uses.user, uses.row, stage[uses.user]
    part, share = uses.part, uses.share
    if turns:
        many = [len(turn.row) for turn in turns]
        none = np.zeros(sum(many))
        row = np.concatenate([row, *[turn.row for turn in turns]])
        asked = np.concatenate([asked, *[turn.asked for turn in turns]])
        at = np.concatenate([at, np.repeat([turn.stage for turn in turns], many)])
        user = np.concatenate([user, np.zeros(len(none), dtype=np.int64)])
        part, share, own = (np.concatenate([each, none]) for each in (part, share, own))
    short = np.bincount(row, asked + own, len(uses.left)) > uses.left
    keep = np.flatnonzero(short[row])
    if not len(keep):
        return found
    row, at = row[keep], at[keep]
    order = np.lexsort((at, row))
    keep, row, at = keep[order], row[order], at[order]
    round_ = at
    # entries of one row and round are together: what comes before them is asked, the rest gives
    new = np.append(True, (row[1:] != row[:-1]) | (at[1:] != at[:-1]))
    begins, group = np.flatnonzero(new), np.cumsum(new) - 1
    of_row, of_round = row[begins], at[begins]
    asked, held, own = (np.add.reduceat(each[keep], begins) for each in (asked, part, own))
    first = np.flatnonzero(np.append(True, of_row[1:] != of_row[:-1]))
    count = np.diff(np.append(first, len(of_row)))
    before = _before(asked, first, count)
    after, own = (part + _after(part, first, count) for part in (held, own))
    left, before = uses.left[of_row].copy(), before + own
    spare = np.zeros(len(of_row))
    if uses.due is not None:
        entry = user[keep], part[keep], row, round_
        spare = _spare(uses.due, *entry, of_row, of_round, more)
    elif uses.level is not None:
        # of a plain answer part * (1 - level of the round / own level), summed
        top = np.zeros(int(stage.max()) + 1)
        np.maximum.at(top, stage, uses.level)
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            each = np.where(uses.level > 0, 1.0 / uses.level, np.inf)[user[keep]] * part[keep]
            each = np.add.reduceat(each, begins)
            later, dear = (_after(part, first, count) for part in (held, each))
            spare = np.fmax(later * (1 - SURE) - top[of_round] * dear, 0.0)
    # half of it, since errors and rounding are asked for one by one
    left, after = left + spare / 2, np.maximum(after - spare / 2, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        lost = np.where(after > SCANT, (before - left) / after, 1.0)
    lost = np.where(before > left, np.minimum(lost, 1.0), 0.0)
    np.add.at(found, user[keep], lost[group] * share[keep])
    return found


__all__ = ["Choices", "Turn", "Uses", "asked_for", "crowded", "moves"]
