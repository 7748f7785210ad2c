"""What is forged: instances whose optimum is proved, asked in several ways that mean the same."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import fairopt as fo
from benchmarks.forged import large
from benchmarks.trust import draws as trust
from fairopt import criteria
from fairopt.notions import Notion
from tests.oracles.optimum import Optimum, optimum
from tests.oracles.rows import of_instance

ALPHAS = (0.5, 1.0, 2.0, 5.0)
STEEP = (0.1, 10.0, 30.0, 100.0)


@dataclass(frozen=True)
class Case:
    """A question with its proved optimum. how: whole, or one of HOWS; large: of many users."""

    inst: fo.Instance
    notion: Notion
    truth: Optimum
    how: str
    large: bool = False


def parallel(rng: np.random.Generator) -> tuple[fo.Instance, Notion]:
    """2 to 4 users, 2 or 3 rows of which two or more are parallel but for 1e-1.5 to 1e-7."""
    users, rows = int(rng.integers(2, 5)), int(rng.integers(2, 4))
    demand = np.repeat(rng.uniform(0.2, 1.0, (users, 1)), rows, axis=1)
    angle = 10.0 ** rng.uniform(-7, -1.5)
    demand[:, 1:] *= 1 + angle * rng.uniform(-1, 1, (users, rows - 1))
    tasks = rng.dirichlet(np.ones(users)) / demand[:, 0]
    capacity = tasks @ demand  # a mix at which all are full: some will be, some not
    capacity *= 1 + angle * rng.choice([0.0, 1e-3, 1.0], rows) * rng.uniform(-1, 1, rows)
    weight = rng.uniform(0.5, 2.0, users)
    return fo.Instance(demand, [capacity], weight=weight), fo.AlphaFair(float(rng.choice(ALPHAS)))


def just_full(rng: np.random.Generator) -> tuple[fo.Instance, Notion]:
    """A row that is full at the answer of another, or up to 1e-8, and has no price."""
    one = trust.Asked("alpha-fair, partitions", "just full", 0, int(rng.integers(10**6)))
    inst, notion = one.drawn()
    return inst, notion


def light(rng: np.random.Generator) -> tuple[fo.Instance, Notion]:
    """Some users hold 1e-5 to 1e-13 of the money."""
    users, rows, servers = (int(rng.integers(a, b)) for a, b in ((2, 6), (1, 4), (1, 4)))
    alpha = float(rng.choice(ALPHAS))
    weight = rng.uniform(0.5, 2.0, users)
    some = rng.choice(users, int(rng.integers(1, users)), replace=False)
    weight[some] *= 10.0 ** (-rng.uniform(5, 13, len(some)) * alpha)
    inst = fo.Instance(
        rng.uniform(0.1, 1.0, (users, rows)),
        rng.uniform(0.5, 2.0, (servers, rows)) * users,
        weight=weight,
    )
    return inst, fo.AlphaFair(alpha)


def steep(rng: np.random.Generator) -> tuple[fo.Instance, Notion]:
    """alpha .1, and 10 to 100, of any kind of the trust campaign."""
    kinds = [kind for kind in trust.KINDS if kind != trust.BOUND]
    kind, decades = str(rng.choice(kinds)), int(rng.choice(trust.DECADES))
    one = trust.Asked("alpha-fair, start", kind, decades, int(rng.integers(10**6)))
    inst, notion = one.drawn()
    assert isinstance(notion, fo.AlphaFair)
    return inst, fo.AlphaFair(float(rng.choice(STEEP)), notion.criterion, notion.weight_inside)


def ruled(rng: np.random.Generator) -> tuple[fo.Instance, Notion]:
    """Groups, ceilings, lending, guarantees."""
    kinds = (*trust.PLAIN, *trust.HARD)
    one = trust.Asked(
        "alpha-fair, rules",
        str(rng.choice(kinds)),
        int(rng.choice([0, 6])),
        int(rng.integers(10**6)),
    )
    return one.drawn()


SOURCES: dict[str, Callable[[np.random.Generator], tuple[fo.Instance, Notion]]] = {
    "parallel": parallel,
    "just full": just_full,
    "light": light,
    "steep": steep,
    "rules": ruled,
    "one price": large.one_price,
    "decades": large.decades,
}
LARGE = ("one price", "decades")
"""sources of so many users that their optimum is found another way"""


def ceiling(inst: fo.Instance, notion: Notion) -> tuple[fo.Instance, Notion]:
    bound = fo.Bound(inst.users[0], inst.resources[0], 99 * float(inst.pool[:, 0].sum()))
    return inst.replace(quotas=fo.Quotas(bounds=[bound])), notion


def group(inst: fo.Instance, notion: Notion) -> tuple[fo.Instance, Notion]:
    weight = float(inst.weight[:2].sum())
    inside = {user: "g" for user in inst.users[:2]}
    return inst.replace(quotas=fo.Quotas([fo.Group("g", weight=weight)], inside)), notion


def lending(inst: fo.Instance, notion: Notion) -> tuple[fo.Instance, Notion]:
    quota = fo.Quota(inst.users[0], inst.resources[0], float(inst.pool[:, 0].sum()))
    return inst.replace(quotas=fo.Quotas(quotas=[quota])), notion


def trade_off(inst: fo.Instance, notion: Notion) -> tuple[fo.Instance, Notion]:
    """Without penalties it is alpha-fairness of dominant shares, the weight inside."""
    return inst, fo.Tradeoff(g=notion.alpha)


HOWS: dict[str, Callable[[fo.Instance, Notion], tuple[fo.Instance, Notion]]] = {
    "whole": lambda inst, notion: (inst, notion),
    "ceiling": ceiling,
    "group": group,
    "lending": lending,
    "partitions": lambda inst, notion: (inst, notion),
    "trade-off": trade_off,
}
"""ways to ask the same, all but the last with the same optimum"""


def case(source: str, how: str, seed: int) -> Case | None:
    """The question with its truth; None where it is not asked so, or no truth was proved."""
    rng = np.random.default_rng([list(SOURCES).index(source), seed])
    inst, notion = SOURCES[source](rng)
    if how == "partitions" and not _parts(inst, notion):
        return None
    if how == "trade-off" and inst.demand.ndim != 2:
        return None
    inst, notion = HOWS[how](inst, notion)
    if source in LARGE:
        truth = large.truth(inst, notion.alpha)
    elif how == "trade-off":
        rows = of_instance(inst, criteria.score(inst, "dominant-share"))
        truth = optimum(rows, notion.alpha, True)
    else:
        rows = of_instance(inst, criteria.score(inst, notion.criterion), notion.over)
        truth = optimum(rows, notion.alpha, notion.weight_inside)
    return None if truth is None else Case(inst, notion, truth, how, source in LARGE)


def _parts(inst: fo.Instance, notion: Notion) -> bool:
    """Whether it can be asked in partitions."""
    return (
        inst.demand.ndim == 2
        and inst.plain
        and notion.criterion == "tasks"
        and notion.alpha >= 0.1
        and bool((inst.capacity > 0).any(axis=0).all())
    )
