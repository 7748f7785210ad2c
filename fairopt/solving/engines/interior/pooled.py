r"""Very many users on few servers: solve one pool of all capacity, then divide users over servers.

With so many users, each server can be given a suitable mix of them, and then all servers have the
same prices: the answer of one pool with the capacity of all servers,

.. math:: \max \sum_n W_n g_\alpha(s_n), \quad \sum_n d_{n,r} x_n \le \sum_i c_{i,r},

is the answer, if its tasks can be divided so that every server is used in the same proportion. The
pool has only R prices: Newton's method on its dual takes a few passes over the users. The division
is x[n,i] = x_n f[n,i] with

.. math:: f_{n,i} \propto \exp(\theta_i \cdot z_n) \text{ where eligible}, \quad
          z_n = d_n / \sigma_n,

whose I R numbers theta minimise a convex function (logs of sums of exponentials) that has the
wanted use of every server as its gradient. If there is no such division (too few users, or
placement keeps a suitable mix from a server), nothing is returned and `interior.method` is used.
"""

from __future__ import annotations

import numpy as np

from fairopt.instance import Bools, Floats
from fairopt.solving.engines.point import Point, Question

MANY, PER_ROW = 400_000, 100
"""pairs, and users a row of capacity, from which a pool is tried"""
CLOSE = 1e-13
"""largest relative miss of a capacity"""
SAMPLE = 50_000
"""number of users from which the curvature of the division is computed; its gradient uses all"""


def worthwhile(question: Question) -> bool:
    """Whether to try: many users per row, scores that do not depend on the server, no limits."""
    inst = question.instance
    users, servers, resources = inst.shape
    return (
        question.alpha > 0
        and servers > 1
        and inst.demand.ndim == 2
        and users * servers >= MANY
        and users >= PER_ROW * servers * resources
        and not np.isfinite(inst.limit).any()
        and bool((inst.pool > 0).all() and (inst.demand > 0).any(axis=0).all())
        and question.one_score
    )


def follow(question: Question) -> Point | None:
    """The answer of the pool, divided over the servers; None if that is not possible."""
    inst = question.instance
    total = inst.pool.sum(axis=0)
    demand = inst.demand / total
    unit = np.where(inst.eligible, question.score, 0.0).max(axis=1)
    with np.errstate(all="ignore"):
        log_w = question.log_w + (1 - question.alpha) * np.log(unit)
        found = _prices(demand, log_w, question.alpha)
        if found is None:
            return None
        price, tasks = found
        part = _dealt(question, demand, tasks)
    if part is None:
        return None
    part *= tasks[:, None]
    return Point(part, price * (inst.pool / total), np.zeros(inst.shape[0]))


def _prices(demand: Floats, log_w: Floats, alpha: float) -> tuple[Floats, Floats] | None:
    """Prices (R,) of a pool of capacity 1 each, all money 1, and tasks (N,) bought at them.

    Newton on used(p) + s = 1, p s = mu, where x_n = (W_n / (d_n p))^(1/alpha); the common level of
    W is free and taken anew so that users have as much money as all resources cost.
    """
    resources = demand.shape[1]
    p = np.full(resources, 1.0 / resources)
    s = np.full(resources, 0.1)
    mu = 0.1 / resources
    for _ in range(200):
        q = demand @ p
        log_x = (log_w - np.log(q)) / alpha
        money = log_x + np.log(q)
        top = float(money.max())
        x = np.exp(log_x - top) / float(np.exp(money - top).sum()) * float(p.sum())
        used = x @ demand
        short, product = 1.0 - used - s, mu - p * s
        # d used = -(1/alpha) d' diag(x / q) d dp, with all money equal to all prices
        slope = (demand * (x / q / alpha)[:, None]).T @ demand
        if max(float(np.abs(short).max()), float((p * s).max())) < CLOSE:
            return p, x
        right = short - product / p
        dp = np.linalg.solve(-slope - np.diag(s / p), right)
        ds = (product - s * dp) / p
        step = min(1.0, 0.9 * _reach(p, dp), 0.9 * _reach(s, ds))
        p, s = p + step * dp, s + step * ds
        if step > 0.5:
            mu = max(mu * 0.1, 1e-17)
        if not np.isfinite(p).all():
            return None
    return None


def _reach(value: Floats, change: Floats) -> float:
    worst = float((change / value).min())
    return 1e9 if worst >= 0 else -1.0 / worst


def _dealt(question: Question, demand: Floats, tasks: Floats) -> Floats | None:
    """(N, I) part of each user's tasks on each server, with all servers used in one proportion."""
    inst = question.instance
    users, servers, resources = inst.shape
    size = demand.sum(axis=1)
    z, weight = demand / size[:, None], tasks * size
    wanted = (inst.pool / inst.pool.sum(axis=0)) * (tasks @ demand)
    theta = np.log(inst.pool / inst.pool.sum(axis=0)).mean(axis=1)[:, None] * np.ones(resources)
    every = max(1, users // SAMPLE)
    before = np.inf
    for _ in range(40):
        f = _shares(z, theta, inst.eligible)
        miss = wanted - (f * weight[:, None]).T @ z
        error = float(np.abs(miss / wanted).max())
        if error < CLOSE or (error < 1e-11 and error > 0.5 * before):
            return f
        if not error < 0.9 * before and before < 1.0:
            return None
        before = error
        theta = theta + _newton(z[::every], weight[::every] * every, f[::every], miss)
    return None


def _shares(z: Floats, theta: Floats, eligible: Bools) -> Floats:
    """(N, I) f, made of exponentials; 0 where not eligible."""
    f = z @ theta.T
    f -= f.max(axis=1, keepdims=True)
    np.exp(f, out=f)
    f *= eligible
    f /= f.sum(axis=1, keepdims=True)
    return f


def _newton(z: Floats, weight: Floats, f: Floats, miss: Floats) -> Floats:
    """(I, R) step of theta: the curvature is sum w (diag f - f f') (x) z z', singular where all
    theta_i move alike.
    """
    servers, resources = miss.shape
    curve = np.zeros((servers, resources, servers, resources))
    for a in range(resources):
        for b in range(a, resources):
            weighted = f * (weight * z[:, a] * z[:, b])[:, None]
            block = np.diag(weighted.sum(axis=0)) - weighted.T @ f
            curve[:, a, :, b] = block
            curve[:, b, :, a] = block.T
    order = servers * resources
    step = np.linalg.lstsq(curve.reshape(order, order), miss.ravel(), rcond=1e-12)[0]
    step = np.asarray(step, dtype=np.float64).reshape(servers, resources)
    # limit the step: far from the solution the exponentials curve too much for Newton's method
    return step * min(1.0, 3.0 / max(float(np.abs(step).max()), 1e-300))
