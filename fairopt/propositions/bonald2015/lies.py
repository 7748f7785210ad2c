"""bonald2015 Proposition 2: what a lie gains under proportional fairness."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from fairopt.allocation.check import Check
from fairopt.instance import Floats, Instance
from fairopt.notions import ProportionalFair
from fairopt.propositions import draws
from fairopt.propositions.bonald2015.statements import parts_of_pool
from fairopt.propositions.statement import Hypothesis, Undecided, certified, stated

TWO = draws.Small((2, 2), (1, 1), (1, 4), density=1.0, weight_decades=0.0, zero_demand=0.2)
CLAIMS = np.geomspace(0.02, 50, 24)
"""factors on the liar's demand of a resource, or on its dominant share of one not needed"""


@dataclass(frozen=True)
class Crossed:
    """Users (a11, 1) and (1, a22) in random units, a11 and a22 below 1; half of them eighths.

    Parameters
    ----------
    second : least and largest number of users of the second kind.
    weights : the largest weight, a whole number.
    single : in [0, 1], part of the instances with a11 = 0, where a lie gains most.
    least : least a22, in [0, 1).
    """

    second: draws.Range = (1, 1)
    weights: int = 1
    single: float = 0.2
    least: float = 0.0

    def __call__(self, rng: np.random.Generator) -> Instance:
        low = rng.uniform([0, self.least], 1)
        low = low if rng.random() < 0.5 else np.floor(8 * low) / 8
        low[0] *= rng.random() >= self.single
        unit, capacity = rng.integers(1, 5, (2, 1)), rng.integers(1, 9, 2)
        demand = np.array([[low[0], 1], [1, low[1]]]) * unit * capacity
        of = [0] + [1] * int(rng.integers(self.second[0], self.second[1] + 1))
        return Instance(demand[of], [capacity], weight=rng.integers(1, self.weights + 1, len(of)))


def crossed(inst: Instance) -> bool:
    """Two users and two resources, the second dominant for user 1, the first for user 2."""
    if inst.shape != (2, 1, 2):
        return False
    part = parts_of_pool(inst)
    return bool(part[0, 0] < part[0, 1] and part[1, 1] < part[1, 0])


def two_users(inst: Instance) -> bool:
    """There are two users."""
    return len(inst.users) == 2


def overclaims(inst: Instance) -> bool:
    """a11 <= 1 / (2 - a22), so that the lie of Proposition 2 claims more than the truth."""
    a, b = low_parts(inst) if crossed(inst) else (0.0, 0.0)
    return bool(a * (2 - b) <= 1)


def low_parts(inst: Instance) -> tuple[float, float]:
    """a11, a22 where a12 = a21 = 1."""
    part = parts_of_pool(inst)
    return float(part[0, 0] / part[0, 1]), float(part[1, 1] / part[1, 0])


CROSSED = Hypothesis("(a11, 1) and (1, a22)", crossed)
OVER = Hypothesis("a11 <= 1/(2-a22)", overclaims, Crossed())


# -- Proposition 2: the rate without a lie -------------------------------------------------------


@dataclass(frozen=True)
class Rate:
    """A check: the certified phi_1, as a part of user 1's tasks alone, against the formula."""

    largest: bool

    def __call__(self, inst: Instance, seed: int) -> Check:
        del seed  # nothing is drawn
        a, b = low_parts(inst)
        formula = (max if self.largest else min)(0.5, (1 - b) / (1 - a * b))
        phi = float(certified(inst, ProportionalFair()).totals[0] * parts_of_pool(inst)[0, 1])
        witness = f"a11 {a:.4g}, a22 {b:.4g}: phi_1 is {phi:.6g}, by the formula {formula:.6g}"
        return Check.of("phi_1", abs(phi - formula) / phi, 1e-5, witness)


stated(
    name="bonald2015/proposition-2-printed",
    words="the proportional phi_1 of (a11, 1) and (1, a22) is min(1/2, (1-a22)/(1-a11 a22))",
    source="bonald2015 Proposition 2, proof",
    draw=Crossed(),
    hypotheses=(CROSSED, Hypothesis(OVER.name, overclaims)),
    reading="printed",
    notion=ProportionalFair(),
)(Rate(largest=False))


stated(
    name="bonald2015/proposition-2",
    words="the proportional phi_1 of (a11, 1) and (1, a22) is max(1/2, (1-a22)/(1-a11 a22))",
    source="bonald2015 Proposition 2, proof, max in place of min",
    draw=Crossed(),
    hypotheses=(CROSSED, OVER),
    reading="corrected",
    notion=ProportionalFair(),
)(Rate(largest=True))


# -- Proposition 2: the lie ----------------------------------------------------------------------


