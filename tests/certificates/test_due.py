"""A division that comes without prices is judged under max-min, and told who is due what."""

from __future__ import annotations

import numpy as np
import pytest

import fairopt as fo
from fairopt.certificates import due as module
from fairopt.certificates.due import due
from tests.oracles import draws, nested

# A1 of the specification: x 6 for A and B, y 6 for B and C
SHARED = fo.Instance(
    [[1]] * 3,
    [[6], [6]],
    [[1, 0], [1, 1], [0, 1]],
    users=["A", "B", "C"],
    servers=["x", "y"],
    resources=["gpu"],
)
HELD = [[2, 0], [4, 4], [0, 2]]


def test_an_unfair_division_is_refuted_with_who_is_due_what():
    certificate = fo.certify(fo.Allocation(SHARED, fo.MaxMin("tasks"), HELD))
    assert certificate.verdict == "refuted"
    # A and C at the lowest level could hold 6 where B, above them, gives way: a room of 200 %
    assert certificate.gap == pytest.approx(2, rel=1e-9)
    assert tuple(certificate.notes) == (
        "A holds a share of 2 and is due 4",
        "C holds a share of 2 and is due 4",
        "B holds a share of 8 and is due 4",
    )
    assert [low for low, _ in certificate.intervals] == pytest.approx([4, 4, 4])


def test_a_fair_division_is_certified():
    fair = fo.Allocation(SHARED, fo.MaxMin("tasks"), [[4, 0], [2, 2], [0, 4]])
    assert fo.certify(fair).certified
    bent = fair.with_(tasks=[[4 - 1e-5, 0], [2 + 1e-5, 2], [0, 4]])
    assert fo.certify(bent).verdict == "refuted"


def test_in_a_tree_siblings_share_what_their_group_is_due():
    tree = fo.Quotas([fo.Group("g")], {"A": "g", "B": "g"})
    inst = SHARED.replace(quotas=tree)
    notion = fo.MaxMin("tasks", measure="sum")
    assert fo.certify(fo.Allocation(inst, notion, [[3, 0], [3, 0], [0, 6]])).certified
    certificate = fo.certify(fo.Allocation(inst, notion, [[4, 0], [2, 2], [0, 4]]))
    assert certificate.verdict == "refuted"
    assert certificate.notes[0] == "C holds a share of 4 and is due 6"


@pytest.mark.parametrize("seed", range(100, 130))
def test_what_is_due_is_what_the_exact_oracle_says(seed):
    rng = np.random.default_rng(seed)
    try:
        inst = draws.draw(rng, users=4)
        how = draws.how(rng, inst)
        exact = nested.answer(inst, draws.notion(how), **how)
    except (AssertionError, fo.BadInput):
        return
    found = due(exact.with_(rounds=None))
    assert found is not None and fo.certify(found).certified
    np.testing.assert_allclose(found.shares, exact.shares, rtol=1e-7, atol=1e-12)
    assert fo.certify(exact.with_(rounds=None)).certified


def test_what_everybody_is_due_is_worked_out_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever division is judged, and in another notion anew."""
    asked: list[str] = []
    rounds = module._rounds

    def counted(*given: object) -> object:
        asked.append("")
        return rounds(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(module, "_rounds", counted)
    inst = SHARED.replace(users=list("abc"))
    for held in (HELD, [[1, 0], [1, 1], [0, 1]]):
        assert fo.certify(fo.Allocation(inst, fo.MaxMin("tasks"), held)).verdict == "refuted"
    assert len(asked) == 1
    assert fo.certify(fo.Allocation(inst, fo.MaxMin("drf"), HELD)).verdict == "refuted"
    assert len(asked) == 2
