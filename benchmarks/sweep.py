"""Sweeps: 2,500 points of the PF/DRF trade-off beside the plain way, and two workers beside one.

    python benchmarks/sweep.py [--points 2500] [--long 0] [--real 0] [--write docs/results/sweep.md]

The plain way builds and solves a fresh cvxpy problem for each point (kesidis2016 (16), the
three-user model of section 4.1, Clarabel with its defaults) and reads the dominant shares, no more.
Ours is `fairopt.sweep`: every point solved, judged by its certificate and measured; once with its
loops compiled, as a sweep of so many points has them where numba is installed, and once in NumPy.
All in this process, in turns of 50 points, so that a busy machine slows all; the answers are
compared before the times are. With --long N a sweep of N points is run through the command line
with -j 1 and -j 2, and the output files are compared byte for byte. With --real N the command
sweeps N x N points of 40 users on 10 servers as Google had them in 2011 (models/real), on two
workers.
"""

from __future__ import annotations

import argparse
import csv
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))

import fairopt as fo
from benchmarks.loops import loops
from fairopt import fast

MODEL, REAL = "kesidis2016/no-penalty", "real/google2011"
TURN = 50
AIM = 10
"""times faster than the plain way"""


class Clock:
    """Seconds of wall and of processor spent in calls."""

    def __init__(self) -> None:
        self.wall = self.cpu = 0.0

    def run(self, call: Callable[[], Any]) -> Any:
        wall, cpu = time.perf_counter(), time.process_time()
        result = call()
        self.wall += time.perf_counter() - wall
        self.cpu += time.process_time() - cpu
        return result


def plain(inst: fo.Instance, t_pf: float, t_drf: float) -> np.ndarray:
    """(N,) F_n of (16), by a fresh cvxpy problem as one would write it down."""
    import cvxpy as cp

    users, servers, resources = inst.shape
    x = cp.Variable((users, servers), nonneg=True)
    unit = (inst.demand[:, None, :] / inst.capacity[None]).max(axis=2)
    dominant = cp.multiply(unit, x)
    f = cp.sum(dominant, axis=1)
    apart = sum(
        cp.sum_squares(dominant[:, i] - cp.sum(dominant[:, i]) / users) / users
        for i in range(servers)
    )
    var = cp.sum_squares(f - cp.sum(f) / users) / users
    limits = [inst.demand.T @ x[:, i] <= inst.capacity[i] for i in range(servers)]
    problem = cp.Problem(cp.Maximize(cp.sum(cp.log(f)) - t_pf * var - t_drf * apart), limits)
    problem.solve(solver=cp.CLARABEL)
    return np.asarray(f.value)


def swept(inst: fo.Instance, grid: list[tuple[float, float]], compiled: bool) -> Any:
    """The sweep of some points, with loops compiled or in NumPy."""
    with loops(compiled):
        return fo.sweep(inst, [fo.Tradeoff(*t) for t in grid])


def beside(points: int) -> list[str]:
    """Markdown of ours beside the plain way."""
    inst = fo.read(MODEL).instance
    side = max(2, round(points**0.5))
    grid = [
        (float(t_pf), float(t_drf))
        for t_pf in np.linspace(0, 100, side)
        for t_drf in np.linspace(0, 1000, side)
    ]
    # imports and first calls, of which one makes the machine code, are not what is measured
    plain(inst, 1.0, 1.0)
    for compiled in (True, False):
        swept(inst, grid[:1], compiled)
    ours, numpy, theirs = Clock(), Clock(), Clock()
    worst, certified, gap = 0.0, 0, 0.0
    for start in range(0, len(grid), TURN):
        turn = grid[start : start + TURN]
        expected = theirs.run(lambda turn=turn: [plain(inst, *t) for t in turn])
        both = [
            clock.run(lambda turn=turn, compiled=compiled: swept(inst, turn, compiled)).rows
            for clock, compiled in ((ours, True), (numpy, False))
        ]
        for row, f in zip([*both[0], *both[1]], [*expected, *expected], strict=True):
            certified += row["certified"]
            gap = max(gap, row["gap"], row["residual"])
            levels = np.array(list(row["levels"].values()))
            worst = max(worst, float(np.abs(levels / f - 1).max()))
        print(f"{start + len(turn)} of {len(grid)}: {theirs.cpu / ours.cpu:.1f}", file=sys.stderr)
    n = len(grid)
    aim = "reached" if theirs.cpu >= AIM * ours.cpu else "not reached"
    by_choice = "" if n >= fast.MANY_ANSWERS else f", which `{fast.CHOICE}=1` asks for here"
    return [
        f"## {n:,} points of the three-user model, one process",
        "",
        "| | wall s | processor s | processor ms a point |",
        "|---|---|---|---|",
        f"| a fresh cvxpy problem a point | {theirs.wall:.1f} | {theirs.cpu:.1f} "
        f"| {1000 * theirs.cpu / n:.2f} |",
        f"| `fo.sweep`, judged and measured, loops compiled | {ours.wall:.1f} | {ours.cpu:.1f} "
        f"| {1000 * ours.cpu / n:.2f} |",
        f"| the same in NumPy alone | {numpy.wall:.1f} | {numpy.cpu:.1f} "
        f"| {1000 * numpy.cpu / n:.2f} |",
        f"| ratio, compiled | {theirs.wall / ours.wall:.1f} | {theirs.cpu / ours.cpu:.1f} | |",
        f"| ratio, NumPy | {theirs.wall / numpy.wall:.1f} | {theirs.cpu / numpy.cpu:.1f} | |",
        "",
        f"The aim is a ratio of {AIM}; by processor time it was {aim} in this run. Compiled loops "
        f"are what a sweep of {fast.MANY_ANSWERS:,} points or more has where numba is installed"
        f"{by_choice}; to load them takes a third of a second, which is not counted here, and to "
        "make their machine code, once for an installation, some thirty.",
        "",
        f"Certified: {certified} of {2 * n}, largest gap or residual {gap:.1e}. Largest relative "
        f"difference of a level F_n from the plain way's, which proves nothing: {worst:.1e}.",
        "",
    ]


