"""The judge of max-min levels, on good and on spoiled answers."""

from __future__ import annotations

import numpy as np
import pytest

import fairopt as fo
from fairopt.certificates import judged, level_prices, within
from fairopt.certificates.exact import exact_gap
from fairopt.certificates.levels import rooms
from fairopt.instance.generate import random_instance

SEEDS = range(6)


def answer(seed: int, **more: float) -> fo.Allocation:
    inst = random_instance(30, 12, 3, density=0.1, seed=seed, zero_demand=0.3, **more)
    alloc = fo.solve(inst, fo.MaxMin(("drf", "dominant-share")[seed % 2]))
    assert len(alloc.steps) >= 3 and fo.certify(alloc).certified
    return alloc


def scaled(alloc: fo.Allocation, user: int, factor: float) -> fo.Allocation:
    tasks = alloc.tasks.copy()
    tasks[user] *= factor
    return alloc.with_(tasks=tasks, certificate=None)


@pytest.mark.every(3)
@pytest.mark.parametrize("seed", SEEDS)
def test_any_user_cut_by_one_in_1e5_is_seen(seed: int) -> None:
    alloc = answer(seed)
    for user in range(seed % 3, 30, 3):
        certificate = fo.certify(scaled(alloc, user, 1 - 1e-5))
        assert not certificate.certified
        assert certificate.residual >= 0.99e-5
        assert alloc.instance.users[user] in certificate.undetermined


@pytest.mark.parametrize("seed", SEEDS)
def test_a_user_above_everybody_robbed(seed: int) -> None:
    alloc = answer(seed)
    top = int(np.argmax(alloc.levels))
    certificate = fo.certify(scaled(alloc, top, 0.5))
    assert not certificate.certified
    assert certificate.gap <= 1e-6  # the lowest level is still proved
    assert certificate.residual >= 0.99 * np.log(2)


@pytest.mark.parametrize("seed", SEEDS)
def test_more_than_there_is_is_refuted(seed: int) -> None:
    alloc = answer(seed)
    certificate = fo.certify(alloc.with_(tasks=alloc.tasks * (1 + 1e-6), certificate=None))
    assert certificate.verdict == "refuted"


@pytest.mark.every(3)
@pytest.mark.parametrize("seed", SEEDS)
def test_each_level_needs_its_own_prices(seed: int) -> None:
    alloc = answer(seed)
    assert alloc.level_prices is not None
    names = alloc.instance.users
    for k, step in enumerate(alloc.steps):
        less = alloc.with_(level_prices=np.delete(alloc.level_prices, k, axis=0))
        certificate = fo.certify(less)
        if certificate.certified:  # only by fractions, which find the level that is left out
            assert any("fractions" in check.name for check in certificate.checks), k
        else:
            assert set(certificate.undetermined) <= set(names)
            assert set(certificate.undetermined) & set(step["users"])
        if k == len(alloc.steps) // 2:
            short = scaled(less, names.index(step["users"][0]), 1 - 1e-5)
            assert not fo.certify(short).certified, k
    # without any, they are worked out
    assert fo.certify(alloc.with_(level_prices=None)).certified


@pytest.mark.parametrize("seed", SEEDS)
def test_wrong_prices_prove_nothing(seed: int) -> None:
    alloc = answer(seed)
    assert alloc.level_prices is not None
    rng = np.random.default_rng(seed)
    bent = alloc.level_prices * rng.uniform(0.9, 1.1, alloc.level_prices.shape)
    assert not fo.certify(alloc.with_(level_prices=bent)).certified
    blind = rng.random(alloc.level_prices.shape)
    assert not fo.certify(alloc.with_(level_prices=blind)).certified
    # their scale is free
    assert fo.certify(alloc.with_(level_prices=alloc.level_prices * 7e5)).certified


def test_another_notions_answer_is_no_max_min_answer() -> None:
    for seed in SEEDS:
        alloc = answer(seed)
        criterion = alloc.notion["parameters"]["criterion"]
        given = fo.solve(alloc.instance, fo.ProportionalFair(criterion))
        assert not fo.certify(alloc.with_(tasks=given.tasks, certificate=None)).certified


