"""The rows and users of a round that have nothing to do with its others, as floats tell them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fairopt.certificates.meant.lots import Lot, valued
from fairopt.certificates.meant.system import System
from fairopt.instance import Bools, Floats, Ints

NEAR = 1e-9
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
    cheap = (np.abs(cost - worth) <= NEAR * cost) & (worth > 0) & ~columns.shut
    low, high = system.bounds
    row, each, entry = columns.entries(system.tasks + np.arange(len(low)))
    paid = entry * lot.price[row]
    net, gross = (np.bincount(each, part, len(low)) for part in (paid, np.abs(paid)))
    return value, np.concatenate(
        [cheap, (np.abs(net) <= NEAR * gross) & (gross > 0) & (low < high)]
    )


def parts_of(system: System, lot: Lot, used: Ints, payers: Bools, tied: bool) -> list[Part]:
    """A lot by what has nothing to do with each other; linked by columns out of use that are as
    cheap, if `tied`."""
    columns, users = system.columns, len(system.share_unit)
    value, cheap = near(system, lot, used)
    rows = np.flatnonzero(lot.price > 0)
    on = np.zeros(len(cheap), dtype=bool)
    on[used] = True
    ours = on[: system.tasks].copy()
    on = on | cheap if tied else on
    # what others run costs them nothing on priced rows: what one of these asks, another gives
    pays = payers & (value > 0)
    on[: system.tasks] &= pays[columns.of_column] | ours
    touched = np.zeros(len(cheap), dtype=bool)  # what takes none of these rows links nothing
    touched[columns.by_row[rows].indices] = True
    both = np.flatnonzero(on & touched)
    mine, flows = both[both < system.tasks], both[both >= system.tasks]
    if len(rows) == 1:
        owner = np.unique(columns.of_column[mine])
        some = lot.users[np.isin(lot.users, owner)]
        return [Part(rows.tolist(), owner[pays[owner]].tolist(), some.tolist())]
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    row, each, _ = columns.entries(both)
    dear = lot.price[row] > 0
    row, each = row[dear], each[dear]
    size = users + len(lot.price)
    node = np.concatenate([columns.of_column[mine], size + np.arange(len(flows))])[each]
    links = coo_array((np.ones(len(row)), (node, users + row)), shape=(size + len(flows),) * 2)
    _, name = connected_components(links, directed=False)
    found = []
    for one in np.unique(name[users + rows]).tolist():
        owner = np.unique(columns.of_column[mine][name[columns.of_column[mine]] == one])
        found.append(
            Part(
                rows[name[users + rows] == one].tolist(),
                owner[pays[owner]].tolist(),
                lot.users[name[lot.users] == one].tolist(),
            )
        )
    return found


__all__ = ["NEAR", "Part", "near", "parts_of"]
