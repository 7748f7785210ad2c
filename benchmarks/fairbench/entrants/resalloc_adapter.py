"""resalloc (price discovery for many jobs, cvxgrp/resalloc); in no registry, and it needs torch."""

import numpy as np
import torch
from resalloc.fungible import AllocationProblem, utilities

from benchmarks.fairbench.problem import Cannot


def solve(problem):
    if problem.alpha != 1 or problem.rules or len(set(problem.weight.tolist())) > 1:
        raise Cannot("a plain sum of logarithms without further rows only")
    if ((problem.demand > 0).sum(axis=1) != 1).any():
        raise Cannot("each way to run takes one resource only")
    n, kinds = problem.user, problem.demand.shape[1]
    server, what = problem.server, problem.demand.argmax(axis=1)
    rows, j = np.unique(server * kinds + what, return_inverse=True)
    if len({*zip(n.tolist(), j.tolist(), strict=True)}) < len(n):
        raise Cannot("one way a job and resource only")
    # a job's time is 1, which is as many tasks as it may run; where it has no limit, more than fit
    fit = np.bincount(n, problem.alone, minlength=problem.users)
    most = np.where(np.isfinite(problem.limit), problem.limit, fit)
    worth, takes = np.zeros((problem.users, len(rows))), np.ones((problem.users, len(rows)))
    worth[n, j] = problem.share * most[n]
    takes[n, j] = problem.demand[np.arange(len(n)), what] * most[n]
    have = problem.pool.ravel()[rows]
    found = AllocationProblem(
        torch.tensor(worth), torch.tensor(have), utilities.Log(), torch.tensor(takes / 1.0)
    )
    found.solve()
    spent = found.make_feasible(found.X).numpy()  # the first column is time in which a job waits
    return spent[n, j + 1] * most[n]
