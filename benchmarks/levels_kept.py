"""Lexicographic max-min beside HiGHS alone: one model kept from level to level, and from scratch.

    OPENBLAS_NUM_THREADS=1 python -m benchmarks.levels_kept --write docs/results/levels-kept.md
    OPENBLAS_NUM_THREADS=1 python -m benchmarks.levels_kept --only 20x8 100x20

Ours is the whole call of `fo.solve`: merging, solving and judging. The others build the model and
solve it, and prove nothing. All take turns in one run; seconds are of this process, medians.
"""

from __future__ import annotations

import argparse
import platform
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

import fairopt as fo
from fairopt import criteria
from fairopt.instance import Floats
from fairopt.instance.generate import random_instance

SURE = 1e-7
"""a multiplier above this part of the largest freezes its user"""
MOST_SECONDS = 5.0
"""seconds after which HiGHS is stopped"""
ROUNDS, LONG = 5, 0.5
"""calls of each side; one of a side whose first call takes longer than LONG seconds"""


@dataclass(frozen=True)
class Case:
    """A random cluster of three resources; with `decades`, servers of very different sizes."""

    users: int
    servers: int
    density: float
    words: str = ""
    limits: float = 0.0
    nested: bool = False
    zero: float = 0.0
    decades: float = 0.0

    def instance(self) -> fo.Instance:
        inst = random_instance(
            self.users,
            self.servers,
            3,
            density=self.density,
            seed=15,
            limits=self.limits,
            nested=self.nested,
            zero_demand=self.zero,
        )
        if not self.decades:
            return inst
        rng = np.random.default_rng(15)
        size = 10.0 ** (self.decades * (rng.random(self.servers) - 0.5))
        return inst.replace(capacity=inst.capacity * size[:, None])

    @property
    def name(self) -> str:
        return f"{self.users}x{self.servers}"


_KINDS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("servers over three decades", {"decades": 3.0}),
    ("limits", {"limits": 0.3}),
    ("nested", {"nested": True}),
    ("missing demands", {"zero": 0.4}),
)
CASES = (
    *(Case(20, 8, d) for d in (0.1, 0.3, 0.7)),
    *(Case(30, 10, d) for d in (0.1, 0.2, 0.7)),
    *(Case(50, 20, d) for d in (0.05, 0.1, 0.7)),
    *(Case(100, 20, d) for d in (0.06, 0.2, 0.7)),
    *(Case(100, 20, 0.1, words, **kind) for words, kind in _KINDS),
    *(Case(200, 40, d) for d in (0.02, 0.1, 0.3)),
    *(Case(300, 30, d) for d in (0.05, 0.3)),
    *(Case(300, 30, 0.1, words, **kind) for words, kind in _KINDS),
    *(Case(1000, 100, d) for d in (0.02, 0.06, 0.1)),
    *(Case(1000, 100, 0.06, words, **kind) for words, kind in _KINDS),
    Case(3000, 12, 0.3),
    *(Case(3000, 12, 0.3, words, **kind) for words, kind in _KINDS[1:]),
    Case(3000, 400, 0.005),
    Case(3000, 400, 0.01),
)


