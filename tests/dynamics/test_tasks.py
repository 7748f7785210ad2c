"""Jobs of many tasks on one pool: oracles, conservation, the same bytes whoever runs it."""

from __future__ import annotations

import heapq
import json
import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairopt import fast
from fairopt.dynamics.replications import generator
from fairopt.dynamics.runs import conserved
from fairopt.dynamics.task_run import BLOCK, replicate, whole_shares
from fairopt.dynamics.tasks import simulate_tasks
from fairopt.errors import BadInput, Infeasible, UsageError
from fairopt.instance import Instance
from fairopt.storage import JournalWarning

THREE = Instance([[0.1, 1], [1, 0.1], [1, 1]], [[1, 1]], users=["1", "2", "3"])
MIX = {"1": 4.0, "2": 1.0, "3": 1.0}
SMALL = {"mix": MIX, "units": 10, "tasks_per_job": 20, "jobs": 60, "warmup": 10, "replications": 2}


def piece(**changed):
    plain = {
        "users": ["1", "2", "3"],
        "demand": THREE.demand.tolist(),
        "capacity": [1.0, 1.0],
        "rho": [0.55, 0.14, 0.14],
        "rule": "drf",
        "number": 0,
        "seed": 3,
        "units": 10,
        "tasks_per_job": 20,
        "jobs": 40,
        "warmup": 5,
        "freeze": True,
        "bottleneck": "<=",
    }
    return {**plain, **changed}


def straightforward(p):
    """The same model with lists and exact whole numbers, from the same random numbers."""
    need, cap = [[1, 10], [10, 1], [10, 10]], [10 * p["units"]] * 2
    draw = generator(p["seed"], p["number"])
    rate = sum(p["rho"]) * p["units"] / p["tasks_per_job"]
    parts = [sum(p["rho"][: k + 1]) / sum(p["rho"]) for k in range(3)]
    jobs, last = [], 0.0
    while len(jobs) < 4 * BLOCK:
        gaps = draw.standard_exponential(BLOCK) / rate
        kinds = draw.random(BLOCK)
        times = draw.standard_exponential((BLOCK, p["tasks_per_job"]))
        for gap, u, work in zip(gaps, kinds, times, strict=True):
            last += gap
            jobs.append(
                {
                    "at": last,
                    "k": sum(u >= q for q in parts[:2]),
                    "left": list(work),
                    "running": 0,
                    "number": len(jobs),
                }
            )
    coming, here, heap, gone = jobs[::-1], [], [], {}
    wanted = range(p["warmup"], p["warmup"] + p["jobs"])

    def share(job, j):
        return job["running"] * need[job["k"]][j]

    def key(job, tight):
        dominant = max(share(job, 0), share(job, 1))
        if p["rule"] == "bmf" and tight:
            rank = min(1 + sum(share(o, j) > share(job, j) for o in here) for j in tight)
            return (-rank, dominant, job["number"])
        return (dominant, job["number"])

    while not all(n in gone for n in wanted):
        if not heap or coming[-1]["at"] <= heap[0][0]:
            here.append(coming.pop())
            now = here[-1]["at"]
        else:
            now, _, job = heapq.heappop(heap)
            job["running"] -= 1
            if not job["running"] and not job["left"]:
                here.remove(job)
                gone[job["number"]] = now - job["at"]
        while True:
            room = [cap[j] - sum(share(o, j) for o in here) for j in (0, 1)]
            assert min(room) >= 0
            most = [max((need[o["k"]][j] for o in here), default=0) for j in (0, 1)]
            strict = p["bottleneck"] == "<"
            tight = [j for j in (0, 1) if room[j] < most[j] or (room[j] == most[j] and not strict)]
            waiting = [job for job in here if job["left"]]
            if not p["freeze"]:
                waiting = [
                    job for job in waiting if all(need[job["k"]][j] <= room[j] for j in (0, 1))
                ]
            if not waiting:
                break
            job = min(waiting, key=lambda job: key(job, tight))
            if any(need[job["k"]][j] > room[j] for j in (0, 1)):
                break
            heapq.heappush(heap, (now + job["left"].pop(0), len(heap) + now, job))
            job["running"] += 1
    return [sum(gone[n] for n in wanted if jobs[n]["k"] == k) for k in range(3)]


