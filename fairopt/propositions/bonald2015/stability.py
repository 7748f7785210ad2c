"""bonald2015 Theorem 1 and the stability condition (12), by the fluid of the dynamic model.

Class k arrives at rate lambda_k with work of mean 1/mu_k, and its n_k transactions share a rate
phi_k(n). The fluid moves by dn_k/dt = mu_k (rho_k - phi_k(n)), rho_k = lambda_k / mu_k. Rates
depend only on the proportions of n: if the work halves from every start, the fluid drains, and the
Markov chain is stable. A trial follows one random start in finite steps, which is evidence and not
a proof.

A class is a user here. The unit of its tasks is chosen so that rho_k = 1; then (12) says that one
task of every user fits, sum_k d_kj < c_j. If that fails for a resource j, no policy is stable: the
work for j falls at most at the rate c_j - sum_k d_kj, which is not positive.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from fairopt.allocation.check import Check
from fairopt.dynamics.rates import class_rates
from fairopt.errors import FairoptError
from fairopt.instance import Floats, Instance
from fairopt.notions import BottleneckMaxFair, MaxMin, Notion, ProportionalFair
from fairopt.properties.quick import quick
from fairopt.propositions import draws
from fairopt.propositions.bonald2015.statements import parts_of_pool, two_resources
from fairopt.propositions.statement import Hypothesis, Undecided, certified, stated

STEP = 0.08
"""length of a step, as a part of the time the fullest resource needs for the present work"""
STEPS, GROWN = 250, 2.5
"""steps and growth after which a fluid whose work has not halved is taken not to drain"""
EMPTY = 1e-6
"""least part of the present work that a class is kept at, so that no class is empty"""
Rates = Callable[[Floats, Floats], Floats]
"""(part (K, 2), number (K,) > 0) -> tasks (K,) of one transaction of each class"""


@dataclass(frozen=True)
class Loaded:
    """A generator of classes that need a part in [low, high] of the fullest resource."""

    low: float
    high: float
    resources: draws.Range = (2, 2)

    def __call__(self, rng: np.random.Generator) -> Instance:
        sizes = (2, 4), (1, 1), self.resources
        inst = draws.Small(*sizes, density=1.0, weight_decades=0.0, zero_demand=0.15)(rng)
        load = float(rng.uniform(self.low, self.high)) / parts_of_pool(inst).sum(axis=0).max()
        return inst.replace(demand=inst.demand * load)


def room(inst: Instance) -> bool:
    """(12): sum_k rho_k a_kj < 1 for every resource j."""
    return bool((parts_of_pool(inst).sum(axis=0) < 1).all())


TWELVE = Hypothesis("(12)", room, Loaded(1.2, 2.0))
TWO = Hypothesis("two resources", two_resources)


@dataclass(frozen=True)
class Drains:
    """A check: the work halves, from a random start, at random arrival rates.

    The state is time_k = n_k / lambda_k, the time in which n_k transactions of a class arrive.
    Within a step every transaction keeps its rate. For constant rates the fluid is solved exactly,
    so it stays positive.
    """

    notion: Notion
    rates: Rates

    def __call__(self, inst: Instance, seed: int) -> Check:
        rng = np.random.default_rng(seed)
        part, classes = parts_of_pool(inst), len(inst.users)
        arrivals = np.exp(rng.uniform(-1, 1, classes))
        time = start = rng.exponential(size=classes) * np.exp(rng.uniform(-2, 2, classes))
        self._judge(inst, part, arrivals * start)
        first = work = least = float((time @ part).max())
        steps = 0
        while least > 0.5 * first and work < GROWN * first and steps < STEPS:
            served = arrivals * self.rates(part, arrivals * time)
            stay = np.exp(-served * STEP * work)
            time = np.maximum(time * stay + (1 - stay) / served, EMPTY * work)
            work = float((time @ part).max())
            least, steps = min(least, work), steps + 1
        listed = ", ".join(f"{n:.3g}" for n in arrivals * start)
        witness = f"from n = ({listed}) {least / first:.4g} of the work is left, {steps} steps"
        return Check.of("the work halves", least / first - 0.5, 1e-9, witness)

    def _judge(self, inst: Instance, part: Floats, number: Floats) -> None:
        """Raise Undecided unless the rates are those of the certified answer with weights n_k."""
        state = inst.replace(weight=number)
        best = (quick(state, self.notion) or certified(state, self.notion)).totals
        if np.abs(number * self.rates(part, number) / best - 1).max() > 1e-4:
            raise Undecided("the rates are not the certified ones")


# -- statements for any number of resources ------------------------------------------------------

ANY = Loaded(0.3, 1.5, (1, 4))


@stated(
    name="bonald2015/drift-proportional",
    words="under proportional fairness sum_k n_k (phi_k - rho_k) / rho_k >= sum_k n_k log(1/L) "
    "at every n, so that its fluid drains if L < 1",
    source="bonald2015 (12), by the function of Bonald and Massoulie",
    draw=ANY,
    notion=ProportionalFair(),
)
def _falls(inst: Instance, seed: int) -> Check:
    """By concavity of G(phi) = sum n log phi, with gradient n / rho at rho; rho / L is feasible.

    If L < 1, sum n_k^2 / (2 lambda_k) falls at the rate of the left side, so the fluid drains.
    """
    number = np.exp(np.random.default_rng(seed).uniform(-3, 3, len(inst.users)))
    rate = certified(inst.replace(weight=number), ProportionalFair()).totals
    load = float(parts_of_pool(inst).sum(axis=0).max())
    excess = float(number @ (rate - 1) / number.sum())
    witness = f"L {load:.4g}: mean {excess:.6g}, log(1/L) {-np.log(load):.6g}"
    return Check.of("the drift", -np.log(load) - excess, 1e-5, witness)


@stated(
    name="bonald2015/drift-drf",
    words="under DRF the class of largest n_k / (rho_k max_j a_kj) has phi_k >= rho_k / L at "
    "every n, so that its fluid drains if L < 1",
    source="bonald2015 (12), by a largest ratio",
    draw=ANY,
    notion=MaxMin("drf"),
)
def _largest_falls(inst: Instance, seed: int) -> Check:
    """rho / L is feasible, so the lowest level of DRF is at least its lowest, that of the class.

    If L < 1, the largest of these ratios falls, so the fluid drains.
    """
    number = np.exp(np.random.default_rng(seed).uniform(-3, 3, len(inst.users)))
    state, part = inst.replace(weight=number), parts_of_pool(inst)
    rate = (quick(state, MaxMin("drf")) or certified(state, MaxMin("drf"))).totals
    load = float(part.sum(axis=0).max())
    k = int((number / part.max(axis=1)).argmax())
    witness = f"L {load:.4g}: {inst.users[k]} has {rate[k]:.6g} rho"
    return Check.of("the drift", 1 / load - rate[k], 1e-5 / load, witness)


# -- rates of one transaction, two resources -----------------------------------------------------


def rates_of(name: str) -> Rates:
    """The rates of one transaction of each class under "drf", "pf" or "bmf"."""

    def rates(part: Floats, number: Floats) -> Floats:
        try:
            one: Floats = class_rates(part, number[None], name)[0] / number
        except FairoptError as error:
            raise Undecided(f"{name}: {type(error).__name__}") from error
        return one

    return rates


drf_rates, proportional_rates, bottleneck_rates = map(rates_of, ("drf", "pf", "bmf"))


stated(
    name="bonald2015/stability-drf",
    words="with sum_k rho_k a_kj < 1 the fluid of DRF drains",
    source="bonald2015 (12)",
    draw=Loaded(0.3, 0.9),
    hypotheses=(TWELVE, TWO),
    notion=MaxMin("drf"),
)(Drains(MaxMin("drf"), drf_rates))


stated(
    name="bonald2015/stability-proportional",
    words="with sum_k rho_k a_kj < 1 the fluid of proportional fairness drains",
    source="bonald2015 (12)",
    draw=Loaded(0.3, 0.9),
    hypotheses=(TWELVE, TWO),
    notion=ProportionalFair(),
)(Drains(ProportionalFair(), proportional_rates))


stated(
    name="bonald2015/stability-bmf",
    words="with two resources and sum_k rho_k a_kj < 1 the bottleneck max fair fluid drains",
    source="bonald2015 Theorem 1, (12)",
    draw=Loaded(0.3, 0.9),
    hypotheses=(TWELVE, TWO),
    notion=BottleneckMaxFair(),
)(Drains(BottleneckMaxFair(), bottleneck_rates))
