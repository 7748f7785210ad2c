"""khamse2016: strategy-proofness (Theorem 3), Lemma 1, and (46), the tasks a liar really runs.

Only the answer to a lie that breaks a statement is certified; those of other lies need not be.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairopt.allocation.check import Check
from fairopt.instance import Floats, Instance
from fairopt.notions import PerServerDominantShare
from fairopt.properties.lies import ShareLie, truly_runs
from fairopt.propositions import draws
from fairopt.propositions.khamse2016.statements import any_order, meets_theorem, ps_dsf, refilled
from fairopt.propositions.statement import Hypothesis, Undecided, stated

RANDOM, PLAIN = 4, 6
"""numbers of random and of plain lies tried in one trial"""
GAINS = 1e-4
"""relative: a smaller change may be due to tolerances"""
UNCHANGED = 1e-7
"""relative: a liar that loses less than this has not lowered its own tasks"""


def drawn(inst: Instance, rng: np.random.Generator, beyond: bool = True) -> ShareLie:
    """A random lie about demand, eligible servers, or both; a server the liar can use is kept.

    With `beyond` it may also claim servers that it cannot use. One time in four the liar raises its
    demand to another user's where that is larger; else it scales some resources, or all.
    """
    users, servers, resources = inst.shape
    n = int(rng.integers(users))
    demand, placement = inst.demand[n].copy(), inst.placement[n].copy()
    kind = int(rng.integers(4))
    if kind == 0:
        demand = np.maximum(demand, inst.demand[rng.integers(users)])
    elif kind < 3:
        spread = float(rng.choice((0.05, 0.3, 1.0)))
        one = rng.random(resources) < (0.5 if kind == 1 else 1.0)
        demand *= np.exp(one * rng.normal(0.0, spread, resources))
    if kind == 3 or rng.random() < 0.3:
        flip = rng.random(servers) < 0.4
        told = placement ^ flip if beyond else placement & ~flip
        usable = told & inst.eligible[n]
        placement = told if usable.any() else placement
    return ShareLie(n, demand, placement)


def plain(inst: Instance) -> list[ShareLie]:
    """Every lie that leaves out one server, or claims one resource that is not needed."""
    found = []
    for n, own in enumerate(inst.placement):
        for i in np.flatnonzero(inst.eligible[n]):
            left = own & (np.arange(len(own)) != i)
            if (left & inst.eligible[n]).any():
                found.append(ShareLie(n, inst.demand[n], left))
        for r in np.flatnonzero(inst.demand[n] == 0):
            demand = inst.demand[n].copy()
            demand[r] = demand.max()
            found.append(ShareLie(n, demand, own))
    return found


@dataclass(frozen=True)
class Outcome:
    """The effect of a lie: totals (N,) before it, tasks (N, I) after it, and the division."""

    instance: Instance
    lie: ShareLie
    before: Floats
    tasks: Floats
    division: str

    @property
    def runs(self) -> float:
        """Tasks the liar really runs (46)."""
        return truly_runs(self.instance, self.lie, self.tasks)

    @property
    def gain(self) -> float:
        """(really runs - truth) / max(really runs, truth)."""
        truth = float(self.before[self.lie.user])
        most = max(self.runs, truth)
        return (self.runs - truth) / most if most > 0 else 0.0

    def prove(self) -> None:
        """Raise Undecided where the answer to the lie is not certified."""
        if not meets_theorem(self.lie.told(self.instance), self.tasks, self.division):
            raise Undecided("ps-dsf: the answer to a lie is not certified")


def outcomes(inst: Instance, lies: list[ShareLie], seed: int, division: str) -> list[Outcome]:
    """The outcomes of lies; before and after, servers are refilled in the same order."""
    order = any_order(inst, np.random.default_rng(seed))
    before = ps_dsf(inst, division, order).sum(axis=1)
    return [
        Outcome(inst, lie, before, refilled(lie.told(inst), division, order), division)
        for lie in lies
    ]


def _claims(inst: Instance, lie: ShareLie) -> str:
    demand = ", ".join(f"{x:.6g}" for x in lie.demand)
    servers = ", ".join(s for s, on in zip(inst.servers, lie.placement, strict=True) if on)
    return f"claiming demand ({demand}) on {servers}"


# -- strategy-proofness ------------------------------------------------------------------------


@stated(
    name="khamse2016/theorem-3-strategy-proof-tdm",
    words="under TDM PS-DSF no user runs more by lying about its demand or eligible servers",
    source="khamse2016 Theorem 3, TDM; (46)",
    draw=draws.Small(users=(2, 4), zero_demand=0.2),
    notion=PerServerDominantShare(division="tdm"),
)
def _tdm_gain(inst: Instance, seed: int) -> Check:
    return _gain(inst, seed, "tdm")


@stated(
    name="khamse2016/table-1-strategy-proof-rdm",
    words="under RDM PS-DSF no user runs more by lying about its demand or eligible servers",
    source="khamse2016 Table I; Theorem 3 says it of TDM alone; (46)",
    draw=draws.Small(users=(2, 4), density=0.9, zero_demand=0.2),
    notion=PerServerDominantShare(),
)
def _rdm_gain(inst: Instance, seed: int) -> Check:
    return _gain(inst, seed, "rdm")


def _gain(inst: Instance, seed: int, division: str) -> Check:
    rng = np.random.default_rng(seed)
    some = plain(inst)
    chosen = rng.permutation(len(some))[:PLAIN]
    lies = [some[k] for k in chosen] + [drawn(inst, rng) for _ in range(RANDOM)]
    most = max(outcomes(inst, lies, seed, division), key=lambda outcome: outcome.gain)
    if most.gain > GAINS:
        most.prove()
    n = most.lie.user
    witness = (
        f"{inst.users[n]} runs {most.runs:.6g} tasks instead of {most.before[n]:.6g} by "
        + _claims(inst, most.lie)
    )
    return Check.of("no lie gains", max(most.gain, 0.0), GAINS, witness)


# -- Lemma 1 -----------------------------------------------------------------------------------


POSITIVE = Hypothesis(
    "positive demand", draws.positive_demand, draws.Small(users=(2, 4), zero_demand=0.5)
)


@stated(
    name="khamse2016/lemma-1-printed",
    words="if every user demands every resource, under RDM PS-DSF no user lowers another's "
    "tasks by lying about demand or eligible servers without lowering its own",
    source="khamse2016 Lemma 1; (46)",
    draw=draws.Small(users=(2, 4), density=0.5),
    hypotheses=(Hypothesis(POSITIVE.name, draws.positive_demand),),
    reading="printed",
    notion=PerServerDominantShare(),
)
def _harms_itself_anyhow(inst: Instance, seed: int) -> Check:
    return _harms(inst, seed, beyond=True)


@stated(
    name="khamse2016/lemma-1",
    words="if every user demands every resource, under RDM PS-DSF no user lowers another's "
    "tasks by lying about demand or leaving out eligible servers without lowering its own",
    source="khamse2016 Lemma 1, for claims of servers the user can use; (46)",
    draw=draws.Small(users=(2, 4)),
    hypotheses=(POSITIVE,),
    reading="corrected",
    notion=PerServerDominantShare(),
)
def _harms_itself(inst: Instance, seed: int) -> Check:
    return _harms(inst, seed, beyond=False)


@stated(
    name="khamse2016/lemma-1-tdm",
    words="under TDM PS-DSF no user lowers another's tasks by lying about demand or leaving out "
    "eligible servers without lowering its own, whether it demands every resource or not",
    source="khamse2016 Lemma 1, of TDM (ours; the words of Lemma 2 are lost); (46)",
    draw=draws.Small(users=(2, 4), zero_demand=0.3),
    notion=PerServerDominantShare(division="tdm"),
)
def _harms_itself_in_time(inst: Instance, seed: int) -> Check:
    return _harms(inst, seed, beyond=False, division="tdm")


def _harms(inst: Instance, seed: int, beyond: bool, division: str = "rdm") -> Check:
    rng = np.random.default_rng(seed)
    lies = [drawn(inst, rng, beyond) for _ in range(RANDOM)]
    worst, witness = 0.0, ""
    for one in outcomes(inst, lies, seed, division):
        n, after = one.lie.user, one.tasks.sum(axis=1)
        lost = np.where(one.before > 0, 1 - after / np.maximum(one.before, 1e-300), 0.0)
        lost[n] = 0.0
        m = int(lost.argmax())
        if one.gain >= -UNCHANGED and lost[m] > max(worst, GAINS):
            one.prove()
            worst = float(lost[m])
            witness = (
                f"{inst.users[m]} falls from {one.before[m]:.6g} to {after[m]:.6g} tasks and "
                f"{inst.users[n]} runs {one.runs:.6g} after {one.before[n]:.6g}, "
                + _claims(inst, one.lie)
            )
    return Check.of("who harms others harms itself", worst, GAINS, witness)


# -- (46) --------------------------------------------------------------------------------------


@stated(
    name="khamse2016/46",
    words="after the lie d' a user really runs sum_i min_r x'[n,i] d'[n,r] / d[n,r] tasks, the "
    "most that the resources it is given allow",
    source="khamse2016 (46)",
    draw=draws.Small(users=(1, 4), zero_demand=0.3, limits=0.3),
)
def _really_runs(inst: Instance, seed: int) -> Check:
    """Compare with a linear program: the most tasks that fit in the resources the liar is given."""
    from scipy.optimize import linprog

    rng = np.random.default_rng(seed)
    lie = drawn(inst, rng)
    n, mine = lie.user, np.flatnonzero(inst.eligible[lie.user])
    given = draws.greedy(lie.told(inst), rng, part=float(rng.uniform(0.2, 1.0)))
    held = given[n, mine, None] * lie.demand  # (I, R) resources, some of no use to it
    need = np.zeros((len(mine), inst.shape[2], len(mine)))
    need[np.arange(len(mine)), :, np.arange(len(mine))] = inst.demand[n]
    scale = inst.pool[mine].max()
    most = np.array([[inst.limit[n] if np.isfinite(inst.limit[n]) else 1e9]])
    found = linprog(
        -np.ones(len(mine)),
        A_ub=np.vstack([need.reshape(-1, len(mine)) / scale, np.ones((1, len(mine))) / most]),
        b_ub=np.append(held.ravel() / scale, 1.0),
        method="highs",
    )
    if found.x is None:
        raise Undecided("the linear program failed")
    runs, fits = truly_runs(inst, lie, given), float(found.x.sum())
    off = abs(runs - fits) / max(runs, fits, 1e-6)
    return Check.of("(46)", off, 1e-5, f"(46) gives {runs:.6g} tasks, {fits:.6g} fit")
