"""Natural units: an estimate of each user's share, so that the numbers of a program are near 1."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairopt.formulas import welfare
from fairopt.formulas.lowered import Lowered
from fairopt.instance import Floats
from fairopt.solving.engines.point import AlphaQuestion


def best(question: AlphaQuestion) -> Floats:
    """(N,) largest score of each user on any server, share per task."""
    found: Floats = np.where(question.instance.eligible, question.score, 0.0).max(axis=1)
    return found


def alone(question: AlphaQuestion) -> Floats:
    """(N,) share of each user if it had all its servers for itself, within its limit."""
    inst = question.instance
    everything: Floats = (inst.alone * question.score).sum(axis=1)
    return np.minimum(everything, best(question) * inst.limit)


def max_min(question: AlphaQuestion) -> Floats:
    """(N,) min(W^(1/alpha) L, the share the limit allows), L the max-min level for these weights.

    One linear program. Users whose limit keeps them below the level are then fixed at their limit
    and it is solved again, a few times. If it fails, `alone` divided by the number of users.
    """
    from scipy.optimize import linprog
    from scipy.sparse import coo_array, csr_array, hstack, vstack

    from fairopt.program import limit_matrix, usage_matrix

    inst, (n, _) = question.instance, question.pairs
    u, full = question.share_per_task, alone(question)
    alpha = max(question.alpha, 1.0)
    log_v = question.log_w / alpha
    # unknowns are fractions of what each user has alone, so that all numbers are near 1
    size = full[n] / u
    weight = np.exp(log_v - np.log(full) - (log_v - np.log(full)).max())
    weight = np.maximum(weight, 1e-8)
    usage = usage_matrix(inst)[0].multiply(size[None, :])
    most = limit_matrix(inst)[0].multiply(size[None, :])
    rows = vstack([usage, most]).tocsr()
    users = inst.shape[0]
    of_user = csr_array(coo_array((np.ones(len(n)), (n, np.arange(len(n)))), shape=(users, len(n))))
    held = np.ones(users, bool)
    level, unit = 0.0, full / users
    for _ in range(4):
        column = np.where(held, weight, 0.0)
        # the level is in units of what an equal division would give
        lower = hstack([-of_user, csr_array(column[:, None] / (weight[held].max() * users))])
        above = hstack([rows, csr_array((rows.shape[0], 1))])
        goal = np.zeros(len(n) + 1)
        goal[-1] = -1.0
        # a user fixed at its limit keeps what that allows
        right = np.concatenate([np.ones(rows.shape[0]), np.where(held, 0.0, -unit / full)])
        both: Any = vstack([above, lower]).tocsr()
        found = linprog(goal, both, right, method="highs")
        if found.x is None or not found.x[-1] > 0:
            break  # solver failed: keep the unit found before
        level = found.x[-1] / (weight[held].max() * users)
        best = np.zeros(users)
        np.maximum.at(best, n, u)
        wanted = np.exp(log_v - np.log(full) - (log_v - np.log(full)).max()) * level * full
        unit = np.where(held, np.minimum(wanted, best * inst.limit), unit)
        # the program keeps every limit, so that a user can only be at it, not above
        beyond = held & (wanted >= best * inst.limit * (1 - 1e-9))
        if not beyond.any() or beyond.sum() == held.sum():
            break
        held &= ~beyond
    return np.maximum(unit, 1e-14 * full)


def due(log_w: Floats, alpha: float) -> Floats:
    """(N,) the part of one shared pool that weights alone would give each user, about."""
    if alpha == 0:
        return np.full(len(log_w), 1.0 / len(log_w))
    log_v = log_w / alpha
    return np.exp(np.maximum(log_v - welfare.log_sum_exp(log_v), -30.0))


def beside_rules(low: Lowered) -> Floats:
    """(N,) share of each user alone, about: without quotas, and each column by itself."""
    scaled = low.matrix[:, : low.columns].multiply(1.0 / low.unit[:, None]).tocsc()
    most = low.score / scaled.max(axis=0).toarray().ravel()
    return np.asarray(np.bincount(low.owner, most, low.shape[0]))


def expected(low: Lowered, log_w: Floats, alpha: float) -> Floats:
    """(N,) a share of about the size that each user may expect."""
    return np.asarray(beside_rules(low) * due(log_w, alpha))
