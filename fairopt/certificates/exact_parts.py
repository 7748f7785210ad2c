"""The rows and users of a round that have nothing to do with its others, as floats tell them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fairopt.certificates.meant.lots import Lot, valued
from fairopt.certificates.meant.system import System
from fairopt.instance import Bools, Floats, Ints

NEARLY_TIED = 1e-9
"""part of a row that is left, or by which a column is dearer than the cheapest, of what may be full
and as cheap"""


@dataclass(frozen=True)
class Part:
    """Rows of a lot that have nothing to do with its others, who pays there, users of the lot."""

    rows: list[int]
    payers: list[int]
    users: list[int]


def _mask(system: System, columns: Sequence[int] | Ints) -> Bools:
    found = np.zeros(system.tasks, dtype=bool)
    of = np.asarray(columns, dtype=np.int64)
    found[of[of < system.tasks]] = True
    return found


def near(system: System, lot: Lot, used: Sequence[int] | Ints) -> tuple[Floats, Bools]:
    """(N,) the price of a unit of share, and columns (P + F,) that are as cheap: tasks, and flows
    that might as well not be at their bound, for what they take is as dear as what they give."""
    columns = system.columns
    value: Floats = valued(system, lot.price, _mask(system, used))
    cost, worth = columns.cost(lot.price), value[columns.of_column] * columns.score
    cheap = (np.abs(cost - worth) <= NEARLY_TIED * cost) & (worth > 0) & ~columns.shut
    low, high = system.bounds
    row, each, entry = columns.entries(system.tasks + np.arange(len(low)))
    paid = entry * lot.price[row]
    net, gross = (np.bincount(each, part, len(low)) for part in (paid, np.abs(paid)))
    return value, np.concatenate(
        [cheap, (np.abs(net) <= NEARLY_TIED * gross) & (gross > 0) & (low < high)]
    )


def parts_of(
    system: System, lot: Lot, used: Ints, payers: Bools, value: Floats, cheap: Bools | None
) -> list[Part]:
    """A lot by what has nothing to do with each other.

    Parameters
    ----------
    value : (N,) of users, as `near` has it. cheap : (P + F,) columns that link although they are
        out of use, as they are as cheap; None for none.
    """
    columns, users, tasks = system.columns, len(system.share_unit), system.tasks
    dear = lot.price > 0
    rows, pays = np.flatnonzero(dear), payers & (value > 0)
    on = np.zeros(tasks + len(system.bounds[0]), dtype=bool)
    on[used] = True
    both = np.unique(columns.touching(rows))  # what takes none of these rows links nothing
    if cheap is None:
        both = both[on[both]]
    else:
        # what others run costs them nothing on priced rows: what one of these asks, another gives
        asked = both[both < tasks]
        links = cheap[both]
        links[: len(asked)] &= pays[columns.of_column[asked]]
        both = both[on[both] | links]
    mine, flows = both[both < tasks], both[both >= tasks]
    owner = columns.of_column[mine]
    if len(rows) == 1:
        some, own = lot.users[np.isin(lot.users, owner)], np.unique(owner)
        return [Part(rows.tolist(), own[pays[own]].tolist(), some.tolist())]
    row, each, _ = columns.entries(both)
    row, each = row[dear[row]], each[dear[row]]
    node = np.concatenate([owner, users + np.arange(len(flows))])
    place = np.searchsorted(rows, row)
    name, of = _connected(place, node[each], len(rows), users + len(flows))
    found = []
    for one in np.unique(name).tolist():
        own = np.unique(owner[of[owner] == one])
        found.append(
            Part(
                rows[name == one].tolist(),
                own[pays[own]].tolist(),
                lot.users[of[lot.users] == one].tolist(),
            )
        )
    return found


def _connected(row: Ints, node: Ints, rows: int, nodes: int) -> tuple[Ints, Ints]:
    """The part of each row, and of each node, -1 of those that take none: the first of its rows.

    Parameters
    ----------
    row, node : (E,) what takes what.
    """
    name = np.arange(rows)
    while True:
        least = np.full(nodes, rows)
        np.minimum.at(least, node, name[row])
        new = name.copy()
        np.minimum.at(new, row, least[node])
        new = new[new]  # a name is that of a row, which may have a lower one by now
        if np.array_equal(new, name):
            return name, np.where(least < rows, least, -1)
        name = new


__all__ = ["NEARLY_TIED", "Part", "near", "parts_of"]
