r"""Alpha-fairness over any linear rules with floors: a primal-dual interior method.

.. math:: \max \sum_n W_n g_\alpha(s_n - b_n), \quad S x = s \ge \sigma, \quad A z \le r,
          \quad z = (x, y) \ge 0

A step eliminates the columns, and with them the rows that bound one column alone (`step`).

Unknown are the columns z with their duals (what a column is dearer than the cheapest), the rows'
slacks and prices p, the shares with their prices q = m + nu, m = W (s - b)^-alpha the marginal
value and nu the price of the floor. The equation of m is taken in logarithms, so that steep
alpha needs no more steps. A step eliminates the columns user by user, and is a dense system in the
prices of the rows. What goes to zero together is measured in each user's own money m s.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fairopt.errors import SolverFailure
from fairopt.formulas.lowered import Lowered
from fairopt.instance import Bools, Floats
from fairopt.solving.engines.quotas.least import least
from fairopt.solving.engines.quotas.problem import Problem, State
from fairopt.solving.engines.quotas.scaled import standard
from fairopt.solving.engines.quotas.step import System, longest

STEPS = 300
"""most steps"""
STUCK = 40
"""steps without progress after which it ends: users of little money come last"""
END = 1e-12
"""products of what goes to zero together, in users' money, at which it ends"""
BINDING = 1e-6
"""a row of which less is left is full"""
TIED = 1e-8
"""the same for what may be nothing or free: at least one of both"""
RIGHT = 1e-10
"""error of rows and marginal values, relative, at which it ends"""
ENOUGH = 1e-5
"""a larger error is a failure"""
FAR = 2.0
"""factor by which a step may change a marginal value, about"""
FILLING = 15
"""rounds in which a first point is looked for"""
WIDE = 1e-4
"""part of their mean below which no product may fall"""
SHORT = 0.995
"""part of the way to the border that a step goes"""


@dataclass(frozen=True)
class Answer:
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
) -> Answer:
    """The alpha-fair answer, alpha > 0.

    Parameters
    ----------
    log_w : (N,) log W. floor : (N,) sigma. added : whether g is of s - sigma.
    unit : (N,) > 0, a share of about the size expected of each user.
    active : (N,) who counts in the objective; others keep their floors. Default all.

    Raises
    ------
    SolverFailure : the steps became too short, or no number.
    """
    form = standard(low, unit)
    active = np.ones(len(unit), bool) if active is None else active
    own = log_w + (1 - alpha) * np.log(unit)
    method = _Method(form, own - own.max(), alpha, floor / unit, added, active)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # it sees them itself
        state, steps, left = method.run()
    money = np.exp(own.max() - log_w.max())  # prices are of the welfare with the heaviest W = 1
    price = state.price[: form.rows] / low.unit * money
    return Answer(
        state.z[: low.columns] * form.size[: low.columns],
        price,
        state.nu / unit * money,
        steps,
        left,
    )


