"""kesidis2018 Definition 1 (U-MMF): as printed, and in the form of kesidis2016."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from fairopt.allocation import Allocation
from fairopt.allocation.check import Check
from fairopt.instance import Floats, Instance
from fairopt.notions import MaxMin
from fairopt.propositions import draws
from fairopt.propositions.linear import Polytope
from fairopt.propositions.statement import Hypothesis, Undecided, certified, stated

CRITERIA = ("tasks", "drf", "dominant-share", "ps-dsf-sum")
FOURTEEN = Hypothesis("(14)", draws.equal_where_shared, draws.Small(users=(2, 3)))
ZERO = 1e-7
"""relative tolerance for equal levels and for full resources"""


def printed(inst: Instance, tasks: Floats, level: Floats) -> float:
    """Violation of the printed form: the largest x[l,i] as a part of x_l; 0 if it is met."""
    part = tasks / np.maximum(tasks.sum(axis=1, keepdims=True), 1e-300)
    richer = level[:, None] > level[None, :] * (1 + ZERO)  # (l, m)
    worst = np.zeros(inst.shape[1])
    for i in np.flatnonzero(_full(inst, tasks)):
        below = richer[:, part[:, i] > 0].any(axis=1)
        worst[i] = (part[:, i] * below).max()
    return float(worst.max())


def corrected(inst: Instance, tasks: Floats, level: Floats) -> float:
    """Violation of the corrected form; 0 if it is met.

    It is the largest over i, m and l of the relative distance of U_m above U_l or, if less, the
    part of its total that m would lose or l would gain if l took over the tasks of m on i.
    """
    worst = 0.0
    demand, total = inst.demand_by_server, tasks.sum(axis=1)
    for i in np.flatnonzero(_full(inst, tasks)):
        for m in np.flatnonzero(tasks[:, i] > 0):
            for k in np.flatnonzero(inst.eligible[:, i] & (level < level[m])):
                need = demand[k, i] > 0
                gives = tasks[m, i] / total[m]
                gets = (tasks[m, i] * demand[m, i, need] / demand[k, i, need]).max()
                felt = max(gives, gets / total[k] if total[k] > 0 else 1.0)
                worst = max(worst, min(1 - level[k] / level[m], felt))
    return float(worst)


def _full(inst: Instance, tasks: Floats) -> Floats:
    pool = np.where(inst.pool > 0, inst.pool, 1.0)
    return np.asarray((inst.used(tasks) / pool >= 1 - ZERO).any(axis=1))


@stated(
    name="kesidis2018/definition-1-printed",
    words="x that fills every server is U-MMF if U_l > U_m, x[m,i] > 0 and a full resource at "
    "i imply x[l,i] = 0",
    source="kesidis2018 Definition 1",
    draw=draws.Alike(),
    hypotheses=(Hypothesis("(14)", draws.equal_where_shared),),
    reading="printed",
)
def _sufficient_printed(inst: Instance, seed: int) -> Check:
    return _sufficient(inst, seed, printed)


@stated(
    name="kesidis2018/definition-1",
    words="x that fills every server is U-MMF if delta[l,i] = 1, x[m,i] > 0 and a full "
    "resource at i imply U_l >= U_m",
    source="kesidis2018 Definition 1, in the form of kesidis2016",
    draw=draws.Alike(),
    hypotheses=(FOURTEEN,),
    reading="corrected",
)
def _sufficient_corrected(inst: Instance, seed: int) -> Check:
    return _sufficient(inst, seed, corrected)


def _sufficient(
    inst: Instance, seed: int, broken: Callable[[Instance, Floats, Floats], float]
) -> Check:
    """Search for an allocation that meets the definition and is not lexicographic max-min."""
    rng = np.random.default_rng(seed)
    criterion = str(rng.choice(CRITERIA))
    best = certified(inst, MaxMin(criterion))
    usable = inst.eligible.any(axis=0)
    top = np.sort(best.levels)
    residual, witness, met = 0.0, "", False
    for tasks in _candidates(best, rng):
        level = (best.score * tasks).sum(axis=1) / inst.weight
        if not _full(inst, tasks)[usable].all() or broken(inst, tasks, level) > ZERO:
            continue
        met = True
        short = 1 - np.sort(level) / top
        apart = np.flatnonzero(np.abs(short) > 1e-6)
        if apart.size and short[apart[0]] > residual:
            residual = float(short[apart[0]])
            listed = "; ".join(_words(row) for row in tasks)
            witness = (
                f"{criterion}: tasks {listed} meet it with levels {_words(level)}, "
                f"U-MMF has {_words(best.levels)}"
            )
    if not met:
        raise Undecided("no candidate meets the definition")
    return Check.of("the definition implies U-MMF", residual, 1e-4, witness)


def _words(level: Floats) -> str:
    return "(" + ", ".join(f"{x:.4g}" for x in level) + ")"


def _candidates(best: Allocation, rng: np.random.Generator) -> Iterator[Floats]:
    """(N, I) allocations that fill every usable server: vertices, and equal but low levels.

    The latter by linear programs: all users that are connected by servers are at one level, the
    lowest at which a random resource of each server is full. Every other time the resource is
    drawn among those that the max-min answer fills.
    """
    inst = best.instance
    for _ in range(4):
        yield draws.greedy(inst, rng)
    n, i = inst.pairs
    pair = np.arange(len(n))
    space = Polytope(inst)
    level = np.zeros((inst.shape[0], len(n)))
    level[n, pair] = best.score[n, i] / inst.weight[n]
    first = np.arange(inst.shape[0])
    for users, _ in inst.parts():
        first[users] = users[0]
    same = (level - level[first])[first != np.arange(len(first))]
    lowest = -level[np.unique(first)].sum(axis=0)
    usable = inst.eligible.any(axis=0)
    pool = np.where(inst.pool > 0, inst.pool, 1.0)
    full = best.utilisation >= 1 - ZERO
    for k in range(4):
        drawn = rng.random(full.shape) + (full if k % 2 else 0.0)
        r = drawn.argmax(axis=1)
        fill = np.zeros((inst.shape[1], len(n)))
        fill[i, pair] = inst.pair_demand[pair, r[i]] / pool[i, r[i]]
        right = np.concatenate([np.zeros(len(same)), np.ones(int(usable.sum()))])
        tasks = space.best(lowest, equal=(np.vstack([same, fill[usable]]), right))
        if tasks is not None:
            yield tasks


@stated(
    name="kesidis2018/definition-1-necessary",
    words="lexicographic max-min x has U_l >= U_m where delta[l,i] = 1, x[m,i] > 0 and a "
    "resource is full at i",
    source="kesidis2018 Definition 1, in the form of kesidis2016",
    draw=draws.Small(),
    hypotheses=(
        Hypothesis("positive demand", draws.positive_demand, draws.Small(zero_demand=0.5)),
    ),
    reading="corrected",
)
def _necessary(inst: Instance, seed: int) -> Check:
    criterion = str(np.random.default_rng(seed).choice(CRITERIA))
    best = certified(inst, MaxMin(criterion))
    residual = corrected(inst, best.tasks, best.levels)
    witness = f"{criterion}: levels {_words(best.levels)}" if residual > 0 else ""
    return Check.of("max-min meets the definition", residual, 1e-5, witness)
