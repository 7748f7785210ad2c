"""Tasks that cost alike but for some last digit: who of them runs where, and at which prices.

Scores are quotients of floats, so that what would be a tie is one only to sixteen digits: of
columns in use that contradict each other in the last of them, and of some out of use that are
cheaper by one, a linear program says which are in use at the optimum, and which last digits prices
have.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fairopt.certificates import digits
from fairopt.certificates.nearby.moves import inside
from fairopt.certificates.nearby.rows import AGREE, TIED, Lot
from fairopt.certificates.nearby.system import System
from fairopt.formulas.gathered import sparse
from fairopt.instance import Bools, Floats, Ints

LARGEST = 5_000
"""most columns of such a program"""
FULL = 1e-9
"""a row of which a smaller part is left is full"""
GONE = 1e-11
"""part of a share below which a column went out of use"""


def alike(system: System, lot: Lot, payers: Bools) -> tuple[Ints, Floats]:
    """The columns at which a unit of share is cheapest, but for the last digits, and by what part
    of that they are cheaper, or dearer below 0."""
    columns, value = system.columns, lot.value
    at, cost = columns.dear(lot.price[0])  # who pays has no column that costs nothing
    owner = columns.of_column[at]
    near = cost <= (value[0] * (1 + TIED))[owner] * columns.score[at]
    at = at[near & (payers & (value[0] > 0))[owner] & ~columns.shut[at]]
    profit, error = columns.profit(at, lot.price, value)
    part = np.where(np.abs(profit) > error, profit, 0.0)
    return at, part / (value[0][columns.of_column[at]] * columns.worth(at))


def settled(
    system: System,
    lot: Lot,
    cheap: tuple[Ints, Floats],
    columns: Ints,
    amount: Floats,
    payers: Bools,
    shut: Bools,
) -> tuple[Lot, Ints, Floats] | None:
    """The lot with other last digits of prices, and columns and amounts (C,) that are best at them;
    None where all is so already, or where no program says.

    Parameters
    ----------
    cheap : what is `alike`. payers : (N,) who is stopped by then. shut : (P,) columns that must
    not come into use, as they are dearer by some last digit in an earlier round.
    """
    at, part = cheap
    used = np.isin(at, columns)
    open_ = used | ~shut[at]
    at, part, used = at[open_], part[open_], used[open_]
    if not ((np.abs(part) > AGREE) & used).any() and not (part > AGREE).any():
        return None
    from scipy.optimize import linprog
    from scipy.sparse import vstack

    # who is stopped and pays nothing runs on, somewhere; whoever is stopped later makes room
    mine = columns[columns < system.tasks]
    owner = system.columns.of_column[mine]
    nothing = (payers & (lot.value[0] == 0))[system.columns.of_column]
    free = nothing & ~shut & (system.columns.cost(lot.price[0]) == 0)
    at = np.union1d(at, np.concatenate([mine[nothing[mine]], np.flatnonzero(free)]))
    later, _, _ = system.columns.entries(mine[~payers[owner]])
    used = np.isin(at, columns)
    flow = np.flatnonzero((columns >= system.tasks) & inside(system, columns, amount))
    every = np.concatenate([at, columns[flow]])
    count, size = len(at), len(every)
    if size > LARGEST:
        return None
    held = np.zeros(size)
    held[:count][used] = amount[np.searchsorted(columns, at[used])]
    held[count:] = amount[flow]
    unit = np.ones(size)
    unit[:count] = 1 / system.columns.worth(at)
    profit, _ = system.columns.profit(every, lot.price, lot.value)
    gain = profit * unit
    scale = float(np.abs(gain).max())
    row, each, entry = system.columns.entries(every)
    left, _ = system.left(columns, digits.of(amount, 2))
    rules = sparse(entry * unit[each] / system.size[row], row, each, (len(left), size)).tocsr()
    owner = np.unique(system.columns.owner(at), return_inverse=True)[1]
    shares = sparse(np.ones(count), owner, np.arange(count), (int(owner.max()) + 1, size))
    touched = np.diff(rules.indptr) > 0
    touched[later[lot.price[0][later] == 0]] = False
    full = lot.price[0] > 0
    equal, most = np.flatnonzero(touched & full), np.flatnonzero(touched & ~full)
    rest = np.maximum(left / system.size, 0.0)[most]
    low, high = -held / unit, np.full(size, np.inf)
    low[count:], high[count:] = (side[columns[flow] - system.tasks] for side in system.bounds)
    low[count:], high[count:] = low[count:] - held[count:], high[count:] - held[count:]
    found = linprog(
        -gain / scale,
        A_ub=rules[most],
        b_ub=np.where(rest <= FULL, 0.0, rest),
        A_eq=vstack([rules[equal], shares]),
        b_eq=np.zeros(len(equal) + shares.shape[0]),
        bounds=np.column_stack([np.minimum(low, 0.0), np.maximum(high, 0.0)]),
        method="highs",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    if found.x is None or not np.isfinite(found.x).all():
        return None
    more = np.zeros(len(left))
    more[equal] = -found.eqlin.marginals[: len(equal)]
    more[most] = np.maximum(-found.ineqlin.marginals, 0.0)
    price = digits.positive(digits.plus(lot.price, more * scale / system.size))
    now = np.maximum(held + found.x * unit, 0.0)
    own = np.zeros(system.tasks + system.bounds.shape[1])
    own[columns] = amount
    own[every] = now
    keep = np.zeros(len(own), dtype=bool)
    keep[columns] = True
    keep[at] = now[:count] > GONE * unit[:count]
    keep[system.tasks :] = True
    places = np.flatnonzero(keep)
    return replace(lot, price=price), places, own[places]
