"""Ours: the bounds that hold for any prices, whether optimal or not (weak duality).

They are those of the certificates: docs/maths/alpha-fairness.md, own-notion.md and max-min.md.
"""

from __future__ import annotations

import numpy as np

from fairopt.allocation import Allocation
from fairopt.allocation.check import Check
from fairopt.certificates import levels, proof
from fairopt.certificates.universal import universal_bound
from fairopt.formulas import welfare
from fairopt.formulas.penalties import Terms, means, objective
from fairopt.instance import Floats, Instance
from fairopt.notions import AlphaFair, MaxMin
from fairopt.notions.tradeoff import Tradeoff
from fairopt.propositions import draws
from fairopt.propositions.linear import Polytope
from fairopt.propositions.statement import Undecided, certified, stated

ALPHAS = (0.0, 0.5, 1.0, 2.0, 5.0, 10.0)
CRITERIA = ("tasks", "drf", "dominant-share", "ps-dsf-sum")
DRAW = draws.Small(zero_demand=0.2, limits=0.3)


@stated(
    name="ours/universal-bound",
    words="concave f(x') <= f(x) + (B - sum G x) for every feasible x' and any prices that "
    "cover G = df/dx",
    source="ours, price bounds 1",
    draw=DRAW,
)
def _universal(inst: Instance, seed: int) -> Check:
    best, point, alpha = _setting(inst, seed, ALPHAS)
    n, i = inst.pairs
    log_w = _log_weight(point)
    log_slope = log_w - alpha * np.log(point.shares)
    top = log_slope.max()
    gradient = np.exp(log_slope - top)[n] * point.score[n, i]
    assert point.prices is not None
    bound = universal_bound(inst, gradient, point.tasks, point.prices, point.limit_prices)
    money = float(gradient @ point.tasks[n, i])
    # f in units of e^top: W (g(s') - g(s)) user by user
    with np.errstate(divide="ignore"):
        ratio = np.log(best.shares) - np.log(point.shares)
    rise = ratio if alpha == 1 else np.expm1((1 - alpha) * ratio) / (1 - alpha)
    gained = float((np.exp(log_slope - top) * point.shares * rise).sum())
    witness = f"alpha {alpha:g}: the optimum gains {gained / money:.6g}, bound {bound / money:.6g}"
    return Check.of("gain <= bound", max((gained - bound) / money, 0.0), 1e-9, witness)


@stated(
    name="ours/alpha-fair-bound",
    words="E(x') <= (1 + gap) E(x) for every feasible x' and any prices, gap in closed form "
    "at their best scale",
    source="ours, price bounds 2",
    draw=DRAW,
)
def _closed_form(inst: Instance, seed: int) -> Check:
    best, point, alpha = _setting(inst, seed, ALPHAS)
    log_w = _log_weight(point)
    rise = welfare.log_equivalent(log_w, best.shares, alpha) - welfare.log_equivalent(
        log_w, point.shares, alpha
    )
    bound = float(np.log1p(proof.gap_by_prices(point)))
    gained, most = np.expm1(rise), np.expm1(bound)
    witness = f"alpha {alpha:g}: the optimum has {gained:.6g} more, bound {most:.6g}"
    return Check.of("log E gained <= log(1 + gap)", max(rise - bound, 0.0), 1e-9, witness)


@stated(
    name="ours/share-intervals",
    words="every optimum has s_n within the interval proved at any x by any prices",
    source="ours, price bounds 3",
    draw=DRAW,
)
def _intervals(inst: Instance, seed: int) -> Check:
    best, point, alpha = _setting(inst, seed, ALPHAS[1:])
    low, high = proof.ends_by_prices(point)
    outside = np.maximum(low / best.shares, best.shares / high) - 1.0
    n = int(outside.argmax())
    witness = (
        f"alpha {alpha:g}: {inst.users[n]} has {best.shares[n]:.6g} at the optimum, interval "
        f"{low[n]:.6g} to {high[n]:.6g}"
    )
    return Check.of("within its interval", max(float(outside[n]), 0.0), 1e-5, witness)


