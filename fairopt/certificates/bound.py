r"""Where the optimum is, user by user: proved by any feasible point and any prices.

Of the question of `question` let (x, y) be feasible, p >= 0 any prices of rows, and v_n at most the
cheapest price of a unit of user n's share. With t = s - b and t0 the t that is best at v, clipped
to the bounds of the share, m = W t0^(1-alpha), loss(z) = e^z - 1 - (e^((1-alpha) z)-1)/(1-alpha),

.. math:: \epsilon = \sum_{rows} p\,\mathrm{left} + \sum_{flows} |drift|\,|bound - y|
   + \sum_{columns} x (cost - v u) + \sum_n m_n \operatorname{loss}(\log t_n / t^0_n)
   + \sum_n |W_n g'(t^0_n) - v_n|\,|s^0_n - s_n|

is a sum of terms that are never negative (variances add theirs, `pulls`), and every optimum s* has

.. math:: m_n \operatorname{loss}(\log t^*_n / t^0_n) \le \epsilon

(docs/maths/prices.md). So each user's share is known from both sides, whatever made the point and
the prices. A user of a part m of all money is known to a millionth once eps is below 1e-12 alpha
m / 2 of it: hence the digits (`digits`). Parts of a cluster that share no rule have sums of their
own.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from fairopt.certificates import pulled
from fairopt.certificates.losses import ends, loss_above
from fairopt.certificates.places import ROUND, Place, PlaceRest, PlaceSums, Worth, lessened
from fairopt.certificates.question import Question
from fairopt.instance import Floats, Ints

TINY = 1e-280
"""part of all money that products of very small numbers may lose in floating point"""


class Proved(NamedTuple):
    """(N,) log of the share s0 that is best at the prices; how far below and above it, in the
    logarithm, any optimum may be: inf where nothing is proved."""

    log_share: Floats
    below: Floats
    above: Floats

    def off(self, log_share: Floats) -> Floats:
        """(N,) how far these shares may be from an optimum's, at most."""
        apart = log_share - self.log_share
        far = np.maximum(np.abs(apart + self.below), np.abs(apart - self.above))
        return np.where(np.isnan(far), np.inf, far)


def nothing(users: int) -> Proved:
    """No proof."""
    return Proved(np.zeros(users), np.full(users, np.inf), np.full(users, np.inf))


def bound(
    question: Question, place: Place, seen: PlaceSums, part: Ints | None = None
) -> tuple[Proved, float]:
    """What a place proves, and eps of all parts together.

    Parameters
    ----------
    part : (N + M + F,) the part of the cluster of each user, row and flow; None: one.
    """
    if not _feasible(question, place, seen.rest):
        return nothing(question.users), np.inf
    here, users = seen.rest, question.users
    # a value that no column exceeds
    less = lessened(question, place, seen) if seen.less is None else seen.less
    if question.proves_nothing(place.value[0] - less):
        return nothing(users), np.inf
    value = np.maximum(place.value[0] - less, 0.0)
    eps = lost_on(question, place, seen, less) + (0.0 if seen.lost is None else seen.lost)
    log_t, end = question.log_best(np.log(value), place.log_unit)
    t0 = np.exp(log_t)
    log_m = question.log_w - place.log_unit + (1 - question.alpha) * log_t
    m = np.exp(log_m)
    z, charge = _users(question, place, seen.rest, value, less, log_t, end, m)
    # the money of a user at its limit may be beyond floating point, where nothing is lost
    eps += np.where(z == 0, 0.0, m * loss_above(z, question.alpha)) + charge
    shared = np.where(place.price[0] > 0, place.price[0] * (here.left + here.left_error), 0.0)
    if question.pulls is not None:
        given_up, shared[question.pulls.rows] = _pulled(question, place, here)
        eps += given_up
    if len(question.low):
        shared = np.append(shared, _flows(question, place, seen))
    if part is None:
        whole = eps.sum() + shared.sum() + (TINY if place.price[0].any() else 0.0)
        each = np.full(users, whole)
    else:
        names = int(part.max()) + 1
        total = np.bincount(part[:users], eps, names) + np.bincount(part[users:], shared, names)
        each, whole = total[part[:users]] + TINY * m, total.sum()
    each = each * (1 + 1e-9)
    below, above = ends(np.where(each == 0, 0.0, each / m), question.alpha)
    if question.pulls is None and not question.bounded:
        return _told(np.log(t0), below, above), float(whole)
    share = question.base + t0
    low, high = question.base + t0 * np.exp(-below), question.base + t0 * np.exp(above)
    if (pulls := question.pulls) is not None:
        low, high = pulled.levels(
            pulls,
            place.price[0][pulls.rows],
            float(each.max()),
            low,
            high,
            place.log_unit,
            question.share_unit,
        )
    below, above = -np.log(low / share), np.log(high / share)
    fixed = question.least >= question.most
    below = np.where((end < 0) | fixed, 0.0, below)
    above = np.where((end > 0) | fixed, 0.0, above)
    return _told(np.log(share), below, above), float(whole)


