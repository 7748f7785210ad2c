"""kesidis2018: the KKT conditions of the appendix, and what is said of RRR-rPS-DSF."""

from __future__ import annotations

import numpy as np

from fairopt import kkt
from fairopt.allocation.check import Check
from fairopt.filling import fill
from fairopt.instance import Instance
from fairopt.notions import AlphaFair
from fairopt.propositions import draws
from fairopt.propositions.kesidis2018 import ALPHAS
from fairopt.propositions.statement import Hypothesis, certified, stated

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
