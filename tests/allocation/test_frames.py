"""Labelled frames of an answer: what is only rounding is 0 there, what is small is not."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import fairopt as fo
from fairopt.allocation.frames import DUST, FRAMES, ROUNDING, clean

pd = pytest.importorskip("pandas")

INST = fo.Instance(
    [[1.0], [1.0]],
    [[4.0], [1e-3]],
    weight=[1, 3],
    users=["a", "b"],
    servers=["big", "tiny"],
    resources=["cpu"],
)


def answer(tasks: object, inst: fo.Instance = INST) -> fo.Allocation:
    return fo.Allocation(inst, fo.ProportionalFair(), tasks)  # type: ignore[arg-type]


def test_every_frame_has_its_labels() -> None:
    alloc = fo.solve(INST, fo.ProportionalFair())
    for what, axes in {
        "tasks": ("users", "servers"),
        "prices": ("servers", "resources"),
        "used": ("servers", "resources"),
        "utilisation": ("servers", "resources"),
    }.items():
        frame = alloc.to_frame(what)
        assert tuple(frame.index) == INST.names[axes[0]]
        assert tuple(frame.columns) == INST.names[axes[1]]
        np.testing.assert_allclose(frame, getattr(alloc, what), rtol=1e-12)
    users = alloc.to_frame("users")
    assert users.columns.tolist() == ["weight", "limit", "tasks", "share", "level"]
    assert users.loc["b", "tasks"] == pytest.approx(3 / 4 * 4.001)
    assert users.loc["a", "level"] == pytest.approx(users.loc["b", "level"])
    assert users["limit"].tolist() == [np.inf, np.inf]


def test_dust_is_nothing_and_what_is_small_is_not() -> None:
    """The bound of the sum stays: 1e-9 of the user's total and of what it could run there."""
    tasks = [[1.0, 1e-17], [3.0, 0.5e-12]]
    assert clean(answer(tasks)).tolist() == [[1.0, 0.0], [3.0, 0.0]]
    frame = answer(tasks).to_frame()
    assert frame[["user", "server", "tasks"]].values.tolist() == [
        ["a", "big", 1.0],
        ["b", "big", 3.0],
    ]
    assert answer(tasks).to_frame("tasks").loc["b", "tiny"] == 0.0
    # just above the bound: 1e-3 tasks alone on the tiny server
    above = [[1.0, 1e-3 * DUST * 1.01], [3.0, 0.0]]
    assert clean(answer(above))[0, 1] > 0
    # small beside the total, but all that the tiny server has
    full = fo.Instance([[1.0]], [[1e9], [1e-3]])
    assert clean(answer([[1e9, 1e-3]], full)).tolist() == [[1e9, 1e-3]]
    # all that a light user has
    assert clean(answer([[1e-8, 0.0], [3.0, 0.0]])).tolist() == [[1e-8, 0.0], [3.0, 0.0]]
    # rounding beside the server, whoever's
    assert clean(answer([[3 * ROUNDING, 0.0], [-1e-17, 3.0e-4]])).tolist() == [[0, 0], [0, 3.0e-4]]
    assert answer([[1e-17, 0.0], [3.0, 0.0]]).to_frame("users")["level"].tolist() == [0.0, 1.0]


def test_faults_of_an_answer_stay_visible() -> None:
    inst = INST.replace(placement=[[True, False], [True, True]])
    assert clean(answer([[1.0, 1e-17], [1.0, 0.0]], inst))[0, 1] == 1e-17
    assert clean(answer([[-1e-3, 0.0], [3.0, 0.0]]))[0, 0] == -1e-3


def test_prices_that_are_rounding_are_nothing() -> None:
    def prices(tiny: float, left: float) -> list[float]:
        alloc = answer([[1, 0], [3, 1e-3 * (1 - left)]]).with_(prices=[[1.0], [tiny * 4e3]])
        return [price != 0 for price in alloc.to_frame("prices")["cpu"]]

    # money of the tiny server as a part of all money, and what is left of it
    assert prices(0.9 * ROUNDING, 0.0) == [True, False]
    assert prices(1.1 * ROUNDING, 0.0) == prices(0.9 * DUST, 0.5 * DUST) == [True, True]
    assert prices(0.9 * DUST, 2 * DUST) == [True, False]
    assert prices(1.1 * DUST, 1.0) == [True, True]


def test_what_cannot_be_shown_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(fo.errors.UsageError, match=f"wanted one of {', '.join(FRAMES)}"):
        answer([[1, 0], [3, 0]]).to_frame("task")
    with pytest.raises(fo.errors.UsageError, match="answer has none"):
        answer([[1, 0], [3, 0]]).to_frame("prices")
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(fo.errors.MissingExtra, match=r"pip install 'fairopt\[frame\]'"):
        answer([[1, 0], [3, 0]]).to_frame("tasks")
