"""Progressive filling: the papers' rows, the plain form of the rules, exact capacities."""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairopt.errors import BadInput, UsageError
from fairopt.filling import SCHEDULERS, SELECTIONS, Filler, fill, run_trials
from fairopt.filling.criteria import CRITERIA
from fairopt.instance import Instance
from tests.filling_reference import Plain


@pytest.fixture
def kesidis() -> Instance:
    """kesidis2018 (18)-(19)."""
    return Instance([[5, 1], [1, 5]], [[100, 30], [30, 100]])


@st.composite
def clusters(draw: st.DrawFn) -> Instance:
    users, servers, resources = draw(st.integers(1, 4)), draw(st.integers(1, 3)), 2
    number = st.integers(0, 6)
    demand = [
        draw(st.lists(number, min_size=resources, max_size=resources).filter(any))
        for _ in range(users)
    ]
    capacity = [
        draw(st.lists(st.integers(1, 25), min_size=resources, max_size=resources))
        for _ in range(servers)
    ]
    placement = [
        draw(st.lists(st.booleans(), min_size=servers, max_size=servers).filter(any))
        for _ in range(users)
    ]
    weight = [draw(st.sampled_from([1.0, 2.0, 0.5, 3.0])) for _ in range(users)]
    limit = [draw(st.sampled_from([np.inf, 3.0, 2.5])) for _ in range(users)]
    count = [draw(st.integers(1, 3)) for _ in range(servers)]
    return Instance(demand, capacity, placement, weight, limit, count)


@pytest.mark.parametrize(
    ("scheduler", "selection", "row"),
    [
        ("ps-dsf", None, [[19, 0], [2, 20]]),
        ("rps-dsf", None, [[19, 2], [2, 19]]),
        ("bf-drf", "best-fit-any", [[20, 2], [0, 19]]),
        ("bf-drf", None, [[19, 2], [2, 19]]),  # the natural rule; not printed
    ],
)
def test_deterministic_rows_of_kesidis2018(kesidis, scheduler, selection, row):
    done = fill(kesidis, scheduler, selection)
    assert done.tasks.tolist() == row
    assert set(done.steps[0]["stopped"]) == {"u1", "u2"}


@pytest.mark.parametrize("user_tie", ["lowest", "highest", "random"])
@pytest.mark.parametrize("server_tie", ["lowest", "highest", "random"])
def test_rps_dsf_row_holds_under_every_tie_rule(kesidis, user_tie, server_tie):
    done = fill(kesidis, "rps-dsf", user_tie=user_tie, server_tie=server_tie)
    assert done.tasks.tolist() == [[19, 2], [2, 19]]


@pytest.mark.parametrize(
    ("scheduler", "mean"),
    [
        ("drf", [6.55, 4.69, 4.69, 6.55]),
        ("tsf", [6.5, 4.7, 4.7, 6.5]),
        ("rrr-ps-dsf", [19.44, 1.15, 1.07, 19.42]),
    ],
)
def test_random_rows_come_from_a_random_server_per_task(kesidis, scheduler, mean):
    trials = 2000
    ours = run_trials(kesidis, scheduler, "random-server", trials=trials, seed=7)
    # the paper averages 200 trials, so its own mean has that error
    error = ours.sd.ravel() * np.sqrt(1 / trials + 1 / 200)
    assert (np.abs(ours.mean.ravel() - mean) < 3 * error).all()


def test_strict_rounds_give_two_packings_only(kesidis):
    seen = {tuple(fill(kesidis, "rrr-ps-dsf", seed=s).tasks.ravel()) for s in range(60)}
    assert seen == {(20, 0, 0, 20), (19, 2, 2, 19)}


def test_ghodsi_trace():
    inst = Instance([[1, 4], [3, 1]], [[9, 18]], users=["A", "B"])
    done = fill(inst, "drf", trace=True)
    assert [step["user"] for step in done.steps[0]["trace"]] == ["B", "A", "A", "B", "A"]
    assert done.totals.tolist() == [3, 2]
    lowest = fill(inst, "drf", user_tie="lowest", trace=True)
    assert lowest.steps[0]["trace"][0]["user"] == "A"


USER_FIRST = ["joint", "first-fit", "best-fit", "best-fit-any"]
SERVER_FIRST = ["random-server", "rrr", "in-order"]


@pytest.mark.every(4)
@pytest.mark.parametrize("selection", USER_FIRST + SERVER_FIRST)
@pytest.mark.parametrize("scheduler", ["drf", "ps-dsf", "rps-dsf", "rdrf"])
@settings(max_examples=40, deadline=None)
@given(inst=clusters(), seed=st.integers(0, 5))
def test_fast_equals_plain(scheduler, selection, inst, seed):
    fast = fill(inst, scheduler, selection, seed=seed, trace=True)
    plain = Plain(inst, scheduler, selection)
    assert fast.tasks.tolist() == plain.run(seed).tolist()
    order = [inst.users[n] for n, _ in plain.placed]
    assert [step["user"] for step in fast.steps[0]["trace"]] == order


