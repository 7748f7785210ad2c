"""Scenarios of the judge of alpha-fair answers, each with its truth worked out by hand.

Light users beside heavy ones, limits worth 1e500 times what others pay, rows that are nearly
parallel, servers that stand idle. An answer is its tasks: whatever the prices say, right ones are
certified, and of wrong ones none is.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import fairopt as fo
from fairopt.certificates import judged

INF = np.inf
PF = fo.ProportionalFair()
LIGHT = (1e-3, 1e-5, 1e-7, 1e-9, 1e-11)


def alpha_of(notion: fo.Notion) -> float:
    return float(getattr(notion, "alpha", 1.0))


# -- rows that are nearly parallel ------------------------------------------------------------


def parallel(k: float, alpha: float, s: float, **rules: object) -> fo.Allocation:
    """Two users, demands (1, 1) and (1, 1 - k), capacities 1 and 1 - k/2: the best shares are 1/2
    each. At prices (1 - s, s) each takes what it wants, scaled to fit."""
    demand = np.array([[1.0, 1.0], [1.0, 1.0 - k]])
    inst = fo.Instance(demand, [[1.0, 1.0 - k / 2]], **rules)
    prices = np.array([1.0 - s, s])
    tasks = (demand @ prices) ** (-1 / alpha)
    tasks /= (tasks @ demand / inst.pool[0]).max()
    return fo.Allocation(inst, fo.AlphaFair(alpha), tasks[:, None], prices[None, :])


CEILING = {"quotas": fo.Quotas(bounds=[fo.Bound("u1", "r1", 99.0)])}


@pytest.mark.parametrize(
    "rules", [{}, CEILING, {"limit": [99.0, 99.0]}], ids=["plain", "ceiling", "limit"]
)
@pytest.mark.parametrize("alpha", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("k", [1e-2, 1e-3, 1e-5])
def test_prices_that_fit_wrong_tasks_between_parallel_rows(k: float, alpha: float, rules) -> None:
    """Both rows are all but full and everybody spends as it should: that was certified, 6e-4 off
    at k = 1e-3."""
    forged = parallel(k, alpha, 0.6, **rules)
    off = np.abs(np.log(2 * forged.totals)).max()
    found = fo.certify(forged)
    assert found.verdict == ("refuted" if off > 1e-6 else "certified")
    assert found.residual == pytest.approx(off, rel=1e-2, abs=1e-9)
    right = forged.with_(tasks=[[0.5], [0.5]])
    assert fo.certify(right).certified and fo.certify(right.with_(prices=None)).certified


@pytest.mark.parametrize("rules", [{}, CEILING], ids=["plain", "ceiling"])
def test_an_answer_of_fairopt_that_was_certified_and_wrong(rules) -> None:
    """Only the first resource binds: shares are as (w/d)^2, which is worked out in fractions."""
    demand = [[0.9050931984, 0.8862709003], [0.4483048278, 0.4436168867]]
    capacity = [1.0, 0.986118251533984]
    inst = fo.Instance(demand, [capacity], **rules)
    alloc = fo.solve(inst, fo.AlphaFair(0.5))
    d = [Fraction(row[0]) for row in demand]
    unit = 1 / sum(1 / v for v in d)
    best = [unit / v**2 for v in d]
    second = sum(Fraction(row[1]) * x for row, x in zip(demand, best, strict=True))
    assert second < Fraction(capacity[1])
    np.testing.assert_allclose(alloc.totals, [float(x) for x in best], rtol=1e-6)
    # one takes 1.2e-4 more of its share from the other
    more = Fraction(1.2e-4) * best[0]
    moved = [[float(best[0] + more)], [float(best[1] - more * d[0] / d[1])]]
    assert fo.certify(alloc).certified
    found = fo.certify(alloc.with_(tasks=moved))
    assert not found.certified and found.residual > 1.1e-4


@pytest.mark.parametrize("users", [600, 2_000])
def test_a_row_just_full_and_free_beside_many_users(users: int) -> None:
    """Demands (1, 2) and (2, 1) in turn; the first row is full, the second is so as well, and free.
    A little of all money on it moves every share."""
    demand = np.tile([[1.0, 2.0], [2.0, 1.0]], (users // 2, 1))
    best = 1 / demand[:, 0]
    inst = fo.Instance(demand, [best @ demand])
    for part, certified in ((0.0, True), (1e-4, False)):
        x = 1 / (demand @ [1 - part, part])
        x /= (x @ demand / inst.pool[0]).max()
        off = np.abs(np.log(x / best)).max()
        found = fo.certify(fo.Allocation(inst, PF, x[:, None], [[1 - part, part]]))
        assert found.certified == certified and (off > 1e-6) != certified
        assert off - 1e-9 <= found.residual <= 1.1 * off + 1e-6


# -- light users beside heavy ones ------------------------------------------------------------


def overdone(light: float, part: float) -> fo.Allocation:
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
    found = fo.certify(overdone(light, part))
    assert found.certified == (part == 0.0)
    if light <= 1e-7 and part:
        assert found.gap < 1e-6 and "u2" in found.undetermined


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
        np.ones((3, 1)),
        np.ones((2, 1)),
        placement=[[1, 1], [1, 0], [0, 1]],
        weight=weight,
        limit=[limit, INF, INF],
    )
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
        inst,
        notion,
        [[0, limit], [1, 0], [0, short]],
        [[1.0], [rent]],
        [worth - rent, 0, 0],
        score=score,
    )
    assert judged(right).certified


@pytest.mark.parametrize("light", LIGHT)
@pytest.mark.parametrize("rise", [0.5e-6, 2e-6])
def test_both_sides_of_what_a_forged_price_gives_a_light_user(light: float, rise: float) -> None:
    """The price that fits a light user's share that is too large by `rise`, and no residual of its
    own: what it holds too much is all that tells."""
    found = fo.certify(overdone(light, 4 / 3 * rise / (1 + rise)))
    assert found.certified == (rise < 1e-6)
    assert found.residual == pytest.approx(rise, rel=1e-2)


@pytest.mark.parametrize("light", LIGHT)
@pytest.mark.parametrize("short", [0.5e-6, 2e-6])
def test_both_sides_of_what_a_light_user_may_lack(light: float, short: float) -> None:
    """At the right prices, and at the same prices with an idle row priced so that they fit."""
    inst = overdone(light, 0.0).instance
    x = np.array([2 / (1 + light), light / (1 + light) * (1 - short)])
    right = np.array([(1 + light) / 2, 0.0])
    for first in (right, right / (1 - short) ** np.array([1, 0])):
        found = fo.certify(fo.Allocation(inst, PF, x[:, None], [first]))
        assert found.certified == (short < 1e-6)
        assert found.residual >= short * 0.99


@pytest.mark.parametrize("light", [1e-6, 1e-8, 1e-10])
def test_a_heavy_users_error_that_harms_nobody_is_let_be(light: float) -> None:
    """A heavy user a hundred times a light one's tasks short: it leaves the row idle, and the light
    one's share is right."""
    inst = overdone(light, 0.0).instance
    error = 100 * light if light < 1e-9 else 0.02 * light
    x = np.array([2 / (1 + light), light / (1 + light)])
    x[0] -= error * x[0]
    found = fo.certify(fo.Allocation(inst, PF, x[:, None], [[(1 + light) / 2, 0]]))
    assert found.certified and error * (1 - 1e-6) <= found.residual < 1e-7