@pytest.mark.parametrize("rule", ["drf", "bmf"])
@pytest.mark.parametrize("freeze", [True, False])
@pytest.mark.parametrize("bottleneck", ["<=", "<"])
def test_as_the_straightforward_form(rule, freeze, bottleneck):
    asked = piece(rule=rule, freeze=freeze, bottleneck=bottleneck)
    found = replicate(asked)
    total = [found["time"][k] * found["measured"][k] for k in "123"]
    assert total == pytest.approx(straightforward(asked), rel=1e-12)


@pytest.mark.parametrize("rule", ["drf", "pf", "bmf", "rps-dsf"])
def test_same_bytes_with_and_without_numba(rule):
    if not fast.available():
        pytest.skip("numba is not installed")
    asked = piece(rule=rule, jobs=200)
    compiled, plain = (json.dumps(replicate(asked, how)) for how in (True, False))
    assert compiled == plain


def test_vanishing_load():
    """Alone, 400 tasks end at rate 100 and the last 100 one after the other: 4 + H_100."""
    asked = {"mix": MIX, "jobs": 300, "warmup": 0, "replications": 4}
    row = simulate_tasks(THREE, [1e-4], ["drf"], **asked).rows[0]
    alone = 5 / (4 + math.fsum(1 / k for k in range(1, 101)))
    assert alone == pytest.approx(0.5442249, abs=1e-7)
    assert row.gamma["1"].low < alone < row.gamma["1"].high
    assert row.gamma["1"].high - row.gamma["1"].low < 0.05


@settings(max_examples=25, deadline=None)
@given(
    rule=st.sampled_from(["drf", "pf", "bmf", "tsf", "rps-dsf", "rrr-ps-dsf"]),
    freeze=st.booleans(),
    bottleneck=st.sampled_from(["<", "<="]),
    seed=st.integers(0, 2**32),
    load=st.floats(0.1, 0.95),
)
def test_nothing_is_lost(rule, freeze, bottleneck, seed, load):
    """Started = ended + running, capacity at every launch, Little's law, in every run."""
    asked = {"freeze": freeze, "bottleneck": bottleneck, "seed": seed, **SMALL}
    found = simulate_tasks(THREE, [load], [rule], **asked)
    for record in found.rows[0].records:
        assert conserved(record)
        jobs = record["whole"]
        assert record["throughput"] == pytest.approx(jobs["left"] / record["horizon"])
        tasks_done = record["parts"]
        assert tasks_done["ended"] >= 20 * jobs["left"]
        assert tasks_done["started"] <= 20 * jobs["arrived"]


@pytest.mark.parametrize(
    ("where", "value"),
    [
        ("parts", {"started": 9, "ended": 5, "running": 3}),
        ("peak", [1.1, 0.5]),
        ("little", 1e-6),
        ("whole", {"arrived": 9, "left": 9, "present": 1}),
        ("use", [-0.1, 0.2]),
        ("lost", 1e-3),
        ("little", float("nan")),
        ("peak", None),
    ],
)
def test_spoiled_records_are_seen(where, value):
    record = replicate(piece())
    assert conserved(record)
    assert not conserved({**record, where: value})


def test_the_pool_is_filled_to_the_last_unit():
    """Ten tasks of a tenth fit in 1, which sums of floats deny."""
    found = replicate(piece(rho=[0.9, 0.0, 0.0], demand=[[0.1, 0.1]] * 3, units=1))
    assert found["peak"] == [1.0, 1.0]
    assert sum([0.1] * 10) != 1.0
    assert whole_shares(np.array([[1.0], [3.0]]), np.array([10.0])).tolist() == [1.0, 3.0]


def test_bottleneck_is_named():
    """<= and < are two rules; without freezing, < and DRF are one and the same trajectory."""
    large = {"units": 100, "tasks_per_job": 100}
    by = {
        (rule, freeze, mark): json.dumps(
            replicate(piece(rule=rule, freeze=freeze, bottleneck=mark, jobs=300, **large))
        )
        for rule in ("drf", "bmf")
        for freeze in (True, False)
        for mark in ("<", "<=")
    }
    assert by["bmf", True, "<"] != by["bmf", True, "<="]
    assert by["drf", True, "<"] == by["drf", True, "<="]
    assert by["bmf", False, "<"] == by["drf", False, "<"]
    assert by["bmf", False, "<="] != by["drf", False, "<="]
    assert by["drf", True, "<"] != by["drf", False, "<"]


