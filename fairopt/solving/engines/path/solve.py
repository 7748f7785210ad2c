"""The answer at the end of the path, in the units of the question."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from fairopt.errors import SolverFailure
from fairopt.formulas.lowered import Lowered
from fairopt.instance import Bools, Floats
from fairopt.solving.engines.path.along import Path

CLEAR = 1e-6
"""a column, or a price, that is smaller by this than what vanishes with it is nothing"""
LARGEST_LOG = 600.0
"""log of the largest number that prices are multiplied by"""
FINE, CLOSE, MANY_COLUMNS = 1e-9, 1e-8, 100_000
"""a larger error is tried again; of so many columns, where that takes seconds or minutes, if it is
larger than CLOSE, from where the judge's own steps get to the optimum"""
WAYS = (
    (True, False, 3.0, (2.0, 25.0)),
    (False, False, 2.0, (2.0, 25.0)),
    (False, False, 1.0, (1.1, 4.0)),
    (False, True, 0.5, (1.25, 10.0)),
    (False, True, 1.0, (1.1, 4.0)),
)
"""whether exponents follow quickly on each other; whether tasks and prices go equally far, and all
is measured in all of a user's money; the largest exponent to begin at; largest stride and pace"""
PATIENT = 100
"""steps in which nothing is halved that the last way makes at one exponent: where many limits bind
or trees lend, weights that span a hundred decades are met slowly"""


@dataclass(frozen=True)
class PathAnswer:
    """x (P,) tasks of the columns, price (M,) of the rows, nu (N,), steps made, what is left."""

    x: Floats
    price: Floats
    nu: Floats
    steps: int
    left: float


def solve(
    low: Lowered,
    log_w: Floats,
    alpha: float,
    floor: Floats,
    added: bool,
    unit: Floats,
    active: Bools | None = None,
) -> PathAnswer:
    """The alpha-fair answer, alpha > 0.

    Parameters
    ----------
    log_w : (N,) log W. floor : (N,) sigma. added : whether g is of s - sigma.
    unit : (N,) > 0, a share of about the size expected of each user.
    active : (N,) who counts in the objective; others keep their floors. Default all.

    Raises
    ------
    SolverFailure : where it ends are no numbers. How near it came is for the judge to say.
    """
    active = np.ones(len(unit), bool) if active is None else active
    with np.errstate(all="ignore"):  # it sees what is no number itself
        path, state, left = _followed(low, log_w, alpha, floor, added, unit, active)
        x, price, pledge = _cleared(path, state)
        # prices are of the welfare with the heaviest W = 1
        given = log_w + (1 - alpha) * np.log(unit)
        log_money = (given - path.log_true)[active][0] - log_w.max()
        price = price[: len(low.rhs)] / low.unit
        # in less money where prices would else be beyond the largest float; limits' alone are cut
        limits = path.frame.row_of_limit[path.frame.limited]
        shared = np.log(np.delete(price, limits).max(initial=1.0))
        money = float(np.clip(log_money, -LARGEST_LOG, LARGEST_LOG - shared))
        answer = PathAnswer(
            x * path.frame.size[: len(x)],
            _times(price, money),
            _times(pledge / unit, money),
            path.steps,
            left,
        )
    if not all(np.isfinite(part).all() for part in (answer.x, answer.price, answer.nu)):
        raise SolverFailure(f"interior: no numbers, at an error of {left:.2g}")
    return answer


def _times(price: Floats, log_money: float) -> Floats:
    """Prices in other money; those of limits may be beyond the largest float."""
    return np.asarray(np.exp(np.minimum(np.log(price) + log_money, LARGEST_LOG)))


