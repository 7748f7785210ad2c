"""Horizons: one slice is the notion, equal slices merge, level by level beside programs."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog

import fairopt as fo
from fairopt.errors import BadInput, Infeasible, UsageError

TASKS = fo.MaxMin(criterion="tasks")
ONE = fo.Instance([[1], [1]], [[1]], users=["A", "B"], servers=["pool"], resources=["gpu"])
TWO = fo.Instance(
    [[1, 4], [3, 1]], [[9, 18]], users=["A", "B"], servers=["pool"], resources=["cpu", "memory"]
)
MODELS = [m.name for m in fo.models() if m.name.startswith("overtime/")]


def test_the_shipped_models_are_there():
    keys = {name.partition("/")[2].partition("-")[0] for name in MODELS}
    assert keys >= {f"t{k}" for k in range(1, 11)}


@pytest.mark.parametrize(
    "notion", [fo.MaxMin(), fo.ProportionalFair(), fo.AlphaFair(2)], ids=lambda notion: notion.name
)
def test_one_slice_is_the_notion_bit_for_bit(notion):
    rng = np.random.default_rng(7)
    for _ in range(10):
        n, i = int(rng.integers(1, 5)), int(rng.integers(1, 4))
        base = fo.Instance(
            rng.uniform(0.1, 2, (n, 2)), rng.uniform(1, 4, (i, 2)), weight=rng.uniform(0.5, 2, n)
        )
        whole = fo.horizon(base, np.full((1, n), np.inf))
        tasks = fo.solve(base, notion).tasks
        assert np.array_equal(fo.solve(whole.instance, notion).tasks, tasks)
        # a finite want of one slice is the limit of a plain instance
        wants = rng.uniform(0.2, 3, n)
        limited = fo.solve(base.replace(limit=wants), notion).tasks
        if i == 1:
            found = fo.solve(fo.horizon(base, wants[None]).instance, notion).tasks
            assert np.array_equal(found, limited)


def test_equal_slices_merged_change_nothing():
    rng = np.random.default_rng(3)
    for notion in (fo.MaxMin(), fo.ProportionalFair()):
        for _ in range(10):
            wants = rng.uniform(0.1, 4, (1, 2))
            one = fo.solve(fo.horizon(TWO, wants, 5.0).instance, notion)
            several = fo.solve(fo.horizon(TWO, np.repeat(wants, 5, axis=0)).instance, notion)
            np.testing.assert_allclose(several.totals, one.totals, rtol=3e-6)


def test_split_and_answer_are_inverse():
    whole = fo.horizon(TWO, [[1, 2], [3, 1], [0, 2]], [1, 2, 4])
    alloc = fo.solve(whole.instance, fo.ProportionalFair())
    plan = whole.split(alloc)
    assert plan.shape == (3, 2, 1)
    np.testing.assert_allclose(whole.answer(plan).tasks, alloc.tasks, rtol=1e-15)
    assert (plan[:, :, 0] <= whole.wants * (1 + 1e-9)).all()
    assert fo.certify(whole.answer(plan, fo.ProportionalFair())).certified


def test_slices_alone_beside_hindsight():
    """T1: half of what A could have had; T2: sqrt(112)/11."""
    whole = fo.horizon(ONE, [[1, 1], [0, 1]])
    best = fo.solve(whole.instance, fo.MaxMin())
    assert whole.ratio([[0.5, 0.5], [0, 1]], best) == pytest.approx(0.5, abs=1e-12)
    two = fo.horizon(TWO, [[np.inf, 0], [np.inf, np.inf]])
    fair = fo.solve(two.instance, fo.ProportionalFair())
    alone = [[4.5, 0], [189 / 22 - 4.5, 18 / 11]]
    assert two.ratio(alone, fair) == pytest.approx(112**0.5 / 11, abs=1e-9)
    assert fo.certify(two.answer(alone, fo.ProportionalFair())).verdict == "refuted"


def test_a_plan_is_never_better_than_hindsight():
    rng = np.random.default_rng(0)
    for _ in range(25):
        n, steps = 3, 4
        base = fo.Instance(np.ones((n, 1)), [[2]])
        wants = rng.uniform(0.1, 2, (steps, n)) * (rng.random((steps, n)) < 0.7)
        wants[0] += 0.1
        whole = fo.horizon(base, wants)
        plan = wants / np.maximum(1, wants.sum(axis=1, keepdims=True) / 2)
        for notion in (TASKS, fo.ProportionalFair()):
            best = fo.solve(whole.instance, notion)
            assert 0 < whole.ratio(plan, best) <= 1 + 1e-6
            assert whole.ratio(whole.split(best), best) == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("notion", [fo.MaxMin(), fo.ProportionalFair(), fo.AlphaFair(2)])
def test_what_was_not_served_may_wait(notion):
    """OVERTIME 1: capacity 1, both want 1 in t1 of two: a half each, and 1 each with carry."""
    wants = [[1, 1], [0, 0]]
    now = fo.solve(fo.horizon(ONE, wants).instance, notion)
    later = fo.solve(fo.horizon(ONE, wants, carry=True).instance, notion)
    np.testing.assert_allclose(now.totals, [0.5, 0.5], rtol=1e-9)
    np.testing.assert_allclose(later.totals, [1, 1], rtol=1e-9)
    assert later.certificate.certified


def test_what_waits_is_not_served_before_it_is_wanted():
    """B wants 1 in t2 alone and cannot have it in t1, though that is idle; A's 3 wait for t3."""
    whole = fo.horizon(ONE, {"A": [0, 3, 0], "B": [0, 1, 0]}, 2.0, carry=True)
    found = fo.solve(whole.instance, fo.MaxMin())
    assert found.certificate.certified
    np.testing.assert_allclose(found.totals, [2, 2], rtol=1e-9)
    assert found.instance.servers == ("pool@t1", "pool@t2", "pool@t3")
    assert not found.instance.eligible[:, 0].any()


