"""resalloc (price discovery for many jobs, one resource), where it is installed; in no registry."""

import numpy as np
import resalloc.fungible as allocator

from benchmarks.fairbench.problem import Cannot


def solve(problem):
    if problem.alpha != 1 or problem.rules or np.isfinite(problem.limit).any():
        raise Cannot("a sum of logarithms over plain resources only")
    use, have = problem.rows
    if len(np.unique(problem.user)) < len(problem.user):
        raise Cannot("one column a user only")
    utility = allocator.utilities.Log(np.asarray(problem.weight))
    found = allocator.AllocationProblem(
        utility, throughput_matrix=use.T.toarray(), resource_limits=have
    )
    return np.ravel(found.solve())