def test_users_at_their_limits_need_no_price_and_still_pay() -> None:
    inst = fo.Instance(np.ones((3, 1)), [[6.0]], limit=[1, np.inf, np.inf])
    alloc = fo.solve(inst, fo.MaxMin("tasks"))
    np.testing.assert_allclose(alloc.totals, [1, 2.5, 2.5], rtol=1e-12)
    assert fo.certify(alloc).certified
    assert not fo.certify(alloc.with_(tasks=[[0.9], [2.55], [2.55]])).certified
    for seed in SEEDS:
        # seed 3: scores that are equal but for a last digit say who runs where
        assert fo.certify(answer(seed, limits=0.4)).certified


def test_room_is_what_can_be_gained() -> None:
    """Two users on one server, one has 2 of 6 and the other 4: the first can double, by hand."""
    inst = fo.Instance(np.ones((2, 1)), [[6.0]])
    alloc = fo.Allocation(inst, fo.MaxMin("tasks"), [[2], [4]], level_prices=[[[1.0]]])
    np.testing.assert_allclose(rooms(alloc), [2.0, 0.0], atol=1e-12)
    certificate = judged(alloc)
    assert certificate.gap == pytest.approx(2.0)
    # it tells two levels, of which these prices prove nothing
    assert certificate.undetermined == ("u1", "u2") and not certificate.bounded
    assert certificate.intervals[0] == (0.0, np.inf) and certificate.residual == np.inf
    # worked out, both are due 3
    proved = fo.certify(alloc)
    assert proved.verdict == "refuted"
    assert proved.intervals[0] == pytest.approx((3.0, 3.0))


def kinds(alloc: fo.Allocation) -> int:
    return len(np.unique(level_prices._alike(alloc)))


@pytest.mark.parametrize("criterion", ["tasks", "drf", "dominant-share"])
def test_servers_alike_looked_at_once_prove_the_same(monkeypatch, criterion: str) -> None:
    base = random_instance(12, 3, 2, density=0.6, seed=4, limits=0.4)
    rows = np.repeat(np.arange(3), [4, 7, 2])
    inst = fo.Instance(
        base.demand, base.capacity[rows], base.placement[:, rows], base.weight, base.limit
    )
    alloc = fo.solve(inst, fo.MaxMin(criterion))
    assert fo.certify(alloc).certified and kinds(alloc) == 3
    changed = [alloc, scaled(alloc, 3, 0.9), alloc.with_(tasks=alloc.tasks * 0.99)]
    bent = np.array(alloc.level_prices)
    bent[:, 5] *= 1.25  # one machine priced unlike its equals
    changed.append(alloc.with_(level_prices=bent))
    assert kinds(changed[-1]) > 3
    once = [rooms(answer) for answer in changed]
    monkeypatch.setattr(level_prices, "_alike", lambda alloc: np.arange(len(rows)))
    for answer_, found in zip(changed, once, strict=True):
        np.testing.assert_allclose(rooms(answer_), found, rtol=1e-12)


def test_a_score_of_its_own_sets_a_server_apart() -> None:
    inst = fo.Instance(np.ones((2, 1)), np.ones((3, 1)))
    score = np.ones((2, 3))
    given = dict(tasks=np.full((2, 3), 0.5), level_prices=np.ones((1, 3, 1)))
    assert kinds(fo.Allocation(inst, fo.MaxMin("tasks"), **given)) == 1
    score[1, 2] = 2.0
    apart = fo.Allocation(inst, fo.MaxMin("tasks"), score=score, **given)
    assert kinds(apart) == 3


def limits(cost: np.ndarray, u: np.ndarray, share: float, limit: float) -> within.CheapestWithin:
    """Of one user."""
    return within.CheapestWithin(cost[None], u[None], np.array([share]), np.array([limit]))


def mus(cost: np.ndarray, u: np.ndarray) -> list[float]:
    """0 and the prices of the limit where two servers are as cheap as one another."""
    pairs = [(a, b) for a in range(len(u)) for b in range(len(u)) if u[a] > u[b]]
    corners = [(cost[a] * u[b] - cost[b] * u[a]) / (u[a] - u[b]) for a, b in pairs]
    return [0.0, *(float(mu) for mu in corners if mu > 0)]


