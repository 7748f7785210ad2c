"""bonald2015 sections 4.1 and 4.2: what users get under random demand, and what lies gain there.

As for Theorem 1, a class is a user, and the unit of its tasks is such that rho_k = 1. The law of
the numbers present is computed on a box whose edge is seldom reached (fairopt.dynamics), so that
the rates are right to about `ROUGH`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairopt.allocation.check import Check
from fairopt.dynamics.lying import Others
from fairopt.dynamics.markov import service_rates
from fairopt.instance import Floats, Instance
from fairopt.propositions.bonald2015.stability import Loaded
from fairopt.propositions.bonald2015.statements import parts_of_pool
from fairopt.propositions.statement import stated

ROUGH = 1e-4
EDGE = 1e-6
LARGEST_GAIN = (3 * np.sqrt(3) - 5) / 2
"""the gain of Figure 3 at p = 2 - sqrt 3, 9.8076%"""
PAPER = np.array([[0.1, 1.0], [1.0, 0.1], [1.0, 1.0]])
MIXES = {"balanced": np.array([1.0, 1.0, 1.0]), "unbalanced": np.array([4.0, 1.0, 1.0])}


def classes(inst: Instance) -> tuple[Floats, Floats]:
    """Requirements (K, R), the largest of each class 1, and loads rho (K,)."""
    part = parts_of_pool(inst)
    rho: Floats = part.max(axis=1)
    return part / rho[:, None], rho


@dataclass(frozen=True)
class AtLoad:
    """Classes in a fixed mix at a random load.

    Parameters
    ----------
    requirements : (K, R). mix : (K,) in proportion to rho.
    """

    requirements: tuple[tuple[float, ...], ...]
    mix: tuple[float, ...]
    low: float = 0.05
    high: float = 0.75

    def __call__(self, rng: np.random.Generator) -> Instance:
        part = np.array(self.requirements) * np.array(self.mix)[:, None]
        load = float(rng.uniform(self.low, self.high))
        demand = part * (load / part.sum(axis=0).max())
        return Instance(demand, np.ones((1, demand.shape[1])))


def scenario(name: str) -> AtLoad:
    """The three classes of section 4 in one of its two mixes."""
    return AtLoad(tuple(map(tuple, PAPER.tolist())), tuple(MIXES[name].tolist()))


# -- orders in Figures 1 and 2 -------------------------------------------------------------------


@dataclass(frozen=True)
class Ordered:
    """The mean service rates of one class rise from rule to rule.

    Parameters
    ----------
    k : the class, from 0. rules : from the least to the most.
    """

    k: int
    rules: tuple[str, ...]

    def __call__(self, inst: Instance, seed: int) -> Check:
        part, rho = classes(inst)
        gamma = [service_rates(part, rho, rule, edge=EDGE).rates[self.k] for rule in self.rules]
        worst = max(less / more - 1 for less, more in zip(gamma, gamma[1:], strict=False))
        listed = ", ".join(f"{r} {g:.6g}" for r, g in zip(self.rules, gamma, strict=True))
        return Check.of("the order", worst, 1e-9, f"load {(rho @ part).max():.4g}: {listed}")


stated(
    name="bonald2015/order-balanced",
    words="classes (.1,1), (1,.1), (1,1) with equal loads: the first gets more under BMF than "
    "under DRF and most under PF, at every load up to .75",
    source="bonald2015 Figure 1",
    draw=scenario("balanced"),
)(Ordered(0, ("drf", "bmf", "pf")))

stated(
    name="bonald2015/order-balanced-common",
    words="as before, from load .1 to .6 class (1,1) gets least under PF and most under BMF",
    source="bonald2015 Figure 1",
    draw=AtLoad(scenario("balanced").requirements, (1.0, 1.0, 1.0), 0.1, 0.6),
)(Ordered(2, ("pf", "drf", "bmf")))

stated(
    name="bonald2015/order-unbalanced",
    words="loads 4:1:1: class (1,.1) gets more under BMF than under DRF and most under PF, at "
    "every load up to .75",
    source="bonald2015 Figure 2",
    draw=scenario("unbalanced"),
)(Ordered(1, ("drf", "bmf", "pf")))


# -- the law of the work -------------------------------------------------------------------------


@stated(
    name="bonald2015/nearly-insensitive",
    words="under PF work that is a mixture of two exponential laws, of the same mean, changes no "
    "mean service rate by more than 2%",
    source="bonald2015 section 4.1, said of approximately",
    draw=Loaded(0.2, 0.5),
)
def _insensitive(inst: Instance, seed: int) -> Check:
    """One class is doubled: a part of its transactions is short, the rest long."""
    part, rho = classes(inst)
    rng = np.random.default_rng(seed)
    if len(rho) > 3:
        part, rho = part[:3], rho[:3]  # the box of five classes would be large
    k, short, much = int(rng.integers(len(rho))), rng.uniform(0.1, 0.9), rng.uniform(0.3, 0.8)
    # a part `short` of the transactions brings the part `less` of the work
    less = short * (1 - much)
    means = np.append(np.ones(len(rho)), (1 - less) / (1 - short))
    means[k] = less / short
    loads = np.append(rho, rho[k] * (1 - less))
    loads[k] = rho[k] * less
    plain = service_rates(part, rho, "pf", edge=EDGE).numbers
    mixed = service_rates(np.vstack([part, part[k]]), loads, "pf", means, edge=EDGE).numbers
    mixed[k] += mixed[-1]
    change = float(np.abs(plain / mixed[:-1] - 1).max())
    witness = f"class {k}: {short:.3g} of mean {means[k]:.3g}, the rest {means[-1]:.4g}"
    return Check.of("the change", change - 0.02, ROUGH, f"{change:.3%}; {witness}")


# -- lies ----------------------------------------------------------------------------------------

BESIDE = AtLoad(((1.0, 0.5),), (1.0,), high=0.95)


@stated(
    name="bonald2015/lie-short",
    words="a short transaction (0,1) that claims (2/3,1) beside a class (1,1/2) under PF gains at "
    "most (3 sqrt 3 - 5)/2 = 9.8076%",
    source="bonald2015 Figure 3",
    draw=BESIDE,
)
def _short(inst: Instance, seed: int) -> Check:
    lie = Others(*classes(inst), "pf").lie((0.0, 1.0), (2 / 3, 1.0))
    witness = f"load {parts_of_pool(inst).max():.4g}: gain {lie.short_gain:.4%}"
    return Check.of("the gain", lie.short_gain - LARGEST_GAIN, 1e-6, witness)


@stated(
    name="bonald2015/lie-long",
    words="a transaction (0,1) that is always there never gains by claiming (2/3,1) beside a class "
    "(1,1/2) under PF",
    source="bonald2015 Figure 3",
    draw=BESIDE,
)
def _long(inst: Instance, seed: int) -> Check:
    lie = Others(*classes(inst), "pf").lie((0.0, 1.0), (2 / 3, 1.0))
    witness = f"load {parts_of_pool(inst).max():.4g}: gain {lie.long_gain:.4%}"
    return Check.of("the gain", lie.long_gain, 1e-9, witness)


@stated(
    name="bonald2015/lie-mixed",
    words="among two to four classes that come and go under PF, no lie found gains a short "
    "transaction of any of them 10%",
    source="bonald2015 section 4.2",
    draw=Loaded(0.2, 0.5),
)
def _mixed(inst: Instance, seed: int) -> Check:
    part, rho = classes(inst)
    liar = part[int(np.random.default_rng(seed).integers(len(part)))]
    lie = Others(part, rho, "pf", edge=1e-3, flow=1e-6).best_lie(liar)
    witness = f"({', '.join(f'{c:.3g}' for c in lie.claimed)}) gains {lie.short_gain:.4%}"
    return Check.of("the gain", lie.short_gain - 0.1, ROUGH, witness)
