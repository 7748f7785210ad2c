"""Every notion refuses every spoiled answer of the table in `spoils`, and accepts the right one."""

from __future__ import annotations

import numpy as np
import pytest

import fairopt as fo
from fairopt.notions import NOTIONS
from tests.spoils import HURT, INSTANCES, WAYS, Case, cases, changed, forged, spoils


@pytest.fixture(autouse=True)
def no_witness(monkeypatch):
    """Whether a better answer is searched decides between refuted and unproved, not here."""
    monkeypatch.setattr("fairopt.certificates.witness.better", lambda alloc, *_: (alloc.tasks, 0.0))


@pytest.mark.parametrize("case", cases(), ids=str)
def test_spoiled_answers_are_refused(case: Case) -> None:
    assert case.right.certificate.certified
    passed = [str(spoil) for spoil in spoils(case.right) if fo.certify(spoil.alloc).certified]
    assert not passed


@pytest.mark.every(4)
@pytest.mark.parametrize("case", [c for c in cases() if c.where == "pool"], ids=str)
def test_no_prices_make_a_spoiled_answer_right(case: Case) -> None:
    found = list(forged(case.right, "light"))
    assert len(found) >= 5
    passed = [str(spoil) for spoil in found if fo.certify(spoil.alloc).certified]
    assert not passed


@pytest.mark.parametrize("case", cases(), ids=str)
def test_the_unit_of_money_makes_no_right_answer_wrong(case: Case) -> None:
    own = {
        name: getattr(case.right, name) * 2.0**-40
        for name in ("prices", "limit_prices", "level_prices")
        if getattr(case.right, name) is not None
    }
    assert fo.certify(changed(case.right, **own)).certified


def test_the_table_is_whole() -> None:
    """Every notion is in it; every way and every user is used by some notion."""
    assert {case.name for case in cases()} == set(NOTIONS)
    for where in INSTANCES:
        seen = list(spoils(Case("proportional", (), where).right))
        assert {spoil.way for spoil in seen} >= set(WAYS) - {"on another server"}
        assert {spoil.who for spoil in seen} >= set(HURT)
    assert any(spoil.way == "on another server" for spoil in seen)


@pytest.mark.parametrize("case", cases(), ids=str)
def test_what_is_spoiled_is_far_from_right_or_does_not_fit(case: Case) -> None:
    """The table tells no lies: some user's tasks on some server moved by more than 1e-6, as a part
    of them or of what it could run alone there; or the answer exceeds what there is."""
    right, inst = case.right, case.right.instance
    for spoil in spoils(right):
        tasks = spoil.alloc.tasks
        over = max(
            float((spoil.alloc.used / np.where(inst.pool > 0, inst.pool, 1.0)).max()),
            float((tasks.sum(axis=1) / inst.limit).max()),
        )
        whole = np.where(right.tasks > 0, right.tasks, inst.alone)[inst.eligible]
        moved = (np.abs(tasks - right.tasks)[inst.eligible] / whole).max()
        broken = tasks.min() < 0 or tasks[~inst.eligible].any() or over > 1 + 1.5e-9
        assert broken or moved > 1.5e-6, str(spoil)
