"""Each tolerance on both sides: what is half of it passes, what is twice of it is refused.

The number that a tolerance bounds is worked out here from its definition, in plain loops and not by
the package; an answer is bent until that number is what is wanted. So a tolerance that is moved, or
a term left out of the number, fails a test.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import fairopt as fo
from fairopt import solving
from fairopt.errors import UsageError
from fairopt.notions import NOTIONS, make

INF = np.inf


def bent(number: Callable[[float], float], wanted: float) -> float:
    """The t in (0, 1] where `number`, which grows from 0, is `wanted`."""
    low, high = 0.0, 1.0
    while number(high / 10) > wanted:
        high /= 10
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if number(middle) < wanted else (low, middle)
    assert number(high) == pytest.approx(wanted, rel=1e-3)
    return high


def bracketed(
    answer: Callable[[float], fo.Allocation],
    number: Callable[[fo.Allocation], float],
    tolerance: float,
    small: float = 0.5,
) -> tuple[fo.check.Certificate, fo.check.Certificate]:
    """Verdicts at half the tolerance, which must be certified, and at twice, which must not.

    small : another part than half, where bounds of several errors are added.
    """
    found = [
        fo.certify(answer(bent(lambda t: number(answer(t)), times * tolerance)))
        for times in (small, 2.0)
    ]
    assert found[0].certified, found[0].explain()
    assert not found[1].certified, found[1].explain()
    return found[0], found[1]


# -- alpha-fair: the worst user's distance from the optimum, whatever is said of prices -----------


def definition(alloc: fo.Allocation) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(error, overpaid, idle) of each user at the prices given, in the user's own money.

    error: |s/s0 - 1|, s0 what the user wants at these prices, scaled so that all wants cost what
    there is; only s > s0 of one at its limit; at alpha = 0 |W/q - 1|, prices scaled so that what
    there is costs what the answer is worth.
    """
    inst, p, x = alloc.instance, alloc.prices, alloc.tasks
    mu = np.zeros(len(inst.users)) if alloc.limit_prices is None else alloc.limit_prices
    parameters = alloc.notion["parameters"]
    alpha = float(alloc.kind["parameters"].get("alpha", 1.0))  # the trade-off has logarithms
    inside = parameters.get("weight_inside", False)
    users, servers, resources = inst.shape
    used = [
        [sum(x[n, i] * inst.demand[n, r] for n in range(users)) for r in range(resources)]
        for i in range(servers)
    ]
    budget = sum(
        p[i, r] * inst.capacity[i, r] * inst.count[i]
        for i in range(servers)
        for r in range(resources)
    ) + sum(mu[n] * inst.limit[n] for n in range(users) if mu[n] > 0)
    worth = [w**alpha if inside else w for w in inst.weight]
    q, share, paid, idle = (np.zeros(users) for _ in range(4))
    for n in range(users):
        costs = []
        for i in range(servers):
            if not inst.eligible[n, i]:
                continue
            cost = sum(p[i, r] * inst.demand[n, r] for r in range(resources)) + mu[n]
            costs.append(cost / alloc.score[n, i])
            share[n] += alloc.score[n, i] * x[n, i]
            paid[n] += cost * x[n, i]
            idle[n] += sum(
                p[i, r]
                * inst.demand[n, r]
                * x[n, i]
                * (1 - used[i][r] / (inst.capacity[i, r] * inst.count[i]))
                for r in range(resources)
            )
        q[n] = min(costs)
        if mu[n] > 0:
            total = x[n].sum()
            idle[n] += mu[n] * total * (1 - total / inst.limit[n])
    if alpha == 0:
        scale = sum(w * s for w, s in zip(worth, share, strict=True)) / budget
        error = np.array([abs(w / (scale * price) - 1) for w, price in zip(worth, q, strict=True)])
    else:
        wants = np.array([(w / price) ** (1 / alpha) for w, price in zip(worth, q, strict=True)])
        wants *= budget / (q @ wants)
        error = share / wants - 1
        at_limit = x.sum(axis=1) >= inst.limit * (1 - 1e-9)
        error = np.where(at_limit, np.maximum(error, 0), np.abs(error))
    own = q * share
    return error, (paid - own) / own, idle / own


def residual(alloc: fo.Allocation) -> float:
    return float(sum(definition(alloc)).max())