@pytest.mark.parametrize("reduce", [True, False])
def test_the_light_user_beside_two_full_resources_is_never_wrong(reduce: bool) -> None:
    inst = fo.Instance([[1, 2], [1, 2], [1, 2], [2, 1]], [[2, 4]], weight=[1e6, 2e-6, 1, 1e-6])
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
    assert alloc.certificate is not None and alloc.certificate.residual < 1e-8


# -- limits -----------------------------------------------------------------------------------

TINY = fo.Instance([[1.0], [1.0], [1.0]], [[1.0]], limit=[1e-5, np.inf, np.inf])


def answer(shares: list[float], alpha: float = 100.0) -> fo.Allocation:
    """Prices of the optimum: 1 for the resource, and a limit dearer than any resource."""
    return fo.Allocation(
        TINY,
        fo.AlphaFair(alpha),
        np.array(shares)[:, None],
        np.array([[1.0]]),
        np.array([1e200, 0.0, 0.0]),
    )


RIGHT = [1e-5, (1 - 1e-5) / 2, (1 - 1e-5) / 2]


def test_the_right_answer_is_certified() -> None:
    assert fo.certify(answer(RIGHT)).certified


@pytest.mark.parametrize(
    "shares",
    [
        [1e-5, RIGHT[1] * (1 + 1e-5), RIGHT[2] * (1 - 1e-5)],  # one of the others has more
        [1e-5, RIGHT[1] * (1 - 1e-5), RIGHT[2] * (1 - 1e-5)],  # both have less
        [1e-5 * (1 - 1e-5), RIGHT[1], RIGHT[2]],  # not at the limit, and the resource has room
        [0.0, RIGHT[1], RIGHT[2]],
    ],
)
def test_a_spoiled_answer_is_refused(shares: list[float]) -> None:
    assert not fo.certify(answer(shares)).certified


