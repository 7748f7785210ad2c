r"""Newton on the optimality conditions of an active set, in logarithms of tasks and money.

For held pairs H, full rows F and users at their limit L the conditions are as many as the unknowns

.. math:: \log c_h = \log W_n + \log u_h - \alpha \log s_n \; (h \in H), \qquad
          \log \sum_h x_h b_{h,f} = 0 \; (f \in F), \qquad \log (x_n / L_n) = 0 \; (n \in L),

c_h = sum_f p_f b_{h,f} + mu_n with b the part of the row's capacity one task uses. In logarithms
every row of the Jacobian sums to about 1 or alpha, whatever the units, weights and prices.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.linalg import lstsq
from scipy.sparse import block_array, csc_array, eye_array
from scipy.sparse.linalg import splu

from fairopt import clock
from fairopt.instance import Floats, Ints
from fairopt.solving.engines.point import AlphaQuestion, Point
from fairopt.solving.engines.polish.conditions import ActiveSet, Conditions

CONVERGED = 1e-12
"""error of the conditions at which the next step is the last"""
ROUNDED = 1e-15
"""error that no step makes smaller"""
DENSE = 500
"""unknowns up to which the Newton step is a dense least-norm solution"""
HIGH = 250.0
"""largest size of the logarithm of the dearest row's money; beyond it all money is rescaled"""
SPARE = 4
"""most rows that are left out, one at a time, where Newton does not converge"""
ROUNDS = 40
"""changes of the active set"""
WORK = 10_000_000
"""entries of all sparse factors of one polish: an active set that is nearly right needs a few
factorisations, and one that is not would take hundreds, each of seconds where rows are many"""


def polish(question: AlphaQuestion, point: Point) -> Point | None:
    """The solution of the optimality conditions near a point, or None when Newton finds none."""
    frame = _Polish(question)
    with np.errstate(all="ignore"):  # log 0 is found by isfinite
        state = frame.start(point)
        found = frame.settle(state) if state is not None else None
        return None if found is None else frame.point(found)


