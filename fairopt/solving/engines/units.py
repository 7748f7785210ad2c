"""Natural units: an estimate of each user's share, so that the numbers of a program are near 1."""

from __future__ import annotations

import numpy as np

from fairopt.formulas import welfare
from fairopt.formulas.linear_program import LinearProgram
from fairopt.formulas.lowered import Lowered, lower
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
    inst, full, best_score = question.instance, alone(question), best(question)
    log_v = question.log_w / max(question.alpha, 1.0)
    weight = np.exp(log_v - np.log(full) - (log_v - np.log(full)).max())
    slope = np.maximum(weight, 1e-8) * full
    program = LinearProgram(lower(inst, question.score))
    held, unit = np.ones(len(full), bool), full / len(full)
    for _ in range(4):
        # a user fixed at its limit keeps what that allows
        floor = np.where(held, 0.0, unit)
        found = program.most(None, floor, np.where(held, slope, 0.0), unit=full)
        if found is None or not found.t > 0:
            break  # solver failed: keep the unit found before
        wanted = weight * found.t * full
        unit = np.where(held, np.minimum(wanted, best_score * inst.limit), unit)
        # the program keeps every limit, so that a user can only be at it, not above
        beyond = held & (wanted >= best_score * inst.limit * (1 - 1e-9))
        if not beyond.any() or beyond.sum() == held.sum():
            break
        held &= ~beyond
    # of about the size is enough, and then no answer hangs on the last digits of this program
    mantissa, power = np.frexp(np.maximum(unit, 1e-14 * full))
    return np.asarray(np.ldexp(np.round(mantissa, 9), power))


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
