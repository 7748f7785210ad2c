"""Tolerations, nodeSelector and node affinity, as the scheduler of Kubernetes reads them."""

from __future__ import annotations

import pytest

from fairopt.connect.cluster.eligible import Requirement, Rules, Taint, Toleration

GPU = Taint("dedicated", "gpu", "NoSchedule")
LABELS = {"zone": "a", "disk": "ssd", "size": "10", "odd": "x"}


@pytest.mark.parametrize(
    ("toleration", "tolerated"),
    [
        (("dedicated", "Equal", "gpu", "NoSchedule"), True),
        (("dedicated", "Equal", "cpu", "NoSchedule"), False),
        (("dedicated", "Equal", "gpu", "NoExecute"), False),
        (("dedicated", "Equal", "gpu", ""), True),
        (("dedicated", "Exists", "", ""), True),
        (("", "Exists", "", ""), True),
        (("", "Exists", "", "NoExecute"), False),
        (("other", "Exists", "", ""), False),
    ],
)
def test_tolerations(toleration, tolerated):
    assert Toleration(*toleration).tolerates(GPU) is tolerated
    rules = Rules(tolerations=(Toleration(*toleration),))
    assert (rules.refused("n", {}, [GPU]) is None) is tolerated


def test_tolerations_compare_numbers():
    taint = Taint("risk", "15", "NoSchedule")
    assert Toleration("risk", "Lt", "20", "").tolerates(taint)
    assert not Toleration("risk", "Gt", "20", "").tolerates(taint)
    assert not Toleration("risk", "Lt", "many", "").tolerates(taint)


def test_preferences_bind_nobody():
    assert Rules().refused("n", {}, [Taint("a", "", "PreferNoSchedule")]) is None
    assert Rules().refused("n", {}, [Taint("a", "", "NoExecute")]) == "taint a:NoExecute"


@pytest.mark.parametrize(
    ("key", "operator", "values", "holds"),
    [
        ("zone", "In", ("a", "b"), True),
        ("zone", "In", ("b",), False),
        ("no", "In", ("a",), False),
        ("zone", "NotIn", ("b",), True),
        ("zone", "NotIn", ("a",), False),
        ("no", "NotIn", ("a",), True),
        ("zone", "Exists", (), True),
        ("no", "Exists", (), False),
        ("zone", "DoesNotExist", (), False),
        ("no", "DoesNotExist", (), True),
        ("size", "Gt", ("9",), True),
        ("size", "Gt", ("10",), False),
        ("size", "Lt", ("11",), True),
        ("odd", "Gt", ("1",), False),
        ("no", "Lt", ("1",), False),
        ("size", "Gt", ("9" * 30,), False),
    ],
)
def test_operators(key, operator, values, holds):
    assert Requirement(key, operator, values).holds("n", LABELS) is holds


def test_terms_are_ored_and_expressions_anded():
    a, b = Requirement("zone", "In", ("a",)), Requirement("disk", "In", ("hdd",))
    assert Rules(terms=((a, b),)).refused("n", LABELS, []) is not None
    assert Rules(terms=((a,), (b,))).refused("n", LABELS, []) is None
    assert Rules(terms=()).refused("n", LABELS, []) is not None
    # an empty term selects nothing, not everything
    assert Rules(terms=((),)).refused("n", LABELS, []) is not None
    assert Rules(terms=((), (a,))).refused("n", LABELS, []) is None


def test_names_and_selectors():
    here = Requirement("metadata.name", "In", ("n1",), field=True)
    rules = Rules((("disk", "ssd"),), ((here,),))
    assert rules.refused("n1", LABELS, []) is None
    assert rules.refused("n2", LABELS, []) == "node affinity metadata.name In (n1)"
    assert rules.refused("n1", {}, []) == "nodeSelector disk=ssd"
    assert list(rules.names) == ["n1"]
