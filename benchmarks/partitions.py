"""More users than memory holds: throughput of one process, two, and Dask; a judge; a plan on paper.

    OPENBLAS_NUM_THREADS=1 python benchmarks/partitions.py --write docs/results/partitions.md
    OPENBLAS_NUM_THREADS=1 python benchmarks/partitions.py --quick

The first takes some ten minutes and 2.5 GB of disk (ten million users once), the second half a
minute. Every run is a process of its own, so that its peak of memory is its own.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import pickle
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

import fairopt as fo
from fairopt.solving.engines.smoothed.smooth import Sums

SERVERS, RESOURCES, DENSITY, SEED = 10, 3, 0.2, 2
WAYS = ("one process", "two processes", "Dask, two workers")


def write(folder: Path, users: int, size: int) -> int:
    """Ten servers that are not alike, mixes of demand over some decades; bytes written."""
    rng = np.random.default_rng(SEED)
    folder.mkdir()
    np.save(folder / "capacity.npy", rng.uniform(1, 10, (SERVERS, RESOURCES)) * users)
    for k in range(users // size):
        placement = rng.random((size, SERVERS)) < DENSITY
        placement[np.arange(size), rng.integers(0, SERVERS, size)] = True
        np.save(folder / f"demand-{k:05d}.npy", rng.lognormal(0, 1, (size, RESOURCES)))
        np.save(folder / f"placement-{k:05d}.npy", placement)
    return sum(path.stat().st_size for path in folder.iterdir())


class Timed(Executor):
    """An executor, or None for here, whose passes are timed."""

    def __init__(self, inner: Executor | None) -> None:
        self.inner, self.seconds = inner, 0.0

    def map(self, function: Callable[..., Any], *args: Iterable[Any], **more: Any) -> Iterator[Any]:
        """All results, and the seconds until the last."""
        start = time.perf_counter()
        found = list((map if self.inner is None else self.inner.map)(function, *args))
        self.seconds += time.perf_counter() - start
        return iter(found)


@contextmanager
def executor(way: str) -> Iterator[Executor | None]:
    """Where a run computes."""
    if way == WAYS[0]:
        yield None
    elif way == WAYS[1]:
        with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
            yield pool
    else:
        from distributed import Client, LocalCluster

        with (
            LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
            Client(cluster) as client,
        ):
            yield client.get_executor()


def peak(_: int = 0) -> float:
    """MB that this process has had at most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def one(folder: str, way: str) -> dict[str, Any]:
    """One run, in this process and its workers."""
    source = fo.Partitions(folder)
    calls: list[int] = []
    with executor(way) as inner:
        timed = Timed(inner)
        start = time.perf_counter()
        found = fo.solve_partitions(
            source,
            fo.ProportionalFair(),
            f"{folder}-answer",
            timed,
            uncertified="return",
            progress=lambda passes, doing: calls.append(passes),
        )
        seconds, inside = time.perf_counter() - start, timed.seconds
        start = time.perf_counter()
        certificate = fo.certify_partitions(f"{folder}-answer", executor=timed)
        judge = time.perf_counter() - start
        workers = 0.0 if inner is None else max(inner.map(peak, range(8)))
    assert certificate == found.certificate
    return {
        "users": found.users,
        "way": way,
        "passes": len(calls),
        "seconds": seconds,
        "outside": 1 - inside / seconds,
        "judge": judge,
        "driver": peak(),
        "worker": workers,
        "verdict": certificate.verdict,
        "gap": certificate.gap,
        "residual": certificate.residual,
        "errors": certificate.checks[-1].residual,
    }


def run(folder: Path, way: str) -> dict[str, Any]:
    """The same in a process of its own."""
    command = [sys.executable, __file__, "--one", str(folder), way]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def line(row: dict[str, Any]) -> str:
    rate = row["users"] * SERVERS * row["passes"] / row["seconds"]
    worker = f"{row['worker']:.0f}" if row["worker"] else "-"
    return (
        f"| {row['users']:,} | {row['way']} | {row['passes']} | {row['seconds']:.1f} "
        f"| {rate / 1e6:.1f} | {100 * row['outside']:.1f} | {row['driver']:.0f} | {worker} "
        f"| {row['judge']:.1f} | {row['gap']:.0e} | {row['residual']:.0e} | {row['errors']:.0e} "
        f"| {row['verdict']} |"
    )


