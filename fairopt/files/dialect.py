"""One dialect of CSV for `solve` and `plan`: the names that a column may have in either's tables.

A user is also a team, a server a node, a limit the tasks wanted; the column `name` is the user in
users.csv and the server in servers.csv. Amounts may be quantities ("500m", "64Gi") everywhere, and
spaces around a cell are no part of it. A column that only one of the two knows is refused by the
other, with the name of the command that takes it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import PurePath

USER, SERVER, LIMIT = ("user", "team"), ("server", "node"), ("limit", "tasks")
_NAMED = (("users", USER), ("teams", USER), ("servers", SERVER), ("nodes", SERVER))


COMMAND = {
    **dict.fromkeys(("group", "priority", "guarantee_tasks", "start"), "solve"),
    **dict.fromkeys(("queue", "nodes", "gang", "at_least", "per_node", "out"), "plan"),
}
"""columns that only one command knows, and which"""
_BEGINNINGS = ("label:", "spread:")
"""of columns of `plan`"""


def foreign(column: str, here: str) -> str | None:
    """What a column is called that only a command other than `here` knows; None for all others."""
    command = "plan" if column.startswith(_BEGINNINGS) else COMMAND.get(column, here)
    return None if command == here else f"a column that only `fairopt {command}` takes"


def renamed(header: Sequence[str], known: Collection[str], source: str = "") -> list[str]:
    """The columns of a table as its reader calls them; others are left as they are.

    Parameters
    ----------
    header : the columns as they stand in the file.
    known : the columns as the reader calls them.
    source : name of the file, as "users.csv": it says whose `name` is meant.
    """
    stem = PurePath(source).name.partition(".")[0]
    whose = dict(_NAMED).get(stem)
    found = list(header)
    for alike in (USER, SERVER, LIMIT):
        words = (*alike, "name") if alike == whose else alike
        wanted = [word for word in words if word in known]
        if len(wanted) == 1 and wanted[0] not in header:
            found = [wanted[0] if word in words else word for word in found]
    return found


__all__ = ["COMMAND", "LIMIT", "SERVER", "USER", "foreign", "renamed"]
