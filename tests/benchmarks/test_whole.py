"""Benchmarks of whole tasks: what they ask is what the files say, and small runs end."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

from benchmarks.whole import exact, held, openb, packing
from benchmarks.whole.draws import drawn


def test_a_run_goes_on_from_its_journal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["--small", "3", "--spoiled", "0", "--middle", "1", "--journal", str(tmp_path / "j")]
    held.main(given)
    first = capsys.readouterr().out
    assert "3 of 3 are the fairest" in first and "false claims: 0" in first
    monkeypatch.setattr(held, "ask", lambda name: pytest.fail(f"{name} asked again"))
    held.main(given)
    assert capsys.readouterr().out == first


def test_one_program_of_all_nodes_knows_the_least_shortage() -> None:
    found = exact.fewest(drawn(9).problem, 10.0)
    assert found.closed and found.short == 50


def test_bins_are_proved_too_few_and_enough(tmp_path: Path) -> None:
    """Five items of which no two fit together: five bins, though their volume is that of three."""
    path = tmp_path / "five.vbp"
    path.write_text("2\n10 10\n2\n6 1 3\n6 2 2\n", encoding="utf-8")
    room, items = packing.read(path)
    assert (room, items) == ((10, 10), Counter({(6, 1): 3, (6, 2): 2}))
    assert packing.volume(room, items) == 3
    found = packing.closed(path, 5, 10.0)
    assert (found["lower"], found["upper"], found["closed"]) == (5, 5, True)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_rounded_parts_that_lie_on_a_card_are_one_at_most(k: int) -> None:
    """Any three parts of one card, by tenths and by thousandths around them."""
    parts = [*range(0, 1001, 100), 333, 334, 499, 501]
    for a in parts:
        for b in parts:
            for c in parts:
                if a + b + c <= openb.CARD:
                    assert sum(openb.rounded(x, k) for x in (a, b, c)) <= 1


def test_ways_of_cards_are_all_that_a_node_has() -> None:
    whole = openb.Need(1, 1, 2, openb.CARD, "")
    part = openb.Need(1, 1, 1, 460, "")
    assert openb.ways(part, 1) == [{"card0": Fraction(460, 1000)}]
    assert len(openb.ways(part, 8)) == 2
    for cards in (2, 4, 8):
        for own in openb.ways(whole, cards):
            assert sum(own.values()) == 2
    assert openb.ways(whole, 1) == []
    assert openb.ways(openb.Need(1, 1, 0, 0, ""), 0) == [{}]
    assert openb.may(openb.Need(1, 1, 1, 1000, "T4|P100"), openb.Node(1, 1, 2, "P100"))
    assert not openb.may(openb.Need(1, 1, 1, 1000, "T4"), openb.Node(1, 1, 2, "P100"))
