"""Again after one change: seconds from the last answer beside seconds from nothing, and hit rates.

    OPENBLAS_NUM_THREADS=1 python benchmarks/after_change.py --write docs/results/after-change.md
    OPENBLAS_NUM_THREADS=1 python benchmarks/after_change.py --changes 8 --density 0.1

1,000 users, 100 servers, 4 resources. Each change is of one thing, and always of the same last
answer; five random clusters share the changes of each kind. Every tenth change, of each
kind and cluster at least one, is also solved without a start, in turns. Seconds are of this
process and hold everything that `fo.solve` does, the certificate included.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import fairopt as fo

DENSITIES = (0.1, 0.7)
CLUSTERS = 5
COLD_EVERY = 10
WANTED = 8.0
"""times faster than without a start"""
CERTIFIED = 1e-9
APART = 1e-7
USERS, SERVERS, RESOURCES = 1_000, 100, 4

Change = Callable[[fo.Instance, float, np.random.Generator], fo.Instance]


def cluster(density: float, seed: int) -> fo.Instance:
    """Servers that are not alike, users of very different size."""
    rng = np.random.default_rng(seed)
    demand = rng.uniform(0.1, 1, (USERS, RESOURCES)) * rng.lognormal(0, 0.5, (USERS, 1))
    capacity = rng.uniform(5, 20, (SERVERS, RESOURCES))
    placement = rng.random((USERS, SERVERS)) < density
    placement[np.arange(USERS), rng.integers(0, SERVERS, USERS)] = True
    return fo.Instance(demand, capacity, placement, rng.uniform(0.5, 2, USERS))


def weight(inst: fo.Instance, density: float, rng: np.random.Generator) -> fo.Instance:
    changed = inst.weight.copy()
    changed[rng.integers(len(changed))] *= rng.uniform(0.5, 2)
    return inst.replace(weight=changed)


def demand(inst: fo.Instance, density: float, rng: np.random.Generator) -> fo.Instance:
    changed = inst.demand.copy()
    changed[rng.integers(len(changed))] *= rng.uniform(0.5, 2, RESOURCES)
    return inst.replace(demand=changed)


def capacity(inst: fo.Instance, density: float, rng: np.random.Generator) -> fo.Instance:
    changed = inst.capacity.copy()
    changed[rng.integers(len(changed))] *= rng.uniform(0.7, 1.4)
    return inst.replace(capacity=changed)


def user_arrives(inst: fo.Instance, density: float, rng: np.random.Generator) -> fo.Instance:
    allowed = rng.random((1, SERVERS)) < density
    allowed[0, rng.integers(SERVERS)] = True
    return inst.replace(
        demand=np.vstack([inst.demand, rng.uniform(0.1, 1, (1, RESOURCES))]),
        placement=np.vstack([inst.placement, allowed]),
        weight=np.append(inst.weight, rng.uniform(0.5, 2)),
        limit=np.append(inst.limit, np.inf),
        users=[*inst.users, "new"],
    )


def user_leaves(inst: fo.Instance, density: float, rng: np.random.Generator) -> fo.Instance:
    return inst.select(np.delete(np.arange(USERS), rng.integers(USERS)), np.arange(SERVERS))


def server_arrives(inst: fo.Instance, density: float, rng: np.random.Generator) -> fo.Instance:
    return inst.replace(
        capacity=np.vstack([inst.capacity, rng.uniform(5, 20, (1, RESOURCES))]),
        placement=np.hstack([inst.placement, rng.random((USERS, 1)) < density]),
        count=np.append(inst.count, 1),
        servers=[*inst.servers, "new"],
    )


def server_leaves(inst: fo.Instance, density: float, rng: np.random.Generator) -> fo.Instance:
    rest = np.delete(np.arange(SERVERS), rng.integers(SERVERS))
    return inst.select(np.flatnonzero(inst.placement[:, rest].any(axis=1)), rest)


CHANGES: tuple[Change, ...] = (
    weight,
    demand,
    capacity,
    user_arrives,
    user_leaves,
    server_arrives,
    server_leaves,
)


def limited(inst: fo.Instance, rng: np.random.Generator) -> fo.Instance:
    """Three users of ten have a limit, most of them below what they would have without."""
    tasks = fo.solve(inst, fo.MaxMin()).totals * rng.uniform(0.3, 1.1, USERS)
    return inst.replace(limit=np.where(rng.random(USERS) < 0.3, tasks, np.inf))


def grouped(inst: fo.Instance, rng: np.random.Generator) -> fo.Instance:
    """Ten teams, each with at most a sixth of the first resource."""
    names = [f"team{k}" for k in range(10)]
    of = {user: names[k] for user, k in zip(inst.users, rng.integers(0, 10, USERS), strict=True)}
    most = float(inst.pool[:, 0].sum()) / 6
    bounds = [fo.Bound(name, inst.resources[0], most) for name in names]
    quotas = fo.Quotas(groups=[fo.Group(name) for name in names], group=of, bounds=bounds)
    return inst.replace(quotas=quotas)


Made = Callable[[fo.Instance, np.random.Generator], fo.Instance]


@dataclass(frozen=True)
class Case:
    """What is asked, at which densities, of which clusters; one in `few` of the changes."""

    words: str
    notion: fo.Notion
    densities: tuple[float, ...] = DENSITIES
    made: Made = lambda inst, rng: inst
    few: int = 1


CASES = (
    Case("alpha 1", fo.AlphaFair(1)),
    Case("alpha 2", fo.AlphaFair(2), few=4),
    Case("max-min", fo.MaxMin()),
    Case("max-min", fo.MaxMin(), (0.02,), few=4),
    Case("max-min, limits", fo.MaxMin(), (0.1,), limited, 4),
    Case("alpha 1, ceilings of teams", fo.AlphaFair(1), (0.1,), grouped, 4),
)


@dataclass
class Row:
    """All changes of one kind: who hit, who was certified, seconds with and without a start."""

    asked: str
    density: float
    kind: str
    hits: list[bool]
    proofs: list[float]
    seconds: list[float]
    cold: list[float]
    apart: list[float]

    def cells(self) -> list[str]:
        warm, cold = float(np.median(self.seconds)), float(np.median(self.cold))
        proved = sum(proof <= CERTIFIED for proof in self.proofs)
        return [
            self.asked,
            f"{self.density:g}",
            self.kind,
            f"{sum(self.hits)}/{len(self.hits)}",
            f"{proved}/{len(self.proofs)}",
            f"{1e3 * warm:.0f}",
            f"{1e3 * np.quantile(self.seconds, 0.9):.0f}",
            f"{1e3 * cold:.0f}",
            f"{cold / warm:.1f}",
            "yes" if cold >= WANTED * warm else "**no**",
            f"{max(self.apart, default=np.nan):.1g}",
        ]


HEAD = (
    "asked",
    "density",
    "change",
    "start used",
    "certified at 1e-9",
    "median ms",
    "9 of 10 within",
    "without a start",
    "times faster",
    "wanted (8)",
    "shares apart",
)


def timed(
    inst: fo.Instance, notion: fo.Notion, start: fo.Allocation | None
) -> tuple[fo.Allocation, float]:
    """The answer and its seconds; a new instance each time, so that nothing is remembered."""
    fresh = inst.replace(weight=inst.weight)
    begin = time.process_time()
    answer = fo.solve(fresh, notion, start=start, uncertified="return")
    return answer, time.process_time() - begin


def rows(case: Case, density: float, changes: int) -> list[Row]:
    """A row for each kind of change."""
    notion = case.notion
    found = [Row(case.words, density, change.__name__, [], [], [], [], []) for change in CHANGES]
    clusters = min(CLUSTERS, changes)
    for seed in range(clusters):
        inst = case.made(cluster(density, seed), np.random.default_rng(seed))
        last = fo.solve(inst, notion, uncertified="return")
        rng = np.random.default_rng(100 + seed)
        for number in range(seed, changes, clusters):
            for row, change in zip(found, CHANGES, strict=True):
                changed = change(inst, density, rng)
                answer, seconds = timed(changed, notion, last)
                proof = answer.certificate
                row.hits.append(str(answer.steps[0].get("status")).startswith("used"))
                row.proofs.append(max(proof.gap, proof.residual))
                row.seconds.append(seconds)
                if (number // clusters) % COLD_EVERY == 0:
                    cold, seconds = timed(changed, notion, None)
                    row.cold.append(seconds)
                    proof = cold.certificate
                    if max(proof.gap, proof.residual) <= CERTIFIED:
                        row.apart.append(float(np.abs(answer.shares / cold.shares - 1).max()))
    return found


def line(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def page(found: list[Row], changes: int) -> str:
    table = [line(list(HEAD)), line(["---"] * len(HEAD)), *(line(row.cells()) for row in found)]
    kept = sum(row.cells()[9] == "yes" for row in found)
    apart = max(max(row.apart, default=0.0) for row in found)
    return f"""# Again after one change

