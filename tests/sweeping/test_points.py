"""Keys of points: equal exactly when instance, notion, settings and versions are."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fairopt as fo
from fairopt.sweeping import points
from tests.sweep_cases import alphas, own_scores, three_users


@pytest.fixture(scope="module")
def inst() -> fo.Instance:
    return three_users()


KEYED = st.sampled_from(
    [
        *alphas(0.0, 1.0, 1.5),
        fo.AlphaFair(1.5, "dominant-share", True),
        fo.ProportionalFair(),
        fo.Throughput(),
        fo.MaxMin("tsf"),
        fo.PerServerDominantShare("tdm"),
        fo.PerServerDominantShare("rdm", order=("s1", "s2")),
    ]
)


@given(KEYED, KEYED)
@settings(max_examples=60)
def test_keys_are_equal_exactly_when_notions_are(a: fo.AlphaFair, b: fo.AlphaFair) -> None:
    inst = three_users()
    one, two = points.points_of(inst, [a, b], None, {"solver": "auto"})
    assert (one.key == two.key) == (a == b)
    assert points.rebuilt(one.plain) == a


def test_keys_hold_instance_settings_and_versions(
    inst: fo.Instance, monkeypatch: pytest.MonkeyPatch
) -> None:
    def key(instance: fo.Instance, **given: Any) -> str | None:
        return points.points_of(instance, alphas(1), None, given)[0].key

    keys = {
        key(inst, solver="auto"),
        key(inst, solver="scs"),
        key(inst.replace(weight=[1.0, 1.0, 2.0]), solver="auto"),
    }
    assert len(keys) == 3
    for name in ("fairopt", "numpy", "cvxpy", "clarabel"):
        other = {**points.versions(), name: "9.9"}
        monkeypatch.setattr(points, "versions", lambda other=other: other)
        keys.add(key(inst, solver="auto"))
        monkeypatch.undo()
    assert len(keys) == 7


def test_what_is_no_notion_of_ours_has_no_key(inst: fo.Instance) -> None:
    class Mine(fo.AlphaFair):
        """Named alike, and not alike."""

    asked = points.points_of(inst, [Mine(1), fo.AlphaFair(1, own_scores)], None, {})
    assert [point.key for point in asked] == [None, None]
    assert [point.order for point in asked] == [Mine(1), fo.AlphaFair(1, own_scores)]
    named = replace(fo.AlphaFair(1), criterion=fo.criteria.tsf)
    assert points.points_of(inst, [named], None, {})[0].key is not None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert fo.sweep(inst, [fo.AlphaFair(1, own_scores)]).certified
