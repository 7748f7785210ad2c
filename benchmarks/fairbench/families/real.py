"""What was measured elsewhere: machines of a trace, throughputs of jobs, traffic of a network."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import numpy as np

import fairopt as fo
from benchmarks.fairbench.families import OWN, Built, called, of_instance
from benchmarks.fairbench.problem import Problem
from benchmarks.throughputs.matrix import measured
from fairopt import criteria

GOOGLE = (
    "machine shapes of the Google cluster-usage trace of May 2011 (clusterdata-2011-2, J. Wilkes "
    "and C. Reiss, 2011), counts as in Reiss et al., SoCC 2012; the users are drawn"
)
GAVEL = (
    "throughputs measured by Narayanan et al. (OSDI 2020) on K80, P100 and V100, "
    "stanford-futuredata/gavel c4fa400; which jobs are there is drawn"
)
B4 = "topology B4, its four paths a pair and its first real traffic matrix, harvard-cns/teal"
OPENB = json.loads(Path(__file__).with_name("openb.json").read_text(encoding="utf-8"))
LISTS = (("default", 8), ("default", 20), ("default", 60), ("default", 151))
LISTS += (("gpuspec33", 20), ("gpuspec33", 60), ("gpuspec33", 150))
"""a list of pods, and how many of its kinds are users, the most frequent first"""
SIZES = ((6, 0), (6, 1), (12, 2), (20, 3), (40, 4), (80, 5))
JOBS = ((6, 0), (12, 1), (25, 2), (50, 3), (100, 4), (200, 5))
TIMES = ((1.0, 1.0), (2.0, 1.0), (np.inf, 1.0), (1.0, 0.25), (np.inf, 0.25))
"""alpha, and by how much the demand of the matrix is multiplied beyond the four of the model"""


def problems() -> list[Built]:
    """Machines of a trace, jobs by throughput, traffic."""
    found: list[Built] = []
    for users, seed in SIZES:
        for alpha in (0.5, 1.0, 2.0, np.inf):
            found.append(_named(_google, "google2011", users, seed, alpha))
    for jobs, seed in JOBS:
        for alpha in (1.0, 2.0, np.inf):
            if jobs <= 100 or alpha == 1.0:
                found.append(_named(_gavel, "throughput", jobs, seed, alpha))
    for pods, kinds in LISTS:
        for alpha in (0.5, 1.0, 2.0, np.inf):
            name = f"openb/{pods}-{kinds}/{called(alpha)}"
            found.append((name, partial(_openb, name, pods, kinds, alpha)))
    for alpha, times in TIMES:
        name = f"wan/b4-times-{4 * times:g}/{called(alpha)}"
        found.append((name, partial(_b4, name, alpha, times)))
    return found


def _named(build, family: str, size: int, seed: int, alpha: float) -> Built:
    name = f"{family}/{size}-{seed}/{called(alpha)}"
    return name, partial(build, name, size, seed, alpha)


def _google(name: str, users: int, seed: int, alpha: float) -> Problem:
    machines = fo.read("real/google2011").instance
    rng = np.random.default_rng([2011, seed])
    cpu = rng.choice([1, 2, 4, 8, 16], users) / 640
    memory = np.minimum(cpu * rng.choice([0.125, 0.25, 0.5, 1, 2, 4, 8], users), 1 / 32)
    allowed = np.ones((users, len(machines.capacity)), bool)
    large = machines.capacity[:, 1] >= 0.5
    allowed[rng.random(users) < 0.2] = large
    weight = rng.choice([1.0, 2.0, 4.0], users)
    limit = np.where(rng.random(users) < 0.15, 2000.0, np.inf)
    inst = fo.Instance(
        np.column_stack([cpu, memory]),
        machines.capacity,
        allowed,
        weight,
        limit,
        count=machines.count,
    )
    words = _words(name, "google2011", GOOGLE, "CC-BY-4.0 (machines)")
    words["title"] = f"{users} users on 12,583 machines of ten shapes"
    by = "drf" if np.isinf(alpha) else "tasks"
    return of_instance(inst, criteria.score(inst, by), alpha, words)


def _openb(name: str, pods: str, kinds: int, alpha: float) -> Problem:
    nodes, some = OPENB["nodes"], OPENB[pods][:kinds]
    there = np.array([row[:3] for row in nodes]) / (1000, 1024, 1)
    takes = np.array([row[:3] for row in some]) / (1000, 1024, 1000)
    many, count = (np.array([row[-1] for row in rows], float) for rows in (some, nodes))
    may = [[not may or node[3] in may.split("|") for node in nodes] for *_, may, _ in some]
    # so many of each that 1.3 times the cards are asked for
    times = 1.3 * (count @ there[:, 2]) / (many @ takes[:, 2])
    inst = fo.Instance(takes, there, may, limit=many * times, count=count.astype(int))
    words = _words(name, "openb", OPENB["source"], OPENB["licence"] + " (nodes and pods)")
    words["title"] = f"the {kinds} most frequent kinds of pods of the list {pods} on 1,523 nodes"
    by = "drf" if np.isinf(alpha) else "tasks"
    return of_instance(inst, criteria.score(inst, by), alpha, words)


def _gavel(name: str, jobs: int, seed: int, alpha: float) -> Problem:
    speed, scale = measured()
    rng = np.random.default_rng([2020, seed])
    row = rng.choice(np.flatnonzero((speed > 0).any(axis=1)), jobs)
    count = np.array([[48.0], [64.0], [32.0]]) * max(1.0, jobs / 100)
    inst = fo.Instance(scale[row][:, None], count, speed[row] > 0, limit=np.ones(jobs))
    words = _words(name, "throughput", GAVEL, "MIT (throughputs)")
    words["title"] = f"{jobs} training jobs on three kinds of GPU, time of each at most all of it"
    # a share is time times throughput, relative to the job's best kind
    score = speed[row] / speed[row].max(axis=1, keepdims=True)
    return of_instance(inst, score, alpha, words)


def _b4(name: str, alpha: float, times: float) -> Problem:
    inst = fo.read("real/wan-b4").instance
    ways = inst.ways
    way, server = np.nonzero(ways.eligible)
    words = _words(name, "wan", B4, "MIT (topology, paths, traffic)")
    return Problem(
        **words | {"title": "132 pairs of 12 sites, four paths each, over 38 links"},
        alpha=alpha,
        weight=np.array(inst.weight, float),
        limit=np.array(inst.limit, float) * times,
        pool=np.array(inst.pool, float),
        user=np.array(ways.owner[way], int),
        server=np.array(server, int),
        demand=np.array(ways.demand[way], float),
        share=np.ones(len(way)),
    )


def _words(name: str, family: str, source: str, licence: str) -> dict[str, str]:
    return {
        "name": name,
        "family": family,
        "title": "",
        "source": source,
        "licence": f"{licence}; the rest {OWN}",
    }