def model(inst: fo.Instance, score: Floats, method: str) -> tuple[Any, Floats, Floats]:
    """HiGHS with max t: sum y - w t >= 0, capacity and limits 1, y in units of a user alone."""
    import highspy
    from scipy.sparse import coo_array

    n, i = inst.pairs
    users, servers, resources = inst.shape
    pairs, pair = len(n), np.arange(len(n))
    best = np.zeros(users)
    np.maximum.at(best, n, inst.alone[n, i] * score[n, i])
    size = best[n] / score[n, i]
    w = inst.weight / best
    w = w / w.mean()
    capped = np.isfinite(inst.limit)
    place = users + servers * resources + np.cumsum(capped) - 1
    mine = np.flatnonzero(capped[n])
    rows = users + servers * resources + int(capped.sum())
    down = [n, (users + i[:, None] * resources + np.arange(resources)).ravel(), place[n[mine]]]
    across = [pair, np.repeat(pair, resources), mine]
    entries = [
        np.ones(pairs),
        (inst.pair_part * size[:, None]).ravel(),
        (size / inst.limit[n])[mine],
    ]
    whole = (
        np.concatenate([*entries, -w]),
        (
            np.concatenate([*down, np.arange(users)]),
            np.concatenate([*across, np.full(users, pairs)]),
        ),
    )
    matrix = coo_array(whole, shape=(rows, pairs + 1)).tocsc()
    matrix.eliminate_zeros()
    highs, inf = highspy.Highs(), highspy.kHighsInf
    options = {
        "output_flag": False,
        "threads": 1,
        "time_limit": MOST_SECONDS,
        "primal_feasibility_tolerance": 1e-9,
        "dual_feasibility_tolerance": 1e-9,
        "solver": "ipm" if method == "interior" else "simplex",
        "simplex_strategy": 4 if method == "primal" else 1,
    }
    for name, value in options.items():
        highs.setOptionValue(name, value)
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = pairs + 1, rows
    lp.col_cost_ = np.append(np.zeros(pairs), -1.0)
    lp.col_lower_, lp.col_upper_ = np.zeros(pairs + 1), np.full(pairs + 1, inf)
    lp.row_lower_ = np.concatenate([np.zeros(users), np.full(rows - users, -inf)])
    lp.row_upper_ = np.concatenate([np.full(users, inf), np.ones(rows - users)])
    lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    lp.a_matrix_.start_, lp.a_matrix_.index_ = matrix.indptr, matrix.indices
    lp.a_matrix_.value_ = matrix.data
    highs.passModel(lp)
    return highs, w, best


def alone(inst: fo.Instance, score: Floats, method: str) -> Floats | str:
    """(N,) levels by HiGHS alone, or how it ended without all of them.

    method : "kept", from the last basis by HiGHS's own choice; "primal", by the primal simplex
        method; "interior", each level from scratch by the interior method with crossover.
    """
    highs, w, best = model(inst, score, method)
    users, column = inst.shape[0], len(inst.pairs[0])
    free, share = np.ones(users, bool), np.zeros(users)
    end = time.process_time() + MOST_SECONDS
    while free.any() and time.process_time() < end:
        if method == "interior":
            highs.clearSolver()
        highs.run()
        status = highs.modelStatusToString(highs.getModelStatus())
        if status != "Optimal":
            return "not ended" if status == "Time limit reached" else f"failed: {status}"
        found = highs.getSolution()
        part = np.where(free, np.abs(np.asarray(found.row_dual)[:users]) * w, 0.0)
        if not part.max() > 0:
            return "failed: nobody stopped"
        stopped = free & (part > SURE * part.max())
        share[stopped] = (found.col_value[-1] * w)[stopped]
        free &= ~stopped
        for k in np.flatnonzero(stopped).tolist():
            highs.changeCoeff(k, column, 0.0)
            highs.changeRowBounds(k, float(share[k]) * (1 - 1e-12), np.inf)
    return "not ended" if free.any() else share * best / inst.weight


def timed(call: Callable[[], Any]) -> tuple[Any, float]:
    start = time.process_time()
    found = call()
    return found, time.process_time() - start


SIDES = ("kept", "primal", "interior")


