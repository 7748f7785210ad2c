"""What a queue could hold today without touching anybody who holds less than it does.

For a queue g: the largest sum of its shares while every workload of a queue at or below g's level
keeps what it holds; queues above may lose all. One linear program for each queue. Its prices prove
the number: any prices p >= 0 of capacity and k >= 0 of what is kept bound the share by

    sum p c + sum mu L - sum k s0,   mu_n = max(0, max_i(score[n,i] - p.d)) of the queue's own,
                                     mu_m = max(0, max_i(k_m score[m,i] - p.d)) of those kept,

with limits L (and the most tasks that fit where there is no limit). A queue's level is its share by
its weight. This is not what the queue is due.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fairopt.formulas.linear_program import FINE, LinearProgram
from fairopt.formulas.lowered import lower
from fairopt.instance import Bools, Floats, Instance

MOST_NUMBERS = 300_000
"""queues times pairs; beyond, the numbers are left out"""


@dataclass(frozen=True)
class Could:
    """The most that one queue could hold.

    Parameters
    ----------
    share : sum of its members' shares; `tasks` of one such placement, (N,) `mix` by user.
    prices : (I, R) of capacity. keep : (N,) of a unit of share that another keeps.
    """

    tasks: float
    share: float
    mix: Floats
    prices: Floats
    keep: Floats


def kept(owner: list[str], weight: dict[str, float], share: Floats, queue: str) -> Bools:
    """(N,) whose held share must stay: members of other queues at or below the queue's level.

    Parameters
    ----------
    owner : queue of each user. weight : of each queue. share : (N,) held shares.
    """
    level = {name: 0.0 for name in owner}
    for name, s in zip(owner, share.tolist(), strict=True):
        level[name] += s / weight[name]
    here = level[queue] * (1 + 1e-9)
    return np.array([name != queue and level[name] <= here for name in owner], dtype=bool)


def held_share(instance: Instance, score: Floats, held: Any) -> Floats:
    """(N,) share of the tasks held on shapes where they may run."""
    share: Floats = np.where(instance.eligible, score * held, 0.0).sum(axis=1)
    return share


def bound(
    instance: Instance, score: Floats, own: Bools, floor: Floats, prices: Floats, keep: Floats
) -> float:
    """The proved most of sum of `own` shares while users keep `floor`; no prices are believed.

    Parameters
    ----------
    own : (N,) members of the queue. floor : (N,) shares that are kept, 0 of all others.
    prices : (I, R). keep : (N,). Negative ones count as 0.
    """
    p, k = np.maximum(prices, 0.0), np.where(own, 0.0, np.maximum(keep, 0.0))
    k = np.where(floor > 0, k, 0.0)
    cost = instance.demand @ p.T
    gain = np.where(own, 1.0, k)[:, None] * score - cost
    mu = np.where(instance.eligible, gain, 0.0).max(axis=1).clip(0.0)
    # rounding of the prices counts at the limit, or at the most tasks that fit
    most = np.minimum(instance.limit, instance.alone.sum(axis=1))
    return float((instance.pool * p).sum() + mu @ most - k @ floor)


def of_queue(
    inst: Instance,
    scores: Floats,
    owner: list[str],
    weight: dict[str, float],
    held: Any,
    queue: str,
) -> Could | None:
    """The most that a queue could hold; None where what the others hold does not fit.

    Parameters
    ----------
    inst : without groups and modes. scores : (N, I) share of one task.
    owner : queue of each user. weight : of each queue. held : (N, I) tasks.
    """
    own = np.array([name == queue for name in owner])
    share = held_share(inst, scores, held)
    stay = kept(owner, weight, share, queue) & (share > 0)
    low = lower(inst, scores)
    found = LinearProgram(low).most(
        np.where(own[low.owner], low.score, 0.0),
        np.where(stay, share, -np.inf),
        unit=np.where(stay, share, 1.0),
        tolerance=FINE,
    )
    if found is None:
        return None
    prices, keep = low.named(found.price).capacity, found.paid
    most = bound(inst, scores, own, np.where(stay, share, 0.0), prices, keep)
    if most < float(share[own].sum()) * (1 - 1e-6):
        return None  # what it holds itself does not fit beside the others
    mine = own[low.owner]
    mix = np.bincount(low.owner[mine], found.x[mine], len(owner)).astype(np.float64)
    return Could(float(mix.sum()), most, mix, prices, keep)
