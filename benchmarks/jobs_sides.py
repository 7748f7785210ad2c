"""One side of `jobs.py` in a process of its own: reads jobs, writes tasks, prices and seconds.

    python benchmarks/jobs_sides.py SIDE JOBS.npz ANSWER.npz

The side resalloc needs no fairopt, so it may run in another environment.
"""

from __future__ import annotations

import os
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")

import numpy as np

Arrays = dict[str, Any]
LIMIT = 60.0
"""seconds that a general solver is allowed; compiling the program comes on top"""
FEW = 50
"""jobs on which each side is warmed up"""


def ours(scale: Any, machines: Any, score: Any) -> Callable[[], Arrays]:
    import fairopt as fo

    inst = fo.Instance(scale[:, None], machines[:, None], limit=np.ones(len(scale)))
    notion = fo.AlphaFair(1.0, criterion=lambda _: score)

    def solve() -> Arrays:
        answer = fo.solve(inst, notion)
        return {"tasks": answer.tasks, "prices": answer.prices, "mu": answer.limit_prices}

    return solve


def price_discovery(eps: float) -> Callable[..., Callable[[], Arrays]]:
    """resalloc with its own method and stopping rule (absolute gap of the mean utility)."""

    def prepared(scale: Any, machines: Any, score: Any) -> Callable[[], Arrays]:
        import torch
        from resalloc.fungible import AllocationProblem, utilities

        torch.set_num_threads(1)
        torch.set_default_dtype(torch.float64)

        def solve() -> Arrays:
            problem = AllocationProblem(
                torch.tensor(score),
                torch.tensor(machines),
                utilities.Log(),
                job_demands=torch.tensor(scale),
            )
            prices, _ = problem.solve(eps=eps, max_iter=50 if eps >= 1e-3 else 500)
            return {"tasks": problem.X[:, 1:].numpy(), "prices": prices.numpy()[-4:, None]}

        return solve

    return prepared


def general(solver: str) -> Callable[..., Callable[[], Arrays]]:
    """The program in cvxpy, compiled and solved."""

    def prepared(scale: Any, machines: Any, score: Any) -> Callable[[], Arrays]:
        import cvxpy as cp

        def solve() -> Arrays:
            x = cp.Variable(score.shape, nonneg=True)
            shares = cp.sum(cp.multiply(score, x), axis=1)
            use, time_used = scale @ x <= machines, cp.sum(x, axis=1) <= 1
            program = cp.Problem(cp.Maximize(cp.sum(cp.log(shares))), [use, time_used])
            limit = {"CLARABEL": "time_limit", "SCS": "time_limit_secs"}[solver]
            program.solve(solver=solver, **{limit: LIMIT})
            found = {"tasks": x.value, "prices": use.dual_value, "mu": time_used.dual_value}
            if x.value is None:
                raise SystemExit(f"no answer: {program.status}")
            found["prices"] = np.asarray(found["prices"])[:, None]
            return found

        return solve

    return prepared


SIDES: dict[str, Callable[..., Callable[[], Arrays]]] = {
    "fairopt": ours,
    "resalloc, gap 1e-3": price_discovery(1e-3),
    "resalloc, gap 1e-6": price_discovery(1e-6),
    "cvxpy, Clarabel": general("CLARABEL"),
    "cvxpy, SCS": general("SCS"),
}


def main(side: str, source: str, target: str) -> None:
    with np.load(source) as given:
        scale, machines, score = given["scale"], given["machines"], given["score"]
    # modules that load late, and what is compiled on the first call, are not the jobs' time
    SIDES[side](scale[:FEW], machines * (scale[:FEW].sum() / scale.sum()), score[:FEW])()
    solve = SIDES[side](scale, machines, score)
    before, wall = time.process_time(), time.perf_counter()
    answer = solve()
    seconds, wall = time.process_time() - before, time.perf_counter() - wall
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    np.savez(Path(target), seconds=seconds, wall=wall, memory=memory, **answer)


if __name__ == "__main__":
    main(*sys.argv[1:])
