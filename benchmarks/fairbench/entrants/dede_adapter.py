"""DeDe (alternating over resources and demands), where it is installed; it is in no registry."""

import dede as dd
import numpy as np

from benchmarks.fairbench.levels import scaled


def solve(problem):
    if np.isinf(problem.alpha) or problem.rules or np.isfinite(problem.limit).any():
        raise NotImplementedError("a log or a sum over users and servers only")
    rows, share, unit = scaled(problem)
    a, s = rows.toarray(), share.toarray()
    y = dd.Variable((len(unit), 1), nonneg=True)
    limits = [row @ y[:, 0] <= 1 for row in a]
    gain = [line @ y[:, 0] for line in s]
    if problem.alpha == 1:
        gain = [dd.log(g) for g in gain]
    goal = sum(w * g for w, g in zip(problem.weight.tolist(), gain, strict=True))
    whole = dd.Problem(dd.Maximize(goal), limits, [g >= 0 for g in gain])
    whole.solve(num_cpus=1, solver=dd.ECOS)
    return np.ravel(y.value) * unit
