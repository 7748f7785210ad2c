"""The benchmark of levels: HiGHS alone finds our levels, and its page says what it measured."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import fairopt as fo
from benchmarks import levels_kept
from benchmarks.levels_kept import CASES, Case
from fairopt import criteria


@pytest.mark.parametrize("method", levels_kept.SIDES)
@pytest.mark.parametrize("case", [Case(12, 6, 0.3), Case(12, 6, 0.3, "limits", limits=0.5)])
def test_the_peers_find_our_levels(method: str, case: Case) -> None:
    inst = case.instance()
    wanted = fo.solve(inst, fo.MaxMin())
    found = levels_kept.alone(inst, criteria.score(inst, "drf"), method)
    np.testing.assert_allclose(found, wanted.levels, rtol=1e-7)


def test_a_tiny_page(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(levels_kept, "CASES", (Case(6, 3, 0.5), Case(6, 3, 0.5, "nested")))
    out = tmp_path / "page.md"
    monkeypatch.setattr(sys, "argv", ["levels_kept", "--write", str(out)])
    levels_kept.main()
    text = out.read_text(encoding="utf-8")
    assert "| 6 x 3, 0.5, nested |" in text and "2 clusters" in text and str(tmp_path) not in text


def test_a_peer_that_fails_is_not_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(levels_kept, "alone", lambda *_: "failed: Infeasible")
    row, ratios = levels_kept.line(Case(6, 3, 0.5))
    assert row.count("failed: Infeasible") == 3 and ratios == [np.inf] * 3


def test_cases_are_the_sizes_promised() -> None:
    sizes = {case.name for case in CASES}
    assert {"20x8", "30x10", "50x20", "100x20", "200x40", "300x30", "1000x100", "3000x12"} <= sizes
