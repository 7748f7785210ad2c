"""Notions of servers and bottlenecks beside ceilings and rules that are limits in other words."""

from __future__ import annotations

import numpy as np
import pytest

import fairopt as fo
from fairopt.errors import UsageError

SIZE = {"users": ["A", "B"], "servers": ["x", "y"], "resources": ["cpu", "gpu"]}
NOTIONS = (
    fo.Tradeoff(1.0),
    fo.Tradeoff(0.5, 0.5),
    fo.PerServerDRF(),
    fo.HandOutDRF(),
    fo.EqualTasks(),
    fo.CommonTasks(),
    fo.PerServerDominantShare(),
)


def cluster(**more) -> fo.Instance:
    """A takes 2 CPU a task, B 1 of each."""
    return fo.Instance([[2, 0], [1, 1]], [[12, 6], [12, 9]], **SIZE, **more)


SAME_AS_LIMITS = {
    "a ceiling": cluster(quotas=fo.Quotas(bounds=[fo.Bound("A", "cpu", 5)])),
    "the tighter of two": cluster(
        limit=[4, np.inf],
        quotas=fo.Quotas(bounds=[fo.Bound("A", "cpu", 5), fo.Bound("B", "gpu", 99)]),
    ),
    "a rule": cluster(rules=[fo.Rule("few", most=7.5, terms=[fo.Term("A", times=3)])]),
    "a ceiling on a flavor of all servers": cluster(
        quotas=fo.Quotas(bounds=[fo.Bound("A", "cpu", 5, "all")], flavors={"all": ["x", "y"]})
    ),
}
"""all say that A runs at most 5/2 tasks"""


@pytest.mark.parametrize("notion", NOTIONS, ids=lambda n: n.name)
@pytest.mark.parametrize("case", list(SAME_AS_LIMITS))
def test_the_answer_is_that_of_the_limit(case, notion):
    plain = fo.solve(cluster(limit=[2.5, np.inf]), notion)
    found = fo.solve(SAME_AS_LIMITS[case], notion)
    assert found.instance == SAME_AS_LIMITS[case]
    assert found.tasks == pytest.approx(plain.tasks, abs=1e-9)
    assert found.certificate.certified and fo.certify(found.with_(certificate=None)).certified


def test_the_limits_price_is_that_of_the_ceiling():
    """A task of A counts 2 of the ceiling, so that a unit of it is worth half of what one is."""
    plain = fo.solve(cluster(limit=[2.5, np.inf]), fo.Tradeoff(1.0))
    found = fo.solve(SAME_AS_LIMITS["a ceiling"], fo.Tradeoff(1.0))
    assert found.limit_prices.tolist() == [0, 0]
    assert found.bound_prices == pytest.approx(plain.limit_prices[:1] / 2)
    rule = fo.solve(SAME_AS_LIMITS["a rule"], fo.Tradeoff(1.0))
    assert rule.rule_prices == pytest.approx(plain.limit_prices[:1] / 3)


def test_a_spoilt_answer_is_not_certified_beside_a_ceiling():
    found = fo.solve(SAME_AS_LIMITS["a ceiling"], fo.PerServerDRF())
    for factor in (0.99, 1.01):
        tasks = np.array(found.tasks)
        tasks[0] *= factor
        spoilt = found.with_(tasks=tasks, certificate=None)
        assert fo.certify(spoilt).verdict == "refuted"


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (
            {"quotas": fo.Quotas(bounds=[fo.Bound("A", "cpu", 5, "one")], flavors={"one": ["x"]})},
            "the ceiling of A on cpu is not",
        ),
        ({"limit_on": {"A": {"x": 1}}}, "that of A on x is not"),
        ({"rules": [fo.Rule("both", most=4, terms=[fo.Term()])]}, "rule both is not"),
        ({"rules": [fo.Rule("some", least=1, terms=[fo.Term("A")])]}, "rule some is not"),
        ({"quotas": fo.Quotas([fo.Group("g")], {"A": "g"})}, "found groups"),
        ({"quotas": fo.Quotas(guarantees=[fo.Guarantee("A", "cpu", 3)])}, "found guarantees"),
        ({"quotas": fo.Quotas(priority={"A": 1})}, "found priorities"),
        ({"start": [1, 0]}, "start"),
    ],
)
def test_what_is_no_limit_of_one_user_is_named(more, words):
    inst = cluster(**more)
    with pytest.raises(UsageError, match=words):
        fo.solve(inst, fo.PerServerDRF())
    alloc = fo.Allocation(inst, fo.PerServerDRF(), [[1, 1], [1, 1]])
    with pytest.raises(UsageError, match=words):
        fo.certify(alloc)


def test_a_row_that_never_binds_is_left_out():
    bounds = [fo.Bound("A", "cpu", 24, "one")]
    wide = cluster(quotas=fo.Quotas(bounds=bounds, flavors={"one": ["x"]}))
    plain = fo.solve(cluster(), fo.PerServerDRF())
    assert fo.solve(wide, fo.PerServerDRF()).tasks.tolist() == plain.tasks.tolist()


def test_conditions_of_optimality_read_a_ceiling_as_the_limit_it_is():
    plain = fo.solve(cluster(limit=[2.5, np.inf]), fo.ProportionalFair())
    found = fo.solve(SAME_AS_LIMITS["a ceiling"], fo.ProportionalFair())
    assert found.certificate.certified and found.bound_prices[0] > 0
    for what, column in (("pairs", "cost"), ("pairs", "gain"), ("rows", "price")):
        left, right = (each.kkt(what)[column].to_numpy() for each in (found, plain))
        assert left == pytest.approx(right, abs=1e-6)


@pytest.mark.parametrize("notion", NOTIONS, ids=lambda n: n.name)
def test_an_answer_beside_a_ceiling_comes_back_from_its_file(notion, tmp_path):
    found = fo.solve(SAME_AS_LIMITS["a ceiling"], notion)
    found.save(tmp_path / "answer.json")
    back = fo.load(tmp_path / "answer.json")
    assert back == found and fo.certify(back).certified
