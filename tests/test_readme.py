"""The README shows what the programs print. Run as a script, this file writes what is generated."""

from __future__ import annotations

import io
import re
import shlex
import subprocess
import sys
from contextlib import redirect_stdout
from dataclasses import MISSING, fields
from pathlib import Path

from fairopt.cli import run
from fairopt.notions import NOTIONS

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
NOTION_MARKS = (
    "<!-- notions: made by `python tests/test_readme.py` -->",
    "<!-- end of notions -->",
)


def notion_table() -> str:
    """One row for each notion, from the table NOTIONS."""
    rows = ["| name | in Python | what it is |", "|---|---|---|"]
    for name, notion in NOTIONS.items():
        settings = ", ".join(
            f.name if f.default is MISSING else f"{f.name}={f.default!r}" for f in fields(notion)
        )
        what = notion.summary.replace("|", "\\|")
        rows.append(f"| `{name}` | `{notion.__name__}({settings})` | {what} |")
    return "\n".join(rows)


def blocks(language: str) -> list[str]:
    text = README.read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, flags=re.M | re.S)


def printed_by(*arguments: str) -> str:
    """What a command prints, with its exit code checked."""
    out = io.StringIO()
    with redirect_stdout(out):
        assert run(arguments) == 0
    return out.getvalue()


def shown() -> list[tuple[list[str], str]]:
    """The commands of the README and the output each shows."""
    found = []
    for block in blocks("console"):
        command, output = block.split("\n", 1)
        prompt, program, *arguments = shlex.split(command)
        assert (prompt, program) == ("$", "fairopt")
        found.append((arguments, output))
    return found


def test_two_commands():
    commands = blocks("sh")[0].splitlines()
    assert len(commands) == 2
    # activated: the lines that begin with `fairopt` can be typed after it
    parts = commands[0].split(" && ")
    assert parts[1] == ". .venv/bin/activate" and parts[-1] == "fairopt solve real/google2011"
    script = commands[1].removeprefix("bash ")
    assert (ROOT / script).read_text().startswith("#!/usr/bin/env bash")


def test_python_example_prints_what_it_shows():
    code = blocks("python")[0]
    assert len([line for line in code.splitlines() if line.strip()]) <= 12
    out = io.StringIO()
    with redirect_stdout(out):
        exec(compile(code, "README.md", "exec"), {})  # noqa: S102
    assert out.getvalue() == blocks("text")[0]


def test_commands_print_what_is_shown():
    assert len(shown()) == 3
    for arguments, output in shown():
        assert printed_by(*arguments) == output


def test_notions_are_listed():
    text = README.read_text(encoding="utf-8")
    between = text.split(NOTION_MARKS[0])[1].split(NOTION_MARKS[1])[0]
    assert between.strip() == notion_table(), "run: python tests/test_readme.py"


def test_promises_name_what_exists():
    """Every command of the table of promises names a command, a model and files that exist."""
    table = README.read_text(encoding="utf-8").split("## Promises")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (P\d) \|.*\| `(.*)` \|$", table, flags=re.M)
    assert [number for number, _ in rows] == ["P1", "P2", "P3", "P4", "P5", "P6"]
    for _, command in rows:
        for path in re.findall(r"\b(?:tests|examples)/\S+\.py", command):
            assert (ROOT / path).is_file(), path
        chosen = re.search(r"pytest (\S+) -k (\S+)", command)
        if chosen:
            assert f"{chosen[2]}" in (ROOT / chosen[1]).read_text(encoding="utf-8"), command


def test_links_lead_somewhere():
    for target in re.findall(r"\]\(([^)]+)\)", README.read_text(encoding="utf-8")):
        assert (ROOT / target).is_file(), target


def test_example_shows_the_printed_answers_refuted():
    script = ROOT / "examples" / "printed_and_true.py"
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True)
    assert done.stdout.count("refuted") >= 2
    assert done.stdout.count(", certified") == 2
    # ln(8000/12393) and 3 ln(2/3): kesidis2016 4.1 and 4.2.1
    assert "-0.437690" in done.stdout and "-1.216395" in done.stdout


if __name__ == "__main__":
    text = README.read_text(encoding="utf-8")
    before, rest = text.split(NOTION_MARKS[0])
    after = rest.split(NOTION_MARKS[1])[1]
    text = f"{before}{NOTION_MARKS[0]}\n\n{notion_table()}\n\n{NOTION_MARKS[1]}{after}"
    for arguments, output in shown():
        text = text.replace(output, printed_by(*arguments))
    README.write_text(text, encoding="utf-8")
