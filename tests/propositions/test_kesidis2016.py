"""The statements of kesidis2016: what holds, what is found, and that checks are sharp."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fairopt as fo
from fairopt.propositions import draws, find
from fairopt.propositions.kesidis2016 import drf as kesidis2016_drf
from fairopt.propositions.kesidis2016 import statements as kesidis2016
from fairopt.propositions.kesidis2016.dominant import (
    OneDominant,
    can_fill,
    equal_demand,
    equal_part,
)
from fairopt.propositions.kesidis2016.drf import bent, closed_form, fixed_point, shares
from fairopt.propositions.kesidis2016.statements import margin
from fairopt.propositions.trials import chunk, trial
from tests.proposition_rows import rows_of, try_row

# trials in which a counterexample is found; rows that are not here hold
FOUND = {
    ("kesidis2016/claim-1", "one resource"): 6,
    ("kesidis2016/claim-2", "every server is usable"): 12,
    ("kesidis2016/claim-2-sufficient", ""): 12,
    ("kesidis2016/claim-2-subsets", "every server is usable"): 12,
    ("kesidis2016/claim-3", "positive demand"): 6,
    ("kesidis2016/claim-4-fills", "no limits"): 10,
    ("kesidis2016/claim-4-max-min", "(27)"): 4,
    ("kesidis2016/corollary-2-fills", "no limits"): 10,
    ("kesidis2016/corollary-2-max-min", "(33)"): 4,
}
HELD = 6
ROWS = rows_of("kesidis2016")
SEEDS = st.integers(0, 2**32 - 1)


@pytest.mark.parametrize("row", ROWS, ids=" without ".join)
def test_the_table(row):
    """The checks find by themselves what is known to fail, and nothing else."""
    try_row(row, FOUND, HELD)


def test_found_rows_are_rows():
    assert set(FOUND) <= set(ROWS)


# -- Claim 2, on the example by hand -------------------------------------------------------------


@pytest.mark.parametrize(("second", "sign"), [(1.7, 1), (1.25, 0), (1.0, -1)])
def test_claim_2_has_its_threshold_where_the_example_says(second, sign):
    """Two processors of 2.5 and s_2, the third user only on the second: s_2 = 1.25."""
    inst = fo.read("kesidis2016/single-resource").instance
    inst = inst.replace(capacity=[[2.5], [second]])
    found = margin(inst, 1)
    assert found == pytest.approx(0, abs=1e-12) if sign == 0 else np.sign(found) == sign
    assert margin(inst, 2) == pytest.approx(found), "here one user decides"


def test_claim_2_one_by_one_misses_two_users_on_a_small_server():
    inst = fo.Instance([[1.0]] * 4, [[1.0], [3.0]], [[1, 0], [1, 0], [0, 1], [0, 1]])
    assert margin(inst, 1) == pytest.approx(0) and margin(inst, 3) == pytest.approx(-1)
    check = kesidis2016._sufficient(inst.replace(capacity=[[1.1], [3.0]]), 0)
    assert not check.holds and "condition 0.09" in check.witness


# -- Claim 3 and Corollary 1 ---------------------------------------------------------------------


def test_claim_3_by_hand():
    inst = fo.read("ghodsi2011/example").instance
    part = inst.demand / inst.pool[0]
    assert closed_form(part, np.ones(2)) == pytest.approx([2 / 3, 2 / 3])
    # the heavier user gets twice as much, not half
    assert closed_form(part, np.array([1.0, 2.0])) == pytest.approx([0.4, 0.8])


def test_claim_3_is_the_same_in_both_conventions_for_equal_weights():
    inst = draws.Small(servers=(1, 1), weight_decades=0.0, whole=0.0)(np.random.default_rng(0))
    checks = [kesidis2016_drf.Claim3(reading)(inst, 0) for reading in ("-printed", "")]
    assert checks[0].holds and checks[0].residual == pytest.approx(checks[1].residual, abs=1e-12)


@settings(max_examples=60, deadline=None)
@given(SEEDS)
def test_drawn_demand_is_subadditive_and_inverted(seed):
    rng = np.random.default_rng(seed)
    inst = draws.Small(servers=(1, 1))(rng)
    pool = bent(inst, rng)
    x, y = rng.uniform(0.1, 5, (2, len(inst.users)))
    assert (pool.taken(x + y) <= pool.taken(x) + pool.taken(y) + 1e-12).all()
    assert pool.within(pool.taken(x)) == pytest.approx(x)
    answer = fo.solve(pool, fo.PerServerDRF())
    assert shares(pool, answer.totals) / inst.weight == pytest.approx(answer.steps[0]["levels"][0])
    assert answer.utilisation.max() == pytest.approx(1)


def test_linear_demand_is_claim_3():
    inst = fo.Instance([[1, 4], [3, 1]], [[9, 18]], weight=[1, 2])
    found = shares(inst, fixed_point(inst, inst.weight))
    assert found == pytest.approx(closed_form(inst.demand / inst.pool[0], inst.weight))
    assert found == pytest.approx([0.4, 0.8])


# -- (27), (33) ----------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(SEEDS)
def test_one_dominant_meets_its_hypothesis(seed):
    assert equal_part(OneDominant()(np.random.default_rng(seed)))
    inst = OneDominant(equal=True)(np.random.default_rng(seed))
    assert equal_part(inst) and equal_demand(inst)
    inst = OneDominant(same=True)(np.random.default_rng(seed))
    assert (can_fill(inst).any(axis=0)).sum() == 1
    # what cannot be full is not, whoever has what
    inst = draws.Small(zero_demand=0.2)(np.random.default_rng(seed))
    use = inst.used(draws.greedy(inst, np.random.default_rng(seed))) / inst.pool
    assert (use[~can_fill(inst)] < 1).all()


def test_section_4_has_33_where_users_are_kept_off_pool_1():
    """4.2.1 meets (33), so that its true optimum is max-min; 4.1 does not."""
    assert equal_part(fo.read("kesidis2016/placement").instance)
    assert not equal_part(fo.read("kesidis2016/no-penalty").instance)
    assert not equal_demand(fo.read("kesidis2016/placement").instance)


# -- spoiled answers: every check says no --------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        "claim-1",
        "claim-4-fills",
        "claim-4-max-min",
        "claim-5",
        "corollary-2-fills",
        "corollary-2-max-min",
        "corollary-3",
    ],
)
def test_spoiled_maximisers(monkeypatch, name):
    honest = kesidis2016.certified

    def dishonest(inst, notion):
        found = honest(inst, notion)
        other = draws.scattered(inst, np.random.default_rng(1))
        # less for everybody, and in other proportions
        return found.with_(tasks=0.8 * found.tasks + 0.1 * other, objective=None)

    monkeypatch.setattr(kesidis2016, "certified", dishonest)
    assert chunk(find(f"kesidis2016/{name}"), "", 0, 0, 5)["violated"] == 5


@pytest.mark.parametrize("name", ["claim-2", "claim-2-subsets"])
def test_a_wrong_condition_is_refuted(monkeypatch, name):
    honest = kesidis2016.margin
    monkeypatch.setattr(kesidis2016, "margin", lambda inst, most: honest(inst, most) - 0.3)
    assert chunk(find(f"kesidis2016/{name}"), "", 0, 0, 25)["violated"] > 0


def test_max_min_a_little_off_is_seen(monkeypatch):
    honest = kesidis2016_drf.best
    monkeypatch.setattr(
        kesidis2016_drf,
        "best",
        lambda inst, notion: honest(inst, notion).with_(tasks=0.999 * honest(inst, notion).tasks),
    )
    assert chunk(find("kesidis2016/claim-3"), "", 0, 0, 4)["violated"] == 4
    monkeypatch.setattr(
        kesidis2016_drf,
        "solve",
        lambda inst, notion: fo.solve(inst, notion).with_(
            tasks=0.999 * fo.solve(inst, notion).tasks
        ),
    )
    assert chunk(find("kesidis2016/corollary-1"), "", 0, 0, 4)["violated"] == 4


def test_the_witness_of_claim_3_names_weights_and_shares():
    one = trial(find("kesidis2016/claim-3-printed"), "", 0, 0)
    assert one.check is not None and "weights (" in one.check.witness


def test_claim_2_threshold_and_the_condition_over_subsets():
    def in_units(pools, placement, most):
        inst = fo.Instance(np.ones((3, 1)), np.array(pools)[:, None], np.array(placement) > 0)
        return margin(inst, most) * sum(pools) / 3

    small = [[1, 1], [1, 1], [0, 1]]
    for capacity, expected in ((1.7, 0.45), (1.25, 0.0), (1.0, -0.25)):
        assert in_units([2.5, capacity], small, 1) == pytest.approx(expected, abs=1e-12)
    # two users share the small pool: each alone passes, the pair does not
    shared = [[1, 0], [1, 0], [0, 1]]
    assert in_units([1.2, 1.0], shared, 1) > 0
    assert in_units([1.2, 1.0], shared, 2) < 0
