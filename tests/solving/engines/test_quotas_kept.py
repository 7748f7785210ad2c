"""Beside rules of one's own, throughput keeps its rows but for rounding."""

from __future__ import annotations

import pytest

import fairopt as fo
from tests.rule_draws import draw


@pytest.mark.parametrize("seed", [1111, 1203, 1210])
def test_throughput_keeps_rows_to_rounding(seed: int) -> None:
    assert fo.solve(draw(seed), fo.Throughput()).certificate.certified


def test_lending_beside_a_rule_is_left_as_it_is() -> None:
    """Flows are no tasks, and are not moved."""
    lent = [fo.Quota("u1", "r1", 1.0, borrow=0.5), fo.Quota("u2", "r1", 3.0, borrow=9.0)]
    both = [fo.Term(users=["u1"]), fo.Term(users=["u2"], times=0.5)]
    inst = fo.Instance(
        [[1.0], [2.0]],
        [[4.0]],
        quotas=fo.Quotas(quotas=lent),
        rules=[fo.Rule("both", most=1.2, terms=both)],
    )
    found = fo.solve(inst, fo.Throughput())
    assert found.certificate.certified
    # u1 + 2 u2 <= 4 and u1 + u2 / 2 <= 6/5: both full at 4/15 and 28/15
    assert found.totals.sum() == pytest.approx(32 / 15, abs=1e-9)