def test_what_a_user_at_its_limit_pays_is_the_best_of_all_prices() -> None:
    """The corners are enough: no price on a fine grid does better, and one does as well."""
    rng = np.random.default_rng(5)
    for _ in range(30):
        cost, u = rng.uniform(0.1, 2, 6), rng.choice([0.5, 1.0, 2.0, 3.0], 6)
        share, limit = rng.uniform(0.5, 2, 2)
        mu = np.concatenate([[0.0], np.geomspace(1e-4, 1e3, 4000)])
        tried = ((cost + mu[:, None]) / u).min(axis=1) * share - mu * limit
        if share > 0.999 * limit * u.max():  # more than the limit allows
            continue
        found = limits(cost, u, share, limit)
        (least,), (slope,) = found.least, found.second
        assert any(least == pytest.approx(slope * share - m * limit) for m in mus(cost, u))
        assert least >= tried.max() - 1e-12
        assert least <= tried.max() + 1e-2 * share * 20
        # money buys a share at which the least is that much more, unless all the limit is used
        for money in (0.0, 1e-6, 0.1, 3.0):
            more = share * (1 + found.room(np.array([money]))[0])
            if more < 0.999 * limit * u.max():
                assert limits(cost, u, more, limit).least[0] == pytest.approx(least + money)


def two(
    weight: list[float],
    demand: list[float],
    tasks: list[float],
    price: float = 1.0,
    capacity: float | None = None,
) -> fo.Allocation:
    """Users on one server; its capacity is what the tasks use, but for what is left."""
    full = float(np.dot(demand, tasks)) if capacity is None else capacity
    inst = fo.Instance([[d] for d in demand], [[full]], weight=weight)
    return fo.Allocation(inst, fo.MaxMin("tasks"), [[x] for x in tasks], level_prices=[[[price]]])


@pytest.mark.parametrize(
    "attack",
    [
        two([1, 1e7], [1, 1], [5, 1e7 - 4], capacity=1e7 + 1),
        two([1, 1], [1, 1e-7], [1 - 4e-7, 5], capacity=1 + 1e-7),
    ],
    ids=["light", "cheap"],
)
def test_a_light_user_at_five_times_its_due_is_refused(attack: fo.Allocation) -> None:
    certificate = fo.certify(attack)
    assert not certificate.certified
    # it is at most at the level of the other, the fifth part of what it holds
    assert certificate.residual >= np.log(5)
    assert len(certificate.undetermined) == 1
    assert max(rooms(attack)) <= 1e-6  # nobody could rise by more: that side alone saw nothing
    assert exact_gap(attack) == 1


@pytest.mark.parametrize("part, holds", [(1e-7, True), (2e-6, False)])
@pytest.mark.parametrize("side", ["room", "excess", "priced"])
def test_the_residual_is_bracketed(part: float, holds: bool, side: str) -> None:
    """Answers that are off, as far as their prices tell, by a tenth and by twice the tolerance."""
    if side == "room":  # what is left, in parts of the one user's money
        alloc = two([1], [1], [1], capacity=1 + part)
        wanted = (1 + part - 1) / 1
    elif side == "excess":  # the light user is that far above the heavy one, whose room is 1e-7
        alloc = two([1e-7, 1], [1, 1], [1e-7 * (1 + part), 1 - part * 1e-7], capacity=1 + 1e-7)
        wanted = float(alloc.levels[0] / alloc.levels[1] - 1)
    else:  # at ten times the level of the other, and this part of its share where that is stopped
        light, free = 1e-9, 10e-9
        inst = fo.Instance(np.ones((2, 1)), [[1.0], [free]], [[1, 1], [1, 0]], weight=[light, 1])
        alloc = fo.Allocation(
            inst,
            fo.MaxMin("tasks"),
            [[free * part / (1 - part), free], [1 - free * part / (1 - part), 0]],
            level_prices=[[[1.0], [0.0]], [[1.0], [1.0]]],
        )
        wanted = float(alloc.tasks[0, 0] / alloc.totals[0])
    assert wanted == pytest.approx(part, rel=1e-3)
    certificate = fo.certify(alloc)
    # what rounding leaves open of the light user comes beside it; of several levels that are not
    # those of fractions nothing is bounded
    assert certificate.residual >= 0.99 * wanted
    assert not certificate.bounded or certificate.residual <= 4.1 * wanted + 6e-7
    assert certificate.certified == holds
    assert float(exact_gap(alloc)) == pytest.approx(wanted, rel=1e-2)


