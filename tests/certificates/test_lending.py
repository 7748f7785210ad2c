"""What is lent: the part of what is used at which nobody borrows too much."""

from __future__ import annotations

import numpy as np
import pytest

import fairopt as fo
from fairopt.certificates.ruled import lending
from fairopt.instance.quotas.tree import QuotaRow


def row(nominal, borrow, lend) -> QuotaRow:
    amounts = (np.array(part, dtype=np.float64) for part in (nominal, borrow, lend))
    return QuotaRow(None, 0, np.ones(1, dtype=bool), *amounts)


def most(one: QuotaRow, parent: np.ndarray, use: np.ndarray) -> float:
    """The factor by halving, to a last digit or two."""
    borrow = np.append(0.0, one.borrow[1:])
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        found = lending.flow(one, parent, lending.depths(parent), use * middle)
        low, high = (middle, high) if (found.free >= -borrow).all() else (low, middle)
    return low


@pytest.mark.parametrize("over", [1e-15, 1e-9, 0.25])
def test_what_two_queues_overrun_is_not_the_fault_of_the_root(over: float) -> None:
    """A root that has nothing is short of what a cohort overruns: once that fits, it is not."""
    parent = np.array([-1, 0, 1, 1])
    one = row([0, 0, 3, 5], [0, 0, np.inf, np.inf], [0, 0, np.inf, np.inf])
    use = np.array([0, 0, 8 * (1 + over), 0])
    found = lending.flow(one, parent, lending.depths(parent), use)
    factor = lending.fitting(one, parent, lending.depths(parent), found)
    assert factor == pytest.approx(1 / (1 + over), rel=1e-14)
    fits = lending.flow(one, parent, lending.depths(parent), use * factor)
    assert (fits.free[:2] >= 0).all()


def test_nothing_fits_where_there_is_nothing() -> None:
    parent = np.array([-1, 0, 1])
    one = row([0, 0, 0], [0, 0, 2], [0, 0, 0])
    found = lending.flow(one, parent, lending.depths(parent), np.array([0, 0, 1e-300]))
    assert lending.fitting(one, parent, lending.depths(parent), found) == 0


@pytest.mark.parametrize("seed", range(60))
def test_a_factor_fits_and_is_what_one_node_after_another_allows(seed: int) -> None:
    rng = np.random.default_rng(seed)
    size = int(rng.integers(3, 12))
    parent = np.array([-1, *(int(rng.integers(0, v)) for v in range(1, size))])
    leaf = ~np.isin(np.arange(size), parent)
    nominal = np.where(rng.random(size) < 0.6, rng.uniform(0, 5, size), 0.0)
    borrow = rng.choice([0.0, 1.0, np.inf], size)
    lend = rng.choice([0.0, 1.0, np.inf], size)
    one, use = row(nominal, borrow, lend), np.where(leaf, rng.uniform(0, 5, size), 0.0)
    layers = lending.depths(parent)
    factor = lending.fitting(one, parent, layers, lending.flow(one, parent, layers, use))
    scale = use.sum()
    fits = lending.flow(one, parent, layers, use * factor)
    assert (fits.free + np.append(0.0, one.borrow[1:]) >= -1e-12 * scale).all()
    assert 0 <= factor <= most(one, parent, use) + 1e-12


def test_where_nobody_may_hold_anything_nothing_is_certified() -> None:
    """Somebody who owns nothing of what its task needs may borrow, but there is nobody to lend."""
    quotas = fo.Quotas(
        [fo.Group("all")], {"a": "all"}, quotas=[fo.Quota("a", "cpu", 0, borrow=6e-6)]
    )
    instance = fo.Instance(
        [[3.2, 1.6]],
        [[5.2e-6, 0.127], [4.8e-6, 0.0]],
        users=["a"],
        resources=["cpu", "memory"],
        quotas=quotas,
    )
    answer = fo.solve(instance, fo.MaxMin("tasks"))
    assert answer.certificate.verdict == "certified" and answer.totals[0] == 0
