"""Users of next to no money, at what the others leave them: a point to begin a search from.

At a steep alpha a user may pay e^-50 of all money. What it gets depends on where the others run
their tasks, which is all the same to them, and their prices say nothing of it. A linear program
does, with prices of its own. Nothing of it is believed: the search begins there, that is all.
"""

from __future__ import annotations

import numpy as np

from fairopt.certificates.begun import scale
from fairopt.certificates.given import Given
from fairopt.certificates.question import Question
from fairopt.instance import Floats

UNKNOWN = 0.01
"""a user whose share may be off by so much is one of those that are asked about"""
LIGHT = -20.0
"""log of the part of the largest user's money below which one is asked about if nobody is known"""
KEPT = 1e-9
"""part of their share that the others may lose"""
NOISE = 1e-7
"""part of the money of the row of most of it"""
MOST_COLUMNS = 20_000
"""most columns"""


def lighter(question: Question, answer: Given, off: Floats) -> Given:
    """The answer with as much as can be, in proportion, for those whose share (N,) may be far off,
    while the others keep theirs; the answer itself where that is nobody or everybody."""
    from scipy.optimize import linprog
    from scipy.sparse import csr_array, vstack

    columns, light = question.columns, ~(off <= UNKNOWN)
    share = answer.share
    if light.all():
        money = log_spent(question, answer)
        light = money < money.max() + LIGHT
    if light.all() or not light.any() or columns.count > MOST_COLUMNS or not (share > 0).all():
        return answer
    cost = columns.cost(np.zeros(len(question.rhs)))
    tasks = np.flatnonzero(np.isfinite(cost))
    flows = len(question.low)
    every = np.concatenate([tasks, columns.count + np.arange(flows)])
    row, each, entry = columns.entries(every)
    size, rows, users = len(every), len(question.rhs), question.users
    owner, worth = columns.owner(tasks), columns.worth(tasks)
    rules = csr_array((entry / question.unit[row], (row, each)), shape=(rows, size + 1))
    shares = csr_array(
        (
            np.concatenate([-worth / share[owner], np.ones(int(light.sum()))]),
            (
                np.concatenate([owner, np.flatnonzero(light)]),
                np.concatenate([np.arange(len(tasks)), np.full(int(light.sum()), size)]),
            ),
        ),
        shape=(users, size + 1),
    )
    right = [question.rhs / question.unit, np.where(light, 0.0, KEPT - 1)]
    most = np.where(np.isfinite(question.most), question.most / share, np.inf)
    bounds = np.stack(
        [
            np.concatenate([np.zeros(len(tasks)), question.low, [0.0]]),
            np.concatenate(
                [np.full(len(tasks), np.inf), question.high, [float(most[light].min())]]
            ),
        ],
        axis=1,
    )
    goal = np.zeros(size + 1)
    goal[-1] = -1.0
    exact = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    found = linprog(
        goal,
        A_ub=vstack([rules, shares]),
        b_ub=np.concatenate(right),
        bounds=bounds,
        method="highs",
        options=exact,
    )
    if found.x is None or not np.isfinite(found.x).all():
        return answer
    x = np.maximum(found.x[: len(tasks)], 0.0)
    own = np.asarray(np.bincount(owner, worth * x, users), np.float64)
    price = np.maximum(-found.ineqlin.marginals[:rows], 0.0) / question.unit
    paid = np.maximum(-found.ineqlin.marginals[rows:], 0.0) / share  # for a unit of share
    log_q = np.log(columns.cheapest(columns.cost(answer.price)))
    log_value = question.log_w - question.alpha * np.log(np.maximum(own - question.base, 0.0))
    factor = (log_value - np.log(paid))[light & (paid > 0) & np.isfinite(log_value)]
    if not len(factor):
        return answer
    # prices of the others that are noise would be all the money of the light ones, and more
    money = answer.price * question.unit
    known = np.where(money > NOISE * money.max(), answer.price, 0.0)
    price = known + price * np.exp(factor.max() - scale(question, answer, log_q))
    held = x > 0
    return Given(tasks[held], x[held], found.x[len(tasks) : size], price / price.max(), own)


def log_spent(question: Question, answer: Given) -> Floats:
    """(N,) log of W t^(1 - alpha), what each user pays at the optimum if these are its shares."""
    return question.log_w + (1 - question.alpha) * np.log(answer.share - question.base)


__all__ = ["lighter", "log_spent"]