@pytest.mark.parametrize("apart, one", [(0.5e-9, True), (2e-9, False)])
def test_levels_are_one_within_one_part_in_a_billion(apart: float, one: bool) -> None:
    alloc = two([1, 1, 1], [1, 1, 1], [1, 1, 1 + apart])
    assert alloc.levels[2] / alloc.levels[0] - 1 == pytest.approx(apart, rel=1e-6)
    certificate = fo.certify(alloc)
    assert certificate.certified == one
    assert certificate.residual == pytest.approx(0.0 if one else np.inf, abs=1e-6)


@pytest.mark.parametrize("price", [5e-324, 1e-310, 1e-200, 1.0, 1e200, 1.7e308])
def test_the_scale_of_prices_is_free_and_hides_nothing(price: float) -> None:
    t = 1e6 / 2.5
    assert fo.certify(two([1, 1], [1, 1.5], [t, t], price, capacity=1e6)).certified
    forged = two([1, 1], [1, 1.5], [5e5, 2.5e5], price, capacity=1e6)
    assert fo.certify(forged).verdict == "refuted"


def test_what_underflows_beside_another_price_proves_nothing() -> None:
    inst = fo.Instance(np.ones((2, 1)), np.ones((2, 1)), np.eye(2))
    right = fo.Allocation(
        inst, fo.MaxMin("tasks"), np.eye(2), level_prices=[[[1e308], [5e-324]], [[0.0], [1.0]]]
    )
    assert fo.certify(right).certified  # the first user by the first prices, the other by its own
    alone = right.with_(level_prices=right.level_prices[:1])
    assert fo.certify(alone).undetermined == ("u2",)


def test_a_trifle_of_a_price_is_noise_and_may_prove_too() -> None:
    """u2 takes another server; a price of noise there makes it look as if it held what stops u1."""
    inst = fo.Instance(np.ones((2, 1)), [[1.0], [9.0]], [[1, 0], [1, 1]])
    given = dict(notion=fo.MaxMin("tasks"), tasks=[[1.0, 0], [0, 9.0]])
    for noise in (1e-13, 1e-10, 1e-3):
        prices = [[[1.0], [noise]], [[1.0], [1.0]]]
        right = fo.Allocation(inst, level_prices=prices, **given)
        assert fo.certify(right).certified, noise
        for less in ([[1.0 - 1e-5, 0], [0, 9.0]], [[1.0, 0], [0, 9.0 - 1e-4]]):
            assert not fo.certify(right.with_(tasks=np.array(less))).certified, (noise, less)


def test_the_last_digit_of_the_heavy_is_not_the_light_one_s_room() -> None:
    """A tenth of what the light user is due is lost in rounding the heavy one's tasks."""
    heavy = 1.0 - 2.0**-53
    for left, seen in ((2.0**-52, False), (2.0**-44, True)):
        inst = fo.Instance([[1.0], [1.0]], [[1.0]], weight=[1e15, 1.0])
        alloc = fo.Allocation(
            inst, fo.MaxMin("tasks"), [[heavy - left], [heavy * 1e-15]], level_prices=[[[1.0]]]
        )
        assert (rooms(alloc).max() > 1e-6) == seen


def test_a_user_at_its_limit_where_a_task_counts_less_has_room() -> None:
    inst = fo.Instance([[1.0]], [[4.0], [2.0]], limit=[1.0])
    given = dict(notion=fo.MaxMin("dominant-share"), level_prices=[[[1.0], [1.0]]])
    worse = fo.Allocation(inst, tasks=[[1.0, 0.0]], **given)
    assert rooms(worse).tolist() == [1.0] and not fo.certify(worse).certified
    assert exact_gap(worse) == 1
    better = fo.Allocation(inst, tasks=[[0.0, 1.0]], **given)
    assert fo.certify(better).certified and exact_gap(better) == 0


