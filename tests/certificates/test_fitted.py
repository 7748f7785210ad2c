"""Pulls of hard forms as a start of a proof: what is found beside other references."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

import fairopt as fo
from fairopt.certificates import steps

WITHIN, ACROSS = fo.Tradeoff(equal_within=True), fo.Tradeoff(equal_across=True)


def drawn(users: int, servers: int, seed: int, limits: bool = False) -> fo.Instance:
    """Everybody may be everywhere; weights over two decades."""
    rng = np.random.default_rng(seed)
    limit = np.where(rng.random(users) < 0.3 * limits, rng.uniform(0.5, 5, users), np.inf)
    return fo.Instance(
        rng.uniform(0.1, 1, (users, 3)),
        rng.uniform(5, 20, (servers, 3)),
        weight=10.0 ** rng.uniform(-1, 1, users),
        limit=limit,
    )


@pytest.mark.parametrize("seed", range(3))
def test_equal_shares_on_servers_are_the_fullest_resource(seed: int) -> None:
    """What a server gives to each is known: all it has over what one share of all takes."""
    inst = drawn(60, 12, seed)
    found = fo.solve(inst, WITHIN, solver="interior")
    share = found.tasks * found.score
    takes = np.einsum("nr,ni->ir", inst.demand, 1 / found.score)
    due = (inst.pool / takes).min(axis=1)
    assert found.certificate.residual < 1e-9
    assert [step["step"] for step in found.steps] == ["interior, small"]
    np.testing.assert_allclose(share, np.tile(due, (60, 1)), rtol=1e-8)


@pytest.mark.parametrize("limits", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_equal_levels_are_the_highest_that_a_linear_program_finds(seed: int, limits: bool) -> None:
    inst = drawn(40, 9, seed, limits)
    found = fo.solve(inst, ACROSS, solver="interior")
    n, i = np.divmod(np.arange(360), 9)
    rows = np.zeros((27 + 40, 361))
    for r in range(3):
        rows[3 * i + r, np.arange(360)] = inst.demand[n, r]
    rows[27 + n, np.arange(360)] = 1.0
    equal = np.zeros((40, 361))
    equal[n, np.arange(360)] = found.score[n, i] / inst.weight[n]
    equal[:, -1] = -1.0
    some = np.isfinite(inst.limit)
    most = np.concatenate([inst.pool.ravel(), inst.limit[some]])
    rows = np.concatenate([rows[:27], rows[27:][some]])
    best = linprog(np.append(np.zeros(360), -1.0), rows, most, equal, np.zeros(40))
    assert found.certificate.certified
    np.testing.assert_allclose(found.levels, -best.fun, rtol=1e-7)


@pytest.mark.parametrize("notion", [WITHIN, ACROSS, fo.Tradeoff(equal_across=True, t_drf=1.0)])
def test_less_for_all_is_never_proved(notion: fo.Tradeoff) -> None:
    """The hard forms hold of any part of the answer, but not that nothing is better."""
    found = fo.solve(drawn(40, 9, 4), notion, solver="interior")
    assert found.certificate.certified
    for part in (1e-5, 1e-2):
        less = fo.certify(found.with_(tasks=found.tasks * (1 - part), certificate=None))
        assert not less.certified
        assert less.residual >= part / 2


@pytest.mark.parametrize("order", [[0, 1, 2], [2, 0, 1], [1, 2, 0]])
def test_steps_that_lose_digits_are_made_again(order: list[int]) -> None:
    """A system whose diagonal is of no use is solved by pivots, in whatever order."""
    from scipy.sparse import csc_array

    matrix = csc_array(np.array([[1e-30, 1.0, 0.0], [1.0, 1e-30, 1.0], [0.0, 1.0, 2.0]]))
    right = np.array([1.0, 2.0, 3.0])
    found = steps._symmetric(matrix, right, np.array(order))
    assert found is not None
    np.testing.assert_allclose(matrix @ found, right, rtol=1e-12)
    singular = csc_array(np.array([[1.0, 1.0], [1.0, 1.0]]))
    assert steps._symmetric(singular, np.ones(2), np.arange(2)) is None


def test_a_large_cluster_with_hard_forms_is_answered() -> None:
    """Of so many pairs that tables keep no zeros, nothing is raised."""
    inst = drawn(120, 30, 5)
    for notion in (WITHIN, ACROSS):
        assert fo.solve(inst, notion, solver="interior").certificate.residual < 1e-9
