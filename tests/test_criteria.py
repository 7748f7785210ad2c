"""Criterion scores against their formulas, worked by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import fairopt as fo
from fairopt import criteria
from fairopt.errors import BadInput, UsageError
from tests.quota_cases import cards


def cluster(count=(1, 1)):
    """khamse2016 Figure 1 with rounder numbers: the second server has no r3."""
    return fo.Instance(
        [[1, 2, 10], [1, 2, 0]], [[9, 12, 100], [12, 12, 0]], count=count, users=["a", "b"]
    )


BY_HAND = {
    "tasks": [[1, 0], [1, 1]],
    # the whole pool: 21, 24, 100
    "drf": [[10 / 100, 0], [2 / 24, 2 / 24]],
    "drf-use": [[10 / 100, 0], [2 / 24, 2 / 24]],
    "dominant-share": [[2 / 12, 0], [2 / 12, 2 / 12]],
    # h = (6, 12)
    "tsf": [[1 / 6, 0], [1 / 12, 1 / 12]],
    "cdrf": [[1 / 6, 0], [1 / 12, 1 / 12]],
    "ps-dsf-sum": [[2 / 12, 0], [4 / 12, 4 / 12]],
}


def test_every_criterion_is_worked_by_hand():
    assert set(BY_HAND) == set(criteria.CRITERIA)


@pytest.mark.parametrize("name", BY_HAND)
def test_formulas(name):
    assert criteria.score(cluster(), name) == pytest.approx(np.array(BY_HAND[name], float))


def test_placement_counts_for_cdrf_and_not_for_tsf():
    inst = cluster().replace(placement=[[1, 1], [0, 1]])
    assert criteria.score(inst, "tsf")[1].tolist() == [0, 1 / 12]
    assert criteria.score(inst, "cdrf")[1].tolist() == [0, 1 / 6]
    assert criteria.score(inst, "ps-dsf-sum")[1] == pytest.approx([0, 2 / 12])


def drawn(seed, **more):
    """Four users on three servers, everybody everywhere."""
    rng = np.random.default_rng(seed)
    return fo.Instance(rng.uniform(0.1, 3, (4, 2)), rng.uniform(1, 9, (3, 2)), **more)


@pytest.mark.parametrize("name", criteria.TABLE)
def test_what_the_row_says_of_servers_is_true(name):
    """Whether a user's score differs between servers, where demand does not, and where it does."""
    same = drawn(0)
    by_server = same.replace(demand=np.random.default_rng(1).uniform(0.1, 3, same.shape))
    differs = [np.ptp(criteria.TABLE[name].function(i), axis=1).any() for i in (same, by_server)]
    told = {
        (False, False): criteria.NEVER,
        (False, True): criteria.WITH_DEMAND,
        (True, True): criteria.ALWAYS,
    }
    assert criteria.TABLE[name].by_server == told[tuple(map(bool, differs))]


@pytest.mark.parametrize("name", criteria.TABLE)
def test_what_the_row_says_of_modes_is_true(name):
    """The demand as a mode, beside one that takes twice: who knows modes goes by the less."""
    row, inst = criteria.TABLE[name], drawn(2)
    modes = {
        user: [fo.Mode("worse", 2 * demand), fo.Mode("better", demand)]
        for user, demand in zip(inst.users, inst.demand, strict=True)
    }
    by_mode = inst.replace(demand=np.zeros_like(inst.demand), modes=modes)
    try:
        knows = np.allclose(row.function(by_mode), row.function(inst), rtol=1e-12, atol=0)
    except UsageError:
        knows = False
    assert row.modes == knows


@pytest.mark.parametrize("name", criteria.TABLE)
def test_what_the_row_says_of_linear_demand_is_true(name):
    """Demand must be linear where a score depends on it."""
    row, inst = criteria.TABLE[name], drawn(3)
    other = inst.replace(demand=inst.demand * [[1, 3]])
    assert row.linear == (not np.array_equal(row.function(inst), row.function(other)))


def test_the_pages_name_every_criterion():
    root = Path(__file__).parents[1]
    docs, readme = root / "docs", (root / "README.md").read_text(encoding="utf-8")
    notation = (docs / "maths" / "notation.md").read_text(encoding="utf-8")
    reference = (docs / "reference" / "api.md").read_text(encoding="utf-8")
    for name, row in criteria.TABLE.items():
        assert f"\n| `{name}` | " in notation, "docs/maths/notation.md"
        assert f"`{name}`" in readme, "README.md"
        assert f"\n   criteria.{row.function.__name__}\n" in reference, "docs/reference/api.md"


@pytest.mark.parametrize("name", criteria.CRITERIA)
def test_a_row_of_count_k_is_k_rows(name):
    row = cluster(count=(3, 2))
    written = fo.Instance(row.demand, row.capacity[[0, 0, 0, 1, 1]], users=["a", "b"])
    assert criteria.score(row, name)[:, [0, 0, 0, 1, 1]] == pytest.approx(
        criteria.score(written, name), rel=1e-15
    )


def test_demand_by_server():
    demand = np.array([[[1, 2], [4, 1]]])
    inst = fo.Instance(demand, [[10, 10], [10, 10]])
    assert criteria.score(inst, "dominant-share").tolist() == [[0.2, 0.4]]
    assert criteria.score(inst, "drf").tolist() == [[0.1, 0.1]]
    assert criteria.score(inst, "drf-use").tolist() == [[0.1, 0.2]]