def spoils(alloc: fo.Allocation, rng: np.random.Generator) -> list[tuple[str, fo.Allocation]]:
    """The answer with a user raised at another's cost, lowered, or two levels swapped."""
    inst, found = alloc.instance, []
    n = int(rng.integers(len(inst.users)))
    for part in (2e-6, 1e-3, 4.0):
        tasks = alloc.tasks * np.where(np.arange(len(inst.users)) == n, 1 + part, 1.0)[:, None]
        # those beside it give way, each server by itself
        with np.errstate(divide="ignore", invalid="ignore"):
            over = np.nanmax(inst.used(tasks) / inst.pool, axis=1)
        others = np.arange(len(inst.users)) != n
        if over.max() > 1 and tasks[n].sum() <= inst.limit[n]:
            own = np.nanmax(inst.demand[n] * tasks[n][:, None] / inst.pool, axis=1)
            beside = np.maximum((1 - own) / np.maximum(over - own, 1e-300), 0.0)
            tasks[others] *= np.where(over > 1, np.minimum(beside, 1.0), 1.0)
            found.append((f"raised by {part}", alloc.with_(tasks=tasks, certificate=None)))
    for part in (2e-6, 1e-3, 0.8):
        found.append((f"lowered by {part}", scaled(alloc, n, 1 - part)))
    return found


@pytest.mark.every(4)
@pytest.mark.parametrize("seed", range(12))
def test_true_answers_pass_and_spoiled_ones_do_not(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for k in range(8):
        inst = random_instance(
            int(rng.integers(2, 9)),
            int(rng.integers(1, 5)),
            int(rng.integers(1, 4)),
            density=float(rng.choice([0.3, 0.6, 1.0])),
            seed=100 * seed + k,
            zero_demand=0.3,
            limits=0.3 * (k % 2),
            weight_decades=(0.0, 6.0)[k % 4 // 2],
            nested=k == 3,
        )
        alloc = fo.solve(inst, fo.MaxMin(("tasks", "drf", "dominant-share")[k % 3]))
        assert alloc.certificate is not None and alloc.certificate.certified
        prices = alloc.level_prices
        assert prices is not None
        forgeries = (
            prices,
            prices[::-1] ** 0.5,
            np.ones_like(prices),
            np.zeros_like(prices),
            prices * 1e300,
            prices * 1e-300,
            np.where(prices > 0, 5e-324, 0.0),
            prices[:1],
        )
        for at, (what, spoiled) in enumerate(spoils(alloc, rng)):
            for forged in forgeries[(at + seed) % 4 :: 4]:  # every fourth, so that all have a turn
                certificate = fo.certify(spoiled.with_(level_prices=forged))
                # proportional changes of those beside it may undo the rise of a tie at a limit
                assert not certificate.certified, (seed, k, what)


def test_nothing_proved_is_open_and_no_nan() -> None:
    inst = fo.Instance([[1.0], [1.0]], [[1.0]])
    none = np.zeros((1, 1, 1))
    given = fo.Allocation(inst, fo.MaxMin("tasks"), [[0.0], [1.0]], level_prices=none)
    found = judged(given)
    assert found.intervals == ((0.0, np.inf), (0.0, np.inf))


@pytest.mark.parametrize("part", [0.0, 1e-16, 2e-15, 1e-14, 1e-12, 1e-10])
def test_just_short_of_a_corner_of_its_limit_a_user_gains_no_whole_piece(part: float) -> None:
    """At the last digits below its limit the next unit is of another server; it is far away."""
    score = np.array([[4.0, 3.0], [2.0, 1.0]])
    inst = fo.Instance(
        [[1.0], [1.0]], [[1.0], [2.0]], [[True, True], [True, False]], limit=[1.0, 1.0]
    )
    alloc = fo.Allocation(
        inst,
        fo.MaxMin(criterion=lambda _: score),
        [[0.0, 1 - part], [1.0, 0.0]],
        level_prices=[[[1.0], [0.0]]],
        score=score,
    )
    assert rooms(alloc).max() <= 2 * part + 1e-15
    assert judged(alloc).certified