def test_a_limit_holds_while_work_waits():
    """Two cards; A may run one at once. Of the 3 that it wants in t1, t2 and t3 serve the rest."""
    base = fo.Instance([[1], [1]], [[2]], users=["A", "B"], limit=[1, np.inf])
    wants = {"A": [3, 0, 0], "B": [0, 4, 0]}
    whole = fo.horizon(base, wants, carry=True)
    found = fo.solve(whole.instance, fo.ProportionalFair())
    assert found.certificate.certified
    plan = whole.split(found)[:, :, 0]
    assert (plan[:, 0] <= 1 + 1e-9).all() and plan.sum() == pytest.approx(5, rel=1e-8)
    # without carry the two that are beyond the limit are lost
    lost = fo.solve(fo.horizon(base, wants).instance, fo.ProportionalFair())
    np.testing.assert_allclose(lost.totals, [1, 2], rtol=1e-8)
    one = fo.horizon(base, [[3, 4]], 2.0, carry=True)
    np.testing.assert_allclose(one.instance.limit, [2, 8])


def waiting(demand, capacity, wants, weight, limit):
    """(N,) max-min totals where work waits: a row for what was wanted by each slice."""
    steps, n = wants.shape
    fixed = np.full(n, np.nan)

    def best(cost, level):
        left, right = [], []
        for t in range(steps):
            for r in range(demand.shape[1]):
                row = np.zeros((steps, n))
                row[t] = demand[:, r]
                left.append(np.append(row.ravel(), 0))
                right.append(capacity[t, r])
            for k in range(n):
                row = np.zeros((steps, n))
                row[: t + 1, k] = 1
                left.append(np.append(row.ravel(), 0))
                right.append(wants[: t + 1, k].sum())
        for k in range(n):
            row = np.zeros((steps, n))
            row[:, k] = -1
            left.append(
                np.append(row.ravel(), weight[k] if level is None and np.isnan(fixed[k]) else 0)
            )
            due = fixed[k] if not np.isnan(fixed[k]) else (level or 0) * weight[k]
            right.append(-(0 if level is None and np.isnan(fixed[k]) else due * (1 - 1e-10)))
        bounds = [(0, limit[k]) for _ in range(steps) for k in range(n)] + [(0, None)]
        found = linprog(cost, np.array(left), right, bounds=bounds)
        assert found.status == 0, found.message
        return found.x

    while np.isnan(fixed).any():
        top = best(np.append(np.zeros(steps * n), -1.0), None)[-1]
        free = np.flatnonzero(np.isnan(fixed))
        stopped = []
        for k in free:
            cost = np.zeros((steps, n))
            cost[:, k] = -1
            most = best(np.append(cost.ravel(), 0), top)[:-1].reshape(steps, n)[:, k].sum()
            if most <= top * weight[k] * (1 + 1e-7) + 1e-9:
                stopped.append(k)
        assert stopped
        fixed[stopped] = top * weight[stopped]
    return fixed


