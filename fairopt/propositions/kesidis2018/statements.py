"""kesidis2018: Propositions 1 and 2, Corollary 1. Definition 1 is in `kesidis2018_definition`."""

from __future__ import annotations

import numpy as np

from fairopt import criteria, kkt
from fairopt.allocation.check import Check
from fairopt.filling import fill
from fairopt.instance import Floats, Instance
from fairopt.notions import AlphaFair, MaxMin, ProportionalFair
from fairopt.propositions import draws
from fairopt.propositions.kesidis2018.definition import CRITERIA, FOURTEEN
from fairopt.propositions.linear import excess
from fairopt.propositions.statement import Hypothesis, certified, stated

ALPHAS = (0.5, 1.0, 2.0, 5.0)
NO_LIMITS = Hypothesis("no limits", draws.no_limits, draws.Small(limits=0.8))


@stated(
    name="kesidis2018/proposition-1-fills",
    words="a maximiser of sum phi_n g(U_n) has a full resource on every usable server",
    source="kesidis2018 Proposition 1, (5), (6)",
    draw=draws.Small(zero_demand=0.2),
    hypotheses=(NO_LIMITS,),
)
def _fills(inst: Instance, seed: int) -> Check:
    rng = np.random.default_rng(seed)
    alpha, criterion = float(rng.choice(ALPHAS)), str(rng.choice(CRITERIA))
    best = certified(inst, AlphaFair(alpha, criterion, weight_inside=True))
    free = np.where(inst.eligible.any(axis=0), 1 - best.utilisation.max(axis=1), 0.0)
    i = int(free.argmax())
    witness = f"alpha {alpha:g}, {criterion}: {free[i]:.4g} of {inst.servers[i]} is free"
    return Check.of("a full resource on every server", max(float(free[i]), 0.0), 1e-5, witness)


@stated(
    name="kesidis2018/proposition-1-unique",
    words="every strictly concave g gives the same maximiser levels U of (5), the U-MMF ones",
    source="kesidis2018 Proposition 1, (5), (14)",
    draw=draws.Alike(),
    hypotheses=(FOURTEEN,),
)
def _same_for_every_g(inst: Instance, seed: int) -> Check:
    rng = np.random.default_rng(seed)
    alpha, criterion = float(rng.choice(ALPHAS)), str(rng.choice(CRITERIA))
    level = certified(inst, AlphaFair(alpha, criterion, weight_inside=True)).levels
    mmf = certified(inst, MaxMin(criterion)).levels
    apart = np.abs(level - mmf) / np.maximum(level, mmf)
    n = int(apart.argmax())
    witness = (
        f"{criterion}: U of {inst.users[n]} is {level[n]:.6g} for alpha {alpha:g}, "
        f"{mmf[n]:.6g} for U-MMF"
    )
    return Check.of("the same levels", float(apart[n]), 1e-4, witness)


@stated(
    name="kesidis2018/proposition-2-unique",
    words="the totals x*_n that maximise sum phi_n g_a(x_n) are unique",
    source="kesidis2018 Proposition 2",
    draw=draws.Small(zero_demand=0.2, limits=0.2),
)
def _one_maximiser(inst: Instance, seed: int) -> Check:
    """Solve again with users and servers in reverse order, by another sequence of steps."""
    alpha = float(np.random.default_rng(seed).choice(ALPHAS))
    users, servers, _ = inst.shape
    forth = certified(inst, AlphaFair(alpha)).totals
    turned = inst.select(range(users)[::-1], range(servers)[::-1])
    back = certified(turned, AlphaFair(alpha)).totals[::-1]
    apart = np.abs(forth - back) / np.maximum(forth, back)
    n = int(apart.argmax())
    witness = f"alpha {alpha:g}: {inst.users[n]} has {forth[n]:.9g} or {back[n]:.9g} tasks"
    return Check.of("the same totals", float(apart[n]), 1e-4, witness)


@stated(
    name="kesidis2018/proposition-2",
    words="x* maximises sum phi_n g_a(x_n) iff no feasible x has "
    "sum phi_n (x_n - x*_n) / (x*_n)^a > 0",
    source="kesidis2018 Proposition 2, (15), (16)",
    draw=draws.Small(zero_demand=0.2, limits=0.2),
)
def _variational_tasks(inst: Instance, seed: int) -> Check:
    alpha = float(np.random.default_rng(seed).choice(ALPHAS))
    return _variational(inst, seed, alpha, "tasks")


@stated(
    name="kesidis2018/corollary-1",
    words="U* maximises sum phi_n log U_n iff no feasible U has sum phi_n (U_n - U*_n) / U*_n > 0",
    source="kesidis2018 Corollary 1",
    draw=draws.Small(zero_demand=0.2, limits=0.2),
)
def _variational_levels(inst: Instance, seed: int) -> Check:
    return _variational(inst, seed, 1.0, str(np.random.default_rng(seed).choice(CRITERIA)))