def unexplained(alloc: fo.Allocation) -> float:
    """What prices leave unexplained in the trade-off: beside the user's own terms, all money that
    is overpaid, or asked for what is left of resources and limits, as a part of the user's."""
    inst, x = alloc.instance, alloc.tasks
    score = alloc.score
    share = (score * x).sum(axis=1)
    mu = np.zeros(len(inst.users)) if alloc.limit_prices is None else alloc.limit_prices
    cost = inst.demand @ alloc.prices.T + mu[:, None]
    q = np.where(inst.eligible, cost / np.where(score > 0, score, 1.0), INF).min(axis=1)
    over = ((cost * x).sum(axis=1) - q * share).sum()
    left = (alloc.prices * (inst.capacity - x.T @ inst.demand)).sum()
    asked = mu > 0
    spare = mu[asked] @ (inst.limit - x.sum(axis=1))[asked]
    terms = sum(definition(alloc)) + (over + left + spare) / (q * share)
    return float(terms.max())


def wanted(inst: fo.Instance, alpha: float, p: np.ndarray, mu: np.ndarray) -> float:
    """What the first user, cheapest on the first server, wants at these prices."""
    q = p[0] @ inst.demand.T + mu
    wants = (inst.weight / q) ** (1 / alpha)
    budget = (p * inst.capacity).sum() + (mu[mu > 0] * inst.limit[mu > 0]).sum()
    return float(wants[0] * budget / (q @ wants))


def error_alone(notion, alpha: float, t: float) -> fo.Allocation:
    """One user a little short, a heavy one has it."""
    heavy = 1e4
    inst = fo.Instance([[1.0], [1.0]], [[1 + heavy]], weight=[1, heavy**alpha])
    return fo.Allocation(inst, notion, [[1 - t], [heavy + t]], [[1.0]])


HEAVY = 1e4
"""a second user on a server of its own, where what it is off by disturbs nobody"""


def overpaid_alone(notion, alpha: float, t: float) -> fo.Allocation:
    """One user holds half its share on a server that is dearer by t."""
    inst = fo.Instance(
        [[1.0], [1.0]],
        [[0.5], [0.5], [HEAVY]],
        placement=[[1, 1, 0], [0, 0, 1]],
        weight=[1, HEAVY**alpha],
    )
    return fo.Allocation(inst, notion, [[0.5, 0.5, 0], [0, 0, HEAVY]], [[1.0], [1.0 + t], [1.0]])


def idle_alone(notion, alpha: float, t: float) -> fo.Allocation:
    """One user has what it wants at prices that ask t for a resource half full."""
    inst = fo.Instance(
        [[1.0, 1.0], [1.0, 0.0]],
        [[1.0, 2.0], [HEAVY, 1.0]],
        placement=np.eye(2),
        weight=[1, HEAVY**alpha],
    )
    p = np.array([[1.0, t], [1.0, 0.0]])
    first = wanted(inst, alpha, p, np.zeros(2))
    inst = inst.replace(capacity=[[first, 2 * first], [HEAVY, 1.0]])
    return fo.Allocation(inst, notion, [[first, 0], [0, HEAVY]], p)


def unreached_alone(notion, alpha: float, t: float) -> fo.Allocation:
    """One user has what it wants at prices that ask t for a limit it has reached by half."""
    inst = fo.Instance(
        [[1.0], [1.0]],
        [[1.0], [HEAVY]],
        placement=np.eye(2),
        weight=[1, HEAVY**alpha],
        limit=[2, INF],
    )
    mu = np.array([t, 0.0])
    first = wanted(inst, alpha, np.array([[1.0], [1.0]]), mu)
    inst = inst.replace(capacity=[[first], [HEAVY]])
    return fo.Allocation(inst, notion, [[first, 0], [0, HEAVY]], [[1.0], [1.0]], mu)


BENT = {
    "error": (error_alone, 0),
    "overpayment": (overpaid_alone, 1),
    "money of what is not full": (idle_alone, 2),
    "money of a limit": (unreached_alone, 2),
}
PLAIN = {0.5: "alpha-fair", 1.0: "proportional", 2.0: "alpha-fair", 5.0: "alpha-fair"}


def plainly(alpha: float) -> fo.Notion:
    return make(PLAIN[alpha], **({"alpha": alpha} if PLAIN[alpha] == "alpha-fair" else {}))


