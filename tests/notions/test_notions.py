"""The table of notions and what `make` refuses."""

from __future__ import annotations

from dataclasses import FrozenInstanceError
from typing import Any

import pytest

import fairopt as fo
from fairopt import notions


def test_the_table_names_each_notion_by_its_own_name() -> None:
    assert {"throughput", "proportional", "alpha-fair"} <= set(notions.NOTIONS)
    for name, notion in notions.NOTIONS.items():
        assert notion.name == name and notion.summary


def test_make_and_plain_are_inverse() -> None:
    for notion in (
        fo.Throughput(),
        fo.ProportionalFair("drf"),
        fo.AlphaFair(2, "dominant-share", weight_inside=True),
    ):
        plain = notion.plain()
        assert notions.make(plain["name"], **plain["parameters"]) == notion


@pytest.mark.parametrize(
    ("name", "parameters", "words"),
    [
        ("fairest", {}, "found 'fairest'; wanted one of throughput"),
        ("throughput", {"alpha": 2}, "found parameter alpha; it takes no parameters"),
        ("proportional", {"alpha": 1, "beta": 2}, "parameter alpha, beta; it takes criterion"),
        ("alpha-fair", {}, "missing 1 required positional argument: 'alpha'"),
    ],
)
def test_make_refuses(name: str, parameters: dict[str, Any], words: str) -> None:
    with pytest.raises(fo.UsageError, match=words):
        notions.make(name, **parameters)


@pytest.mark.parametrize("alpha", [-0.1, float("nan"), float("inf"), True, "2", None])
def test_alpha_out_of_range(alpha: Any) -> None:
    with pytest.raises(fo.BadInput) as caught:
        fo.AlphaFair(alpha)
    assert [fault.place for fault in caught.value.faults] == ["alpha"]


def test_weight_inside_is_a_truth() -> None:
    with pytest.raises(fo.BadInput, match="weight_inside: found 1"):
        fo.AlphaFair(1, weight_inside=1)  # type: ignore[arg-type]


def test_notions_are_frozen() -> None:
    with pytest.raises(FrozenInstanceError):
        fo.AlphaFair(1).alpha = 2  # type: ignore[misc]
