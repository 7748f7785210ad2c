"""Nested max-min in exact fractions: the definition run literally, by a rational simplex.

Every rule is a row of its own, lending with explicit flows; who is stopped in a round is found by
one program for each user. Scores, uses and floors are fractions computed here from the data.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction as F

import numpy as np

import fairopt as fo
from fairopt.formulas.targets import Jump, PathPoint, TargetTree
from tests.rational import Dictionary

ZERO = F(0)


def exact(value):
    return F(float(value))


def vector(values):
    found = np.empty(np.shape(values), dtype=object)
    found[...] = np.array(values, dtype=object).reshape(found.shape)
    return found


@dataclass
class Problem:
    """columns: (owner, server, demand [F], score); rows of what they use, as sets and amounts."""

    columns: list
    pool: list
    limit: list
    parent: list
    weight: list
    leaf: list
    use: list | None
    floor: list
    rank: list
    bounds: list = field(default_factory=list)
    quotas: list = field(default_factory=list)
    above: bool = False

    @property
    def users(self):
        return len(self.leaf)

    def below(self, node):
        """Users at or below a node."""
        found = []
        for n, k in enumerate(self.leaf):
            while k not in (node, -1):
                k = self.parent[k]
            if k == node:
                found.append(n)
        return found

    def rows(self):
        """(A, b) of every rule over the columns and the flows; flows are y - (-borrow) or split."""
        a, b = [], []
        flows = []  # (quota, node, sign)
        for q, (_, _, _, borrow, _) in enumerate(self.quotas):
            for v in range(1, len(self.parent)):
                flows += [(q, v, 1), (q, v, -1)] if borrow[v] is None else [(q, v, 1)]
        width = len(self.columns) + len(flows)
        at = {key: len(self.columns) + k for k, key in enumerate(flows)}

        def row():
            return [ZERO] * width

        for i, have in enumerate(self.pool):
            for r, c in enumerate(have):
                a.append(row()), b.append(c)
                for k, (_, server, d, _) in enumerate(self.columns):
                    if server == i:
                        a[-1][k] = d[r]
        for n, most in enumerate(self.limit):
            if most is not None:
                a.append(row()), b.append(most)
                for k, column in enumerate(self.columns):
                    a[-1][k] = F(column[0] == n)
        for members, servers, r, most in self.bounds:
            a.append(row()), b.append(most)
            for k, (n, i, d, _) in enumerate(self.columns):
                if n in members and i in servers:
                    a[-1][k] = d[r]
        for q, (servers, r, nominal, borrow, lend) in enumerate(self.quotas):

            def flow(v, q=q, borrow=borrow):
                """Entries of y_v and its constant: y = y' - borrow, or y+ - y-."""
                if borrow[v] is None:
                    return [(at[q, v, 1], 1), (at[q, v, -1], -1)], ZERO
                return [(at[q, v, 1], 1)], -borrow[v]

            for v in range(len(self.parent)):
                line, right = row(), nominal[v]
                if v in self.leaf:
                    n = self.leaf.index(v)
                    for k, (owner, i, d, _) in enumerate(self.columns):
                        if owner == n and i in servers:
                            line[k] = d[r]
                if v:
                    entries, constant = flow(v)
                    right -= constant
                    for j, sign in entries:
                        line[j] += sign
                for child in [c for c, p in enumerate(self.parent) if p == v]:
                    entries, constant = flow(child)
                    right += constant
                    for j, sign in entries:
                        line[j] -= sign
                a.append(line), b.append(right)
                if v and lend[v] is not None:
                    entries, constant = flow(v)
                    line = row()
                    for j, sign in entries:
                        line[j] += sign
                    a.append(line), b.append(lend[v] - constant)
        return a, b


def highest(problem, slope, offset, most=None, goal=None):
    """max t (or the share of user `goal`) with s_n >= offset_n + slope_n t.

    Returns
    -------
    value, tasks of the columns, and the multipliers of the rules.
    """
    a, b = problem.rows()
    width, rules = len(a[0]), len(a)
    a = [[*line, ZERO] for line in a]
    for n in range(problem.users):
        line = [ZERO] * (width + 1)
        for k, (owner, _, _, u) in enumerate(problem.columns):
            if owner == n:
                line[k] = -u
        line[width] = F(slope[n])
        a.append(line), b.append(-F(offset[n]))
    if most is not None:
        a.append([ZERO] * width + [F(1)]), b.append(F(most))
    c = [ZERO] * (width + 1)
    if goal is None:
        c[width] = F(1)
    else:
        for k, (owner, _, _, u) in enumerate(problem.columns):
            c[k] = u if owner == goal else ZERO
        a.append([ZERO] * width + [F(1)]), b.append(ZERO)
    found = Dictionary(a, b, c)
    tasks = [ZERO] * len(problem.columns)
    for row, j in zip(found.rows, found.basis, strict=True):
        if j < len(tasks):
            tasks[j] = row[-1]
    # slacks come after the variables
    return found.value, tasks, [found.goal[len(c) + k] for k in range(rules)]


