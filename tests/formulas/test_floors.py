"""Guarantees as floors in shares."""

from __future__ import annotations

import numpy as np
import pytest

import fairopt as fo
from fairopt.formulas.entitled import entitled

TASKS = {"name": "max-min", "parameters": {"criterion": "tasks"}}
FAIR = {"name": "alpha-fair", "parameters": {"alpha": 1.0}}


def floors(kind=TASKS, demand=((1, 1), (1, 2), (1, 0)), capacity=((20, 20),), **quotas):
    inst = fo.Instance(
        np.array(demand, float),
        np.array(capacity, float),
        users=["A", "B", "C"],
        resources=["cpu", "gpu"],
        limit=quotas.pop("limit", None),
        servers=[f"s{k}" for k in range(len(capacity))],
        quotas=fo.Quotas(**quotas),
    )
    return entitled(inst, np.ones(inst.shape[:2]), kind).floor.tolist()


ORG = {"groups": [fo.Group("org")], "group": {"A": "org", "B": "org"}}
SIX = [fo.Guarantee("org", "gpu", 6)]


def test_a_user_s_bundle_is_what_it_could_do_with_it_alone():
    both = [fo.Guarantee("B", "cpu", 5), fo.Guarantee("B", "gpu", 6)]
    assert floors(guarantees=both) == [0, 3, 0]
    assert floors(guarantees=both, limit=[9, 2, 9]) == [0, 2, 0]


def test_who_needs_none_of_it_has_no_floor_and_other_resources_do_not_hold_back():
    assert floors(guarantees=[fo.Guarantee("C", "gpu", 6)]) == [0, 0, 0]
    assert floors(guarantees=[fo.Guarantee("A", "gpu", 6)]) == [6, 0, 0]


def test_a_group_s_bundle_is_divided_by_the_notion():
    assert floors(**ORG, guarantees=SIX) == [2, 2, 0]
    assert floors(FAIR, **ORG, guarantees=SIX) == pytest.approx([3, 1.5, 0], rel=1e-12)
    two = {"name": "alpha-fair", "parameters": {"alpha": 2.0}}
    # s_B = s_A / sqrt 2, s_A + 2 s_B = 6
    one = 6 / (1 + np.sqrt(2))
    assert floors(two, **ORG, guarantees=SIX) == pytest.approx([one, one / np.sqrt(2), 0])


def test_floors_inside_are_kept_and_the_larger_counts():
    own = fo.Guarantee("A", "gpu", 3)
    assert floors(**ORG, guarantees=[*SIX, own]) == [3, 1.5, 0]
    # what does not fit into the group's bundle stays, and the group gives nothing more
    assert floors(**ORG, guarantees=[*SIX, fo.Guarantee("A", "gpu", 7)]) == [7, 0, 0]
    assert floors(**ORG, guarantees=SIX, guarantee_tasks={"A": 1, "C": 4}) == [2, 2, 4]


def test_flavors_add_up_and_a_bundle_on_all_servers_is_another_promise():
    flavors = {"old": ["s0"], "new": ["s1"]}
    cards = [fo.Guarantee("A", "gpu", 2, "old"), fo.Guarantee("A", "gpu", 3, "new")]
    pools = ((20, 20), (20, 20))
    assert floors(capacity=pools, flavors=flavors, guarantees=cards) == [5, 0, 0]
    more = [*cards, fo.Guarantee("A", "gpu", 6)]
    assert floors(capacity=pools, flavors=flavors, guarantees=more) == [6, 0, 0]


def test_two_resources_of_a_bundle_clear_at_once():
    found = floors(
        FAIR,
        ((1, 2), (2, 1), (1, 1)),
        **ORG,
        guarantees=[fo.Guarantee("org", "cpu", 9), fo.Guarantee("org", "gpu", 9)],
    )
    assert found == pytest.approx([3, 3, 0], rel=1e-9)


def test_proportion_takes_guarantees_as_weights():
    given = [fo.Guarantee("A", "gpu", 6), fo.Guarantee("B", "gpu", 4)]
    inst = fo.Instance(
        [[1, 1], [1, 2], [1, 0]],
        [[20, 20]],
        users=["A", "B", "C"],
        resources=["cpu", "gpu"],
        quotas=fo.Quotas(guarantees=given),
    )
    kind = {"name": "max-min", "parameters": {"criterion": "tasks", "over": "proportion"}}
    asked = entitled(inst, np.ones((3, 1)), kind)
    assert asked.weight.tolist() == [6, 2, 1] and asked.rank.tolist() == [0, 0, 1]
    assert not asked.floor.any()
    with pytest.raises(fo.UsageError, match="nobody has a guarantee"):
        entitled(inst.replace(quotas=None), np.ones((3, 1)), kind)