@pytest.mark.parametrize("alpha", PLAIN)
@pytest.mark.parametrize("off", [0.9e-6, 1.1e-6, -0.9e-6, -1.1e-6])
def test_a_millionth_of_a_share_on_both_sides(alpha: float, off: float) -> None:
    """A light user short, or with too much: 9e-7 of its share is certified, 1.1e-6 is refuted."""
    alloc = error_alone(plainly(alpha), alpha, off)
    found = fo.certify(alloc)
    assert found.residual == pytest.approx(abs(np.log1p(-off)), rel=1e-3)
    assert found.verdict == ("certified" if abs(off) < 1e-6 else "refuted")
    assert found.undetermined == (() if abs(off) < 1e-6 else ("u1",))
    # whatever the prices are, and without any
    for prices in ([[3.0]], None):
        assert fo.certify(alloc.with_(prices=prices)).verdict == found.verdict


@pytest.mark.parametrize("off", [-5e-5, 5e-5, -2e-4, 2e-4])
def test_a_tolerance_that_is_asked_for(off: float) -> None:
    """What it was judged by is said in the verdict; by default it is a millionth."""
    alloc = error_alone(fo.ProportionalFair(), 1.0, off)
    assert fo.certify(alloc).verdict == "refuted"
    found = fo.certify(alloc, tolerance=1e-4)
    assert found.verdict == ("certified" if abs(off) < 1e-4 else "refuted")
    assert found.tolerance == 1e-4 and found.head.startswith(f"{found.verdict} within 1e-04: ")
    assert "within" not in fo.certify(alloc).head
    assert not fo.certify(alloc, tolerance=1e-9).certified
    right = error_alone(fo.ProportionalFair(), 1.0, 0.0)
    assert fo.certify(right, tolerance=1e-9).certified


@pytest.mark.parametrize("tolerance", [0, 1e-13, 1, -1e-6, 2.0, np.nan, np.inf])
def test_a_tolerance_is_above_rounding_and_below_1(tolerance: float) -> None:
    alloc = error_alone(fo.ProportionalFair(), 1.0, 0.0)
    with pytest.raises(UsageError, match="tolerance: found .*; wanted a number from 1e-12"):
        fo.certify(alloc, tolerance=tolerance)


def test_a_judge_of_one_tolerance_is_not_asked_for_another() -> None:
    alloc = fo.Allocation(TWO, fo.PerServerDominantShare(), [[0.5], [0.5]])
    assert fo.certify(alloc, tolerance=1e-6).certified
    with pytest.raises(UsageError, match="tolerance: found 0.0001 with ps-dsf; wanted 1e-06"):
        fo.certify(alloc, tolerance=1e-4)


@pytest.mark.parametrize("alpha", PLAIN)
@pytest.mark.parametrize("term", [name for name in BENT if name != "error"])
def test_prices_that_are_wrong_beside_right_tasks(alpha: float, term: str) -> None:
    """An answer is its tasks: at prices that are a thousandth off they are proved as well."""
    bend, which = BENT[term]
    right, alloc = (bend(plainly(alpha), alpha, t) for t in (0.0, 1e-3))
    assert definition(alloc)[which][0] > 1e-4
    if term == "overpayment":
        assert (alloc.tasks == right.tasks).all()
    found = fo.certify(alloc)
    assert found.certified and found.residual < 1e-9, found.explain()


def test_residual_with_the_weight_inside() -> None:
    notion = fo.AlphaFair(2, weight_inside=True)

    def answer(t: float) -> fo.Allocation:
        inst = fo.Instance([[1.0], [1.0]], [[11.0]], weight=[1, 10])
        return fo.Allocation(inst, notion, [[1 - t], [10 + t]], [[1.0]])

    good, _ = bracketed(answer, residual, 1e-6)
    assert good.residual == pytest.approx(0.5e-6, rel=1e-3)


@pytest.mark.parametrize("weight", [1, 2])
@pytest.mark.parametrize("mu", [0.0, 1e-6, 0.99, 1.0, 1e9])
def test_a_user_at_its_limit(weight: float, mu: float) -> None:
    """Just worth its limit, or twice as much, and the limit priced in any way: it is due it."""
    inst = fo.Instance([[1.0], [1.0]], [[1e4]], limit=[1, INF], weight=[weight, 9999])

    def verdict(t: float) -> str:
        tasks = [[1 - t], [9999]]
        alloc = fo.Allocation(inst, fo.ProportionalFair(), tasks, [[1.0]], [mu, 0])
        return fo.certify(alloc).verdict

    assert [verdict(t) for t in (0.0, 0.5e-9, 0.9e-6)] == ["certified"] * 3
    assert verdict(1.1e-6) == "refuted"


# -- alpha = 0 ------------------------------------------------------------------------------------


def price_off(t: float) -> fo.Allocation:
    """A light user alone on a server whose price is off by t."""
    inst = fo.Instance([[1.0], [1.0]], [[1e4], [1.0]], placement=[[1, 0], [0, 1]])
    return fo.Allocation(inst, fo.Throughput(), [[1e4, 0], [0, 1]], [[1.0], [1 + t]])


