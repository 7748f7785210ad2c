r"""Alpha-fairness over any linear rules with floors, alpha > 0: one primal-dual path.

The conditions are in `state`, a step in `steps`, its linear algebra in `system`. Alpha above 2 is
reached in stages (`weights`), each begun where the last one came close to its end.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairopt.errors import SolverFailure
from fairopt.formulas.lowered import Lowered
from fairopt.instance import Bools, Floats
from fairopt.solving.engines.path.frame import Frame
from fairopt.solving.engines.path.start import start
from fairopt.solving.engines.path.state import Errors, Parts
from fairopt.solving.engines.path.steps import step
from fairopt.solving.engines.path.weights import EASY, Weights

MOST, PATIENCE = 150, 10
"""steps of a stage; steps without progress after which it ends"""
HALF_WAY, NEAR, GOOD, END = 1e-2, 1e-11, 1e-14, 5e-15
"""errors at which a stage ends, at which less patience is due, and at which the last one ends"""
ENOUGH = 1e-4
"""a larger error is a failure"""
STRIDES = 2.0, 1.5, 1.25
"""factors between stages; the next where a stage has no way on from where the last one ended"""
CLEAR = 1e-6
"""what is this much smaller than what it goes to zero with is zero"""


@dataclass(frozen=True)
class Answer:
    """x (P,) tasks of the columns, price (M,) of the rows, nu (N,) of floors, steps made, the
    largest error left."""

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
) -> Answer:
    """The alpha-fair answer, alpha > 0.

    Parameters
    ----------
    log_w : (N,) log W. floor : (N,) sigma. added : whether g is of s - sigma.
    unit : (N,) > 0, a share of about the size expected of each user.
    active : (N,) who counts in the objective; others keep their floors. Default all.

    Raises
    ------
    SolverFailure : no step leads closer to the optimum.
    """
    everybody = np.ones(len(unit), bool) if active is None else active
    with np.errstate(all="ignore"):  # what is no number ends the path by itself
        frame, steps = Frame(low, unit), 0
        for stride in STRIDES if alpha > EASY else STRIDES[:1]:
            of = Weights(frame, log_w, alpha, floor, added, unit, everybody, stride)
            path = _Path(of)
            state, left = path.run()
            steps += path.steps
            if left < ENOUGH:
                return _answer(of, state, low, log_w, unit, steps, left)
        raise SolverFailure(f"path: stopped at an error of {left:.2g}")


class _Path:
    """From a first point to the end."""

    def __init__(self, of: Weights) -> None:
        self.of, self.steps = of, 0

    def run(self) -> tuple[Floats, float]:
        """The last state and its error."""
        state, of = start(self.of), self.of
        while of.alpha < of.target:
            state, left = self.descend(state, HALF_WAY)
            if not left < 1.0:
                return state, left
            state = of.raised(state)
        return self.descend(state, END)

    def descend(self, state: Floats, enough: float) -> tuple[Floats, float]:
        """The best state of a stage, and its error."""
        of, best = self.of, state
        least = mark = mean = lowest = np.inf
        worse = 0
        for _ in range(MOST):
            state, lighter = of.lighter(state)
            e: Errors = of.errors(state)
            error = of.largest(state, e)
            if not error < np.inf:
                break
            # progress is an error halved since the last halving, or products that still fall
            worse = 0 if error < 0.5 * mark or lighter else worse + 1
            if error < least:
                best, least = state, error
                mark = mark if worse else error
            if mean < 0.5 * lowest and least > NEAR:
                lowest, worse = mean, 0
            patience = 1 if least <= GOOD else 2 if least <= NEAR else PATIENCE
            if least <= enough or worse > patience:
                break
            found = step(of, state, e)
            if found is None or not np.isfinite(found[0]).all():
                break
            state, mean = found
            self.steps += 1
        return best, least


def _answer(
    of: Weights,
    state: Floats,
    low: Lowered,
    log_w: Floats,
    unit: Floats,
    steps: int,
    left: float,
) -> Answer:
    """The answer in its own units, without what is zero but for rounding."""
    s, e, frame = of.parts(state), of.errors(state), of.frame
    x, row_price, lone_price = _cleared(of, s, e)
    price = np.zeros(max(len(low.rhs), int(frame.of_low.max(initial=0)) + 1))
    price[frame.of_low] = row_price
    price[frame.of_place] = lone_price / frame.alone
    # what limits cost beyond the smaller weights of their users
    held = np.log(s.share) * of.alpha
    true = np.exp(np.minimum(of.log_true - held, 600.0)) - np.exp(of.log_w - held)
    more = np.where(of.active, np.maximum(true, 0.0), 0.0) / np.where(
        frame.limited, frame.least, 1.0
    )
    rows = frame.of_limit[of.limited]
    price[rows] = (s.rent + more[of.limited]) / (low.rhs / low.unit)[rows]
    # prices are of the welfare with the heaviest W = 1
    n = int(np.argmax(of.active))
    own = of.log_true[n] - (log_w + (1 - of.alpha) * np.log(unit))[n]
    money = np.exp(-own - log_w.max())
    nu = of.of_users(s.nu, "floored")
    tasks = x[: frame.count] * frame.size[: frame.count]
    return Answer(tasks, price[: len(low.rhs)] / low.unit * money, nu / unit * money, steps, left)


def _cleared(of: Weights, s: Parts, e: Errors) -> tuple[Floats, Floats, Floats]:
    """Columns, prices of rows and of lone columns, with the smaller of two that go to zero
    together 0 where it clearly is."""
    frame = of.frame
    pays = frame.to(e.pays)[: frame.count]
    held = e.share[frame.owner]
    x = s.z.copy()
    idle = x[: frame.count] / held < CLEAR * s.dear[: frame.count] / pays
    x[: frame.count][idle] = 0.0
    part = np.zeros(frame.m)
    mine = frame.column < frame.count
    column = frame.column[mine]
    entry = np.abs(frame.value[mine]) * s.z[column] / (held * pays)[column]
    np.maximum.at(part, frame.row[mine], entry)
    price = np.where(s.price * part < CLEAR * s.w, 0.0, s.price)
    of_all = s.own * frame.by * s.z[frame.place] / (held * pays)[frame.place]
    return x, price, np.where(of_all < CLEAR * s.left, 0.0, s.own)


__all__ = ["Answer", "solve"]
