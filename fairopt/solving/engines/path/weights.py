r"""Weights on the way: alpha rises in stages, and who is at a limit counts less than it would.

The heavier a user is that is at its limit, the farther its value is above all prices, though its
answer stays the same. With a smaller weight, at which its limit still has a price, nothing is the
difference of large numbers; the price of the limit is made up for at the end.
"""

from __future__ import annotations

import numpy as np

from fairopt.instance import Bools, Floats
from fairopt.solving.engines.path.frame import Frame
from fairopt.solving.engines.path.state import Conditions, Parts

EASY, PACE = 2.0, 25.0
"""alpha of the first stage; most by which values may move apart from one to the next (log)"""
FAR = 30.0
"""value at a limit in what the user pays, at most"""
CHANGE = 3.0
"""factor from which a smaller weight is worth a change"""


class Weights(Conditions):
    """The conditions with the weights of a stage.

    log_w : (N,) in use; log_true : (N,) before users at limits were made lighter. free : (N,) who
    is not at its limit. target : alpha asked for. stride : factor between stages.
    """

    beyond = FAR

    def __init__(
        self,
        frame: Frame,
        log_w: Floats,
        alpha: float,
        floor: Floats,
        added: bool,
        unit: Floats,
        active: Bools,
        stride: float,
    ) -> None:
        super().__init__(frame, floor / unit, added, active)
        self.target, self.first, self.stride = alpha, min(alpha, EASY), stride
        self.log_phi, self.log_unit = log_w / alpha, np.log(unit)
        self.free = np.ones(frame.users, bool)
        self.log_true = self.log_w

    def set_alpha(self, alpha: float, held: Floats) -> None:
        """Weights of this alpha, by a factor that makes the money of all at shares `held` 1."""
        self.alpha = alpha
        log_w = np.where(self.active, alpha * self.log_phi + (1 - alpha) * self.log_unit, 0.0)
        some = self.active & self.free
        some = some if some.any() else self.active
        money = (log_w + (1 - alpha) * np.log(held))[some]
        top = money.max()
        self.log_w = self.log_true = log_w - (top + np.log(np.exp(money - top).sum()))

    def lighter(self, state: Floats) -> tuple[Floats, bool]:
        """The state with users at limits made lighter where their values are far above all prices;
        and whether any was."""
        frame = self.frame
        if not len(self.limited):
            return state, False
        s = self.parts(state)
        rent = self.of_users(s.rent, "limited")
        cost = self.cost(s)[: frame.count]
        least = np.where(frame.limited, frame.least, 1.0)
        more = frame.g[: frame.count] - frame.least[frame.owner]
        pays = frame.cheapest(cost + more * rent[frame.owner])
        far = np.full(frame.users, FAR)
        if frame.mixed:  # and above what columns that take more of the limit could save
            off = more > 1e-9 * frame.most[frame.owner]
            best = frame.cheapest(np.where(off, np.inf, cost))
            saved = np.where(off, (best[frame.owner] - cost) / np.where(off, more, 1.0), 0.0)
            saved *= frame.least[frame.owner]
            far = far * (1 + np.maximum(np.maximum.reduceat(saved, frame.first), 0.0) / pays)
        pays = np.maximum(pays, 1e-7 * least / frame.users)
        cap = np.minimum(self.log_true, np.log(far * pays) - self.alpha * np.log(least))
        change = frame.limited & self.active & (np.abs(cap - self.log_w) > np.log(CHANGE))
        moved = np.where(change, cap - self.log_w, 0.0)
        if not moved.any():
            return state, False
        self.log_w = self.log_w + moved
        state = state.copy()
        s = self.parts(state)
        value = s.value * np.exp(moved)
        due = rent + (value - s.value) / least
        s.rent[:] = np.where((moved != 0) & (due > 0), due, rent)[self.limited]
        s.value[:] = np.where(moved != 0, value, s.value)
        return state, True

    def raised(self, state: Floats) -> Floats:
        """The state, with the weights, of the next alpha: prices follow the values of who pays
        them, and idle columns shrink as they become dearer."""
        frame, active = self.frame, self.active
        state = state.copy()
        s = self.parts(state)
        before = np.where(active, s.value, 1.0)
        rent, nu = self.of_users(s.rent, "limited"), self.of_users(s.nu, "floored")
        held = rent * frame.most > 0.5 * before
        old = frame.cheapest(self.cost(s))
        self.free = ~held
        self.set_alpha(self._next(s.share), s.share)
        counts = active & ~held
        value = np.where(counts, np.exp(self.log_w - self.alpha * np.log(s.share)), 1.0)
        more = np.where(counts, value / before, 1.0)
        paid = np.abs(frame.value) * (s.z * frame.to(np.where(held, 0.0, before)))[frame.column]
        down = np.bincount(frame.row, paid, frame.m)
        up = np.bincount(frame.row, paid * frame.to(more)[frame.column], frame.m)
        s.price[:] *= np.where(down > 0, up / np.where(down > 0, down, 1.0), 1.0)
        s.own[:] *= frame.to(more)[frame.place]
        new = frame.cheapest(self.cost(s))
        least = np.where(frame.limited, frame.least, 1.0)
        cap = np.log(FAR * new) - self.alpha * np.log(least)
        lighter = frame.limited & active
        self.log_w = np.where(lighter, np.minimum(self.log_true, cap), self.log_w)
        value = np.exp(self.log_w - self.alpha * np.log(s.share))
        s.value[:] = np.where(active, value, 1.0)
        due = np.maximum(s.value - new, 0.1 * new) / least
        rent = np.where(held, due, rent * more)
        s.rent[:] = rent[self.limited]
        more = np.where(held, new / old, more)
        s.nu[:] = (nu * more)[self.floored]
        self._reset(s, before, frame.to(more), rent)
        return state

    def _next(self, share: Floats) -> float:
        """The next alpha: not so far that values move apart by more than PACE."""
        apart = (self.log_phi - self.log_unit - np.log(share))[self.active & self.free]
        wide = float(np.ptp(apart)) if len(apart) else 0.0
        pace = max(PACE / max(wide, 1e-9), 0.02 * self.alpha)
        return min(self.target, self.stride * self.alpha, self.alpha + pace)

    def _reset(self, s: Parts, before: Floats, more: Floats, rent: Floats) -> None:
        """What columns are dearer, at the new prices; who holds little of one holds less."""
        frame = self.frame
        more[frame.count :] = 1.0
        pays = np.where(self.active, s.value, 0.0)
        pays[self.floored] += s.nu
        rise = self.cost(s) + frame.g * frame.to(rent) - frame.to(pays)
        idle = s.z * frame.to(before) < s.dear * frame.to(s.share)
        idle[frame.count :] = False
        dear = np.where(idle, np.maximum(rise, more * s.dear), more * s.dear)
        s.z[:] = np.where(idle, np.minimum(s.z, s.z * s.dear * more / dear), s.z)
        s.dear[:] = dear


__all__ = ["EASY", "Weights"]
