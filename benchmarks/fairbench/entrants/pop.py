"""POP's partitioning: users at random in four parts, each with a quarter of every row; Clarabel."""

from dataclasses import replace

import numpy as np

from benchmarks.fairbench.entrants import cvxpy_clarabel

PARTS = 4


def solve(problem):
    part = np.random.default_rng(0).permutation(problem.users) % min(PARTS, problem.users)
    tasks = np.zeros(len(problem.user))
    for p in range(min(PARTS, problem.users)):
        users = np.flatnonzero(part == p)
        inside = np.flatnonzero(part[problem.user] == p)
        place = {int(k): j for j, k in enumerate(inside)}
        rules = []
        for most, columns, times in problem.rules:
            # a rule of one user is that user's own and is not divided
            own = len(set(problem.user[list(columns)])) == 1
            kept = [(place[c], t) for c, t in zip(columns, times, strict=True) if c in place]
            if kept:
                rules.append((most if own else most / PARTS, *map(tuple, zip(*kept, strict=True))))
        small = replace(
            problem,
            weight=problem.weight[users],
            limit=problem.limit[users],
            pool=problem.pool / min(PARTS, problem.users),
            user=np.searchsorted(users, problem.user[inside]),
            **{key: getattr(problem, key)[inside] for key in ("server", "demand", "share")},
            rules=tuple(rules),
        )
        found = cvxpy_clarabel.solve(small)
        tasks[inside] = found[0] if isinstance(found, tuple) else found
    return tasks
