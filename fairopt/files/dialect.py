"""One dialect of CSV for `solve` and `plan`: the names that a column may have in either's tables.

A user is also a team, a server a node, a limit the tasks wanted; the column `name` is the user in
users.csv and the server in servers.csv. Amounts may be quantities ("500m", "64Gi") everywhere.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import PurePath

USER, SERVER, LIMIT = ("user", "team"), ("server", "node"), ("limit", "tasks")
_NAMED = (("users", USER), ("teams", USER), ("servers", SERVER), ("nodes", SERVER))


def renamed(header: Sequence[str], known: Collection[str], source: str) -> list[str]:
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


__all__ = ["LIMIT", "SERVER", "USER", "renamed"]