class _Polish(Conditions):
    """Newton, and the changes of the active set that it leads to."""

    def start(self, point: Point) -> ActiveSet | None:
        """Logarithms and a first active set.

        A pair is held if its part of its user's share is larger than the part by which its price
        is above the cheapest; a row is full if its part of a user's money is larger than the part
        of it that is free.
        """
        given = self.shares(np.maximum(point.x, 0.0))[self.n] / self.u
        x = np.maximum(point.x, 1e-14 * np.where(given > 0, given, np.exp(self.log_size)))
        money = np.maximum(point.rows.ravel(), 0.0)
        share = self.shares(x)
        limit = self.question.instance.limit
        at = np.where(np.isfinite(limit), limit, 1.0)
        mu = np.where(np.isfinite(limit), np.maximum(point.limits, 0.0), 0.0) / at
        cost = np.bincount(self.pair, self.b * money[self.row], len(self.n)) + mu[self.n]
        if not (cost > 0).all():
            cost = np.maximum(cost, 1e-300)
        per_share = cost / self.u
        cheapest = np.full(self.users, np.inf)
        np.minimum.at(cheapest, self.n, per_share)
        part = self.u * x / share[self.n]
        dear = 1.0 - cheapest[self.n] / per_share
        held = part > dear
        paid = np.zeros(self.servers * self.resources)
        fraction = self.b * money[self.row] / cost[self.pair] * part[self.pair]
        np.maximum.at(paid, self.row, fraction)
        full = (paid > np.maximum(1.0 - self.used(x), 0.0)) & (money > 0)
        totals = np.bincount(self.n, x, self.users)
        paid_limit = mu / np.maximum(cheapest, 1e-300)
        capped = np.isfinite(limit) & (paid_limit > 1.0 - totals / at) & (mu > 0)
        # money in the scale of the conditions: p b = W u s^-alpha
        with np.errstate(divide="ignore"):
            log_q = self.log_w - self.alpha * np.log(share)
            shift = float(np.median(log_q - np.log(np.maximum(cheapest, 1e-300))))
            top = shift + np.log(max(money.max(), 1e-300))
            if abs(top) > HIGH:  # a common factor of W and money is free
                level = top - (0.0 if capped.any() else HIGH)
                self.log_w, shift = self.log_w - level, shift - level
            state = ActiveSet(
                np.log(x),
                np.log(np.maximum(money, 1e-300)) + shift,
                np.log(np.maximum(point.limits, 1e-300)) + shift,
                held,
                full,
                capped,
            )
        return state if np.isfinite(shift) else None

    def settle(self, state: ActiveSet) -> ActiveSet | None:
        """Newton, then pairs and rows added or dropped where the conditions ask, until none do."""
        seen: set[bytes] = set()
        for _ in range(ROUNDS):
            found = self._newton(state) or self._one_row_less(state)
            if found is None:
                return None
            changed = self._change(found)
            if changed is None:
                return found
            key = np.packbits(
                np.concatenate([changed.held, changed.full, changed.capped])
            ).tobytes()
            if key in seen:
                return found
            seen.add(key)
            state = changed
        return None

    def _one_row_less(self, state: ActiveSet) -> ActiveSet | None:
        """Newton without one of the rows with most room: a row that is only almost full may have
        been taken for full, since the tasks of a user of small weight fit into its room."""
        room = 1.0 - self.used(np.where(state.held, np.exp(state.x), 0.0))
        rows = np.flatnonzero(state.full & (room > 1e-14))
        for row in rows[np.argsort(-room[rows], kind="stable")][:SPARE]:
            full = state.full.copy()
            full[row] = False
            found = self._newton(replace(state, full=full))
            if found is not None:
                return found
        return None

    def _change(self, state: ActiveSet) -> ActiveSet | None:
        """The state with a corrected active set; None if the active set is right."""
        x = np.where(state.held, np.exp(state.x), 0.0)
        share = self.shares(x)
        cost = self.costs(state) / self.u
        with np.errstate(divide="ignore"):
            log_value = self.log_w - self.alpha * np.log(share)
            cheap = ~state.held & (np.log(cost) < log_value[self.n] - 1e-10)
            part = self.u * x / share[self.n]
        gone = state.held & (part < 1e-10)
        used = self.used(x)
        over = ~state.full & (used > 1 + 1e-10)
        paid = np.zeros(len(used))
        money = np.where(state.full, np.exp(state.row), 0.0)
        fraction = self.b * money[self.row] / np.maximum((cost * self.u)[self.pair], 1e-300)
        np.maximum.at(paid, self.row, np.where(state.held[self.pair], fraction, 0.0))
        free = state.full & (paid < 1e-10)
        limit = self.question.instance.limit
        beyond = ~state.capped & (np.bincount(self.n, x, self.users) > limit * (1 + 1e-10))
        mu = np.where(state.capped, np.exp(state.limit), 0.0) / np.where(
            np.isfinite(limit), limit, 1.0
        )
        q = np.full(self.users, np.inf)
        np.minimum.at(q, self.n, cost)
        eased = state.capped & (mu < 1e-10 * q)
        if not (
            cheap.any() or gone.any() or over.any() or free.any() or beyond.any() or eased.any()
        ):
            return None
        held = (state.held | cheap) & ~gone
        # every user keeps at least one pair
        alone = np.bincount(self.n, held, self.users) == 0
        if alone.any():
            best = np.lexsort((-part, self.n))
            first = best[np.unique(self.n[best], return_index=True)[1]]
            held[first[alone]] = True
        entering = np.log(1e-3 * np.maximum(share, 1e-300)[self.n] / self.u)
        # a row that enters gets a small part of what its users pay there
        dearest = np.full(len(used), -np.inf)
        holders = state.held[self.pair]
        pays = np.log(np.maximum((cost * self.u)[self.pair], 1e-300)) - np.log(self.b)
        np.maximum.at(dearest, self.row, np.where(holders, pays, -np.inf))
        small = np.where(np.isfinite(dearest), dearest, 0.0) + np.log(1e-2)
        first_mu = np.log(1e-2 * q * np.where(np.isfinite(limit), limit, 1.0))
        return ActiveSet(
            np.where(cheap, entering, state.x),
            np.where(over, small, state.row),
            np.where(beyond, first_mu, state.limit),
            held,
            (state.full | over) & ~free,
            (state.capped | beyond) & ~eased,
        )

    # -- Newton ---------------------------------------------------------------------------

    def _newton(self, state: ActiveSet, most: int = 60) -> ActiveSet | None:
        held, full = np.flatnonzero(state.held), np.flatnonzero(state.full)
        capped = np.flatnonzero(state.capped)
        ties = len(held) - len(np.unique(self.n[held]))
        if len(held) > DENSE and ties > len(full) + len(capped):
            return None  # more ties than prices to keep them, and the factors would be dense
        for _ in range(most):
            clock.tick()
            residual, jacobian = self.system(state, held, full, capped)
            size = float(np.abs(residual).max(initial=0.0))
            if not np.isfinite(size):
                return None
            if size <= ROUNDED:
                return state
            if self.work > WORK:
                return None
            step, entries = _counted(jacobian, -residual)
            self.work += entries
            if step is None:
                return None
            # far away a full step would overflow: no logarithm moves by more than 2 at once
            length = min(1.0, 2.0 / max(float(np.abs(step).max()), 1e-300))
            for _ in range(6):
                moved = self._moved(state, held, full, capped, length * step)
                new = self.system(moved, held, full, capped, derivative=False)[0]
                if np.linalg.norm(new) <= (1 - 1e-4 * length) * np.linalg.norm(residual):
                    break
                length /= 3
            else:
                # no progress: only rounding is left if the error is small
                return state if size <= 1e-9 else None
            state = moved
            if size <= CONVERGED:  # quadratic: what is left now is rounding
                return state
        return state if size <= 1e-9 else None

    @staticmethod
    def _moved(state: ActiveSet, held: Ints, full: Ints, capped: Ints, step: Floats) -> ActiveSet:
        x, row, limit = state.x.copy(), state.row.copy(), state.limit.copy()
        a, b = len(held), len(held) + len(full)
        x[held] += step[:a]
        row[full] += step[a:b]
        limit[capped] += step[b:]
        return replace(state, x=x, row=row, limit=limit)


