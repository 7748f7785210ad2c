"""Ours: what own rules leave of the properties of dominant shares on one pool.

An answer is Pareto-optimal within its rules (docs/maths/own-rules.md); sharing incentive and
envy-freeness hold without rules alone, and a `least` in tasks rewards lies, as a guarantee does.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from fairopt import properties
from fairopt.allocation.check import Check
from fairopt.instance import Instance
from fairopt.instance.rules import Rule, Term
from fairopt.notions import MaxMin
from fairopt.propositions import draws
from fairopt.propositions.statement import Hypothesis, certified, stated

NOTION = MaxMin()
LIES = 10
"""lies tried in one trial"""


@dataclass(frozen=True)
class OneRule(draws.Small):
    """Small instances with one rule over the tasks of some users, which alone it does not stop.

    Parameters
    ----------
    least : part of the instances in which the rule asks, else it allows.
    """

    least: float = 0.5

    def __call__(self, rng: np.random.Generator) -> Instance:
        inst = super().__call__(rng)
        alone = inst.alone.sum(axis=1)
        n = int(rng.integers(len(alone)))
        some = rng.random(len(alone)) < 0.5
        some[n] = True
        part = float(rng.choice((0.2, 0.4, 0.6, 0.8)))
        terms = [Term(inst.users[k]) for k in np.flatnonzero(some).tolist()]
        if rng.random() < self.least:
            rule = Rule("asked", least=part * float(alone[n]), terms=terms)
        else:
            rule = Rule("allowed", most=part * float(alone[some].max()), terms=terms)
        return inst.replace(rules=[rule])


def no_rules(inst: Instance) -> bool:
    """No rule of one's own."""
    return inst.rules is None


def none_asks(inst: Instance) -> bool:
    """No rule asks for anything."""
    return all(rule.sense == "most" for rule in inst.rules or ())


POOL = draws.Small(servers=(1, 1), resources=(1, 2), weight_decades=0.0)
WITHOUT = OneRule(servers=(1, 1), resources=(1, 2), weight_decades=0.0)
NO_RULES = Hypothesis("no own rules", no_rules, WITHOUT)
on_one_pool = partial(stated, source="ours, own rules", draw=POOL, notion=NOTION)
"""a statement on max-min of dominant shares on one pool"""


@stated(
    name="ours/rules-pareto",
    words="an answer is Pareto-optimal within its own rules",
    source="ours, own rules",
    draw=OneRule(),
    notion=NOTION,
)
def _pareto(inst: Instance, seed: int) -> Check:
    return properties.pareto_optimal(certified(inst, NOTION))


@on_one_pool(
    name="ours/rules-sharing-incentive",
    words="under max-min of dominant shares on one pool everybody runs at least what its part of "
    "the pool would let it",
    hypotheses=(NO_RULES,),
)
def _sharing(inst: Instance, seed: int) -> Check:
    return properties.sharing_incentive(certified(inst, NOTION))


@on_one_pool(
    name="ours/rules-envy-free",
    words="under max-min of dominant shares on one pool nobody prefers what another holds",
    hypotheses=(NO_RULES,),
)
def _envy(inst: Instance, seed: int) -> Check:
    return properties.envy_free(certified(inst, NOTION))


@on_one_pool(
    name="ours/rules-strategy-proof",
    words="under max-min of dominant shares on one pool no lie about demand lets anybody run more",
    hypotheses=(Hypothesis("no rule asks for tasks", none_asks, WITHOUT),),
)
def _lies(inst: Instance, seed: int) -> Check:
    certified(inst, NOTION)
    return properties.strategy_proof(inst, NOTION, trials=LIES, seed=seed)
