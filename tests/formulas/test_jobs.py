"""Promises of time (kesidis2016 section 5): the tail rule, (19), (20), the pipelined formula."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fairopt.formulas.jobs import cpu_pipelined, least_use, tail_demand, time_in_turn

SPEED = np.array([[4.0, 20.0, 9.0], [10.0, 8.0, 30.0]])


def test_the_tail_rule():
    rate = tail_demand(1.0, 1.0, 0.05)
    assert rate == pytest.approx(2.8553085, abs=5e-8)
    assert (1 / rate) ** rate == pytest.approx(0.05, rel=1e-12)


def test_one_user_alone():
    """v = (1/4, 1/9): the parts are v_r + sqrt(v_1 v_2), so the fuller has 1/9 + 1/4."""
    found = least_use(np.ones(1), np.array([[4.0, 9.0]]), np.ones(1))
    assert found == pytest.approx(1 / 4 + 1 / 9)
    held = found * np.array([4.0, 9.0])  # both equally full
    assert time_in_turn(1.0, held) == pytest.approx(1.0)


@pytest.mark.parametrize("many", [1, 2, 3])
def test_the_least_use_is_that_of_the_convex_program(many):
    import cvxpy as cp

    time, jobs = np.array([1.0, 0.5]), np.array([1.0, 2.0])
    part, use = cp.Variable((2, many)), cp.Variable()
    need = (jobs / time)[:, None] / SPEED[:, :many]
    on_time = [cp.sum(cp.multiply(need[n], cp.inv_pos(part[n]))) <= 1 for n in range(2)]
    cp.Problem(cp.Minimize(use), [*on_time, cp.sum(part, axis=0) <= use]).solve(solver="CLARABEL")
    assert least_use(jobs, SPEED[:, :many], time) == pytest.approx(float(use.value), rel=1e-6)


def test_pipelined():
    """x/D_1 + D_3/D_2 = T; with RAM for all of x it is (19), and CPU is saved by less RAM."""
    x, time, disk = 1.5, 2.0, 3.0
    cpu = cpu_pipelined(x, time, disk, ram=x)
    assert time_in_turn(x, np.array([cpu, disk])) == pytest.approx(time)
    less = cpu_pipelined(x, time, disk, ram=0.6)
    assert x / less + 0.6 / disk == pytest.approx(time)
    assert less < cpu
    # not x max(1/D_1, 1/D_2), which would ask for x / time
    assert less > x / time
    assert cpu_pipelined(x, 0.1, disk, ram=0.6) == math.inf
