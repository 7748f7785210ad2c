"""The law of a chain on a box: against a direct solve, product forms, and from any start."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import coo_array
from scipy.sparse.linalg import spsolve

from fairopt.dynamics import chain
from fairopt.errors import SolverFailure
from fairopt.instance import Floats


def random_chain(seed: int, shape: tuple[int, ...]) -> tuple[list[Floats], list[Floats]]:
    """Rates that depend on the state."""
    rng = np.random.default_rng(seed)
    birth = [rng.uniform(0.2, 1.0, shape) for _ in shape]
    death = [rng.uniform(0.5, 2.0, shape) for _ in shape]
    for k, rate in enumerate(death):
        rate[(slice(None),) * k + (0,)] = 0.0
    return birth, death


def direct(birth: list[Floats], death: list[Floats]) -> Floats:
    """The law by one sparse factorisation of the whole generator."""
    shape = death[0].shape
    number = np.arange(death[0].size).reshape(shape)
    to, since, rate = [], [], []
    for k in range(len(shape)):
        low = (slice(None),) * k + (slice(None, -1),)
        high = (slice(None),) * k + (slice(1, None),)
        up = np.broadcast_to(birth[k], shape)[low].ravel()
        down = death[k][high].ravel()
        to += [number[high].ravel(), number[low].ravel()]
        since += [number[low].ravel(), number[high].ravel()]
        rate += [up, down]
    flow = coo_array(
        (np.concatenate(rate), (np.concatenate(to), np.concatenate(since))),
        shape=(number.size, number.size),
    ).tolil()
    flow.setdiag(-np.asarray(flow.sum(axis=0)).ravel())
    flow[0] = 1.0
    law = spsolve(flow.tocsr(), np.eye(number.size)[0])
    return np.asarray(law).reshape(shape)


@pytest.mark.parametrize(
    "shape", [(7,), (500,), (9, 8), (31, 26), (30, 2, 9), (11, 10, 8), (9, 3, 5, 7)]
)
def test_the_law_is_that_of_a_direct_solve(shape):
    birth, death = random_chain(sum(shape), shape)
    found = chain.stationary(birth, death, 1e-9)
    exact = direct(birth, death)
    np.testing.assert_allclose(found.chance, exact, atol=1e-9, rtol=1e-6)
    assert np.abs(found.flow).max() <= 1e-9
    assert found.chance.sum() == pytest.approx(1.0, abs=1e-12)


def test_a_product_form_of_many_states():
    shape, load = (40, 50, 30), (0.8, 0.5, 0.3)
    birth = [np.full((1, 1, 1), rho) for rho in load]
    death = [np.minimum(n, 1.0) * np.ones(shape) for n in np.indices(shape)]
    found = chain.stationary(birth, death, 1e-9)
    want = np.ones(())
    for size, rho in zip(shape, load, strict=True):
        part = rho ** np.arange(size)
        want = np.multiply.outer(want, part / part.sum())
    np.testing.assert_allclose(found.chance.sum(axis=(1, 2)), want.sum(axis=(1, 2)), rtol=1e-6)
    assert np.abs(found.chance - want).sum() < 1e-7


def test_the_start_does_not_matter():
    birth, death = random_chain(3, (20, 23))
    first = chain.stationary(birth, death, 1e-10)
    start = np.random.default_rng(0).uniform(0.1, 1.0, (20, 23))
    other = chain.stationary(birth, death, 1e-10, start=start)
    np.testing.assert_allclose(first.chance, other.chance, rtol=1e-5, atol=1e-12)
    assert chain.stationary(birth, death, 1e-10, start=first.chance).cycles <= 2


def test_what_does_not_settle_is_no_answer():
    birth, death = random_chain(3, (20, 23))
    with pytest.raises(SolverFailure, match="20 x 23 states what leaves differs"):
        chain.stationary(birth, death, 1e-9, cycles=1)


def test_a_sweep_is_gauss_seidel_of_two_colours():
    birth, death = random_chain(5, (5, 4, 3))
    level = chain.ChainLevel(birth, death)
    law = np.random.default_rng(1).uniform(size=(5, 4, 3))
    row = level.flat(law)
    level.sweep(row)
    colour = np.indices(law.shape).sum(axis=0) % 2
    for parity in (0, 1):
        new = law.copy()
        for state in np.argwhere(colour == parity):
            comes, leaves = 0.0, 0.0
            for k in range(3):
                below, above = state.copy(), state.copy()
                below[k] -= 1
                above[k] += 1
                if below[k] >= 0:
                    comes += birth[k][tuple(below)] * law[tuple(below)]
                    leaves += death[k][tuple(state)]
                if above[k] < law.shape[k]:
                    comes += death[k][tuple(above)] * law[tuple(above)]
                    leaves += birth[k][tuple(state)]
            new[tuple(state)] = comes / leaves
        law = new
    np.testing.assert_allclose(level.box(row), law, rtol=1e-12)
