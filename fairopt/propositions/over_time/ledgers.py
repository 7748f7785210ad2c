"""What ledgers of schedulers do in the long run.

The statements and their proofs: docs/maths/over-time.md. An instance gives users and weights on one
resource; half-lives, use and wants are drawn from the seed.
"""

from __future__ import annotations

import numpy as np

from fairopt.allocation.check import Check
from fairopt.instance import Floats, Instance, Ints
from fairopt.notions import MaxMin
from fairopt.overtime import rules
from fairopt.overtime.rules import TIED, RuleAsked, SliceChange, condor, kai
from fairopt.overtime.states import LedgerState, Memory, average
from fairopt.propositions import draws
from fairopt.propositions.statement import certified, stated

ONE = draws.Small(users=(2, 5), servers=(1, 1), resources=(1, 1), density=1.0, zero_demand=0.0)
SOURCE = "ledgers; docs/maths/over-time.md"
SLICES = 4000
"""slices of a run whose mean is looked at"""


def asked(weight: Floats, k: float = 1.0, factor: Floats | None = None) -> RuleAsked:
    """Everybody wants everything, for a slice of an hour."""
    n = len(weight)
    ones = np.ones(n)
    return RuleAsked(weight, np.full(n, np.inf), ones, 1.0, k, ones if factor is None else factor)


def part(change: SliceChange) -> Floats:
    """(N,) parts of one resource that everybody wants: by weight, of the first class."""
    there = ~change.out
    first = there & (change.rank == change.rank[there].min())
    weight = np.where(first, change.weight, 0.0)
    return np.asarray(weight / weight.sum())


def _weights(inst: Instance) -> Floats:
    return np.asarray(inst.weight / inst.weight.sum())


@stated(
    name="ledgers/kai-weights-never-vanish",
    words="if use is at most the capacity, KAI's weights add up to at least 1 + k (1 - sum U) >= 1",
    source=SOURCE,
    draw=ONE,
)
def _never_vanish(inst: Instance, seed: int) -> Check:
    rng = np.random.default_rng(seed)
    w, k = _weights(inst), float(rng.uniform(0, 10))
    use = rng.dirichlet(np.ones(len(w))) * rng.random()
    found = kai(LedgerState(use, 1.0), asked(w, k))
    total = float(np.where(found.out, 0.0, found.weight).sum())
    least = 1 + k * (1 - float(use.sum()))
    return Check.of("sum of weights", max(0.0, 1 - total / least), 1e-9, f"{total:.6g}")


@stated(
    name="ledgers/kai-shrinks-deviations",
    words="where everybody always wants more, a small deviation of use from the weights is "
    "multiplied by beta - k (1 - beta) in each slice: stable iff k < (1 + beta) / (1 - beta)",
    source=SOURCE,
    draw=ONE,
)
def _kai_shrinks(inst: Instance, seed: int) -> Check:
    rng = np.random.default_rng(seed)
    w, beta = _weights(inst), float(rng.uniform(0.05, 0.95))
    k = float(rng.uniform(0, 2)) * (1 + beta) / (1 - beta)
    memory = Memory(np.log(2) / -np.log(beta) if beta < 1 else np.inf)
    away = rng.normal(size=len(w))
    # so small that nobody's weight is cut at 0
    away = (away - away.mean()) * 1e-3 * w.min() / max(k, 1.0) / np.abs(away).max()
    state = LedgerState(w + away, 1.0)
    after = average(state, part(kai(state, asked(w, k))), 1.0, memory)
    factor = beta - k * (1 - beta)
    apart = np.abs((after.amount - w) - factor * away).max() / np.abs(away).max()
    return Check.of("factor", float(apart), 1e-7 * (1 + abs(factor)), f"beta {beta:.3g}, k {k:.3g}")


