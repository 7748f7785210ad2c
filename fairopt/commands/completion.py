"""What the shell offers after Tab: names of shipped models, notions, files."""

from __future__ import annotations

from typing import Any

import click
from click.shell_completion import CompletionItem


def models(context: click.Context, option: click.Parameter, given: str) -> list[CompletionItem]:
    """Shipped models that begin with what was typed, then files."""
    from fairopt import files

    found = [
        CompletionItem(m.name, help=m.title) for m in files.models() if m.name.startswith(given)
    ]
    return [*found, CompletionItem(given, type="file")]


def notions(context: click.Context, option: click.Parameter, given: str) -> list[CompletionItem]:
    """Names of notions that begin with what was typed."""
    from fairopt.notions import NOTIONS

    return [
        CompletionItem(name, help=notion.summary)
        for name, notion in NOTIONS.items()
        if name.startswith(given)
    ]


def model_argument(command: Any) -> Any:
    """The argument MODEL, with its completion."""
    return click.argument("model", shell_complete=models)(command)