@stated(
    name="ours/max-min-rooms",
    words="no user n can rise by more than room_n, from any prices, while nobody with "
    "U_m <= U_n falls",
    source="ours, price bounds 4",
    draw=DRAW,
)
def _rooms(inst: Instance, seed: int) -> Check:
    """Compare with a linear program of the largest rise, for two users, one of smallest room."""
    rng = np.random.default_rng(seed)
    point = _levelled(inst, MaxMin(str(rng.choice(CRITERIA))), rng)
    room = levels.rooms(point)
    n, i = inst.pairs
    share = np.zeros((inst.shape[0], len(n)))
    share[n, np.arange(len(n))] = point.score[n, i]
    worst, witness = 0.0, ""
    free = np.flatnonzero((point.totals < inst.limit * (1 - 1e-6)) & np.isfinite(room))
    tried = [*free[np.argsort(room[free])][:1], *rng.permutation(free)[:1]]
    for user in dict.fromkeys(tried):
        kept = point.levels <= point.levels[user] * (1 + 1e-9)
        floor = point.shares[kept] * (1 - 1e-9)
        better = Polytope(inst).best(share[user], floor=(share[kept], floor))
        if better is None:
            continue
        rise = float((point.score[user] * better[user]).sum() / point.shares[user]) - 1.0
        if rise - room[user] > worst:
            worst = rise - float(room[user])
            witness = f"{inst.users[user]} can rise by {rise:.6g}, its room is {room[user]:.6g}"
    return Check.of("rise <= room", worst, 1e-6, witness)


def _levelled(inst: Instance, notion: MaxMin, rng: np.random.Generator) -> Allocation:
    """A feasible point with prices of levels, near those of the max-min answer or random."""
    other = draws.scattered(inst, rng)
    if rng.random() < 0.5:
        best = certified(inst, notion)
        assert best.level_prices is not None
        part = rng.uniform(0.0, 0.1)
        tasks = (1 - part) * best.tasks + part * other
        return Allocation(inst, notion, tasks, level_prices=_noisy(best.level_prices, rng))
    money = rng.exponential(size=(2, *inst.pool.shape))
    return Allocation(inst, notion, other, level_prices=money * (rng.random(money.shape) < 0.8))


def _noisy(array: Floats, rng: np.random.Generator) -> Floats:
    """The array with random relative errors of about a tenth."""
    noisy: Floats = array * np.exp(rng.normal(scale=0.1, size=array.shape))
    return noisy


def _setting(
    inst: Instance, seed: int, alphas: tuple[float, ...]
) -> tuple[Allocation, Allocation, float]:
    """A certified optimum, another feasible point with prices near or far, and alpha."""
    rng = np.random.default_rng(seed)
    alpha, criterion = float(rng.choice(alphas)), str(rng.choice(CRITERIA))
    notion = AlphaFair(alpha, criterion, weight_inside=bool(rng.integers(2)))
    best = certified(inst, notion)
    other = draws.scattered(inst, rng)
    limited = np.isfinite(inst.limit)
    if rng.random() < 0.5:  # near the optimum, where the bounds are tight
        part = rng.uniform(0.0, 0.1)
        tasks = (1 - part) * best.tasks + part * other
        assert best.prices is not None and best.limit_prices is not None
        p, mu = _noisy(best.prices, rng), _noisy(best.limit_prices, rng)
    else:
        tasks = other
        p = rng.exponential(size=inst.pool.shape) * (rng.random(inst.pool.shape) < 0.8)
        mu = rng.exponential(size=limited.shape) * limited
    return best, Allocation(inst, notion, tasks, p, mu), alpha


def _log_weight(alloc: Allocation) -> Floats:
    parameters = alloc.notion["parameters"]
    return welfare.log_weight(
        alloc.instance.weight, parameters["alpha"], parameters["weight_inside"]
    )


