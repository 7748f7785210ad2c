"""fairopt completion: what the shell needs to complete names after Tab, printed or put in place."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem, get_completion_class

from fairopt import storage
from fairopt.commands.output import remark, to_stdout
from fairopt.errors import UsageError


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


PLACES = {
    "bash": ("XDG_DATA_HOME", ".local/share", "bash-completion/completions/fairopt"),
    "fish": ("XDG_CONFIG_HOME", ".config", "fish/completions/fairopt.fish"),
}
"""where a shell looks by itself: the variable of a folder, the folder below home, the file"""


def place(shell: str) -> Path:
    """The file that the shell reads by itself.

    Raises
    ------
    UsageError : the shell has no such place.
    """
    if shell not in PLACES:
        line = f"fairopt completion {shell} > ~/.zfunc/_fairopt"
        wanted = f"`{line}`, with ~/.zfunc in fpath before compinit in ~/.zshrc"
        found = f"found {shell}, which reads no folder by itself"
        raise UsageError(f"--install: {found}; wanted {wanted}")
    variable, folder, file = PLACES[shell]
    return Path(os.environ.get(variable) or Path.home() / folder) / file


@click.command("completion", context_settings={"max_content_width": 100})
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]), required=False)
@click.option("--install", is_flag=True, help="Write it where the shell finds it (bash, fish).")
def command(shell: str | None, install: bool) -> int:
    """Completion of commands, models and notions after Tab.

    SHELL is that of $SHELL where none is given. Without --install the script is printed.
    """
    shell = shell or Path(os.environ.get("SHELL", "")).name
    kind = get_completion_class(shell)
    if kind is None or shell not in ("bash", "zsh", "fish"):
        raise UsageError(f"SHELL: found {shell or 'none'!r}; wanted bash, zsh or fish")
    text = kind(click.Command("fairopt"), {}, "fairopt", "_FAIROPT_COMPLETE").source()
    if not install:
        to_stdout(text.rstrip("\n"))
        return 0
    path = place(shell)
    storage.made_folder(path.parent)
    storage.write_text(path, text)
    remark(f"fairopt: written to {path}; it works in new terminals")
    return 0