def idle_at_0(t: float) -> fo.Allocation:
    """A light user alone on a server asks for its worth, t of it for a resource half full."""
    inst = fo.Instance(
        [[1.0, 0.0], [1.0, 1.0]], [[1e4, 1.0], [1.0, 2.0]], placement=[[1, 0], [0, 1]]
    )
    p = [[1.0, 0.0], [1 - t, t]]
    return fo.Allocation(inst, fo.Throughput(), [[1e4, 0], [0, 1]], p)


def unreached_at_0(t: float) -> fo.Allocation:
    """A light user alone on a server asks for its worth, t of it for a limit half reached."""
    inst = fo.Instance([[1.0], [1.0]], [[1e4], [1.0]], placement=[[1, 0], [0, 1]], limit=[INF, 2.0])
    return fo.Allocation(inst, fo.Throughput(), [[1e4, 0], [0, 1]], [[1.0], [1 - t]], [0.0, t])


@pytest.mark.parametrize(
    "bend",
    [idle_at_0, lambda t: overpaid_alone(fo.Throughput(), 0, t)],
    ids=["money of what is not full", "overpayment"],
)
def test_residual_of_throughput(bend: Callable[[float], fo.Allocation]) -> None:
    bracketed(bend, residual, 1e-6)


@pytest.mark.parametrize("bend", [price_off, unreached_at_0])
def test_prices_of_throughput_that_are_wrong_beside_right_tasks(
    bend: Callable[[float], fo.Allocation],
) -> None:
    """Each has all that it could have alone, so whatever its server costs."""
    assert residual(bend(1e-3)) > 1e-4
    found = fo.certify(bend(1e-3))
    assert found.certified and found.gap == 0


def test_throughput_leaves_a_light_user_its_own_server() -> None:
    """What it could still add, as a part of what it could run alone: not of all that is made."""

    def answer(t: float) -> fo.Allocation:
        inst = fo.Instance([[1.0], [1.0]], [[1e4], [3.0]], placement=[[1, 0], [0, 1]])
        p = [[1.0], [1.0]]
        return fo.Allocation(inst, fo.Throughput(), [[1e4, 0], [0, 3 * (1 - t)]], p)

    bracketed(answer, lambda alloc: float(1 - alloc.tasks[1, 1] / 3), 1e-6)
    assert not fo.certify(answer(0.5)).certified and not fo.certify(answer(1.0)).certified


# -- what fits, for every notion ------------------------------------------------------------------


def plain(name: str) -> dict[str, object]:
    return {"alpha": 2.0} if name == "alpha-fair" else {}


@pytest.mark.parametrize("name", NOTIONS)
def test_capacity_and_limits_of_every_notion(name: str) -> None:
    notion = make(name, **plain(name))
    full = fo.Instance([[0.3]], [[3.0]])
    bracketed(
        lambda t: fo.Allocation(full, notion, [[10 * (1 + t)]], [[1.0]], level_prices=[[[1.0]]]),
        lambda alloc: float(alloc.tasks[0, 0] * 0.3 / 3 - 1),
        1e-9,
    )
    at = fo.Instance([[0.3]], [[30.0]], limit=[10.0])
    bracketed(
        lambda t: fo.Allocation(at, notion, [[10 * (1 + t)]], [[0.0]], [1.0]),
        lambda alloc: float(alloc.tasks[0, 0] / 10 - 1),
        1e-9,
    )
    for tasks in ([[10.0, 1e-300]], [[10.0, 0.0]]):
        if name != "bmf":
            two = fo.Instance([[0.3]], [[3.0], [3.0]], placement=[[1, 0]])
            prices = [[1.0], [0.0]]
            alloc = fo.Allocation(two, notion, tasks, prices, level_prices=[prices])
            assert fo.certify(alloc).certified == (tasks[0][1] == 0)


def test_time_is_kept_to_one_part_in_a_billion() -> None:
    """Two users of different resources: time is all that stops them."""
    inst = fo.Instance([[1.0, 0.0], [0.0, 1.0]], [[1.0, 1.0]])
    notion = fo.PerServerDominantShare("tdm")
    good, bad = bracketed(
        lambda t: fo.Allocation(inst, notion, [[0.5 * (1 + t)], [0.5 * (1 + t)]]),
        lambda alloc: float(alloc.tasks.sum() - 1),
        1e-9,
    )
    assert bad.verdict == "refuted"


