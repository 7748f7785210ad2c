"""What a part of the users says between passes, beside what a pass says."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fairopt.instance import Floats
from fairopt.solving.engines.smoothed import newton, rough
from fairopt.solving.engines.smoothed.kinds import Kinds
from fairopt.solving.engines.smoothed.prices import ServerPrices
from fairopt.solving.engines.smoothed.single import Single
from fairopt.solving.engines.smoothed.single_loop import SingleRead
from fairopt.solving.engines.smoothed.users import UsersRead


def crowd(size: int, alpha: float) -> tuple[UsersRead, Floats]:
    rng = np.random.default_rng(8)
    eligible = rng.random((size, 4)) < 0.6
    eligible[np.arange(size), rng.integers(0, 4, size)] = True
    users = UsersRead(alpha, rng.lognormal(0, 1, (size, 3)), np.full(size, -np.log(size)), eligible)
    return users, rng.uniform(0.9, 1.1, (4, 3))


def test_a_part_says_by_how_much_all_change_and_how_wrong_that_may_be(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(rough, "LEAST_HALF", 2_000)
    users, lam = crowd(30_000, 2.0)
    tau = 0.05
    kinds = Kinds(users, ServerPrices.apart(lam), tau, None)
    assert kinds.roughly(kinds.prices, tau) is None
    monkeypatch.setattr("fairopt.solving.engines.smoothed.kinds.LEAST_HALF", 2_000)
    before = kinds.sums(kinds.prices, tau)
    same = kinds.roughly(kinds.prices, tau)
    assert same is not None
    np.testing.assert_allclose(same[0].use, before.use, rtol=1e-12)
    assert not same[1].any()
    moved = ServerPrices.apart(lam * np.random.default_rng(9).uniform(0.99, 1.01, lam.shape))
    found = kinds.roughly(moved, 0.9 * tau)
    assert found is not None
    told, wrong = found
    after = kinds.sums(moved, 0.9 * tau)
    change = np.abs(after.use - before.use).max()
    apart = np.abs(told.use - after.use).max()
    assert 0 < apart < 0.1 * change
    assert apart < 5 * np.abs(wrong).max() < change
    np.testing.assert_allclose(told.spent, after.spent, rtol=5e-3)
    np.testing.assert_allclose(np.diag(told.curvature), np.diag(after.curvature), rtol=0.1)


@pytest.mark.parametrize("alpha", [1.0, 2.5])
def test_users_of_one_server_are_summed_where_they_stand(alpha: float) -> None:
    pytest.importorskip("numba")
    users, lam = crowd(5_000, alpha)
    users = replace(users, compiled=True)
    at = np.flatnonzero(np.arange(5_000) % 3)
    server = users.eligible[at].argmax(axis=1)
    plain = Single(users, at, server, 4, lam, 1e-2)
    loops = SingleRead(users, at, server.astype(np.int16), lam, 1e-2)
    moved = lam * np.random.default_rng(2).uniform(0.99, 1.01, lam.shape)
    demand = users.demand[at]
    parts = demand @ np.abs(moved - lam).max(axis=0) / (demand * lam[server]).sum(axis=1)
    mask = np.arange(len(at)) % 2 == 0
    for one, two in ((plain, loops), (plain.kept(mask), loops.kept(mask))):
        assert len(one) == len(two)
        for name in ("use", "spent", "drift", "curvature"):
            np.testing.assert_allclose(
                getattr(two.sums(moved), name), getattr(one.sums(moved), name), rtol=1e-12
            )
        np.testing.assert_allclose(two.tasks(moved)[0], one.tasks(moved)[0], rtol=1e-14)
        tau = 1e-2 - 2.2 * float(np.median(parts)) / 60.0
        quiet = one.quiet(moved, 60.0, tau)
        assert 0 < quiet.sum() < len(quiet)
        np.testing.assert_array_equal(two.quiet(moved, 60.0, tau), quiet)
        assert two.quiet(lam * (1 + 1e-9), 60.0, 5e-3).all()


def test_a_sample_that_one_pass_has_corrected_is_nearer() -> None:
    users, _ = crowd(60_000, 1.0)
    capacity = np.full((4, 3), 1.0) * [[1.0], [1.2], [0.8], [1.1]]
    pick = np.random.default_rng(2).integers(0, 60_000, 10_000)
    end = newton.SECOND
    whole = newton.further(users, capacity, 60_000, newton.begin(users, capacity, 60_000), end)
    begun = newton.begin(users.some(slice(0, 10_000)), capacity, 60_000)
    first = newton.further(users.some(pick), capacity, 60_000, begun, end)
    then = newton.corrected(users, pick, capacity, first, end)
    apart = [np.abs(one.prices / whole.prices - 1).max() for one in (first, then)]
    assert apart[1] < 0.2 * apart[0]
