"""What the pages show is what the programs print: every `console` block of docs/ is run.

A page is run from top to bottom in a folder that has nothing but the sources' `examples`. A code
block with a caption is a file of that name. A line of output that is `...` stands for any lines,
and at the end of a line for any words. Numbers agree to one part in a thousand, words exactly;
messages on stderr may be shown or not. Run as a script with page names, this file writes into the
pages what is printed where it differs; an output of `?` is one to be written.
"""

from __future__ import annotations

import io
import os
import re
import runpy
import shlex
import sys
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import NamedTuple

import pytest

from fairopt.cli import main

DOCS = Path(__file__).parents[2] / "docs"
FENCE = re.compile(
    r"^```(\{code-block\} *)?(\w+)\n((?::\w+:[^\n]*\n)*)(.*?)^```$", flags=re.M | re.S
)
SKIPPED = {"results", "_build", "api", "gallery"}
COUNTED = {"tutorials/week.md"}
"""pages run by a test of their own, which counts the numbers as well"""


class Step(NamedTuple):
    """A file to write or a command to run, with the place of its output in the text."""

    file: str | None
    text: str
    start: int


def steps(page: str) -> list[Step]:
    """The files and commands of a page, in order."""
    found = []
    for block in FENCE.finditer(page):
        caption = re.search(r":caption: (\S+)", block[3])
        if caption:
            found.append(Step(caption[1], block[4], block.start(4)))
        elif block[2] == "console":
            for part in re.finditer(r"^\$ (?:.*\\\n)*.*\n(?:(?!\$ ).*\n)*", block[4], flags=re.M):
                found.append(Step(None, part[0], block.start(4) + part.start()))
    return found


def split(command: str) -> tuple[str, str]:
    """The command itself and the output shown below it."""
    head = re.match(r"\$ ((?:.*\\\n)*.*\n)", command)
    return head[1].replace("\\\n", " ").strip(), command[head.end() :]


def printed(command: str, told: io.StringIO | None = None) -> str:
    """Stdout of a line with `;`, `|` and `>`, run here: fairopt, python, cat and echo are known."""
    code = 0
    out = ""
    lexer = shlex.shlex(command, posix=True, punctuation_chars=";|<>")
    lexer.whitespace_split = True
    words = list(lexer)
    for line in groups(words, ";"):
        flow = ""
        for part in groups(line, "|"):
            part, target = (part[: part.index(">")], part[-1]) if ">" in part else (part, None)
            if "<" in part:
                flow, part = Path(part[-1]).read_text(encoding="utf-8"), part[: part.index("<")]
            flow, code = ran(part, flow, code, told)
            if target:
                Path(target).write_text(flow, encoding="utf-8")
                flow = ""
        out += flow
    assert code == 0 or "echo" in command, f"{command}: exit code {code}"
    return out


def groups(words: list[str], mark: str) -> list[list[str]]:
    found: list[list[str]] = [[]]
    for word in words:
        if word == mark:
            found.append([])
        else:
            found[-1].append(word)
    return found


def ran(words: list[str], given: str, before: int, told: io.StringIO | None) -> tuple[str, int]:
    """Stdout and exit code of one command; its messages go to `told`."""
    program, *arguments = words
    if program == "echo":
        return " ".join(arguments).replace("$?", str(before)) + "\n", 0
    if program == "cat":
        return "".join(Path(name).read_text(encoding="utf-8") for name in arguments) or given, 0
    out, stdin = io.StringIO(), sys.stdin
    sys.stdin = io.TextIOWrapper(io.BytesIO(given.encode()), encoding="utf-8")
    code = 0
    try:
        with redirect_stdout(out), redirect_stderr(io.StringIO() if told is None else told):
            if program == "python":
                sys.argv, old = arguments, sys.argv
                try:
                    runpy.run_path(arguments[0], run_name="__main__")
                finally:
                    sys.argv = old
            else:
                assert program == "fairopt", f"unknown program {program}"
                main(arguments)
    except SystemExit as end:
        code = int(end.code or 0)
    finally:
        sys.stdin = stdin
    return out.getvalue(), code


