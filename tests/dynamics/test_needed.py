"""Simulations that would not end, fit no memory or lose their clock are refused at once."""

from __future__ import annotations

import pytest

import fairopt as fo
from fairopt import dynamics, memory
from fairopt.cli import run

POOL = "bonald2015/scenario-balanced"
SHORT = ["--replications", "1", "--count", "20", "--warmup", "0"]
HUGE = str(10**14)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["tasks", POOL, "--load", "1e-300", *SHORT], "load: found 1e-300, a run of 7e+301"),
        (["tasks", POOL, "--load", ".5", *SHORT, "--tasks-per-job", HUGE], "one run, which takes"),
        (["tasks", POOL, "--load", ".5", *SHORT, "--units", HUGE], "one run, which takes"),
        (["tasks", POOL, "--load", ".5", "--count", HUGE], "e+18 events, about"),
        (["tasks", POOL, "--load", ".5", "--replications", HUGE], "e+14 runs, which takes"),
        (["packets", POOL, "--load", "1e-300", *SHORT], "load: found 1e-300, a run of"),
        (["packets", POOL, "--load", ".5", *SHORT, "--packets-per-flow", HUGE], "events, about"),
        (["packets", POOL, "--load", ".5", *SHORT, "--window", HUGE], "one run, which takes"),
        (["packets", POOL, "--fixed", f"1={HUGE}"], "one run, which takes"),
        (["online", "kesidis2018/online", "--frameworks", HUGE], "one run, which takes"),
        (["online", "kesidis2018/online", "--tasks-per-job", HUGE], "one run, which takes"),
        (["online", "kesidis2018/online", "--gap", "1e300"], "gap: found 1e+300, a run of"),
        (["servers", "kesidis2018/example", "--rounds", HUGE], "rounds: found one run"),
        (["prices", POOL, "--steps", HUGE], "steps: found 1e+17 events"),
    ],
)
def test_what_it_would_need_is_told(arguments, said, capsys):
    assert run(["simulate", *arguments]) == 2
    err = capsys.readouterr().err
    assert said in err and "wanted" in err


def test_boxes_of_states_keep_to_memory(monkeypatch):
    inst = fo.read(POOL).instance
    part = inst.demand / inst.capacity[0]
    monkeypatch.setattr(memory, "limit", lambda: 250.0 * 900)
    with pytest.raises(fo.UsageError, match="wanted at most 900"):
        dynamics.service_rates(part, [0.3] * 3, "pf", most=10**14)


@pytest.mark.parametrize("units", [float("inf"), float("nan"), 1.5])
def test_numbers_that_are_not_whole_are_refused(units):
    inst = fo.Instance([[0.1, 1], [1, 0.1]], [[1, 1]], users=["A", "B"])
    with pytest.raises(fo.BadInput, match="units: found .*; wanted a whole number >= 1"):
        dynamics.simulate_tasks(inst, [0.5], ["drf"], units=units)