@stated(
    name="ledgers/kai-settles-at-the-weights",
    words="where everybody always wants more, use under KAI settles at the weights, whatever k",
    source="ledgers; KAI's time-based fairshare, as it is often read",
    draw=ONE,
    reading="printed",
)
def _kai_settles(inst: Instance, seed: int) -> Check:
    rng = np.random.default_rng(seed)
    w, beta = _weights(inst), float(rng.uniform(0.05, 0.9))
    k = float(rng.uniform(0, 2)) * (1 + beta) / (1 - beta)
    memory = Memory(np.log(2) / -np.log(beta))
    state = LedgerState(w + 1e-3 * w.min() * np.where(np.arange(len(w)) == 0, 1 - len(w), 1), 1.0)
    for _ in range(500):
        state = average(state, part(kai(state, asked(w, k))), 1.0, memory)
    apart = float(np.abs(state.amount - w).max())
    return Check.of("use", apart, 0.01, f"beta {beta:.3g}, k {k:.3g}")


@stated(
    name="ledgers/condor-divides-by-the-root",
    words="HTCondor's shares tend to f^(-1/2) / sum f^(-1/2)",
    source=SOURCE,
    draw=ONE,
)
def _condor_root(inst: Instance, seed: int) -> Check:
    share, factor = _condor(inst, seed)
    due = factor**-0.5 / (factor**-0.5).sum()
    return Check.of("share", float(np.abs(share / due - 1).max()), 1e-6, _told(share))


@stated(
    name="ledgers/condor-divides-by-the-factor",
    words="HTCondor's shares tend to f^-1 / sum f^-1: a factor of 4 is a quarter",
    source="ledgers; HTCondor's manual, user priorities, as it is often read",
    draw=ONE,
    reading="printed",
)
def _condor_factor(inst: Instance, seed: int) -> Check:
    share, factor = _condor(inst, seed)
    due = factor**-1 / (factor**-1).sum()
    return Check.of("share", float(np.abs(share / due - 1).max()), 1e-6, _told(share))


def _condor(inst: Instance, seed: int) -> tuple[Floats, Floats]:
    """Shares after a long time, and the factors."""
    rng = np.random.default_rng(seed)
    n = len(inst.users)
    factor = rng.choice([1.0, 2.0, 4.0, 10.0], n)
    if np.ptp(factor) == 0:
        factor[0] *= 4
    state, memory, machines = LedgerState(np.full(n, 0.5)), Memory(float(rng.uniform(2, 20))), 1e6
    share = np.full(n, 1 / n)
    for _ in range(2000):
        share = part(condor(state, asked(np.ones(n), factor=factor)))
        state = average(state, machines * share, 1.0, memory)
    return share, factor


@stated(
    name="ledgers/least-used-first-meets-weights",
    words="least used first gives everybody its weight, whatever the half-life",
    source="ledgers; Kueue's admission fair sharing and Slurm's fair tree, as they are often read",
    draw=ONE,
    reading="printed",
)
def _least_used(inst: Instance, seed: int) -> Check:
    return least_used(inst, seed, float(np.random.default_rng(seed).uniform(0.5, 4)))


@stated(
    name="ledgers/least-used-first-meets-weights-slowly",
    words="least used first gives everybody its weight within 1/50 if the half-life is 1,000 "
    "slices",
    source=SOURCE,
    draw=ONE,
    reading="corrected",
)
def _least_used_slowly(inst: Instance, seed: int) -> Check:
    return least_used(inst, seed, 1000.0)


def least_used(inst: Instance, seed: int, half: float, tolerance: float = 0.02) -> Check:
    """Mean shares of a long run of least used first, beside the weights."""
    # weights of one decade at most: lighter users come once in a long while
    w = np.maximum(_weights(inst), 0.05)
    w = w / w.sum()
    burn = int(10 * half)
    turns = in_turn(w, Memory(half).beta(1.0), burn + SLICES)
    whole = np.bincount(turns[burn:], minlength=len(w)) / SLICES
    return Check.of("share", float(np.abs(whole - w).max()), tolerance, _told(whole))


