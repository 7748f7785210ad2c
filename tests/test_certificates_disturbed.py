"""Errors that are nothing beside a heavy user's money and all that a light one has are found."""

from __future__ import annotations

import numpy as np
import pytest

import fairopt as fo
from fairopt.certificates import judged

INF = np.inf
PF = fo.ProportionalFair()
LIGHT = (1e-3, 1e-5, 1e-7, 1e-9, 1e-11)


def forged(light: float, part: float) -> fo.Allocation:
    """A part of all money on a resource of which three times the light user's tasks are left."""
    weight = np.array([1.0, light])
    inst = fo.Instance([[1, 2], [2, 1]], [[2, 4]], weight=weight)
    second = part * weight.sum() / 4
    first = (weight.sum() - 4 * second) / 2
    x = weight / np.array([first + 2 * second, 2 * first + second])
    x[0] = 2 - 2 * x[1]
    return fo.Allocation(inst, PF, x[:, None], [[first, second]])


@pytest.mark.parametrize("light", LIGHT)
@pytest.mark.parametrize("part", [0.0, 1e-4, 0.01, 0.5, 0.99])
def test_a_price_on_what_only_a_light_user_leaves_idle(light: float, part: float) -> None:
    """Both resources run full together; the second has three times the light user's tasks left.
    A part of the price put there makes the light user's share up to four times its due."""
    found = fo.certify(forged(light, part))
    assert found.certified == (part == 0.0)
    if light <= 1e-7 and part:
        assert found.gap < 1e-6 and found.undetermined == ("u2",)


def test_a_row_that_the_light_user_does_not_pay_for_can_still_hurt_it() -> None:
    inst = fo.Instance([[1, 2], [2, 0]], [[2, 4]], weight=[1, 1e-12])
    for second, certified in ((0.0, True), (0.125, False)):
        first = (1 - 4 * second) / 2
        light = 1e-12 / (2 * first)
        alloc = fo.Allocation(inst, PF, [[2 - 2 * light], [light]], [[first, second]])
        assert fo.certify(alloc).certified == certified


def test_room_to_a_priced_limit_is_not_a_light_users() -> None:
    """A heavy user a billionth short of its limit; a light one has that: 900 times its due."""
    limit = 1 - 1e-12
    inst = fo.Instance([[1.0], [1.0]], [[1.0]], weight=[1, 1e-13], limit=[limit, INF])
    price = 1e-13 / (1 - limit)
    right = fo.Allocation(inst, PF, [[limit], [1 - limit]], [[price]], [1 - price, 0.0])
    assert fo.certify(right).certified
    price = 1e-13 / 0.9e-9
    forged = fo.Allocation(inst, PF, [[1 - 0.9e-9], [0.9e-9]], [[price]], [1 - price, 0.0])
    found = fo.certify(forged)
    assert not found.certified and found.undetermined == ("u2",)


@pytest.mark.parametrize("alpha", [0.5, 1.0, 2.0])
def test_a_limit_whose_price_decides_the_server_has_to_have_one(alpha: float) -> None:
    """A task of the first user counts three times on the second server; at its limit, and worth
    far more than either rent, it belongs there. Without a price of the limit it looks cheaper on
    the first: a third of its share, certified until its error below counted as well."""
    limit, heavy = 1e-7, 10.0
    weight = np.array([50 * limit**alpha, 1.0, heavy])
    inst = fo.Instance(
        np.ones((3, 1)), np.ones((2, 1)), placement=[[1, 1], [1, 0], [0, 1]], weight=weight,
        limit=[limit, INF, INF],
    )  # fmt: skip
    score = np.array([[1.0, 3.0], [1.0, 1.0], [1.0, 1.0]])
    notion = fo.AlphaFair(alpha)
    short = 1 - limit
    wrong = fo.Allocation(
        inst, notion, [[limit, 0], [short, 0], [0, 1]], [[short**-alpha], [heavy]], score=score
    )
    assert judged(wrong).residual > 0.5
    rent = heavy * short**-alpha
    worth = 3 * weight[0] * (3 * limit) ** -alpha
    right = fo.Allocation(
        inst, notion, [[0, limit], [1, 0], [0, short]], [[1.0], [rent]], [worth - rent, 0, 0],
        score=score,
    )  # fmt: skip
    assert judged(right).certified


