"""The ladder of alpha-fairness: what it judges, and in which order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fairopt as fo
from fairopt.certificates import proof as judge
from fairopt.certificates import told
from fairopt.solving.engines.compact import small as compact
from fairopt.solving.engines.smoothed import newton as smoothed


@pytest.fixture(autouse=True)
def by_prices(monkeypatch) -> None:
    """Instances that are small enough for a test are not left to the method for small clusters."""
    monkeypatch.setattr(compact, "follow", lambda question: None)


def many(seed: int = 2) -> fo.Instance:
    """So many users that prices alone are tried first."""
    rng = np.random.default_rng(seed)
    capacity = rng.uniform(1, 10, (5, 3)) * 6_000
    placement = rng.random((6_000, 5)) < 0.2
    placement[np.arange(6_000), rng.integers(0, 5, 6_000)] = True
    weight = 10.0 ** rng.uniform(-1, 1, 6_000)
    return fo.Instance(rng.lognormal(0, 1, (6_000, 3)), capacity, placement, weight=weight)


def counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """One entry for each search for the optimum nearby."""
    asked: list[int] = []
    search = told.search

    def searching(*given: Any, **more: Any) -> Any:
        asked.append(1)
        return search(*given, **more)

    monkeypatch.setattr(told, "search", searching)
    return asked


def smooth(alloc: fo.Allocation) -> list[dict[str, Any]]:
    return [step for step in alloc.steps if str(step["step"]).startswith("prices")]


def spoiled(monkeypatch: pytest.MonkeyPatch, name: str, part: float) -> None:
    """Of what this step finds every other user, or pair, has so much less."""
    honest = getattr(smoothed, name)

    def less(*given: Any, **more: Any) -> Any:
        found = honest(*given, **more)
        found.point.x[::2] *= 1 - part
        return found

    monkeypatch.setattr(smoothed, name, less)


def same_as_of_a_stranger(found: fo.Allocation) -> None:
    """The certificate of the answer is that of a judge who knows nothing of the steps."""
    fresh = fo.Allocation(
        found.instance, found.notion, found.tasks, found.prices, found.limit_prices
    )
    again = fo.certify(fresh)
    assert found.certificate is not None and found.certificate.certified
    assert (again.gap, again.residual) == (found.certificate.gap, found.certificate.residual)


def test_an_answer_by_prices_that_is_enough_asks_for_no_closer() -> None:
    found = fo.solve(many(), fo.ProportionalFair())
    assert [step["step"] for step in smooth(found)] == ["prices, smoothed"]
    same_as_of_a_stranger(found)


def test_of_two_answers_by_prices_the_closer_alone_is_judged(monkeypatch) -> None:
    spoiled(monkeypatch, "follow", 1e-4)
    found = fo.solve(many(), fo.ProportionalFair())
    first, second = smooth(found)
    assert "gap" not in first and "not judged" in first["status"]
    assert max(second["gap"], second["residual"]) <= 1e-6
    same_as_of_a_stranger(found)


def test_the_first_answer_is_judged_where_none_is_closer(monkeypatch) -> None:
    """What is a little short is mended from the point at which the judge proved the optimum."""
    spoiled(monkeypatch, "follow", 1e-4)
    monkeypatch.setattr(smoothed, "closer", lambda question, found: None)
    found = fo.solve(many(), fo.ProportionalFair())
    first, second = smooth(found)
    assert second["status"] == "found nothing" and "not judged" not in first["status"]
    assert first["residual"] == pytest.approx(1e-4, rel=1e-2)
    assert found.steps[-1]["step"] == "nearby"
    same_as_of_a_stranger(found)


def test_a_closer_answer_that_is_worse_is_not_kept(monkeypatch) -> None:
    spoiled(monkeypatch, "follow", 1e-4)
    spoiled(monkeypatch, "closer", 1e-3)
    found = fo.solve(many(), fo.ProportionalFair())
    first, second = smooth(found)
    assert first["residual"] < second["residual"] == pytest.approx(1e-3, rel=0.2)
    same_as_of_a_stranger(found)


@pytest.mark.parametrize("spoil", [0.0, 1e-10, 1e-3, 0.5])
@pytest.mark.parametrize("users", [20, 6_000])
def test_what_is_seen_at_first_sight_asks_for_no_search(
    monkeypatch, spoil: float, users: int
) -> None:
    """By it answers are put in order: what is far at once is not searched, and no estimate makes
    an answer certified."""
    inst = many().select(np.arange(users), np.arange(5))
    found = fo.solve(inst, fo.ProportionalFair())
    tasks = np.array(found.tasks)
    tasks[0] *= 1 - spoil
    alloc = fo.Allocation(inst, found.notion, tasks, found.prices, found.limit_prices)
    asked = counted(monkeypatch)
    seen = judge.sight(alloc)
    assert not asked and seen == pytest.approx(-np.log1p(-spoil), rel=0.1, abs=1e-5)
    error = max(judge.measure(alloc))
    assert bool(asked) == (seen <= judge.FAR)
    if asked:  # else it is an estimate
        assert error >= -np.log1p(-spoil) - 1e-6
    # what is kept for the judge changes nothing that it finds
    assert error == max(judge.measure(alloc.with_(tasks=alloc.tasks)))


def test_a_path_cut_off_by_its_iterations_is_not_gone_on(monkeypatch) -> None:
    """It would not make one step more, and be judged once more."""
    monkeypatch.setattr(smoothed.path, "MOST_ITERATIONS", 3)
    monkeypatch.setattr(smoothed, "closer", lambda question, found: pytest.fail("gone on"))
    found = fo.solve(many(), fo.ProportionalFair())
    assert [step["step"] for step in smooth(found)] == [
        "prices, smoothed",
        "prices, smoothed warily",
    ]
    same_as_of_a_stranger(found)


def test_of_many_pairs_what_is_proved_closely_is_not_asked_again(monkeypatch) -> None:
    """The method for small clusters proves them to 1e-7, and that is enough, unless less is asked;
    what it leaves far from any optimum at first sight is judged only if nothing else is better."""
    monkeypatch.undo()
    inst = many(3)
    found = fo.solve(inst, fo.ProportionalFair())
    assert [step["step"] for step in found.steps if "gap" in step] == ["interior, small"]
    assert found.certificate.residual <= 1e-7
    closer = fo.solve(inst, fo.ProportionalFair(), tolerance=1e-11, uncertified="return")
    assert len(closer.steps) > len(found.steps)
    follow = compact.follow

    def far(question: Any) -> Any:
        point = follow(question)
        point.x[::2] *= 0.9
        return point

    monkeypatch.setattr(compact, "follow", far)
    other = fo.solve(inst, fo.ProportionalFair())
    (later,) = [step for step in other.steps if step["step"] == "interior, small"]
    assert later["status"] == "judged later" and "gap" not in later
    assert other.certificate.certified
