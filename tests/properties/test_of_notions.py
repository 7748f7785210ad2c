"""Properties of notions: known lies are found, none is invented, and each statement is its own."""

from __future__ import annotations

import numpy as np
import pytest

import fairopt as fo
from fairopt import properties
from fairopt.properties import NOTION_PROPERTIES
from fairopt.properties.lies import ShareLie, truly_runs
from fairopt.properties.searching import PointSearch

POOL = fo.Instance([[0.5, 1], [1, 0.5]], [[1, 1]], users=["a", "b"])
FIGURE_1 = fo.read("khamse2016/figure-1").instance


def test_the_lie_of_bonald2015_is_found():
    """Section 2.4 and Proposition 2: 2/3 becomes 3/4 with the best lie, ratio 2/3."""
    check = properties.strategy_proof(POOL, fo.ProportionalFair(), trials=150, seed=3)
    assert not check.holds and check.tried == 150 and check.unproved == 0
    assert check.found["gain"] == pytest.approx(0.125, abs=3e-3)
    small, large = sorted(check.found["demand"].values())
    assert small / large == pytest.approx(2 / 3, abs=0.05)
    assert check.residual == pytest.approx(1 - (2 / 3) / check.found["after"])
    assert "instead of 0.666667" in check.witness and "by claiming" in check.witness
    # the numbers replay: the liar is given what `tasks` says, and runs `after`
    n = POOL.users.index(check.found["user"])
    lie = ShareLie(
        n, np.array([check.found["demand"][r] for r in POOL.resources]), POOL.placement[n]
    )
    answer = fo.solve(lie.told(POOL), fo.ProportionalFair())
    assert truly_runs(POOL, lie, answer.tasks) == pytest.approx(check.found["after"], rel=1e-9)


def test_drf_on_a_pool_is_strategy_proof():
    check = properties.strategy_proof(POOL, fo.MaxMin("drf"), trials=60)
    assert check.holds and check.witness == "no lie of 60 gains"
    assert check.residual < 1e-6


def test_same_seed_same_search():
    runs = [
        properties.strategy_proof(FIGURE_1, fo.PerServerDominantShare(), 40, seed)
        for seed in (1, 1, 2)
    ]
    assert runs[0] == runs[1] and runs[0].found != runs[2].found


def test_what_a_liar_truly_runs():
    """(46): the scarcest of what it needs, only where it may run, at most its limit."""
    inst = fo.Instance(
        [[1, 2], [1, 1]],
        [[9, 9], [9, 9], [9, 0]],
        placement=[[1, 0, 1], [1, 1, 1]],
        limit=[5, np.inf],
    )
    claims = ShareLie(0, np.array([2.0, 3.0]), np.array([True, True, False]))
    tasks = np.array([[2.0, 7.0, 4.0], [0, 0, 0]])
    assert truly_runs(inst, claims, tasks) == pytest.approx(2 * min(2 / 1, 3 / 2))
    assert truly_runs(inst, claims, 2 * tasks) == 5.0
    # of a resource that it hides it is given nothing
    assert truly_runs(inst, ShareLie(0, np.array([2.0, 0.0]), claims.placement), tasks) == 0.0
    told = claims.told(inst)
    assert told.demand[0].tolist() == [2, 3] and told.eligible[0].tolist() == [True, True, False]
    assert told.users == inst.users and (told.demand[1] == inst.demand[1]).all()


def test_hiding_a_server_pays_under_rdm_and_not_under_tdm():
    """khamse2016 Table I: PS-DSF is strategy-proof with time division only."""
    inst = fo.Instance(
        [[2, 2], [2, 0], [0, 5]], [[9, 9], [9, 6], [11, 4]], [[1, 1, 1], [1, 1, 0], [1, 0, 1]]
    )
    lie = ShareLie(0, inst.demand[0], np.array([False, True, True]))
    for division, gain in (("rdm", 0.6142857), ("tdm", None)):
        notion = fo.PerServerDominantShare(division)
        before = fo.solve(inst, notion).totals[0]
        after = truly_runs(inst, lie, fo.solve(lie.told(inst), notion).tasks)
        if gain is None:
            assert after <= before * (1 + 1e-9)
        else:
            assert after - before == pytest.approx(gain)
            assert not properties.strategy_proof(inst, notion, trials=60).holds


def test_all_lies_about_servers_are_tried():
    from fairopt.properties.lies import _other_servers

    inst = fo.Instance([[1], [1]], [[6], [6], [6]], [[1, 1, 0], [1, 1, 1]])
    # both dropped one at a time, each alone, the third claimed, all claimed
    assert set(_other_servers(inst, 0)) == {
        (False, True, False),
        (True, False, False),
        (True, True, True),
    }


def test_demand_by_server_can_be_lied_about():
    inst = POOL.replace(demand=np.repeat(POOL.demand[:, None, :], 1, axis=1))
    check = properties.strategy_proof(inst, fo.ProportionalFair(), trials=30)
    assert not check.holds and set(check.found["demand"]) == {"s1"}
    assert "on s1 (truth" not in check.witness  # one server: no need to name it


