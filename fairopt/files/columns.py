"""Fast reading of a CSV file by columns, for files without faults.

Anything unusual gives None: the caller then reads the file cell by cell and reports every fault.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from fairopt.files import cells
from fairopt.instance import Bools, Floats

Ints = NDArray[np.int64]
Good = Callable[[Floats], Bools]
"""which numbers are valid"""
ROWS = 100_000
"""rows taken at a time"""


def columns(
    content: str, needed: Sequence[str], known: Sequence[str], stem: str = ""
) -> Iterator[dict[str, Sequence[str]] | None]:
    """Cells of each column, ROWS rows at a time; None, as the last item, if anything is unusual."""
    reader = csv.reader(io.StringIO(content, newline=""), strict=True)
    spaced = " " in content or "\t" in content or not content.isascii()
    try:
        header = [column.strip() for column in next(reader, [])]
        header = cells.renamed(header, known, stem)
        if len(set(header)) != len(header) or not set(needed) <= set(header) <= set(known):
            yield None
            return
        while chunk := list(islice(reader, ROWS)):
            rows = [row for row in chunk if row]
            if set(map(len, rows)) - {len(header)}:
                yield None
                return
            found: Iterable[Sequence[str]] = zip(*rows, strict=True) if rows else [()] * len(header)
            if spaced:
                found = [[cell.strip() for cell in column] for column in found]
            yield dict(zip(header, found, strict=True))
    except csv.Error:
        yield None


def table(
    content: str, kinds: Mapping[str, tuple[float, Good]], stem: str = ""
) -> tuple[list[str], dict[str, Floats]] | None:
    """The column "name", every name once, and the columns of numbers by their kind.

    Parameters
    ----------
    content : the file.
    kinds : for each column of numbers the default (for an empty cell or a missing column) and
        which numbers are valid.
    stem : "users" or "servers": whose names they are, by whatever word.
    """
    names: list[str] = []
    found: dict[str, list[Floats]] = {key: [] for key in kinds}
    for part in columns(content, ("name",), ("name", *kinds), stem):
        if part is None:
            return None
        names.extend(part["name"])
        for key, (default, good) in kinds.items():
            numbers = _numbers(part.get(key, [""] * len(part["name"])), default, good)
            if numbers is None:
                return None
            found[key].append(numbers)
    if not names or not all(names) or len(set(names)) != len(names):
        return None
    if not "".join(names).isprintable():
        return None
    return names, {key: np.concatenate(parts) for key, parts in found.items()}


def pairs(
    content: str,
    users: Mapping[str, int],
    servers: Mapping[str, int],
    kinds: Mapping[str, tuple[float, Good]],
) -> tuple[Ints, Ints, dict[str, Floats]] | None:
    """Users (P,) and servers (P,) of the columns "user" and "server", each pair once, and the
    columns of numbers by their kind."""
    found: dict[str, list[Floats]] = {key: [] for key in kinds}
    n, i = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for part in columns(content, ("user", "server"), ("user", "server", *kinds)):
        if part is None:
            return None
        try:
            n.append(np.array([users[name] for name in part["user"]], dtype=np.int64))
            i.append(np.array([servers[name] for name in part["server"]], dtype=np.int64))
        except KeyError:
            return None
        for key, (default, good) in kinds.items():
            numbers = _numbers(part.get(key, [""] * len(n[-1])), default, good)
            if numbers is None:
                return None
            found[key].append(numbers)
    user, server = np.concatenate(n), np.concatenate(i)
    once = np.zeros((len(users), len(servers)), dtype=bool)
    once[user, server] = True
    if np.count_nonzero(once) != len(user):
        return None
    nothing = np.empty(0)
    return user, server, {key: np.concatenate([nothing, *v]) for key, v in found.items()}


def _numbers(cells: Sequence[str], default: float, good: Good) -> Floats | None:
    """The numbers of a column; None if a cell is not a number or not valid."""
    # float() would accept 1_000, which other programs do not
    if "_" in "".join(cells):
        return None
    try:
        found = np.array([float(cell) if cell else default for cell in cells], dtype=np.float64)
    except ValueError:
        return None
    return found if bool(good(found).all()) else None
