"""Clusters that share nothing are judged apart, whatever their money: against closed forms.

One server with one resource divides its capacity c so that w t^-alpha is d times one price, so
t_n = (w_n / d_n)^(1/alpha) c / sum_m d_m (w_m / d_m)^(1/alpha).
"""

from __future__ import annotations

import numpy as np
import pytest

import fairopt as fo
from fairopt.certificates import parts
from fairopt.certificates.asking import asked
from fairopt.certificates.proof import nearer, proof

SIZES = ((3, 1e-12), (4, 1.0), (2, 1e12), (3, 1e3))
"""users and capacity of each server"""
ALPHAS = (5.0, 20.0, 50.0, 100.0)
FIRST = (0, 3, 7, 9)


def beside(alpha: float, sizes=SIZES, ruled: bool = False) -> tuple[fo.Instance, np.ndarray]:
    """Clusters of one server each, side by side, and the tasks (N, I) of the optimum."""
    rng = np.random.default_rng([len(sizes), int(alpha)])
    own = np.repeat(np.arange(len(sizes)), [n for n, _ in sizes])
    demand, weight = rng.uniform(0.3, 1, len(own)), rng.uniform(0.5, 2, len(own))
    capacity = np.array([c for _, c in sizes])
    want = (weight / demand) ** (1 / alpha)
    share = want * (capacity / np.bincount(own, want * demand))[own]
    placement = own[:, None] == np.arange(len(sizes))
    bounds = [fo.Bound("u1", "r1", 99.0 * capacity.max())] if ruled else []
    inst = fo.Instance(
        demand[:, None],
        capacity[:, None],
        placement,
        weight,
        quotas=fo.Quotas(bounds=bounds) if ruled else None,
    )
    return inst, np.where(placement, share[:, None], 0.0)


def told(inst: fo.Instance, alpha: float, tasks: np.ndarray, priced: bool) -> fo.Allocation:
    return fo.Allocation(
        inst, fo.AlphaFair(alpha), tasks, np.ones(inst.pool.shape) if priced else None
    )


@pytest.mark.parametrize("ruled", [False, True], ids=["plain", "ceiling"])
@pytest.mark.parametrize("priced", [False, True], ids=["bare", "prices of 1"])
@pytest.mark.parametrize("alpha", ALPHAS)
def test_the_truth_of_every_part_is_certified(alpha: float, priced: bool, ruled: bool) -> None:
    inst, tasks = beside(alpha, ruled=ruled)
    found = fo.certify(told(inst, alpha, tasks, priced))
    assert found.certified
    ends = np.array(found.intervals)
    assert (ends[:, 0] <= tasks.sum(axis=1) * (1 + 1e-13)).all()
    assert (ends[:, 1] >= tasks.sum(axis=1) * (1 - 1e-13)).all()


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("off", [1e-5, 1e-2, 0.5])
@pytest.mark.parametrize("which", range(4))
def test_one_who_is_off_is_named_and_harms_nobody_else(alpha, off, which) -> None:
    inst, tasks = beside(alpha)
    n = FIRST[which]
    less = tasks.copy()
    less[n] *= 1 - off
    alloc = told(inst, alpha, less, priced=True)
    found = fo.certify(alloc)
    assert found.verdict == "refuted"
    assert found.undetermined == (inst.users[n],)
    assert found.residual == pytest.approx(-np.log1p(-off), rel=1e-6)
    others = np.delete(proof(alloc).off, n)
    assert others.max() <= 1e-6


def test_the_place_found_is_one_of_the_whole() -> None:
    """Tasks and prices through the solver's door: certified, and the optimum to the last digits."""
    inst, tasks = beside(50.0)
    fields = nearer(told(inst, 50.0, tasks * (1 - 1e-7), priced=True))
    assert fields is not None and (fields["prices"] > 0).all()
    np.testing.assert_allclose(fields["tasks"], tasks, rtol=1e-12)
    assert fo.certify(fo.Allocation(inst, fo.AlphaFair(50.0), **fields)).residual < 1e-12


def test_many_parts() -> None:
    rng = np.random.default_rng(3)
    sizes = [(2, float(c)) for c in 10 ** rng.uniform(-12, 12, 60)]
    inst, tasks = beside(50.0, sizes)
    tasks[7] *= 1 - 1e-3
    found = fo.certify(told(inst, 50.0, tasks, priced=True))
    assert found.verdict == "refuted" and found.undetermined == (inst.users[7],)


def test_users_of_different_resources_of_one_server_share_nothing() -> None:
    demand = [[1.0, 0.0], [2.0, 0.0], [0.0, 1.0], [0.0, 4.0]]
    capacity = [[3e-12, 2e12], [3e-12, 2e12]]
    inst = fo.Instance(demand, capacity)
    alpha = 50.0
    share = np.zeros(4)
    for own, pool in (([0, 1], 6e-12), ([2, 3], 4e12)):
        d = inst.demand[own].max(axis=1)
        want = d ** (-1 / alpha)
        share[own] = want * pool / (want @ d)
    tasks = np.repeat(share[:, None] / 2, 2, axis=1)
    alloc = told(inst, alpha, tasks, priced=True)
    label = parts.labels(asked(alloc))
    assert label is not None and label[0] == label[1] != label[2] == label[3]
    assert fo.certify(alloc).residual < 1e-12
    tasks[0] *= 1 - 1e-4
    assert fo.certify(told(inst, alpha, tasks, priced=True)).undetermined == ("u1",)


def test_lending_makes_one_part_of_those_who_lend() -> None:
    """Of 2 the first has a quota of 1.5, lends at most .25 of it, and the other borrows that; a
    third has another resource. A part with flows is a question of its own."""
    quotas = fo.Quotas(quotas=[fo.Quota("u1", "r1", 1.5, lend=0.25), fo.Quota("u2", "r1", 0.5)])
    inst = fo.Instance([[1.0, 0], [1.0, 0], [0, 1.0]], [[2.0, 1e9]], quotas=quotas)
    tasks = np.array([[1.25], [0.75], [1e9]])
    for alpha in (5.0, 50.0):
        alloc = told(inst, alpha, tasks, priced=True)
        question = asked(alloc)
        label = parts.labels(question)
        assert len(question.low) and label is not None
        assert label[0] == label[1] == label[-1] != label[2]
        assert fo.certify(alloc).certified
        less = tasks * np.array([[1], [1 - 1e-4], [1]])
        assert fo.certify(told(inst, alpha, less, priced=True)).undetermined == ("u2",)
