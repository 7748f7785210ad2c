"""Many users of few prices: pools of servers, each of one price for all of it, and their optimum.

What the servers of a pool have is one multiple of another, exactly, and a user may run on all of
one pool. So prices are found pool by pool, with one price for each resource, by Newton steps in
decimals on what would be spent (the dual), whose end is proved by rows that are full to 40 digits.
"""

from __future__ import annotations

from decimal import Decimal as D
from decimal import localcontext
from itertools import combinations

import numpy as np

import fairopt as fo
from fairopt.notions import Notion
from tests.oracles.optimum import Optimum
from tests.oracles.rows import Rows, exact

DIGITS, FULL, STEPS = 60, D("1e-40"), 40
"""decimals; part of a row that is left where it is full; most steps"""
SOME_ALPHAS = (0.5, 1.0, 2.0)


def one_price(rng: np.random.Generator) -> tuple[fo.Instance, Notion]:
    """One pool, of as many users and servers as are judged at one price without a search."""
    return _drawn(rng, np.zeros(480, dtype=int), np.zeros(int(rng.integers(22, 26)), dtype=int))


def decades(rng: np.random.Generator) -> tuple[fo.Instance, Notion]:
    """Several pools of one to three servers, so many users that they are read in passes."""
    pools = int(rng.integers(1, 4))
    of_server = np.repeat(np.arange(pools), rng.integers(1, 4, pools))
    return _drawn(rng, rng.integers(0, pools, 600), of_server)


def _drawn(
    rng: np.random.Generator, of_user: np.ndarray, of_server: np.ndarray
) -> tuple[fo.Instance, Notion]:
    """Weights over up to nine decades, or one user as heavy as a million others."""
    users, resources = len(of_user), int(rng.integers(1, 4))
    # few digits, so that each multiple is exact; alike, so that mostly several rows are full
    whole = np.ldexp(rng.integers(2**20, 5 * 2**18, (int(of_server.max()) + 1, resources)), -12)
    times = rng.integers(1, 64, len(of_server))[:, None]
    demand = rng.lognormal(0, 1, (users, resources))
    spread = float(rng.choice([0, 2, 4, 6, 9]))
    weight = 10.0 ** rng.uniform(-spread / 2, spread / 2, users)
    if not spread:
        weight[int(rng.integers(users))] = 1e6
    placement = of_user[:, None] == of_server
    inst = fo.Instance(demand, times * whole[of_server], placement, weight)
    return inst, fo.AlphaFair(float(rng.choice(SOME_ALPHAS)))


def rows(inst: fo.Instance) -> Rows:
    """Capacities alone, in floats: of many users exact numbers would take minutes."""
    users, servers, resources = inst.shape
    owner, server = np.nonzero(inst.placement)
    use = np.zeros((servers, resources, len(owner)))
    use[server, :, np.arange(len(owner))] = inst.demand[owner]
    one, none = np.ones(len(owner)), np.zeros(users)
    g, h = use.reshape(servers * resources, -1), inst.pool.ravel()
    return Rows(owner, server, owner, one, g, h, [], [], none, none, inst.weight)


def truth(inst: fo.Instance, alpha: float) -> Optimum | None:
    """The optimum of such an instance; None where it was not proved."""
    users, servers, resources = inst.shape
    total = np.full(users, D(0), dtype=object)
    price, split = np.zeros((servers, resources)), np.zeros((users, servers))
    money, dear = np.zeros(users, dtype=object), []
    with localcontext() as context:
        context.prec = DIGITS
        for pool in np.unique(inst.placement, axis=1).T:
            n, i = np.flatnonzero(pool), np.flatnonzero((pool == inst.placement.T).all(axis=1))
            if not len(n):
                continue
            capacity, demand = exact(inst.capacity[i]), exact(inst.demand[n])
            found = _pool(demand, capacity.sum(axis=0), exact(inst.weight[n]), D(alpha))
            if found is None:
                return None
            total[n], each = found
            money[n] = (demand @ each) * total[n]
            dear.append((i, each))
            size = capacity[:, 0] / capacity[:, 0].sum()
            split[np.ix_(n, i)] = (total[n][:, None] * size).astype(float)
        whole = money.sum()
        for i, each in dear:
            price[i] = [float(p / whole) for p in each]
        log_money = np.array([float((m / whole).log10()) for m in money])
    share = total.astype(float)
    return Optimum(share, log_money, split[inst.placement], price.ravel(), 0, total)


def _pool(
    demand: np.ndarray, capacity: np.ndarray, weight: np.ndarray, alpha: D
) -> tuple[np.ndarray, np.ndarray] | None:
    """(N,) amounts and (R,) prices, for demand (N, R): of each choice of full rows in turn."""
    resources = range(len(capacity))
    for count in range(1, len(capacity) + 1):
        for some in map(list, combinations(resources, count)):
            own = _full(demand[:, some], capacity[some], weight, alpha)
            if own is None:
                continue
            amount, price = np.array(own[0]), np.full(len(capacity), D(0), dtype=object)
            price[some] = own[1]
            left = capacity - amount @ demand
            if all(left[r] >= -FULL * capacity[r] for r in resources):
                return amount, price
    return None


def _full(
    demand: np.ndarray, capacity: np.ndarray, weight: np.ndarray, alpha: D
) -> tuple[np.ndarray, np.ndarray] | None:
    """Amounts (N,), and prices (R,) above 0, at which all rows are full; None where none is
    found."""

    def amounts(price: np.ndarray) -> np.ndarray:
        ratio = weight / (demand @ price)
        return np.array([(x.ln() / alpha).exp() for x in ratio], dtype=object)

    def spent(price: np.ndarray, amount: np.ndarray) -> D:
        """What is least at the prices that are looked for."""
        value = demand @ price
        if alpha == 1:
            users = -sum(w * v.ln() for w, v in zip(weight, value, strict=True))
        else:
            users = alpha / (1 - alpha) * (value @ amount)
        return price @ capacity + users

    price = sum(weight) / (len(capacity) * capacity)
    amount = amounts(price)
    use = amount @ demand
    price = price * (max(use / capacity).ln() * alpha).exp()
    amount = amounts(price)
    for _ in range(STEPS):
        left = capacity - amount @ demand
        if all(abs(one) <= FULL * of for one, of in zip(left, capacity, strict=True)):
            return amount, price
        slope = (demand.T * (amount / (alpha * (demand @ price)))) @ demand
        step = _solved(slope * price * price[:, None], left * price)
        if step is None:
            return None
        length, here = min(D(1), D("0.9") / max(abs(x) for x in step)), spent(price, amount)
        while True:
            further = price * (1 - length * step)
            amount = amounts(further)
            # near the end it is flat to the last digit
            if length < D("1e-2") or spent(further, amount) <= here + D("1e-50") * abs(here):
                break
            length /= 4
        price = further
        if min(price) < D("1e-30") * max(price):
            return None
    return None


def _solved(matrix: np.ndarray, right: np.ndarray) -> np.ndarray | None:
    """The solution of a few equations; None where there is none."""
    a, size = np.column_stack([matrix, right]), len(right)
    for k in range(size):
        top = k + max(range(size - k), key=lambda j: abs(a[k + j, k]))
        a[[k, top]] = a[[top, k]]
        if not a[k, k]:
            return None
        a[k] = a[k] / a[k, k]
        for j in range(size):
            if j != k:
                a[j] = a[j] - a[j, k] * a[k]
    return a[:, size]


__all__ = ["decades", "one_price", "rows", "truth"]