class _Method(Problem):
    """The path from a first point to the end."""

    def run(self) -> tuple[State, int, float]:
        s = self.start()
        best, mark, kept, stuck = np.inf, np.inf, s, 0
        step = 0
        while step < STEPS:
            wrong, tau = self.errors(s)
            tied = self.tied(s)
            left = max(100 * wrong, tau, tied)  # rules may be missed by 1e-9 only
            if left < 0.9 * mark:
                mark, stuck = left, 0
            if left < best:
                best, kept = left, replace(s)
            stuck += 1
            own = self.money(s)[2][self.active]
            # what is idle must be little beside the money of the poorest, too
            end = END * max(float(own.min() / own.mean()), 1e-7)
            ended = wrong <= RIGHT and tau <= end and tied <= TIED
            if ended or stuck > STUCK or not np.isfinite(left):
                break
            try:
                self.step(s, tau)
            except SolverFailure:
                break
            step += 1
        if best > ENOUGH:
            raise SolverFailure(f"interior: stopped at an error of {best:.2g}")
        return self.corrected(kept), step, best

    def corrected(self, s: State) -> State:
        """The state with full rows and binding floors met to rounding, by the least change of the
        columns relative to themselves."""
        from scipy.sparse import csr_array, diags_array, vstack

        full = s.slack <= BINDING
        z, free = s.z.copy(), np.ones(len(s.z))
        # a row of one column is met by that column, which then stays
        met = full[self.alone]
        z[self.of_alone[met]] = self.form.rhs[self.alone[met]] / self.entry[met]
        free[self.of_alone[met]] = 0.0
        full[self.alone] = False
        held = np.flatnonzero(self.floored & (s.above <= BINDING * self.floor))
        rows = csr_array(vstack([self.a[full], self.of.T.tocsr()[held]]))
        wanted = np.concatenate([self.form.rhs[full], self.floor[held]])
        for _ in range(3):
            scaled = rows @ diags_array(z * free)
            miss = wanted - rows @ z
            if np.abs(miss).max(initial=0.0) <= 1e-13:
                break
            answer = least((scaled @ scaled.T).toarray(), miss)
            z = np.maximum(z + free * z * (scaled.T @ answer), 0.0)
        before = self.miss(s.z)
        return replace(s, z=z) if self.miss(z) < before else s

    def miss(self, z: Floats) -> float:
        """The largest part by which a row is exceeded or a floor missed."""
        over = float((self.a @ z - self.form.rhs).max(initial=0.0))
        share = self.of.T @ z
        short = (self.floor - share)[self.floored] / self.floor[self.floored]
        return max(over, float(short.max(initial=0.0)))

    def start(self) -> State:
        a, users = self.a, self.users
        ones = np.ones(users)
        each = np.bincount(self.owner, minlength=users)
        z = np.full(a.shape[1], 0.1)
        z[: self.count] = 1.0 / each[self.owner]
        # every column grows until one of its rows is half full
        tasks = a[:, : self.count]
        room = np.where(self.form.rhs > 0, self.form.rhs, 1.0)
        where = (tasks.T > 0).tocsr()
        for _ in range(FILLING):
            taken = (tasks @ z[: self.count]) / room
            fullest = np.asarray(where.multiply(taken[None, :]).max(axis=1).todense()).ravel()
            z[: self.count] *= np.sqrt(0.5 / np.maximum(fullest, 1e-12))
        z[: self.count] *= 0.5 / max(float(((tasks @ z[: self.count]) / room).max()), 1e-6)
        # a floor is begun a little above
        short = (1.1 * self.floor / np.maximum(self.of.T @ z, 1e-300))[self.owner]
        z[: self.count] *= np.maximum(short, 1.0)
        share = np.maximum(self.of.T @ z - self.base, 0.05)
        value = self.values(share)
        slack = np.maximum(self.form.rhs - a @ z, 0.2)
        price = (value * share).sum() / (len(slack) * slack)
        gain = self.of @ value
        least = float(value[self.active].min())
        dear = np.maximum(self.at @ price - gain, 0.1 * gain + 0.1 * least)
        nu = np.where(self.floored, np.maximum(0.1 * value, 0.1 * least), 0.0)
        above = np.where(self.floored, np.maximum(share - self.floor, 0.1 * self.floor), ones)
        return State(z, dear, slack, price, share, value, above, nu)

    def tied(self, s: State) -> float:
        """How far anything is from being nothing, or else free: where a floor is just what its user
        would have anyway, both its price and what is above it vanish, with the root of tau."""
        q = self.of @ (s.value + s.nu)
        paid = np.where(q > 0, q, np.inf)[: self.count]
        # the most of what anybody pays that is the price of a row
        part = self.a[:, : self.count].multiply(1.0 / paid[None, :]).max(axis=1)
        room = np.maximum(np.abs(self.form.rhs), 1e-3)
        pairs = [
            (s.slack / room, s.price * np.asarray(part.todense()).ravel()),
            (
                s.z[: self.count] / (s.share + self.base)[self.owner],
                (s.dear / np.where(q > 0, q, np.inf))[: self.count],
            ),
            (
                (s.above / np.maximum(self.floor, 1e-300))[self.floored],
                (s.nu / np.where(s.value > 0, s.value, s.nu))[self.floored],
            ),
        ]
        return float(max(np.minimum(*pair).max(initial=0.0) for pair in pairs))

    def errors(self, s: State) -> tuple[float, float]:
        rows, shares, columns, values, floors = self.residuals(s)
        q = self.of @ (s.value + s.nu)
        scale = np.where(q > 0, q, s.price.max())
        size = np.where(self.active, s.share + self.base, np.maximum(self.floor, 1.0))
        wrong = max(
            float(np.abs(rows).max()),
            float(np.abs(shares / size).max()),
            float(np.abs(columns / scale).max()),
            float(np.abs(values).max()),
            float(np.abs(floors / size).max()),
        )
        of_columns, of_rows, own = self.money(s)
        products = [s.z * s.dear / of_columns, s.slack * s.price / of_rows]
        if self.floored.any():
            products.append((s.nu * s.above / own)[self.floored])
        return wrong, float(np.concatenate(products).mean())

    def step(self, s: State, tau: float) -> None:
        """A predictor to the border, then a centred step that corrects what it left."""
        system = System(self, s)
        free = system.direction(-s.z * s.dear, -s.slack * s.price, -s.nu * s.above)
        far = longest(s, free, self)
        wrong = self.errors(s)[0]
        centre = max(min((1 - far) ** 3, 0.9), 0.3 if wrong > 1e-2 else 0.0)
        of_columns, of_rows, own = self.money(s)
        want = max(centre * tau, 1e-8 * END)
        second = 1.0 if far > 0.1 and wrong < 1.0 else 0.0
        moved = system.direction(
            want * of_columns - s.z * s.dear - second * free.z * free.dear,
            want * of_rows - s.slack * s.price - second * free.slack * free.price,
            np.where(self.floored, want * own - s.nu * s.above - second * free.nu * free.above, 0),
        )
        length = min(1.0, SHORT * longest(s, moved, self, 1.0 / SHORT))
        length = self.inside(s, moved, length)
        # no marginal value changes by more than a factor of about FAR
        there = self.active
        pace = float(np.abs(moved.share / s.share)[there].max()) * max(self.alpha, 1.0)
        length = min(length, FAR / pace) if pace > 0 else length
        for name in ("z", "dear", "slack", "price", "share", "above", "nu"):
            setattr(s, name, getattr(s, name) + length * getattr(moved, name))
        s.value = self.values(s.share)

    def inside(self, s: State, step: State, length: float) -> float:
        """The length cut until no product is below a small part of their mean."""
        of_columns, of_rows, own = self.money(s)
        f = self.floored
        while length > 1e-6:
            products = np.concatenate(
                [
                    (s.z + length * step.z) * (s.dear + length * step.dear) / of_columns,
                    (s.slack + length * step.slack) * (s.price + length * step.price) / of_rows,
                    ((s.nu + length * step.nu) * (s.above + length * step.above) / own)[f],
                ]
            )
            if products.min() >= WIDE * products.mean():
                break
            length *= 0.8
        return length