# -- notions by bottlenecks -----------------------------------------------------------------------

BOTTLENECKS = {
    "rdm": fo.PerServerDominantShare(),
    "tdm": fo.PerServerDominantShare("tdm"),
    "per-server-drf": fo.PerServerDRF(),
    "drf-hug": fo.HandOutDRF(),
    "bmf": fo.BottleneckMaxFair(),
}
TWO = fo.Instance([[1.0], [1.0]], [[1.0]])


@pytest.mark.parametrize("name", BOTTLENECKS)
def test_residual_of_notions_by_bottlenecks(name: str) -> None:
    notion = BOTTLENECKS[name]
    # one takes from the other: how far the lower level is below the higher
    good, bad = bracketed(
        lambda t: fo.Allocation(TWO, notion, [[0.5 * (1 - t)], [0.5 * (1 + t)]]),
        lambda alloc: float(1 - alloc.tasks[0, 0] / alloc.tasks[1, 0]),
        1e-6,
    )
    assert good.residual == pytest.approx(0.5e-6, rel=1e-3) and bad.verdict == "unproved"
    # both leave some: by how much either could grow
    good, bad = bracketed(
        lambda t: fo.Allocation(TWO, notion, [[0.5 * (1 - t)], [0.5 * (1 - t)]]),
        lambda alloc: float((1 - alloc.tasks.sum()) / alloc.tasks[0, 0]),
        1e-6,
    )
    assert good.residual == pytest.approx(0.5e-6, rel=1e-3) and bad.verdict == "unproved"
    # one is short of its limit, and the server far from full
    wide = fo.Instance([[1.0], [1.0]], [[10.0]], limit=[1.0, 2.0])
    bracketed(
        lambda t: fo.Allocation(wide, notion, [[1.0], [2.0 * (1 - t)]]),
        lambda alloc: float(1 - alloc.tasks[1, 0] / 2),
        1e-6,
    )
    # what fails by more than a thousandth is refuted
    for t, verdict in ((0.4e-3, "unproved"), (0.6e-3, "refuted")):
        alloc = fo.Allocation(TWO, notion, [[0.5 * (1 - t)], [0.5 * (1 + t)]])
        assert fo.certify(alloc).verdict == verdict


# -- programs over pools --------------------------------------------------------------------------


def test_gap_and_residual_of_sum_m() -> None:
    """A (demand 1) has all of one unit; B (demand 2) would make a little more of it."""

    def answer(t: float) -> fo.Allocation:
        inst = fo.Instance([[1.0], [2.0]], [[1.0]], weight=[1, 0.5 / (1 + t)])
        return fo.Allocation(inst, fo.CommonTasks(), [[1], [0]], [[1.0]])

    good, _ = bracketed(answer, lambda alloc: float(0.5 / alloc.instance.weight[1] - 1), 1e-6)
    assert good.gap == pytest.approx(0.5e-6, rel=1e-3)
    assert good.residual == pytest.approx(0.5e-6, rel=1e-3)


def test_level_and_residual_of_equal_m() -> None:
    """C and D share the third resource, which sets the level 1/2; A and B share what is left of the
    first, of which A makes 0.11 a unit and B a little more. A has it all: its tasks above the level
    cost that much more than they are worth. The gap is a part of that, of what all make."""

    def answer(t: float) -> fo.Allocation:
        inst = fo.Instance(
            [[1, 0.1, 0], [2, 0.2 + 2.2 * t, 0], [0, 0, 1], [0, 0, 1]], [[10.0, 10.0, 1.0]]
        )
        prices = [[0.11, 0.0, 1.0]]
        return fo.Allocation(inst, fo.EqualTasks(), [[9.0], [0.5], [0.5], [0.5]], prices)

    def overpaid(alloc: fo.Allocation) -> float:
        more = alloc.instance.demand[1].sum() / 10 / 2 / 0.11 - 1
        return float(more * 8.5 / 9)

    assert fo.certify(answer(0)).gap < 1e-12
    good, _ = bracketed(answer, overpaid, 1e-6)
    assert good.residual == pytest.approx(0.5e-6, rel=1e-3)
    best = answer(0)
    bracketed(
        lambda t: best.with_(tasks=best.tasks + t * np.array([[0], [0], [-0.5], [0.5]])),
        lambda alloc: float(1 - alloc.tasks[2, 0] / 0.5),
        1e-9,
    )


# -- the trade-off --------------------------------------------------------------------------------


