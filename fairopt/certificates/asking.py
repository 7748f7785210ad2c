"""The alpha-fair question that an answer answers, read from its instance and notion."""

from __future__ import annotations

import weakref
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from fairopt.allocation import Allocation
from fairopt.certificates import pulls
from fairopt.certificates.asked_users import AskedUsers, power
from fairopt.certificates.columns import Grid, Listed
from fairopt.certificates.pulls import PullRows
from fairopt.certificates.question import Question
from fairopt.certificates.tolerance import ROUNDING
from fairopt.errors import UsageError
from fairopt.formulas import penalties, rows
from fairopt.formulas.entitled import Entitled, entitled
from fairopt.formulas.lowered import DOWN_OF_TWO, LIMIT, QUOTA, RULE, Lowered, lower
from fairopt.formulas.penalties import Terms
from fairopt.instance import Bools, Floats, Instance, remembered


def asked(alloc: Allocation) -> Question:
    """The question that an answer answers, kept with it.

    Raises
    ------
    UsageError : the notion is not alpha-fair.
    """
    found: Question = remembered(alloc, "_question", lambda: _asked(alloc))
    return found


def of_terms(alloc: Allocation, terms: Entitled) -> Question:
    """The question with other floors and weights than its instance's, whatever rules there are."""
    return _ruled(alloc, terms, kind_of(alloc))


def _asked(alloc: Allocation) -> Question:
    kind = kind_of(alloc)
    if kind["name"] != "alpha-fair":
        raise UsageError(f"notion {alloc.notion['name']!r} is not alpha-fair")
    terms = entitled(alloc.instance, alloc.score, kind)
    if alloc.kind["name"] == penalties.NAME:  # it knows no tree
        terms = replace(terms, weight=alloc.instance.weight)
    if not alloc.instance.plain or pulls.penalised(alloc):
        return _ruled(alloc, terms, kind)
    # of a plain instance a question depends on no answer: several of them ask the same one, which
    # is there as long as one of them is
    known = alloc.instance.__dict__.get("_plain_question")
    if known is not None:
        asked, score, of = known[0](), known[1](), known[2]
        if asked is not None and score is alloc.score and of == kind:
            found: Question = asked
            return found
    made = _plain(alloc, terms, kind)
    known = weakref.ref(made), weakref.ref(alloc.score), kind
    alloc.instance.__dict__["_plain_question"] = known
    return made


def kind_of(alloc: Allocation) -> dict[str, Any]:
    """The alpha-fair notion that an answer's shares are compared by: the trade-off's without its
    penalties."""
    return pulls.unpenalised(alloc) if alloc.kind["name"] == penalties.NAME else alloc.kind


BAND = 2.0**-50
"""of `equal`, the part of a typical amount by which the sum may be below: a few units of the last
digit of its amount, without which no point of several floats could be proved to keep it"""


FURTHER = 2.0**12
"""times that rows which fewer tasks would break are aimed at further below full"""


def _plain(alloc: Allocation, terms: Entitled, kind: dict[str, Any]) -> Question:
    """A grid of users and servers; rows of capacity, then of limits."""
    inst, score = alloc.instance, alloc.score
    users, servers, resources = inst.shape
    top, bottom, alone, best, within, every = (np.empty(users) for _ in range(6))
    for some in inst.blocks():
        u, a = score[some], inst.alone[some]
        if not inst.everywhere:
            u = np.where(inst.eligible[some], u, 0.0)
        top[some], alone[some] = rows.largest(u), rows.largest(a)
        bottom[some] = rows.least(u if inst.everywhere else np.where(u > 0, u, np.inf))
        share, limit = u * a, inst.limit[some]
        best[some], every[some] = rows.largest(share), rows.total(share)
        within[some] = best[some]
        if np.isfinite(limit).any():
            within[some] = rows.largest(u * np.minimum(a, limit[:, None]))
    known = AskedUsers(
        alloc, terms, kind, top, bottom, np.minimum(alone, inst.limit), best, within, every
    )
    limited = np.flatnonzero(known.as_row)
    rhs = np.concatenate([inst.pool.ravel(), inst.limit[limited]])
    row_unit = power(rhs)
    columns = Grid.of(
        inst, score, known.tasks_unit, known.share_unit, known.same, row_unit, limited
    )
    return known.question(
        columns,
        rhs / row_unit,
        np.where(rhs > 0, rhs / row_unit, 1.0),
        np.zeros(0),
        np.zeros(0),
        row_unit,
    )


@dataclass(frozen=True)
class _Form:
    """What an instance and its scores (N, I) and floors (N,) say of a question with any rules: the
    lowered system, its matrix by columns, which columns are shut (P,), the most tasks that each
    may hold (P,), and of users what `AskedUsers` knows."""

    score: Floats
    floor: Floats
    low: Lowered
    matrix: Any
    shut: Bools
    alone: Floats
    of_users: tuple[Floats, Floats, Floats, Floats, Floats, Floats, Bools | None]
    pulled: dict[Any, tuple[PullRows, Question]] = field(default_factory=dict)
    """questions that were asked of it with penalties, by which of these there were"""