def line(case: Case) -> tuple[str, list[float]]:
    """A row of the table, and the time of each side as a multiple of ours (inf: it did not end)."""
    inst, notion = case.instance(), fo.MaxMin()
    score = criteria.score(inst, notion.criterion)
    taken: dict[str, list[float]] = {name: [] for name in ("ours", *SIDES)}
    found: dict[str, Floats | str] = {}
    answer = fo.solve(inst, notion)  # the first call of a kind pays for imports
    for turn in range(ROUNDS):
        again, seconds = timed(lambda: fo.solve(inst, notion))
        taken["ours"].append(seconds)
        assert again.tasks.tobytes() == answer.tasks.tobytes()
        for side in SIDES:
            if turn and taken[side][0] > LONG:
                continue
            found[side], seconds = timed(lambda side=side: alone(inst, score, side))
            taken[side].append(seconds)
        if max(taken["ours"][0], *(taken[side][0] for side in SIDES)) > LONG and turn == 1:
            break
    ours = median(taken["ours"])
    cells, ratios = [], []
    for side in SIDES:
        levels, seconds = found[side], median(taken[side])
        if isinstance(levels, str):
            cells.append(levels)
            ratios.append(np.inf)
            continue
        apart = float(np.abs(levels / answer.levels - 1).max())
        wrong = f" (apart {apart:.0e})" if apart > 1e-6 else ""
        cells.append(f"{1e3 * seconds:.1f}{wrong}")
        ratios.append(np.inf if wrong else seconds / ours)
    words = f", {case.words}" if case.words else ""
    level = np.sort(answer.levels)
    count = 1 + int((np.diff(level) > 1e-9 * level[1:]).sum())
    error = max(answer.certificate.gap, answer.certificate.residual)
    ways = ", ".join(sorted({step["status"] for step in answer.steps if "status" in step}))
    row = (
        f"| {case.users:,} x {case.servers}, {case.density:g}{words} | {len(inst.pairs[0]):,} "
        f"| {count} | {1e3 * ours:.1f} | {error:.0e} | {ways} | {' | '.join(cells)} "
        f"| {ratios[0]:.2f} |"
    ).replace("inf |", "- |")
    return row, ratios


def page(rows: list[tuple[Case, str, list[float]]]) -> str:
    small = [ratios for case, _, ratios in rows if case.users <= 1000]
    ended = [r[0] for r in small if np.isfinite(r[0])] or [1.0]
    slower = sum(r < 1 for r in ended)
    versions = ", ".join(f"{name} {version(name)}" for name in ("highspy", "numpy", "scipy"))
    return (
        f"""# Levels of max-min beside one kept HiGHS model

Milliseconds of the process, medians in one run, one thread. Ours is the whole call of `fo.solve`,
judging included ([how](../maths/max-min.md#how-it-is-solved)). *Kept* is one HiGHS model, its rows
changed and run again from the last basis; *primal* is the same by the primal simplex method;
*interior* solves every level from scratch by HiGHS's interior method with crossover. They build
their model and prove nothing. *Failed*: a program had no optimum, or nobody stopped a level; *not
ended*: stopped after {MOST_SECONDS:g} s by the clock, which a busy machine
reaches sooner; *apart*: levels differ from the proved ones. Made by

```sh
OPENBLAS_NUM_THREADS=1 python -m benchmarks.levels_kept --write docs/results/levels-kept.md
```

Up to 1,000 x 100: {len(small)} clusters. On {len(ended)} the kept model ended with the right \
levels; it was faster than
ours on {slower}, at most {1 / min([*ended, 1.0]):.1f} times; in the median ours takes \
{1 / median(ended):.2f} of its time. Python {platform.python_version()}, {versions}.

The proof is of [strict inequalities](../maths/prices.md#strict-inequalities-in-floats), some \
1.5 ms and .05 ms a level; in exact fractions a level took 2 to 3 ms.

| users x servers, density | pairs | levels | ours | gap, residual | by | kept | primal | interior \
| kept / ours |
|---|{"---:|" * 4}---|{"---:|" * 4}
"""
        + "\n".join(row for _, row, _ in rows)
        + "\n"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", help="users x servers, such as 20x8")
    parser.add_argument("--write", type=Path)
    settings = parser.parse_args()
    rows = []
    for case in CASES:
        if settings.only is None or case.name in settings.only:
            rows.append((case, *line(case)))
            print(rows[-1][1], flush=True)
    if settings.write:
        settings.write.write_text(page(rows), encoding="utf-8")


if __name__ == "__main__":
    main()
