"""The references of the campaigns beside closed forms, fractions and a linear program."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import fairopt as fo
from tests.oracles import pareto
from tests.oracles.optimum import loss, optimum
from tests.oracles.rows import of_instance


def proved(inst: fo.Instance, alpha: float, inside: bool = False, over: str = "floor"):
    return optimum(of_instance(inst, np.ones(inst.shape[:2]), over), alpha, inside)


@pytest.mark.parametrize("alpha", [0.1, 0.5, 1.0, 2.0, 20.0, 100.0])
@pytest.mark.parametrize("inside", [False, True])
def test_one_resource_is_divided_by_the_closed_form(alpha: float, inside: bool) -> None:
    """x_n proportional to (W_n / d_n)^(1/alpha)."""
    rng = np.random.default_rng(int(10 * alpha))
    demand, weight = rng.uniform(0.1, 1, 4), 10.0 ** rng.uniform(-3, 3, 4)
    power = np.log(weight) * (1 if inside else 1 / alpha) - np.log(demand) / alpha
    tasks = np.exp(power - power.max())
    tasks *= 3 / (tasks @ demand)
    found = proved(fo.Instance(demand[:, None], [[3]], weight=weight), alpha, inside)
    assert found is not None
    np.testing.assert_allclose(found.share, tasks, rtol=1e-12)


def test_the_first_example_of_drf_is_known_in_fractions() -> None:
    """max log x + log y, x + 3 y <= 9, 4 x + y <= 18: both rows full, 45/11 and 18/11."""
    found = proved(fo.Instance([[1, 4], [3, 1]], [[9, 18]]), 1.0)
    assert found is not None
    exact = [Fraction(45, 11), Fraction(18, 11)]
    np.testing.assert_allclose(found.share, [float(x) for x in exact], rtol=1e-15)
    # prices solve p + 4 q = 11/45, 3 p + q = 11/18
    p, q = Fraction(11, 45), Fraction(11, 18)
    price = [(4 * q - p) / 11, (3 * p - q) / 11]
    np.testing.assert_allclose(2 * found.price, [float(x) for x in price], rtol=1e-12)


@pytest.mark.parametrize("alpha", [0.5, 1.0, 5.0, 50.0])
def test_limits_ceilings_floors_and_offsets(alpha: float) -> None:
    names = {"users": ["a", "b", "c"], "resources": ["r"]}
    three, four = [[1], [1], [1]], [[4]]
    cases = [
        (fo.Instance(three, four, limit=[1, np.inf, np.inf], **names), "floor", [1, 1.5, 1.5]),
        (
            fo.Instance(three, four, quotas=fo.Quotas(bounds=[fo.Bound("a", "r", 1)]), **names),
            "floor",
            [1, 1.5, 1.5],
        ),
        (
            fo.Instance(three, four, quotas=fo.Quotas(guarantee_tasks={"a": 2}), **names),
            "floor",
            [2, 1, 1],
        ),
        (
            fo.Instance(three, four, quotas=fo.Quotas(guarantee_tasks={"a": 1}), **names),
            "above",
            [2, 1, 1],
        ),
        # what is lent: a brings 3 and lends 1, the others bring 1/2 each and borrow at will
        (
            fo.Instance(
                three,
                four,
                quotas=fo.Quotas(
                    quotas=[
                        fo.Quota("a", "r", 3, lend=1),
                        fo.Quota("b", "r", 0.5),
                        fo.Quota("c", "r", 0.5),
                    ]
                ),
                **names,
            ),
            "floor",
            [2, 1, 1],
        ),
    ]
    for inst, over, truth in cases:
        found = proved(inst, alpha, over=over)
        assert found is not None
        np.testing.assert_allclose(found.share, truth, rtol=1e-12)


def test_modes_and_groups() -> None:
    """A task on either of two cards, half as fast on the second: all of both."""
    names = {"users": ["a", "b"], "resources": ["fast", "slow"]}
    modes = {"a": [fo.Mode("one"), fo.Mode("two", (0, 1), 0.5)]}
    inst = fo.Instance([[1, 0], [1, 0]], [[2, 4]], modes=modes, **names)
    found = proved(inst, 1.0)
    assert found is not None  # a is content with the slow cards: 2 each
    np.testing.assert_allclose(found.share, [2, 2], rtol=1e-12)
    tree = fo.Quotas([fo.Group("g", weight=2.0)], {"a": "g"})
    inst = fo.Instance([[1], [1]], [[3]], users=["a", "b"], resources=["r"], quotas=tree)
    found = proved(inst, 1.0)
    assert found is not None
    np.testing.assert_allclose(found.share, [2, 1], rtol=1e-12)


@pytest.mark.parametrize("alpha", [0.5, 1.0, 2.0, 20.0])
def test_shares_already_had_are_filled_up_from_below(alpha: float) -> None:
    """Water over 1, 3, 9 in a pool of 8: the first two reach 6, the third gets nothing."""
    had = fo.Instance([[1.0], [1.0], [1.0]], [[8.0]], start=[1.0, 3.0, 9.0])
    found = proved(had, alpha)
    assert found is not None
    np.testing.assert_allclose(found.share, [5.0, 3.0, 0.0], atol=1e-13)
    # at most 2 on the server, or 2 tasks of the second at least half of the first
    held = had.replace(limit_on=[[2.0], [np.inf], [np.inf]])
    found = proved(held, alpha)
    assert found is not None
    np.testing.assert_allclose(found.share, [2.0, 6.0, 0.0], atol=1e-13)
    tied = had.replace(rules=[fo.Rule("tied", least=4.0, terms=[fo.Term("u2")])])
    found = proved(tied, alpha)
    assert found is not None
    np.testing.assert_allclose(found.share, [4.0, 4.0, 0.0], atol=1e-13)


def test_nothing_is_proved_of_who_can_have_nothing() -> None:
    shut = fo.Quotas(bounds=[fo.Bound("a", "r", 0)])
    inst = fo.Instance([[1], [1]], [[3]], users=["a", "b"], resources=["r"], quotas=shut)
    assert proved(inst, 1.0) is None


@pytest.mark.parametrize("seed", range(6))
def test_the_optimum_is_a_long_way_above_nothing_and_pareto(seed: int) -> None:
    """Nobody can have more while the others keep theirs, and the worst off has about its max-min
    share where alpha is large: at least t* (sum W / W_n)^(-1/(alpha-1))."""
    rng = np.random.default_rng(seed)
    inst = fo.Instance(rng.uniform(0.1, 1, (4, 2)), rng.uniform(1, 3, (2, 2)))
    for alpha in (1.0, 30.0):
        rows = of_instance(inst, np.ones(inst.shape[:2]))
        found = optimum(rows, alpha)
        assert found is not None
        for n in range(4):
            assert pareto.could_have(rows, found.share, n) == pytest.approx(1, abs=1e-6)
            less = found.share * np.where(np.arange(4) == n, 0.9, 1.0)
            assert pareto.could_have(rows, less, n) == pytest.approx(1 / 0.9, abs=1e-6)
        if alpha > 1:
            least = pareto.worst_off(rows) * 4 ** (-1 / (alpha - 1))
            assert found.share.min() >= least * (1 - 1e-9)
    assert pareto.fits(rows)


def test_the_loss_is_that_of_the_welfare() -> None:
    """W g(t) - v t at its best, less what it is at t e^z, in units of money."""
    best, z = 1.7, 0.3

    def gain(t: float, alpha: float) -> float:
        welfare = np.log(t) if alpha == 1 else t ** (1 - alpha) / (1 - alpha)
        return float(welfare - best**-alpha * t)

    for alpha in (0.5, 1.0, 3.0):
        lost = (gain(best, alpha) - gain(best * np.exp(z), alpha)) / best ** (1 - alpha)
        assert float(loss(Decimal(z), Decimal(alpha))) == pytest.approx(lost, rel=1e-9)
