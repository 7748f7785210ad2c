"""bonald2015: the example of section 2.4, and Figure 3, where users arrive and leave."""

from __future__ import annotations

from functools import partial

import numpy as np

from fairopt.allocation.check import Check
from fairopt.instance import Floats, Instance
from fairopt.notions import ProportionalFair
from fairopt.propositions.bonald2015.lies import crossed, first_of_two, low_parts
from fairopt.propositions.bonald2015.statements import parts_of_pool
from fairopt.propositions.statement import Hypothesis, Undecided, certified, stated

PEAK, LARGEST_GAIN = 2 - 3**0.5, 0.098076
"""from Figure 3: the load at which a lie gains most, and that gain"""

# -- the example of section 2.4 -------------------------------------------------------------------

TOLD = {(0.5, 1.0): (2 / 3, 2 / 3), (2 / 3, 1.0): (3 / 4, 1 / 2), (1.0, 1.0): (1 / 2, 1 / 2)}
"""claim of user 1 -> rates of both users"""


def _units(users: tuple[tuple[float, float], ...], rng: np.random.Generator) -> Instance:
    """An instance of these two users, in random units."""
    unit, capacity = rng.integers(1, 5, (2, 1)), rng.integers(1, 9, 2)
    return Instance(np.array(users) * unit * capacity, [capacity])


def _is(low: tuple[float, float], inst: Instance) -> bool:
    return crossed(inst) and np.allclose(low_parts(inst), low)


@stated(
    name="bonald2015/example-2.4",
    words="(1/2, 1) and (1, 1/2) get 2/3 each; if user 1 claims (2/3, 1) 3/4 and 1/2; if it "
    "claims (1, 1) 1/2 each",
    source="bonald2015 section 2.4, example",
    draw=partial(_units, ((0.5, 1.0), (1.0, 0.5))),
    hypotheses=(Hypothesis("(1/2, 1) and (1, 1/2)", partial(_is, (0.5, 0.5))),),
    notion=ProportionalFair(),
)
def _told(inst: Instance, seed: int) -> Check:
    del seed  # nothing is drawn
    alone = parts_of_pool(inst).max(axis=1)
    worst, witness = 0.0, ""
    for claim, rates in TOLD.items():
        demand = inst.demand.copy()
        demand[0] = np.array(claim) * alone[0] * inst.pool[0]
        phi = certified(inst.replace(demand=demand), ProportionalFair()).totals * alone
        off = float(np.abs(phi / rates - 1).max())
        if off >= worst:
            worst = off
            witness = f"claiming ({claim[0]:.4g}, 1): {phi[0]:.6g} and {phi[1]:.6g}"
    return Check.of("the rates", worst, 1e-5, witness)


# -- Figure 3 ------------------------------------------------------------------------------------


@stated(
    name="bonald2015/figure-3",
    words="(0, 1) that claims (2/3, 1) beside a load p of (1, 1/2): in a short stay it gains for "
    "p < 1/2, at most 9.8076% (p = 2 - sqrt 3), and loses for p > 1/2; in a long one it never "
    "gains",
    source="bonald2015 Figure 3",
    draw=partial(_units, ((0.0, 1.0), (1.0, 0.5))),
    hypotheses=(Hypothesis("(0, 1) and (1, 1/2)", partial(_is, (0.0, 0.5))),),
)
def _dynamic(inst: Instance, seed: int) -> Check:
    """Compute both gains as stationary sums over the number of others."""
    rng = np.random.default_rng(seed)
    p = float(rng.choice([PEAK, rng.uniform(0.01, 0.75)]))
    part = parts_of_pool(inst)
    part = part / part.max(axis=1, keepdims=True)
    rates = {told: _by_number(part, np.array([told, 1.0]), p) for told in (0.0, 2 / 3)}
    seen = int(rng.integers(1, 5))
    for told, (test, _) in rates.items():
        many = Instance([[told, 1.0], *[part[1]] * seen], [[1.0, 1.0]])
        if abs(certified(many, ProportionalFair()).totals[0] / test[seen] - 1) > 1e-5:
            raise Undecided("the rates for two types are not the certified ones")
    gain, lasting = (mean(*rates[2 / 3], p) / mean(*rates[0.0], p) - 1 for mean in (_short, _long))
    wrong = max(gain - LARGEST_GAIN, lasting, gain if p > 0.5 else -gain)
    if p == PEAK:
        wrong = max(wrong, abs(gain - LARGEST_GAIN))
    witness = f"p {p:.4g}: a lie gains {100 * gain:.5g}% short, {100 * lasting:.4g}% long"
    return Check.of("gains of the lie", wrong, 1e-6, witness)


def _by_number(part: Floats, claim: Floats, p: float) -> tuple[Floats, Floats]:
    """Rates of the test user and of all others together, by how many others there are."""
    numbers = range(1, 3 + int(np.log(1e-12) / np.log(p)))
    test = np.array([1.0] + [first_of_two(claim, part[1], (1.0, k)) for k in numbers])
    left = (1 - np.outer(test, claim)) / part[1]
    return test, np.where(np.arange(len(test)) > 0, left.min(axis=1), 0.0)


def _short(test: Floats, others: Floats, p: float) -> float:
    """Rate of a test user too short to change the number of others, which is geometric."""
    del others  # the first resource, which only they use, is full: they leave at rate 1
    seen = (1 - p) * p ** np.arange(len(test))
    return float(1 / (seen / test).sum())


def _long(test: Floats, others: Floats, p: float) -> float:
    """Rate of a test user that stays; the number of others is then a birth-and-death chain."""
    seen = np.cumprod(np.concatenate([[1.0], p / others[1:]]))
    return float(seen @ test / seen.sum())
