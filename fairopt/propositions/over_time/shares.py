r"""What is said of servers and resources that act on their own, step after step.

khamse2016 section V: every server refills itself once a round, and the use settles. bonald2015 (6):
resources move their prices by steps of theta. Neither says in which order, or how large a step.
"""

from __future__ import annotations

from dataclasses import dataclass

from fairopt.allocation.check import Check
from fairopt.dynamics.prices import FREE, by_prices, edge
from fairopt.dynamics.servers import by_themselves
from fairopt.instance import Instance
from fairopt.notions import MaxMin, ProportionalFair
from fairopt.propositions import draws
from fairopt.propositions.statement import Undecided, certified, stated

ROUNDS = 300
"""rounds that servers are given"""
SEVERAL = draws.Small(users=(2, 4), servers=(2, 3), resources=(1, 3))
POOL = draws.Small(users=(2, 4), servers=(1, 1), resources=(1, 3))


@dataclass(frozen=True)
class Settles:
    """A check: how far the servers' last state is from an answer to PS-DSF, by its judge."""

    order: str

    def __call__(self, inst: Instance, seed: int) -> Check:
        phase = by_themselves(inst, ROUNDS, order=self.order, seed=seed).phases[0]
        if phase.period is not None and phase.period > 1:
            how = f"the same {phase.period} states again and again"
        else:
            how = "still moving" if phase.settled is None else "settled"
        witness = f"after {ROUNDS} rounds {how}, {phase.certificate.verdict} as PS-DSF"
        return Check.of("the last state is PS-DSF", phase.certificate.residual, 1e-5, witness)


for _order, _words in (
    ("in-turn", "one after another, each knowing what the others have by now"),
    ("random", "one after another in an order drawn anew every round"),
    ("at-once", "all at once, each knowing what the others had a round ago"),
):
    stated(
        name=f"khamse2016/section-v-settles-{_order}",
        words=f"servers that refill themselves every round, {_words}, settle on PS-DSF "
        f"(within {ROUNDS} rounds)",
        source="khamse2016 section V",
        draw=SEVERAL,
    )(Settles(_order))


@stated(
    name="khamse2016/section-v-use",
    words="PS-DSF uses at least as much of every resource of every server as TSF does",
    source="khamse2016 section V, the claim of Figure 6 read of each server",
    draw=SEVERAL,
)
def higher_use(inst: Instance, seed: int) -> Check:
    """What TSF uses beyond PS-DSF, as servers that act in turn reach it."""
    run = by_themselves(inst, ROUNDS)
    if not run.phases[0].certificate.certified:
        raise Undecided("the servers have not settled")
    lack = certified(inst, MaxMin("tsf")).utilisation - run.used[-1]
    i, r = divmod(int(lack.argmax()), inst.shape[2])
    witness = f"of {inst.resources[r]} on {inst.servers[i]} TSF uses {lack[i, r]:.4g} of it more"
    return Check.of("use", max(0.0, float(lack[i, r])), 1e-5, witness)


@dataclass(frozen=True)
class MovedPrices:
    """A check: how far prices moved by a multiple of the edge leave the tasks from PF."""

    part: float
    steps: int

    def __call__(self, inst: Instance, seed: int) -> Check:
        exact = certified(inst, ProportionalFair())
        most = edge(exact)
        if most is None:
            raise Undecided("the answer came without prices")
        run = by_prices(exact, self.part * most, self.steps)
        if run.ended == FREE:
            raise Undecided("at such a step a user found everything free on its way")
        witness = f"theta = {run.theta:.4g}, after {self.steps} steps off by {run.off:.2g}"
        return Check.of("tasks against PF", run.off, 1e-3, witness)


for _part, _steps, _name in ((0.5, 20_000, "below"), (1.2, 1_000, "above")):
    stated(
        name=f"bonald2015/6-settles-{_name}",
        words=f"with a step of {_part} times 2 / lambda_max the prices of (6) settle on PF",
        source="bonald2015 (6)",
        draw=POOL,
    )(MovedPrices(_part, _steps))