@pytest.mark.parametrize("scheduler", SCHEDULERS)
@settings(max_examples=25, deadline=None)
@given(inst=clusters(), selection=st.sampled_from([None, *SELECTIONS]), seed=st.integers(0, 3))
def test_no_machine_is_exceeded_and_no_ineligible_one_used(scheduler, inst, selection, seed):
    done = fill(inst, scheduler, selection, seed=seed, trace=True)
    held: dict[tuple[str, int], list[Fraction]] = {}
    for step in done.steps[0]["trace"]:
        n, i = inst.users.index(step["user"]), inst.servers.index(step["server"])
        assert inst.placement[n, i]
        used = held.setdefault((step["server"], step["machine"]), [Fraction(0)] * 2)
        for r in range(2):
            used[r] += Fraction(inst.demand[n, r])
            assert used[r] <= Fraction(inst.capacity[i, r])
        assert step["machine"] < inst.count[i]
    assert (done.totals <= inst.limit).all()
    assert (done.tasks == np.floor(done.tasks)).all()
    assert set(done.steps[0]["stopped"]) == set(inst.users)


def test_tenths_fit_exactly():
    done = fill(Instance([[0.1, 0.3]], [[1.0, 3.0]]), "drf")
    assert done.tasks.tolist() == [[10]]
    assert done.steps[0]["exact"]


def test_numbers_without_a_common_unit_still_fill():
    inst = Instance([[1 / 3, np.pi], [np.sqrt(2), 0.1]], [[10.0, np.e * 10]])
    done = fill(inst, "rps-dsf")
    assert not done.steps[0]["exact"]
    assert (done.used <= inst.capacity * (1 + 1e-9)).all()


def test_limit_and_reasons():
    inst = Instance([[1.0], [2.0]], [[10.0]], limit=[3, np.inf])
    done = fill(inst, "drf")
    assert done.totals.tolist() == [3, 3]
    assert done.steps[0]["stopped"] == {"u1": "limit reached", "u2": "no machine fits"}


def test_a_task_larger_than_any_machine_gets_nothing_and_says_so():
    inst = Instance([[5.0], [1.0]], [[4.0]], count=[3])
    done = fill(inst, "ps-dsf")
    assert done.totals.tolist() == [0, 12]
    assert done.steps[0]["stopped"]["u1"].startswith("no machine fits")


def test_start_goes_on_where_it_stopped(kesidis):
    first = Filler(kesidis, "ps-dsf")
    first.run(random.Random(0), budget=17)
    half = first.allocation(0, {})
    assert half.totals.sum() == 17
    done = fill(kesidis, "ps-dsf", start=half)
    assert done.tasks.tolist() == fill(kesidis, "ps-dsf").tasks.tolist()
    assert (done.tasks >= half.tasks).all()


def test_start_keeps_the_packing_of_the_machines():
    inst = Instance([[2.0], [3.0]], [[5.0]], count=[4], limit=[4, 4])
    done = fill(inst, "drf", "best-fit")
    again = fill(inst, "drf", start=done)
    assert again.tasks.tolist() == done.tasks.tolist()


def test_start_that_does_not_fit_is_refused(kesidis):
    too_much = fill(kesidis.replace(capacity=[[200, 60], [60, 200]]), "rps-dsf")
    with pytest.raises(BadInput, match="tasks too many"):
        fill(kesidis, start=too_much)


def test_demand_that_depends_on_the_server():
    demand = [[[1.0], [2.0]], [[2.0], [1.0]]]
    inst = Instance(demand, [[10.0], [10.0]])
    # at zero tasks all pairs tie and the first server wins: u2's first task goes to s1, at cost 2
    assert fill(inst, "rps-dsf").tasks.tolist() == [[8, 0], [1, 10]]
    done = fill(inst, "drf", "first-fit")
    assert (done.used <= 10).all()


def test_unknown_names_are_usage_errors(kesidis):
    with pytest.raises(UsageError, match="scheduler"):
        fill(kesidis, "drff")
    with pytest.raises(UsageError, match="selection"):
        fill(kesidis, "drf", "best")
    with pytest.raises(UsageError, match="user_tie"):
        fill(kesidis, "drf", user_tie="first")
    with pytest.raises(BadInput):
        fill(kesidis, "drf", increment=0)


def test_the_criterion_of_every_scheduler_is_one():
    assert {row.criterion for row in SCHEDULERS.values()} <= set(CRITERIA)
