"""The page of all commands with their options, from the help that the command line prints."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

HEAD = """# Commands

What `fairopt COMMAND --help` prints. Each command has a how-to guide of its own.
"""


def page() -> str:
    """Markdown: one section a command."""
    from fairopt.cli import cli

    parts = [HEAD]

    def add(command: click.Command, words: tuple[str, ...], parent: click.Context | None) -> None:
        context = click.Context(command, info_name=words[-1], parent=parent, terminal_width=88)
        mark = "#" * (1 + len(words))
        parts.append(f"{mark} {' '.join(words)}\n\n```text\n{command.get_help(context)}\n```\n")
        if isinstance(command, click.Group):
            for name in command.list_commands(context):
                inner = command.get_command(context, name)
                if inner is not None:
                    add(inner, (*words, name), context)

    add(cli, ("fairopt",), None)
    return "\n".join(parts)


def write(app: Any) -> None:
    path = Path(app.srcdir, "reference", "commands.md")
    text = page()
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def setup(app: Any) -> dict[str, bool]:
    app.connect("builder-inited", write)
    return {"parallel_read_safe": True}
