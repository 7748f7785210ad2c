"""Demand that is not linear: what is answered, and that everything else refuses it by name."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fairopt as fo
from fairopt import compare, properties
from fairopt.filling import optimum, run_trials
from fairopt.solving.reduce import reduce

AFFINE = fo.read("kesidis2016/demand-set-up").instance
POWER = fo.read("kesidis2016/demand-power").instance
DRF = fo.PerServerDRF()


@st.composite
def pools(draw, affine=False):
    """A pool whose demand is not linear, with zeros, weights over six decades and limits."""
    n, r = draw(st.integers(1, 5)), draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    demand = rng.uniform(0.05, 2.0, (n, r)) * (rng.random((n, r)) < 0.8)
    demand[demand.sum(axis=1) == 0, 0] = 1.0
    pool = 10.0 ** rng.uniform(-2, 3, (1, r))
    weight = 10.0 ** rng.uniform(-3, 3, n)
    part = (weight / weight.sum())[:, None] * pool
    power = np.where((demand > 0) & (rng.random((n, r)) < 0.7), rng.uniform(0.3, 1, (n, r)), 1.0)
    fixed = part * rng.uniform(0, 0.5, (n, r)) * (demand > 0) * (rng.random((n, r)) < 0.7)
    limit = np.where(rng.random(n) < 0.3, 10.0 ** rng.uniform(-2, 2, n), np.inf)
    return fo.Instance(
        demand * pool,
        pool,
        weight=weight,
        limit=limit,
        demand_fixed=fixed,
        demand_power=np.ones((n, r)) if affine else power,
    )


# -- the data -----------------------------------------------------------------------------------


def test_what_tasks_take():
    assert AFFINE.used(np.array([[1.0], [0.0]])) == pytest.approx(np.array([[0.25, 0.2]]))
    assert POWER.used(np.array([[4.0], [0.0]])) == pytest.approx(np.array([[0.6, 0.4]]))
    assert AFFINE.alone == pytest.approx(np.array([[4.75], [0.98 / 0.3]]))
    assert not AFFINE.linear
    assert fo.Instance([[1]], [[1]]).linear


def test_equal_only_with_the_same_curves():
    plain = AFFINE.replace(demand_fixed=None)
    assert plain.linear
    assert plain != AFFINE
    assert plain.digest() != AFFINE.digest()
    assert (
        plain.digest()
        == fo.Instance(
            plain.demand,
            plain.capacity,
            users=plain.users,
            servers=plain.servers,
            resources=plain.resources,
        ).digest()
    )
    assert pickle.loads(pickle.dumps(POWER)) == POWER
    chosen = POWER.select([1], [0])
    assert np.array_equal(chosen.demand_power, POWER.demand_power[1:])


def test_by_name():
    named = fo.Instance(
        {"a": {"cpu": 1.0, "ram": 2.0}, "b": {"cpu": 1.0}},
        {"s": {"cpu": 9.0, "ram": 9.0}},
        demand_fixed={"b": {"cpu": 0.5}},
        demand_power={"a": {"ram": 0.5}},
    )
    assert np.array_equal(named.demand_fixed, [[0, 0], [0.5, 0]])
    assert np.array_equal(named.demand_power, [[1, 0.5], [1, 1]])


@pytest.mark.parametrize("model", [AFFINE, POWER], ids=["affine", "power"])
@pytest.mark.parametrize("name", ["model.toml", "folder"])
def test_files_round_trip(model, name, tmp_path):
    fo.write(model, tmp_path / name)
    assert fo.read(tmp_path / name).instance == model
    answer = fo.solve(model, DRF)
    answer.save(tmp_path / "answer.json")
    assert fo.load(tmp_path / "answer.json") == answer


def test_every_fault_is_named():
    with pytest.raises(fo.BadInput) as refused:
        fo.Instance(
            [[1, 0], [1, 1]],
            [[9, 9]],
            demand_fixed=[[-1, 0], [0, np.inf]],
            demand_power=[[2, 0.5], [0, 1]],
        )
    places = {fault.place for fault in refused.value.faults}
    assert places == {
        "users.u1.demand_fixed.r1",
        "users.u2.demand_fixed.r2",
        "users.u1.demand_power.r1",
        "users.u2.demand_power.r1",
        "users.u1.demand_power.r2",
    }
    for demand, capacity in (([[1.0]], [[9], [9]]), ([[[1.0], [1.0]]], [[9], [9]])):
        with pytest.raises(fo.BadInput, match="demand_fixed of u1"):
            fo.Instance(demand, capacity, demand_fixed=[[1.0]])
    with pytest.raises(fo.BadInput, match="shape"):
        fo.Instance([[1.0]], [[9]], demand_fixed=[[1.0, 2.0]])
    with pytest.raises(fo.BadInput, match="choose a larger unit"):
        fo.Instance([[1.0]], [[1e308]], count=[10], demand_fixed=[[1.0]])
    with pytest.raises(fo.BadInput, match="too little r1 to begin"):
        fo.Instance([[1.0]], [[9]], demand_fixed=[[10.0]])


# -- the answers --------------------------------------------------------------------------------


def test_checked_numbers():
    """DYNAMICS 6: the level A and the tasks of both."""
    for inst, level, totals in (
        (AFFINE, 37 / 60, (17 / 6, 179 / 90)),
        (POWER, 0.6, (4.0, 2.4**1.25)),
    ):
        answer = fo.solve(inst, DRF)
        assert answer.steps[0]["levels"] == pytest.approx([level], rel=1e-14)
        assert answer.totals == pytest.approx(totals, rel=1e-13)
        assert answer.certificate.certified


@given(pools())
def test_weighted_drf_is_certified_or_names_who_is_too_dear(inst):
    try:
        answer = fo.solve(inst, DRF)
    except fo.Infeasible as error:
        assert "demand_fixed" in str(error)
        return
    assert answer.certificate.residual <= 1e-9
    assert answer.utilisation.max() <= 1 + 1e-12


@given(pools(affine=True), st.sampled_from([1.0, 2.0, 5.0]))
def test_a_set_up_is_a_smaller_pool_once_all_are_served(inst, alpha):
    try:
        answer = fo.solve(inst, fo.AlphaFair(alpha=alpha))
    except fo.Infeasible as error:
        assert "demand_fixed" in str(error)
        return
    left = inst.pool - inst.demand_fixed.sum(axis=0)
    other = fo.solve(
        fo.Instance(inst.demand, left, weight=inst.weight, limit=inst.limit),
        fo.AlphaFair(alpha=alpha),
    )
    assert answer.totals == pytest.approx(other.totals, rel=1e-5)


def test_who_is_too_dear_is_named():
    dear = fo.Instance([[1.0], [1.0]], [[10.0]], demand_fixed=[[6.0], [0.0]])
    with pytest.raises(fo.Infeasible, match="set-up .* of u1 alone is more than its fair share"):
        fo.solve(dear, DRF)
    full = fo.Instance([[1.0], [1.0]], [[10.0]], demand_fixed=[[6.0], [4.0]])
    with pytest.raises(fo.Infeasible, match="everybody's set-up takes 10 of r1"):
        fo.solve(full, fo.ProportionalFair())


# -- everything else ----------------------------------------------------------------------------

REFUSED = [
    fo.Throughput(),
    fo.AlphaFair(alpha=0.5),
    fo.ProportionalFair("drf"),
    fo.MaxMin(),
    fo.Tradeoff(),
    fo.HandOutDRF(),
    fo.BottleneckMaxFair(),
    fo.PerServerDominantShare(),
    fo.PerServerDominantShare("tdm"),
    fo.EqualTasks(),
    fo.CommonTasks(),
]


@pytest.mark.parametrize("notion", REFUSED, ids=lambda notion: f"{notion.name}-{notion.criterion}")
@pytest.mark.parametrize("inst", [AFFINE, POWER], ids=["affine", "power"])
def test_other_notions_refuse_by_name(inst, notion):
    with pytest.raises(fo.UsageError, match=rf"{notion.name}: found demand_\w+ of n1, n2"):
        fo.solve(inst, notion)


@pytest.mark.parametrize("notion", [fo.ProportionalFair(), fo.MaxMin("tasks")])
def test_powers_are_no_convex_set(notion):
    with pytest.raises(fo.UsageError, match="no convex set"):
        fo.solve(POWER, notion)


def test_a_flat_share_is_refused():
    flat = fo.Instance([[0.0, 0.1], [0.1, 0.1]], [[1, 1]], demand_fixed=[[0.5, 0], [0, 0]])
    with pytest.raises(fo.UsageError, match="u1 takes r1 to begin, and none for a task"):
        fo.solve(flat, DRF)


def test_a_notion_of_ones_own_is_refused():
    class Own(fo.ProportionalFair):
        name = "own"
        family = "own"

    with pytest.raises(fo.UsageError, match="own: found demand_fixed"):
        fo.solve(AFFINE, Own())


ANSWER = fo.solve(AFFINE, DRF)
DOORS = {
    "fill": lambda: fo.fill(AFFINE),
    "trials": lambda: run_trials(AFFINE, "drf", None, 3, 0),
    "optimum": lambda: optimum(AFFINE),
    "fixed_points": lambda: fo.fixed_points(AFFINE, fo.PerServerDominantShare()),
    "best_support": lambda: fo.best_support(AFFINE, fo.Tradeoff()),
    "compare": lambda: compare.rows(AFFINE),
    "reduce": lambda: reduce(AFFINE, fo.MaxMin()),
    "measures": lambda: fo.measures.measure(ANSWER),
    "an answer in another criterion": lambda: fo.Allocation(AFFINE, fo.MaxMin(), ANSWER.tasks),
    "by_themselves": lambda: fo.dynamics.by_themselves(AFFINE, 3),
    **{name: lambda check=check: check(ANSWER) for name, check in properties.PROPERTIES.items()},
    **{
        name: lambda word=word: getattr(properties, word)(AFFINE, DRF, 2, 0)
        for name, word in properties.NOTION_PROPERTIES.items()
    },
    **{
        f"criterion {name}": lambda name=name: fo.criteria.score(AFFINE, name)
        for name, row in fo.criteria.TABLE.items()
        if row.linear
    },
}


@pytest.mark.parametrize("door", DOORS)
def test_every_other_door_refuses_by_name(door):
    with pytest.raises(fo.UsageError, match="found demand_fixed of n1, n2"):
        DOORS[door]()


def test_a_sweep_says_why_it_has_no_row():
    (row,) = fo.sweep(AFFINE, [fo.AlphaFair(alpha=1.0)]).rows
    assert row["status"] == "refused"
    assert "demand_fixed of n1, n2" in row["reason"]