def _variational(inst: Instance, seed: int, alpha: float, criterion: str) -> Check:
    """At the certified optimum the largest linear form is 0; at another point it is positive."""
    best = certified(inst, AlphaFair(alpha, criterion))
    gain = excess(inst, _slope(inst, best.score, best.tasks, alpha), best.tasks)
    # conversely, at any other point the optimum itself violates (16)
    other = draws.scattered(inst, np.random.default_rng(seed))
    slope = _slope(inst, best.score, other, alpha)
    there = float((slope * best.tasks).sum() / (slope * other).sum()) - 1.0
    apart = float(np.abs((best.score * other).sum(axis=1) / best.shares - 1.0).max())
    missed = apart if there <= 0 and apart > 1e-3 else 0.0
    witness = (
        f"alpha {alpha:g}, {criterion}: gain {gain:.2g} at the optimum, {there:.2g} at a point "
        f"{apart:.2g} away"
    )
    return Check.of("(16)", max(gain, missed), 1e-5, witness)


def _slope(inst: Instance, score: Floats, tasks: Floats, alpha: float) -> Floats:
    """(N, I) phi_n u[n,i] / s_n^a up to a common factor that prevents over- and underflow."""
    log_slope = np.log(inst.weight) - alpha * np.log((score * tasks).sum(axis=1))
    slope: Floats = score * np.exp(log_slope - log_slope.max())[:, None]
    return slope


def constant_score(inst: Instance) -> bool:
    """The dominant share u[n,i] of one task is the same on every server of a user."""
    u = criteria.score(inst, "dominant-share")
    most = u.max(axis=1, keepdims=True)
    return bool(np.where(inst.eligible, most - u <= 1e-12 * most, True).all())


@stated(
    name="kesidis2018/corollary-1-constant",
    words="where a task's dominant share is the same on every server, max sum phi_n log U_n and "
    "max sum phi_n log x_n have the same totals x_n",
    source="kesidis2018 Corollary 1, (13)",
    draw=draws.EqualServers(),
    hypotheses=(Hypothesis("u constant in i", constant_score, draws.Small(servers=(2, 3))),),
)
def _proportional_alike(inst: Instance, seed: int) -> Check:
    del seed  # nothing is drawn
    levels = certified(inst, ProportionalFair("dominant-share")).totals
    tasks = certified(inst, ProportionalFair()).totals
    apart = np.abs(levels - tasks) / np.maximum(levels, tasks)
    n = int(apart.argmax())
    witness = f"{inst.users[n]} has {levels[n]:.6g} tasks by U, {tasks[n]:.6g} by x"
    return Check.of("the same totals", float(apart[n]), 1e-4, witness)


EXAMPLE = np.array([[5.0, 1.0], [1.0, 5.0]]), np.array([[100.0, 30.0], [30.0, 100.0]])
"""demand and capacity of (18), (19)"""


@stated(
    name="kesidis2018/kkt",
    words="at a maximiser of sum phi_n g(U_n) there are lambda, nu >= 0 with u[n,i] g'(U_n) - "
    "sum_r lambda[i,r] B[n,i,r] + nu[n,i] = 0, lambda (1 - use) = 0 and nu x = 0",
    source="kesidis2018 appendix, KKT",
    draw=draws.Small(zero_demand=0.2, limits=0.2),
)
def _kkt(inst: Instance, seed: int) -> Check:
    """nu and lambda are read from the prices of the certified answer (`fairopt.kkt`)."""
    alpha = float(np.random.default_rng(seed).choice(ALPHAS))
    (table,) = kkt.tables(certified(inst, AlphaFair(alpha)))
    found = table.worst()
    name = max(found, key=lambda key: found[key])
    witness = f"alpha {alpha:g}: {name} by {found[name]:.2g}"
    return Check.of("nu, lambda", found[name], 1e-5, witness)


def _example(rng: np.random.Generator) -> Instance:
    """The example of (18), (19), its servers and users in random order and random units."""
    demand, capacity = EXAMPLE
    unit = rng.integers(1, 9, 2)
    return Instance(demand[rng.permutation(2)] * unit, capacity[rng.permutation(2)] * unit)


def _is_example(inst: Instance) -> bool:
    if inst.shape != (2, 2, 2):
        return False
    unit = inst.capacity.max(axis=0) / 100
    given = sorted((inst.demand / unit).tolist()) + sorted((inst.capacity / unit).tolist())
    return bool(np.allclose(given, [[1, 5], [5, 1], [30, 100], [100, 30]]))


@stated(
    name="kesidis2018/rrr-rps-dsf",
    words="on the example of (18), (19) RRR-rPS-DSF performs as rPS-DSF: 42 tasks",
    source="kesidis2018 section IV",
    draw=_example,
    hypotheses=(Hypothesis("the example of (18), (19)", _is_example),),
)
def _rrr(inst: Instance, seed: int) -> Check:
    found = fill(inst, "rrr-rps-dsf", seed=seed).totals.sum()
    wanted = fill(inst, "rps-dsf", seed=seed).totals.sum()
    witness = f"RRR-rPS-DSF {found:g} tasks, rPS-DSF {wanted:g}"
    return Check.of("tasks", float(abs(found - wanted)), 1e-9, witness)
