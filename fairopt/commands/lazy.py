"""What commands add to click: a group that imports one only when it is run or asked for help,
--quiet, and help that lists the options of the notions apart."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

import click

QUIET = "fairopt.quiet"


def _keep(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    if value:
        context.meta[QUIET] = True


OPTION = click.Option(
    ["-q", "--quiet"],
    is_flag=True,
    expose_value=False,
    callback=_keep,
    help="No progress and no remarks on stderr; faults are told all the same.",
)


def asked_quiet() -> bool:
    """Whether this run was asked to be quiet."""
    context = click.get_current_context(silent=True)
    return context is not None and bool(context.meta.get(QUIET))


def with_option(command: click.Command) -> click.Command:
    """The command, and those below it, with the option."""
    if OPTION not in command.params:
        command.params.append(OPTION)
    if isinstance(command, click.Group):
        for inner in command.commands.values():
            with_option(inner)
    return command


class Lazy(click.Group):
    """A click group whose commands are rows of a table.

    Parameters
    ----------
    table : name -> (module below fairopt.commands that has the click command `command`, one line
        for the help of the group).
    """

    def __init__(self, *args: Any, table: Mapping[str, tuple[str, str]], **more: Any) -> None:
        super().__init__(*args, **more)
        self.table = table

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names of the commands, in the order of the table."""
        return list(self.table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command of that name; None if the table has none."""
        if cmd_name not in self.table:
            return None
        module = importlib.import_module(f"fairopt.commands.{self.table[cmd_name][0]}")
        command: click.Command = module.command
        return with_option(command)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands from the table: click would import every command for it."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in self.table.items()])


class NotionOption(click.Option):
    """An option that some notions take.

    Parameters
    ----------
    takers : their names, in the order of the table of notions.
    """

    def __init__(self, *args: Any, takers: tuple[str, ...] = (), **more: Any) -> None:
        super().__init__(*args, **more)
        self.takers = takers


class Grouped(click.Command):
    """A click command that writes its options in sections: its own, then those of the notions."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the sections."""
        sections: dict[str, list[tuple[str, str]]] = {"Options": []}
        for option in self.get_params(ctx):
            record = option.get_help_record(ctx) if isinstance(option, click.Option) else None
            if record is None:
                continue
            takers = option.takers if isinstance(option, NotionOption) else ()
            sections.setdefault(_heading(takers), []).append(record)
        for heading, records in sections.items():
            if records:
                with formatter.section(heading):
                    formatter.write_dl(records)


def _heading(takers: tuple[str, ...]) -> str:
    if not takers:
        return "Options"
    first = ", ".join(takers[:-1])
    return f"Options of {first} and {takers[-1]}" if first else f"Options of {takers[0]}"