def plan(row: dict[str, Any], size: float, users: float = 1e9, workers: int = 64) -> str:
    """What so many users would take, from a run in one process; `size` bytes a user."""
    part = 1e6
    back = len(pickle.dumps(Sums.zero(SERVERS, RESOURCES)))
    each = row["seconds"] / row["passes"] / row["users"]  # seconds a user and pass
    one_pass = each * users / workers
    judge = row["judge"] / row["users"] * users / workers
    gigabytes = users * size / 1e9
    sums = f"{back / 1e3:.1f}, {back * users / part / 1e6:.1f}"
    return f"""On paper: {users:,.0f} users on {workers} workers, in {users / part:,.0f} partitions
of {part:,.0f}, by the run in one process above:

| what | number |
|---|---:|
| passes, those that write and judge among them | {row["passes"]} |
| seconds a user and pass, measured | {each:.1e} |
| seconds a pass on {workers} workers | {one_pass:.0f} |
| minutes in all | {one_pass * row["passes"] / 60:.0f} |
| of that the judge, minutes | {judge / 60:.1f} |
| GB read a pass, by all and by one worker | {gigabytes:.0f}, {gigabytes / workers:.2f} |
| MB a second that a worker reads | {gigabytes * 1e3 / workers / one_pass:.0f} |
| kB that come back of a partition, MB of a pass | {sums} |

It assumes that workers do not slow each other down, and that passes do not grow with the number of
users; sharp users, some thousands, stay with the caller.
"""


def page(rows: list[dict[str, Any]], size: float) -> str:
    table = "\n".join(map(line, rows))
    good = sum(row["verdict"] == "certified" for row in rows)
    return f"""# More users than memory holds, measured

[Users in partitions](../how-to/more-than-memory.md): proportional fairness, {SERVERS} servers that
are not alike, {RESOURCES} resources, density {DENSITY:g}, partitions of 100,000 users (250,000
where there are ten million). A pass reads every partition; pairs a second are users times servers
times passes over seconds of wall time, those that check, write and judge among them. Outside passes
is what the caller does alone. Memory is the peak of the process that calls and of its largest
worker. The judge's seconds are of `fo.certify_partitions`, which reads the files alone. One BLAS
thread a process; {multiprocessing.cpu_count()} processors. Made by

```sh
OPENBLAS_NUM_THREADS=1 python benchmarks/partitions.py --write docs/results/partitions.md
```

{good} of {len(rows)} are certified.

| users | where | passes | seconds | million pairs a second | outside passes, % | caller, MB \
| worker, MB | judge, s | gap | residual | errors of all beside the lightest | verdict |
|---:|---|{"---:|" * 10}---|
{table}

{plan(rows[0], size)}"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="20,000 users in four partitions")
    parser.add_argument("--users", type=int, default=1_000_000)
    parser.add_argument("--most", type=int, default=10_000_000, help="users of the last run; 0: no")
    parser.add_argument("--ways", nargs="*", default=WAYS, choices=WAYS)
    parser.add_argument("--one", nargs=2, metavar=("FOLDER", "WAY"), help=argparse.SUPPRESS)
    parser.add_argument("--write", type=Path)
    given = parser.parse_args()
    if given.one:
        print(json.dumps(one(*given.one)))
        return
    users, most, part = given.users, given.most, 100_000
    if given.quick:
        users, most, part = 20_000, 0, 5_000
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        size = write(Path(folder, "in"), users, part) / users
        for way in given.ways:
            rows.append(run(Path(folder, "in"), way))
            print(line(rows[-1]), flush=True)
    if most:
        with tempfile.TemporaryDirectory() as folder:
            write(Path(folder, "in"), most, 250_000)
            rows.append(run(Path(folder, "in"), WAYS[1]))
            print(line(rows[-1]), flush=True)
    if given.write:
        given.write.write_text(page(rows, size), encoding="utf-8")
    elif rows:
        print(plan(rows[0], size))


if __name__ == "__main__":
    main()
