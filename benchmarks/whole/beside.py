"""The same questions put to other solvers: the fewest tasks short, found and proved, and seconds.

    python -m benchmarks.whole.beside --clusters 20 --seconds 5

Beside fairopt: HiGHS with every node's whole numbers (`exact`), CP-SAT with the same if ortools is
installed, and best fit, largest tasks first, which proves nothing. What others state is taken as it
is; nothing here is believed by fairopt.
"""

from __future__ import annotations

import argparse
import math
import time
from importlib.util import find_spec
from multiprocessing import get_context
from typing import NamedTuple

from benchmarks.whole import exact
from benchmarks.whole.draws import drawn
from fairopt.whole.asking import searched
from fairopt.whole.proof import claims
from fairopt.whole.proof.answer import Asked
from fairopt.whole.proof.judging import judge
from fairopt.whole.proof.placement import Placement
from fairopt.whole.proof.problem import Problem
from fairopt.whole.rounding import filled


class Found(NamedTuple):
    """Tasks short that were found, what no placement is below, seconds of the processor."""

    short: float
    least: float
    seconds: float


def ours(asked: Asked, seconds: float) -> Found:
    """fairopt: the bound is the judge's."""
    begun = time.process_time()
    verdict = judge(searched(asked, seconds=seconds, fewest=True))
    return Found(verdict.short, verdict.least, time.process_time() - begun)


def best_fit(asked: Asked, _: float) -> Found:
    """Large tasks first, each on the fullest node that has room; it knows no bound."""
    begun = time.process_time()
    placed = Placement(asked.problem)
    filled(placed)
    placed.trim(asked.problem.asked)
    short = claims.short(asked.problem, placed.total)
    return Found(short, 0, time.process_time() - begun)


def highs(asked: Asked, seconds: float) -> Found:
    """HiGHS, every node by itself."""
    begun = time.process_time()
    found = exact.fewest(asked.problem, seconds)
    return Found(found.short, math.ceil(found.bound - 1e-6), time.process_time() - begun)


def cp_sat(asked: Asked, seconds: float) -> Found:
    """CP-SAT, every node by itself, one worker.

    Raises
    ------
    ImportError : ortools is not installed.
    """
    from ortools.sat.python import cp_model

    problem: Problem = asked.problem
    begun = time.process_time()
    model = cp_model.CpModel()
    total: list[list[object]] = [[] for _ in problem.users]
    for own in problem.classes:
        for _ in range(own.count):
            here = [model.new_int_var(0, kind.most, "") for kind in own.kinds]
            for r, room in enumerate(own.room):
                some = [(x, k.need[r]) for x, k in zip(here, own.kinds, strict=True) if k.need[r]]
                if some:
                    model.add(sum(x * need for x, need in some) <= room)
            for x, kind in zip(here, own.kinds, strict=True):
                total[kind.user].append(x)
    short = []
    for n, (w, gang) in enumerate(zip(problem.whole, problem.gang, strict=True)):
        gangs = model.new_int_var(0, w // gang, "")
        model.add(sum(total[n]) + gang * gangs >= w)
        short.append(gang * gangs)
    model.minimize(sum(short))
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = seconds
    solver.parameters.num_workers = 1
    status = solver.solve(model)
    known = status in (cp_model.OPTIMAL, cp_model.FEASIBLE)
    return Found(
        round(solver.objective_value) if known else math.inf,
        math.ceil(solver.best_objective_bound - 1e-6),
        time.process_time() - begun,
    )


def main(given: list[str] | None = None) -> None:
    """Print a row for each solver."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clusters", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=5.0, help="of the clock, of each")
    own = parser.parse_args(given)
    ways = {"fairopt": ours, "HiGHS": highs, "CP-SAT": cp_sat, "best fit": best_fit}
    if find_spec("ortools") is None:
        del ways["CP-SAT"]
    questions = [drawn(k) for k in range(own.clusters)]
    rows = {}
    for name, way in ways.items():
        # each in a process of its own: the libraries of two solvers may not load beside each other
        with get_context("spawn").Pool(1) as pool:
            rows[name] = pool.starmap(way, [(asked, own.seconds) for asked in questions])
    best = [
        min(found) for found in zip(*([f.short for f in r] for r in rows.values()), strict=True)
    ]
    proved = [max(own) for own in zip(*([f.least for f in r] for r in rows.values()), strict=True)]
    contradictions = sum(a < b for a, b in zip(best, proved, strict=True))
    print("| | fewest of all found | proved | short in all | bound in all | seconds |")
    print("|---|---:|---:|---:|---:|---:|")
    for name, found in rows.items():
        print(
            f"| {name} | {sum(f.short == b for f, b in zip(found, best, strict=True))} | "
            f"{sum(f.short == f.least for f in found)} | {sum(f.short for f in found):,} | "
            f"{sum(f.least for f in found):,} | {sum(f.seconds for f in found):.1f} |",
            flush=True,
        )
    print(f"{len(questions)} clusters; a bound above what another found: {contradictions}")


if __name__ == "__main__":
    main()