def test_the_best_way_counts_only_where_the_user_may_run():
    demand = np.array([[[1, 2], [4, 1], [1, 1]]])
    inst = fo.Instance(demand, [[10, 10], [10, 10], [5, 0]], [[0, 1, 1]])
    assert criteria.score(inst, "drf").tolist() == [[0, 4 / 25, 0]]


def test_demand_that_is_the_same_on_every_server_changes_nothing_to_the_last_bit():
    rng = np.random.default_rng(0)
    for _ in range(20):
        demand, capacity = rng.uniform(0.1, 3, (4, 3)), rng.uniform(1, 9, (5, 3))
        placement = rng.random((4, 5)) < 0.7
        placement[:, 0] = True
        inst = fo.Instance(demand, capacity, placement)
        written = inst.replace(demand=inst.demand_by_server)
        for name in ("drf", "drf-use"):
            own = criteria.score(inst, name)
            assert np.array_equal(own, criteria.score(written, name))
        assert np.array_equal(own, criteria.score(inst, "drf"))


def test_waste_never_pays():
    """Two kinds of card: a task of a takes one A100 or 5/2 T4, of b one of either."""
    inst = fo.Instance(
        [[[1, 0], [0, 2.5]], [[1, 0], [0, 1]]], [[10, 0], [0, 10]], resources=["a100", "t4"]
    )
    for make in (fo.MaxMin, fo.ProportionalFair):
        fair = fo.solve(inst, make("drf"))
        assert fair.totals == pytest.approx([10, 10], abs=1e-6) and fair.certificate.certified
        waste = fo.solve(inst, make("drf-use"))
        # as much by use as b, whose tasks are all there is room for; which of a's is open
        assert waste.shares == pytest.approx([1, 1], abs=1e-6)
        assert waste.totals[0] < 7.01


def test_modes_by_hand():
    inst = cards()
    # A100 alone: 1/8 of the CPU, 1/4 of the A100s; T4: (1/4)/0.4 a unit of output
    assert criteria.score(inst, "drf").tolist() == [[0.25], [0.25]]
    slow = cards(b=[fo.Mode("T4", [1, 0, 1], 0.8)])
    assert criteria.score(slow, "drf")[1].tolist() == [0.25 / 0.8]
    np.testing.assert_allclose(criteria.score(inst, "cdrf"), [[1 / 5.6], [1 / 5.2]], rtol=1e-15)
    assert criteria.score(inst, "tasks").tolist() == [[1], [1]]
    for name in criteria.ONE_WAY:
        with pytest.raises(UsageError, match=f"criterion {name}: found modes of a, b"):
            criteria.score(inst, name)


def test_tsf_with_modes_leaves_placement_out_but_not_the_servers_of_modes():
    inst = fo.Instance(
        [[0]],
        [[4], [2]],
        [[1, 0]],
        modes={"u1": [fo.Mode("fast", [1], 3, ["s1"]), fo.Mode("slow", [1], 1)]},
    )
    assert criteria.score(inst, "tsf").tolist() == [[1 / 14, 0]]
    assert criteria.score(inst, "cdrf").tolist() == [[1 / 12, 0]]


def test_a_callable_is_a_criterion():
    def twice(instance):
        return 2 * np.ones(instance.shape[:2])

    assert criteria.score(cluster(), twice).tolist() == [[2, 0], [2, 2]]
    alloc = fo.solve(cluster(), fo.ProportionalFair(twice))
    assert alloc.certificate.certified and alloc.notion["parameters"]["criterion"] == "twice"
    assert alloc.shares == pytest.approx(2 * alloc.totals)


def test_names():
    assert criteria.name_of("drf") == "drf"
    assert criteria.name_of(criteria.dominant_share) == "dominant-share"
    assert criteria.name_of(criteria.CRITERIA["ps-dsf-sum"]) == "ps-dsf-sum"

    class Own:
        def __call__(self, instance):
            return np.ones(instance.shape[:2])

    assert criteria.name_of(Own()) == "Own"


def test_an_unknown_name_lists_the_known():
    with pytest.raises(UsageError, match="found 'cpu'; wanted one of tasks, drf, drf-use"):
        criteria.score(cluster(), "cpu")


@pytest.mark.parametrize(
    ("scores", "found"),
    [
        (np.ones(2), "scores of shape (2,)"),
        (np.ones((2, 3)), "scores of shape (2, 3)"),
        ([[0, 0], [1, 1]], "user a on server s1: found 0; wanted a finite score > 0"),
        ([[1, 0], [1, -2]], "user b on server s2: found -2"),
        ([[1, 0], [np.nan, 1]], "user b on server s1: found nan"),
        ([[np.inf, 0], [1, 1]], "user a on server s1: found inf"),
        (object(), "found an object of type object; wanted an array of scores"),
    ],
)
def test_bad_callables_are_refused(scores, found):
    with pytest.raises(BadInput) as error:
        criteria.score(cluster(), lambda _: scores)
    assert found in str(error.value)


def test_scores_where_nobody_is_eligible_do_not_matter():
    assert criteria.score(cluster(), lambda _: [[1, -7], [1, 1]])[0].tolist() == [1, 0]


def test_tsf_counts_a_server_without_a_stated_demand_as_zero() -> None:
    """A user that names its demand on two kinds of GPU says nothing of the third machine."""
    demand = [[[2.0, 1.0, 0.0], [4.0, 0.0, 1.0], [0.0, 0.0, 0.0]]]
    capacity = [[8.0, 4.0, 0.0], [8.0, 0.0, 1.0], [8.0, 0.0, 0.0]]
    inst = fo.Instance(demand, capacity, [[True, False, False]])
    np.testing.assert_array_equal(criteria.score(inst, "tsf"), [[1 / 5, 0.0, 0.0]])
