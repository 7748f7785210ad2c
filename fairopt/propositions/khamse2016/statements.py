r"""khamse2016: the definition of PS-DSF, Theorems 1 and 2, Corollary 1 and (11).

The definition: x is feasible, and no x_n can grow without lowering some x[m,i] with
s[m,i]/phi_m <= s[n,i]/phi_n, where s[n,i] = x_n / gamma[n,i]. It is tested directly, by one
linear program per user; the theorems are implemented here independently of the certificates.
"""

from __future__ import annotations

import numpy as np

from fairopt.allocation import Allocation
from fairopt.allocation.check import Check
from fairopt.certificates import certify
from fairopt.errors import FairoptError
from fairopt.instance import Floats, Instance
from fairopt.notions import PerServerDominantShare
from fairopt.notions.ps_dsf import transformed
from fairopt.propositions import draws
from fairopt.propositions.linear import Polytope
from fairopt.propositions.statement import Hypothesis, Undecided, certified, stated
from fairopt.solving.engines.water import ps_dsf as engine

NO_LIMITS = Hypothesis("no limits", draws.no_limits, draws.Small(users=(2, 3), limits=0.8))
ZERO = 1e-6
"""relative tolerance for equal levels and for full resources"""
GROWS = 1e-6
"""growth, as a part of the user's tasks alone, above the tolerance of linear programs"""


def ps_dsf(inst: Instance, division: str = "rdm", order: tuple[str, ...] | None = None) -> Floats:
    """(N, I) tasks of a certified PS-DSF answer, refilled server by server in `order`.

    Raises
    ------
    Undecided : no answer is certified.
    """
    tasks = refilled(inst, division, order)
    notion = PerServerDominantShare(division=division)
    return tasks if meets_theorem(inst, tasks, division) else certified(inst, notion).tasks


def refilled(inst: Instance, division: str, order: tuple[str, ...] | None = None) -> Floats:
    """(N, I) tasks at a fixed point of the refill, not yet judged."""
    space = transformed(inst) if division == "tdm" else inst
    try:
        return engine.solve(space, PerServerDominantShare(order=order)).tasks
    except FairoptError as error:
        raise Undecided(f"ps-dsf: {type(error).__name__}") from error


def meets_theorem(inst: Instance, tasks: Floats, division: str) -> bool:
    """Whether the certificate, Theorem 1 or 2, accepts the tasks (N, I)."""
    return certify(Allocation(inst, PerServerDominantShare(division=division), tasks)).certified


def any_order(inst: Instance, rng: np.random.Generator) -> tuple[str, ...]:
    """The servers in random order."""
    return tuple(str(name) for name in rng.permutation(inst.servers))


def levels(inst: Instance, tasks: Floats) -> Floats:
    """(N, I) s[n,i] / phi_n = x_n / (phi_n gamma[n,i]); NaN where not eligible."""
    size = np.where(inst.eligible, inst.weight[:, None] * inst.alone, np.nan)
    found: Floats = tasks.sum(axis=1)[:, None] / size
    return found


# -- Theorems 1 and 2 --------------------------------------------------------------------------


@stated(
    name="khamse2016/theorem-1",
    words="x is RDM PS-DSF iff every user n has at every eligible server i a full resource it "
    "demands whose holders have s[m,i]/phi_m <= s[n,i]/phi_n",
    source="khamse2016 Theorem 1, RDM",
    draw=draws.Small(users=(2, 3), zero_demand=0.2),
    hypotheses=(NO_LIMITS,),
    notion=PerServerDominantShare(),
)
def _by_resources(inst: Instance, seed: int) -> Check:
    return _definition(inst, seed)


@stated(
    name="khamse2016/theorem-2",
    words="x is TDM PS-DSF iff sum_n x[n,i]/gamma[n,i] = 1 on every usable server and "
    "x[m,i] > 0 implies s[n,i]/phi_n >= s[m,i]/phi_m for all n eligible at i",
    source="khamse2016 Theorem 2, TDM",
    draw=draws.Small(users=(2, 3), zero_demand=0.2),
    hypotheses=(NO_LIMITS,),
    notion=PerServerDominantShare(division="tdm"),
)
def _by_time(inst: Instance, seed: int) -> Check:
    return _definition(transformed(inst), seed)  # time is the one resource


def _definition(inst: Instance, seed: int) -> Check:
    """For each user, the definition (it cannot grow) and the theorem agree."""
    rng = np.random.default_rng(seed)
    tasks = _near(inst, ps_dsf(inst, order=any_order(inst, rng)), rng)
    lacks = np.nanmax(lacking(inst, tasks), axis=1)
    growth = np.array([grows(inst, tasks, n) for n in range(len(inst.users))])
    off = np.where(lacks <= ZERO, growth, np.where(growth <= GROWS, lacks, 0.0))
    n = int(off.argmax())
    witness = (
        f"{inst.users[n]} at {tasks[n].sum():.6g} tasks lacks {lacks[n]:.2g} of a bottleneck and "
        f"can grow by {growth[n]:.2g} of what it has alone"
    )
    return Check.of("the theorem is the definition", float(off[n]), 1e-5, witness)