@stated(
    name="bonald2015/proposition-2-best-lie",
    words="against (1, a22) no claim of (a11, 1) is better than a11' = 1/(2-a22)",
    source="bonald2015 Proposition 2",
    draw=Crossed(),
    hypotheses=(CROSSED,),
    notion=ProportionalFair(),
)
def _best_lie(inst: Instance, seed: int) -> Check:
    """Find the best of many claims by the exact solution; then solve and certify both."""
    rng = np.random.default_rng(seed)
    part, (a, b) = parts_of_pool(inst), low_parts(inst)
    named = np.array([part[0, 1] / (2 - b), part[0, 1]])
    factors = np.concatenate([CLAIMS, rng.uniform(0.8, 1.25, 8), [1.0]])
    near = np.concatenate([named[0] * factors, part[0, 0] * factors])
    # a multiple of a claim has the same effect, so only its first number is varied
    claims = [np.array([c, part[0, 1]]) for c in near[near > 0]]
    best = max(claims, key=lambda c: _runs(part[0], c, part[1], (1.0, 1.0)))
    runs, other = _lied(inst, 0, named), _lied(inst, 0, best)
    witness = (
        f"a11 {a:.4g}, a22 {b:.4g}: claiming {named[0] / part[0, 1]:.6g} user 1 runs {runs:.6g}, "
        f"claiming {best[0] / part[0, 1]:.6g} it runs {other:.6g}"
    )
    return Check.of("the best lie", max(1 - runs / other, 0.0), 1e-5, witness)


def _two(rng: np.random.Generator) -> Instance:
    """Two random users, or those of the proof, whose gain is near the bound."""
    return Crossed()(rng) if rng.random() < 0.5 else TWO(rng)


@stated(
    name="bonald2015/proposition-2-bound",
    words="for two users a lie under proportional fairness gains at most 50%",
    source="bonald2015 Proposition 2",
    draw=_two,
    hypotheses=(
        Hypothesis("two users", two_users, Crossed(second=(2, 4), single=0.8, least=0.5)),
        Hypothesis("equal weights", draws.equal_weights, Crossed(weights=5, single=0.8, least=0.5)),
    ),
    notion=ProportionalFair(),
)
def _half(inst: Instance, seed: int) -> Check:
    """Find the best of many lies by the exact solution; then certify the truth and the lie."""
    part, weight = parts_of_pool(inst), inst.weight
    found: list[tuple[float, int, Floats]] = []
    for n in range(len(part)):
        others = np.arange(len(part)) != n
        if len(part) < 2 or (part[others] != part[others][0]).any():
            continue
        rest, share = part[others][0], (float(weight[n]), float(weight[others].sum()))
        truth = _runs(part[n], part[n], rest, share)
        claims = list(_claims(part[n], rest, share, np.random.default_rng([seed, n])))
        gains = [_runs(part[n], claim, rest, share) / truth for claim in claims]
        k = int(np.argmax(gains))
        found.append((gains[k], n, claims[k]))
    if not found:
        raise Undecided("the others are of several types")
    _, n, claim = max(found, key=lambda one: one[0])
    truth, runs = float(certified(inst, ProportionalFair()).totals[n]), _lied(inst, n, claim)
    told = ", ".join(f"{x:.4g}" for x in claim * inst.pool[0])
    gain = runs / truth - 1
    witness = f"{inst.users[n]} claiming ({told}) runs {runs:.6g} in place of {truth:.6g} tasks"
    return Check.of("a gain of half", gain - 0.5, 1e-5, f"{witness}, {100 * gain:.4g}% more")


def _claims(
    need: Floats, rest: Floats, weight: tuple[float, float], rng: np.random.Generator
) -> Iterator[Floats]:
    """Claims (R,): one resource changed, also as in Proposition 2; then all at random."""
    known = need.max() * weight[0] / (sum(weight) - weight[1] * rest / rest.max())
    base = np.where(need > 0, need, need.max())
    for j in range(len(need)):
        for amount in (*(base[j] * CLAIMS), *known):
            claim = need.copy()
            claim[j] = amount
            yield claim
    for _ in range(20):
        yield need * np.exp(rng.normal(0, 0.5, len(need)))


def _lied(inst: Instance, n: int, claim: Floats) -> float:
    """Tasks user n truly runs with the resources that the certified answer gives its claim (R,)."""
    demand = inst.demand.copy()
    demand[n] = claim * inst.pool[0]
    totals = certified(inst.replace(demand=demand), ProportionalFair()).totals
    need = inst.demand[n] > 0
    return float(totals[n] * (demand[n, need] / inst.demand[n, need]).min())


def _runs(need: Floats, claim: Floats, rest: Floats, weight: tuple[float, float]) -> float:
    """Tasks the liar truly runs where all other users are of one type."""
    used = need > 0
    return first_of_two(claim, rest, weight) * float((claim[used] / need[used]).min())


def first_of_two(a: Floats, b: Floats, weight: tuple[float, float]) -> float:
    """p of max w_1 log p + w_2 log q, a p + b q <= 1: the best vertex, or best point of an edge."""
    only = a > 0
    both = only & (b > 0)
    found = [weight[0] / (sum(weight) * a[both]), 1 / a[only & ~both]]
    cross = np.outer(a, b) - np.outer(b, a)
    with np.errstate(divide="ignore", invalid="ignore"):
        found.append(((b[None, :] - b[:, None]) / cross)[np.abs(cross) > 1e-12])
    p = np.concatenate(found)
    p = p[(p > 0) & (p * a.max() <= 1 + 1e-12)]
    need = b > 0
    q = ((1 - np.outer(p, a[need])) / b[need]).min(axis=1)
    p, q = p[q > 0], q[q > 0]
    return float(p[int((weight[0] * np.log(p) + weight[1] * np.log(q)).argmax())])