def in_turn(weight: Floats, beta: float, slices: int) -> Ints:
    """(slices,) who has all in each slice: the first of `rank`, with the averages of `average`, in
    plain numbers, as most of a trial is spent here.

    Of several who are first, by name: ties would be divided by weight, and whoever starts at its
    weight would stay there.
    """
    w, n = weight.tolist(), len(weight)
    used, turns = [0.0] * n, np.empty(slices, dtype=np.int64)
    for t in range(slices):
        part = [z / v for z, v in zip(used, w, strict=True)]
        least = min(part)
        least += TIED * max(least, TIED)
        last = next(k for k in range(n) if part[k] <= least)
        used = [beta * z for z in used]
        used[last] += 1 - beta
        turns[t] = last
    return turns


@stated(
    name="ledgers/karma-with-ample-credits",
    words="Karma with nothing guaranteed and ample credits is, slice by slice, max-min of totals",
    source=SOURCE,
    draw=ONE,
)
def _karma_ample(inst: Instance, seed: int) -> Check:
    """The other side: each user's total so far is a server of its own with room for just that."""
    rng = np.random.default_rng(seed)
    n = len(inst.users)
    total, credits, worst = np.zeros(n), np.full(n, 1e3), 0.0
    for _ in range(4):
        wants = rng.uniform(0, 1, n) * (rng.random(n) < 0.8)
        if not wants.any():
            continue
        found = rules.divide(wants, credits, np.zeros(n), 1.0)
        there = np.flatnonzero(wants)
        had = np.maximum(total[there], 1e-9)
        place = np.hstack([np.ones((len(there), 1), bool), np.eye(len(there), dtype=bool)])
        both = Instance(
            np.ones((len(there), 1)),
            np.append(1.0, had)[:, None],
            placement=place,
            limit=wants[there] + had,
        )
        due = certified(both, MaxMin(criterion="tasks")).totals - had
        worst = max(worst, float(np.abs(found.held[there] - due).max()))
        total, credits = total + found.held, found.credits
    return Check.of("held", worst, 1e-6, _told(total))


@stated(
    name="ledgers/karma-leaves-nothing-idle",
    words="Karma serves all that is wanted, or all there is",
    source="ledgers; Karma (OSDI 2023), Pareto efficiency, as it is often read",
    draw=ONE,
    reading="printed",
)
def _karma_idle(inst: Instance, seed: int) -> Check:
    return _busy(inst, seed, 1.0)


@stated(
    name="ledgers/karma-with-credits-leaves-nothing-idle",
    words="Karma serves all that is wanted, or all there is, while nobody's credits run out",
    source=SOURCE,
    draw=ONE,
    reading="corrected",
)
def _karma_busy(inst: Instance, seed: int) -> Check:
    return _busy(inst, seed, 1e3)


def _busy(inst: Instance, seed: int, most: float) -> Check:
    """What is left idle though it is wanted, where users begin with so many credits at most."""
    rng = np.random.default_rng(seed)
    n, short = len(inst.users), 0.0
    credits = most * rng.uniform(0.1, 1, n)
    for _ in range(6):
        wants = rng.uniform(0, 1.5, n) * (rng.random(n) < 0.6)
        found = rules.divide(wants, credits, 0.5 * _weights(inst), 1.0)
        credits = found.credits
        short = max(short, min(1.0, float(wants.sum())) - float(found.held.sum()))
    return Check.of("idle", short, 1e-9, _told(credits))


@stated(
    name="ledgers/credits-keep-their-sum",
    words="Karma's credits keep their sum",
    source=SOURCE,
    draw=ONE,
)
def _credits(inst: Instance, seed: int) -> Check:
    rng = np.random.default_rng(seed)
    n = len(inst.users)
    credits = rng.uniform(0, 5, n)
    before = float(credits.sum())
    guaranteed = rng.dirichlet(np.ones(n)) * rng.choice([0.5, 1.0])
    for _ in range(6):
        wants = rng.uniform(0, 2, n) * (rng.random(n) < 0.7)
        credits = rules.divide(wants, credits, guaranteed, 1.0).credits
    apart = abs(float(credits.sum()) - before) / before
    return Check.of("sum", apart, 1e-9, _told(credits))


def _told(values: Floats) -> str:
    return "(" + ", ".join(f"{x:.4g}" for x in values.tolist()) + ")"


__all__ = ["asked", "in_turn", "least_used", "part"]
