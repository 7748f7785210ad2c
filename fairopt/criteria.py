"""Criteria, which give the scores u[n,i]: the share that one task of user n on server i counts.

Each is a pure function (instance) -> (N, I), and TABLE has a row for each. Scores are
positive on eligible pairs and 0 elsewhere. A user may give a callable of that form instead.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from fairopt.errors import BadInput, Fault, UsageError
from fairopt.instance import BLOCK, Bools, Floats, Instance, remembered, sealed
from fairopt.instance.labels import by_name

Criterion = str | Callable[[Instance], Floats]
LEAST_SCORE, MOST_SCORE = 1e-250, 1e250
"""between which scores are: beyond, shares and their prices leave floating point"""


def tasks(instance: Instance) -> Floats:
    """u = 1: a share is the number of tasks (kesidis2018 (2), (15)).

    Examples
    --------
    >>> import fairopt as fo
    >>> from fairopt import criteria
    >>> inst = fo.Instance([[1, 4], [3, 1]], [[9, 18], [3, 6]])
    >>> criteria.tasks(inst).round(4)
    array([[1., 1.],
           [1., 1.]])
    """
    return np.broadcast_to(1.0, instance.shape[:2])


def drf(instance: Instance) -> Floats:
    """u_n = max_r d[n,r] / sum_j c[j,r]: dominant share of the whole pool (kesidis2018 (9)).

    Where a task costs differently by server or mode, a unit of output counts what it costs in the
    user's best way: the least max_r d[n,j,k,r] / (a_k sum_j c[j,r]) over its servers j and modes k
    of speed a_k. So a share grows with what the user gets done, never with what it wastes.

    Examples
    --------
    >>> import fairopt as fo
    >>> from fairopt import criteria
    >>> inst = fo.Instance([[1, 4], [3, 1]], [[9, 18], [3, 6]])
    >>> criteria.drf(inst).round(4)
    array([[0.1667, 0.1667],
           [0.25  , 0.25  ]])
    """
    if instance.demand.ndim == 2 and not instance.modes:
        return drf_use(instance)
    ways, total = instance.ways, instance.pool.sum(axis=0)
    demand = ways.demand if ways.demand.ndim == 3 else ways.demand[:, None, :]
    with np.errstate(divide="ignore", invalid="ignore"):
        part = np.where(demand > 0, demand / total, 0.0).max(axis=2) / ways.speed[:, None]
    least = np.where(ways.eligible, part, np.inf).min(axis=1)
    first = np.flatnonzero(np.diff(ways.owner, prepend=-1))
    return np.repeat(np.minimum.reduceat(least, first)[:, None], len(instance.servers), axis=1)


def drf_use(instance: Instance) -> Floats:
    """u[n,i] = max_r d[n,i,r] / sum_j c[j,r]: the part of the whole pool that a task uses.

    Where demand depends on the server this rewards waste: a user has a larger share where its
    tasks cost more. `drf` does not.

    Examples
    --------
    >>> import fairopt as fo
    >>> from fairopt import criteria
    >>> inst = fo.Instance([[1, 4], [3, 1]], [[9, 18], [3, 6]])
    >>> criteria.drf_use(inst).round(4)
    array([[0.1667, 0.1667],
           [0.25  , 0.25  ]])
    """
    total = instance.pool.sum(axis=0)
    if instance.demand.ndim == 2:
        with np.errstate(divide="ignore", invalid="ignore"):
            part = np.where(instance.demand > 0, instance.demand / total, 0.0).max(axis=1)
        return np.broadcast_to(part[:, None], instance.shape[:2])
    return _largest_ratio(instance, np.broadcast_to(total, instance.capacity.shape))


def dominant_share(instance: Instance) -> Floats:
    """u[n,i] = max_r d[n,r] / c[i,r] of one machine (kesidis2018 (13), F_n of kesidis2016 (11)).

    Examples
    --------
    >>> import fairopt as fo
    >>> from fairopt import criteria
    >>> inst = fo.Instance([[1, 4], [3, 1]], [[9, 18], [3, 6]])
    >>> criteria.dominant_share(inst).round(4)
    array([[0.2222, 0.6667],
           [0.3333, 1.    ]])
    """
    return _largest_ratio(instance, instance.capacity)


def tsf(instance: Instance) -> Floats:
    """u = 1/h_n, h_n = sum_i min_r c[i,r]/d[n,r] over all servers, eligible or not (khamse2016).

    With modes, h_n is the most output; a mode counts on its own servers only.

    A server that lacks a demanded resource counts 0. So does a server where the user is not
    eligible and its demand there is all 0, which is to say not stated (demand by server).

    Examples
    --------
    >>> import fairopt as fo
    >>> from fairopt import criteria
    >>> inst = fo.Instance([[1, 4], [3, 1]], [[9, 18], [3, 6]])
    >>> criteria.tsf(inst).round(4)
    array([[0.1667, 0.1667],
           [0.25  , 0.25  ]])
    """
    by_server = instance.demand.ndim == 3
    stated = (instance.demand > 0).any(axis=2) if by_server else np.ones(instance.shape[:2], bool)
    everywhere = instance.replace(placement=stated)
    return np.broadcast_to(1.0 / everywhere.alone.sum(axis=1)[:, None], instance.shape[:2])


def cdrf(instance: Instance) -> Floats:
    """u = 1/gamma_n, gamma_n = sum_i gamma[n,i] over the eligible servers (khamse2016).

    With modes, gamma is the most output.

    Examples
    --------
    >>> import fairopt as fo
    >>> from fairopt import criteria
    >>> inst = fo.Instance([[1, 4], [3, 1]], [[9, 18], [3, 6]])
    >>> criteria.cdrf(inst).round(4)
    array([[0.1667, 0.1667],
           [0.25  , 0.25  ]])
    """
    return np.broadcast_to(1.0 / instance.alone.sum(axis=1)[:, None], instance.shape[:2])


def ps_dsf_sum(instance: Instance) -> Floats:
    """u_n = sum_i max_r d[n,r]/c[i,r] delta[n,i], constant in i (kesidis2018 (12)).

    A row of count k has k equal terms.

    Examples
    --------
    >>> import fairopt as fo
    >>> from fairopt import criteria
    >>> inst = fo.Instance([[1, 4], [3, 1]], [[9, 18], [3, 6]])
    >>> criteria.ps_dsf_sum(inst).round(4)
    array([[0.8889, 0.8889],
           [1.3333, 1.3333]])
    """
    each = np.where(instance.eligible, _largest_ratio(instance, instance.capacity), 0.0)
    return np.broadcast_to((each * instance.count).sum(axis=1)[:, None], instance.shape[:2])


NEVER, WITH_DEMAND, ALWAYS = "never", "with demand", "always"


class CriterionRow(NamedTuple):
    """What others must know of a criterion; no field has a default, so that none is forgotten.

    Parameters
    ----------
    by_server : whether a task may count differently on every server, so that shares fix no totals:
        NEVER, WITH_DEMAND (where its demand depends on the server) or ALWAYS.
    modes : whether it knows users with modes; else they are refused.
    linear : whether a score depends on what a task takes; then demand that is not linear is
        refused.
    """

    function: Callable[[Instance], Floats]
    by_server: str
    modes: bool
    linear: bool


TABLE = {
    "tasks": CriterionRow(tasks, by_server=NEVER, modes=True, linear=False),
    "drf": CriterionRow(drf, by_server=NEVER, modes=True, linear=True),
    "drf-use": CriterionRow(drf_use, by_server=WITH_DEMAND, modes=False, linear=True),
    "dominant-share": CriterionRow(dominant_share, by_server=ALWAYS, modes=False, linear=True),
    "tsf": CriterionRow(tsf, by_server=NEVER, modes=True, linear=True),
    "cdrf": CriterionRow(cdrf, by_server=NEVER, modes=True, linear=True),
    "ps-dsf-sum": CriterionRow(ps_dsf_sum, by_server=NEVER, modes=False, linear=True),
}
CRITERIA = {name: row.function for name, row in TABLE.items()}
BY_SERVER = tuple(name for name, row in TABLE.items() if row.by_server != NEVER)
"""criteria by which a task may count differently on every server, so that shares fix no totals"""
ONE_SCORE = tuple(name for name, row in TABLE.items() if row.by_server != ALWAYS)
"""criteria that count a task alike on all servers, where its demand is the same there"""
ONE_WAY = tuple(name for name, row in TABLE.items() if not row.modes)
"""criteria that need one demand of each user on each server, and so refuse modes"""


def name_of(criterion: Criterion) -> str:
    """The name of a criterion in files and messages."""
    if isinstance(criterion, str):
        return criterion
    for name, function in CRITERIA.items():
        if function is criterion:
            return name
    own = str(getattr(criterion, "__name__", type(criterion).__name__))
    return f"{own} (not fairopt's)" if own in CRITERIA else own


def score(instance: Instance, criterion: Criterion) -> Floats:
    """The scores (N, I) of a criterion given by name or as a callable; 0 where not eligible.

    With modes, a score is the share of a unit of output.

    Raises
    ------
    UsageError : the name is unknown, or the criterion knows no modes, or no demand that is not
        linear.
    BadInput : a callable gave a wrong shape, or scores that are not finite and > 0, or beyond
        1e-250 to 1e250.

    Examples
    --------
    >>> import fairopt as fo
    >>> from fairopt import criteria
    >>> inst = fo.Instance([[1, 4], [3, 1]], [[9, 18]])
    >>> criteria.score(inst, 'drf').round(4)
    array([[0.2222],
           [0.3333]])
    """
    if isinstance(criterion, str) and criterion not in CRITERIA:
        raise UsageError(f"criterion: found {criterion!r}; wanted one of {', '.join(CRITERIA)}")
    row = TABLE[criterion] if isinstance(criterion, str) else None
    if row is None or row.linear:
        instance.only_linear(f"criterion {name_of(criterion)}")
    if row is not None and not row.modes:
        instance.only_plain(f"criterion {criterion}", modes=True)
    if isinstance(criterion, str):
        named = CRITERIA[criterion]
        if instance.placement.size > BLOCK:
            return _as_long_as_asked(instance, criterion, named)
        # kept with a small instance, as a sweep asks for it several times per point
        kept: Floats = remembered(instance, f"_score_{criterion}", lambda: _scored(instance, named))
        return kept
    return _scored(instance, criterion)


def departure(instance: Instance, given: Floats, name: str) -> tuple[int, int] | None:
    """(user, server) where given scores are not those of the criterion `name`; None if all are.

    Scores may differ by one part in 1e9: another program may add up in another order.
    """
    own = score(instance, name)
    if own is given:
        return None
    for users in instance.blocks():
        wrong = np.abs(given[users] - own[users]) > 1e-9 * own[users]
        if wrong.any():
            n, i = np.argwhere(wrong)[0]
            return range(len(instance.users))[users][n], int(i)
    return None


def sound(score: Floats) -> Bools:
    """Whether numbers may be scores."""
    return np.asarray((score >= LEAST_SCORE) & (score < MOST_SCORE))


def _scored(instance: Instance, criterion: Callable[[Instance], Floats]) -> Floats:
    name = f"criterion {name_of(criterion)}"
    given, _ = by_name({"score": criterion(instance)}, instance.names)
    try:
        u = np.asarray(given["score"], dtype=np.float64)
    except (TypeError, ValueError):
        found = f"an object of type {type(given['score']).__name__}"
        raise BadInput([Fault(name, found, "an array of scores")]) from None
    if u.shape != instance.shape[:2]:
        raise BadInput([Fault(name, f"scores of shape {u.shape}", f"shape {instance.shape[:2]}")])
    if u.strides[1] == 0:
        return _constant(instance, u, name)
    scores = np.empty(instance.shape[:2])
    for users in instance.blocks():
        eligible = instance.eligible[users]
        scores[users] = np.where(eligible, u[users], 0.0)
        if (eligible & ~sound(scores[users])).any():
            raise BadInput(_bad_scores(instance, u, name))
    return sealed(scores)


def _as_long_as_asked(
    instance: Instance, name: str, criterion: Callable[[Instance], Floats]
) -> Floats:
    """The scores of a large instance, the same array as long as anybody has it: an answer and its
    judge ask one after another, and an instance alone is to take no memory for them."""
    kept = instance.__dict__.get(f"_score_{name}")
    known: Floats | None = None if kept is None else kept()
    if known is None:
        known = _scored(instance, criterion)
        instance.__dict__[f"_score_{name}"] = weakref.ref(known)
    return known


def _constant(instance: Instance, u: Floats, name: str) -> Floats:
    """Scores that are the same on every server; a view of (N, 1) where all are eligible."""
    one = np.array(u[:, 0])
    if not sound(one).all():  # everybody is eligible somewhere
        raise BadInput(_bad_scores(instance, u, name))
    if instance.everywhere:
        return np.broadcast_to(sealed(one)[:, None], u.shape)
    return sealed(np.where(instance.eligible, one[:, None], 0.0))


def _bad_scores(instance: Instance, u: Floats, name: str) -> list[Fault]:
    """The first twenty scores that are not `sound` where the user is eligible."""
    bad = instance.eligible & ~sound(u)
    return [
        Fault(
            f"{name}, user {instance.users[n]} on server {instance.servers[i]}",
            f"{u[n, i]:g}",
            f"a finite score > 0, from {LEAST_SCORE:g} to below {MOST_SCORE:g}",
        )
        for n, i in np.argwhere(bad)[:20]
    ]


def _largest_ratio(instance: Instance, capacity: Floats) -> Floats:
    """max over demanded resources of d[n,r] / capacity[i,r]; 0 where not eligible."""
    n, i = instance.pairs
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = instance.pair_demand / capacity[i]
    u = np.zeros(instance.shape[:2])
    u[n, i] = np.where(instance.pair_demand > 0, ratio, 0.0).max(axis=1)
    return u
