"""More users than memory holds: throughput of one process, two, and Dask; a judge; a plan on paper.

    OPENBLAS_NUM_THREADS=1 python benchmarks/partitions.py --write docs/results/partitions.md
    OPENBLAS_NUM_THREADS=1 python benchmarks/partitions.py --quick
    OPENBLAS_NUM_THREADS=1 python benchmarks/partitions.py --ways --most 100000000 --part 500000

The first takes some five minutes and 2.5 GB of disk (ten million users once), the second half a
minute, the third some ten minutes and 12 GB (a hundred million users). How far a run is, is said on
stderr; its row of the page is printed when it ends. Every run is a process
of its own, so that its peak of memory is its own; the answers of one cluster must have the same
bytes, whoever computed them and whoever was killed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import multiprocessing
import os
import pickle
import resource
import signal
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
WAYS = ("one process", "two processes", "Dask, two workers", "Dask, three, one killed")
KILLED = 20
"""the pass in which a worker is killed"""
SAID = 10.0
"""seconds after which it is said again how far a run is"""


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
def executor(way: str) -> Iterator[tuple[Executor | None, list[int]]]:
    """Where a run computes, and who is to be killed on the way."""
    if way == WAYS[0]:
        yield None, []
    elif way == WAYS[1]:
        with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
            yield pool, []
    else:
        from distributed import Client, LocalCluster

        count = 2 if way == WAYS[2] else 3
        with (
            LocalCluster(n_workers=count, threads_per_worker=1, dashboard_address=None) as cluster,
            Client(cluster) as client,
        ):
            one = min(client.run(os.getpid).values())
            yield client.get_executor(), [] if way == WAYS[2] else [one]


def peak(_: int = 0) -> float:
    """MB that this process has had at most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def processor() -> float:
    """Processor seconds of this process and of those that it has waited for."""
    whose = resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN
    return sum(sum(resource.getrusage(who)[:2]) for who in whose)


def digest(folder: str) -> str:
    """Of all numbers of an answer."""
    found = hashlib.sha256()
    for path in sorted(Path(folder).glob("*.npy")):
        found.update(hashlib.sha256(path.read_bytes()).digest())
    return found.hexdigest()[:12]


def one(folder: str, way: str, journal: Path | None = None) -> dict[str, Any]:
    """One run, in this process and its workers; each pass is a line of the journal."""
    source = fo.Partitions(folder)
    calls: list[int] = []
    begun = processor()
    with executor(way) as (inner, doomed):
        timed = Timed(inner)
        start = time.perf_counter()

        told = said(start)

        def progress(passes: int, doing: str) -> None:
            calls.append(passes)
            told(passes, doing)
            if journal is not None:
                line_of = {
                    "pass": len(calls),
                    "doing": doing,
                    "seconds": time.perf_counter() - start,
                    "in passes": timed.seconds,
                    "caller, MB": peak(),
                }
                with journal.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(line_of) + "\n")
            if len(calls) == KILLED and doomed:
                os.kill(doomed.pop(), signal.SIGKILL)

        found = fo.solve_partitions(
            source,
            fo.ProportionalFair(),
            f"{folder}-answer",
            timed,
            uncertified="return",
            progress=progress,
        )
        seconds, inside = time.perf_counter() - start, timed.seconds
        workers = 0.0 if inner is None else max(inner.map(peak, range(8)))
    spent = processor() - begun
    begun = processor()
    with executor(way) as (inner, _):
        if inner is not None:
            list(inner.map(peak, range(8)))  # workers have started
        start = time.perf_counter()
        certificate = fo.certify_partitions(f"{folder}-answer", None, inner, said(start))
        judge = time.perf_counter() - start
    judge_spent = processor() - begun
    assert certificate == found.certificate
    return {
        "users": found.users,
        "way": way,
        "passes": len(calls),
        "seconds": seconds,
        "processor": spent,
        "outside": 1 - inside / seconds,
        "judge": judge,
        "judge processor": judge_spent,
        "driver": peak(),
        "worker": workers,
        "verdict": certificate.verdict,
        "gap": certificate.gap,
        "residual": certificate.residual,
        "digest": digest(f"{folder}-answer"),
    }


def said(start: float) -> Callable[[int, str], None]:
    """Says on stderr how far a run is, every `SAID` seconds."""
    last = start

    def told(passes: int, doing: str) -> None:
        nonlocal last
        now = time.perf_counter()
        if now > last + SAID:
            last = now
            print(f"{doing}: {passes} passes, {now - start:.0f} s", file=sys.stderr, flush=True)

    return told