def test_random_horizons_with_carry_beside_programs():
    rng = np.random.default_rng(5)
    for _ in range(40):
        n, steps, r = (int(rng.integers(low, high)) for low, high in ((1, 4), (2, 5), (1, 3)))
        demand = rng.integers(1, 5, (n, r)).astype(float)
        capacity = rng.integers(2, 9, (steps, r)).astype(float)
        wants = rng.integers(0, 5, (steps, n)).astype(float)
        wants[rng.integers(steps)] += 1.0
        weight = rng.integers(1, 4, n).astype(float)
        limit = np.where(rng.random(n) < 0.5, rng.integers(1, 3, n), np.inf)
        base = fo.Instance(demand, capacity[:1], weight=weight, limit=limit)
        whole = fo.horizon(base, wants, capacity=capacity[:, None, :], carry=True)
        found = fo.solve(whole.instance, TASKS)
        assert found.certificate.certified
        due = waiting(demand, capacity, wants, weight, limit)
        np.testing.assert_allclose(found.totals, due, rtol=1e-5, atol=1e-7)


def test_names_of_slices_may_hold_anything():
    """A period is told by its slices, not by how their names look together."""
    base = fo.Instance([[1], [1]], [[4]], users=["A", "B"], resources=["gpu"])
    budgets = [fo.Budget("A", "gpu", 1, ["a", "b"]), fo.Budget("A", "gpu", 2, ["a,b"])]
    names = ["a", "b", "a,b"]
    whole = fo.horizon(base, np.full((3, 2), 4.0), 1.0, budgets, slices=names)
    found = fo.solve(whole.instance, fo.ProportionalFair())
    plan = whole.split(found)[:, 0, 0]
    np.testing.assert_allclose([plan[:2].sum(), plan[2]], [1, 2], rtol=1e-6)
    for name in ("at t1", "until x", "in y", "@", "what was had"):
        whole = fo.horizon(
            base.replace(start=[1, 0]), np.ones((2, 2)), slices=[name, "z"], carry=True
        )
        assert fo.solve(whole.instance, fo.MaxMin()).certificate.certified
    two = fo.Instance([[1]], [[1], [1]], servers=["a", "a@b"])
    with pytest.raises(BadInput, match="slices.*'a@b@c' twice"):
        fo.horizon(two, [[1], [1]], slices=["b@c", "c"])


def test_promises_that_do_not_fit_are_proved():
    gpus = fo.Instance([[1]] * 3, [[8]], users=["A", "B", "C"], resources=["gpu"])
    whole = fo.horizon(gpus, [[8, 0, 0], [8, 0, 8], [8, 8, 8]], 10, [fo.Promise("B", "gpu", 90)])
    with pytest.raises(Infeasible) as error:
        fo.solve(whole.instance, fo.MaxMin())
    assert error.value.proof["users"] == ["B"]
    assert Fraction(error.value.proof["cut"]).limit_denominator(100) == Fraction(8, 9)


def test_a_budget_of_some_slices():
    """A may have 2 in t1 and t2 together, and all it wants in t3."""
    base = fo.Instance([[1], [1]], [[4]], users=["A", "B"], resources=["gpu"])
    whole = fo.horizon(base, np.full((3, 2), 4.0), 1.0, [fo.Budget("A", "gpu", 2, ["t1", 1])])
    alloc = fo.solve(whole.instance, fo.ProportionalFair())
    plan = whole.split(alloc)[:, 0, 0]
    np.testing.assert_allclose([plan[:2].sum(), plan[2]], [2, 4], rtol=1e-6)


def test_several_servers_share_a_want():
    base = fo.Instance([[1, 1], [1, 2]], [[3, 3], [3, 5]], users=["A", "B"])
    whole = fo.horizon(base, [[1.5, 9], [4, 1]], [2, 1])
    for notion in (fo.MaxMin(), fo.ProportionalFair()):
        alloc = fo.solve(whole.instance, notion)
        assert alloc.certificate.certified
        assert (whole.split(alloc).sum(axis=2) <= whole.wants * (1 + 1e-8)).all()


def test_a_server_that_is_away():
    base = fo.Instance([[1], [1]], [[2]], users=["A", "B"])
    whole = fo.horizon(base, np.ones((2, 2)), capacity=[[[2]], [[0]]])
    np.testing.assert_allclose(fo.solve(whole.instance, fo.MaxMin()).totals, [1, 1], rtol=1e-9)


