"""What any feasible point and any prices prove of every optimum is never false.

The optimum comes from elsewhere: of two users by bisection (`two_users`), of one resource in closed
form by bisection of its price, of the printed examples in fractions.
"""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal, localcontext

import numpy as np
import pytest

import fairopt as fo
from fairopt.certificates import digits
from fairopt.certificates.asking import asked
from fairopt.certificates.begun import place_of
from fairopt.certificates.bound import Proved, _pulled, bound
from fairopt.certificates.given import given
from fairopt.certificates.places import Place, sums
from fairopt.certificates.question import Question
from tests.two_users import best

INF = np.inf
ALPHAS = (0.3, 0.5, 1.0, 2.0, 5.0, 20.0)


def proved(alloc: fo.Allocation, parts: int = 2) -> tuple[Question, Proved, float]:
    """What the answer and its prices prove as they are, in the question's unit of shares."""
    question = asked(alloc)
    with np.errstate(all="ignore"):
        place = place_of(question, given(alloc, question), parts)
        found, eps = bound(question, place, sums(question, place))
    return question, found, eps


def holds(question: Question, found: Proved, shares: np.ndarray) -> np.ndarray:
    """(N,) whether the user is bounded from some side, after a check that no bound is false."""
    with np.errstate(divide="ignore"):
        truth = np.log(shares / question.share_unit)
    assert (found.below >= 0).all() and (found.above >= 0).all()
    assert (truth >= found.log_share - found.below - 1e-11).all(), (truth, found)
    assert (truth <= found.log_share + found.above + 1e-11).all(), (truth, found)
    return np.isfinite(found.below) | np.isfinite(found.above)


def two_users(rng: np.random.Generator, alpha: float, rules: str) -> tuple[fo.Instance, np.ndarray]:
    """An instance of two users and its optimum; `rules` may hold limits and floors."""
    resources = int(rng.integers(1, 4))
    demand = rng.uniform(0.1, 1, (2, resources))
    if rng.random() < 0.3:  # nearly parallel
        demand[1] = demand[0] * (1 + 1e-3 * rng.normal(size=resources))
    capacity, weight = rng.uniform(1, 3, resources), 10.0 ** rng.uniform(-2, 2, 2)
    free = best(demand, capacity, weight, alpha, np.full(2, INF), np.zeros(2))
    most, least = np.full(2, INF), np.zeros(2)
    guarantees = []
    if "limits" in rules:
        n = int(rng.integers(2))
        most[n] = free[n] * rng.uniform(0.3, 1.3)
    if "floors" in rules:
        limited = np.isfinite(most)
        n = int(np.argmin(limited)) if limited.any() else int(rng.integers(2))
        least[n] = free[n] * rng.uniform(0.5, 1.0)
        if "limits" not in rules and rng.random() < 0.7:
            alone = float((capacity / demand[n]).min())
            least[n] = free[n] + 0.5 * (alone - free[n])
        guarantees = [fo.Guarantee(f"u{n + 1}", "r1", least[n] * demand[n, 0])]
        least[n] = guarantees[0].amount / demand[n, 0]
    quotas = fo.Quotas(guarantees=guarantees) if guarantees else None
    inst = fo.Instance(demand, [capacity], weight=weight, limit=most, quotas=quotas)
    return inst, best(demand, capacity, weight, alpha, most, least)


def marginal(inst: fo.Instance, tasks: np.ndarray, alpha: float) -> np.ndarray:
    """Non-negative prices that fit what tasks are worth, by least squares."""
    from scipy.optimize import nnls

    value = inst.weight * tasks**-alpha
    return np.asarray(nnls(inst.demand / value[:, None], np.ones(2))[0])


@pytest.mark.every(5)
@pytest.mark.parametrize("rules", ["", "limits", "floors", "limits, floors"])
@pytest.mark.parametrize("alpha", ALPHAS)
def test_no_point_and_no_prices_prove_anything_false(alpha: float, rules: str) -> None:
    """The point is the optimum with less of everything, the prices anything that is >= 0."""
    rng = np.random.default_rng([int(10 * alpha), len(rules)])
    bounded = close = 0
    for _ in range(40):
        inst, right = two_users(rng, alpha, rules)
        floor = asked_floor(inst, alpha)
        short = 10.0 ** rng.uniform(-12, -1)
        tasks = np.maximum(right * (1 - short * rng.random(2)), floor * (1 + 1e-15))
        over = (tasks @ inst.demand / inst.pool[0]).max()
        if over > 1 - 1e-15:  # a floor in the way
            tasks = np.maximum(tasks * (1 - 1e-13) / over, floor * (1 + 1e-15))
        for prices in (
            rng.random(inst.shape[2]),
            marginal(inst, right, alpha) * (1 + short * rng.normal(size=inst.shape[2])),
            marginal(inst, tasks, alpha),
        ):
            prices = np.maximum(prices, 0.0)
            if not prices.any():
                continue
            alloc = fo.Allocation(inst, fo.AlphaFair(alpha), tasks[:, None], prices[None, :])
            question, found, eps = proved(alloc)
            some = holds(question, found, right)
            bounded += int(some.all())
            close += int((found.below + found.above).max() < 0.2)
            assert not eps < 0  # no number where a user costs nothing
    assert bounded > 10 and close > 5


