"""Measures against their definitions written out in loops, and the frontier against its own."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fairopt as fo
from fairopt.measures import MEASURES, about, frontier, measure
from tests.strategies import instances

TASKS = {"name": "proportional"}
NO_PENALTY = fo.read("kesidis2016/no-penalty").instance


def machines(inst):
    """(row, of which one machine) of every machine, written out."""
    return [i for i, count in enumerate(inst.count) for _ in range(count)]


def slow(alloc):
    """Every measure machine by machine, as the sources write them."""
    inst, x = alloc.instance, alloc.tasks
    users, _, resources = inst.shape
    d = inst.demand_by_server
    held = [
        [
            max(
                x[n, i] / inst.count[i] * d[n, i, r] / inst.capacity[i, r]
                for r in range(resources)
                if d[n, i, r] > 0
            )
            if inst.eligible[n, i]
            else None
            for i in machines(inst)
        ]
        for n in range(users)
    ]
    f = [sum(a for a in held[n] if a is not None) / inst.weight[n] for n in range(users)]
    v = []
    for k in range(len(machines(inst))):
        there = [held[n][k] for n in range(users) if held[n][k] is not None]
        v.append(np.var(there) if there else 0.0)
    used = {
        name: sum(x[n, i] * d[n, i, r] for n in range(users) for i in range(inst.shape[1]))
        / sum(inst.capacity[i, r] for i in machines(inst))
        for r, name in enumerate(inst.resources)
    }
    u = [alloc.shares[n] / inst.weight[n] for n in range(users)]
    return {
        "efficiency": sum(inst.weight[n] * x[n].sum() for n in range(users)),
        "sqrt_var_f": float(np.std(f)),
        "sqrt_sum_v": math.sqrt(sum(v)),
        **{f"utilisation.{name}": part for name, part in used.items()},
        "min_level": min(u),
        "max_level": max(u),
        "jain": sum(u) ** 2 / (users * sum(a * a for a in u)),
        "nash_welfare": math.prod(alloc.shares ** (inst.weight / inst.weight.sum())),
    }


@given(instances(), st.integers(0, 1000))
@settings(max_examples=40)
def test_measures_are_their_definitions(inst, seed):
    inst = inst.replace(count=1 + inst.count % 3)
    rng = np.random.default_rng(seed)
    x = inst.alone / inst.shape[0] * rng.uniform(0.01, 1, inst.shape[:2])
    alloc = fo.Allocation(inst, TASKS, x, score=np.where(inst.eligible, rng.uniform(1, 2), 0))
    found, wanted = measure(alloc), slow(alloc)
    assert set(found) == {*wanted, "blocked_users"}
    for name, number in wanted.items():
        # a variance of equal shares is rounding of the shares themselves
        floor = 1e-12 * max(1.0, found["max_level"]) if "sqrt" in name else 0.0
        assert found[name] == pytest.approx(number, rel=1e-9, abs=floor), name


@given(instances(), st.integers(0, 1000))
@settings(max_examples=30)
def test_a_row_of_count_k_is_k_rows(inst, seed):
    inst = inst.replace(count=1 + inst.count % 3)
    rows = machines(inst)
    apart = inst.replace(
        demand=inst.demand if inst.demand.ndim == 2 else inst.demand[:, rows],
        capacity=inst.capacity[rows],
        placement=inst.placement[:, rows],
        count=None,
        servers=[f"m{k}" for k in range(len(rows))],
    )
    x = inst.alone / inst.shape[0] * np.random.default_rng(seed).uniform(0, 1, inst.shape[:2])
    one = measure(fo.Allocation(inst, TASKS, x))
    many = measure(fo.Allocation(apart, TASKS, x[:, rows] / inst.count[rows]))
    for name, number in one.items():
        floor = 1e-12 * max(1.0, one["max_level"]) if "sqrt" in name else 0.0
        assert many[name] == pytest.approx(number, rel=1e-9, abs=floor), name


def test_section_4_1_of_kesidis2016():
    """The printed point has equal shares in each pool; the optimum F = (40/51, 10/9, 20/27)."""
    printed = fo.Allocation(NO_PENALTY, TASKS, [[1.8, 0.84375], [1.2, 2.25], [1.2, 0.84375]])
    assert measure(printed)["sqrt_var_f"] == pytest.approx(0, abs=1e-15)
    assert measure(printed)["sqrt_sum_v"] == pytest.approx(0, abs=1e-15)
    best = measure(fo.solve(NO_PENALTY, fo.ProportionalFair("dominant-share")))
    assert best["sqrt_var_f"] == pytest.approx(np.std([40 / 51, 10 / 9, 20 / 27]), abs=1e-9)
    assert best["max_level"] == pytest.approx(10 / 9) and best["blocked_users"] == 3
    assert best["nash_welfare"] == pytest.approx((8000 / 12393) ** (1 / 3))


def test_the_trade_off_maximises_these_very_variances():
    """kesidis2016 (16) from the measures is the objective the notion reports."""
    inst = fo.read("kesidis2016/placement").instance
    inst = inst.replace(count=[2, *[1] * (inst.shape[1] - 1)], weight=1 + np.arange(inst.shape[0]))
    answer = fo.solve(inst, fo.Tradeoff(t_pf=2.0, t_drf=7.0))
    found = measure(answer)
    penalty = 2 * found["sqrt_var_f"] ** 2 + 7 * found["sqrt_sum_v"] ** 2
    assert min(found["sqrt_var_f"], found["sqrt_sum_v"]) > 0.01
    omega = inst.weight @ np.log(answer.levels)
    assert answer.objective == pytest.approx(omega - penalty, rel=1e-12)


def test_every_measure_is_described_and_in_order():
    names = [
        "utilisation" if k.startswith("utilisation.") else k
        for k in measure(fo.solve(NO_PENALTY, fo.ProportionalFair()), 20.0)
    ]
    assert list(dict.fromkeys(names)) == list(MEASURES)
    for name, entry in MEASURES.items():
        assert entry.better in ("highest", "lowest", None)
        assert all((entry.formula, entry.source, entry.unit)), name
    assert about("utilisation.cpu") is MEASURES["utilisation"] and about("gini") is None


def test_price_of_fairness_against_throughput():
    most = measure(fo.solve(NO_PENALTY, fo.Throughput()))["efficiency"]
    fair = fo.solve(NO_PENALTY, fo.ProportionalFair())
    assert "price_of_fairness" not in measure(fair)
    price = measure(fair, most)["price_of_fairness"]
    assert price == pytest.approx(1 - measure(fair)["efficiency"] / most) and 0 < price < 1
    assert measure(fair, 0.0)["price_of_fairness"] is None


def test_nothing_at_all_is_none_or_zero_never_nan():
    inst = fo.Instance([[1, 0], [2, 0]], [[4, 0]], resources=["cpu", "gpu"])
    found = measure(fo.Allocation(inst, TASKS, np.zeros((2, 1))))
    assert found["utilisation.gpu"] is None and found["jain"] is None
    assert found["nash_welfare"] == 0 and found["utilisation.cpu"] == 0
    assert found["blocked_users"] == 0
    huge = fo.Allocation(inst.replace(weight=[1e150, 1e-150]), TASKS, [[1e300], [1.0]])
    assert measure(huge, 1.0)["efficiency"] is None
    pickle.loads(pickle.dumps(found))


def test_one_user_with_nothing_means_no_welfare():
    alloc = fo.Allocation(NO_PENALTY, TASKS, [[1, 0], [1, 0], [0, 0]])
    assert measure(alloc)["nash_welfare"] == 0
    assert measure(alloc)["jain"] == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("tasks", "limit", "blocked"),
    [
        ([[4, 0], [0, 0]], None, 0),  # s1 is full for u1, but s2 is free for both
        ([[4, 0], [0, 2]], None, 2),
        ([[4, 0], [0, 1]], [4, np.inf], 1),  # at its limit, s2 half free
        ([[4, 0], [0, 1]], None, 0),
    ],
)
def test_blocked_users_are_stopped_everywhere(tasks, limit, blocked):
    inst = fo.Instance([[1], [2]], [[4], [4]], limit=limit)
    assert measure(fo.Allocation(inst, TASKS, tasks))["blocked_users"] == blocked


# -- the frontier -----------------------------------------------------------------------------

VALUES = st.one_of(st.none(), st.integers(0, 4).map(float))
ROWS = st.lists(st.fixed_dictionaries({"efficiency": VALUES, "sqrt_var_f": VALUES}), max_size=12)


@given(ROWS, st.sampled_from([None, [], ["efficiency"], ["efficiency", "sqrt_var_f"]]))
def test_frontier_is_what_nothing_dominates(rows, lowest):
    less = ["sqrt_var_f"] if lowest is None else lowest
    names = ("efficiency", "sqrt_var_f")
    cost = [
        tuple(None if row[k] is None else row[k] * (1 if k in less else -1) for k in names)
        for row in rows
    ]
    points = [k for k, c in enumerate(cost) if None not in c]
    wanted = [
        k
        for k in points
        if not any(
            all(a <= b for a, b in zip(cost[j], cost[k], strict=True)) and cost[j] != cost[k]
            for j in points
        )
    ]
    nested = [{"measures": row, "certified": True} for row in rows]
    for given_rows in (rows, nested):
        found = frontier(given_rows, *names, lowest=lowest)
        order = [next(k for k, row in enumerate(given_rows) if row is f) for f in found]
        assert sorted(order) == wanted
        assert order == sorted(wanted, key=lambda k: (rows[k][names[0]], rows[k][names[1]], k))


def test_frontier_refuses_what_it_cannot_order():
    rows = [{"measures": {"efficiency": 1.0, "max_level": 1.0}}, {"measures": None, "error": "no"}]
    with pytest.raises(fo.UsageError, match=r"max_level: found no better end; wanted lowest"):
        frontier(rows, "efficiency", "max_level")
    assert frontier(rows, "efficiency", "max_level", lowest=["max_level"]) == rows[:1]
    with pytest.raises(fo.UsageError, match="found 'jain'; wanted one of efficiency, max_level"):
        frontier(rows, "efficiency", "jain")
    with pytest.raises(fo.UsageError, match="lowest: found gini"):
        frontier(rows, "efficiency", "max_level", lowest=["gini"])
    assert frontier([], "efficiency", "sqrt_var_f") == []