# Ours: a bound on the trade-off (16) of kesidis2016 that holds for any prices, for g = log.
#
# Let a0 be the dominant shares (N, I) at any point, F0 its levels, z = F0 - mean F0, y_i = a0_i
# minus its mean over the users eligible at i, ds the dominant share of one task and
#
# .. math:: q_n = \frac{2 t_{PF}}{N} z_n + \phi_n \min_i \Big( \frac{\sum_r p_{i,r} d_{n,r} + \mu_n}
#           {ds_{n,i}} + \frac{2 t_{DRF}}{|E_i|} y_{n,i} \Big) > 0
#
# Then no feasible allocation has an objective above
#
# .. math:: \sum_n \phi_n (\log(\phi_n / q_n) - 1) + \sum p c + \sum \mu \ell
#           + \frac{t_{PF}}{N} |z|^2 + \sum_i \frac{t_{DRF}}{|E_i|} |y_i|^2


PENALTIES = (0.0, 0.1, 1.0, 10.0, 900.0)


@stated(
    name="ours/tradeoff-bound",
    words="no feasible allocation has a trade-off objective (16) above the bound of any prices "
    "and any tangent point",
    source="ours, price bounds 5; kesidis2016 (16)",
    draw=draws.Small(zero_demand=0.2, limits=0.3),
)
def _bounded(inst: Instance, seed: int) -> Check:
    """The bound at the certified optimum, from near or far prices and tangent point."""
    rng = np.random.default_rng(seed)
    notion = Tradeoff(t_pf=float(rng.choice(PENALTIES)), t_drf=float(rng.choice(PENALTIES)))
    best = certified(inst, notion)
    assert best.prices is not None and best.limit_prices is not None
    near = rng.random() < 0.5
    noise = 0.1 if near else 1.0
    p = best.prices * np.exp(rng.normal(scale=noise, size=best.prices.shape))
    mu = best.limit_prices * np.exp(rng.normal(scale=noise, size=best.limit_prices.shape))
    part = rng.uniform(0.0, 0.1) if near else 1.0
    tasks = (1 - part) * best.tasks + part * draws.scattered(inst, rng)
    terms = Terms.of(notion.plain())
    scales = np.exp(np.linspace(-4, 4, 81))
    least = min(_bound(inst, best.score, tasks, t * p, t * mu, terms) for t in scales)
    if not np.isfinite(least):
        raise Undecided("the prices prove nothing: some q is not positive")
    value = objective(inst, best.score * best.tasks, terms)
    over = (value - least) / float(inst.weight.sum())
    witness = f"{notion}: optimum {value:.9g}, bound {least:.9g}"
    return Check.of("objective <= bound", max(over, 0.0), 1e-9, witness)


def _bound(
    inst: Instance, score: Floats, tasks: Floats, p: Floats, mu: Floats, terms: Terms
) -> float:
    """The bound of the module docstring; inf if some q is not positive."""
    who, phi = inst.eligible, inst.weight
    a0 = score * tasks
    level = a0.sum(axis=1) / phi
    z = level - level.mean()
    y = np.where(who, a0 - means(inst, a0), 0.0)
    pull = terms.t_drf / np.maximum(who.sum(axis=0), 1)
    money = np.einsum("ir,nir->ni", p, inst.demand_by_server) + mu[:, None]
    cost = np.where(who, money / np.where(who, score, 1.0) + 2 * pull * y, np.inf)
    q = 2 * terms.t_pf * z / len(phi) + phi * cost.min(axis=1)
    if (q <= 0).any():
        return np.inf
    limits = float(mu[mu > 0] @ inst.limit[mu > 0])
    return (
        float((phi * (np.log(phi / q) - 1)).sum())
        + float((p * inst.pool).sum())
        + limits
        + terms.t_pf * float(z @ z) / len(phi)
        + float((pull * y**2).sum())
    )
