"""The progress display: on a terminal only, and on stderr only."""

from __future__ import annotations

import io
import sys

import pytest

from fairopt.cli import run
from fairopt.commands import progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_nothing_is_shown_in_a_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    pipe = io.StringIO()
    monkeypatch.setattr(sys, "stderr", pipe)
    with progress.shown("max-min") as told:
        assert told is None
    assert pipe.getvalue() == ""


def test_a_terminal_sees_how_far_it_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    assert run(["solve", "khamse2016/figure-1", "--notion", "max-min"]) == 0
    assert "max-min" in terminal.getvalue() and "users" in terminal.getvalue()
    assert "max-min (criterion=drf)" in capsys.readouterr().out


def test_a_notion_that_tells_nothing_draws_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    assert run(["solve", "khamse2016/figure-1", "--notion", "ps-dsf", "--order", "s2,s1"]) == 0
    assert terminal.getvalue() == ""