def shares(problem):
    """The shares (N,) and the rounds: what the definition says."""
    return solved(problem)[:2]


def solved(problem):
    """Shares (N,); rounds as (t, part of a jump, users, multipliers); tasks of the columns.

    The multipliers are the sum of those of each user's own program, so that they prove of every
    user of the round that it cannot rise.
    """
    tree = TargetTree.of(
        problem.parent,
        vector(problem.weight),
        problem.leaf,
        None if problem.use is None else vector(problem.use),
    )
    floor = vector(problem.floor)
    base = floor if problem.above else 0 * floor
    due, rounds = floor - base, []
    for rank in sorted(set(problem.rank)):
        point = PathPoint.start(tree, due, np.array(problem.rank) == rank)
        while point.free.any():
            piece = point.piece()
            if isinstance(piece, Jump):
                line = piece.end.due - point.due
                part, tasks, _ = highest(problem, line, point.due + base, 1)
                point = piece.at(part)
                stopped = part < 1
            else:
                ends = piece.until if piece.until < np.inf else None
                offset = point.due + base - piece.slope * point.t
                part, tasks, _ = highest(problem, piece.slope, offset, ends)
                point, stopped = piece.at(part), ends is None or part < ends
                part = ZERO
            users, prices = stuck(problem, point, base) if stopped else ([], [])
            if users or part:
                rounds.append((point.t, part, users, prices))
            point = point.freeze(users)
        due = point.due
    return due + base, rounds, tasks


def stuck(problem, point, base):
    """Who cannot exceed what it is due while all keep theirs, and prices that prove it."""
    due, none = point.due + base, [ZERO] * problem.users
    found, prices = [], None
    for n in np.flatnonzero(point.free).tolist():
        value, _, own = highest(problem, none, due, goal=n)
        if value == due[n]:
            found.append(n)
            prices = own if prices is None else [p + q for p, q in zip(prices, own, strict=True)]
    assert found
    return found, prices


def answer(inst, notion, **how):
    """The exact answer in floats, with its rounds: an Allocation."""
    problem = of_instance(inst, **how)
    _, rounds, found = solved(problem)
    tasks = np.zeros(inst.shape[:2])
    for (n, i, _, _), x in zip(problem.columns, found, strict=True):
        tasks[n, i] += float(x)
    told = [
        {
            "t": float(t),
            "jump": float(part),
            "users": [inst.users[n] for n in users],
            "prices": named(problem, inst, prices) if users else {},
        }
        for t, part, users, prices in rounds
    ]
    return fo.Allocation(inst, notion, tasks, rounds=told)


def named(problem, inst, multipliers):
    """The multipliers of the rules by name, in the order of `Problem.rows`."""
    left = iter([float(m) for m in multipliers])
    found = {"prices": np.array([[next(left) for _ in row] for row in problem.pool])}
    found["limit_prices"] = np.array([0.0 if m is None else next(left) for m in problem.limit])
    if inst.quotas is not None:
        found["bound_prices"] = np.array([next(left) for _ in problem.bounds])
        nodes = np.zeros((len(problem.quotas), len(problem.parent)))
        for q, (*_, lend) in enumerate(problem.quotas):
            for v in range(len(problem.parent)):
                nodes[q, v] = next(left)
                if v and lend[v] is not None:
                    next(left)
        found["node_prices"] = nodes
    return found


