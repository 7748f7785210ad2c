"""What bonald2015 says of its simulations of tasks and packets, sections 4.4 and 4.5.

A trial is a few short replications. An order is decided by their paired differences: it holds where
the 95% interval is above 0, and is refuted where the mean is below 0 by 2.5 times its half-width.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np

from fairopt.allocation.check import Check
from fairopt.dynamics.packets import packet_rates
from fairopt.dynamics.rates import class_rates
from fairopt.dynamics.replications import Estimate
from fairopt.dynamics.stability import pool_parts
from fairopt.dynamics.task_run import replicate
from fairopt.dynamics.tasks import simulate_tasks
from fairopt.instance import Instance
from fairopt.propositions.statement import Hypothesis, Undecided, stated

CLASSES = ((0.1, 1.0), (1.0, 0.1), (1.0, 1.0))
"""requirements of bonald2015 section 4"""
SURE = 2.5
"""half-widths of an interval by which a mean must be on the wrong side"""


@dataclass(frozen=True)
class Pools:
    """A pool with the classes of section 4 in random units, or with random classes in tenths."""

    own: bool = True

    def __call__(self, rng: np.random.Generator) -> Instance:
        tenths = rng.integers(1, 11, (3, 2)) / 10
        classes = np.array(CLASSES) if self.own else tenths
        capacity = rng.integers(1, 9, 2)
        # decimals, so that what tasks hold has a common unit
        return Instance(np.round(classes * capacity, 6), [capacity])


def of_section_4(inst: Instance) -> bool:
    """The three classes are those of section 4."""
    return inst.shape == (3, 1, 2) and np.allclose(pool_parts(inst), CLASSES)


def decided(name: str, difference: Estimate, witness: str) -> Check:
    """A check that a mean is above 0.

    Raises
    ------
    Undecided : the interval does not tell.
    """
    half = (difference.high - difference.low) / 2
    told = f"{witness}: {difference.mean:.4g} [{difference.low:.4g}, {difference.high:.4g}]"
    if difference.low > 0 or difference.mean < -SURE * half:
        return Check.of(name, -difference.mean, 0.0, told)
    raise Undecided("the interval does not tell")


@stated(
    name="bonald2015/freezing",
    words='jobs of many tasks: without freezing, DRF and BMF with bottlenecks read as "below" '
    "serve the same jobs at the same times",
    source="bonald2015 section 4.4, by computation",
    draw=Pools(),
    hypotheses=(Hypothesis("the classes of section 4", of_section_4, Pools(own=False)),),
)
def _freezing(inst: Instance, seed: int) -> Check:
    rng = np.random.default_rng(seed)
    parts = pool_parts(inst)
    rho = rng.dirichlet(np.ones(len(parts)))
    rho *= rng.uniform(0.3, 0.95) / (rho @ parts).max()
    piece = {
        "users": list(inst.users),
        "demand": inst.demand.tolist(),
        "rho": rho.tolist(),
        "capacity": inst.capacity[0].tolist(),
        "units": 20,
        "tasks_per_job": 40,
        "jobs": 40,
        "warmup": 0,
        "number": 0,
        "seed": int(rng.integers(2**32)),
        "freeze": False,
        "bottleneck": "<",
    }
    drf, bmf = (json.dumps(replicate({**piece, "rule": rule})) for rule in ("drf", "bmf"))
    witness = f"loads {', '.join(f'{r:.3g}' for r in rho)}"
    return Check.of("one and the same trajectory", float(drf != bmf), 0.0, witness)


@dataclass(frozen=True)
class Figure4:
    """Class 2 gets more under one rule than under another.

    Parameters
    ----------
    more, less : the rules.
    low : least load; the largest is .8.
    jobs : measured in each of five replications.
    """

    more: str
    less: str
    low: float
    jobs: int

    def __call__(self, inst: Instance, seed: int) -> Check:
        rng = np.random.default_rng(seed)
        load = float(rng.uniform(self.low, 0.8))
        mix = dict(zip(inst.users, (4.0, 1.0, 1.0), strict=True))
        found = simulate_tasks(
            inst,
            [load],
            [self.less, self.more],
            mix=mix,
            tasks_per_job=500,
            jobs=self.jobs,
            warmup=20,
            replications=5,
            seed=int(rng.integers(2**32)),
        )
        difference = found.difference(load, self.more, self.less, inst.users[1])
        return decided("rates of class 2", difference, f"load {load:.3f}")


for _more, _less, _low, _jobs in (("pf", "drf", 0.6, 60), ("bmf", "pf", 0.7, 250)):
    stated(
        name=f"bonald2015/figure-4-{_less}-{_more}",
        words=f"jobs of many tasks, loads 4:1:1, L in [{_low}, .8]: class 2 gets more under "
        f"{_more.upper()} than under {_less.upper()}",
        source="bonald2015 Figure 4",
        draw=Pools(),
        hypotheses=(Hypothesis("the classes of section 4", of_section_4),),
    )(Figure4(_more, _less, _low, _jobs))


@stated(
    name="bonald2015/packet-rates",
    words="flows of a fixed population get the rates of the fluid notion to within 2%, by the tags "
    "of DRFQ and of BMF",
    source="bonald2015 section 4.5",
    draw=Pools(),
    hypotheses=(Hypothesis("the classes of section 4", of_section_4),),
)
def _packet_rates(inst: Instance, seed: int) -> Check:
    return _against_fluid(inst, seed, {"drf": "drf", "bmf": "bmf"}, parallel=False)


@stated(
    name="bonald2015/packets-parallel",
    words="flows whose packets ask all resources at once get the rates of bottleneck max fairness "
    "to within 2% by the tags (8), those of PF with weights that sum to 1",
    source="bonald2015 4.5, parallel use (ours)",
    draw=Pools(),
    hypotheses=(Hypothesis("the classes of section 4", of_section_4),),
)
def _parallel_rates(inst: Instance, seed: int) -> Check:
    return _against_fluid(inst, seed, {"pf": "bmf", "pf-normalised": "pf"}, parallel=True)


def _against_fluid(inst: Instance, seed: int, rules: dict[str, str], parallel: bool) -> Check:
    """Packets of a random population under one of {rule: fluid notion}."""
    rng = np.random.default_rng(seed)
    state = rng.integers(0, 5, 3)
    state[rng.integers(3)] += 1
    rule = str(rng.choice(list(rules)))
    numbers = dict(zip(inst.users, state.tolist(), strict=True))
    found = packet_rates(inst, numbers, rule, horizon=20_000.0, warmup=10_000.0, parallel=parallel)
    fluid = class_rates(pool_parts(inst), [state], rules[rule])[0] / np.maximum(state, 1)
    wide = dict(zip(inst.users, fluid.tolist(), strict=True))
    worst = max(abs(rate / wide[user] - 1) for user, rate in found.items())
    return Check.of("packets against fluid", worst, 0.02, f"{rule}, {state.tolist()} flows")
