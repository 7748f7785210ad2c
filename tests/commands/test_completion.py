"""fairopt completion: the script of each shell, printed or written where the shell finds it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from fairopt.cli import run


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_scripts_ask_this_program(shell, capsys):
    assert run(["completion", shell]) == 0
    out = capsys.readouterr().out
    assert f"_FAIROPT_COMPLETE={shell}_complete" in out and "fairopt" in out


def test_bash_reads_what_is_installed(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setenv("SHELL", "/bin/bash")
    assert run(["completion", "--install"]) == 0
    path = tmp_path / "bash-completion" / "completions" / "fairopt"
    assert str(path) in capsys.readouterr().err
    subprocess.run(["bash", "-n", str(path)], check=True)
    done = subprocess.run(
        ["bash", "-c", f"source {path}; complete -p fairopt"], capture_output=True, text=True
    )
    assert done.returncode == 0 and "fairopt" in done.stdout


def test_fish_is_found_below_home(tmp_path, monkeypatch):
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    assert run(["completion", "fish", "--install"]) == 0
    assert (tmp_path / ".config" / "fish" / "completions" / "fairopt.fish").is_file()


def test_what_cannot_be_done_is_told(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("SHELL", "/bin/tcsh")
    assert run(["completion"]) == 2
    assert "found 'tcsh'; wanted bash, zsh or fish" in capsys.readouterr().err
    assert run(["completion", "zsh", "--install"]) == 2
    assert "fairopt completion zsh > ~/.zfunc/_fairopt" in capsys.readouterr().err
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "file"))
    assert run(["completion", "bash", "--install"]) == 2
    assert "cannot be written" in capsys.readouterr().err