def _near(inst: Instance, tasks: Floats, rng: np.random.Generator) -> Floats:
    """The PS-DSF answer one time in three; else with one server half filled or filled greedily."""
    kind, i = int(rng.integers(3)), int(rng.integers(len(inst.servers)))
    other = tasks.copy()
    other[:, i] = 0.0
    if kind == 1:
        other[:, i] = 0.5 * tasks[:, i]
    if kind == 2 and inst.eligible[:, i].any():
        who = np.flatnonzero(inst.eligible[:, i])
        free = inst.limit[who] - other[who].sum(axis=1)
        here = inst.select(who, [i]).replace(limit=np.maximum(free, 1e-12))
        other[who, i] = draws.greedy(here, rng)[:, 0]
    return other if kind else tasks


def lacking(inst: Instance, tasks: Floats) -> Floats:
    """(N, I) how far user n is from having a bottleneck at i (Theorem 1); NaN if not eligible.

    It is the least over the resources it demands of the larger of two numbers: the part that is
    free, and the relative distance of the highest holder's level above that of n.
    """
    level = levels(inst, tasks)
    pool = np.where(inst.pool > 0, inst.pool, 1.0)
    free = 1.0 - inst.used(tasks) / pool
    holds = tasks[:, :, None] * inst.demand_by_server > 1e-12 * inst.pool
    found = np.full(level.shape, np.nan)
    for n, i in zip(*inst.pairs, strict=True):
        top = np.where(holds[:, i], level[:, i, None], 0.0).max(axis=0)  # (R,)
        above = np.where(top > 0, 1.0 - level[n, i] / np.where(top > 0, top, 1.0), 0.0)
        need = inst.demand_by_server[n, i] > 0
        found[n, i] = max(float(np.maximum(free[i], above)[need].min()), 0.0)
    return found


def grows(inst: Instance, tasks: Floats, n: int) -> float:
    """The growth of x_n that the definition allows, as a part of n's tasks alone: a linear program.

    Fixed are all x[m,i] of other users whose level at i is at most that of n, and all on servers
    where n is not eligible.
    """
    user, server = inst.pairs
    level = levels(inst, tasks)
    own = np.where(np.isnan(level[n]), np.inf, level[n])
    kept = (user != n) & (level[user, server] <= own[server] * (1 + ZERO))
    rows = np.eye(len(user))[kept]
    floor = tasks[user, server][kept] * (1 - 1e-9)
    best = Polytope(inst).best((user == n).astype(float), floor=(rows, floor))
    if best is None:
        raise Undecided("the linear program failed")
    return float((best[n].sum() - tasks[n].sum()) / inst.alone[n].sum())


# -- Corollary 1 -------------------------------------------------------------------------------


@stated(
    name="khamse2016/corollary-1",
    words="if r is full at i and its holders have the smallest s/phi of all users eligible at "
    "i, r is a bottleneck at i for every eligible user that demands it",
    source="khamse2016 Corollary 1",
    draw=draws.Small(users=(2, 4), zero_demand=0.3),
)
def _lowest_hold(inst: Instance, seed: int) -> Check:
    """If the premise holds at i, no user can grow there, even if those of higher levels lose."""
    rng = np.random.default_rng(seed)
    tasks = _near(inst, ps_dsf(inst, order=any_order(inst, rng)), rng)
    level, demand = levels(inst, tasks), inst.demand_by_server
    full = inst.used(tasks) >= inst.pool * (1 - 1e-9)
    worst, witness, met = 0.0, "", False
    for i, r in np.argwhere(full & (inst.pool > 0)):
        here = np.flatnonzero(inst.eligible[:, i])
        holder = here[tasks[here, i] * demand[here, i, r] > 1e-12 * inst.pool[i, r]]
        if not holder.size or level[holder, i].max() > level[here, i].min() * (1 + 1e-9):
            continue
        met = True
        for n in here[demand[here, i, r] > 0]:
            kept = np.where(level[:, i] <= level[n, i] * (1 + ZERO), tasks[:, i], 0.0)
            left = float(inst.pool[i, r] - kept @ demand[:, i, r]) / demand[n, i, r]
            if left / inst.alone[n, i] > worst:
                worst = left / inst.alone[n, i]
                witness = f"{inst.users[n]} can grow by {left:.4g} tasks on {inst.servers[i]}"
    if not met:
        raise Undecided("no full resource is held by the lowest levels")
    return Check.of("a bottleneck for all", worst, 1e-5, witness)


# -- (11) --------------------------------------------------------------------------------------


@stated(
    name="khamse2016/11",
    words="sum_n x[n,i]/gamma[n,i] <= 1 implies sum_n x[n,i] d[n,r] <= c[i,r] for all r",
    source="khamse2016 (11)",
    draw=draws.Small(users=(1, 5), zero_demand=0.3),
)
def _time_fits(inst: Instance, seed: int) -> Check:
    """Divide a unit of time on every server at random, among few users or many."""
    rng = np.random.default_rng(seed)
    part = inst.eligible * rng.exponential(size=inst.alone.shape) ** rng.choice((1, 4))
    tasks = inst.alone * part / np.maximum(part.sum(axis=0), 1e-300)
    use = inst.used(tasks) / np.where(inst.pool > 0, inst.pool, 1.0)
    i, r = np.unravel_index(int(use.argmax()), use.shape)
    witness = f"{use[i, r]:.6g} of {inst.resources[r]} on {inst.servers[i]}"
    return Check.of("within capacity", max(float(use[i, r]) - 1.0, 0.0), 1e-9, witness)
