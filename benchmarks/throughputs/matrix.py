"""Throughputs of jobs on kinds of machines: measured ones, and ten kinds that look like them.

`gavel.csv` holds what Narayanan et al. measured for *Heterogeneity-Aware Cluster Scheduling
Policies for Deep Learning Workloads* (OSDI 2020): iterations a second of 83 pairs of job type and
number of GPUs, alone on K80, P100 and V100 machines; 0 where a job does not fit. It is taken from
`scheduler/simulation_throughputs.json` of github.com/stanford-futuredata/gavel at commit c4fa400,
under the MIT licence beside it (`gavel-license.txt`).

Later systems use matrices of ten kinds and 2,588 jobs. That of DeDe is not copied here; `ten_kinds`
draws one of that shape by seed: the measured rows with a few percent of noise, and seven kinds more
between and beyond the measured three, so that many throughputs are nearly but not exactly in one
ratio, as real ones are.
"""

from __future__ import annotations

import csv
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import fairopt as fo

MEASURED = Path(__file__).parent / "gavel.csv"
JOBS = 2588
COUNTS = (8, 24, 32, 8, 64, 64, 56, 8, 40, 48)
"""machines of each of ten kinds"""
MIX = (
    (0.0, 0.0),
    (0.5, 0.0),
    (1.0, 0.0),
    (1.0, 0.35),
    (1.0, 0.7),
    (1.0, 1.0),
    (1.05, 1.3),
    (1.1, 1.6),
    (0.3, 0.1),
    (0.8, 0.9),
)
"""each kind in log throughput: a step from K80 towards P100 and one from P100 towards V100"""

Floats = NDArray[np.float64]


@lru_cache(maxsize=1)
def measured() -> tuple[Floats, Floats]:
    """Throughput (83, 3) on K80, P100 and V100, and the machines (83,) that each job takes."""
    with MEASURED.open(newline="") as file:
        rows = list(csv.DictReader(file))
    speed = np.array([[float(row[kind]) for kind in ("k80", "p100", "v100")] for row in rows])
    return speed, np.array([float(row["scale"]) for row in rows])


@lru_cache(maxsize=1)
def ten_kinds() -> tuple[Floats, Floats]:
    """Throughput (2588, 10) and machines (2588,) of a drawn matrix; always the same one."""
    rng = np.random.default_rng(2588)
    speed, scale = measured()
    row = rng.integers(0, len(speed), JOBS)
    k80, p100, v100 = np.log(np.maximum(speed[row], 1e-3)).T
    kinds = [k80 + a * (p100 - k80) + b * (v100 - p100) for a, b in MIX]
    found = np.exp(np.stack(kinds, axis=1) + 0.05 * rng.standard_normal((JOBS, len(MIX))))
    # a job that does not fit the smallest machines fits some of the others
    found[(speed[row] == 0).any(axis=1)[:, None] & (np.arange(len(MIX)) < 2)] = 0.0
    found[rng.random(found.shape) < 0.03] = 0.0
    return np.round(found, 4), scale[row]


def draw(seed: int, jobs: int, normal: bool = True, ten: bool = True) -> tuple[fo.Instance, Floats]:
    """Jobs on kinds of machines: the cluster, and the score (N, I) of a machine's time for a job.

    A job of s GPUs takes s machines of one kind at a time, and at most all its time: limit 1. Its
    score is the throughput, relative to that of an equal part of every kind if `normal` (the policy
    of Gavel), else as it is.
    """
    rng = np.random.default_rng(seed)
    speed, scale = ten_kinds() if ten else measured()
    count = np.array(COUNTS if ten else (48.0, 64.0, 32.0), dtype=np.float64)
    row = rng.integers(0, len(speed), jobs)
    row = row[(speed[row] > 0).any(axis=1)]
    mine, size = speed[row], scale[row]
    score = mine * size[:, None]
    if normal:
        equal = np.tile(count / len(row), (len(row), 1))
        equal /= np.maximum(equal.sum(axis=1, keepdims=True), 1.0)
        score = score / (mine * equal).sum(axis=1)[:, None]
    inst = fo.Instance(size[:, None], count[:, None], mine > 0, limit=np.ones(len(row)))
    return inst, score
