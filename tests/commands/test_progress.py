"""The progress display: on a terminal only, and on stderr only."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from fairopt.cli import cli, run
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


@pytest.mark.parametrize(
    ("words", "unit"),
    [
        (["compare", "khamse2016/figure-1"], "rows"),
        (["fill", "kesidis2018/example", "--scheduler", "drf", "--trials", "3"], "fillings"),
        (["fill", "kesidis2018/example", "--all", "--trials", "2"], "schedulers"),
        (["what-if", "ghodsi2011/example", "--notion", "max-min", "--drop", "B"], "max-min"),
    ],
)
def test_long_work_of_every_kind_is_seen(
    words: list[str], unit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    assert run(words) == 0
    assert unit in terminal.getvalue()


def test_a_notion_that_tells_nothing_draws_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    assert run(["solve", "khamse2016/figure-1", "--notion", "ps-dsf", "--order", "s2,s1"]) == 0
    assert terminal.getvalue() == ""


def test_quiet_draws_nothing_and_remarks_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.chdir(tmp_path)
    for quiet in (["--quiet", "solve"], ["solve", "-q"]):
        terminal = Terminal()
        monkeypatch.setattr(sys, "stderr", terminal)
        assert run([*quiet, "khamse2016/figure-1", "--notion", "max-min"]) == 0
        assert terminal.getvalue() == ""
    assert run(["init", "told.toml"]) == 0
    assert "wrote told.toml" in terminal.getvalue()
    monkeypatch.setattr(sys, "stderr", silent := Terminal())
    assert run(["init", "--quiet", "silent.toml"]) == 0
    assert silent.getvalue() == "" and Path("silent.toml").exists()
    assert run(["solve", "--quiet", "missing.toml"]) == 2
    assert "missing.toml" in silent.getvalue()  # faults are told all the same


def commands(group: click.Group, context: click.Context) -> Iterator[click.Command]:
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        yield command
        if isinstance(command, click.Group):
            yield from commands(command, context)


def test_every_command_takes_quiet() -> None:
    found = list(commands(cli, click.Context(cli)))
    assert len(found) > 25
    assert all("-q" in [o for p in c.params for o in p.opts] for c in found)
