r"""Ours: a bound on the trade-off (16) of kesidis2016 that holds for any prices, for g = log.

Let a0 be the dominant shares (N, I) at any point, F0 its levels, z = F0 - mean F0, y_i = a0_i minus
its mean over the users eligible at i, ds the dominant share of one task and

.. math:: q_n = \frac{2 t_{PF}}{N} z_n + \phi_n \min_i \Big( \frac{\sum_r p_{i,r} d_{n,r} + \mu_n}
          {ds_{n,i}} + \frac{2 t_{DRF}}{|E_i|} y_{n,i} \Big) > 0

Then no feasible allocation has an objective above

.. math:: \sum_n \phi_n (\log(\phi_n / q_n) - 1) + \sum p c + \sum \mu \ell
          + \frac{t_{PF}}{N} |z|^2 + \sum_i \frac{t_{DRF}}{|E_i|} |y_i|^2
"""

from __future__ import annotations

import numpy as np

from fairopt.allocation.check import Check
from fairopt.formulas.penalties import Terms, means, objective
from fairopt.instance import Floats, Instance
from fairopt.notions.tradeoff import Tradeoff
from fairopt.propositions import draws
from fairopt.propositions.statement import Undecided, certified, stated

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
