"""The page of very many users is written section by section, seeds from a journal."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from benchmarks.many_users import JUDGED, REST, Row, by_seed, seeds, written


def test_a_section_is_written_and_the_others_are_kept(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"# Old\n\nrows\n\n{REST}\n\nkept\n", encoding="utf-8")
    written(page, JUDGED, f"{JUDGED}\n\none\n")
    written(page, "", "# New\n\nrows\n")
    written(page, JUDGED, f"{JUDGED}\n\ntwo\n")
    told = page.read_text(encoding="utf-8")
    assert told == f"# New\n\nrows\n\n{JUDGED}\n\ntwo\n\n{REST}\n\nkept\n"


def test_seeds_in_the_journal_are_not_solved_again(tmp_path: Path) -> None:
    row = Row("1,000,000 x 10, 0.5, 1", "pool", 0.1, 0.5, 3.0, 1.5, 0.0, 1e-9, True, 2.0)
    late = Row("1,000,000 x 10, 1, 1", "pool", 0.1, 0.5, 4.0, 1.5, 0.0, 1e-9, True, 3.0)
    journal = tmp_path / "seeds.jsonl"
    lines = [json.dumps({"seed": k, **asdict(one)}) + "\n" for k, one in enumerate((row, late))]
    journal.write_text("".join(lines), encoding="utf-8")
    found = by_seed(2, journal)
    assert found == [(0, row), (1, late)]
    text = seeds(found)
    assert "2 of 2 are certified" in text and "in 1 of 2" in text
    assert "| 0.5 | 0 | pool | 2.00 | 1.00 | 2.0 | 3.00 | 1.50 | 1e-09 |" in text
