r"""bonald2015, after Proposition 5: bottleneck max fairness is the maximum of no sum of utilities.

The text at hand has lost the words; this is the impossibility as it follows from section 2.4. Let
phi maximise sum_i U(phi_i) on every pool. One resource divided evenly between requirements a_i
has phi_i = 1/(n a_i) and U'(phi_i) = nu a_i, for all a_i: so U' = c/x, and phi is proportionally
fair. It then suffices that BMF is not, on one pool.
"""

from __future__ import annotations

import numpy as np

from fairopt.allocation.check import Check
from fairopt.instance import Floats, Instance
from fairopt.notions import BottleneckMaxFair, ProportionalFair
from fairopt.propositions.bonald2015.statements import parts_of_pool
from fairopt.propositions.statement import Hypothesis, certified, stated


def _three(rng: np.random.Generator) -> Instance:
    """Users (b, 1), (1, b), (1, 1), 0 < b < 1, in random units and order."""
    b = float(rng.uniform(0.05, 0.9))
    part = np.array([[b, 1.0], [1.0, b], [1.0, 1.0]])[rng.permutation(3)]
    unit, capacity = rng.integers(1, 5, (3, 1)), rng.integers(1, 9, 2)
    return Instance(part * unit * capacity, [capacity])


def _share(inst: Instance) -> float:
    """b, by the user of the least share of a resource."""
    part = parts_of_pool(inst)
    return float((part / part.max(axis=1, keepdims=True)).min())


def _is_three(inst: Instance) -> bool:
    if inst.shape != (3, 1, 2):
        return False
    part = parts_of_pool(inst)
    shape = part / part.max(axis=1, keepdims=True)
    b = _share(inst)
    there = sorted(shape.tolist())
    return 0 < b < 1 and bool(np.allclose(there, [[b, 1.0], [1.0, b], [1.0, 1.0]]))


def gain(found: Floats, other: Floats) -> float:
    """sum_i (y_i - phi_i) / phi_i: above 0 for no y that fits if phi maximises sum log phi."""
    return float((other / found - 1).sum())


@stated(
    name="bonald2015/no-utility",
    words="bottleneck max fairness maximises no sum of utilities: of those only sum log divides a "
    "single resource evenly, and beside (b,1), (1,b), (1,1) it is passed by (1-b)^2 / (3 (1+b))",
    source="bonald2015 after Proposition 5, as it follows from section 2.4",
    draw=_three,
    hypotheses=(Hypothesis("(b, 1), (1, b), (1, 1)", _is_three),),
)
def _no_utility(inst: Instance, seed: int) -> Check:
    """With two resources BMF is unique (Proposition 4), and here even: 1/(2 + b) each."""
    del seed  # nothing is drawn
    alone, b = parts_of_pool(inst).max(axis=1), _share(inst)
    fair = certified(inst, BottleneckMaxFair()).totals * alone
    proportional = certified(inst, ProportionalFair()).totals * alone
    found, wanted = gain(fair, proportional), (1 - b) ** 2 / (3 * (1 + b))
    worst = max(float(np.abs(fair * (2 + b) - 1).max()), abs(found - wanted))
    if found <= 0:
        worst = 1.0
    witness = f"b = {b:.4g}: passed by {found:.6g}, {wanted:.6g} by hand"
    return Check.of("no maximum of sum log", worst, 1e-5, witness)
