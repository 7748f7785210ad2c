"""What a place proves is right, and no more than it costs: bounds beside the truth and exact sums.

Any feasible point and any prices prove where every optimum is. Points and prices drawn at random
around proved optima, with limits, floors, ceilings and flows: the optimum must lie within; eps must
be the sum of the theorem, computed apart in decimals; and the ends what that eps allows.
"""

from __future__ import annotations

import numpy as np
import pytest

import fairopt as fo
from benchmarks.trust import kinds
from fairopt.certificates.asking import asked
from fairopt.certificates.begun import place_of
from fairopt.certificates.bound import Proved, bound
from fairopt.certificates.given import given, named
from fairopt.certificates.guessed import with_prices
from fairopt.certificates.places import sums
from fairopt.certificates.proof import searched_beside
from fairopt.certificates.question import Question
from tests.oracles.optimum import Optimum, optimum
from tests.oracles.rows import Rows, of_instance
from tests.oracles.sums import losses

ALPHAS = (0.3, 0.5, 1.0, 2.0, 10.0)


def drawn(rng: np.random.Generator) -> tuple[fo.Instance, fo.AlphaFair]:
    """2 to 5 users, limits, and rules now and then."""
    users, servers, rows = (int(rng.integers(a, b)) for a, b in ((2, 6), (1, 4), (1, 4)))
    demand = rng.uniform(0.1, 1, (users, rows)) * (rng.random((users, rows)) < 0.8)
    demand[:, 0] = rng.uniform(0.1, 1, users)
    capacity = rng.uniform(0.5, 2, (servers, rows)) * users
    inst = fo.Instance(demand, capacity, weight=10 ** rng.uniform(-3, 1, users))
    if rng.random() < 0.4:
        most = inst.alone.sum(axis=1) / users * 10 ** rng.uniform(-1, 0.5, users)
        inst = inst.replace(limit=np.where(rng.random(users) < 0.6, most, np.inf))
    over = "floor"
    if rng.random() < 0.6:
        inst = kinds.ruled(rng, inst)
        if inst.quotas is not None and inst.quotas.guarantee_tasks:
            over = str(rng.choice(["floor", "above"]))
    alpha, inside = float(rng.choice(ALPHAS)), bool(rng.random() < 0.3)
    return inst, fo.AlphaFair(alpha, weight_inside=inside, over=over)


def truth_of(inst: fo.Instance, notion: fo.AlphaFair) -> tuple[Rows, Optimum] | None:
    rows = of_instance(inst, np.ones(inst.shape[:2]), notion.over)
    found = optimum(rows, notion.alpha, notion.weight_inside)
    return None if found is None else (rows, found)


def near(
    rng: np.random.Generator, inst: fo.Instance, rows: Rows, truth: Optimum, far: float
) -> np.ndarray:
    """(N, I) tasks around the optimum's, scaled down to fit rows without flows."""
    x = truth.tasks * (1 + far * rng.uniform(-1, 1, len(truth.tasks)))
    g, h = rows.g[:, : len(x)].astype(float), rows.h.astype(float)
    some = h > 0
    over = float((g[some] @ x / h[some]).max()) if not rows.low else 1.0
    x = x / max(over, 1.0) * (1 - 1e-15)
    tasks = np.zeros(inst.shape[:2])
    tasks[rows.owner, rows.server] = x
    return tasks


def seen_at(alloc: fo.Allocation) -> tuple[Question, Proved, float, dict[str, np.ndarray], float]:
    """The question, what the answer's own place proves, eps, prices (named) and log of money."""
    with np.errstate(all="ignore"):
        question = asked(alloc)
        place = place_of(question, given(alloc, question))
        proved, eps = bound(question, place, sums(question, place))
        return question, proved, eps, named(question, place.price[0], alloc), place.log_unit


def prices_of(rng: np.random.Generator, alloc: fo.Allocation, far: float) -> fo.Allocation:
    """The answer at prices a little off those that the judge finds itself."""
    fields = {}
    for name in ("prices", "bound_prices", "node_prices"):
        value = getattr(alloc, name)
        if value is not None:
            fields[name] = value * (1 + far * rng.uniform(-1, 1, value.shape))
    return alloc.with_(**fields)


@pytest.mark.parametrize("far", [0.3, 1e-2, 1e-5])
def test_the_optimum_lies_within_what_any_place_proves(far: float) -> None:
    proved_some = 0
    for seed in range(16):
        rng = np.random.default_rng([17, seed])
        inst, notion = drawn(rng)
        known = truth_of(inst, notion)
        if known is None:
            continue
        rows, truth = known
        base = fo.Allocation(inst, notion, near(rng, inst, rows, truth, far))
        alloc = prices_of(rng, with_prices(base), far)
        question, proved, _, _, _ = seen_at(alloc)
        log_truth = np.log(truth.share / question.share_unit)
        room = 1e-13
        assert (log_truth >= proved.log_share - proved.below - room).all(), seed
        assert (log_truth <= proved.log_share + proved.above + room).all(), seed
        proved_some += bool(np.isfinite(proved.below).any())
    assert proved_some > 4


@pytest.mark.parametrize("far", [0.1, 1e-3, 1e-6])
def test_a_place_proves_what_its_exact_sum_does(far: float) -> None:
    compared = 0
    for seed in range(16):
        rng = np.random.default_rng([18, seed])
        inst, notion = drawn(rng)
        if inst.quotas is not None and inst.quotas.quotas:
            continue  # nothing flows in the exact sums
        known = truth_of(inst, notion)
        if known is None:
            continue
        rows, truth = known
        base = fo.Allocation(inst, notion, near(rng, inst, rows, truth, far))
        alloc = prices_of(rng, with_prices(base), far)
        question, proved, eps, price, log_unit = seen_at(alloc)
        if not np.isfinite(eps):
            continue
        scale = float(np.exp(log_unit))
        exact = losses(alloc, {k: v * scale for k, v in price.items()})
        if exact is None:  # a price of nothing
            continue
        # far away the judge takes the worse side of a loss; near by both are alpha z^2 / 2
        assert 1 - 1e-9 < eps * scale / float(exact.eps) < (1.03 if far < 0.1 else 2.0), seed
        share = np.exp(proved.log_share) * question.share_unit
        np.testing.assert_allclose(share, [float(s) for s in exact.share], rtol=1e-12)
        for n in range(question.users):
            for end in (-proved.below[n], proved.above[n]):
                if np.isfinite(end) and end != 0:
                    assert 0.999 < exact.ratio(n, end) < 1.1, (seed, n)
        compared += 1
    assert compared > 4


def test_a_search_that_begins_elsewhere_certifies_nothing_wrong():
    """From wherever it begins: a right answer is proved, and one that is spoiled is not."""
    rng = np.random.default_rng(7)
    inst = fo.Instance(rng.uniform(0.1, 1, (12, 3)), rng.uniform(5, 20, (5, 3)))
    right = fo.solve(inst, fo.ProportionalFair())
    less = right.tasks.copy()
    less[3] *= 1 - 1e-4
    for other in (right, right.with_(tasks=right.tasks * rng.uniform(0.2, 1, right.tasks.shape))):
        spoiled = right.with_(tasks=less, certificate=None)
        assert not searched_beside(spoiled, other) or not fo.certify(spoiled).certified
        again = right.with_(certificate=None)
        searched_beside(again, other)
        assert fo.certify(again).certified
    assert searched_beside(right.with_(certificate=None), right)
    spoiled = right.with_(tasks=less, certificate=None)
    searched_beside(spoiled, right)
    assert fo.certify(spoiled).residual >= 0.9e-4