{USERS:,} users, {SERVERS} servers, {RESOURCES} resources; servers that are not alike, {CLUSTERS}
random clusters for each density. One thing changes: a weight by a factor of 0.5 to 2, the demand
of a user for each resource by such factors, the capacity of a server by 0.7 to 1.4, a user or a
server comes or goes. {changes} changes of each kind, of alpha 2, density 0.02, limits and
ceilings a quarter of that or {CLUSTERS}. With limits three users of ten have one; with ceilings
each of ten teams has at most a sixth of one resource. Each is solved by
`fo.solve(changed, notion, start=last)`, every tenth of
each cluster without a start as well, in turns in one process with one BLAS thread. Times are CPU
seconds of `fo.solve`, proof included, and of all changes: where the start was not used they hold
the attempt and the answer without it.

```sh
OPENBLAS_NUM_THREADS=1 python benchmarks/after_change.py --write docs/results/after-change.md
```

{chr(10).join(table)}

An eighth of the time without a start is kept in {kept} of {len(found)} rows. The largest
difference of a user's share from the answer without a start is {apart:.1g} ({APART:g} is promised),
where the latter is itself certified at {CERTIFIED:g}.

How it works: [the answer again, after a change](../maths/again.md).
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--changes", type=int, default=120)
    parser.add_argument("--density", type=float, nargs="+", help="of these alone")
    parser.add_argument("--asked", default="", help="only what has these words, as max-min")
    parser.add_argument("--write", type=Path)
    settings = parser.parse_args()
    found: list[Row] = []
    print(line(list(HEAD)), flush=True)
    for case in CASES:
        changes = max(settings.changes // case.few, CLUSTERS)
        wanted = case.densities if settings.asked in case.words else ()
        for density in wanted:
            if settings.density and density not in settings.density:
                continue
            more = rows(case, density, changes)
            for row in more:
                print(line(row.cells()), flush=True)
            found.extend(more)
            if settings.write:
                settings.write.write_text(page(found, settings.changes), encoding="utf-8")


if __name__ == "__main__":
    main()
