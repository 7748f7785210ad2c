"""A command whose help lists the options of the notions apart, under the notions that take them."""

from __future__ import annotations

from typing import Any

import click


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
