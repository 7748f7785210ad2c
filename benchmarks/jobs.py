"""Jobs on four kinds of machines, log utility, each at most all its time: who answers how exactly.

    python -m benchmarks.jobs --write docs/results/jobs.md
    python -m benchmarks.jobs --jobs 100 1000 --resalloc-python ENV/bin/python

Every side answers in a process of its own with one thread (`jobs_sides.py`). Its answer is made
feasible by scaling, its prices are given the prices of time that follow from them, and fairopt's
certificate judges it. The peer resalloc (cvxgrp/resalloc) is in no registry: give the interpreter
of an environment in which it was installed from its repository. Without it the side is left out.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import fairopt as fo
from benchmarks.jobs_sides import LIMIT, SIDES
from benchmarks.many_users import jobs
from fairopt.allocation import Allocation
from fairopt.certificates.proof import measure
from fairopt.instance import Floats
from fairopt.solving.best import normalised
from fairopt.solving.engines.point import fitted

TOP = Path(__file__).resolve().parent.parent
JOBS = (100, 1_000, 10_000, 100_000, 1_000_000)
MOST_JOBS = {"resalloc, gap 1e-6": 1_000, "cvxpy, Clarabel": 10_000, "cvxpy, SCS": 10_000}
"""jobs beyond which a side is not asked: it takes too long there, or never comes so close"""
PEER = "resalloc"


@dataclass(frozen=True)
class Row:
    """One side's answer: seconds of its process, bytes, what the certificate proves."""

    jobs: int
    side: str
    seconds: float
    memory: float
    gap: float
    residual: float
    ratio: float = 1.0


def judged(
    inst: fo.Instance, score: Floats, tasks: Floats, prices: Floats, mu: Floats | None
) -> tuple[float, float]:
    """Gap and residual of an answer scaled to fit; prices of time by the user's best kind."""
    tasks = fitted(inst, np.maximum(tasks, 0.0))
    prices = np.maximum(prices, 0.0)
    if mu is None:
        share = (score * tasks).sum(axis=1)
        with np.errstate(divide="ignore"):
            worth = score / share[:, None] - inst.demand @ prices.T
        mu = np.maximum(worth.max(axis=1), 0.0)
    prices, mu = normalised(inst, prices, np.maximum(mu, 0.0))
    return measure(Allocation(inst, fo.AlphaFair(1.0), tasks, prices, mu, score=score))


def asked(side: str, python: str, source: Path, inst: fo.Instance, score: Floats) -> Row:
    """A side's answer, judged; NaN where there is none."""
    users = len(inst.users)
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "answer.npz"
        command = [python, str(TOP / "benchmarks" / "jobs_sides.py"), side, str(source), target]
        try:
            done = subprocess.run(command, timeout=3 * LIMIT, capture_output=True, text=True)
        except subprocess.TimeoutExpired:
            return Row(users, side, np.nan, np.nan, np.nan, np.nan)
        if done.returncode or not target.exists():
            print(done.stderr[-400:], file=sys.stderr)
            return Row(users, side, np.nan, np.nan, np.nan, np.nan)
        with np.load(target) as found:
            proof = judged(inst, score, found["tasks"], found["prices"], found.get("mu"))
            return Row(users, side, float(found["seconds"]), float(found["memory"]), *proof)


def rows(users: int, pythons: dict[str, str]) -> list[Row]:
    """All sides on one draw of jobs."""
    inst, score = jobs(users, 2)
    found: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "jobs.npz"
        np.savez(source, scale=inst.demand[:, 0], machines=inst.pool[:, 0], score=score)
        for side in SIDES:
            python = pythons.get(side.partition(",")[0], sys.executable)
            if users > MOST_JOBS.get(side, users) or not python:
                continue
            row = asked(side, python, source, inst, score)
            first = found[0].seconds if found else row.seconds
            found.append(Row(**{**row.__dict__, "ratio": row.seconds / first}))
            print(line(found[-1]), flush=True)
    return found


def line(row: Row) -> str:
    if np.isnan(row.seconds):
        return f"| {row.jobs:,} | {row.side} | no answer in {3 * LIMIT:.0f} s | | | | |"
    return (
        f"| {row.jobs:,} | {row.side} | {row.seconds:.3g} | {row.ratio:.3g} "
        f"| {row.gap:.0e} | {row.residual:.0e} | {row.memory / 1e6:.0f} |"
    )


def page(found: list[Row], peer: bool) -> str:
    note = (
        "resalloc (cvxgrp/resalloc, commit 6948233, on torch, float64) was installed from its\n"
        "repository; no registry has it."
        if peer
        else "The peer resalloc is in no registry and was not installed for this run."
    )
    return (
        f"""# Jobs on kinds of machines

Jobs of several scales on four kinds of machines, log utility of throughput, each job at most all
its time: the program of Gavel and of price discovery (Agrawal, Boyd, Narayanan, Kazhamiaka and
Zaharia, Allocation of Fungible Resources via a Fast, Scalable Price Discovery Method, 2022). One
thread, each side in a process of its own, warmed up on 50 jobs; seconds of that process in the call
that solves, compiling included, reading not; the peak of its memory with all libraries. Made by

```sh
python -m benchmarks.jobs --write docs/results/jobs.md --resalloc-python ENV/bin/python
```

All answers are judged by the same certificate: tasks scaled to fit, prices of time worked out from
the prices of machines where a side gives none. *Gap*: by how much all shares could rise at once, at
most. *Residual*: the worst job's distance from its optimum, of its own share. {note}
Its gap is that of the mean utility; 1e-3 is its own default, and asked for 1e-6 it ends after 500
iterations without having come closer. General solvers had {LIMIT:.0f} s a call and were not asked
beyond 10,000 jobs.

| jobs | side | seconds | beside fairopt | gap | residual | MB |
|---:|---|---:|---:|---:|---:|---:|
"""
        + "\n".join(line(row) for row in found)
        + "\n"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, nargs="*", default=JOBS)
    parser.add_argument("--resalloc-python", default="", help="interpreter that has resalloc")
    parser.add_argument("--write", type=Path)
    settings = parser.parse_args()
    found: list[Row] = []
    for users in settings.jobs:
        found += rows(users, {PEER: settings.resalloc_python})
    if settings.write:
        settings.write.write_text(page(found, bool(settings.resalloc_python)), encoding="utf-8")


if __name__ == "__main__":
    main()