@pytest.mark.parametrize("light", LIGHT)
@pytest.mark.parametrize("rise", [0.5e-6, 2e-6])
def test_both_sides_of_what_a_forged_price_gives_a_light_user(light: float, rise: float) -> None:
    """The price that fits a light user's share that is too large by `rise`, and no residual of its
    own: what it holds too much is all that tells."""
    found = fo.certify(forged(light, 4 / 3 * rise / (1 + rise)))
    assert found.certified == (rise < 1e-6)
    assert found.residual == pytest.approx(rise, rel=1e-2)


@pytest.mark.parametrize("light", LIGHT)
@pytest.mark.parametrize("short", [0.5e-6, 2e-6])
def test_both_sides_of_what_a_light_user_may_lack(light: float, short: float) -> None:
    """At the right prices, and at the same prices with an idle row priced so that they fit."""
    inst = forged(light, 0.0).instance
    x = np.array([2 / (1 + light), light / (1 + light) * (1 - short)])
    right = np.array([(1 + light) / 2, 0.0])
    for first in (right, right / (1 - short) ** np.array([1, 0])):
        found = fo.certify(fo.Allocation(inst, PF, x[:, None], [first]))
        assert found.certified == (short < 1e-6)
        assert found.residual >= short * 0.99


@pytest.mark.parametrize("light", [1e-6, 1e-8, 1e-10])
def test_a_heavy_users_error_that_harms_nobody_is_let_be(light: float) -> None:
    """A heavy user a hundred times a light one's tasks short: it leaves the row idle, and the light
    one's share is right. Followed at its worst that would have cost the light user half."""
    inst = forged(light, 0.0).instance
    error = 100 * light if light < 1e-9 else 0.02 * light
    x = np.array([2 / (1 + light), light / (1 + light)])
    x[0] -= error * x[0]
    alloc = fo.Allocation(inst, PF, x[:, None], [[(1 + light) / 2, 0]])
    idle, own = idle_money(alloc, np.array([error, 0.0]))
    assert disturbed(alloc, idle, own)[1] == pytest.approx(2 * error / (light + 2 * error), rel=0.2)
    found = fo.certify(alloc)
    assert found.certified and found.residual < 1e-7


def test_users_alike_but_for_their_weight_count_as_one() -> None:
    inst = fo.Instance([[1, 2], [1, 2], [1, 1]], [[4, 4]], weight=[1, 1e-9, 1])
    right = fo.solve(inst, PF)
    off = np.array([1e-9, 0.0, 0.0])
    idle, own = idle_money(right, off)
    lost = disturbed(right, idle, own)
    assert lost[1] == lost[0] < 1e-8


@pytest.mark.parametrize("reduce", [True, False])
def test_the_light_user_beside_two_full_resources_is_never_wrong(reduce: bool) -> None:
    inst = fo.Instance(
        [[1, 2], [1, 2], [1, 2], [2, 1]], [[2, 4]], weight=[1e6, 2e-6, 1, 1e-6]
    )
    alloc = fo.solve(inst, PF, reduce=reduce, uncertified="return")
    right = alloc.totals[3] == pytest.approx(1e-6 / inst.weight.sum(), rel=1e-6)
    assert alloc.certificate is not None and (right or not alloc.certificate.certified)
    assert right or not reduce


@pytest.mark.parametrize("heavy", [2.79e4, 1e6])
def test_worths_of_a_thousand_logarithms_are_polished(heavy: float) -> None:
    """alpha = 100 with the weight inside: W = 1e600, and only its ratios count."""
    weight = [heavy, 0.43, 4.1e-5, 64.0]
    demand = [[0.47, 0.95], [0.22, 0.62], [0.65, 0.65], [0.85, 0.44]]
    inst = fo.Instance(demand, [[20.0, 18.0]], weight=weight)
    alloc = fo.solve(inst, fo.AlphaFair(100, weight_inside=True))
    assert alloc.certificate is not None and alloc.certificate.residual < 1e-9