def _form(inst: Instance, score: Floats, floor: Floats) -> _Form:
    """The form, kept with the instance until it is asked with other scores: sweeps ask again and
    again with the same."""
    kept: _Form | None = inst.__dict__.get("_form")
    if kept is not None:
        same = np.array_equal(kept.score, score) and np.array_equal(kept.floor, floor)
        if same:
            return kept
    low = lower(inst, score)
    users, owner, worth = inst.shape[0], low.owner, low.score
    top, best, within, most = (np.zeros(users) for _ in range(4))
    bottom = np.full(users, np.inf)
    np.maximum.at(top, owner, worth)
    # a floor that is all that the limit allows leaves a user the columns of the best score alone
    forced = np.isfinite(inst.limit) & (floor >= inst.limit * top * (1 - ROUNDING))
    shut = low.empty | (forced[owner] & (worth < top[owner]))
    np.minimum.at(bottom, owner[~shut], worth[~shut])
    full = low.matrix.tocsc()
    entries = full[:, : low.columns].tocoo()
    room, takes = _room(low, full), entries.data > 0
    alone = np.full(low.columns, np.inf)
    np.minimum.at(alone, entries.col[takes], room[entries.row[takes]] / entries.data[takes])
    limited = np.minimum(alone, inst.limit[owner])
    np.maximum.at(best, owner, worth * alone)
    np.maximum.at(within, owner, worth * limited)
    np.maximum.at(most, owner, limited)
    every = np.asarray(np.bincount(owner, worth * alone, users), dtype=np.float64)
    paid = low.paid if low.shape[6] else None
    paid = paid if paid is not None and paid.any() else None
    of_users = top, bottom, most, best, within, every, paid
    found = _Form(score.copy(), floor.copy(), low, full, shut, alone, of_users)
    inst.__dict__["_form"] = found
    return found


def _ruled(alloc: Allocation, terms: Entitled, kind: dict[str, Any]) -> Question:
    """Any rules: the lowered system. Questions whose penalties differ in their weights alone, as
    those of a sweep, differ in the elasticities of their rows alone."""
    form = _form(alloc.instance, alloc.score, terms.floor)
    if not pulls.penalised(alloc):
        return _listed(alloc, terms, kind, form, None)
    soft = Terms.of(alloc.notion)
    hard = soft.equal_across, soft.equal_within
    which = (soft.alpha, soft.t_pf > 0, soft.t_drf > 0, *hard, terms.added, terms.weight.tobytes())
    known = form.pulled.get(which)
    if known is None:
        more = pulls.rows(alloc, form.low, form.alone, soft)
        asked = _listed(alloc, terms, kind, form, more)
        if more is not None:
            form.pulled[which] = more, asked
        return asked
    more, asked = known
    assert asked.pulls is not None
    log_give = more.log_give(soft, asked.pulls.unit)
    return replace(asked, pulls=replace(asked.pulls, log_give=log_give))


def _listed(
    alloc: Allocation,
    terms: Entitled,
    kind: dict[str, Any],
    form: _Form,
    more: PullRows | None,
) -> Question:
    """The question of a form, with the rows of variances appended."""
    low, shut, full = form.low, form.shut, form.matrix
    known = AskedUsers(alloc, terms, kind, *form.of_users)
    keep = kept_rows(low, known.same)
    rhs, unit = low.rhs[keep], low.unit[keep]
    further = None
    if low.shape[6]:
        asks = (low.kind[keep] == RULE) & ((low.rhs[keep] <= 0) | low.signed[keep])
        further = np.where(asks, FURTHER, 1.0)
        below = (low.kind[keep] == RULE) & (low.two[keep] == DOWN_OF_TWO)
        rhs = rhs + np.where(below, BAND * unit, 0.0)
    matrix = full if keep.all() else low.matrix[np.flatnonzero(keep)].tocsc()
    first = matrix.indices[matrix.indptr[low.columns : -1]]  # a row of each flow
    # a flow cannot be more than all quotas, nor less than all that there is
    kinds, one = low.kind[keep], low.one[keep]
    quota = kinds == QUOTA
    given_out = np.bincount(one[quota], np.maximum(rhs[quota], 0.0), low.shape[4] + 1)
    lowest = np.maximum(low.low, -unit[first])
    highest = np.minimum(low.high, given_out[one[first]])
    if more is not None:
        matrix = pulls.below(matrix, more)
        first = matrix.indices[matrix.indptr[low.columns : -1]]
        rhs = np.concatenate([rhs, np.zeros(len(more.unit))])
        unit = np.concatenate([unit, more.unit])
        if further is not None:
            further = np.concatenate([further, np.ones(len(more.unit))])
        lowest = np.concatenate([lowest, np.zeros(len(more.most))])
        highest = np.concatenate([highest, more.most])
    row_unit = power(unit)
    columns = Listed.of(matrix, low, known.tasks_unit, known.share_unit, known.same, row_unit, shut)
    flow = row_unit[first]
    pulled = None if more is None else pulls.of(more, Terms.of(alloc.notion), row_unit, flow)
    return known.question(
        columns,
        rhs / row_unit,
        unit / row_unit,
        lowest / flow,
        highest / flow,
        row_unit,
        pulled,
        further,
    )


def _room(low: Lowered, matrix: Any) -> Floats:
    """(M,) the most that tasks may take of each row, with all that flows may bring."""
    flows = matrix[:, low.columns :].tocoo()
    with np.errstate(invalid="ignore"):
        brought = -flows.data * np.where(flows.data > 0, low.low[flows.col], low.high[flows.col])
    found = low.rhs + np.bincount(flows.row, brought, len(low.rhs))
    # tasks that count less than nothing make room for others
    open_ = (low.kind == LIMIT) | low.signed
    return np.where(open_, np.inf, np.maximum(found, 0.0))


def kept_rows(low: Lowered, same: Bools) -> Bools:
    """(M,) the rows that are rows: not the limits that bound a share."""
    found: Bools = ~((low.kind == LIMIT) & same[np.where(low.kind == LIMIT, low.one, 0)])
    return found


__all__ = ["asked", "kept_rows", "kind_of", "of_terms", "power"]