def lost_on(question: Question, place: Place, seen: Worth, less: Floats) -> Floats:
    """(N,) what users lose on tasks they hold, where a unit of share is worth less (N,) less."""
    columns = question.columns
    mine = place.columns < columns.count
    tasks = int(np.count_nonzero(seen.held < columns.count))
    held, profit, error = seen.held[:tasks], seen.profit[:tasks], seen.profit_error[:tasks]
    n = columns.owner(held)
    lost = less[n] * columns.worth(held)
    dear = np.maximum(lost - profit, 0.0) + error + ROUND * lost
    return np.asarray(np.bincount(n, place.amount[0][mine] * dear, question.users), np.float64)


def _told(log_share: Floats, below: Floats, above: Floats) -> Proved:
    """What is proved: nothing of a user of whom anything is no number."""
    known = below + above
    if np.isfinite(known).all() and np.isfinite(log_share).all():
        return Proved(log_share, below, above)
    unknown = np.isnan(below) | np.isnan(above) | ~np.isfinite(log_share)
    return Proved(log_share, np.where(unknown, np.inf, below), np.where(unknown, np.inf, above))


def _feasible(question: Question, place: Place, here: PlaceRest) -> bool:
    """Whether every rule is kept exactly, but for shares above `most`, which are cut off."""
    tasks = question.columns.count
    kept = (place.price[0] >= 0) & (here.left >= here.left_error) | ~question.rules
    if not (np.isfinite(place.price[0]).all() and kept.all()):
        return False
    own = place.columns < tasks
    if not (place.amount[0][own] >= 0).all():
        return False
    if question.bounded:
        floors = (here.above_least >= here.share_error)[question.least > 0]
        if not floors.all():
            return False
    if own.all():
        return True
    flows = -place.amount[:, ~own].T
    if not np.isfinite(flows).all():
        return False
    ends = zip(question.low.tolist(), question.high.tolist(), flows.tolist(), strict=True)
    # fsum is exact but for its last rounding, which cannot change a sign
    return all(math.fsum([low, *y]) <= 0 <= math.fsum([high, *y]) for low, high, y in ends)


def _pulled(question: Question, place: Place, here: PlaceRest) -> tuple[Floats, Floats]:
    """(N,) what hard forms cost each user, and (K,) the terms of rows with pulls."""
    pulls = question.pulls
    assert pulls is not None
    at, unit = pulls.rows, place.log_unit
    price, left, error = place.price[0][at], here.left[at], here.left_error[at]
    found = pulled.terms(pulls, price, left, error, unit)
    if not pulls.hard.any():
        return np.zeros(question.users), found
    money = np.exp(question.log_w - unit + (1 - question.alpha) * np.log(here.share))
    flows = place.amount[0][place.columns >= question.columns.count]
    users, more = pulled.smaller(
        pulls,
        price,
        left,
        error,
        flows,
        here.share * question.share_unit,
        money,
        question.alpha,
        unit,
    )
    return users, found + more


def _users(
    question: Question,
    place: Place,
    here: PlaceRest,
    value: Floats,
    less: Floats,
    log_t: Floats,
    end: Floats,
    m: Floats,
) -> tuple[Floats, Floats]:
    """(N,) the largest |log t/t0| that rounding allows, and what distance from a bound costs."""
    t = _counted(question, place, here)
    log_share = np.log(t)
    if len(place.value) > 2:
        z = np.abs(place.away(question)) + 2 * less / value
    else:
        size = question.log_size + abs(place.log_unit) + np.abs(np.log(value)) + 1
        z = np.abs(log_share - log_t) + ROUND * (size / question.alpha + np.abs(log_t) + 1)
    if not question.bounded:
        return z, np.zeros(len(z))
    slope = np.abs(m / np.exp(log_t) - value)
    to_most = np.where(end > 0, here.to_most, 0.0)
    beyond = np.where(end < 0, here.above_least, 0.0)
    gone = np.abs(np.where(end > 0, to_most, beyond)) + here.share_error
    at = np.where(end > 0, question.most, question.least) - question.base
    z = np.where(end == 0, z, np.where(to_most < 0, 0.0, gone / np.maximum(at - gone, 0.0)))
    # a share above its bound is cut off, which leaves what its tasks cost
    rate = np.where(to_most < 0, value, slope)
    exact = gone == 0
    over = np.isfinite(here.to_most) & (here.to_most < 0) & (end <= 0)
    charge = np.where((end == 0) | exact, 0.0, rate * gone)
    charge = charge + np.where(over, value * -np.where(over, here.to_most, 0.0), 0.0)
    return np.where((end != 0) & exact, 0.0, z), charge


def _counted(question: Question, place: Place, here: PlaceRest) -> Floats:
    """(N,) t = s - b, to the last digit of a float."""
    if not (question.bounded and question.base.any()):
        return here.share
    # where something is taken off, it is the floor
    return np.where(question.base > 0, here.above_least, here.share)


def _flows(question: Question, place: Place, seen: PlaceSums) -> Floats:
    """(F,) what money would flow where there is room for it."""
    tasks = question.columns.count
    y, drift = place.amount[0][place.columns >= tasks], seen.profit[seen.held >= tasks]
    room = np.where(drift > 0, question.high - y, y - question.low)
    # beyond what rounding hides: where two nodes lend without bound their prices are the same
    return np.where(drift == 0, 0.0, np.abs(drift) * np.maximum(room, 0.0) * (1 + ROUND))


__all__ = ["Proved", "bound", "lost_on", "nothing"]
