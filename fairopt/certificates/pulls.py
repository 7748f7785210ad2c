r"""The variances of the trade-off as rows of a question, whose prices may have any sign: pulls.

A variance is the least sum of squares of z = a - m over a free number m. So penalties are

.. math:: -\sum_k \frac{z_k^2}{2 e_k}, \quad z_k = \phi_n F_n - \phi_n m,\;
          e_k = \phi_n^2 N / 2 t_{PF} \quad\text{and}\quad
          z_k = a_{n,i} - b_i,\; e_k = |E_i| / 2 t_{DRF},

with m and b_i as flows of their own. A square lies above its tangents: with any pulls q_k as prices
of these rows a feasible answer cannot gain more than the sum of `bound` and of one term a row,

.. math:: (e_k q_k - z_k)^2 / 2 e_k ,

which is never negative, and at every optimum (e q - z*)^2 / 2e is within eps as well. The hard
forms (14) and (15) are rows with e = 0: there z must be 0, any pull will do, and what z is off by
at a point of k floats is paid for by making the point smaller (`Pulls.charge`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from fairopt.allocation import Allocation
from fairopt.formulas.lowered import Lowered
from fairopt.formulas.penalties import NAME, Terms
from fairopt.instance import Bools, Floats, Ints

FORCE = 500.0
"""log of an elasticity, beside all money, from which a row pulls nobody"""
ROUND = 2.0**-50
"""relative error of an elasticity in the unit of money of a place, by 1 + |log of the unit|"""


def unpenalised(alloc: Allocation) -> dict[str, Any]:
    """The alpha-fair notion that a trade-off is without its penalties, its weight inside."""
    parameters = {"alpha": alloc.terms.alpha, "weight_inside": True}
    return {"name": "alpha-fair", "parameters": {**parameters, "criterion": "dominant-share"}}


class PullRows(NamedTuple):
    """Rows to append to a lowered system, and their flows.

    Parameters
    ----------
    matrix : sparse (K, P + F + flows), by entries. unit : (K,) a typical amount.
    most : (flows,) at most.
    size, heads : (K,) elasticities are `size` over twice the term's weight for each of `heads`.
    across : (K,) rows of levels. flow : (K,) of the row; times : (K,). owner : (K,) user.
    """

    matrix: Any
    unit: Floats
    most: Floats
    size: Floats
    heads: Floats
    across: Bools
    flow: Ints
    times: Floats
    owner: Ints

    def log_give(self, terms: Terms, unit: Floats) -> Floats:
        """(K,) log of the elasticities, rows counted in units (K,); -inf of hard forms."""
        hard = np.where(self.across, terms.equal_across, terms.equal_within)
        force = 2 * np.where(self.across, terms.t_pf, terms.t_drf) / self.heads
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.log(np.where(hard, 0.0, self.size / force)) - 2 * np.log(unit))


@dataclass(frozen=True)
class Pulls:
    """The rows with pulls of a question, in its units.

    Parameters
    ----------
    rows : (K,). log_give : (K,) log of elasticities, -inf of hard forms. across : (K,) rows of
        levels. flow : (K,) of the row. times : (K,) what a unit of it takes of the row.
    owner : (K,) user. unit : (K,) what 1 in a row is of level or of dominant share.
    """

    rows: Ints
    log_give: Floats
    across: Bools
    flow: Ints
    times: Floats
    owner: Ints
    unit: Floats

    @cached_property
    def hard(self) -> Bools:
        """(K,) rows that must be 0."""
        return np.isneginf(self.log_give)

    @cached_property
    def even(self) -> bool:
        """Whether both hard forms are asked for."""
        hard = self.hard
        return bool((hard & self.across).any() and (hard & ~self.across).any())

    def give(self, log_unit: float) -> Floats:
        """(K,) elasticities where money is counted in exp(log_unit); 0 of what pulls nobody."""
        kept: tuple[float, Floats] | None = self.__dict__.get("_given")
        if kept is None or kept[0] != log_unit:  # a search asks for that of one unit alone
            shifted = self.log_give + log_unit
            found = np.where(shifted > FORCE, 0.0, np.exp(shifted))
            found.flags.writeable = False
            kept = self.__dict__["_given"] = log_unit, found
        return kept[1]

    def void(self, log_unit: float) -> Bools:
        """(K,) rows too weak to pull anybody."""
        return np.asarray(self.log_give + log_unit > FORCE)


def penalised(alloc: Allocation) -> bool:
    """Whether the notion has penalties on variances, or their hard forms."""
    if alloc.kind["name"] != NAME:
        return False
    terms = alloc.terms
    return terms != Terms.free(terms.alpha)


def below(matrix: Any, more: PullRows) -> Any:
    """A matrix (M, P + F), by columns, with the rows and flows appended."""
    from scipy.sparse import coo_array

    mine, theirs = matrix.tocoo(), more.matrix
    shape = matrix.shape[0] + theirs.shape[0], theirs.shape[1]
    row = np.concatenate([mine.row, theirs.row + matrix.shape[0]])
    column = np.concatenate([mine.col, theirs.col])
    return coo_array((np.concatenate([mine.data, theirs.data]), (row, column)), shape).tocsc()


def of(more: PullRows, terms: Terms, row_unit: Floats, flow_unit: Floats) -> Pulls:
    """The rows appended, in units of rows (M,) and flows (F,)."""
    count = len(more.unit)
    unit, flow = row_unit[-count:], len(flow_unit) - len(more.most) + more.flow
    return Pulls(
        np.arange(len(row_unit) - count, len(row_unit)),
        more.log_give(terms, unit),
        more.across,
        flow,
        more.times * flow_unit[flow] / unit,
        more.owner,
        unit,
    )


def rows(alloc: Allocation, low: Lowered, alone: Floats, terms: Terms) -> PullRows | None:
    """The rows that these terms append; None where nothing varies.

    Parameters
    ----------
    alone : (P,) tasks of each column that its server could hold alone.
    """
    made = [*_levels(alloc, low, alone, terms), *_servers(alloc, low, alone, terms)]
    if not made:
        return None
    from scipy.sparse import coo_array

    flows = len({part.flow for part in made})
    count = np.cumsum([0, *(len(part.unit) for part in made)])
    row = np.concatenate([part.row + start for part, start in zip(made, count, strict=False)])
    column = np.concatenate([part.column for part in made])
    value = np.concatenate([part.value for part in made])
    each = np.repeat(np.arange(len(made)), np.diff(count))
    times = np.concatenate([part.times for part in made])
    width = low.columns + len(low.low)
    here = np.arange(count[-1])
    matrix = coo_array(
        (
            np.concatenate([value, -times]),
            (np.concatenate([row, here]), np.concatenate([column, width + each])),
        ),
        shape=(count[-1], width + flows),
    )
    return PullRows(
        matrix,
        np.concatenate([part.unit for part in made]),
        np.array([part.most for part in made]),
        np.concatenate([part.size for part in made]),
        np.repeat([part.heads for part in made], np.diff(count)),
        np.concatenate([np.full(len(part.unit), part.flow == ACROSS) for part in made]),
        each,
        times,
        np.concatenate([part.owner for part in made]),
    )


ACROSS = -1
"""the flow of levels; servers have their own number"""


class _VarianceRows(NamedTuple):
    """The rows of one variance: its flow; of entries row, column, value; of rows the rest."""

    flow: int
    row: Ints
    column: Ints
    value: Floats
    unit: Floats
    size: Floats
    heads: float
    times: Floats
    owner: Ints
    most: float


def _levels(alloc: Allocation, low: Lowered, alone: Floats, terms: Terms) -> list[_VarianceRows]:
    """phi_n F_n - phi_n m."""
    users, phi = alloc.instance.shape[0], alloc.instance.weight
    if users < 2 or not (terms.t_pf or terms.equal_across):
        return []
    share = np.asarray(np.bincount(low.owner, low.score * alone, users), np.float64)
    most, each = float((share / phi).max()), np.arange(users)
    every, size, heads = np.arange(low.columns), phi**2, float(users)
    return [_VarianceRows(ACROSS, low.owner, every, low.score, share, size, heads, phi, each, most)]


def _servers(alloc: Allocation, low: Lowered, alone: Floats, terms: Terms) -> list[_VarianceRows]:
    """a_{n,i} - b_i of every eligible user, server by server."""
    if not (terms.t_drf or terms.equal_within):
        return []
    made = []
    order = np.argsort(low.server, kind="stable")
    server, start = np.unique(low.server[order], return_index=True)
    for i, on in zip(server.tolist(), np.split(order, start[1:]), strict=True):
        if len(on) < 2:
            continue
        share, one = low.score[on] * alone[on], np.ones(len(on))
        made.append(
            _VarianceRows(
                i,
                np.arange(len(on)),
                on,
                low.score[on],
                share,
                one,
                float(alloc.instance.count[i]) * len(on),
                one,
                low.owner[on],
                float(share.max()),
            )
        )
    return made


__all__ = ["Pulls", "PullRows", "below", "of", "penalised", "rows", "unpenalised"]
