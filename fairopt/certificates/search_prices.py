"""Which equations determine the prices that rounds mean; `enclosed_prices` judges them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from fairopt.certificates.enclosed import Equation
from fairopt.certificates.enclosed_levels import TasksEnclosed
from fairopt.certificates.enclosed_prices import PricesClaim, PricesEnclosed
from fairopt.certificates.exact_case import ExactCase
from fairopt.certificates.exact_parts import Part
from fairopt.certificates.exact_search import TURNS, ExactSearch
from fairopt.certificates.follows import normal
from fairopt.certificates.meant.lots import Lot
from fairopt.certificates.search_tasks import regular_part
from fairopt.instance import Bools, Floats

FEW_COLUMNS = 8
"""columns of a row that are looked at first"""


def prices_of(
    search: ExactSearch, held: TasksEnclosed, lot: Lot, part: Part, cheap: Bools | None
) -> PricesEnclosed | None:
    """The prices of a part, in units of those of its lot."""
    case, system, tasks = search.case, search.system, len(search.case.owner)
    price = lot.price / system.row_unit
    used, own, payers, rows = held.used, held.own, set(part.payers), list(part.rows)
    home = {n: own[n][0] for n in part.payers if n in own}
    if none := sorted(n for n in payers.difference(home) if case.open_[n]):
        cost = system.columns.cost(lot.price)
        for n in none:  # who holds nothing pays where it would pay least
            home[n] = min(case.open_[n], key=lambda c: cost[c] / system.columns.score[c])
    for _ in range(TURNS):
        about = {k: Fraction(float(price[k])) / search.unit(k) for k in rows}
        first = max(rows, key=lambda k: float(lot.price[k] * system.size[k]))
        size = {k: float(about[k] / about[first]) for k in rows}
        others = [k for k in rows if k != first]
        touched = {c for k in rows for c in case.row[k]}
        must = [c for c in touched if c in used and (c < tasks or c in held.place)]
        must.sort(key=used.__getitem__)
        may = list[int]()
        if cheap is not None:
            may = [c for c in sorted(touched.difference(used)) if cheap[c]]
            may = [c for c in may if c >= tasks or case.owner[c] in home]
        claim = PricesClaim(
            others,
            {first: Fraction(1)},
            home,
            part.users,
            [],
            [size[k] for k in others],
            about[first],
        )
        columns, chosen, places = list[int](), list[int](), list[int]()
        for some, more in ((_few(case, rows, must), []), (must, may)):
            if len(chosen) == len(others):
                break
            columns, matrix, most = _equations(held, claim, some, more)
            chosen, places = regular_part(matrix, most)
        claim = replace(claim, chosen=[columns[k] for k in chosen])
        if len(chosen) < len(others):  # what nothing determines is kept as it is
            known = [others[j] for j in sorted(places)]
            fixed = {k: Fraction(size[k]) for k in rows if k not in set(known)}
            claim = replace(claim, rows=known, fixed=fixed, about=[size[k] for k in known])
        found = PricesEnclosed.of(held, claim)
        if found is None:
            return None
        gone = set(found.below())
        if not gone:
            return found
        rows = [k for k in rows if k not in gone]
    return None


def _few(case: ExactCase, rows: Sequence[int], must: Sequence[int]) -> list[int]:
    """Of each row some columns: equations of these mostly determine all prices."""
    many, found = dict.fromkeys(rows, 0), list[int]()
    for c in must:
        mine = [k for k in case.column[c] if many.get(k, FEW_COLUMNS) < FEW_COLUMNS]
        if mine:
            found.append(c)
        for k in mine:
            many[k] += 1
    return found


def _equations(
    held: TasksEnclosed, claim: PricesClaim, must: Sequence[int], may: Sequence[int]
) -> tuple[list[int], Floats, int]:
    """Columns whose equations differ, these in floats, each price in its size, and how many of the
    first must hold."""
    known, columns, forms = set[tuple[tuple[int, int], ...]](), list[int](), list[Equation]()
    for c in (*must, *may):
        form, last = claim.form(held.case, c)
        key = normal(form, last)
        if key and form and key not in known:
            known.add(key)
            columns.append(c)
            forms.append(form)
    most = len(set(must).intersection(columns))
    matrix = np.zeros((len(forms), len(claim.rows)))
    for row, form in zip(matrix, forms, strict=True):
        top = max([a.bit_length() for a in form.values()])
        for j, a in form.items():
            row[j] = a / (1 << top) * claim.about[j]
    return columns, matrix, most


__all__ = ["prices_of"]
