"""The table of `fairopt what-if --losses`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairopt import storage
from fairopt.commands import output, progress

if TYPE_CHECKING:
    from fairopt.commands.asked import NamedNodes
    from fairopt.notions import Notion

SCHEMA = "fairopt/losses/v1"


def show(asked: NamedNodes, notion: Notion, whole: bool, as_json: bool, path: str | None) -> None:
    """Print, and write, what one machine less of each row, or all of them, would take from whom."""
    from fairopt.auditing.losses import losses
    from fairopt.report.tables import table_text
    from fairopt.report.words import number

    with progress.shown("losing a machine of each row", "rows") as told:
        found = losses(asked.model.instance, notion, told, whole, asked.changed)
    dump = storage.encoded({"schema": SCHEMA, "losses": [own.to_dict() for own in found]})
    if path is not None:
        storage.write_text(path, dump + "\n")
    if as_json:
        output.to_stdout(dump)
        return
    rows = [
        [
            own.server,
            number(own.count),
            own.none or own.user or "nobody",
            number(own.before),
            number(own.after),
            f"{-100 * own.part:.3g} %" if own.part else "0 %",
            number(own.losers),
        ]
        for own in found
    ]
    columns = [
        "lose all of" if whole else "lose one of",
        "machines",
        "hurts most",
        "before",
        "after",
        "change",
        "losers",
    ]
    output.to_stdout(table_text(columns, rows, 0, (0, 2)))