def test_residual_of_the_trade_off() -> None:
    """Without penalties it is proportional fairness."""
    good, _ = bracketed(lambda t: error_alone(fo.Tradeoff(), 1.0, t), unexplained, 1e-6)
    assert good.residual == pytest.approx(0.5e-6, rel=2e-3)
    for term in ("money of what is not full", "money of a limit"):
        alloc = BENT[term][0](fo.Tradeoff(), 1.0, 1e-3)
        assert unexplained(alloc) > 1e-4 and fo.certify(alloc).certified


def test_overpayment_in_the_trade_off() -> None:
    """As much on each of two equal servers, of which one is dearer by t; two heavy users there."""

    def answer(t: float) -> fo.Allocation:
        inst = fo.Instance(
            np.ones((3, 1)),
            [[1e4 + 0.5], [1e4 + 0.5]],
            placement=[[1, 1], [1, 0], [0, 1]],
            weight=[1, 1e4, 1e4 * (1 + t)],
        )
        tasks = [[0.5, 0.5], [1e4, 0], [0, 1e4]]
        return fo.Allocation(inst, fo.Tradeoff(), tasks, [[1.0], [1.0 + t]])

    assert definition(answer(1e-6))[1][0] > 0.99 * residual(answer(1e-6))
    bracketed(answer, unexplained, 1e-6)


def test_residual_under_a_penalty() -> None:
    """Two users of one server, var(F) at 0.5. No pulls P, -P make the bent answer a better fit
    than twice the tolerance, and at its own pulls the other is within half of it."""
    phi, t_pf = np.array([1.0, 3.0]), 0.5
    inst = fo.Instance([[1.0], [1.0]], [[1.0]], weight=phi)

    def answer(first: float) -> fo.Allocation:
        return fo.Allocation(inst, fo.Tradeoff(t_pf=t_pf), [[first], [1 - first]], [[1.0]])

    def fit(first: float, off: float = 0.0) -> float:
        """The worst user's residual at pulls w z, changed by `off`; w = 2 t_pf / N."""
        level = np.array([first, 1 - first]) / phi
        z, w = level - level.mean(), 2 * t_pf / 2
        pull = w * z * (1 + off)
        price = float(phi.sum() - w * z @ z)  # what there is costs what the answer is worth
        error = np.abs(level * (phi * price + pull) / phi - 1)
        return float((error + np.abs(pull / w - z) / level).max())

    def slope(first: float) -> float:
        level = np.array([first, 1 - first]) / phi
        z = level - level.mean()
        return float((phi / level - 2 * t_pf / 2 * z) @ (np.array([1.0, -1.0]) / phi))

    low, high = 0.01, 0.99  # the optimum, where moving a unit from one to the other gains nothing
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if slope(middle) > 0 else (low, middle)
    assert fit(low) < 1e-12
    t = bent(lambda t: fit(low * (1 - t)), 0.5e-6)
    assert fo.certify(answer(low * (1 - t))).certified
    offs = np.concatenate([[0.0], np.geomspace(1e-9, 1e-3, 400), -np.geomspace(1e-9, 1e-3, 400)])
    t = bent(lambda t: min(fit(low * (1 - t), off) for off in offs), 2e-6)
    assert not fo.certify(answer(low * (1 - t))).certified


def test_hard_forms_are_kept_to_one_part_in_a_billion() -> None:
    def apart(t: float) -> np.ndarray:
        return np.array([[0.5 * (1 - t)], [0.5 * (1 + t)]])

    for notion in (fo.Tradeoff(equal_across=True), fo.Tradeoff(equal_within=True)):
        for t, certified in ((0.5e-9, True), (2e-9, False)):
            found = fo.certify(fo.Allocation(TWO, notion, apart(t), [[1.0]]))
            assert found.certified == certified, found.explain()


@pytest.mark.parametrize("form", ["equal_across", "equal_within"])
def test_residual_of_hard_forms(form: str) -> None:
    """Everybody t short."""
    notion = fo.Tradeoff(**{form: True})
    good, _ = bracketed(
        lambda t: fo.Allocation(TWO, notion, [[0.5 * (1 - t)], [0.5 * (1 - t)]], [[1.0]]),
        lambda alloc: float(1 - alloc.tasks.sum()),
        1e-6,
    )
    assert good.residual == pytest.approx(0.5e-6, rel=1e-2)


# -- whole tasks ----------------------------------------------------------------------------------


def test_whole_tasks_are_whole_to_one_part_in_a_billion() -> None:
    filled = {"name": "fill:rps-dsf", "parameters": {"increment": 0.5}}
    inst = fo.Instance([[2.0]], [[3.9]])
    bracketed(
        lambda t: fo.Allocation(inst, filled, [[1.5 * (1 + t)]]),
        lambda alloc: float((alloc.tasks[0, 0] / 0.5 - 3) / (1 + 3)),
        1e-9,
    )