def run(folder: Path, way: str, journal: Path | None = None) -> dict[str, Any]:
    """The same in a process of its own."""
    command = [sys.executable, __file__, "--one", str(folder), way]
    command += [] if journal is None else ["--journal", str(journal)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def line(row: dict[str, Any]) -> str:
    rate = row["users"] * SERVERS * row["passes"] / row["processor"]
    worker = f"{row['worker']:.0f}" if row["worker"] else "-"
    return (
        f"| {row['users']:,} | {row['way']} | {row['passes']} | {row['processor']:.1f} "
        f"| {row['seconds']:.1f} | {rate / 1e6:.1f} | {100 * row['outside']:.1f} "
        f"| {row['driver']:.0f} | {worker} | {row['judge']:.1f} "
        f"| {row['judge processor']:.1f} | {row['gap']:.0e} "
        f"| {row['residual']:.0e} | {row['verdict']} | `{row['digest']}` |"
    )


def plan(row: dict[str, Any], size: float, users: float = 1e9, workers: int = 64) -> str:
    """What so many users would take, from a run in one process; `size` bytes a user."""
    part = 1e6
    back = len(pickle.dumps(Sums.zero(SERVERS, RESOURCES)))
    each = row["processor"] / row["passes"] / row["users"]  # seconds a user and pass
    one_pass = each * users / workers
    judge = row["judge processor"] / row["users"] * users / workers
    gigabytes = users * size / 1e9
    sums = f"{back / 1e3:.1f}, {back * users / part / 1e6:.1f}"
    return f"""On paper: {users:,.0f} users on {workers} workers, in {users / part:,.0f} partitions
of {part:,.0f}, by the run of {row["users"]:,} above ({row["way"]}):

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
    same = {(row["users"], row["digest"]) for row in rows}
    bytes_of = "the same bytes" if len(same) == len({users for users, _ in same}) else "OTHER BYTES"
    return f"""# More users than memory holds, measured

[Users in partitions](../how-to/more-than-memory.md): proportional fairness, {SERVERS} servers that
are not alike, {RESOURCES} resources, density {DENSITY:g}, partitions of 100,000 users (more where
there are ten million and more). A pass reads every partition; processor seconds are of all
processes, with those that check, write and judge; pairs a second are users times servers times
passes over these. Seconds are of the clock, on a machine that others used as well. Outside passes
is what the caller does alone. Memory is the peak of the process that calls and of its largest
worker. The judge's seconds, by the clock and of all processes with their start, are of
`fo.certify_partitions`, which reads the files alone, on as many workers. One BLAS thread a process;
{multiprocessing.cpu_count()} processors. In the last way one of Dask's
workers is killed (SIGKILL) in pass {KILLED}. Made by

```sh
OPENBLAS_NUM_THREADS=1 python benchmarks/partitions.py --write docs/results/partitions.md
```

All answers of one cluster have {bytes_of} (the last column, of SHA-256). Beyond five million pairs
users are judged in passes. The residual says how far the share of the lightest user may be from the
optimum, as a part of itself.

| users | where | passes | processor, s | seconds | million pairs a second \
| outside passes, % | caller, MB | worker, MB | judge, s \
| judge, processor s | gap | residual | verdict | bytes |
|---:|---|{"---:|" * 11}---|---|
{table}

{plan(rows[0], size)}
{plan(rows[-1], size, 1e8, 2)}
A hundred million users on one machine of two processors, run and not on paper, are

```sh
OPENBLAS_NUM_THREADS=1 python benchmarks/partitions.py --ways --most 100000000 --part 500000
```

with 12 GB of disk.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="20,000 users in four partitions")
    parser.add_argument("--users", type=int, default=1_000_000)
    parser.add_argument("--most", type=int, default=10_000_000, help="users of the last run; 0: no")
    parser.add_argument("--part", type=int, default=250_000, help="users a partition of the last")
    parser.add_argument("--ways", nargs="*", default=WAYS, choices=WAYS)
    parser.add_argument("--one", nargs=2, metavar=("FOLDER", "WAY"), help=argparse.SUPPRESS)
    parser.add_argument("--write", type=Path)
    parser.add_argument("--journal", type=Path, help="a line of every pass of the last run")
    given = parser.parse_args()
    if given.one:
        print(json.dumps(one(*given.one, given.journal)))
        return
    users, most, part = given.users, given.most, 100_000
    if given.quick:
        users, most, part = 20_000, 0, 5_000
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        size = write(Path(folder, "in"), users, part) / users if given.ways else 0.0
        for way in given.ways:
            rows.append(run(Path(folder, "in"), way))
            print(line(rows[-1]), flush=True)
    if most:
        with tempfile.TemporaryDirectory() as folder:
            write(Path(folder, "in"), most, given.part)
            rows.append(run(Path(folder, "in"), WAYS[1], given.journal))
            print(line(rows[-1]), flush=True)
    if given.write:
        given.write.write_text(page(rows, size), encoding="utf-8")
    elif given.ways:
        print(plan(rows[0], size))


if __name__ == "__main__":
    main()
