"""Reading a CSV file cell by cell, with every fault and its place."""

from __future__ import annotations

import contextlib
import csv
import io
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any

from fairopt import storage
from fairopt.errors import BadInput
from fairopt.files.quantities import NoQuantity, quantity
from fairopt.instance.reading import AMOUNT, MOST_FAULTS, Faults, known_keys, nearest, number

LARGEST_TABLE = 1024 * storage.MEBIBYTE
"""most bytes of a table in CSV"""
SEARCHED = 5
"""number of faults for which the nearest name is searched among thousands"""

Row = tuple[int, dict[str, str]]


class CsvText:
    """A text in CSV: its `header`, which the reader may rename, and its rows, with spaces around
    cells taken away. `place` stands before the number of a line in messages."""

    def __init__(self, content: str, place: str, faults: Faults) -> None:
        self.reader = csv.reader(io.StringIO(content, newline=""), strict=True)
        self.place, self.faults = place, faults
        self.header: list[str] = next(self._read(), [])

    def _read(self) -> Iterator[list[str]]:
        try:
            for cells in self.reader:
                yield [cell.strip() for cell in cells]
        except csv.Error as error:
            self._wrong(f"text not in CSV ({error})", "a CSV file")

    def _wrong(self, found: str, wanted: str) -> None:
        self.faults.add(f"{self.place}line {self.reader.line_num}", found, wanted)

    def rows(self) -> Iterator[Row]:
        """Line number and cells by column; lines without any are left out."""
        for cells in filter(None, self._read()):
            if len(cells) == len(self.header):
                yield self.reader.line_num, dict(zip(self.header, cells, strict=True))
            else:
                columns = f"{len(self.header)}, one for each column"
                self._wrong(f"{len(cells)} cells", columns)


def rows(
    folder: Path,
    stem: str,
    needed: Sequence[str],
    known: Sequence[str],
    faults: Faults,
    whose: str = "",
) -> Iterator[Row]:
    """Line number and cells by column of a CSV file, columns checked.

    Parameters
    ----------
    whose : "users" or "servers", whose the column `name` is; by default the name of the file says.
    """
    name = f"{stem}.csv"
    try:
        content = storage.read_text(folder / name, LARGEST_TABLE, "a CSV file in UTF-8")
    except BadInput as error:
        for fault in error.faults:
            faults.add(
                name if fault.place == "file" else f"{name} {fault.place}",
                fault.found,
                fault.wanted,
            )
        return
    table = CsvText(content, f"{name} ", faults)
    table.header = header = renamed(table.header, known, whose or name)
    if len(header) == 1 and (mark := next((m for m in ";\t" if m in header[0]), "")):
        faults.add(name, f"columns divided by {mark!r}", "columns divided by commas")
        return
    # the file as a whole is at fault: one fault, not one per row
    bad = [c for c in needed if c not in header]
    bad += [c for k, c in enumerate(header) if c in header[:k]]
    for column in dict.fromkeys(header):
        other = None if column in known else foreign(column, "solve")
        if other:
            faults.add(f"{name} columns.{column}", other, f"columns {', '.join(known)}")
        else:
            known_keys({column: None}, known, f"{name} columns", faults)
    for column in dict.fromkeys(bad):
        found = "no such column" if column not in header else "this column twice"
        faults.add(f"{name} columns.{column}", found, f"columns {', '.join(known)}, each once")
    if bad or any(c not in known for c in header):
        return
    yield from table.rows()


def named(
    folder: Path,
    stem: str,
    extra: Sequence[str],
    resources: Mapping[str, int],
    faults: Faults,
    whose: str = "",
) -> dict[str, dict[str, str]]:
    """The rows of users.csv or servers.csv by name; `whose` as of `rows`."""
    found: dict[str, dict[str, str]] = {}
    before = len(faults.found)
    known = ("name", *extra, *resources)
    for line, row in rows(folder, stem, ("name",), known, faults, whose):
        name = row["name"]
        if not name or not name.isprintable():
            faults.add(f"{stem}.csv line {line}", f"the name {name!r}", "a printable text")
        elif name in found:
            faults.add(
                f"{stem}.csv line {line}", f"the name {name!r} a second time", "every name once"
            )
        else:
            found[name] = row
    if not found and len(faults.found) == before:
        faults.add(stem, "none", "at least one")
    return found


def pairs(
    folder: Path,
    stem: str,
    users: Mapping[str, int],
    servers: Mapping[str, int],
    resources: Mapping[str, int],
    faults: Faults,
) -> Iterator[tuple[int, int, str, dict[str, str]]]:
    """User, server, place and cells of the rows of placement.csv or demand.csv."""
    if not users or not servers:  # the fault of their own tables, told already
        return
    seen = set()
    needed = ("user", "server")
    for line, row in rows(folder, stem, needed, (*needed, *resources), faults):
        here = f"{stem}.csv line {line}"
        user, server = row["user"], row["server"]
        if user not in users:
            faults.add(here, f"the unknown user {user!r}", _nearest(user, users, faults))
        if server not in servers:
            faults.add(here, f"the unknown server {server!r}", _nearest(server, servers, faults))
        if user not in users or server not in servers:
            continue
        if (user, server) in seen:
            faults.add(here, f"{user} on {server} a second time", "every pair once")
            continue
        seen.add((user, server))
        yield users[user], servers[server], f"users.{user}.demand_on.{server}", row


def _nearest(name: str, known: Mapping[str, int], faults: Faults) -> str:
    """The name wanted; among many names, the nearest is searched for the first few faults only."""
    few = len(known) <= 1000 or len(faults.found) < SEARCHED
    return nearest(name, known) if few and len(faults.found) < MOST_FAULTS else "a known name"


def amounts(
    into: Any,
    row: Mapping[str, str],
    resources: Mapping[str, int],
    place: str,
    faults: Faults,
    plain: float = 0.0,
) -> None:
    """Write a row's amounts, a column a resource, into an array; an empty cell is `plain`."""
    for name, r in resources.items():
        into[r] = cell(row.get(name, ""), f"{place}.{name}", faults, AMOUNT, plain)


def cell(cell: str, place: str, faults: Faults, wanted: str, default: float) -> float:
    """The number in a cell; an empty cell is the default."""
    found = value(cell)
    return default if found is None else number(found, place, faults, wanted)


def value(cell: str) -> Any:
    """The number or quantity in a cell, its text if it is none, None if it is empty."""
    cell = cell.strip()
    if not cell:
        return None
    if "_" in cell:  # float() would accept 1_000, which other programs do not
        return cell
    with contextlib.suppress(ValueError):
        return float(cell)
    with contextlib.suppress(NoQuantity):
        return float(quantity(cell))
    return cell


# One dialect of CSV for `solve` and `plan`: the names that a column may have in either's tables.
#
# A user is also a team, a server a node, a limit the tasks wanted; the column `name` is the user in
# users.csv and the server in servers.csv. Amounts may be quantities ("500m", "64Gi") everywhere,
# and spaces around a cell are no part of it. A column that only one of the two knows is refused by
# the other, with the name of the command that takes it.


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


__all__ = ["CsvText", "LARGEST_TABLE", "amounts", "cell", "named", "pairs", "rows", "value"]