def agree(shown: str, got: str) -> bool:
    """Whether the output shown is that printed, numbers to a part in a thousand."""
    pattern = [line.split() for line in shown.splitlines() if line.strip()]
    lines = [line.split() for line in got.splitlines() if line.strip()]

    def from_here(k: int, j: int) -> bool:
        if k == len(pattern):
            return j == len(lines)
        if pattern[k] == ["..."]:
            return any(from_here(k + 1, later) for later in range(j, len(lines) + 1))
        return j < len(lines) and alike(pattern[k], lines[j]) and from_here(k + 1, j + 1)

    return from_here(0, 0)


def alike(shown: list[str], got: list[str]) -> bool:
    if shown[0] == got[0] == "certified:":
        return True  # how small a gap within rounding is, is not for a page to promise
    if shown[-1] == "...":
        return all(map(same, shown[:-1], got)) and len(got) >= len(shown) - 1
    return len(shown) == len(got) and all(map(same, shown, got))


def same(shown: str, got: str) -> bool:
    if shown == got:
        return True
    number = r"[-+]?\d+\.?\d*(?:e[-+]?\d+)?"
    if re.sub(number, "#", shown) != re.sub(number, "#", got):
        return False
    pairs = zip(re.findall(number, shown), re.findall(number, got), strict=True)
    return all(abs(float(a) - float(b)) <= 1e-3 * abs(float(b)) + 1e-9 for a, b in pairs)


def pages() -> list[Path]:
    found = (p for p in sorted(DOCS.rglob("*.md")) if not SKIPPED & set(p.relative_to(DOCS).parts))
    return [p for p in found if any(s.file is None for s in steps(p.read_text(encoding="utf-8")))]


def played(path: Path, folder: Path) -> list[tuple[Step, str, str]]:
    """Every command of a page with its output and its messages, run in `folder`."""
    found = []
    (folder / "examples").symlink_to(DOCS.parent / "examples")
    with chdir(folder):
        for step in steps(path.read_text(encoding="utf-8")):
            if step.file:
                Path(step.file).parent.mkdir(parents=True, exist_ok=True)
                Path(step.file).write_text(step.text, encoding="utf-8")
            else:
                told = io.StringIO()
                out = printed(split(step.text)[0], told)
                found.append((step, out, told.getvalue()))
    return found


def shows(path: Path, folder: Path) -> None:
    """Assert that the page shows what is printed."""
    for step, got, told in played(path, folder):
        command, shown = split(step.text)
        if shown.strip():
            assert agree(shown, got) or agree(shown, told + got), (
                f"{command}\n--- shown\n{shown}\n--- printed\n{got}"
            )


@pytest.mark.parametrize(
    "path",
    [p for p in pages() if p.relative_to(DOCS).as_posix() not in COUNTED],
    ids=lambda p: p.relative_to(DOCS).as_posix(),
)
def test_a_page_shows_what_is_printed(path, tmp_path, monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "Agg")
    shows(path, tmp_path)


def test_output_that_differs_is_seen():
    assert agree("a 1.0001\n...\nend\n", "a 1.0\nb\nc\nend\n")
    assert not agree("a 1.1\n", "a 1.0\n")
    assert not agree("a\n", "a\nb\n")
    assert not agree("a\n...\nend\n", "a\nend\nmore\n")
    assert not agree("certified\n", "refuted\n")


def written(path: Path, folder: Path) -> str:
    """The page with the output of its commands; where `...` is shown, as it was if it agrees."""
    text = path.read_text(encoding="utf-8")
    for step, got, told in reversed(played(path, folder)):
        command, shown = split(step.text)
        if shown.strip() and not agree(shown, got) and not agree(shown, told + got):
            end = step.start + len(step.text)
            text = text[: end - len(shown)] + got.rstrip() + "\n" + text[end:]
    return text


if __name__ == "__main__":
    import tempfile

    os.environ["MPLBACKEND"] = "Agg"
    for name in sys.argv[1:]:
        with tempfile.TemporaryDirectory() as empty:
            new = written(Path(name).resolve(), Path(empty))
        Path(name).write_text(new, encoding="utf-8")
