"""A group of commands that imports one only when it is run or asked for help."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

import click

from fairopt.commands.quiet import with_option


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
