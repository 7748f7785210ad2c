"""Who moves the prices of a tie alone: the formula beside prices that are really moved."""

from __future__ import annotations

import numpy as np

from fairopt.solving.engines.smoothed import sway
from fairopt.solving.engines.smoothed.kinds import Kinds, told
from fairopt.solving.engines.smoothed.prices import ServerPrices
from fairopt.solving.engines.smoothed.users import UsersRead


def crowd(size: int, servers: int = 3, seed: int = 0) -> tuple[UsersRead, np.ndarray]:
    """UsersRead of all servers, and prices at which these are nearly equally dear."""
    rng = np.random.default_rng(seed)
    demand, log_w = rng.lognormal(0, 1, (size, 2)), np.full(size, -np.log(size))
    users = UsersRead(1.0, demand, log_w, np.ones((size, servers), bool))
    return users, rng.uniform(0.999, 1.001, (servers, 2))


def test_the_bound_does_not_change_who_is_found() -> None:
    users, lam = crowd(200)
    tau = 1e-3
    found = told(users, lam, tau, None)
    rng = np.random.default_rng(1)
    root = rng.normal(size=(6, 6))
    ties = np.ones((3, 3), bool)
    for scale in (1e-3, 0.03, 0.3, 3.0):
        inverse = scale * root @ root.T
        one = sway.swaying(users, found.near, found.log_least, ties, lam, None, tau, inverse)
        # with scores, all 1, nobody is left out before the exact test
        scored = UsersRead(1.0, users.demand, users.log_w, users.eligible, np.zeros((200, 3)))
        two = sway.swaying(scored, found.near, found.log_least, ties, lam, None, tau, inverse)
        np.testing.assert_array_equal(one, two)
        money, n = np.exp(users.log_w), 7
        worst = 0.0
        for i, k in ((0, 1), (0, 2), (1, 2)):
            if found.near[n, i] and found.near[n, k]:
                v = np.zeros((3, 2))
                v[i] += users.demand[n] / (users.demand[n] @ lam[i])
                v[k] -= users.demand[n] / (users.demand[n] @ lam[k])
                worst = max(worst, float(money[n] * v.ravel() @ inverse @ v.ravel()))
        assert one[n] == (worst > sway.MOST_WINDOWS * tau)


def test_a_heavy_user_is_sharp_and_its_light_neighbours_are_not() -> None:
    users, lam = crowd(2000)
    users.log_w[5] = np.log(2.0)
    tau = 1e-3
    kinds = Kinds(users, ServerPrices.apart(lam), tau, None)
    assert not len(kinds.sharp_at)
    curvature = kinds.sums(kinds.prices, tau).curvature + 1e-3 * np.eye(6)
    again = kinds.again(kinds.prices, tau, np.linalg.inv(curvature))
    assert 5 in again.sharp_at and len(again.sharp_at) < 5


def test_users_not_told_again_are_where_they_would_be_told_to_be() -> None:
    rng = np.random.default_rng(3)
    users, lam = crowd(3000)
    lam = lam * np.array([[1.0], [1.1], [1.25]])
    users = users.some(slice(None), rng.random((3000, 3)) < 0.5)
    users = users.some(np.flatnonzero(users.eligible.any(axis=1)))
    inverse = np.zeros((6, 6))
    before = Kinds(users, ServerPrices.apart(lam), 1e-3, None)
    assert len(before.settled_at) > 1000
    moved = ServerPrices.apart(lam * rng.uniform(0.999, 1.001, lam.shape))
    after = before.again(moved, 2e-4, inverse)
    anew = Kinds(users, moved, 2e-4, None, inverse=inverse)
    assert len(after.settled_at) > 0
    ours = np.sort(np.concatenate([after.settled_at, after.single_at]))
    theirs = np.sort(np.concatenate([anew.settled_at, anew.single_at]))
    np.testing.assert_array_equal(ours, theirs)
    np.testing.assert_array_equal(after.smooth_at, anew.smooth_at)
    one, two = after.sums(moved, 2e-4), anew.sums(moved, 2e-4)
    np.testing.assert_allclose(one.use, two.use, rtol=1e-12)
    np.testing.assert_allclose(one.curvature, two.curvature, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(after.tasks(moved, 2e-4), anew.tasks(moved, 2e-4), rtol=1e-13)
    # prices that move far: everybody is told again
    far = ServerPrices.apart(lam * rng.uniform(0.5, 1.5, lam.shape))
    ((_, settled),) = before.settled
    assert not settled.quiet(far.all, 60.0, 2e-4).any()
    # so little that it is seen of nobody in particular
    assert settled.quiet(lam * (1 + 1e-9), 60.0, 2e-4).all()
