"""The compiled first step of a search proves what the text does, and is not believed."""

from __future__ import annotations

import numpy as np
import pytest

import fairopt as fo
from fairopt import fast
from fairopt.certificates import near_loop, search
from fairopt.certificates.asking import asked
from fairopt.certificates.begun import begun, place_of
from fairopt.certificates.given import read
from fairopt.certificates.places import sums
from fairopt.instance.generate import random_instance

needs_numba = pytest.mark.skipif(not fast.available(), reason="numba is not installed")

NOTIONS = [fo.AlphaFair(0.5), fo.ProportionalFair("tasks"), fo.AlphaFair(4.0, weight_inside=True)]
PENALISED = [fo.Tradeoff(1.0, 0.0), fo.Tradeoff(0.0, 30.0), fo.Tradeoff(100.0, 1000.0)]


def drawn(seed, users=6):
    return random_instance(users, 3, 2, density=0.7, seed=seed, weight_decades=3, zero_demand=0.2)


def judged(monkeypatch, choice, answer, **changes):
    """The certificate of an answer, or of one that is changed, judged anew."""
    monkeypatch.setenv(fast.CHOICE, choice)
    given = {"tasks": answer.tasks, "prices": answer.prices, "limit_prices": answer.limit_prices}
    given.update(changes)
    return fo.certify(fo.Allocation(answer.instance, answer.notion, score=answer.score, **given))


@needs_numba
@pytest.mark.parametrize("notion", [*NOTIONS, *PENALISED], ids=str)
def test_it_leads_where_the_text_does(monkeypatch, notion):
    for seed in range(6):
        answer = fo.solve(drawn(seed), notion)
        question = asked(answer)
        given = read(answer, question)
        monkeypatch.setenv(fast.CHOICE, "1")
        assert near_loop.applies(question, given)
        with np.errstate(all="ignore"):
            found = near_loop.near(question, given, 1.0)
            point = begun(question, place_of(question, given), 1.0)
            place = search.clean(question, point)
            seen = sums(question, place, alone=True)
            seen = seen if place is point.place else None
            text, _ = search.stepped(question, point, seen, True)
            assert (found is None) == (text is None)
            if found is None:
                continue
            clean = search.clean(question, text)
        np.testing.assert_array_equal(found.place.columns, clean.columns)
        np.testing.assert_array_equal(found.full, text.full)
        for name in ("amount", "price", "value"):
            one, other = (getattr(place, name)[0] for place in (found.place, clean))
            np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9 * np.abs(other).max())


@needs_numba
@pytest.mark.parametrize("notion", [*NOTIONS, *PENALISED], ids=str)
def test_what_is_spoiled_is_told_alike(monkeypatch, notion):
    rng = np.random.default_rng(1)
    for seed in range(4):
        answer = fo.solve(drawn(seed), notion)
        spoils = [{}]
        spoils.append({"tasks": answer.tasks * rng.uniform(0.9, 1.0, answer.tasks.shape)})
        spoils.append({"tasks": answer.tasks * (1 - 3e-6)})
        spoils.append({"prices": answer.prices * rng.uniform(0.1, 3.0, answer.prices.shape)})
        spoils.append({"prices": rng.random(answer.prices.shape)})
        for spoil in spoils:
            text, loop = (judged(monkeypatch, choice, answer, **spoil) for choice in "01")
            assert text.verdict == loop.verdict
            assert loop.residual == pytest.approx(text.residual, rel=1e-3, abs=1e-9)


@needs_numba
@pytest.mark.parametrize("notion", [NOTIONS[1], PENALISED[2]], ids=str)
def test_a_wrong_point_is_not_believed(monkeypatch, notion):
    """Whatever the loop says, nothing is proved of an answer but what is true."""
    answer = fo.solve(drawn(2), notion)
    bad = {"tasks": answer.tasks * 0.999}
    real, seen = near_loop.near, []

    def wrong(question, given, room):
        found = real(question, given, room)
        assert found is not None
        kind = seen[0]
        place = found.place
        parts = {"amount": place.amount, "price": place.price, "value": place.value}
        parts[kind] = parts[kind] * 0.999
        for name, part in parts.items():
            object.__setattr__(place, name, part)
        return found

    monkeypatch.setattr(near_loop, "near", wrong)
    for kind in ("amount", "price", "value"):
        seen[:] = [kind]
        assert judged(monkeypatch, "1", answer).certified
        told = judged(monkeypatch, "1", answer, **bad)
        assert told.verdict == "refuted" and told.residual == pytest.approx(1e-3, rel=0.1)


def test_what_it_leaves_to_the_text(monkeypatch):
    monkeypatch.setattr(fast, "often", lambda: True)
    limits = random_instance(6, 3, 2, seed=0, limits=1.0)
    for inst, fits in ((drawn(0), True), (limits, False), (drawn(0, 400), False)):
        answer = fo.Allocation(inst, fo.ProportionalFair("tasks"), 0.01 * inst.alone)
        question = asked(answer)
        assert near_loop.applies(question, read(answer, question)) == fits
    monkeypatch.setattr(fast, "often", lambda: False)
    answer = fo.Allocation(drawn(0), fo.ProportionalFair("tasks"), 0.01 * drawn(0).alone)
    assert not near_loop.applies(asked(answer), read(answer, asked(answer)))
