r"""Criteria of progressive filling: the user of smallest criterion gets the next increment.

The criterion of a user on a machine is progress / phi times a factor. Each factor below is a
function (cluster, kind, shapes (K,), residual (K, R)) -> (K,); CRITERIA is the one table. Factors
never fall during filling, so an old value is a lower bound of the present one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from fairopt import criteria
from fairopt.filling.cluster import Machines
from fairopt.instance import Floats, Ints

Factor = Callable[[Machines, int, Ints, Floats], Floats]

FIXED, MACHINE, POOL = "fixed", "machine", "pool"


@dataclass(frozen=True)
class FillingCriterion:
    """A criterion: its factor, what changes the factor (FIXED, MACHINE or POOL), and its source."""

    name: str
    factor: Factor
    moved_by: str
    source: str


def largest_ratio(need: Floats, have: Floats) -> Floats:
    """max over demanded resources of need / have; +inf where none of one is left."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(need > 0, need / np.maximum(have, 0.0), 0.0)
    return np.asarray(ratio.max(axis=-1))


def _need(cluster: Machines, kind: int, shapes: Ints) -> Floats:
    return np.asarray(cluster.demand[kind, shapes] if cluster.by_server else cluster.demand[kind])


def drf(cluster: Machines, kind: int, shapes: Ints, residual: Floats) -> Floats:
    """max_r d / sum_j c[j,r] (kesidis2018 (9))."""
    return largest_ratio(_need(cluster, kind, shapes), cluster.total) + np.zeros(len(shapes))


def ps_dsf(cluster: Machines, kind: int, shapes: Ints, residual: Floats) -> Floats:
    """max_r d / c[j,r], the virtual dominant share (khamse2016; kesidis2018 section IV, K)."""
    return largest_ratio(_need(cluster, kind, shapes), cluster.capacity[shapes])


def tsf(cluster: Machines, kind: int, shapes: Ints, residual: Floats) -> Floats:
    """1 / h, h = tasks of this kind that the empty cluster holds, eligible or not (khamse2016)."""
    return np.full(len(shapes), _constant(cluster, kind, criteria.tsf))


def cdrf(cluster: Machines, kind: int, shapes: Ints, residual: Floats) -> Floats:
    """1 / gamma, gamma = tasks that the empty eligible machines hold (khamse2016)."""
    return np.full(len(shapes), _constant(cluster, kind, criteria.cdrf))


def rps_dsf(cluster: Machines, kind: int, shapes: Ints, residual: Floats) -> Floats:
    """max_r d / (c[j,r] - use[j,r]) (kesidis2018 section IV, K~); +inf where nothing is left."""
    return largest_ratio(_need(cluster, kind, shapes), residual)


def rdrf(cluster: Machines, kind: int, shapes: Ints, residual: Floats) -> Floats:
    """max_r d / capacity of r left in the whole pool."""
    return largest_ratio(_need(cluster, kind, shapes), cluster.left) + np.zeros(len(shapes))


def rtsf(cluster: Machines, kind: int, shapes: Ints, residual: Floats) -> Floats:
    """1 / (fractional) tasks that fit in what is left of all machines, eligible or not."""
    return np.full(len(shapes), _room_left(cluster, kind, False))


def rcdrf(cluster: Machines, kind: int, shapes: Ints, residual: Floats) -> Floats:
    """1 / (fractional) tasks that fit in what is left of the eligible machines."""
    return np.full(len(shapes), _room_left(cluster, kind, True))


CRITERIA = {
    "drf": FillingCriterion("drf", drf, FIXED, "kesidis2018 (9)"),
    "tsf": FillingCriterion("tsf", tsf, FIXED, "khamse2016 section II, TSF"),
    "cdrf": FillingCriterion("cdrf", cdrf, FIXED, "khamse2016 section II, CDRF"),
    "ps-dsf": FillingCriterion("ps-dsf", ps_dsf, FIXED, "kesidis2018 section IV, K"),
    "rdrf": FillingCriterion("rdrf", rdrf, POOL, "drf over what is left"),
    "rtsf": FillingCriterion("rtsf", rtsf, POOL, "tsf over what is left"),
    "rcdrf": FillingCriterion("rcdrf", rcdrf, POOL, "cdrf over what is left"),
    "rps-dsf": FillingCriterion("rps-dsf", rps_dsf, MACHINE, "kesidis2018 section IV, K~"),
}


def table(cluster: Machines, rule: FillingCriterion) -> Floats:
    """(kinds, S) factors on empty machines; those of a FIXED criterion never change."""
    shapes = np.arange(len(cluster.capacity))
    kinds = range(len(cluster.demand))
    return np.stack([rule.factor(cluster, k, shapes, cluster.capacity) for k in kinds])


def gain(cluster: Machines, rule: FillingCriterion) -> Floats | None:
    """(kinds, S) what one increment adds to a user's progress; None where it is 1 everywhere.

    Where demand depends on the server, dominant shares of the pool are added up over machines: an
    increment then adds its factor.
    """
    return table(cluster, rule) if cluster.by_server and rule.name == "drf" else None


def _constant(cluster: Machines, kind: int, criterion: Callable[..., Floats]) -> float:
    store = cluster.__dict__.setdefault("constants", {})
    if criterion not in store:
        store[criterion] = criterion(cluster.instance)[cluster.user_of_kind, 0]
    return float(store[criterion][kind]) * cluster.increment


def _room_left(cluster: Machines, kind: int, placed: bool) -> float:
    need = cluster.demand[kind, cluster.shape] if cluster.by_server else cluster.demand[kind]
    ratio = largest_ratio(need, cluster.residual)
    if placed:
        ratio = ratio[cluster.eligible[kind, cluster.shape]]
    room = float(np.divide(1.0, ratio, out=np.zeros_like(ratio), where=ratio > 0).sum())
    return 1.0 / room if room > 0 else np.inf