def test_scale():
    assert properties.scale_invariant(POOL, fo.ProportionalFair(), trials=15).holds
    assert properties.scale_invariant(FIGURE_1, fo.MaxMin("drf"), trials=15).holds
    limited = POOL.replace(limit=[0.3, np.inf])
    assert properties.scale_invariant(limited, fo.ProportionalFair(), trials=15).holds
    counts = properties.scale_invariant(POOL, fo.MaxMin("tasks"), trials=15)
    assert not counts.holds and counts.tried == 15
    assert counts.found["factor"] != 1 and "times as large" in counts.witness
    replay = fo.solve(
        POOL.replace(
            demand=POOL.demand
            * np.where(np.array(POOL.users) == counts.found["user"], counts.found["factor"], 1.0)[
                :, None
            ]
        ),
        fo.MaxMin("tasks"),
    )
    loser = POOL.users.index(counts.found["loser"])
    assert replay.totals[loser] == pytest.approx(counts.found["got"])


def test_more_resources():
    """DRF: with more r1 the other user's dominant share goes down (Ghodsi et al., section 6)."""
    check = properties.resource_monotone(POOL, fo.MaxMin("drf"), trials=30)
    assert not check.holds and check.found["after"] < check.found["before"]
    capacity = POOL.capacity.copy()
    for server, row in check.found["capacity"].items():
        for resource, amount in row.items():
            place = POOL.servers.index(server), POOL.resources.index(resource)
            assert amount > capacity[place]
            capacity[place] = amount
    replay = fo.solve(POOL.replace(capacity=capacity), fo.MaxMin("drf"))
    loser = POOL.users.index(check.found["loser"])
    assert replay.totals[loser] == pytest.approx(check.found["after"])
    one = fo.Instance([[1], [1]], [[4]])
    assert properties.resource_monotone(one, fo.MaxMin("drf"), trials=30).holds


def test_others_leave():
    assert properties.population_monotone(FIGURE_1, fo.MaxMin("drf")).tried == 6
    # a leaves, b takes what both shared of r1 and c, who shares r2 with b alone, loses
    chain = fo.Instance([[1, 0], [1, 1], [0, 1]], [[1, 1]], users=list("abc"))
    check = properties.population_monotone(chain, fo.Throughput())
    assert check.tried == 6
    drf = properties.population_monotone(chain, fo.PerServerDRF())
    assert drf.tried == 6 and drf.witness.endswith("makes anybody lose") == drf.holds


def test_a_loss_is_found_when_there_is_one():
    """b and c share r2; while a competes for r1 with b, c has more."""
    inst = fo.Instance([[1, 0], [0.4, 1], [0, 1]], [[1, 1]], weight=[4, 1, 1], users=list("abc"))
    check = properties.population_monotone(inst, fo.ProportionalFair())
    assert not check.holds
    assert check.found["left"] == ["a"] and check.found["loser"] == "c"
    alone = fo.solve(inst.select([1, 2], [0]), fo.ProportionalFair())
    assert alone.totals[1] == pytest.approx(check.found["after"])
    assert f"without a c runs {check.found['after']:.6g}" in check.witness


def test_notions_without_one_answer_say_so():
    check = properties.scale_invariant(POOL, fo.Throughput(), trials=10)
    assert not check.holds and "may have other answers" in check.witness


@pytest.mark.parametrize("name", NOTION_PROPERTIES.values())
def test_refuses(name):
    search = getattr(properties, name)
    with pytest.raises(fo.UsageError, match="trials: found 0"):
        search(POOL, fo.ProportionalFair(), trials=0)
    with pytest.raises(fo.UsageError, match="2 servers"):
        search(FIGURE_1, fo.BottleneckMaxFair(), trials=5)


def test_unproved_answers_claim_nothing(monkeypatch):
    """However large the gain looks, an answer that is not certified is passed over."""
    from fairopt import solving
    from fairopt.allocation.check import UNPROVED, Certificate

    honest = solving.certify

    def doubtful(alloc: fo.Allocation, *_: object) -> Certificate:
        if alloc.instance == POOL:
            return honest(alloc)
        return Certificate(UNPROVED, 1.0, 1.0)

    monkeypatch.setattr(solving, "certify", doubtful)
    check = properties.strategy_proof(POOL, fo.ProportionalFair(), trials=20)
    # lies that leave the instance as it is are still judged
    assert check.holds and check.unproved >= 15 and check.residual == 0.0


def test_the_optimiser_climbs():
    """A narrow peak that structured and random starts miss."""
    peak = np.array([0.7, -1.3])
    search = PointSearch(lambda what, z: 1 - float(((z - peak) ** 2).sum()), trials=300, seed=0)
    value, point = search.run([("x", np.zeros(2))], lambda rng: ("x", rng.normal(size=2)))
    assert search.tried == 300 and value == pytest.approx(1, abs=1e-3)
    np.testing.assert_allclose(point[1], peak, atol=0.05)


def test_structured_starts_are_thinned_evenly():
    seen = []
    search = PointSearch(lambda what, _: seen.append(what) or 0.0, trials=5, seed=0)
    search.run([(k, np.empty(0)) for k in range(101)], None)
    assert seen == [0, 25, 50, 75, 100]
