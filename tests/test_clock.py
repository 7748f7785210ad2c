"""The time limit: the best answer so far, judged, and nothing that begins after it."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

import fairopt as fo
from fairopt import clock, criteria
from fairopt.cli import run
from fairopt.errors import NotCertified, UsageError
from fairopt.instance import Instance

NOW = 1e-9
"""a limit that is over before anything has begun"""


def cluster(users: int = 40, servers: int = 8, seed: int = 0) -> Instance:
    rng = np.random.default_rng(seed)
    placement = rng.random((users, servers)) < 0.4
    placement[np.arange(users), rng.integers(0, servers, users)] = True
    return Instance(rng.lognormal(0, 1, (users, 3)), rng.uniform(10, 90, (servers, 3)), placement)


@pytest.mark.parametrize(
    "notion",
    [
        fo.ProportionalFair(),
        fo.AlphaFair(0),
        fo.AlphaFair(5),
        fo.MaxMin(),
        fo.Tradeoff(t_drf=0.5),
        fo.PerServerDominantShare(),
        fo.PerServerDominantShare(method="algorithm-1"),
        fo.PerServerDominantShare("tdm"),
    ],
)
def test_what_comes_back_at_once_fits_and_is_judged(notion: Any) -> None:
    # a simplex method is given a moment in any case, in which it answers what is small
    inst = cluster(800, 60) if notion == fo.AlphaFair(0) else cluster()
    late = fo.solve(inst, notion, uncertified="return", limit_s=NOW)
    assert late.certificate is not None
    assert late.certificate.checks[0].holds  # it fits
    assert not late.certificate.certified
    told = [step.get("step", "") + step.get("status", "") for step in late.steps]
    assert any("limit" in words for words in told) or isinstance(notion, fo.Tradeoff)


@pytest.mark.parametrize("notion", [fo.ProportionalFair(), fo.AlphaFair(3)])
def test_its_bound_is_true(notion: Any) -> None:
    """No feasible answer, the optimum neither, is worth more than the gap says."""
    inst = cluster(seed=3)
    late = fo.solve(inst, notion, uncertified="return", limit_s=NOW)
    best = fo.solve(inst, notion)
    assert late.certificate is not None
    alpha = getattr(notion, "alpha", 1.0)
    if alpha == 1:
        rise = np.exp(np.mean(np.log(best.totals) - np.log(late.totals))) - 1
    else:
        mean = [np.mean(x.totals ** (1 - alpha)) ** (1 / (1 - alpha)) for x in (best, late)]
        rise = mean[0] / mean[1] - 1
    assert 0 < rise <= late.certificate.gap < np.inf


def test_a_limit_that_is_not_reached_changes_nothing() -> None:
    inst = cluster()
    for notion in (fo.ProportionalFair(), fo.MaxMin(), fo.PerServerDominantShare()):
        assert (fo.solve(inst, notion, limit_s=600).tasks == fo.solve(inst, notion).tasks).all()


def test_a_named_solver_is_stopped_too() -> None:
    late = fo.solve(
        cluster(), fo.AlphaFair(2), solver="clarabel", uncertified="return", limit_s=NOW
    )
    assert late.steps[-1]["step"] == "time limit"


def test_it_raises_with_the_answer() -> None:
    with pytest.raises(NotCertified) as caught:
        fo.solve(cluster(), fo.ProportionalFair(), limit_s=NOW)
    assert caught.value.allocation.totals.min() > 0


@pytest.mark.parametrize("wrong", [0, -1, "2", True, float("nan")])
def test_what_is_no_limit(wrong: Any) -> None:
    with pytest.raises(UsageError, match="limit_s: found .*; wanted seconds, a number above 0"):
        fo.solve(cluster(), fo.MaxMin(), limit_s=wrong)


def test_the_inner_limit_is_never_longer() -> None:
    assert clock.left() == np.inf
    with clock.limit(1000):
        with clock.limit(5000):
            assert clock.left() <= 1000
        with clock.limit(1e-9):
            time.sleep(1e-4)
            assert clock.over() and list(clock.steps(3)) == [0]
            with pytest.raises(clock.OutOfTime):
                clock.tick()
        assert not clock.over() and list(clock.steps(3)) == [0, 1, 2]
    assert not clock.over()


def test_a_judge_has_a_part_more_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(clock.time, "monotonic", lambda: now[0])
    with clock.limit(100):
        now[0] = 100.0
        assert clock.over() and not clock.late()
        now[0] = 124.9
        assert not clock.late()
        now[0] = 125.0
        assert clock.late()
    assert not clock.late()


def test_an_inner_limit_has_its_own_part(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(clock.time, "monotonic", lambda: now[0])
    with clock.limit(100), clock.limit(10):
        now[0] = 12.5
        assert clock.late()


@pytest.mark.parametrize("notion", [fo.MaxMin(), fo.ProportionalFair(), fo.Tradeoff(t_drf=0.5)])
def test_a_judge_out_of_time_does_no_more_than_look(
    notion: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is searched, and of max-min no fractions are worked out; this took
    minutes on top of seconds, of clusters of thousands of users."""
    from fairopt.certificates import enclosed_search, search

    done: list[str] = []

    def counted(module: Any, name: str) -> None:
        own = getattr(module, name)
        monkeypatch.setattr(module, name, lambda *a, **k: (done.append(name), own(*a, **k))[1])

    counted(enclosed_search, "searches")
    counted(search, "stepped")
    inst = cluster(60, 12)
    late = fo.solve(inst, notion, uncertified="return", limit_s=NOW)
    assert late.certificate is not None and not done
    assert late.certificate.verdict == "unproved" and late.certificate.residual > 1
    fo.certify(late.with_(certificate=None))
    assert done  # with time it does more


def test_a_kept_model_runs_for_the_time_that_is_left() -> None:
    from fairopt.highs import run
    from fairopt.solving.engines.programs import kept

    inst = cluster(800, 60)
    model = kept.KeptModel(inst, criteria.score(inst, "tasks"))
    with clock.limit(NOW), pytest.raises(clock.OutOfTime):
        run(model.highs)
    assert model.highest()[0] > 0  # the next solve has its own limit, or none


def test_on_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["solve", "kesidis2018/example", "--limit", "1e-9"]) == 4
    assert "unproved" in capsys.readouterr().out
    assert run(["solve", "kesidis2018/example", "--limit", "60"]) == 0