def test_rules_get_the_same_jobs():
    found = simulate_tasks(THREE, [0.6], ["drf", "bmf"], **SMALL)
    drf, bmf = found.rows
    assert [r["measured"] for r in drf.records] == [r["measured"] for r in bmf.records]
    apart = found.difference(0.6, "bmf", "drf", "2")
    assert apart.low <= apart.mean <= apart.high
    assert found.difference(0.6, "drf", "drf", "2") == (0.0, 0.0, 0.0)


def test_serial_or_parallel_same_bytes():
    alone = simulate_tasks(THREE, [0.6], **SMALL)
    with ThreadPoolExecutor(2) as pool:
        together = simulate_tasks(THREE, [0.6], executor=pool, **SMALL)
    assert repr(alone) == repr(together)
    assert repr(alone) != repr(simulate_tasks(THREE, [0.6], seed=1, **SMALL))


def test_resume(tmp_path):
    file = tmp_path / "kept.jsonl"
    whole = simulate_tasks(THREE, [0.6], ["drf", "bmf"], **SMALL)

    def stop(done, of):
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        simulate_tasks(THREE, [0.6], ["drf", "bmf"], resume=file, progress=stop, **SMALL)
    told = []
    again = simulate_tasks(
        THREE,
        [0.6],
        ["drf", "bmf"],
        resume=file,
        **SMALL,
        progress=lambda done, of: told.append(done),
    )
    assert told == [2, 3, 4]
    assert repr(again) == repr(whole)
    spoiled = file.read_text().replace('"running": ', '"running": 9')
    file.write_text(spoiled)
    with pytest.warns(JournalWarning, match="contradict"):
        again = simulate_tasks(THREE, [0.6], ["drf", "bmf"], resume=file, **SMALL)
    assert repr(again) == repr(whole)


def test_refused():
    with pytest.raises(Infeasible, match=r"= 1.2 for r2; wanted < 1 \(\(12\)"):
        simulate_tasks(THREE, [0.5, 1.2], **SMALL)
    with pytest.raises(Infeasible, match="= 1 for r2"):
        simulate_tasks(THREE, [1.0], **SMALL)
    with pytest.raises(UsageError, match="rule: found 'fifo'"):
        simulate_tasks(THREE, [0.5], ["fifo"], **SMALL)
    with pytest.raises(UsageError, match="bottleneck: found '>'"):
        simulate_tasks(THREE, [0.5], bottleneck=">", **SMALL)
    with pytest.raises(BadInput, match="3 faults"):
        simulate_tasks(THREE, [0.5], units=0, tasks_per_job=0, jobs=1.5)
    with pytest.raises(BadInput, match="one pool"):
        simulate_tasks(Instance([[1]], [[1], [1]]), [0.5])
    with pytest.raises(BadInput, match="mix.9"):
        simulate_tasks(THREE, [0.5], mix={"9": 1.0})
    with pytest.raises(BadInput, match="load"):
        simulate_tasks(THREE, [-0.5], **SMALL)
    with pytest.raises(BadInput, match="larger than the pool"):
        simulate_tasks(Instance([[3]], [[1]]), [0.5], units=2)
    odd = Instance([[0.1 * 7, 7], [7, 0.1 * 7]], [[7, 7]])
    with pytest.raises(BadInput, match="without a common unit"):
        simulate_tasks(odd, [0.5], **{**SMALL, "mix": None})
    assert simulate_tasks(odd, [0.5], ["drf", "pf"], **{**SMALL, "mix": None}).rows
    with pytest.raises(BadInput, match="replications"):
        simulate_tasks(THREE, [0.5], **{**SMALL, "replications": 0})


def test_less_variable_task_times():
    """Erlang times of mean 1 (section 4.4): a job alone waits less for its last task."""
    one = Instance([[0.1, 0.1]], [[1, 1]], users=["A"])
    asked = {"jobs": 200, "warmup": 0, "replications": 2, "tasks_per_job": 50, "units": 10}
    gammas = [
        simulate_tasks(one, [0.01], ["drf"], shape=shape, **asked).rows[0].gamma["A"].mean
        for shape in (1, 100)
    ]
    # 50 tasks, all at once: the last of 50 exponential times, H_50, against about 1.25
    assert gammas[0] == pytest.approx(5 / sum(1 / k for k in range(1, 51)), rel=0.05)
    assert gammas[1] == pytest.approx(5 / 1.25, rel=0.05)
    with pytest.raises(BadInput, match="shape"):
        simulate_tasks(one, [0.5], ["drf"], shape=0)
