"""Text in and out: what is no file is not waited for, what a terminal obeys is never sent to it."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import fairopt as fo
from fairopt import errors, files, storage

FULL = "/dev/full"
MODEL = """
resources = ["cpu"]
[servers.s]
capacity = { cpu = 9 }
[users.a]
demand = { cpu = 1 }
"""


def typed(*arguments: str, closed: str = "", **options) -> subprocess.CompletedProcess:
    """`fairopt ARGUMENTS` in a process of its own; `closed` is a redirection of the shell."""
    line = f'exec "$@" {closed}'
    command = ["bash", "-c", line, "bash", sys.executable, "-m", "fairopt.cli", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, **options)


@pytest.fixture
def model(tmp_path: Path) -> str:
    path = tmp_path / "m.toml"
    path.write_text(MODEL)
    return str(path)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain, é, 漢字, ─", "plain, é, 漢字, ─"),
        ("a\x1b[31mb", "a\\u001b[31mb"),
        ("\x9b\x7f\t\r\x00", "\\u009b\\u007f\\u0009\\u000d\\u0000"),
        ("\u202e\ud800\u2028", "\\u202e\\ud800\\u2028"),
        ("\U000e0001", "\\udb40\\udc01"),
        ("two\nlines", "two\nlines"),
    ],
)
def test_printable(text, shown):
    assert errors.printable(text) == shown
    assert errors.printable(shown) == shown


def test_escapes_are_json():
    text = json.dumps("\x9b\x7f\U000e0001", ensure_ascii=False)
    assert json.loads(errors.printable(text)) == "\x9b\x7f\U000e0001"


def test_faults_are_one_printable_line():
    error = fo.BadInput([errors.Fault("a\nb\x1b", "\x07", "c")], "file\x1b\n")
    assert str(error) == "file\\u001b\\u000a: 1 fault\n  a\\u000ab\\u001b: found \\u0007; wanted c"
    assert error.faults[0].place == "a\nb\x1b"


def test_control_characters_do_not_reach_the_terminal(tmp_path, capfd):
    path = tmp_path / "esc.toml"
    path.write_text('title = "x\\u001b[31mred\\u009b\\nsecond"\n' + MODEL)
    done = typed("solve", str(path))
    assert done.returncode == 0
    assert done.stdout.splitlines()[0] == "x\\u001b[31mred\\u009b second"
    assert done.stdout.replace("\n", "").isprintable()
    path.write_text('"k\\u001b[2Jey" = 1\n' + MODEL)
    done = typed("solve", str(path))
    assert done.returncode == 2 and "k\\u001b[2Jey: found an unknown key" in done.stderr
    for wrong in (["solve", "x\x1b[31m"], ["x\x1b[31m"], ["solve", "x", "--y\x1b[31m"]):
        done = typed(*wrong)
        assert done.returncode == 2
        assert (done.stdout + done.stderr).replace("\n", "").isprintable()


def test_json_stays_json_where_names_cannot_be_encoded(tmp_path):
    path = tmp_path / "m.toml"
    path.write_text(MODEL.replace("users.a", 'users."é漢\U0001f600"'))
    plain = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = typed("solve", str(path), "--json", env=plain)
    assert done.returncode == 0
    assert json.loads(done.stdout)["instance"]["users"] == ["é漢\U0001f600"]
    done = typed("solve", str(path), env=plain)
    assert done.returncode == 0 and "-----" in done.stdout and "\\u00e9" in done.stdout


@pytest.mark.skipif(not os.path.exists(FULL), reason="no such device here")
@pytest.mark.parametrize("arguments", [["solve"], ["solve", "--json"], ["models"], ["--help"]])
def test_a_full_stdout_ends_with_2(arguments, model):
    given = [*arguments, model] if arguments[0] == "solve" else arguments
    done = typed(*given, closed=f"> {FULL}")
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert "No space left on device" in done.stderr


def test_a_closed_stdout_ends_with_2(model):
    done = typed("solve", model, closed=">&-")
    assert (done.returncode, done.stderr) == (2, "fairopt: output: standard output is closed\n")
    done = typed("verify", "-", closed="<&-")
    assert done.returncode == 2 and "standard input closed" in done.stderr


def test_a_stderr_that_takes_nothing_changes_no_code(model):
    for closed in ("2>&-", f"2> {FULL}"):
        assert typed("solve", "no-such-model", closed=closed).returncode == 2
        assert typed("solve", model, closed=closed).returncode == 0


def test_a_closed_pipe_is_nobodys_fault(model):
    done = typed("models", closed="| head -1")
    assert done.stderr == ""


@pytest.mark.parametrize("name", ["users.csv", "servers.csv", "model.toml"])
def test_pipes_are_not_waited_for(name, tmp_path):
    folder = tmp_path / "big"
    files.write(fo.Instance([[1]], [[2]]), folder)
    (folder / name).unlink()
    os.mkfifo(folder / name)
    with pytest.raises((fo.BadInput, fo.UsageError)) as caught:
        files.read(folder)
    assert name == "model.toml" or f"{name}: found a pipe or device" in str(caught.value)


def test_devices_are_not_read_but_open_streams_are(tmp_path, model):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", "/dev/zero", "/dev/null"):
        with pytest.raises(fo.BadInput, match="found a pipe or device; wanted .*regular file"):
            files.load(path)
    with open(model) as file:
        done = typed("solve", "/dev/stdin", stdin=file)
    assert done.returncode == 0
    assert typed("solve", closed=f"<(cat {model})").returncode == 0


def test_a_file_that_is_too_large_says_so_once(tmp_path):
    path = tmp_path / "large.toml"
    with open(path, "wb") as file:
        file.truncate(40 * storage.MEBIBYTE)
    with pytest.raises(fo.BadInput) as caught:
        files.read(path)
    wanted = "large.toml: 1 fault\n  file: found at least 40 MiB; wanted a model file in TOML of at"
    assert str(caught.value).startswith(wanted)


def test_stdout_that_is_no_stream_of_text(monkeypatch):
    class Broken(io.StringIO):
        def write(self, text: str) -> int:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(sys, "stdout", Broken())
    with pytest.raises(fo.UsageError, match="standard output cannot be written"):
        storage.write_text("-", "x")