def asked_floor(inst: fo.Instance, alpha: float) -> np.ndarray:
    prices = np.ones((1, inst.shape[2]))
    question = asked(fo.Allocation(inst, fo.AlphaFair(alpha), np.ones((2, 1)), prices))
    return np.asarray(question.least * question.share_unit)


def of_one_resource(
    weight: np.ndarray,
    demand: np.ndarray,
    room: float,
    alpha: float,
    most: np.ndarray,
    least: np.ndarray,
) -> np.ndarray:
    """Shares clip((W / (d price))^(1/alpha), least, most) at the price that fills the resource."""
    low, high = -2000.0, 2000.0
    for _ in range(300):
        price = 0.5 * (low + high)
        with np.errstate(over="ignore"):
            share = np.exp(np.minimum((np.log(weight / demand) - price) / alpha, 600.0))
        share = np.clip(share, least, most)
        low, high = (price, high) if demand @ share > room else (low, price)
    return share


@pytest.mark.parametrize("alpha", ALPHAS)
def test_one_resource_of_many_users(alpha: float) -> None:
    """Weights over eight decades, limits and floors together, on rows of several machines."""
    rng = np.random.default_rng(int(10 * alpha))
    bounded = 0
    for _ in range(30):
        users = int(rng.integers(2, 8))
        demand, weight = rng.uniform(0.1, 1, users), 10.0 ** rng.uniform(-4, 4, users)
        even = 10.0 / users / demand
        most = np.where(rng.random(users) < 0.4, even * rng.uniform(0.1, 2, users), INF)
        floor = np.where(rng.random(users) < 0.3, np.minimum(even * 0.5, most * 0.9), 0.0)
        names = [f"u{n + 1}" for n in range(users)]
        amount = floor * demand
        quotas = fo.Quotas(
            guarantees=[fo.Guarantee(names[n], "r1", amount[n]) for n in np.flatnonzero(floor)]
        )
        inst = fo.Instance(demand[:, None], [[10.0]], weight=weight, limit=most, quotas=quotas)
        floor = amount / demand
        right = of_one_resource(weight, demand, 10.0, alpha, most, floor)
        # a feasible point: everybody above the floor a little less
        part = 10.0 ** rng.uniform(-13, -2)
        tasks = np.maximum(right * (1 - part), floor * (1 + 1e-15))
        if tasks @ demand > 10.0 * (1 - 1e-15):
            continue
        alloc = fo.Allocation(inst, fo.AlphaFair(alpha), tasks[:, None], [[rng.uniform(0.1, 9)]])
        question, found, _ = proved(alloc)
        bounded += int(holds(question, found, right).all())
    assert bounded > 5


def test_the_exact_optimum_proves_itself_to_half_its_digits() -> None:
    """4.1 of kesidis2016 in fractions: eps is what rounding leaves, the bound its square root."""
    inst = fo.read("kesidis2016/no-penalty").instance
    shares = np.array([[40 / 51, 0], [58 / 153, 112 / 153], [35 / 153, 235 / 459]])
    notion = fo.ProportionalFair("dominant-share")
    score = fo.Allocation(inst, notion, np.zeros((3, 2))).score
    money = np.array([[3 / 4, 9 / 10], [0, 27 / 20]]) / inst.pool
    alloc = fo.Allocation(inst, notion, shares / score * (1 - 1e-15), money)
    question, found, eps = proved(alloc)
    assert holds(question, found, shares.sum(axis=1)).all()
    assert 0 < eps < 1e-14 and (found.below + found.above).max() < 1e-6


