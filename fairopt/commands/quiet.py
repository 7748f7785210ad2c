"""--quiet, the same option of every command: no progress and no remarks on stderr."""

from __future__ import annotations

import click

KEY = "fairopt.quiet"


def _keep(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    if value:
        context.meta[KEY] = True


OPTION = click.Option(
    ["-q", "--quiet"],
    is_flag=True,
    expose_value=False,
    callback=_keep,
    help="No progress and no remarks on stderr; faults are told all the same.",
)


def asked() -> bool:
    """Whether this run was asked to be quiet."""
    context = click.get_current_context(silent=True)
    return context is not None and bool(context.meta.get(KEY))


def with_option(command: click.Command) -> click.Command:
    """The command, and those below it, with the option."""
    if OPTION not in command.params:
        command.params.append(OPTION)
    if isinstance(command, click.Group):
        for inner in command.commands.values():
            with_option(inner)
    return command