def test_nobody_below_a_limit_needs_no_price() -> None:
    inst = fo.Instance([[1.0], [1.0]], [[4.0]], limit=[1e-5, 1.0])
    alloc = fo.Allocation(inst, fo.AlphaFair(100.0), [[1e-5], [1.0]], [[0.0]], [1.0, 0.0])
    assert fo.certify(alloc).certified
    low = alloc.with_(tasks=np.array([[1e-5], [0.9]]), certificate=None)
    assert not fo.certify(low).certified


@pytest.mark.parametrize("alpha", [50.0, 100.0])
@pytest.mark.parametrize("limit", [[1e-5, np.inf], [1e-3, np.inf], [1e-9, 0.5]])
def test_tiny_limits_at_large_alpha_are_solved(alpha: float, limit: list[float]) -> None:
    inst = fo.Instance([[1], [1]], [[1]], limit=limit)
    alloc = fo.solve(inst, fo.AlphaFair(alpha))
    first = limit[0]
    np.testing.assert_allclose(alloc.shares, [first, min(1 - first, limit[1])], rtol=1e-6)


def test_three_limits_of_many_decades() -> None:
    inst = fo.Instance([[1], [1], [1]], [[1]], limit=[0.5, np.inf, 1e-3])
    alloc = fo.solve(inst, fo.AlphaFair(100))
    np.testing.assert_allclose(alloc.shares, [0.4995, 0.4995, 1e-3], rtol=1e-6)


# -- servers ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "notion", [fo.ProportionalFair(), fo.AlphaFair(0.5), fo.AlphaFair(3), fo.Tradeoff()], ids=str
)
@pytest.mark.parametrize("heavy", [1.0, 1e9])
def test_a_price_on_a_server_that_stands_idle_keeps_nobody_away(notion, heavy: float) -> None:
    """Two share a server, one of them could have another for itself: nobody pays the price asked
    there, and beside a heavy third user it is nothing of all money."""
    inst = fo.Instance(
        np.ones((3, 1)),
        np.ones((3, 1)),
        placement=[[1, 0, 0], [1, 1, 0], [0, 0, 1]],
        weight=[1, 1, heavy],
    )
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
    found = fo.certify(alloc)
    assert found.gap < 1e-6 and not found.certified and found.undetermined