def test_a_want_with_room_left_has_no_price():
    """The price shown of a limit on a server that does not bind is 0, and no rounding of it."""
    rng, some = np.random.default_rng(11), 0
    for notion in (fo.ProportionalFair(), fo.AlphaFair(2), fo.MaxMin()):
        for _ in range(5):
            base = fo.Instance(rng.uniform(0.1, 4, (6, 2)), [[6, 6]])
            wants = rng.uniform(0.2, 4, (8, 6)) * (rng.random((8, 6)) < 0.7)
            wants[0] += 0.5
            found = fo.solve(fo.horizon(base, wants).instance, notion)
            told = [found.limit_on_prices] if found.rounds is None else []
            told += [one["prices"].get("limit_on_prices") for one in found.rounds or ()]
            free = found.tasks < found.instance.limit_on * (1 - 1e-6)
            priced = [np.asarray(price) > 0 for price in told if price is not None]
            assert not (np.array(priced) & free).any()
            some += int(np.any(priced))
    assert some > 10


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"wants": [[1, 1, 1]]}, "shape"),
        ({"wants": [[1, -1]]}, "wants.B in slice 1"),
        ({"wants": [[1, 0]]}, "wants.B"),
        ({"wants": {"C": [1]}}, "wants.C"),
        ({"hours": 0}, "hours"),
        ({"capacity": [[[1]], [[1]]]}, "capacity"),
        ({"budgets": [fo.Budget("A", "gpu", 1, ["t9"])]}, "budgets"),
    ],
)
def test_faults_are_named(change, match):
    given = {"wants": [[1, 1]], **change}
    with pytest.raises(BadInput, match=match):
        fo.horizon(ONE, **given)


def test_rules_of_every_moment_are_refused():
    with pytest.raises(UsageError, match="ceilings"):
        fo.horizon(ONE.replace(quotas=fo.Quotas(bounds=[fo.Bound("A", "gpu", 1)])), [[1, 1]])
    with pytest.raises(UsageError, match="found rule r"):
        fo.horizon(ONE.replace(rules=[fo.Rule("r", most=1, terms=[fo.Term("A")])]), [[1, 1]])


# -- level by level, by programs written out here ----------------------------------------------


def levels(demand, capacity, wants, weight):
    """(N,) totals of max-min of task-hours over T slices: raise all, fix who is stopped, repeat."""
    steps, n = wants.shape
    resources = demand.shape[1]
    fixed = np.full(n, np.nan)
    while np.isnan(fixed).any():
        free = np.isnan(fixed)
        top, _ = best(demand, capacity, wants, weight, fixed, free, None)
        # who cannot have more than the level while everybody else keeps it
        stopped = np.zeros(n, dtype=bool)
        for k in np.flatnonzero(free):
            _, most = best(demand, capacity, wants, weight, fixed, free, (k, top))
            stopped[k] = most <= top * weight[k] * (1 + 1e-7) + 1e-9
        assert stopped.any()
        fixed[stopped] = top * weight[stopped]
    assert resources
    return fixed


def best(demand, capacity, wants, weight, fixed, free, one):
    """max t, or the most of one user when all free ones hold the level."""
    steps, n = wants.shape
    left, right = [], []
    for t in range(steps):
        for r in range(demand.shape[1]):
            row = np.zeros((steps, n))
            row[t] = demand[:, r]
            left.append(np.append(row.ravel(), 0))
            right.append(capacity[t, r])
    for k in range(n):
        row = np.zeros((steps, n))
        row[:, k] = -1
        level = weight[k] if free[k] and one is None else 0.0
        due = fixed[k] if not free[k] else (0.0 if one is None else one[1] * weight[k])
        left.append(np.append(row.ravel(), level))
        right.append(-due * (1 - 1e-10))
    cost = np.zeros(steps * n + 1)
    if one is None:
        cost[-1] = -1
    else:
        cost[:-1].reshape(steps, n)[:, one[0]] = -1
    bounds = [(0, float(most)) for most in wants.ravel()] + [(0, None)]
    found = linprog(cost, np.array(left), right, bounds=bounds)
    assert found.status == 0, found.message
    return float(found.x[-1]), -float(found.fun)


def test_two_hundred_random_horizons_beside_programs():
    rng = np.random.default_rng(28)
    for _ in range(200):
        n, steps, r = (int(rng.integers(low, high)) for low, high in ((1, 4), (1, 5), (1, 3)))
        demand = rng.integers(1, 5, (n, r)).astype(float)
        capacity = rng.integers(2, 9, (steps, r)).astype(float)
        wants = rng.integers(0, 5, (steps, n)).astype(float)
        wants[rng.integers(steps)] += 1.0
        weight = rng.integers(1, 4, n).astype(float)
        base = fo.Instance(demand, capacity[:1], weight=weight)
        whole = fo.horizon(base, wants, capacity=capacity[:, None, :])
        alloc = fo.solve(whole.instance, TASKS)
        assert alloc.certificate.certified
        np.testing.assert_allclose(
            alloc.totals, levels(demand, capacity, wants, weight), rtol=1e-5, atol=1e-7
        )