def of_instance(inst, criterion="tasks", measure="sum", above=False, guarantees=True):
    """The problem of an instance without modes; demand by server only in tasks, and without
    guarantees of bundles."""
    tree = inst.tree
    pool = [[exact(c) for c in row] for row in inst.pool]
    total = [sum(column) for column in zip(*pool, strict=True)]
    need = inst.demand_by_server
    demand = [[exact(d) for d in row] for row in need[:, 0]]
    part = [[d / c if c else ZERO for d, c in zip(row, total, strict=True)] for row in demand]
    score = [F(1)] * len(demand) if criterion == "tasks" else [max(row) for row in part]
    columns = [
        (n, i, [exact(d) for d in need[n, i]], score[n])
        for n, i in zip(*(k.tolist() for k in inst.pairs), strict=True)
    ]
    weight = [exact(w) for w in tree.weight]
    parent, leaf = tree.parent.tolist(), tree.leaf.tolist()
    use = None
    if measure == "dominant":
        use = [[p / u for p in row] for row, u in zip(part, score, strict=True)]
    limit = [exact(v) if np.isfinite(v) else None for v in inst.limit]
    problem = Problem(
        columns,
        pool,
        limit,
        parent,
        weight,
        leaf,
        use,
        [ZERO] * len(demand),
        tree.rank.tolist(),
        above=above,
    )
    if guarantees:
        held = [exact(x) * u for x, u in zip(tree.own_tasks, score, strict=True)]
        most = [None if v is None else v * u for v, u in zip(limit, score, strict=True)]
        problem.floor = [
            max(f, h if m is None else min(h, m))
            for f, h, m in zip(floors(problem, inst, demand, score), held, most, strict=True)
        ]
    rows = tree.bounds
    for b in range(len(rows)):
        problem.bounds.append(
            (
                problem.below(int(rows.node[b])),
                set(np.flatnonzero(rows.servers[b]).tolist()),
                int(rows.resource[b]),
                exact(rows.amount[b]),
            )
        )
    for row in tree.quotas:
        bounded = [
            [exact(v) if np.isfinite(v) else None for v in side] for side in (row.borrow, row.lend)
        ]
        problem.quotas.append(
            (
                set(np.flatnonzero(row.servers).tolist()),
                row.resource,
                [exact(v) for v in row.nominal],
                *bounded,
            )
        )
    return problem


def floors(problem, inst, demand, score):
    """Guarantees on all servers: each group's problem on its bundle alone, from the deepest up."""
    rows = inst.tree.guarantees
    bundles = {}
    for b in range(len(rows)):
        assert rows.servers[b].all()
        bundles.setdefault(int(rows.node[b]), {})[int(rows.resource[b])] = exact(rows.amount[b])
    floor = [ZERO] * problem.users
    for node in sorted(bundles, reverse=True):
        bundle = bundles[node]
        # the group as a problem of its own: its subtree, one pool, nobody else
        keep = [n for n in problem.below(node) if any(demand[n][r] for r in bundle)]
        nodes = sorted({0, *_ancestors(problem, keep, node)})
        at = {v: k for k, v in enumerate(nodes)}
        at[node] = 0
        parent = [-1] + [at[problem.parent[v]] if v != 0 else -1 for v in nodes[1:]]
        small = Problem(
            [(k, 0, [demand[n][r] for r in bundle], score[n]) for k, n in enumerate(keep)],
            [list(bundle.values())],
            [problem.limit[n] for n in keep],
            parent,
            [problem.weight[v] for v in nodes],
            [at[problem.leaf[n]] if problem.leaf[n] != node else 0 for n in keep],
            None if problem.use is None else [problem.use[n] for n in keep],
            [floor[n] for n in keep],
            [0] * len(keep),
        )
        if not keep:
            continue
        if len(keep) == 1 and problem.leaf[keep[0]] == node:
            n = keep[0]
            fit = min(bundle[r] / demand[n][r] for r in bundle if demand[n][r])
            cap = problem.limit[n]
            floor[n] = score[n] * (fit if cap is None else min(fit, cap))
            continue
        held = sum_used(small)
        if any(h > c for h, c in zip(held, small.pool[0], strict=True)):
            continue
        for n, s in zip(keep, shares(small)[0], strict=True):
            floor[n] = s
    return floor


def sum_used(small):
    """What the floors take of the bundle."""
    return [
        sum(small.floor[n] / u * d[r] for n, _, d, u in small.columns)
        for r in range(len(small.pool[0]))
    ]


def _ancestors(problem, users, node):
    found = set()
    for n in users:
        k = problem.leaf[n]
        while k != node:
            found.add(k)
            k = problem.parent[k]
    return found


__all__ = ["Problem", "answer", "highest", "named", "of_instance", "shares", "solved", "vector"]
