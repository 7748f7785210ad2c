"""DeDe: the alternating method over resources and demands with its defaults, one worker."""

from __future__ import annotations

import contextlib
import os
from typing import Any

import numpy as np

from benchmarks.peers.question import Answer, Data, Floats


def solve(given: Data) -> Answer:
    """max sum W log s with a dense variable in equal parts; no duals."""
    import dede as dd

    if given.alpha not in (0, 1):
        raise ValueError("alpha 0 and 1 only")
    users, servers, resources = given.shape
    score, use = np.zeros((users, servers)), np.zeros((users, servers, resources))
    score[given.n, given.i] = given.score * given.unit
    use[given.n, given.i] = given.use * given.unit[:, None]
    x = dd.Variable((users, servers), nonneg=True)
    rows = [use[:, i, r] @ x[:, i] <= 1 for i in range(servers) for r in range(resources)]
    # a pair that is not eligible stands in no row and no column
    columns = [score[n] @ x[n, :] >= 0 for n in range(users)]
    gain = [score[n] @ x[n, :] for n in range(users)]
    if given.alpha == 1:
        gain = [dd.log(g) for g in gain]
    objective = dd.Maximize(sum(w * g for w, g in zip(given.weight.tolist(), gain, strict=True)))
    problem = dd.Problem(objective, rows, columns)
    try:
        with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
            problem.solve(num_cpus=1, solver=dd.ECOS)
        found = _last(problem, users * servers).reshape((users, servers), order="F")
    finally:
        import ray

        ray.shutdown()
    return Answer(found[given.n, given.i] * given.unit, status="converged")


def _last(problem: Any, size: int) -> Floats:
    """(N I,) the last half step's solution: the variable itself is given no value."""
    import ray

    actors = problem._subprob_cache.probs
    places = ray.get([actor.get_solution_idx_d.remote() for actor in actors])
    found = np.zeros(size)
    for (_, place), value in zip((p for part in places for p in part), problem.sol_d, strict=True):
        found[place] = value
    return found
