r"""PS-DSF by implicit steps of all servers at once, by Newton's method in the water levels.

A server with water level T[i,r] of a resource offers user n the total a[n,i] = phi gamma min_r T,
over the r that n demands. At an answer nobody is offered more than it has, and whoever holds tasks
has just what it is offered (Theorem 1 of khamse2016). Refilling moves tasks towards that a server
at a time, which takes hundreds of rounds where users hold tasks on many servers. Here x moves to

.. math:: x^+_{n,i} = \max(0,\; x_{n,i} + h (a_{n,i} - \textstyle\sum_j x^+_{n,j}))

with levels at which no resource is overrun and those with a level are full. For any h > 0 the
points that do not move are the answers, exactly; the larger h, the fewer steps. Given levels, x^+
is a sort a user. Which resources have levels and who holds tasks is guessed and corrected, as in an
active-set method; then the levels solve piecewise smooth equations, one a full resource. Where
guesses go round in circles, as where users demand not all resources, the equations are softened.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairopt import clock
from fairopt.instance import Bools, Floats, Instance, Ints

MOST_STEPS, NEWTON = 300, 30
"""most steps, and most Newton steps for one of them"""
HALVINGS = 4
"""a Newton step that does not lower the miss is halved so many times at most"""
EASY, SLOWEST, FASTEST, BACK = 20.0, 1.5, 8.0, 8.0
"""after a step, h is EASY / (its Newton steps) times longer, at least and at most so many times;
after one that was not found, BACK times shorter, and then at most half way (of logarithms) back to
it unless SLOWEST leads further"""
LONGEST, SHORTEST = 1e6, 1e-3
"""largest and smallest h"""
SOFT = (
    (4.0, 1e-1), (16.0, 1e-2), (64.0, 1e-3), (256.0, 1e-4), (1e3, 1e-5),
    (1e4, 1e-6), (1e6, 1e-8), (1e8, 1e-10), (1e10, 1e-13),
)  # fmt: skip
"""how sharp a user's highest price is made out, and which part of a resource may be left at the
highest price of its server, in turn"""
GUESSES = 3
"""steps whose guesses may fail before the next that fail are softened"""
SOFTLY, SOFT_ENOUGH, WORSE = 30, 0.1, 1.5
"""most Newton steps for each of these; the miss with which the next begins; a step is shortened if
the miss is so many times larger than before"""
UNUSED = 1e-7
"""part of a resource that is left at its price, beyond which the price is none"""
EXACT, ROUNDED, ROUGH = 1e-12, 1e-10, 1e-3
"""miss of a resource at the end, the largest that may be rounding, and part of the last move to
which it is found before that"""
DIGITS = 1e-14
"""part of h that a miss may be by rounding: totals are differences of numbers h times as large"""
STILL, LEVEL, CLOSE = 1e-10, 1e-12, 1e-8
"""part of its total by which the last step moves no user; part by which levels then differ at most,
where a step of length h moves h times that by rounding, so that steps of length 1 come last; the
most that these may move when they no longer halve what moves"""
SPARSE = 0.2
"""part of all pairs that hold tasks, below which sums over users skip the others"""
SERVERS = 1_000
"""more servers, whose equations are dense, are refilled one by one alone"""


@dataclass(frozen=True)
class LevelTaken:
    """What users take at given levels.

    Parameters
    ----------
    x : (N, I) tasks. held : (N, I) of which there are any. stopper : (N, I) the resource of the
        lowest level. rate : (N, I) h a of those held; ease : (N,) what a user's other servers take
        over: with logarithms l of levels, dx = rate dl - sum_j rate_j dl_j / ease where held.
    limited : (N,) who is at its limit.
    """

    x: Floats
    held: Bools
    stopper: Ints
    rate: Floats
    ease: Floats
    limited: Bools


class Servers:
    """All servers of an instance, by part of row or of time.

    part : (N, I, R). Logarithms of prices 1 / T are (I, R), -inf of a resource that stops nobody.
    """

    def __init__(self, instance: Instance, part: Floats) -> None:
        self.able = instance.eligible
        self.part = np.where(self.able[:, :, None], part, 0.0)
        self.used = (self.part > 0).any(axis=0)
        # a resource at a time, which NumPy does much faster than along a last axis of three
        self.parts = [np.ascontiguousarray(one) for one in np.moveaxis(self.part, 2, 0)]
        self.each = [one > 0 for one in self.parts]
        self.size = np.where(self.able, instance.weight[:, None] * instance.alone, 0.0)
        self.limit = instance.limit
        self.count = np.arange(1, self.able.shape[1] + 1)

    def begin(self, x: Floats) -> Floats:
        """Prices (I, R) at which x (N, I) might stand still: of the resource used most of a server,
        one over the mean level of who uses it."""
        price = np.full(self.used.shape, -np.inf)
        use = np.stack([np.einsum("ni,ni->i", one, x) for one in self.parts], axis=1)
        most, server = use.argmax(axis=1), np.arange(len(use))
        level = x.sum(axis=1)[:, None] / np.where(self.able, self.size, 1.0)
        amount = self.part[:, server, most] * x
        mean = (amount * level).sum(axis=0) / np.maximum(amount.sum(axis=0), 1e-300)
        held = mean > 0
        price[server[held], most[held]] = -np.log(mean[held])
        return price

    def take(self, price: Floats, x: Floats, h: float) -> LevelTaken:
        """The step of length h from x (N, I) at given prices, a user at a time, by sorting."""
        stopper, top = (
            np.zeros(self.able.shape, dtype=int),
            np.where(self.each[0], price[:, 0], -np.inf),
        )
        for r in range(1, price.shape[1]):
            own = np.where(self.each[r], price[:, r], -np.inf)
            higher = own > top
            stopper[higher] = r
            np.maximum(top, own, out=top)
        return self.taken(top, stopper, x, h)

    def taken(self, top: Floats, stopper: Ints, x: Floats, h: float) -> LevelTaken:
        """The step of length h from x (N, I) where a task of a user costs exp(top) (N, I)."""
        with np.errstate(over="ignore"):
            a = self.size * np.exp(np.minimum(-top, 600.0))
        drawn = np.where(self.able, x / h + a, -1.0)  # x+ = h (drawn - total) where positive
        order = -np.sort(-drawn, axis=1)
        summed = np.cumsum(np.maximum(order, 0.0), axis=1)
        total = h * summed / (1.0 + h * self.count)
        many = np.maximum((order > total).sum(axis=1), 1)
        user = np.arange(len(many))
        level, ease = total[user, many - 1], 1.0 / h + many
        over = np.flatnonzero(level > self.limit)
        if len(over):  # at its limit a user holds no more, from where it is offered most
            limit = self.limit[over, None]
            least = (h * summed[over] - limit) / (h * self.count)
            many = np.maximum((order[over] > least).sum(axis=1), 1)
            level[over], ease[over] = least[np.arange(len(over)), many - 1], many
        held = self.able & (drawn > level[:, None])
        taken = np.where(held, h * (drawn - level[:, None]), 0.0)
        limited = level > np.inf
        limited[over] = True
        return LevelTaken(taken, held, stopper, np.where(held, h * a, 0.0), ease, limited)

    def slope(self, taken: LevelTaken, pays: Floats) -> Floats:
        """(I R, I R) change of the use of each resource by the logarithms of prices, of which each
        is so much of what a user pays, (N, I, R)."""
        users, servers, kinds = self.part.shape
        pays = pays * taken.rate[:, :, None]
        own = np.matmul(self.part.transpose(1, 2, 0), pays.transpose(1, 0, 2))
        if np.count_nonzero(taken.held) < SPARSE * taken.held.size:
            from scipy import sparse

            n, i = np.nonzero(taken.held)
            each = (i[:, None] * kinds + np.arange(kinds)).ravel()
            begins = np.concatenate([[0], np.cumsum(np.bincount(n, minlength=users))]) * kinds
            shape = users, servers * kinds
            part = sparse.csr_array((self.part[n, i].ravel(), each, begins), shape)
            shift = (pays[n, i] / taken.ease[n, None]).ravel()
            slope = (part.T @ sparse.csr_array((shift, each, begins), shape)).toarray()
        else:
            part = (self.part * taken.held[:, :, None]).reshape(users, -1)
            slope = part.T @ (pays / taken.ease[:, None, None]).reshape(users, -1)
        blocks = slope.reshape(servers, kinds, servers, kinds)
        blocks[np.arange(servers), :, np.arange(servers)] -= own
        return np.asarray(slope)

    def softly(
        self, price: Floats, x: Floats, h: float, enough: float
    ) -> tuple[Floats, LevelTaken, float]:
        """As `step`, without guesses: a user pays a norm of its prices, which becomes the highest,
        and of a resource at a low price something may be left, ever less."""
        base = price.max(axis=1, keepdims=True)
        base = np.where(np.isfinite(base), base, 0.0)
        log = np.where(np.isfinite(price), price, base + np.log(SOFT[0][1]))
        used = np.flatnonzero(self.used)
        nobody = np.zeros(self.able.shape, dtype=int)
        k = np.arange(len(used))
        for sharp, slack in SOFT:
            now, move, least = log[self.used], np.zeros(len(used)), np.inf
            for _ in clock.steps(SOFTLY):
                log[self.used] = now + move
                own = [np.where(e, log[:, r], -np.inf) for r, e in enumerate(self.each)]
                top = np.where(self.able, np.maximum.reduce(own), 0.0)
                paid = np.stack([np.exp(sharp * (one - top)) for one in own], axis=2)
                norm = np.where(self.able, paid.sum(axis=2), 1.0)
                taken = self.taken(top + np.log(norm) / sharp, nobody, x, h)
                left = slack * np.exp(base - log)
                use = np.stack([np.einsum("ni,ni->i", one, taken.x) for one in self.parts], axis=1)
                value = (use + left)[self.used]
                miss = float(np.abs(np.log(value)).max(initial=0.0))
                if miss > WORSE * least and float(np.abs(move).max()) > 1e-3:
                    move /= 4
                    continue
                now, least, kept = log[self.used], miss, taken
                if miss < (SOFT_ENOUGH if sharp < 1e6 else enough):
                    break
                slope = self.slope(taken, paid / norm[:, :, None])[np.ix_(used, used)]
                # the further away, the shorter: who begins to take is not in the slope
                slope[k, k] = (slope[k, k] - left[self.used] - 1e-12) * (1.0 + min(miss, 1.0))
                try:
                    move = np.linalg.solve(slope / value[:, None], -np.log(value))
                except np.linalg.LinAlgError:
                    break
                move = np.clip(move, -1.0, 1.0)
            log[self.used] = now
            if not least <= SOFT_ENOUGH:
                return price, kept, np.inf
        full = self.used & (slack * np.exp(base - log) < UNUSED)
        # who is stopped by nothing that is full keeps what stops it
        stopped = np.logical_or.reduce([e & full[:, r] for r, e in enumerate(self.each)])
        n, i = np.nonzero(self.able & ~stopped)
        own = [np.where(e[n, i], log[i, r], -np.inf) for r, e in enumerate(self.each)]
        full[i, np.argmax(own, axis=0)] = True
        return np.where(full, log, -np.inf), kept, least

    def step(
        self, price: Floats, x: Floats, h: float, enough: float
    ) -> tuple[Floats, LevelTaken, float, int]:
        """The prices of the step of length h, what is taken, the largest miss that is left, and the
        number of Newton steps."""
        price, before = price.copy(), None
        move = np.zeros_like(price)
        least, halved, miss = np.inf, 0, np.inf
        server, rounded = np.arange(len(price)), max(ROUNDED, DIGITS * h)
        for newton in clock.steps(NEWTON):  # noqa: B007
            taken = self.take(price, x, h)
            use = np.stack([np.einsum("ni,ni->i", one, taken.x) for one in self.parts], axis=1)
            on = np.isfinite(price)
            worst = np.where(self.used, use, -1.0).argmax(axis=1)
            new = (use[server, worst] > 1 + enough) & ~on[server, worst]
            if new.any():  # what is overrun most stops its users before all else does
                top = np.where(on.any(axis=1), price.max(axis=1), 0.0)
                price[server[new], worst[new]] = top[new] + 1e-9
                continue
            stops = np.zeros_like(on)
            n, i = np.nonzero(taken.held)
            stops[i, taken.stopper[n, i]] = True
            idle = on & ~stops
            idle[(idle == on).all(axis=1)] = False
            price[idle] = -np.inf  # which changes nothing
            on &= ~idle
            off = np.where(on, use - 1.0, 0.0)
            # a server need not be full if all who can use it are at their limits
            served = ~(self.able & ~taken.limited[:, None]).any(axis=0)
            off[served] = np.maximum(off[served], 0.0)
            miss = float(np.abs(off).max(initial=0.0))
            if miss <= enough or 0.5 * least < miss <= rounded:
                break
            if miss > 0.999 * least and halved < HALVINGS and before is not None:
                halved, move = halved + 1, move / 2
                price = np.where(np.isfinite(before), before + move, -np.inf)
                continue
            least, halved, before = miss, 0, price.copy()
            full = np.flatnonzero(on)
            pays = taken.stopper[:, :, None] == np.arange(on.shape[1])
            slope = self.slope(taken, pays)[np.ix_(full, full)]
            k = np.arange(len(slope))
            slope[k, k] -= 1e-13 * max(float(np.abs(slope.diagonal()).max()), 1e-300)
            try:
                found = np.linalg.solve(slope, -off[on])
            except np.linalg.LinAlgError:
                break
            move = np.zeros_like(price)
            move[on] = found / max(1.0, float(np.abs(found).max()))
            price = price + move
        return price, taken, miss, newton + 1


def settle(instance: Instance, part: Floats, x: Floats) -> tuple[Floats, int] | None:
    """Tasks (N, I) that no step moves, from tasks that fit, and how many steps; None if not found.

    Parameters
    ----------
    part : (N, I, R), as of `refill`.
    """
    servers = Servers(instance, part)
    price, h, moved, failed, wall = servers.begin(x), 1.0, 1.0, 0, np.inf
    stands = False
    for done in range(1, MOST_STEPS + 1):
        if clock.over():
            return None
        enough = max(EXACT, min(ROUGH * moved, 1e-4))
        most = max(enough, ROUNDED, DIGITS * h)
        after, taken, miss, newton = servers.step(price, x, h, enough)
        if not miss <= most:
            failed += 1
            if failed > GUESSES:
                after, taken, miss = servers.softly(price, x, h, enough)
        if not miss <= most:
            if stands:  # the long steps moved nothing: only the last digits are not found
                return x, done
            wall = h
            h /= BACK
            if h < SHORTEST:
                return None
            continue
        total = np.maximum(taken.x.sum(axis=1, keepdims=True), 1e-300)
        before, moved = moved, float((np.abs(taken.x - x) / total).max())
        x, price = taken.x, after
        if moved <= (CLOSE if h == 1.0 and moved > before / 2 else STILL) and h >= 1.0:
            return x, done
        stands = moved <= max(LEVEL * h, CLOSE * (h == 1.0))
        if stands:
            h = 1.0
        else:
            longer = h * min(max(EASY / newton, SLOWEST), FASTEST)
            h = min(max(min(longer, np.sqrt(h * wall)), SLOWEST * h), LONGEST)
    return None
