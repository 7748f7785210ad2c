"""khamse2016: each property of Theorem 3, for RDM and TDM, and others of Table I."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from fairopt import properties
from fairopt.allocation import Allocation
from fairopt.allocation.check import Check
from fairopt.certificates import certify
from fairopt.instance import Instance
from fairopt.notions import MaxMin, PerServerDominantShare
from fairopt.notions.ps_dsf import transformed
from fairopt.properties.bottleneck import common_dominant
from fairopt.propositions import draws
from fairopt.propositions.kesidis2016.dominant import OneDominant, best
from fairopt.propositions.khamse2016.statements import any_order, ps_dsf
from fairopt.propositions.statement import Draw, Hypothesis, Undecided, certified, stated
from fairopt.solving.engines.water.fixed_points import fixed_points

APART = 1e-4
"""relative: a smaller violation may be due to tolerances"""

WORDS = {
    "single-resource-fair": "a single resource is divided max-min fairly by weight",
    "bottleneck-fair": "a resource dominant for every user on every server it may use is divided "
    "max-min fairly by weight",
    "envy-free": "nobody would run more with another's share, by weight",
    "sharing-incentive": "everybody runs at least phi_n / sum phi of every eligible server's tasks",
    "pareto-optimal": "nobody can have more without somebody having less",
}
PREMISE = {
    "single-resource-fair": Hypothesis("one resource", lambda inst: inst.shape[2] == 1),
    "bottleneck-fair": Hypothesis(
        "one dominant resource", lambda inst: common_dominant(inst) is not None
    ),
}
DRAW: dict[str, Draw] = {
    "single-resource-fair": draws.Small(users=(2, 5), resources=(1, 1)),
    "bottleneck-fair": OneDominant(users=(2, 5), resources=(2, 3), same=True),
}
ANY = draws.Small(users=(2, 5), zero_demand=0.2)


@dataclass(frozen=True)
class Judged:
    """A check: a property of the PS-DSF answer found with the servers in a random order."""

    name: str
    division: str

    def __call__(self, inst: Instance, seed: int) -> Check:
        order = any_order(inst, np.random.default_rng(seed))
        tasks = ps_dsf(inst, self.division, order)
        # under TDM feasible means that the time of each server suffices
        own = self.name == "pareto-optimal" and self.division == "tdm"
        space = transformed(inst) if own else inst
        alloc = Allocation(space, PerServerDominantShare(), tasks)
        found = properties.PROPERTIES[self.name](alloc)
        return Check.of(found.name, found.residual, APART, found.witness)


# without pareto-optimal under RDM, which Table I leaves out
for _name, _division in (*product(list(WORDS)[:-1], ("rdm", "tdm")), ("pareto-optimal", "tdm")):
    stated(
        name=f"khamse2016/theorem-3-{_name}-{_division}",
        words=f"under {_division.upper()} PS-DSF, {WORDS[_name]}",
        source=f"khamse2016 Theorem 3, {_division.upper()}",
        draw=DRAW.get(_name, ANY),
        hypotheses=(PREMISE[_name],) if _name in PREMISE else (),
        notion=PerServerDominantShare(division=_division),
    )(Judged(_name, _division))


# -- properties beyond Theorem 3, tested in the same way -----------------------------------------


stated(
    name="khamse2016/table-1-pareto-optimal-rdm",
    words=f"under RDM PS-DSF, {WORDS['pareto-optimal']}",
    source="khamse2016 Table I; Theorem 3 says it of TDM alone",
    draw=ANY,
    notion=PerServerDominantShare(),
)(Judged("pareto-optimal", "rdm"))


@stated(
    name="khamse2016/unique-rdm",
    words="the totals x_n of RDM PS-DSF allocations are unique",
    source="khamse2016, the RDM PS-DSF allocation",
    draw=draws.Small(users=(2, 5), servers=(2, 3), resources=(2, 3), zero_demand=0.3),
    notion=PerServerDominantShare(),
)
def _one_answer(inst: Instance, seed: int) -> Check:
    """Refill in other orders and from other starts; every answer is judged by Theorem 1."""
    notion = PerServerDominantShare()
    found = [Allocation(inst, notion, p.tasks) for p in fixed_points(inst, trials=4, seed=seed)]
    proved = [alloc for alloc in found if certify(alloc).certified]
    if not proved:
        raise Undecided("ps-dsf: no answer is certified")
    worst, witness = 0.0, ""
    for other in proved[1:]:
        most = np.maximum(np.maximum(proved[0].totals, other.totals), 1e-300)
        apart = np.abs(proved[0].totals - other.totals) / most
        n = int(apart.argmax())
        if apart[n] > worst:
            worst = float(apart[n])
            listed = (", ".join(f"{x:.6g}" for x in a.totals) for a in (proved[0], other))
            witness = "totals ({}) and ({}) both meet Theorem 1".format(*listed)
    return Check.of("one answer", worst, APART, witness)


@stated(
    name="khamse2016/table-1-sharing-incentive-tsf",
    words=f"under TSF, {WORDS['sharing-incentive']}",
    source="khamse2016 Table I; the source of TSF",
    draw=draws.Small(users=(2, 4), zero_demand=0.2),
    reading="printed",
    notion=MaxMin("tsf"),
)
def _tsf(inst: Instance, seed: int) -> Check:
    del seed  # nothing is drawn
    found = properties.sharing_incentive(best(inst, MaxMin("tsf")))
    return Check.of(found.name, found.residual, APART, found.witness)


def _one_server(inst: Instance) -> bool:
    """There is one server."""
    return inst.shape[1] == 1


@stated(
    name="khamse2016/one-server",
    words="on one server PS-DSF (RDM) is dominant resource fairness",
    source="khamse2016, said of PS-DSF after its definition",
    draw=draws.Small(users=(2, 4), servers=(1, 1), resources=(1, 4), zero_demand=0.2),
    hypotheses=(
        Hypothesis(
            "one server", _one_server, draws.Small(users=(2, 4), servers=(2, 3), resources=(2, 3))
        ),
    ),
)
def _is_drf(inst: Instance, seed: int) -> Check:
    del seed  # nothing is drawn
    per_server = certified(inst, PerServerDominantShare()).totals
    drf = certified(inst, MaxMin("drf")).totals
    apart = np.abs(per_server - drf) / np.maximum(per_server, drf)
    n = int(apart.argmax())
    witness = f"{inst.users[n]} runs {per_server[n]:.6g} under PS-DSF, {drf[n]:.6g} under DRF"
    return Check.of("the same tasks", float(apart[n]), 1e-5, witness)
