"""Who holds what it could have for less elsewhere is found, however little its money shows it."""

from __future__ import annotations

import numpy as np
import pytest

import fairopt as fo

INF = np.inf


def alpha_of(notion) -> float:
    return float(getattr(notion, "alpha", 1.0))


@pytest.mark.parametrize("notion", [fo.ProportionalFair(), fo.AlphaFair(0.5), fo.AlphaFair(3),
                                    fo.Tradeoff()], ids=str)  # fmt: skip
@pytest.mark.parametrize("heavy", [1.0, 1e9])
def test_a_price_on_a_server_that_stands_idle_keeps_nobody_away(notion, heavy: float) -> None:
    """Two share a server, one of them could have another for itself: nobody pays the price asked
    there, and beside a heavy third user it is nothing of all money."""
    inst = fo.Instance(
        np.ones((3, 1)), np.ones((3, 1)), placement=[[1, 0, 0], [1, 1, 0], [0, 0, 1]],
        weight=[1, 1, heavy],
    )  # fmt: skip
    worth = 0.5 ** -alpha_of(notion)
    tasks, prices = [[0.5, 0, 0], [0.5, 0, 0], [0, 0, 1]], [[worth], [2 * worth], [heavy]]
    assert not fo.certify(fo.Allocation(inst, notion, tasks, prices)).certified
    right = fo.Allocation(inst, notion, np.diag([1.0, 1.0, 1.0]), [[1.0], [1.0], [heavy]])
    assert fo.certify(right).certified


@pytest.mark.parametrize("alpha", [2.0, 10.0, 50.0])
@pytest.mark.parametrize("asked", [0.0, 1.0])
def test_a_user_at_its_limit_takes_no_room_that_another_needs(alpha: float, asked: float) -> None:
    """Nearly all its money is for its limit, so that what it pays on either server says nothing:
    a part t of the first server is the other's, bracketed."""
    inst = fo.Instance(
        [[1.0], [1.0]], [[1.0], [1.0]], placement=[[1, 0], [1, 1]], limit=[INF, 0.01]
    )
    for t, certified in ((0.0, True), (0.5e-6, True), (2e-6, False), (0.01, False)):
        price = (1 - t) ** -alpha
        tasks = [[1 - t, 0], [t, 0.01 - t]]
        mu = 0.01**-alpha - (price if asked and t == 0.01 else 0.0)
        prices = [[price], [price * asked if t == 0.01 else 0.0]]
        alloc = fo.Allocation(inst, fo.AlphaFair(alpha), tasks, prices, [0.0, mu])
        found = fo.certify(alloc)
        assert found.certified == certified, (t, found.explain())
        assert displaced(alloc)[0, 0] == pytest.approx(t, rel=1e-6)


def test_a_heavy_user_does_not_outbid_for_a_dear_server() -> None:
    """It has its own server at a tenth of the price, and next to nothing of its money goes into
    the dear one, where the light user is left a tenth of its due."""
    heavy = 1e9
    inst = fo.Instance(
        [[1.0], [1.0]], [[1.0], [heavy]], placement=[[1, 0], [1, 1]], weight=[1, heavy]
    )
    light = 1e-1
    alloc = fo.Allocation(
        inst, fo.ProportionalFair(), [[light, 0], [1 - light, heavy]], [[10.0], [1.0]]
    )
    assert displaced(alloc)[0, 0] == pytest.approx(0.9 * (1 - light))
    found = fo.certify(alloc)
    assert found.gap < 1e-6 and not found.certified and found.undetermined


def test_nothing_is_displaced_where_all_are_as_cheap() -> None:
    for name in ("kesidis2018/example", "edge/limits", "edge/demand-by-server", "edge/counts"):
        alloc = fo.solve(fo.read(name).instance, fo.ProportionalFair())
        assert displaced(alloc).max() < 1e-9


def test_what_a_unit_of_share_costs_counts_not_a_task() -> None:
    """On the second server a task counts twice: at twice the price it is as cheap."""
    inst = fo.Instance([[1.0]], [[1.0], [1.0]])
    score = [[1.0, 2.0]]
    for price, wasted in ((2.0, 0.0), (4.0, 0.5)):
        alloc = fo.Allocation(
            inst, fo.ProportionalFair(), [[1, 1]], [[1.0], [price]], score=score
        )
        assert displaced(alloc)[1, 0] == pytest.approx(wasted)
    # a force beside the prices makes the difference
    force = np.array([[1.0, 0.0]])
    even = fo.Allocation(inst, fo.ProportionalFair(), [[1, 1]], [[1.0], [2.0]])
    assert displaced(even)[1, 0] == pytest.approx(0.5)
    assert displaced(even, force)[1, 0] == pytest.approx(0.0)