def test_packings_add_up_and_fit_to_one_part_in_a_billion() -> None:
    filled = {"name": "fill:rps-dsf", "parameters": {}}

    def stated(inst: fo.Instance, tasks: float, packed: float) -> fo.Allocation:
        machines = {"machines": {"s1": [{"count": 2, "tasks": {"u1": packed}}]}}
        return fo.Allocation(inst, filled, [[tasks]], steps=(machines,))

    inst = fo.Instance([[2.0]], [[5.0]], count=[2])
    for t, certified in ((0.5e-9, True), (2e-9, False)):
        assert fo.certify(stated(inst, 4, 2 + t / 2)).certified == certified
        tight = fo.Instance([[2.0]], [[4.0 / (1 + t)]], count=[2])
        # the row is over too: the machine is what is looked at
        found = fo.certify(stated(tight, 4, 2))
        held = {check.name: check.holds for check in found.checks}
        assert held["capacity of every machine"] == held["capacity"] == certified


# -- solving --------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", ["gap", "residual"])
def test_solve_keeps_to_the_gap_it_was_asked_for(monkeypatch, number: str) -> None:
    """An answer half a millionth off is certified, and is not what was asked for at 1e-7."""
    notion = fo.ProportionalFair()
    if number == "residual":
        rough = error_alone(notion, 1.0, 0.5e-6)
    else:  # everybody a little short of an idle server: the gap is as large as the residual
        rough = fo.Allocation(TWO, notion, [[0.5 * (1 - 0.2e-6)]] * 2, [[1.0]])
    measured = fo.certify(rough)
    assert measured.certified and getattr(measured, number) > 1e-7
    monkeypatch.setattr(solving.answering, "answer", lambda *_: rough)
    found = fo.solve(rough.instance, notion, reduce=False)
    assert found.certificate.certified
    with pytest.raises(fo.NotCertified) as caught:
        fo.solve(rough.instance, notion, gap=1e-7, reduce=False)
    assert caught.value.allocation.certificate.certified
    again = fo.solve(rough.instance, notion, gap=1e-7, reduce=False, uncertified="return")
    assert again.certificate.certified


def undecided(part: float, dearer: float) -> bool:
    """Of a user with `part` of its share on a server dearer by `dearer`, as the ladder sees it."""
    from fairopt.solving.ladder import AlphaLadder

    inst = fo.Instance([[1.0]], [[1.0 - part], [part]])
    notion = fo.ProportionalFair()
    ladder = AlphaLadder(inst, notion, np.ones((1, 2)), True, 1e-6)
    assert not ladder._undecided()
    tasks, prices = [[1.0 - part, part]], [[1.0], [1.0 + dearer]]
    ladder.best = fo.Allocation(inst, notion, tasks, prices, score=np.ones((1, 2)))
    return ladder._undecided()


@pytest.mark.parametrize(
    ("part", "dearer", "wanted"),
    [(0.5e-4, 0.5e-4, True), (2e-4, 0.5e-4, False), (0.5e-4, 2e-4, False), (2e-4, 2e-4, False)],
)
def test_a_pair_is_undecided_by_what_it_holds_and_what_it_costs(part, dearer, wanted) -> None:
    assert undecided(part, dearer) == wanted


@pytest.mark.parametrize(("part", "dearer"), [(0.0, 1e-5), (1e-12, 1e-5), (1e-5, 1e-12)])
def test_a_pair_of_which_one_is_far_smaller_is_decided(part, dearer) -> None:
    assert undecided(1e-5, 1e-5)
    assert undecided(1e-10, 1e-5)
    assert not undecided(part, dearer)


def test_undecided_pairs_are_polished(monkeypatch) -> None:
    """However good the interior answer is: it is the polish that decides such a pair."""
    from fairopt.solving import ladder

    asked = []
    monkeypatch.setattr(ladder, "polish", lambda question, point: asked.append(1))
    inst = fo.Instance([[1.0, 2.0], [2.0, 1.0], [1.0, 1.0]], [[4.0, 5.0], [6.0, 3.0]])
    for answer in (False, True):
        monkeypatch.setattr(ladder.AlphaLadder, "_undecided", lambda self, found=answer: found)
        assert fo.solve(inst, fo.ProportionalFair(), reduce=False).certificate.certified
        assert bool(asked) == answer


