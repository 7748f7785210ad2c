"""Small answers: the whole of `fo.solve` beside the fastest way to ask cvxpy and Clarabel.

    OPENBLAS_NUM_THREADS=1 python benchmarks/small.py --write docs/results/small.md

Five sizes up to 100 users x 20 servers, five densities, four alphas. Both sides from arrays to an
answer: ours merges, solves and judges; cvxpy builds, compiles and solves. cvxpy is asked in three
ways in turns with ours, and the one with the least median of a row counts, whatever the error of
its answer. CPU seconds of this process decide; wall stands beside them.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))

import fairopt as fo
from benchmarks.peers.judging import data_of
from benchmarks.peers.question import Data
from benchmarks.peers.sides import cvxpy_pairs, cvxpy_plain
from fairopt.instance.generate import random_instance
from fairopt.solving import answering, best, ladder
from fairopt.solving.engines.compact import small as compact
from fairopt.solving.engines.path import plain

SIZES = ((3, 2, 2), (10, 5, 3), (30, 10, 3), (50, 20, 3), (100, 20, 3))
DENSITIES = (0.1, 0.2, 0.5, 0.7, 1.0)
ALPHAS = (1.0, 0.5, 2.0, 5.0)
DRAWS, ROUNDS = 2, 3
AIM = 0.5
"""of cvxpy's time, at most"""
TOLERANCE = 1e-8


def in_atoms(given: Data) -> None:
    """Over placed pairs, in cvxpy's own atoms: log, sqrt, inv_pos and power."""
    import cvxpy as cp

    y = cp.Variable(len(given.n), nonneg=True)
    per_pair = given.score * given.unit
    size = np.bincount(given.n, per_pair, given.shape[0])
    share = given.of_user().multiply((per_pair / size[given.n])[None, :]).tocsr() @ y
    alpha = given.alpha
    gain = (
        cp.log(share)
        if alpha == 1
        else cp.sqrt(share)
        if alpha == 0.5
        else -cp.inv_pos(share)
        if alpha == 2
        else cp.power(share, 1 - alpha) / (1 - alpha)
    )
    worth = given.weight * np.exp((1 - alpha) * np.log(size / size.max()))
    capacity = given.usage().multiply(given.unit[None, :]).tocsr() @ y <= 1
    problem = cp.Problem(cp.Maximize((worth / worth.max()) @ gain), [capacity])
    problem.solve(solver=cp.CLARABEL, warm_start=False, max_threads=1, direct_solve_method="qdldl")


WAYS: dict[str, Callable[[Data], Any]] = {
    "pairs, in atoms": in_atoms,
    "pairs, scaled": lambda given: cvxpy_pairs.solve(given, "Clarabel", TOLERANCE),
    "plain": cvxpy_plain.solve,
}


@dataclass
class Row:
    """One size, density and alpha: (CPU s, wall s) of each call of each side, errors of ours."""

    size: tuple[int, int, int]
    density: float
    alpha: float
    ours: list[tuple[float, float]] = field(default_factory=list)
    theirs: dict[str, list[tuple[float, float]]] = field(default_factory=dict)
    error: float = 0.0

    def best(self) -> tuple[str, float, float]:
        """Name, CPU and wall of the fastest way to ask cvxpy."""
        found = {name: median(calls) for name, calls in self.theirs.items() if calls}
        name = min(found, key=lambda way: found[way][0])
        return name, *found[name]

    @property
    def ratio(self) -> float:
        return median(self.ours)[0] / self.best()[1]


def median(calls: list[tuple[float, float]]) -> tuple[float, float]:
    return statistics.median(c for c, _ in calls), statistics.median(w for _, w in calls)


def timed(call: Callable[[], Any]) -> tuple[Any, tuple[float, float]]:
    cpu, wall = time.process_time(), time.perf_counter()
    found = call()
    return found, (time.process_time() - cpu, time.perf_counter() - wall)


def measured(size: tuple[int, int, int], density: float, alpha: float) -> Row:
    from cvxpy.error import DCPError, SolverError

    row, notion = Row(size, density, alpha, theirs={name: [] for name in WAYS}), fo.AlphaFair(alpha)
    print(f"{named(size)}, density {density:g}, alpha {alpha:g}", file=sys.stderr)
    for seed in range(DRAWS):
        inst = random_instance(*size, density=density, seed=seed)
        given = data_of(inst, notion)
        for _ in range(ROUNDS):
            fresh = inst.replace()  # nothing that an earlier call may have kept
            alloc, taken = timed(lambda: fo.solve(fresh, notion))  # noqa: B023
            row.ours.append(taken)
            judged = alloc.certificate
            row.error = max(row.error, judged.gap, judged.residual)
            for name, way in WAYS.items():
                try:
                    row.theirs[name].append(timed(lambda: way(given))[1])  # noqa: B023
                except (DCPError, SolverError):  # it cannot state this alpha, or fails
                    continue
    return row


