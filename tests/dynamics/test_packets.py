"""Packets through resources in turn: fluid rates, oracles, the same bytes whoever runs it."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairopt import fast
from fairopt.dynamics.packets import BLOCK, packet_rates, replicate, simulate_packets
from fairopt.dynamics.rates import class_rates
from fairopt.dynamics.replications import generator
from fairopt.dynamics.runs import conserved
from fairopt.errors import BadInput, Infeasible, UsageError
from fairopt.instance import Instance

THREE = Instance([[0.1, 1], [1, 0.1], [1, 1]], [[1, 1]], users=["1", "2", "3"])
SMALL = {"packets_per_flow": 50, "flows": 40, "warmup": 5, "replications": 2}


def piece(**changed):
    plain = {
        "users": ["1", "2", "3"],
        "demand": THREE.demand.tolist(),
        "capacity": [1.0, 1.0],
        "rho": [0.47, 0.12, 0.12],
        "rule": "drf",
        "number": 0,
        "seed": 3,
        "packets_per_flow": 50,
        "window": 4,
        "flows": 30,
        "warmup": 5,
    }
    return {**plain, **changed}


@pytest.mark.parametrize("rule", ["drf", "pf", "bmf"])
@pytest.mark.parametrize("population", [(4, 1, 1), (1, 1, 1), (0, 2, 3)])
def test_fluid_rates(rule, population):
    """Within 2% of the fluid notion; DYNAMICS prints those of (4, 1, 1)."""
    found = packet_rates(THREE, dict(zip("123", population, strict=True)), rule)
    fluid = class_rates(THREE.demand, [population], rule)[0] / np.maximum(population, 1)
    there = [k for k, number in zip("123", population, strict=True) if number]
    assert list(found) == there
    assert list(found.values()) == pytest.approx([r for r in fluid if r > 0], rel=0.02)


def test_fluid_rates_printed():
    printed = {
        "drf": [0.19608] * 3,
        "pf": [0.18939, 0.75758, 0.16667],
        "bmf": [0.18519, 0.74074, 0.18519],
    }
    for rule, rates in printed.items():
        found = packet_rates(THREE, {"1": 4, "2": 1, "3": 1}, rule)
        assert list(found.values()) == pytest.approx(rates, rel=0.02)


def test_few_against_many():
    """(3, 3, 1): with Q as (8) has it class 3 gets its fluid rate to 3%.

    Half of it was missing where Q left out the packet in service and was that of the packet before.
    """
    found = packet_rates(THREE, {"1": 3, "2": 3, "3": 1}, "pf", warmup=10_000.0)
    fluid = class_rates(THREE.demand, [(3, 3, 1)], "pf")[0] / [3, 3, 1]
    assert list(found.values()) == pytest.approx(fluid, rel=0.03)


def straightforward(p):
    """The same model with lists, from the same random numbers."""
    need = p["demand"]
    draw = generator(p["seed"], p["number"])
    parts = np.cumsum(p["rho"]) / sum(p["rho"])
    times = np.cumsum(draw.standard_exponential(BLOCK) * (p["packets_per_flow"] / sum(p["rho"])))
    kinds = np.searchsorted(parts, draw.random(BLOCK), side="right")
    sizes = draw.geometric(1 / p["packets_per_flow"], BLOCK)
    coming = [
        {"at": t, "k": int(k), "todo": int(s), "out": 0, "f": [0.0, 0.0], "n": n}
        for n, (t, k, s) in enumerate(zip(times, kinds, sizes, strict=True))
    ]
    queue, virtual, busy, left = ([], []), [0.0, 0.0], [None, None], {}

    def enqueue(flow, j):
        # (8): packets of the flow that wait here or are served here, and this one
        there = 1 + sum(other is flow for _, _, _, other in queue[j])
        there += busy[j] is not None and busy[j][1] is flow
        add = {
            "drf": max(need[flow["k"]]),
            "bmf": need[flow["k"]][j],
            "pf": need[flow["k"]][j] / there,
        }[p["rule"]]
        start = max(virtual[j], flow["f"][j] + add)
        flow["f"][j] = start
        flow["e"] = flow.get("e", 0) + 1
        queue[j].append((start, flow["n"], flow["e"], flow))

    def serve(j, now):
        if busy[j] is None and queue[j]:
            entry = min(queue[j], key=lambda e: (e[0], e[1]))
            queue[j].remove(entry)
            virtual[j] = entry[0]
            busy[j] = (now + need[entry[3]["k"]][j], entry[3])

    while len([n for n in left if p["warmup"] <= n < p["warmup"] + p["flows"]]) < p["flows"]:
        ends = [b[0] if b else np.inf for b in busy]
        j = 1 if ends[1] < ends[0] else 0
        if coming[0]["at"] < ends[j]:
            flow = coming.pop(0)
            now = flow["at"]
            while flow["todo"] and flow["out"] < p["window"]:
                flow["todo"] -= 1
                flow["out"] += 1
                enqueue(flow, 0)
            serve(0, now)
            continue
        now, flow = busy[j]
        busy[j] = None
        if j == 0:
            enqueue(flow, 1)
        elif flow["todo"]:
            flow["todo"] -= 1
            enqueue(flow, 0)
        else:
            flow["out"] -= 1
            if not flow["out"]:
                left[flow["n"]] = (flow["k"], now - flow["at"])
        serve(1 - j, now)
        serve(j, now)
    measured = [left[n] for n in range(p["warmup"], p["warmup"] + p["flows"])]
    return [sum(t for kind, t in measured if kind == k) for k in range(3)]


@pytest.mark.parametrize("rule", ["drf", "pf", "bmf"])
def test_as_the_straightforward_form(rule):
    found = replicate(piece(rule=rule))
    total = [(found["time"][k] or 0) * found["measured"][k] for k in "123"]
    assert total == pytest.approx(straightforward(piece(rule=rule)), rel=1e-9)


@pytest.mark.parametrize("rule", ["drf", "pf", "bmf"])
def test_same_bytes_with_and_without_numba(rule):
    if not fast.available():
        pytest.skip("numba is not installed")
    compiled, plain = (json.dumps(replicate(piece(rule=rule), how)) for how in (True, False))
    assert compiled == plain


POPULATIONS = [(4, 1, 1), (1, 1, 1), (2, 3, 1)]


def with_propagation(number, delay, window):
    """The maximum of sum_k n_k (W log phi_k - T_k phi_k), by a general solver."""
    import cvxpy as cp

    rate, many = cp.Variable(3), np.array(number)
    gain = many @ (window * cp.log(rate) - cp.multiply(delay, rate))
    cp.Problem(cp.Maximize(gain), [THREE.demand.T @ cp.multiply(many, rate) <= 1]).solve("CLARABEL")
    return rate.value


@pytest.mark.parametrize("delay", [(0, 20, 0), (20, 20, 20), (0, 0, 40)])
def test_propagation_turns_the_rule_of_8_from_pf(delay):
    """Q packets at each resource and phi T on their way fill the window; weights Q / sum Q: PF."""
    numbers, times = dict(zip("123", (4, 1, 1), strict=True)), dict(zip("123", delay, strict=True))
    asked = {"propagation": times, "warmup": 5_000.0}
    found = list(packet_rates(THREE, numbers, "pf", **asked).values())
    assert found == pytest.approx(with_propagation((4, 1, 1), np.array(delay), 30), rel=0.02)
    pf = class_rates(THREE.demand, [(4, 1, 1)], "pf")[0] / (4, 1, 1)
    assert np.abs(np.array(found) / pf - 1).max() > 0.05
    normalised = list(packet_rates(THREE, numbers, "pf-normalised", **asked).values())
    assert normalised == pytest.approx(pf, rel=0.02)


@pytest.mark.parametrize("population", POPULATIONS)
def test_in_parallel_the_rule_of_8_is_bmf(population):
    numbers = dict(zip("123", population, strict=True))
    for rule, notion in (("pf", "bmf"), ("bmf", "bmf"), ("drf", "drf")):
        found = packet_rates(THREE, numbers, rule, parallel=True, warmup=5_000.0)
        fluid = class_rates(THREE.demand, [population], notion)[0] / population
        assert list(found.values()) == pytest.approx(fluid, rel=0.02)


@pytest.mark.parametrize(
    ("window", "delay", "parallel", "rate"),
    [
        (1, 5.0, False, 1 / 6.5),
        (3, 5.0, False, 3 / 6.5),
        (1, 5.0, True, 1 / 6),
        (3, 5.0, True, 0.5),
        (30, 5.0, True, 1.0),
        (1, 0.0, True, 1.0),
        (1, 0.0, False, 1 / 1.5),
    ],
)
def test_one_flow_alone(window, delay, parallel, rate):
    """A window of W packets that take 1 and .5, in turn or at once, and T to come back."""
    one = Instance([[1, 0.5]], [[1, 1]], users=["1"])
    found = packet_rates(
        one, {"1": 1}, "bmf", window=window, propagation={"1": delay}, parallel=parallel
    )
    assert found["1"] == pytest.approx(rate, rel=1e-3)


@pytest.mark.parametrize("parallel", [False, True])
def test_many_flows_with_propagation(parallel):
    """More flows than there was room for at first: no packet is lost and none comes back twice."""
    asked = piece(propagation=[300.0, 0.0, 700.0], parallel=parallel, rule="pf-normalised")
    records = [replicate(asked, how) for how in ((True, False) if fast.available() else (False,))]
    assert json.dumps(records[0]) == json.dumps(records[-1])
    found = records[0]
    assert found["lost"] == 0 and found["little"] < 1e-9
    assert found["parts"]["started"] == found["parts"]["ended"] + found["parts"]["running"]
    # a flow of several packets waits at least for one of them to come back
    assert found["time"]["3"] > 700
    runs = simulate_packets(
        THREE, [0.5], ["pf"], propagation={"3": 700.0}, parallel=parallel, **SMALL
    )
    assert all(conserved(record) for record in runs.rows[0].records)


@pytest.mark.parametrize("propagation", [{"4": 1.0}, {"1": -1.0}, {"1": np.inf}])
def test_propagation_that_is_none(propagation):
    with pytest.raises(BadInput, match="propagation"):
        simulate_packets(THREE, [0.5], propagation=propagation)


def test_one_class_alone():
    """One resource, one class: flows share it evenly, 1 - rho whatever the law of their size."""
    one = Instance([[1.0]], [[1.0]], users=["1"])
    asked = {"packets_per_flow": 50, "flows": 1000, "replications": 24}
    row = simulate_packets(one, [0.5], ["bmf"], **asked).rows[0]
    for found in (row.gamma["1"], row.use["r1"]):
        width = found.high - found.low  # about four standard errors, one seed of 10,000 is out
        assert width < 0.06
        assert abs(found.mean - 0.5) < width


def test_a_resource_not_needed_is_skipped():
    apart = Instance([[1, 0], [0, 1]], [[1, 1]], users=["1", "2"])
    found = packet_rates(apart, {"1": 2, "2": 1}, "drf", horizon=3000.0, warmup=500.0)
    assert found == pytest.approx({"1": 0.5, "2": 1.0}, rel=0.01)


@settings(max_examples=20, deadline=None)
@given(
    rule=st.sampled_from(["drf", "pf", "bmf"]),
    seed=st.integers(0, 2**32),
    load=st.floats(0.1, 0.95),
    window=st.integers(1, 30),
)
def test_nothing_is_lost(rule, seed, load, window):
    found = simulate_packets(THREE, [load], [rule], seed=seed, window=window, **SMALL)
    for record in found.rows[0].records:
        assert conserved(record)
        assert not conserved({**record, "lost": 1.0})


def test_serial_or_parallel_same_bytes():
    alone = simulate_packets(THREE, [0.6], **SMALL)
    with ThreadPoolExecutor(2) as pool:
        together = simulate_packets(THREE, [0.6], executor=pool, **SMALL)
    assert repr(alone) == repr(together)
    assert repr(alone) != repr(simulate_packets(THREE, [0.6], seed=1, **SMALL))


def test_resume(tmp_path):
    file = tmp_path / "kept.jsonl"
    whole = simulate_packets(THREE, [0.6], ["drf"], resume=file, **SMALL)
    told = []
    again = simulate_packets(
        THREE, [0.6], ["drf"], resume=file, **SMALL, progress=lambda done, of: told.append(done)
    )
    assert told == [2]
    assert repr(again) == repr(whole)


def test_refused():
    with pytest.raises(Infeasible, match="= 1.2 for r1"):
        simulate_packets(THREE, [1.2], **SMALL)
    with pytest.raises(UsageError, match="rule: found 'tsf'"):
        simulate_packets(THREE, [0.5], ["tsf"], **SMALL)
    with pytest.raises(BadInput, match="2 faults"):
        simulate_packets(THREE, [0.5], window=0, flows=0)
    with pytest.raises(BadInput, match="3 faults"):
        packet_rates(THREE, {"9": 1}, "drf", warmup=5.0, horizon=2.0)
    with pytest.raises(UsageError, match="rule"):
        packet_rates(THREE, {"1": 1}, "wfq")