# -- levels ---------------------------------------------------------------------------------------


def order(alloc: fo.Allocation) -> float:
    """The worst residual by the definition (docs/maths/max-min.md), two-sided: at the best prices
    the larger of a user's room and of the worst excess above it."""
    inst, x, near = alloc.instance, alloc.tasks, 1 + 1e-9
    users, servers, resources = inst.shape
    share = (alloc.score * x).sum(axis=1)
    level = share / inst.weight
    best = np.full(users, INF)
    for p in alloc.level_prices:
        price = np.array(
            [
                [
                    sum(p[i, r] * inst.demand[n, r] for r in range(resources)) / alloc.score[n, i]
                    if inst.eligible[n, i]
                    else INF
                    for i in range(servers)
                ]
                for n in range(users)
            ]
        )
        q = price.min(axis=1)
        for n in range(users):
            below = sum(q[m] * share[m] for m in range(users) if level[m] <= level[n] * near)
            room = ((p * inst.capacity).sum() - below) / (q[n] * share[n]) if q[n] else INF
            excess = 0.0
            for m in range(users):
                if level[m] > level[n] * near:
                    asked = inst.eligible[m] & (price[m] > 0)
                    part = (alloc.score[m] * x[m])[asked].sum() / share[m]
                    excess = max(excess, min(part, level[m] / level[n] - 1))
            best[n] = min(best[n], max(room, excess))
    to_limit = inst.limit / x.sum(axis=1) - 1
    return float(np.minimum(best, np.where(to_limit <= 1e-9, 0.0, to_limit)).max())


TASKS = fo.MaxMin("tasks")


def away(due: list[float]) -> Callable[[fo.Allocation], float]:
    """The largest distance of a share from what is due, as a logarithm."""
    return lambda alloc: float(np.abs(np.log(alloc.shares / due)).max())


def test_room_of_levels() -> None:
    """Everybody short; and one short of its limit, far from a server that is full. Both could
    still rise, by up to twice what they are short of: what counts is how far they are from it."""
    bracketed(
        lambda t: fo.Allocation(TWO, TASKS, [[0.5 * (1 - t)]] * 2, level_prices=[[[1.0]]]),
        away([0.5, 0.5]),
        1e-6,
    )
    limited = TWO.replace(limit=[0.25, INF])
    bracketed(
        lambda t: fo.Allocation(
            limited.replace(capacity=[[2.0]], limit=[0.25, 0.5]),
            TASKS,
            [[0.25 * (1 - t)], [0.5]],
            level_prices=[[[1.0]]],
        ),
        away([0.25, 0.5]),
        1e-6,
    )


def test_excess_above_a_level() -> None:
    """A light user above its due hardly shows in the room of the heavy one: it is judged itself."""
    inst = fo.Instance([[1.0], [1.0]], [[1e8 + 1]], weight=[1, 1e8])
    bracketed(
        lambda t: fo.Allocation(inst, TASKS, [[1 + t], [1e8 - t]], level_prices=[[[1.0]]]),
        order,
        1e-6,
        small=0.1,
    )
    # five times its due, and all of what is there
    for tasks in ([[5.0], [1e8 - 4]], [[1e3], [1e8 - 999]]):
        alloc = fo.Allocation(inst, TASKS, tasks, level_prices=[[[1.0]]])
        assert not fo.certify(alloc).certified


def test_excess_is_the_part_held_where_it_is_missed() -> None:
    """A user with a server of its own holds a little of the other, where a heavy one is stopped."""
    inst = fo.Instance([[1.0], [1.0]], [[1e8], [3.0]], placement=[[1, 1], [1, 0]], weight=[1, 1e8])
    rows = [[[1.0], [0.0]], [[1.0], [1.0]]]

    def answer(t: float) -> fo.Allocation:
        return fo.Allocation(inst, TASKS, [[3 * t, 3.0], [1e8 - 3 * t, 0]], level_prices=rows)

    found = fo.certify(answer(0.0))
    assert found.certified and order(answer(0.0)) == 0
    bracketed(answer, order, 1e-6, small=0.1)


def test_levels_a_billionth_apart_are_one() -> None:
    def answer(t: float) -> fo.Allocation:
        return fo.Allocation(
            TWO, TASKS, [[0.5 * (1 - t / 2)], [0.5 * (1 + t / 2)]], level_prices=[[[1.0]]]
        )

    for t, certified in ((0.5e-9, True), (2e-9, False)):
        assert (order(answer(t)) <= 1e-6) == certified
        assert fo.certify(answer(t)).certified == certified