@pytest.mark.parametrize("spoil", ["overrun", "negative price", "no number", "negative tasks"])
def test_what_is_not_feasible_proves_nothing(spoil: str) -> None:
    inst = fo.Instance([[1.0, 2.0], [2.0, 1.0]], [[3.0, 3.0]])
    alloc = fo.Allocation(inst, fo.ProportionalFair(), [[1 - 1e-9]] * 2, [[1 / 3, 1 / 3]])
    question = asked(alloc)
    place = place_of(question, given(alloc, question))
    assert np.isfinite(bound(question, place, sums(question, place))[1])
    amount, price = place.amount.copy(), place.price.copy()
    if spoil == "overrun":
        amount[0] *= 1 + 2e-9
    elif spoil == "negative tasks":
        amount[0, 0] *= -1
    else:
        price[0, 0] = -1e-12 if spoil == "negative price" else np.nan
    with np.errstate(invalid="ignore"):
        bad = replace(place, amount=amount, price=price)
        found, eps = bound(question, bad, sums(question, bad))
    assert eps == INF and np.isinf(found.below).all() and np.isinf(found.above).all()


def test_parts_that_share_no_rule_have_sums_of_their_own() -> None:
    """A light part is not measured by what is lost in a heavy one."""
    inst = fo.Instance(
        np.ones((4, 1)),
        [[2.0], [2.0]],
        placement=[[1, 0]] * 2 + [[0, 1]] * 2,
        weight=[1e6, 1e6, 1, 1],
    )
    tasks = np.array([[1 - 1e-6, 0], [1 - 1e-6, 0], [0, 1 - 1e-13], [0, 1 - 1e-13]])
    alloc = fo.Allocation(inst, fo.ProportionalFair(), tasks, [[1e6], [1.0]])
    question = asked(alloc)
    place = place_of(question, given(alloc, question))
    seen = sums(question, place)
    whole, _ = bound(question, place, seen)
    apart, _ = bound(question, place, seen, np.array([0, 0, 1, 1, 0, 1]))
    for found in (whole, apart):
        assert holds(question, found, np.ones(4)).all()
    assert apart.above[2:].max() < 1e-5 < 0.1 < whole.above[2:].max()


def test_more_digits_prove_more() -> None:
    """In two floats and in five of the same point; both are true."""
    rng = np.random.default_rng(1)
    inst, right = two_users(rng, 2.0, "")
    tasks = right[:, None] * (1 - 1e-9)
    alloc = fo.Allocation(inst, fo.AlphaFair(2.0), tasks, [marginal(inst, right, 2.0)])
    for parts in (2, 3, 5):
        question, found, _ = proved(alloc, parts)
        assert holds(question, found, right).all()


def test_a_place_holds_what_the_answer_says() -> None:
    inst = fo.Instance([[1.0], [2.0]], [[3.0]])
    alloc = fo.Allocation(inst, fo.ProportionalFair(), [[1.0], [0.5]], [[2 / 3]])
    question = asked(alloc)
    place = place_of(question, given(alloc, question))
    assert isinstance(place, Place) and place.columns.tolist() == [0, 1]
    np.testing.assert_allclose(place.amount[0] * question.tasks_unit, [1.0, 0.5])
    left = sums(question, place).rest.left * question.row_unit
    np.testing.assert_allclose(left, [1.0])
    assert digits.of(np.ones(2), 3).shape == (3, 2)


def test_how_far_a_share_may_be_is_the_distance_to_the_far_end() -> None:
    """The optimum is between 3 below and 2 above 0: from -1, 0, 1 and -2.5 it is at most so far."""
    found = Proved(np.full(5, 0.5), np.full(5, 3.0), np.full(5, 2.0))
    off = found.off(0.5 + np.array([-1.0, 0.0, 1.0, -2.5, np.nan]))
    assert off.tolist() == [3.0, 3.0, 4.0, 4.5, INF]


@pytest.mark.parametrize("alpha", [0.5, 2.0, 3.0])
def test_what_equal_levels_take_from_those_above_is_charged(alpha: float) -> None:
    """Levels .999 and .998 of those that are equal: everybody may have to give up the difference,
    which costs W F^(1 - alpha) of its money for each part of F; a fifth more is charged."""
    inst = fo.Instance([[1, 2], [3, 1]], [[9, 18]], weight=[1, 4])
    alloc = fo.solve(inst, fo.Tradeoff(equal_across=True, g=alpha))
    alloc = alloc.with_(tasks=alloc.tasks * [[1 - 1e-3], [1 - 2e-3]])
    question = asked(alloc)
    with np.errstate(all="ignore"):
        place = place_of(question, given(alloc, question), 2)
        charged, _ = _pulled(question, place, sums(question, place).rest)
    level = alloc.levels
    part = (level.max() - level.min()) / level
    want = 1.2 * inst.weight * level ** (1 - alpha) * part * np.exp(-place.log_unit)
    np.testing.assert_allclose(charged, want, rtol=1e-6)