def least_norm(jacobian: csc_array | None, right: Floats) -> Floats | None:
    """A least-squares solution of (nearly) least norm; tasks need not be unique."""
    return _counted(jacobian, right)[0]


def _counted(jacobian: csc_array | None, right: Floats) -> tuple[Floats | None, int]:
    """The same, and the entries of the sparse factors it took."""
    if jacobian is None or not (np.isfinite(jacobian.data).all() and np.isfinite(right).all()):
        return None, 0
    down, across = jacobian.shape
    if max(down, across) <= DENSE:
        try:
            found = lstsq(jacobian.toarray(), right, cond=1e-13, lapack_driver="gelsy")[0]
        except (np.linalg.LinAlgError, ValueError):
            return None, 0
        return np.asarray(found), 0
    # quasi-definite: min |J y - r|^2 + (1e-7 |y|)^2; the caller's iterations correct the difference
    system = block_array(
        [[eye_array(down), jacobian], [jacobian.T, -1e-14 * eye_array(across)]], format="csc"
    )
    try:
        # symmetric ordering: far less fill than the default, which orders columns
        lu = splu(system, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.01)
        step = lu.solve(np.concatenate([right, np.zeros(across)]))[down:]
    except RuntimeError:
        return None, 0
    return (step if np.isfinite(step).all() else None), int(lu.nnz)
