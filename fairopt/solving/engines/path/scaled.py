"""All rules with columns that are not negative, in units in which everything is about 1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fairopt.formulas.lowered import Lowered
from fairopt.instance import Floats, Ints


@dataclass(frozen=True)
class Standard:
    """The rules with columns z >= 0 alone: flows counted from one of their bounds.

    matrix : sparse (M, P + F). rhs : (M,). rows : how many are rows of `low`, which come first.
    owner : (P,). score : (P,), of one unit of z. size : (P + F,) tasks or flow in a unit of z.
    """

    matrix: Any
    rhs: Floats
    rows: int
    owner: Ints
    score: Floats
    size: Floats


def standard(low: Lowered, unit: Floats) -> Standard:
    """The rules of `low`, rows in units of their typical amount, shares in units of `unit` (N,)."""
    from scipy.sparse import coo_array, hstack, vstack

    count = low.columns
    tasks, flows = low.matrix[:, :count], low.matrix[:, count:]
    from_low = np.isfinite(low.low)
    start = np.where(from_low, low.low, low.high)
    sign = np.where(from_low, 1.0, -1.0)
    rhs = low.rhs - flows @ start
    both = np.flatnonzero(from_low & np.isfinite(low.high))
    wide = low.high[both] - low.low[both]
    reach = np.abs(flows).T @ low.unit / np.maximum(np.abs(flows).sum(axis=0), 1.0)
    size = np.concatenate([unit[low.owner] / low.score, np.asarray(reach).ravel()])
    body = hstack([tasks, flows.multiply(sign[None, :])]).multiply(1.0 / low.unit[:, None])
    top = coo_array(
        (1.0 / wide, (np.arange(len(both)), count + both)), shape=(len(both), body.shape[1])
    )
    whole = vstack([body, top]).multiply(size[None, :]).tocsr()
    scaled = np.concatenate([rhs / low.unit, np.ones(len(both))])
    return Standard(whole, scaled, len(low.rhs), low.owner, np.ones(count), size)