def test_floors_of_everybody_are_bounds() -> None:
    """Of 8, one is promised 6 and the other 1: it has 2, whatever the rest."""
    quotas = fo.Quotas(guarantees=[fo.Guarantee("a", "gpu", 6), fo.Guarantee("b", "gpu", 1)])
    inst = fo.Instance([[1], [1]], [[8]], users=["a", "b"], resources=["gpu"], quotas=quotas)
    for alpha in (0.5, 1.0, 4.0):
        rent = 1 / 2**alpha - 1 / 6**alpha
        right = fo.Allocation(
            inst, fo.AlphaFair(alpha), [[6], [2]], [[1 / 2**alpha]], floor_prices=[rent, 0]
        )
        assert fo.certify(right).certified
        for wrong in ([[6.001], [1.999]], [[6], [1.999]]):
            assert not fo.certify(right.with_(tasks=wrong)).certified


@pytest.mark.parametrize("limit", [1e-3, 1e-4])
def test_a_user_at_its_limit_may_have_money_beyond_floating_point(limit: float) -> None:
    """At alpha 100 its money is limit^-99 of a user with one task: e^684, e^912."""
    inst = fo.Instance([[1], [1]], [[3]], limit=[limit, INF])

    def verdict(x: float) -> str:
        return fo.certify(fo.Allocation(inst, fo.AlphaFair(100), [[x], [3 - limit]])).verdict

    assert verdict(limit) == verdict(limit * (1 - 1e-12)) == "certified"
    assert verdict(limit * (1 - 1e-5)) == "refuted"


@pytest.mark.parametrize("alpha", [0.5, 1.0, 4.0])
def test_a_limit_above_what_is_promised_counts_what_is_above(alpha: float) -> None:
    """a is promised 2 and may have 3; what is above is divided: b has 5, whatever a would pay."""
    quotas = fo.Quotas(guarantees=[fo.Guarantee("a", "gpu", 2)])
    inst = fo.Instance(
        [[1], [1]], [[8]], limit=[3, INF], users=["a", "b"], resources=["gpu"], quotas=quotas
    )
    notion = fo.AlphaFair(alpha, over="above")
    assert fo.certify(fo.Allocation(inst, notion, [[3], [5]])).certified
    for wrong in ([[2.999], [5.001]], [[3], [4.999]]):
        assert not fo.certify(fo.Allocation(inst, notion, wrong)).certified


@pytest.mark.parametrize("alpha", [0.1, 0.5, 1.0, 2.0, 2.5, 10.0, 100.0])
@pytest.mark.parametrize("parts", [3, 7])
@pytest.mark.parametrize("inside", [False, True])
def test_the_distance_to_the_best_share_has_all_its_digits(
    alpha: float, parts: int, inside: bool
) -> None:
    """Logarithms to 400 digits, of places next to the best and far from it."""
    rng = np.random.default_rng([parts, inside])
    inst = fo.Instance(rng.uniform(0.1, 1, (4, 2)), [[3.0, 2.0]], weight=[1.0, 0.1, 7.0, 20.0])
    notion = fo.AlphaFair(alpha, weight_inside=inside)
    alloc = fo.Allocation(inst, notion, rng.uniform(0.1, 1, (4, 1)))
    question = asked(alloc)
    share = rng.uniform(0.5, 2.0, 4)
    unit = 3.25
    value = np.exp(question.log_w - unit - alpha * np.log(share))
    value[3] *= 1e4
    place = Place(
        np.arange(4),
        digits.plus(digits.of(share / question.columns.worth(np.arange(4)), parts), share * 1e-25),
        digits.of(np.ones(2), parts),
        digits.plus(digits.of(value, parts), value * 1e-21),
        unit,
    )
    found = place.away(question)
    with localcontext() as context:
        context.prec = 400
        for n in range(4):
            u = Decimal(float(question.columns.worth(np.arange(4))[n]))
            t = u * sum((Decimal(float(x)) for x in place.amount[:, n]), Decimal(0))
            v = sum((Decimal(float(x)) for x in place.value[:, n]), Decimal(0))
            times = Decimal(alpha) if inside else Decimal(1)
            log_w = times * Decimal(float(inst.weight[n])).ln()
            log_w += (1 - Decimal(alpha)) * Decimal(float(question.share_unit[n])).ln()
            exact = t.ln() - (log_w - Decimal(unit) - v.ln()) / Decimal(alpha)
            assert found[n] == pytest.approx(float(exact), rel=1e-13)
            assert abs(exact) < 1e-13 or n == 3
