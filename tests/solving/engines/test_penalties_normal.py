"""The system of a Newton step in users and rows: users first, or all at once, the same answer."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

import fairopt as fo
from fairopt import criteria
from fairopt.formulas.penalties import Terms
from fairopt.instance.generate import random_instance
from fairopt.solving.engines.penalties import absolute, normal


def system(users: int, seed: int, groups: int, across: int):
    rng = np.random.default_rng(seed)
    pairs, rows = 3 * users, 7
    of_user = np.zeros((pairs, users))
    of_user[np.arange(pairs), np.arange(pairs) % users] = rng.uniform(0.1, 1, pairs)
    use = rng.uniform(0, 1, (pairs, rows)) * (rng.random((pairs, rows)) < 0.4)
    part = 10 ** rng.uniform(-6, 3, pairs)
    rank = np.zeros((pairs, groups))
    if groups:
        rank[np.arange(pairs), rng.integers(0, groups, pairs)] = rng.uniform(0, 1, pairs)
    force = rng.uniform(0.1, 1, (users, across))
    return of_user, use, part, rank, force, 10 ** rng.uniform(-6, 1, users + rows)


@pytest.mark.parametrize("groups, across", [(0, 0), (0, 1), (3, 0), (3, 1)])
@pytest.mark.parametrize("seed", range(4))
def test_users_first_is_the_same_system(groups: int, across: int, seed: int) -> None:
    given = of_user, use, part, rank, force, diagonal = system(20, seed, groups, across)
    both = np.concatenate([of_user, use], axis=1)
    matrix = both.T @ (np.diag(part) + rank @ rank.T) @ both + np.diag(diagonal)
    matrix[:20, :20] += force @ force.T
    right = np.random.default_rng(seed).normal(size=len(matrix))
    sparse = (csr_array(of_user), csr_array(use), part, csr_array(rank), *given[4:])
    found = [normal.whole(*given), normal.rows_first(*given), normal.rows_first(*sparse)]
    for solve in found:
        np.testing.assert_allclose(matrix @ solve(right), right, atol=1e-9)


@pytest.mark.parametrize(
    "notion",
    [
        fo.Tradeoff(t_pf=1.0),
        fo.Tradeoff(t_drf=100.0),
        fo.Tradeoff(t_pf=0.1, t_drf=10.0, g=5.0),
        fo.Tradeoff(equal_across=True),
        fo.Tradeoff(equal_within=True),
    ],
)
def test_many_users_are_certified(notion: fo.Tradeoff) -> None:
    """Of 1,500 users, where a table of their square would be formed otherwise."""
    inst = random_instance(1500, 10, 3, density=0.3, seed=3, weight_decades=2)
    assert fo.solve(inst, notion, solver="interior").certificate.certified


@pytest.mark.parametrize("seed", [4, 6])
def test_levels_that_settle_late(seed: int) -> None:
    """Weights over four decades: levels come near after balance, and errors rise meanwhile."""
    inst = random_instance(40, 10, 3, density=0.3, seed=seed, weight_decades=4)
    terms = Terms.of(fo.Tradeoff(t_drf=1e4, g=2.0).plain())
    with np.errstate(all="ignore"):
        score = criteria.score(inst, "dominant-share")
        method = absolute._Penalised(inst, score, terms, inst.weight)
        end = method.run()
        assert method.error(end, method.residuals(end)) < 1e-9
