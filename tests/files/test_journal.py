"""Resume files: what any user of a journal may rely on, whatever its entries mean."""

from __future__ import annotations

from pathlib import Path

import pytest

from fairopt.errors import UsageError
from fairopt.files.journal import Journal, head
from fairopt.storage import JournalWarning, encoded

SCHEMA = "fairopt/test/v2"


def test_entries_come_back_by_their_key(tmp_path: Path) -> None:
    path = tmp_path / "work.jsonl"
    with Journal(path, SCHEMA, ("result", "seconds")) as journal:
        journal.add("a", result=[1, 2], seconds=3.0)
        journal.add("a", result=[9], seconds=9.0)  # known already
        journal.add("b", result=None, seconds=0.5, note="not asked for")
    with Journal(path, SCHEMA, ("result", "seconds")) as journal:
        assert journal.known == {
            "a": {"result": [1, 2], "seconds": 3.0},
            "b": {"result": None, "seconds": 0.5},
        }
        with pytest.warns(JournalWarning, match="line 2: too slow; done again"):
            journal.refuse("a", "too slow")
        journal.add("a", result=[1], seconds=1.0)
    with Journal(path, SCHEMA) as journal:
        assert journal.known == {"a": {"result": [1]}, "b": {"result": None}}


def test_a_line_without_a_field_is_not_used(tmp_path: Path) -> None:
    path = tmp_path / "work.jsonl"
    path.write_text(head(SCHEMA) + '{"key": "a"}\n{"key": "b", "result": 1}\n[]\n"cut')
    with pytest.warns(JournalWarning) as told, Journal(path, SCHEMA) as journal:
        assert journal.known == {"b": {"result": 1}}
    assert [str(warning.message).split(": ")[1][-6:] for warning in told] == ["line 2", "line 4"]
    assert path.read_text().endswith("[]\n")  # the line that was cut is gone, the others stay


def test_without_a_file_nothing_is_kept_and_nothing_lost() -> None:
    with Journal(None, SCHEMA) as journal:
        journal.add("a", result=1)
        assert journal.known == {"a": {"result": 1}}


def test_an_earlier_version_is_left_in_the_file_and_done_again(tmp_path: Path) -> None:
    path, older = tmp_path / "work.jsonl", "fairopt/test/v1"
    path.write_text(head(older) + '{"key": "a", "result": 1}\n')
    with pytest.warns(JournalWarning, match="earlier version.*: its 1 entries are done again"):
        journal = Journal(path, SCHEMA, older=older, encode=encoded)
    with journal:
        assert journal.known == {}
        journal.add("a", result=float("inf"))
    with Journal(path, SCHEMA, older=older) as journal:
        assert journal.known == {"a": {"result": "inf"}}
    with pytest.raises(UsageError, match="another kind of file"):
        Journal(path, SCHEMA)
