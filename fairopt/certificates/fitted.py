"""Prices and pulls that fit tasks, where an answer does not tell them: a start, never a proof."""

from __future__ import annotations

import numpy as np

from fairopt.certificates.question import Question
from fairopt.instance import Floats, Ints

MOST_ENTRIES = 4_000_000
"""entries of the matrix up to which prices are fitted"""
FEW_COLUMNS = 600
"""columns up to which those that hold nothing are looked at"""
NOTHING = 1e-9
"""part of a share up to which a column holds nothing"""
FULL = 1e-6
"""part left of a row that may have a price"""


def fitted(question: Question, held: Ints, x: Floats, value: Floats, price: Floats) -> Floats:
    """(M,) prices with which the tasks held cost what they are worth, as nearly as can be, and
    others no less.

    Non-negative least squares. The prices given are kept but for their scale; where there are none,
    every full row has its own. Pulls of hard forms are free, but that nothing would flow.

    Parameters
    ----------
    held : (K,) columns, x : (K,) their amounts. value : (N,) marginal value of a share.
        price : (M,), those of rows with soft pulls as they are.
    """
    from scipy.optimize import nnls

    pulls, columns = question.pulls, question.columns
    assert pulls is not None
    row, each, entry = columns.entries(held)
    used = np.bincount(row, entry * x[each], len(price))
    # of a method that comes from inside all columns hold something, and most cost more than that
    n, part = columns.owner(held), columns.worth(held) * x
    some = part > NOTHING * np.bincount(n, part, question.users)[n]
    held = held[some]
    stated = np.where(question.rules, price, 0.0)
    if stated.any() and not pulls.even:
        return _own_pulls(question, held, x[some], value, price)
    row, each, entry = columns.entries(held)
    tasks = len(held)
    if columns.count <= FEW_COLUMNS:
        every = np.arange(columns.count)
        others = np.setdiff1d(every[columns.open(every)], held)
        held = np.concatenate([held, others])
        row, each, entry = columns.entries(held)
    worth = columns.worth(held) * value[columns.owner(held)]
    full = (used > 0) & (question.rhs - used <= FULL * question.unit) & question.rules
    own = np.flatnonzero(full) if not stated.any() else np.zeros(0, dtype=np.int64)
    hard = np.flatnonzero(pulls.hard)
    flows = np.unique(pulls.flow[hard])
    first = len(own) if len(own) else 1
    size = len(held) + len(flows), first + len(hard)
    if size[0] * (size[1] + len(hard)) > MOST_ENTRIES:
        return price
    matrix = np.zeros(size)
    if len(own):
        _fill(matrix, own, 0, row, each, entry / worth[each])
    else:
        matrix[: len(held), 0] = np.bincount(each, entry * stated[row], len(held)) / worth
    _fill(matrix, pulls.rows[hard], first, row, each, entry / worth[each])
    at = len(held) + np.searchsorted(flows, pulls.flow[hard]), first + np.arange(len(hard))
    matrix[at] = pulls.times[hard]
    unit = np.maximum(np.abs(matrix).max(axis=0), 1e-300)
    matrix /= unit
    matrix[len(held) :] /= np.maximum(np.abs(matrix[len(held) :]).max(axis=1), 1e-300)[:, None]
    right = np.zeros(len(matrix))
    soft = np.where(question.rules, 0.0, price)
    right[: len(held)] = 1.0 - np.bincount(each, entry * soft[row], len(held)) / worth
    if not (np.isfinite(matrix).all() and np.isfinite(right).all()):
        return price
    above = -np.eye(len(matrix))[:, tasks : len(held)]  # what others cost above their worth
    both = np.hstack([matrix, above, -matrix[:, first:]])  # pulls have either sign
    solution, _ = nnls(both, right, maxiter=100 * both.shape[1])
    pull = solution[first : size[1]] - solution[size[1] + above.shape[1] :]
    found = soft.copy()
    if len(own):
        found[own] = solution[:first] / unit[:first]
    else:
        found += stated * max(float(solution[0] / unit[0]), 1e-12)
    found[pulls.rows[hard]] = pull / unit[first:]
    return found


def _own_pulls(question: Question, held: Ints, x: Floats, value: Floats, price: Floats) -> Floats:
    """The same where each task has one hard pull alone: what the tasks with that pull are worth
    more than they cost, on average, but for what would flow."""
    pulls, columns = question.pulls, question.columns
    assert pulls is not None
    if not (pulls.hard & pulls.across).any():  # who has nothing there has a pull as well
        every = np.arange(columns.count)
        held = every[columns.open(every)]
        x = np.ones(len(held))
    row, each, entry = columns.entries(held)
    number = np.full(len(price), -1)
    number[pulls.rows[pulls.hard]] = np.flatnonzero(pulls.hard)
    found = np.where(number >= 0, 0.0, price)
    more = columns.worth(held) * value[columns.owner(held)]
    more = more - np.bincount(each, entry * found[row], len(held))
    at = np.flatnonzero(number[row] >= 0)
    own, much = number[row[at]], (entry[at] * x[each[at]])
    size = np.bincount(own, much, len(pulls.rows))
    pull = np.bincount(own, much * more[each[at]] / entry[at], len(pulls.rows))
    pull = np.divide(pull, size, out=np.zeros_like(pull), where=size > 0)
    times = np.where(size > 0, pulls.times, 0.0)
    count = int(pulls.flow.max()) + 1
    size = np.bincount(pulls.flow, times**2, count)
    over = np.bincount(pulls.flow, times * pull, count) / np.where(size > 0, size, 1.0)
    found[pulls.rows] += pull - times * over[pulls.flow]
    return found


def _fill(matrix: Floats, rows: Ints, start: int, row: Ints, each: Ints, entry: Floats) -> None:
    """Entries of these rows into columns from `start` on."""
    at = np.full(int(max(row.max(initial=0), rows.max(initial=0))) + 1, -1)
    at[rows] = np.arange(len(rows))
    on = at[row] >= 0
    matrix[each[on], start + at[row[on]]] = entry[on]


__all__ = ["fitted"]
