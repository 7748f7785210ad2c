r"""What a class gives up at most when those served before it hold a little more than was thought.

Users m of classes before hold L_m in a question, and are due s_m, from L_m to (1 + e_m) L_m. The
rows that stop them (`EarlierStops`) have some room beside L, and none beside s, by their prices. So
what has to change is d_0, which fills these rows, and directions z_k that change none of them and
that bring shares of those before to s: no more than c_k of each, as s is no farther than e from L.
All of them leave every other full row, and the shares of users at their bounds, as they are. The
point x + d_0 + sum a_k z_k with |a_k| <= c_k keeps all rules then, and pays for what it gives with
tasks that are worth just what they cost: the welfare of the class falls by what its prices say, and
by no more beyond it than

.. math:: \phi = \sum_n m_n \operatorname{loss}\Big( |d_{0,n}| + \sum_k c_k |z_{k,n}| \Big),

which is of the square of e. With eps + phi in the place of eps the intervals of `bound` hold of the
optimum beside what those before are truly due (docs/maths/prices.md, "Classes").
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairopt.certificates.losses import loss_above
from fairopt.certificates.parts import QuestionPart
from fairopt.certificates.places import Place, rest
from fairopt.certificates.question import NOBODY, Question
from fairopt.instance import Bools, Floats, Ints

FULL = 1e-10
"""part of a row, or of a share, that is left of a full one, or of one at its bound"""
TURNS = 6
"""times that rows which would be overrun are kept as they are"""
MOST_KEPT = 2_500
"""most rows and users that are kept as they are"""
ROUNDING, CLOSE = 2.0**-50, 1e-9
"""what a direction may miss, of a row; and relative to the errors"""
MOVES, UNIT = 1e-7, 1e-13
"""part of a share that amounts change at the least if they change it at all; and at most, times
the condition of the system, if that is rounding"""
REFINED = 4
"""times that a solution is bettered"""
TINY = 1e-13
"""singular values of a smaller part are none"""


@dataclass
class EarlierStops:
    """What stops those served before.

    Parameters
    ----------
    row : (M,) the class at whose prices a row has one, the first if there are several, -1 of none.
    flow : (F,) the same of flows that are at a bound and cost or bring something there.
    up : (F,) whether that is their upper bound.
    """

    row: Ints
    flow: Ints
    up: Bools

    @classmethod
    def nothing(cls, question: Question) -> EarlierStops:
        """Before the first class."""
        rows, flows = (np.full(len(each), -1) for each in (question.rhs, question.low))
        return cls(rows, flows, np.zeros(len(flows), dtype=bool))

    def of(self, part: QuestionPart) -> EarlierStops:
        """Those of a part."""
        return EarlierStops(self.row[part.rows], self.flow[part.flows], self.up[part.flows])

    def add(self, rank: int, part: QuestionPart, place: Place) -> None:
        """With what has a price at the point of a class."""
        price, columns = place.price[0], part.question.columns
        money = price * part.question.unit
        dear = money > CLOSE * money.max(initial=0.0)
        mine = part.rows[dear & (self.row[part.rows] < 0)]
        self.row[mine] = rank
        flows = columns.count + np.arange(len(part.flows))
        row, each, entry = columns.entries(flows)
        drift = np.bincount(each, entry * price[row], len(flows))
        gross = np.bincount(each, np.abs(entry) * price[row], len(flows))
        costs = (np.abs(drift) > FULL * gross) & (self.flow[part.flows] < 0)
        self.flow[part.flows[costs]], self.up[part.flows[costs]] = rank, drift[costs] < 0


def yielded(question: Question, place: Place, error: Floats, stops: EarlierStops) -> float:
    """phi, in the money of the place; inf where no directions are found.

    Parameters
    ----------
    error : (N,) e of those served before, 0 of others. stops : what stops them.
    """
    first = np.flatnonzero(error > 0)
    if not len(first):
        return 0.0
    if not np.isfinite(error).all():
        return np.inf
    columns, known = question.columns, rest(question, place)
    tasks, users = columns.count, question.users
    task = place.columns < tasks
    owner, worth = columns.owner(place.columns[task]), columns.worth(place.columns[task])
    row, each, entry = columns.entries(place.columns)
    entry = entry / question.unit[row]
    share = known.share
    move, way, room = _room(question, place, task, stops)
    # each column counts by what it may change, so that the least change is the least part of it
    body = np.zeros((len(question.rhs), len(move)))
    np.add.at(body, (row, each), entry * move[each])
    holds = np.zeros((users, len(move)))
    holds[owner, np.flatnonzero(task)] = worth * move[task] / share[owner]
    before = question.log_w <= NOBODY / 2
    left = np.maximum(known.left, 0.0) / question.unit
    line, lacks, wide = _filled(body, left, stops, room)
    possible = _possible(question, place, stops, wide, room[~task], share, error)
    if possible is None:
        return np.inf
    free = np.minimum(known.to_most, known.above_least) / share
    free = np.where(before, 0.0, np.where(np.isfinite(free), np.maximum(free, 0.0), np.inf))
    keep, stay = (left <= FULL) & ~wide, (free <= FULL) & ~before
    fixed = before & (error <= 0)
    for _ in range(TURNS):
        if int(keep.sum() + stay.sum()) > MOST_KEPT:
            return np.inf
        system = np.concatenate([line, body[keep], holds[stay | fixed]])
        wanted = np.zeros(len(system))
        wanted[: len(lacks)] = lacks
        least, missing = _Least(system), max(ROUNDING, CLOSE * float(error.max()))
        fill = least.solved(wanted)
        if not np.abs(system @ fill - wanted).max(initial=0.0) <= missing:
            # what those before leave of other rows may be what all take who are there
            wanted[len(lacks) :][: int(keep.sum())] = left[keep]
            fill = least.solved(wanted)
        far = error[first] + np.abs(holds[first] @ fill)
        bring = _between(least, holds[first], possible, far)
        if bring is None:
            return np.inf
        found = np.column_stack([fill, bring])
        missed = np.abs(system @ fill - wanted) + np.abs(system @ bring).sum(axis=1)
        if not missed.max(initial=0.0) <= missing:
            return np.inf
        if not (np.abs(found).sum(axis=1) <= 1.0).all():  # an amount would fall below 0
            return np.inf
        back = np.minimum(fill * way, 0.0) - np.abs(bring * way[:, None]).sum(axis=1)
        out = back < -missing  # flows that would leave their bounds stay where they are
        if out.any():
            if not (body[:, out].any() or line[:, out].any()):
                return np.inf
            body[:, out] = line[:, out] = 0.0
            continue
        over = (np.abs(body @ found).sum(axis=1) > left) & ~keep & ~wide
        changes = np.abs(holds @ found).sum(axis=1)
        beyond = (changes > free) & ~stay & ~before
        if not (over.any() or beyond.any()):
            break
        keep, stay = keep | over, stay | beyond
    else:
        return np.inf
    t = share - question.base
    part = np.where(before, 0.0, changes * share / np.where(t > 0, t, 1.0))
    with np.errstate(all="ignore"):
        money = np.exp(question.log_w - place.log_unit + (1 - question.alpha) * np.log(t))
        lost = np.where(part > 0, money * loss_above(part, question.alpha), 0.0)
    return float(lost.sum())


def _room(
    question: Question, place: Place, task: Bools, stops: EarlierStops
) -> tuple[Floats, Floats, Floats]:
    """(C,) what each amount may fall or rise by; of flows at a bound which cost nothing, the way in
    which they may go: 1, -1; 0 where both. And (C,) how much is left of flows to a bound that stops
    those before, as a multiple of that, inf of all others."""
    amount = place.amount[0]
    y, price = amount[~task], place.price[0]
    row, each, entry = question.columns.entries(place.columns[~task])
    unit = np.full(len(y), np.inf)
    np.minimum.at(unit, each, question.unit[row])
    drift = np.abs(np.bincount(each, entry * price[row], len(y)))
    up, down = question.high - y, y - question.low
    near = FULL * unit
    found, way, room = amount.copy(), np.zeros(len(amount)), np.full(len(amount), np.inf)
    to = np.where(stops.up, up, down)
    bound = stops.flow >= 0
    side = np.where(up <= near, -1.0, np.where(down <= near, 1.0, 0.0))
    way[~task] = np.where(bound, 0.0, side)
    within = np.where(side < 0, down, np.where(side > 0, up, np.minimum(up, down)))
    still = (side != 0) & ~bound & (drift > FULL * float(price.max(initial=0.0)))
    found[~task] = np.where(still, 0.0, np.where(bound, unit, np.minimum(within, unit)))
    room[~task] = np.where(bound, np.maximum(to, 0.0) / unit, np.inf)
    return np.maximum(found, 0.0), way, room


def _filled(
    body: Floats, left: Floats, stops: EarlierStops, room: Floats
) -> tuple[Floats, Floats, Bools]:
    """Rows, and flows, that are full once those before have what they are due: (E, C) by how much
    amounts change them, (E,) what is left of them; (M,) which rows these are.

    Parameters
    ----------
    body : (M, C) of rows. room : (C,) see `_room`.
    """
    wide = stops.row >= 0
    flows = np.flatnonzero(np.isfinite(room))
    of = np.zeros((len(flows), body.shape[1]))
    up = stops.up[flows - (body.shape[1] - len(stops.flow))]
    of[np.arange(len(flows)), flows] = np.where(up, 1.0, -1.0)
    return np.concatenate([body[wide], of]), np.concatenate([left[wide], room[flows]]), wide


def _possible(
    question: Question,
    place: Place,
    stops: EarlierStops,
    wide: Bools,
    room: Floats,
    share: Floats,
    error: Floats,
) -> Floats | None:
    """(U, K) a basis of how shares of those before, of whom little is open, may change while the
    rows that stop them stay full, wherever they may run; None where floats do not tell."""
    columns, before = question.columns, question.log_w <= NOBODY / 2
    of = columns.owner(np.arange(columns.count))
    mine = np.flatnonzero(before[of] & columns.open(np.arange(columns.count)) & (share > 0)[of])
    flows = columns.count + np.flatnonzero(~np.isfinite(room))
    row, each, entry = columns.entries(np.concatenate([mine, flows]))
    owner, worth = of[mine], columns.worth(mine)
    size = np.ones(len(mine) + len(flows))
    size[: len(mine)] = share[owner] / worth
    unit = question.unit[row]
    np.minimum.at(size, each[each >= len(mine)], unit[each >= len(mine)])
    line = np.zeros((len(wide), len(size)))
    np.add.at(line, (row, each), entry * size[each] / unit)
    holds = np.zeros((len(share), len(size)))
    holds[owner, np.arange(len(mine))] = 1.0
    fixed = before & (error <= 0)
    still = _still(_Least(np.concatenate([line[wide], holds[fixed]])), holds[error > 0])
    return None if still is None else still[0]


def _between(system: _Least, holds: Floats, possible: Floats, far: Floats) -> Floats | None:
    """(C, K) directions in which the system does not change, each as far as those before may have
    to move in it: by no more than `far` (U,) of shares `holds` (U, C). None where floats do not
    tell which there are, or shares may change in ways (U, K) that these do not bring."""
    known = _still(system, holds)
    if known is None:
        return None
    basis, found = known
    if (np.abs(possible - basis @ (basis.T @ possible)) > CLOSE).any():
        return None
    return np.asarray(found * (np.abs(basis).T @ far))


def _still(system: _Least, holds: Floats) -> tuple[Floats, Floats] | None:
    """(U, K) a basis of the changes of `holds` (U, C) by amounts of which the system does not
    change, and (C, K) such amounts; None where floats do not tell which these are."""
    still = holds.T - system.solved(system.system @ holds.T)
    found, size, turn = np.linalg.svd(still, full_matrices=False)
    some = size > MOVES
    if (size[~some] > max(UNIT, system.rounding)).any():
        return None
    return turn[some].T, found[:, some] / size[some]


class _Least:
    """The least solutions of a system (E, C), and what is lost to rounding in them."""

    def __init__(self, system: Floats) -> None:
        self.system = system
        size, turn = np.linalg.eigh(system @ system.T)
        some = size > TINY * size.max(initial=0.0)
        self.back = turn[:, some] / size[some], turn[:, some].T
        most, least = size.max(initial=1.0), size[some].min(initial=1.0)
        self.rounding = UNIT * float(np.sqrt(most / least))

    def solved(self, wanted: Floats) -> Floats:
        """The least (C,), or (C, K), of which the system is what is wanted."""
        found, (left, right) = np.zeros((self.system.shape[1], *wanted.shape[1:])), self.back
        for _ in range(REFINED):  # since the square of the system has half of its digits
            found += self.system.T @ (left @ (right @ (wanted - self.system @ found)))
        return np.asarray(found)


__all__ = ["EarlierStops", "yielded"]
