"""Time of progressive filling on the 12,583 machines of the Google trace of May 2011.

Machine shapes: J. Wilkes and C. Reiss, clusterdata-2011-2 (CC-BY 4.0), counts as in Reiss et al.,
SoCC 2012, Table 1. The trace gives no demands: users' demands here are drawn by a seed, in
hundredths of the largest machine, 0.01 to 0.20 of each resource.

    python benchmarks/filling.py [--users 20] [--compare 200] [--repeat 3] [--machines FILE.csv]

For every scheduler: the whole filling (time, tasks, tasks per second), then the first `--compare`
increments by us and by the same rule written straightforwardly in dense NumPy (every user and
machine is scored for every task), in the same run: median times, their ratio, same placements.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from typing import Any

import numpy as np

from benchmarks.whole.draws import GOOGLE
from fairopt.filling import SCHEDULERS, Filler
from fairopt.instance import Instance

SHORT = 200
COMPARED = [("drf", "first-fit"), ("ps-dsf", "joint"), ("rps-dsf", "joint"), ("bf-drf", "best-fit")]


def cluster(users: int, seed: int = 0) -> Instance:
    draw = np.random.default_rng(seed)
    demand = draw.integers(1, 21, size=(users, 2)) / 100
    shapes = np.array(GOOGLE)
    return Instance(demand, shapes[:, :2], count=shapes[:, 2], resources=["cpu", "memory"])


def straightforward(inst: Instance, criterion: str, selection: str, budget: int) -> list[int]:
    """Users in order of service: all pairs scored for every task (whole hundredths, exact)."""
    capacity = np.rint(np.repeat(inst.capacity, inst.count, axis=0) * 100)
    residual, demand = capacity.copy(), np.rint(inst.demand * 100)
    total, units = capacity.sum(axis=0), np.zeros(len(demand))
    served: list[int] = []
    with np.errstate(divide="ignore", invalid="ignore"):
        while len(served) < budget:
            fits = (demand[:, None] <= residual[None]).all(axis=2)
            have = {"drf": total[None], "ps-dsf": capacity, "rps-dsf": residual}[criterion]
            factor = np.where(fits, (demand[:, None] / have[None]).max(axis=2), np.inf)
            value = np.where(fits, units[:, None] * np.where(fits, factor, 0.0), np.inf)
            least = value.min(axis=1)
            if not np.isfinite(least).any():
                break
            n = int(np.flatnonzero(least <= least.min() * (1 + 1e-12))[-1])
            if selection == "best-fit":
                need, left = demand[n] / total, residual / total
                off = np.abs(need / need[0] - left / left[:, :1]).sum(axis=1)
                row = np.where(fits[n], off, np.inf)
            else:
                row = value[n] if selection == "joint" else np.where(fits[n], 0.0, np.inf)
            if selection == "joint" and units[n] == 0:
                row = np.where(fits[n], 0.0, np.inf)
            j = int(np.flatnonzero(row <= row.min() * (1 + 1e-12))[0])
            residual[j] -= demand[n]
            units[n] += 1
            served.append(n)
    return served


def timed(run: Any, repeat: int) -> tuple[float, Any]:
    times, result = [], None
    for _ in range(repeat):
        start = time.perf_counter()
        result = run()
        times.append(time.perf_counter() - start)
    return statistics.median(times), result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--users", type=int, default=20)
    parser.add_argument("--compare", type=int, default=200)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--wide", action="store_true", help="also 1,000 users x 10,000 shapes")
    options = parser.parse_args()
    inst = cluster(options.users)
    print(f"{options.users} users, {int(inst.count.sum())} machines in {len(inst.servers)} shapes")
    print(f"{'scheduler':24}{'tasks':>9}{'seconds':>9}{'tasks/s':>10}")
    for name, scheduler in SCHEDULERS.items():
        filler = Filler(inst, name)
        start = time.perf_counter()
        # these two look at every machine for every kind of user: cut short, and said so
        short = name in ("rtsf", "rcdrf")
        filler.run(random.Random(0), budget=SHORT if short else np.inf)
        took, tasks = time.perf_counter() - start, sum(filler.cluster.units)
        label = f"{name}, {scheduler.selection}"
        note = "  (stopped early)" if short else ""
        print(f"{label:24}{tasks:9d}{took:9.2f}{tasks / took:10.0f}{note}", flush=True)
    print(f"\nfirst {options.compare} increments, median of {options.repeat}, whole call")
    print(f"{'scheduler':24}{'ours s':>9}{'plain s':>9}{'ratio':>8}  same users in order")
    for name, selection in COMPARED:

        def ours(name: str = name, selection: str = selection) -> list[int]:
            filler = Filler(inst, name, selection)
            trace: list[dict[str, Any]] = []
            filler.run(random.Random(0), budget=options.compare, trace=trace)
            return [inst.users.index(step["user"]) for step in trace]

        criterion = SCHEDULERS[name].criterion

        def plain(criterion: str = criterion, selection: str = selection) -> list[int]:
            return straightforward(inst, criterion, selection, options.compare)

        fast, mine = timed(ours, options.repeat)
        slow, theirs = timed(plain, options.repeat)
        same = "yes" if mine == theirs else "NO"
        label = f"{name}, {selection}"
        print(f"{label:24}{fast:9.3f}{slow:9.3f}{slow / fast:8.1f}  {same}", flush=True)
    if options.wide:
        wide()


def wide() -> None:
    """1,000 different users and 10,000 different machines: no grouping helps."""
    draw = np.random.default_rng(1)
    inst = Instance(
        draw.integers(1, 200, size=(1000, 2)) / 1000,
        draw.integers(250, 1001, size=(10000, 2)) / 1000,
    )
    print("\n1,000 users x 10,000 different machines, whole filling")
    for name in ("ps-dsf", "rps-dsf"):
        start = time.perf_counter()
        filler = Filler(inst, name)
        ready = time.perf_counter()
        filler.run(random.Random(0))
        took, tasks = time.perf_counter() - ready, sum(filler.cluster.units)
        print(
            f"{name:24}{tasks:9d}{took:9.2f}{tasks / took:10.0f}  "
            f"({took / tasks * 1e6:.0f} us a task; set up {ready - start:.2f} s)",
            flush=True,
        )


if __name__ == "__main__":
    main()
