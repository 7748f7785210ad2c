"""kesidis2018: Definition 1 in both readings, Propositions 1 and 2, Corollary 1."""

from __future__ import annotations

import numpy as np

from fairopt.check import Check
from fairopt.instance import Floats, Instance
from fairopt.notions import AlphaFair
from fairopt.propositions import draws
from fairopt.propositions.linear import excess
from fairopt.propositions.statement import Statement, certified

ALPHAS = (0.5, 1.0, 2.0, 5.0)
CRITERIA = ("tasks", "drf", "dominant-share", "ps-dsf-sum")


def proposition_2() -> Statement:
    """x* maximises (15) iff sum phi_n (x_n - x*_n) / (x*_n)^a <= 0 for every feasible x (16)."""
    return Statement(
        name="kesidis2018/proposition-2",
        words="x* maximises sum phi_n g_a(x_n) iff no feasible x has "
        "sum phi_n (x_n - x*_n) / (x*_n)^a > 0",
        source="kesidis2018 Proposition 2, (15), (16)",
        draw=draws.Small(limits=0.2),
        check=_variational,
    )


def _variational(inst: Instance, seed: int) -> Check:
    """At the certified optimum the best linear form gains nothing; elsewhere it gains."""
    rng = np.random.default_rng(seed)
    alpha = float(rng.choice(ALPHAS))
    best = certified(inst, AlphaFair(alpha))
    gain = excess(inst, _slope(inst, best.totals, alpha), best.tasks)
    # the other way: where the objective is lower, the optimum itself violates (16)
    other = draws.scattered(inst, rng)
    form = _slope(inst, other.sum(axis=1), alpha)
    there = float((form * best.tasks).sum() / (form * other).sum()) - 1.0
    apart = float(np.abs(best.totals / other.sum(axis=1) - 1.0).max())
    missed = 0.0 if there > 0 or apart < 1e-3 else apart
    witness = f"alpha {alpha:g}: gain {gain:.2g} at the optimum, {there:.2g} at a random point"
    return Check.of("(16)", max(gain, missed), 1e-5, witness)


def _slope(inst: Instance, total: Floats, alpha: float) -> Floats:
    """(N, I) phi_n / x_n^a up to a common factor; no over- or underflow."""
    log_slope = np.log(inst.weight) - alpha * np.log(total)
    slope = np.exp(log_slope - log_slope.max())
    return np.where(inst.eligible, slope[:, None], 0.0)