def overhead(points: int = 1000) -> list[str]:
    """Markdown of what a sweep adds to its solves."""
    from fairopt.sweeping import worker

    inst = fo.read(MODEL).instance
    answer = fo.solve(inst, fo.Tradeoff(1.0, 1.0))
    worker.best_throughput(inst, inst.digest())
    real, fo.solving.solve = fo.solving.solve, lambda *_, **__: answer
    try:
        clock, kept = Clock(), Clock()
        notions = [fo.Tradeoff(0.0, float(t)) for t in range(points)]
        clock.run(lambda: fo.sweep(inst, notions))
        with tempfile.TemporaryDirectory() as folder:
            kept.run(lambda: fo.sweep(inst, notions, resume=Path(folder) / "points.jsonl"))
    finally:
        fo.solving.solve = real
    return [
        "## What a sweep adds to a solve",
        "",
        f"Measures, rows and keys: {1000 * clock.cpu / points:.2f} ms of processor a point; "
        f"{1000 * kept.cpu / points:.2f} ms with a resume file.",
        "",
    ]


def workers(points: int) -> list[str]:
    """Markdown of -j 2 beside -j 1, files compared."""
    over = ["--over", f"t_drf=0:1000:{points}", "--format", "csv"]
    times, files = [], []
    with tempfile.TemporaryDirectory() as folder:
        for jobs in ("1", "2"):
            path = Path(folder) / f"{jobs}.csv"
            start = time.perf_counter()
            subprocess.run(
                [
                    sys.executable,
                    "-m",
                    "fairopt.cli",
                    "sweep",
                    MODEL,
                    *over,
                    "-j",
                    jobs,
                    "-o",
                    str(path),
                ],
                check=True,
                stderr=subprocess.DEVNULL,
                env={**os.environ, "PYTHONPATH": str(Path(fo.__file__).parent.parent)},
            )
            times.append(time.perf_counter() - start)
            files.append(path.read_bytes())
    same = "the same bytes" if files[0] == files[1] else "DIFFERENT BYTES"
    return [
        f"## Two workers, {points:,} points",
        "",
        "| | wall s |",
        "|---|---|",
        f"| `-j 1` | {times[0]:.1f} |",
        f"| `-j 2` | {times[1]:.1f} |",
        f"| ratio | {times[0] / times[1]:.2f} |",
        "",
        f"Whole commands, imports included. Output files: {same} ({len(files[0]):,}).",
        "",
    ]


def real(side: int) -> list[str]:
    """Markdown of a sweep of the real model by the command, on two workers."""
    over = ["--over", f"t_pf=0:100:{side}", "--over", f"t_drf=0:1000:{side}"]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "points.csv"
        command = [sys.executable, "-m", "fairopt.cli", "sweep", REAL, *over, "-j", "2"]
        children = resource.getrusage(resource.RUSAGE_CHILDREN)
        start, cpu = time.perf_counter(), children.ru_utime + children.ru_stime
        subprocess.run(
            [*command, "--format", "csv", "-o", str(path)],
            check=True,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": str(Path(fo.__file__).parent.parent)},
        )
        wall = time.perf_counter() - start
        children = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = children.ru_utime + children.ru_stime - cpu
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
    certified = sum(row["certified"].lower() == "true" for row in rows)
    return [
        "## A real model",
        "",
        f"`fairopt sweep {REAL}`, {side} x {side} points of `t_pf` and `t_drf` on two workers: "
        f"{wall:.0f} s of wall, {cpu:.0f} s of processor, the command's imports included. "
        f"Certified: {certified} of {len(rows)}.",
        "",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--points", type=int, default=2500)
    parser.add_argument("--long", type=int, default=0, help="points of the sweep with workers")
    parser.add_argument("--real", type=int, default=0, help="side of the grid of the real model")
    parser.add_argument("--write", metavar="FILE")
    options = parser.parse_args()
    called = f"python benchmarks/sweep.py --points {options.points} --long {options.long}"
    called += f" --real {options.real}" if options.real else ""
    load, cores = os.getloadavg()[0], os.cpu_count()
    lines = [
        "# Sweeps: time",
        "",
        f"Written by `{called}`, one BLAS thread, on {cores}",
        f"cores with {load:.0f} processes running before it started. Ratios are of one run.",
        "",
    ]
    lines += beside(options.points) + overhead()
    if options.long:
        lines += workers(options.long)
    if options.real:
        lines += real(options.real)
    text = "\n".join(lines).rstrip() + "\n"
    print(text, end="")
    if options.write:
        Path(options.write).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
