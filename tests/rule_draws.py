"""Random instances with rules of both signs, and references for them that know no fairopt solver:
the tasks in columns, every capacity and rule a row, and linear programs level by level (SciPy)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import linprog

import fairopt as fo

Floats = Any


@dataclass
class Rows:
    """Columns (user, server) of an instance, and rows left <= right over them; owner of each."""

    owner: Any
    left: Any
    right: Any


def draw(seed: int, users: int = 6, servers: int = 4, rules: int = 3) -> fo.Instance:
    """An instance with rules; whatever is asked fits, as it is asked for less than a known point
    has."""
    rng = np.random.default_rng(seed)
    demand = rng.uniform(0.2, 2.0, (users, 2)).round(2)
    capacity = rng.uniform(5.0, 20.0, (servers, 2)).round(1)
    placement = rng.random((users, servers)) < 0.7
    placement[np.arange(users), rng.integers(0, servers, users)] = True
    weight = rng.uniform(0.5, 3.0, users).round(1)
    # a point well inside of every capacity
    x = np.where(placement, rng.uniform(0.2, 1.0, (users, servers)), 0.0)
    used = np.einsum("ni,nr->ir", x, demand)
    x *= 0.7 / (used / capacity).max()
    names = [f"u{n + 1}" for n in range(users)], [f"s{i + 1}" for i in range(servers)]
    found = []
    for j in range(rules):
        a = np.where(
            placement & (rng.random((users, servers)) < 0.5),
            rng.uniform(0.5, 3.0, (users, servers)).round(1),
            0.0,
        )
        if rng.random() < 0.5:
            a *= rng.choice([-1.0, 1.0], (users, servers))
        if not a.any():
            n, i = np.argwhere(placement)[0]
            a[n, i] = 1.0
        at, spread = float((a * x).sum()), float(np.abs(a * x).sum())
        sense = rng.choice(["most", "least", "equal"], p=[0.5, 0.35, 0.15])
        part = 0.0 if sense == "equal" else rng.uniform(0.05, 0.6)
        amount = at + part * spread if sense == "most" else at - part * spread
        if sense == "least" and rng.random() < 0.5 and (a >= 0).all():
            amount = at * rng.uniform(1.0, 1.1)  # more than a fair answer would do by itself
        found.append(fo.Rule.of(f"rule {j}", a, **{str(sense): round(amount, 6)}))
    return fo.Instance(
        demand, capacity, placement, weight, users=names[0], servers=names[1], rules=found
    )


def rows(inst: fo.Instance) -> Rows:
    """The rows of capacities, limits and rules, written out from the instance's own numbers."""
    n, i = inst.pairs
    left, right = [], []
    for server in range(len(inst.servers)):
        for r in range(len(inst.resources)):
            left.append(np.where(i == server, inst.demand[n, r], 0.0))
            right.append(float(inst.pool[server, r]))
    for user in np.flatnonzero(np.isfinite(inst.limit)).tolist():
        left.append((n == user).astype(float))
        right.append(float(inst.limit[user]))
    for rule in inst.rules or ():
        row = np.zeros(len(n))
        for term in rule.terms:
            assert term.users is not None and term.servers is not None
            hit = (n == inst.users.index(term.users[0])) & (
                i == inst.servers.index(term.servers[0])
            )
            row += np.where(hit, term.times, 0.0)
        if rule.sense in ("most", "equal"):
            left.append(row)
            right.append(rule.amount)
        if rule.sense in ("least", "equal"):
            left.append(-row)
            right.append(-rule.amount)
    return Rows(n, np.array(left), np.array(right))


def fits(table: Rows, keep: Any = None) -> bool:
    """Whether any tasks >= 0 keep these rows (all, if `keep` is None)."""
    some = slice(None) if keep is None else keep
    left, right = table.left[some], table.right[some]
    if not len(right):
        return True
    found = linprog(np.zeros(left.shape[1]), A_ub=left, b_ub=right, method="highs")
    return bool(found.status == 0)


def levels(table: Rows, score: Floats, weight: Floats) -> Floats:
    """(N,) the max-min shares, weighted: one level after another, each user asked by a program of
    its own whether it can rise."""
    users, count = len(weight), len(table.owner)
    share = np.zeros((users, count))
    share[table.owner, np.arange(count)] = score
    frozen, held = np.zeros(users, bool), np.zeros(users)
    while not frozen.all():
        left = np.hstack([table.left, np.zeros((len(table.right), 1))])
        need = np.hstack([-share, np.where(frozen, 0.0, weight)[:, None]])
        goal = np.zeros(count + 1)
        goal[-1] = -1.0
        right = np.concatenate([table.right, -np.where(frozen, held * (1 - 1e-12), 0.0)])
        found = linprog(goal, A_ub=np.vstack([left, need]), b_ub=right, method="highs")
        assert found.status == 0, found.message
        t = float(found.x[-1])
        floor = np.where(frozen, held, weight * t) * (1 - 1e-11)
        for n in np.flatnonzero(~frozen).tolist():
            more = linprog(
                -share[n],
                A_ub=np.vstack([table.left, -share]),
                b_ub=np.concatenate([table.right, -floor]),
                method="highs",
            )
            assert more.status == 0, more.message
            if -more.fun <= weight[n] * t * (1 + 1e-7):
                frozen[n], held[n] = True, weight[n] * t
    return held