def parts(size: tuple[int, int, int]) -> dict[str, float]:
    """Seconds of CPU of merging, solving and judging, and of all, over densities and alphas."""
    taken = dict.fromkeys(("merging", "solving", "judging", "all"), 0.0)
    places: tuple[tuple[Any, str, str], ...] = (
        (answering, "reducing", "merging"),
        (compact, "follow", "solving"),
        (plain, "follow", "solving"),
        (ladder, "polish", "solving"),
        (best, "measure", "judging"),
        (fo.solving, "certify", "judging"),
    )
    kept = [getattr(module, name) for module, name, _ in places]

    def clocked(function: Any, part: str) -> Any:
        def call(*given: Any, **more: Any) -> Any:
            found, (cpu, _) = timed(lambda: function(*given, **more))
            taken[part] += cpu
            return found

        return call

    try:
        for (module, name, part), function in zip(places, kept, strict=True):
            setattr(module, name, clocked(function, part))
        for density in DENSITIES:
            for alpha in ALPHAS:
                for seed in range(DRAWS):
                    inst = random_instance(*size, density=density, seed=seed)
                    taken["all"] += timed(lambda: fo.solve(inst, fo.AlphaFair(alpha)))[1][0]  # noqa: B023
    finally:
        for (module, name, _), function in zip(places, kept, strict=True):
            setattr(module, name, function)
    return taken


def page(rows: list[Row], shares: dict[tuple[int, int, int], dict[str, float]]) -> str:
    worst = max(rows, key=lambda row: row.ratio)
    kept = sum(row.ratio <= AIM for row in rows)
    lines = [
        "# Small answers",
        "",
        "`fo.solve` beside cvxpy with Clarabel on random clusters, one BLAS thread, in turns.",
        "Made by",
        "",
        "```sh",
        "OPENBLAS_NUM_THREADS=1 python benchmarks/small.py --write docs/results/small.md",
        "```",
        "",
        f"Of {len(rows)} rows {kept} take at most half of cvxpy's CPU time. The worst takes "
        f"{worst.ratio:.2f} of it ({named(worst.size)}, density {worst.density:g}, alpha "
        f"{worst.alpha:g}). All of ours are certified, largest gap or residual "
        f"{max(row.error for row in rows):.0e}; cvxpy's answers are not judged.",
        "",
        f"Each entry: median ms of CPU of ours / of the fastest of three ways to ask cvxpy, "
        f"{DRAWS} draws, {ROUNDS} rounds each; in brackets the ratio of CPU and of wall time.",
        "",
        "| users x servers x resources, density | "
        + " | ".join(f"alpha {a:g}" for a in ALPHAS)
        + " |",
        "|---|" + "---|" * len(ALPHAS),
    ]
    for size in SIZES:
        for density in DENSITIES:
            own = [row for row in rows if (row.size, row.density) == (size, density)]
            if own:
                cells = " | ".join(map(cell, own))
                lines.append(f"| {named(size)}, {density:g} | {cells} |")
    ways = [row.best()[0] for row in rows]
    told = ", ".join(f"{name} {ways.count(name)}" for name in WAYS)
    lines += [
        "",
        f"Rows in which each way was cvxpy's fastest: {told}.",
        "",
        "## Where the time goes",
        "",
        "| users x servers x resources | ms an answer | merging | solving | judging | the rest |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for size, taken in shares.items():
        whole = taken["all"]
        rest = whole - sum(taken[part] for part in ("merging", "solving", "judging"))
        parted = [taken["merging"], taken["solving"], taken["judging"], rest]
        each = 1000 * whole / (len(DENSITIES) * len(ALPHAS) * DRAWS)
        percent = " | ".join(f"{100 * part / whole:.0f} %" for part in parted)
        lines.append(f"| {named(size)} | {each:.2f} | {percent} |")
    return "\n".join([*lines, ""])


def named(size: tuple[int, int, int]) -> str:
    return " x ".join(map(str, size))


def cell(row: Row) -> str:
    (cpu, wall), (_, other, other_wall) = median(row.ours), row.best()
    return f"{1000 * cpu:.1f} / {1000 * other:.1f} ({row.ratio:.2f}, {wall / other_wall:.2f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sizes", type=int, default=len(SIZES), help="how many, smallest first")
    parser.add_argument("--write", type=Path, help="the page to write")
    given = parser.parse_args()
    warnings.simplefilter("ignore")  # cvxpy's, of inaccurate answers
    for alpha in ALPHAS:  # imports and first calls are nobody's time
        measured(SIZES[0], 1.0, alpha)
    fo.solve(random_instance(30, 10, 3, density=0.2, seed=0), fo.AlphaFair(20))
    rows = [
        measured(size, density, alpha)
        for size in SIZES[: given.sizes]
        for density in DENSITIES
        for alpha in ALPHAS
    ]
    text = page(rows, {size: parts(size) for size in SIZES[: given.sizes]})
    print(text)
    if given.write is not None:
        given.write.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
