"""Users that come and go while the cluster is filled; the integer optimum; the fluid limit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairopt.errors import BadInput, UsageError
from fairopt.filling import churn, events, fill, optimum, run_trials
from fairopt.instance import Instance
from tests.filling.test_filling import clusters

KESIDIS = Instance([[5, 1], [1, 5]], [[100, 30], [30, 100]])


def test_without_events_churn_is_filling():
    done = churn(KESIDIS, [], "rps-dsf")
    assert done.allocation.tasks.tolist() == fill(KESIDIS, "rps-dsf").tasks.tolist()
    assert done.placed == done.finished == 42


def test_a_user_that_leaves_gives_everything_back():
    done = churn(KESIDIS, [(100, "leave", "u1")], "drf")
    assert done.allocation.totals.tolist() == [0, 26]
    assert done.allocation.steps[0]["stopped"]["u1"] == "left"
    assert done.finished > 100


def test_reallocation_forgets_what_the_first_user_took():
    late = [(5, "arrive", "u2")]
    keep = churn(KESIDIS, late, "ps-dsf")
    over = churn(KESIDIS, late, "ps-dsf", policy="reallocate")
    assert over.allocation.tasks.tolist() == fill(KESIDIS, "ps-dsf").tasks.tolist()
    assert over.moments[0].moved == 5 and keep.moments[0].moved == 0
    assert over.placed == 5 + 41


def test_without_revocation_a_late_user_finds_what_is_left():
    inst = Instance([[1.0], [1.0]], [[10.0]])
    keep = churn(inst, [(10, "arrive", "u2")], "drf")
    assert keep.allocation.totals.tolist() == [10, 0]
    over = churn(inst, [(10, "arrive", "u2")], "drf", policy="reallocate")
    assert over.allocation.totals.tolist() == [5, 5]


@settings(max_examples=40)
@given(
    inst=clusters(),
    seed=st.integers(0, 9),
    policy=st.sampled_from(["keep", "reallocate"]),
    scheduler=st.sampled_from(["drf", "ps-dsf", "rps-dsf", "bf-drf"]),
)
def test_churn_never_exceeds_a_machine(inst, seed, policy, scheduler):
    from fairopt.certificates import certify

    happenings = events(inst, 20, seed)
    done = churn(inst, happenings, scheduler, policy=policy, seed=seed)
    gone = {e.user for e in happenings if e.action == "leave"}
    for name in gone:
        assert done.allocation.totals[inst.users.index(name)] == 0
    checks = {c.name: c.holds for c in certify(done.allocation).checks}
    checks.pop("nothing more fits")  # a user that left could have more
    assert all(checks.values())


def test_events_are_seeded():
    assert events(KESIDIS, 50, 3) == events(KESIDIS, 50, 3)
    assert events(KESIDIS, 50, 3) != events(KESIDIS, 50, 4)


def test_bad_events_are_named_together():
    with pytest.raises(BadInput) as caught:
        churn(KESIDIS, [(0, "arrive", "nobody"), (-1, "stay", "u1")])
    assert len(caught.value.faults) == 3
    with pytest.raises(UsageError):
        churn(KESIDIS, [], policy="evict")


def test_integer_optimum_of_kesidis2018_is_42():
    best = optimum(KESIDIS)
    assert best.total == best.bound == 42
    assert best.proved


@settings(max_examples=30)
@given(inst=clusters(), scheduler=st.sampled_from(["drf", "rps-dsf", "bf-drf"]))
def test_no_filling_beats_the_integer_optimum(inst, scheduler):
    best = optimum(inst)
    assert best.allocation is not None
    assert (best.allocation.used <= inst.pool * (1 + 1e-9)).all()
    assert fill(inst, scheduler).totals.sum() <= best.total == best.bound


def test_trials_report_the_population_deviation():
    stats = run_trials(KESIDIS, "drf", trials=50, seed=1)
    runs = run_trials(KESIDIS, "drf", trials=50, seed=1)
    assert (stats.mean == runs.mean).all()
    low, high = stats.interval
    assert (low <= stats.mean).all() and (stats.mean <= high).all()
    # what is not used is a linear image of the tasks
    used = np.einsum("ni,nr->ir", stats.mean, KESIDIS.demand)
    assert np.allclose(stats.unused, KESIDIS.capacity - used)
    assert run_trials(KESIDIS, "rps-dsf", trials=3).total_sd == 0


@settings(max_examples=25)
@given(
    demand=st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9)), min_size=1, max_size=4),
    weight=st.lists(st.sampled_from([1.0, 2.0, 0.5]), min_size=4, max_size=4),
    scheduler=st.sampled_from(["drf", "ps-dsf"]),
)
def test_small_increments_tend_to_drf_on_one_server(demand, weight, scheduler):
    capacity = np.array([20.0, 30.0])
    inst = Instance(demand, [capacity], weight=weight[: len(demand)])
    step = 1 / 256
    done = fill(inst, scheduler, "joint", increment=step)
    # every user demands everything, so all stop together: Claim 3 of kesidis2016
    dominant = (inst.demand / capacity).max(axis=1)
    rate = inst.weight / dominant
    fluid = rate / (rate @ (inst.demand / capacity)).max()
    # users that still fit after the first one stopped add at most what rounding left over
    assert (np.abs(done.totals - fluid) <= 0.02 * fluid + 12 * step).all()
