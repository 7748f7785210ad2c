"""What is asked along a path, at the present exponent, and what a state misses of it."""

from __future__ import annotations

import numpy as np

from fairopt.formulas import welfare
from fairopt.formulas.lowered import Lowered
from fairopt.instance import Bools, Floats
from fairopt.solving.engines.path.frame import Frame
from fairopt.solving.engines.path.state import LIGHTEST, PathMissing, PathParts, StateLayout

EASY, STEEP = 3.0, 2.5
"""largest exponent to begin at; that from which a share may be more than is due at its value"""
LITTLE = 1e-3
"""part of a share of about the size expected that a user counts as having at alpha 0, at least"""
STAKE = 1e-12
"""part of a user's money at least by which its columns are measured"""


class Basis:
    """A question, in units in which everything is about 1.

    Parameters
    ----------
    log_w : (N,) log W. floor : (N,) sigma. added : whether g is of s - sigma. unit : (N,) > 0, a
        share of about the size expected. active : (N,) who counts; others keep their floors.
    """

    together = False
    """whether tasks and prices go equally far, and all is measured in all of a user's money"""

    def __init__(
        self,
        low: Lowered,
        log_w: Floats,
        alpha: float,
        floor: Floats,
        added: bool,
        unit: Floats,
        active: Bools,
    ) -> None:
        self.frame, self.active = Frame(low, unit), active
        self.floor = floor / unit
        above = active & added
        self.base = np.where(above, self.floor, 0.0)
        self.steep = alpha >= STEEP
        self.layout = StateLayout(self.frame, (floor > 0) & ~above, active, self.steep)
        self.target, self.begins = alpha, min(alpha, EASY)
        self.log_phi, self.log_unit = log_w / alpha if alpha else log_w, np.log(unit)
        self.free = np.ones(len(unit), dtype=bool)
        self.at(self.begins)

    # -- exponents -----------------------------------------------------------------------------

    def at(self, alpha: float) -> None:
        """Weights at an exponent: W^(1/alpha) is kept while alpha grows."""
        self.alpha = alpha
        log_w = (alpha or 1.0) * self.log_phi + (1 - alpha) * self.log_unit
        self.log_w = np.where(self.active, log_w, 0.0)
        self.log_true = self.log_w

    def level(self, share: Floats) -> None:
        """A common factor of W, so that all money is 1."""
        some = self.active & self.free
        some = some if some.any() else self.active
        money = (self.log_w + (1 - self.alpha) * np.log(share))[some]
        self.log_w = self.log_w - welfare.log_sum_exp(money)
        self.log_true = self.log_w

    def due(self, value: Floats) -> Floats:
        """(N,) the share that users have at these values of a unit of it."""
        return np.asarray(np.exp(np.minimum((self.log_w - np.log(value)) / self.alpha, 690.0)))

    def paying(self, s: PathParts) -> Floats:
        """(N,) what a unit of share pays: its value, and the price of its floor."""
        q = np.where(self.active, s.value, 0.0)
        q[self.layout.floored] += s.pledge
        return q

    # -- what is missing -----------------------------------------------------------------------

    def missing(self, state: Floats) -> PathMissing:
        """What a state misses."""
        frame, layout = self.frame, self.layout
        s = layout.parts(state)
        held, q = frame.of(s.z), self.paying(s)
        cost = layout.cost(s.price)
        rent = layout.of_limits(s.rent)
        dual = cost + frame.limit * frame.to(rent) - frame.to(q) - s.dear
        part = frame.of(frame.limit * s.z)[layout.limited]
        # of a linear question users may be left with nothing, and count as having a little
        own = q * np.maximum(held, 1e-300 if self.target else LITTLE)
        money = float(own.sum())
        own = np.where(own > 0, own, money / frame.users)
        if self.steep:
            curve = self.due(s.value) + s.spare - s.share
        else:
            curve = np.log(s.value) + self.alpha * np.log(s.share) - self.log_w
        used = layout.used(s.z)
        return PathMissing(
            dual,
            layout.rhs - used - s.slack,
            1 - part - s.room,
            (held - self.floor)[layout.floored] - s.above,
            np.where(self.active, held - self.base - s.share, 0.0),
            np.where(self.active, curve, 0.0),
            held,
            q,
            cost,
            used[: frame.count],
            np.maximum(own, LIGHTEST * own.max()),
            money,
        )

    def levelled(self, state: Floats) -> None:
        """The common factor of W, which is free, such that what users miss of the relation of share
        and value cancels, counted by what they pay."""
        s = self.layout.parts(state)
        money = np.where(self.active & (self.log_w == self.log_true), s.value * s.share, 0.0)
        if not money.any():
            return
        curve = np.log(s.value) + self.alpha * np.log(s.share) - self.log_w
        shift = float(money @ curve / money.sum())
        if abs(shift) > 1e-3:
            self.log_w, self.log_true = self.log_w + shift, self.log_true + shift

    def error(self, state: Floats, missing: PathMissing) -> float:
        """The largest of what is missing, relative, and of each user's losses in its own money."""
        if not missing.money > 0:
            return np.inf
        frame, layout = self.frame, self.layout
        s = layout.parts(state)
        products = layout.products(state)
        dual = np.abs(missing.dual) * s.z
        per_user = frame.of(dual + products[: frame.columns]) / missing.own
        held = np.maximum(missing.held, 1e-300 if self.target else LITTLE)
        held = np.where(self.active, held, 1.0)
        floor = self.floor[layout.floored]
        found = max(
            float(per_user.max()),
            float(products.sum()) / missing.money,
            float(dual.sum()) / missing.money,
            float(np.abs(missing.rows).max(initial=0.0)),
            self.off(state, missing),
            float((np.abs(missing.shares) / held).max()),
            float(np.abs(missing.limits).max(initial=0.0)),
            float((np.abs(missing.floors) / floor).max(initial=0.0)),
        )
        return found if np.isfinite(found) else np.inf

    def off(self, state: Floats, missing: PathMissing) -> float:
        """The largest part by which a share is not what is due at its value."""
        curve = np.abs(missing.curve)
        if not self.steep:
            return float(curve.max()) / max(1.0, self.alpha)
        s = self.layout.parts(state)
        return float(((curve + s.spare) / s.share)[self.active].max())

    def targets(self, state: Floats, missing: PathMissing) -> Floats:
        """What products are measured in: the money of users, of rows the mean of who uses them.

        A ceiling that all of a user's tasks count against alike does not say where they run: that
        is decided by what it pays beside, which may be 1e-7 of its money. And what is lent counts
        as little as who lends."""
        frame, layout = self.frame, self.layout
        s, mean = layout.parts(state), missing.money / frame.users
        per = np.full(frame.columns, mean)
        apart = not self.together and (len(frame.wide) > 0 or frame.columns > frame.tasks)
        own = self._moving(s, missing) if apart else missing.own
        per[: frame.tasks] = own[frame.owner]
        if apart:
            taken = np.abs(frame.value) * s.z[frame.column]
            paying = per[frame.column]
            paying[frame.wide] = missing.own[frame.owner[frame.column[frame.wide]]]
            if frame.columns > frame.tasks:
                per[frame.tasks :] = self._of_flows(taken, paying, mean)
                paying = np.where(frame.is_task[frame.column], paying, per[frame.column])
            use = np.bincount(frame.row, taken, frame.count).astype(np.float64)
            by_money = np.bincount(frame.row, taken / paying, frame.count)
        else:
            use = frame.size_of @ s.z if frame.signed else missing.used
            by_money = frame.size_of @ (s.z / per)
        rows = np.where(by_money > 0, use / np.where(by_money > 0, by_money, 1.0), mean)
        own = missing.own
        return np.concatenate(
            [
                per,
                rows,
                per[frame.bounded],
                own[layout.limited],
                own[layout.floored],
                own[layout.counted] / self.alpha,
            ]
        )

    def _moving(self, s: PathParts, missing: PathMissing) -> Floats:
        """(N,) what users pay beside what is the same wherever they run: where that is decided."""
        frame = self.frame
        if not len(frame.wide):
            return missing.own
        wide = frame.wide
        paid = frame.value[wide] * s.price[frame.row[wide]]
        same = np.bincount(frame.column[wide], paid, frame.columns).astype(np.float64)
        rest = (missing.cost - same)[: frame.tasks]
        rest += same[: frame.tasks] - frame.smallest(same[: frame.tasks])[frame.owner]
        own = np.where(frame.of(same) > 0, frame.of(rest * s.z[: frame.tasks]), missing.own)
        return np.clip(own, STAKE * missing.own, missing.own)

    def _of_flows(self, taken: Floats, paying: Floats, mean: float) -> Floats:
        """(F,) what flows are measured in: the least money of the rows between which they lend.
        Rows that hold no tasks have that of their flows.

        taken, paying : (E,) what is used, and by whose money, of each entry.
        """
        frame = self.frame
        flow = ~frame.is_task[frame.column]
        row, each = frame.row[flow], frame.column[flow] - frame.tasks
        taken = np.where(flow, 0.0, taken)
        use = np.bincount(frame.row, taken, frame.count)
        by_money = np.bincount(frame.row, taken / paying, frame.count)
        holds = by_money > 0
        money = np.where(holds, use / np.where(holds, by_money, 1.0), np.inf)
        found = np.full(frame.columns - frame.tasks, np.inf)
        while True:
            before = money.copy()
            np.minimum.at(found, each, money[row])
            least = np.full(frame.count, np.inf)
            np.minimum.at(least, row, found[each])
            money = np.where(holds, money, least)
            if np.array_equal(money, before):
                return np.where(np.isfinite(found), found, mean)
