"""Small answers: the whole of `fo.solve` beside the fastest way to ask cvxpy and Clarabel.

    OPENBLAS_NUM_THREADS=1 python benchmarks/small.py --write docs/results/small.md

Five sizes up to 100 users x 20 servers, five densities, four alphas. Both sides from arrays to an
answer: ours merges, solves and judges, in NumPy alone, as a single answer is, and with its loops
compiled, as answers are where a call wants many or it is asked for; cvxpy builds, compiles and
solves. cvxpy is asked in three ways in turns with ours, and the one with the least median of a row
counts, whatever the error of its answer. All times are CPU seconds of this process.
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
from benchmarks.loops import loops
from benchmarks.peers.judging import data_of
from benchmarks.peers.question import Data
from benchmarks.peers.sides import cvxpy_pairs, cvxpy_plain
from fairopt import fast
from fairopt.instance.generate import random_instance
from fairopt.solving import answering, best, ladder
from fairopt.solving.engines.compact import small as compact
from fairopt.solving.engines.path import plain

SIZES = ((3, 2, 2), (10, 5, 3), (30, 10, 3), (50, 20, 3), (100, 20, 3))
DENSITIES = (0.1, 0.2, 0.5, 0.7, 1.0)
ALPHAS = (1.0, 0.5, 2.0, 5.0)
DRAWS, ROUNDS = 2, 3
AIM = 1 / 3
"""of cvxpy's time, at most"""
OURS = {"NumPy alone": False, **({"loops compiled": True} if fast.available() else {})}
"""ours, and whether its loops are compiled"""
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
    """One size, density and alpha: CPU s of each call of each side, errors of ours."""

    size: tuple[int, int, int]
    density: float
    alpha: float
    ours: dict[str, list[float]] = field(default_factory=dict)
    theirs: dict[str, list[float]] = field(default_factory=dict)
    error: float = 0.0

    def best(self) -> tuple[str, float]:
        """Name and CPU of the fastest way to ask cvxpy."""
        found = {name: statistics.median(calls) for name, calls in self.theirs.items() if calls}
        name = min(found, key=found.__getitem__)
        return name, found[name]

    def ratio(self, how: str) -> float:
        """Ours over cvxpy's."""
        return statistics.median(self.ours[how]) / self.best()[1]


def timed(call: Callable[[], Any]) -> tuple[Any, float]:
    """What a call finds, and its CPU s."""
    cpu = time.process_time()
    found = call()
    return found, time.process_time() - cpu


def measured(size: tuple[int, int, int], density: float, alpha: float) -> Row:
    from cvxpy.error import DCPError, SolverError

    notion = fo.AlphaFair(alpha)
    row = Row(size, density, alpha, {how: [] for how in OURS}, {name: [] for name in WAYS})
    print(f"{named(size)}, density {density:g}, alpha {alpha:g}", file=sys.stderr)
    for seed in range(DRAWS):
        inst = random_instance(*size, density=density, seed=seed)
        given = data_of(inst, notion)
        for _ in range(ROUNDS):
            for how, compiled in OURS.items():
                fresh = inst.replace()  # nothing that an earlier call may have kept
                with loops(compiled):
                    alloc, taken = timed(lambda: fo.solve(fresh, notion))  # noqa: B023
                row.ours[how].append(taken)
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
            found, cpu = timed(lambda: function(*given, **more))
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
                    taken["all"] += timed(lambda: fo.solve(inst, fo.AlphaFair(alpha)))[1]  # noqa: B023
    finally:
        for (module, name, _), function in zip(places, kept, strict=True):
            setattr(module, name, function)
    return taken


Shares = dict[tuple[tuple[int, int, int], str], dict[str, float]]
"""`parts` by size and by how ours was asked"""


def told(rows: list[Row], how: str) -> str:
    """How many rows reach the aim, in a sentence or two."""
    worst = max(rows, key=lambda row: row.ratio(how))
    kept, half = (sum(row.ratio(how) <= aim for row in rows) for aim in (AIM, 0.5))
    return (
        f"With {how}, of {len(rows)} rows {kept} take at most a third of cvxpy's CPU time, {half} "
        f"at most half; the worst takes {worst.ratio(how):.2f} of it ({named(worst.size)}, density "
        f"{worst.density:g}, alpha {worst.alpha:g})."
    )


def page(rows: list[Row], shares: Shares) -> str:
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
        *(line for how in OURS for line in (told(rows, how), "")),
        "Loops are compiled where a call wants many answers, as a sweep does, or "
        f"`{fast.CHOICE}=1` asks for it; to load their machine code takes a third of a second, "
        "which is not counted here, and to make it, once for an installation, some thirty.",
        "",
        "All of ours are certified, largest gap or residual "
        f"{max(row.error for row in rows):.0e}; cvxpy's answers are not judged.",
        "",
        f"Each entry: median ms of CPU of ours, {' / '.join(OURS)} / of the fastest of three ways "
        f"to ask cvxpy, {DRAWS} draws, {ROUNDS} rounds each; in brackets what part each of ours is "
        "of that.",
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
    each = ", ".join(f"{name} {ways.count(name)}" for name in WAYS)
    lines += [
        "",
        f"Rows in which each way was cvxpy's fastest: {each}.",
        "",
        "## Where the time goes",
        "",
        "| users x servers x resources, how | ms an answer | merging | solving | judging "
        "| the rest |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for (size, how), taken in shares.items():
        whole = taken["all"]
        rest = whole - sum(taken[part] for part in ("merging", "solving", "judging"))
        parted = [taken["merging"], taken["solving"], taken["judging"], rest]
        ms = 1000 * whole / (len(DENSITIES) * len(ALPHAS) * DRAWS)
        percent = " | ".join(f"{100 * part / whole:.0f} %" for part in parted)
        lines.append(f"| {named(size)}, {how} | {ms:.2f} | {percent} |")
    return "\n".join([*lines, ""])


def named(size: tuple[int, int, int]) -> str:
    return " x ".join(map(str, size))


def cell(row: Row) -> str:
    times = [*map(statistics.median, row.ours.values()), row.best()[1]]
    parts_of = ", ".join(f"{row.ratio(how):.2f}" for how in OURS)
    return f"{' / '.join(f'{1000 * cpu:.1f}' for cpu in times)} ({parts_of})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sizes", type=int, default=len(SIZES), help="how many, smallest first")
    parser.add_argument("--write", type=Path, help="the page to write")
    given = parser.parse_args()
    warnings.simplefilter("ignore")  # cvxpy's, of inaccurate answers
    for alpha in ALPHAS:  # imports and first calls are nobody's time
        measured(SIZES[0], 1.0, alpha)
    for compiled in OURS.values():  # one of which makes the machine code
        with loops(compiled):
            fo.solve(random_instance(30, 10, 3, density=0.2, seed=0), fo.AlphaFair(20))
    rows = [
        measured(size, density, alpha)
        for size in SIZES[: given.sizes]
        for density in DENSITIES
        for alpha in ALPHAS
    ]
    shares: Shares = {}
    for size in SIZES[: given.sizes]:
        for how, compiled in OURS.items():
            with loops(compiled):
                shares[size, how] = parts(size)
    text = page(rows, shares)
    print(text)
    if given.write is not None:
        given.write.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