def _followed(
    low: Lowered,
    log_w: Floats,
    alpha: float,
    floor: Floats,
    added: bool,
    unit: Floats,
    active: Bools,
) -> tuple[Path, Floats, float]:
    """The path that comes nearest, its end, and its error: a steep one is first tried quickly, if
    there are no limits, and last in shorter stages; where none ends, all once more with steps that
    may end at the border, where rows that leave nobody anything are met exactly."""
    best: tuple[Path, Floats, float] | None = None
    fine = FINE if len(low.owner) < MANY_COLUMNS else CLOSE
    tried: list[tuple[bool, bool, float, tuple[float, float] | None, bool]] = []
    for touches, (quick, together, begins, stages) in product((False, True), WAYS):
        path = Path(low, log_w, alpha, floor, added, unit, active)
        if quick and (not path.steep or path.frame.limited.any()):
            continue
        # a path that begins where it ends has no stages, and may be one that was followed already
        way = quick, together, min(alpha, begins), stages if begins < alpha else None, touches
        if way in tried:
            continue
        tried.append(way)
        path.begins, path.touches = min(alpha, begins), touches
        path.quick, path.together, (path.stride, path.pace) = quick, together, stages
        if (quick, together, begins, stages) == WAYS[-1]:
            path.patience = PATIENT
        state, left = path.run()
        if best is None or left < best[2]:
            best = path, state, left
        if left < fine:
            break
    assert best is not None
    return best


def _cleared(path: Path, state: Floats) -> tuple[Floats, Floats, Floats]:
    """Columns (P,), prices (rows,) and prices of floors (N,), each 0 where it is nothing."""
    frame, layout = path.frame, path.layout
    s, missing = layout.parts(state), path.missing(state)
    z, tasks = s.z.copy(), frame.tasks
    held, q = missing.held[frame.owner], missing.q[frame.owner]
    # beyond the cheapest of a user's columns, which it keeps
    dearer = s.dear[:tasks] - frame.smallest(s.dear[:tasks])[frame.owner]
    z[:tasks] = np.where(z[:tasks] / held < CLEAR * dearer / q, 0.0, z[:tasks])
    # the largest part of anybody's money that a row takes
    paid = np.where(frame.is_task, frame.to(missing.held * missing.q), 1.0)
    part = np.zeros(len(s.price))
    entry = np.where(frame.is_task[frame.column], np.abs(frame.value), 0.0)
    np.maximum.at(part, frame.row, entry * z[frame.column] / paid[frame.column])
    # what is lent makes the prices of its rows the same, whoever uses them
    flows = frame.row[~frame.is_task[frame.column]]
    part[flows] = np.maximum(part[flows], 1.0 / missing.money)
    part[frame.count :] = np.where(
        frame.is_task[frame.bounded], np.abs(frame.bound) * z[frame.bounded], 1.0
    )
    part[frame.count :] /= paid[frame.bounded]
    cleared = np.where(s.price * part < CLEAR * s.slack, 0.0, s.price)
    rent = layout.of_limits(s.rent)
    cleared = _kept_out(path, cleared, q - (frame.limit * frame.to(rent))[: len(q)], q)
    price = np.zeros(frame.rows)
    price[frame.shared], price[frame.alone] = cleared[: frame.count], cleared[frame.count :]
    # beyond the smaller weight that a user at its limit counted with
    log_value = np.minimum(path.log_true - path.alpha * np.log(s.share), LARGEST_LOG)
    beyond = np.exp(log_value) - np.exp(path.log_w - path.alpha * np.log(s.share))
    rent += np.maximum(beyond, 0.0) / np.where(frame.limited, frame.least_limit, 1.0)
    mine = layout.limited
    price[frame.row_of_limit[mine]] = rent[mine] / frame.rhs_limit[mine]
    pledge = np.zeros(frame.users)
    pledge[layout.floored] = s.pledge
    return z[:tasks], price, pledge


def _kept_out(path: Path, price: Floats, due: Floats, q: Floats) -> Floats:
    """Prices that are nothing to those who use their rows, where one of far less money would have
    tasks there for nothing: as high as what that one pays elsewhere.

    due : (P,) what resources for a unit of share may cost beside its limit, q : (P,) what it pays.
    """
    frame, count = path.frame, path.frame.count
    short = due - path.layout.cost(price)[: frame.tasks]
    if not (short > 0.5 * q).any():
        return price
    short = np.concatenate(
        [np.where(short > 0.5 * q, short, 0.0), np.zeros(frame.columns - len(q))]
    )
    none = (price[frame.row] == 0) & (frame.value > 0)
    taken = np.bincount(frame.column, np.where(none, frame.value, 0.0), frame.columns)
    price = price.copy()
    np.maximum.at(price[:count], frame.row[none], (short / taken)[frame.column[none]])
    return price
