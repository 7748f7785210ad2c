"""What is asked: families of notions, kinds of instances, decades; all from a seed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

import fairopt as fo
from benchmarks.trust import kinds
from fairopt.notions import Notion

DECADES = (0, 6, 12)
Draw = Callable[[np.random.Generator], Notion]


def _alpha(alpha: float) -> Draw:
    def draw(rng: np.random.Generator) -> Notion:
        criterion = str(rng.choice(["tasks", "drf", "dominant-share"]))
        return fo.AlphaFair(alpha, criterion, weight_inside=bool(rng.random() < 0.3))

    return draw


def _soft(rng: np.random.Generator) -> Notion:
    t_pf, t_drf = (float(t) for t in rng.choice([0.0, 0.1, 1.0, 10.0, 100.0], 2))
    return fo.Tradeoff(t_pf, t_drf, g=("log", 0.5, 2.0, 3.0)[int(rng.integers(4))])


def _hard(**form: bool) -> Draw:
    def draw(rng: np.random.Generator) -> Notion:
        free = {"equal_across": "t_drf", "equal_within": "t_pf"}[next(iter(form))]
        return fo.Tradeoff(**form, **{free: float(rng.choice([0.0, 1.0, 10.0]))})

    return draw


def _any_alpha(*criteria: str) -> Draw:
    def draw(rng: np.random.Generator) -> Notion:
        alpha = float(rng.choice([0.1, 0.5, 1.0, 2.0, 10.0, 50.0, 100.0]))
        return fo.AlphaFair(alpha, str(rng.choice(criteria)), bool(rng.random() < 0.3))

    return draw


def _classes(rng: np.random.Generator) -> Notion:
    return fo.AlphaFair(float(rng.choice([0.5, 1.0, 2.0, 10.0])), str(rng.choice(["tasks", "drf"])))


FAMILIES: dict[str, Draw] = {
    "throughput": lambda rng: fo.Throughput(),
    **{f"alpha-fair {alpha:g}": _alpha(alpha) for alpha in (0.5, 1.0, 2.0, 10.0, 50.0, 100.0)},
    **{
        f"max-min {criterion}": lambda rng, criterion=criterion: fo.MaxMin(criterion)
        for criterion in ("tasks", "drf", "dominant-share", "tsf", "cdrf")
    },
    "ps-dsf rdm": lambda rng: fo.PerServerDominantShare(),
    "ps-dsf tdm": lambda rng: fo.PerServerDominantShare("tdm"),
    "per-server-drf": lambda rng: fo.PerServerDRF(),
    "drf-hug": lambda rng: fo.HandOutDRF(),
    "equal-m": lambda rng: fo.EqualTasks(),
    "sum-m": lambda rng: fo.CommonTasks(),
    "bmf": lambda rng: fo.BottleneckMaxFair(),
    "trade-off soft": _soft,
    "trade-off, equal levels": _hard(equal_across=True),
    "trade-off, equal on servers": _hard(equal_within=True),
    "alpha-fair, rules": _any_alpha("tasks", "drf"),
    "alpha-fair, modes": _any_alpha("tasks"),
    "alpha-fair, partitions": _any_alpha("tasks"),
    "alpha-fair, start": _any_alpha("tasks", "drf"),
    "max-min, rules": lambda rng: fo.MaxMin("tasks"),
    "alpha-fair, everything": _any_alpha("tasks"),
    "alpha-fair, classes": _classes,
}
"""the order is part of the seeds: new ones at the end"""
EVERYTHING = "alpha-fair, everything"
CLASSES = "alpha-fair, classes"
RULED = ("alpha-fair, rules", "max-min, rules")
PLAIN = ("ordinary", "gpu", "ties", "zero demands", "limits", "counts", "placement")
HARD = ("parallel", "just full")
"""rows that are nearly parallel; a row that is full, or nearly, and has no price"""
BOUND = "binds nobody"
KINDS = (*PLAIN, *HARD, BOUND)


def kinds_of(family: str) -> tuple[str, ...]:
    """The kinds of instances that a family is asked."""
    if family in RULED or family in ("alpha-fair, modes", EVERYTHING):
        return (*PLAIN, *HARD)
    if family == CLASSES:
        return PLAIN
    if family == "alpha-fair, partitions":
        return tuple(kind for kind in (*PLAIN, *HARD) if kind != "gpu")
    if family.startswith(("alpha-fair", "max-min")):
        return KINDS
    return (*PLAIN, *HARD)


@dataclass(frozen=True)
class Asked:
    """One instance of the campaign."""

    family: str
    kind: str
    decades: int
    seed: int

    @property
    def key(self) -> str:
        return f"{self.family}/{self.kind}/{self.decades}/{self.seed}"

    def drawn(self) -> tuple[fo.Instance, Notion]:
        """The same instance and notion on every machine with the same NumPy."""
        where = (list(FAMILIES).index(self.family), KINDS.index(self.kind), self.decades)
        rng = np.random.default_rng([*where, self.seed])
        one_server = self.family == "bmf" or self.kind in HARD
        inst = instance(rng, self.kind, self.decades, self.seed % 3, one_server)
        notion = FAMILIES[self.family](rng)
        if self.kind in HARD:
            alpha = getattr(notion, "alpha", np.inf)
            inside = bool(getattr(notion, "weight_inside", False))
            if self.family.startswith("alpha-fair"):
                notion = fo.AlphaFair(alpha, "tasks", inside)
            inst = kinds.hard(rng, inst, self.kind, alpha, inside)
        if self.kind == BOUND:
            inst = kinds.bounding_nobody(rng, inst, self.family.startswith("alpha-fair"))
        if self.family in (*RULED, CLASSES):
            inst = kinds.ruled(rng, inst)
            over = str(rng.choice(["floor", "floor", "above"]))
            if inst.quotas is not None and inst.quotas.guarantee_tasks:
                notion = replace(notion, over=over)
        if self.family == CLASSES:
            inst = kinds.in_classes(rng, inst)
        if self.family == EVERYTHING:
            inst = kinds.everything(rng, inst)
        if self.family == "alpha-fair, modes":
            inst = kinds.in_modes(rng, inst)
        if self.family == "alpha-fair, partitions" and self.kind == "zero demands":
            most = inst.demand.max(axis=1)[:, None]
            inst = inst.replace(demand=np.maximum(inst.demand, most / 9))
        return inst, notion


def all_asked(each: int) -> Iterator[Asked]:
    """`each` instances of every family, kind and decades."""
    for seed in range(each):
        for family in FAMILIES:
            for kind in kinds_of(family):
                for decades in DECADES:
                    yield Asked(family, kind, decades, seed)


def instance(
    rng: np.random.Generator, kind: str, decades: int, spread: int, one_server: bool
) -> fo.Instance:
    """2 to 5 users, 1 to 3 servers and resources; `spread` 0: weights over the decades, 1: demands,
    2: both over half of them."""
    users, resources = int(rng.integers(2, 6)), int(rng.integers(1, 4))
    servers = 1 if one_server else int(rng.integers(1, 4))
    whole = kind == "ties"
    demand = rng.uniform(0.1, 1.0, (users, resources))
    capacity = rng.uniform(0.5, 2.0, (servers, resources)) * users
    weight = rng.uniform(0.5, 2.0, users)
    if whole:
        demand = rng.integers(1, 4, (users, resources)).astype(float)
        capacity = rng.integers(2, 9, (servers, resources)).astype(float)
        weight = rng.integers(1, 3, users).astype(float)
    if kind in ("zero demands", "gpu") and resources > 1:
        demand[:, 1:] *= rng.random((users, resources - 1)) < 0.5
    if kind == "gpu" and resources > 1:  # the first server has them all
        capacity[1:, 1:] *= rng.random((servers - 1, resources - 1)) < 0.5
    sizes = rng.uniform(-0.5, 0.5, (2, users)) * decades * (0.5 if spread == 2 else 1.0)
    if whole:
        sizes = np.rint(sizes / max(decades / 2, 1)) * max(decades / 2, 1)
    if spread != 1:
        weight *= 10.0 ** sizes[0]
    if spread != 0:
        demand *= 10.0 ** sizes[1][:, None]
    placement = None
    if kind == "placement":
        placement = rng.random((users, servers)) < 0.5
        placement[np.arange(users), rng.integers(servers, size=users)] = True
    count = rng.integers(1, 20, servers) if kind == "counts" else None
    found = fo.Instance(demand, capacity, placement, weight, count=count)
    if kind != "limits":
        return found
    most = found.alone.sum(axis=1) / users * 10.0 ** rng.uniform(-3, 0.5, users)
    return found.replace(limit=np.where(rng.random(users) < 0.6, most, np.inf))
