"""A step where users have many rows of their own, beside the step in which rows are shared."""

from __future__ import annotations

import numpy as np
import pytest

import fairopt as fo
from fairopt.certificates import by_rows as shared
from fairopt.certificates import by_wants as alone
from fairopt.certificates import steps


def horizon(users: int, slices: int, servers: int, seed: int) -> fo.Horizon:
    """Wants of slices with several servers, which are rows of one user each."""
    rng = np.random.default_rng(seed)
    capacity = rng.uniform(0.8, 1.2, (slices, servers, 2)) * users / servers
    wants = rng.uniform(0.2, 4, (slices, users)) * (rng.random((slices, users)) < 0.6)
    wants[0] += 0.5
    base = fo.Instance(
        rng.uniform(0.1, 4, (users, 2)), capacity[0], weight=rng.choice([1.0, 1, 2, 3], users)
    )
    return fo.horizon(base, wants, capacity=capacity)


def near(whole: fo.Horizon, notion: fo.Notion) -> fo.Allocation:
    """An answer a little off, so that only a step proves it."""
    answer = fo.solve(whole.instance, notion)
    less = np.random.default_rng(9).uniform(1 - 1e-7, 1, answer.tasks.shape)
    return answer.with_(tasks=answer.tasks * less, certificate=None)


@pytest.mark.parametrize("notion", [fo.ProportionalFair(), fo.AlphaFair(2), fo.AlphaFair(0.5)])
def test_the_step_proves_as_much(monkeypatch, notion):
    whole = horizon(30, 20, 3, 0)
    answer = near(whole, notion)
    taken, before = [], steps.by_wants

    def kept(wanted):
        taken.append((wanted, before(wanted)))
        return taken[-1][1]

    monkeypatch.setattr(steps, "by_rows", lambda wanted: None)
    monkeypatch.setattr(steps, "by_wants", kept)
    again = fo.certify(answer)
    assert again.certified and again.residual < 2e-7
    assert taken and all(found is not None for _, found in taken)
    wanted, (dz, dp, dv) = taken[0]
    # the equations of the step: rows are filled, and columns held cost what they are worth
    used = np.bincount(wanted.row, wanted.entry * dz[wanted.each], len(wanted.rows))
    cost = np.bincount(wanted.each, wanted.entry * dp[wanted.row], len(wanted.owner))
    np.testing.assert_allclose(used - wanted.left, 0.0, atol=1e-6 * np.abs(dz).max() + 1e-12)
    far = cost - dv[wanted.owner] - wanted.error
    np.testing.assert_allclose(far, 0.0, atol=1e-6 * np.abs(dp).max() + 1e-12)


def test_it_is_taken_where_too_many_rows_are_shared(monkeypatch):
    answer = near(horizon(30, 20, 3, 1), fo.ProportionalFair())
    for module in (shared, alone):
        monkeypatch.setattr(module, "ROWS", 150)
    assert fo.certify(answer.with_(score=answer.score)).residual < 2e-7
    monkeypatch.setattr(steps, "by_wants", lambda wanted: None)
    assert fo.certify(answer.with_(score=answer.score)).residual > 1e-6


def test_answers_that_are_off_are_not_certified(monkeypatch):
    """A step decides nothing: what it finds is judged like everything else."""
    monkeypatch.setattr(steps, "by_rows", lambda wanted: None)
    whole = horizon(20, 12, 2, 2)
    answer = fo.solve(whole.instance, fo.ProportionalFair())
    rng = np.random.default_rng(2)
    for size in (1e-2, 1e-4, 5e-6):
        tasks = answer.tasks * (1 - size * rng.random(answer.tasks.shape[0])[:, None])
        off = np.abs(np.log(tasks.sum(axis=1) / answer.totals)).max()
        assert off > 2e-6
        assert not fo.certify(answer.with_(tasks=tasks, certificate=None)).certified
