"""Ways to spoil a right answer: one table, notions x ways to spoil x who is hurt.

No spoiled answer is right, whatever its prices say: a share that is unique was changed by more than
the tolerance, or the answer does not fit. A notion joins by being in `fairopt.notions.NOTIONS`; one
that needs parameters, or is worth trying with several, gets a line in VARIANTS.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

import fairopt as fo
from fairopt import notions
from fairopt.formulas import welfare

VARIANTS: dict[str, tuple[dict, ...]] = {
    "alpha-fair": (
        {"alpha": 0.5},
        {"alpha": 2.0},
        {"alpha": 2.0, "weight_inside": True},
        {"alpha": 20.0, "criterion": "drf"},
    ),
    "max-min": ({"criterion": "tasks"}, {"criterion": "drf"}, {"criterion": "dominant-share"}),
    "ps-dsf": ({"division": "rdm"}, {"division": "tdm"}),
    "tradeoff": (
        {},
        {"t_pf": 3.0, "t_drf": 2.0},
        {"t_pf": 1.0, "g": 3.0},
        {"equal_across": True},
        {"equal_within": True},
    ),
}

POOL = fo.Instance(
    [[1, 4, 0], [3, 1, 0], [2, 2, 0], [0, 0, 1], [1, 1, 0]],
    [[12, 18, 5]],
    weight=[1, 2, 1e-9, 0.5, 3],
    limit=[np.inf, np.inf, np.inf, np.inf, 0.25],
    users=["first", "heavy", "light", "alone", "limited"],
)
CLUSTER = fo.Instance(
    [[1, 4, 0], [3, 1, 0], [2, 2, 0], [1, 1, 2], [1, 1, 0], [2, 1, 0]],
    [[9, 18, 0], [12, 6, 8], [4, 3, 0]],
    placement=[[1, 1, 0], [1, 1, 0], [1, 0, 0], [1, 1, 0], [1, 1, 0], [0, 0, 1]],
    weight=[1, 20, 1e-3, 0.5, 3, 1e-4],
    limit=[np.inf, np.inf, np.inf, np.inf, 0.25, np.inf],
    users=["first", "heavy", "light", "gpu", "limited", "alone"],
)
INSTANCES = {"pool": POOL, "cluster": CLUSTER}
ONE_SERVER = ("bmf",)
"""notions of one pool"""
LINEAR = ("equal-m", "sum-m")
"""linear programs: a user is judged by what it could run alone on a server, and a trade between
two users by what the objective loses, which for one of 2e-6 is less than the tolerance"""
HURT = ("first", "heavy", "light", "alone", "limited")
"""who is hurt: one of many, the heaviest, the lightest, alone on its resource, at its limit"""


@dataclass(frozen=True)
class Case:
    """A notion with its parameters, asked about an instance of the table."""

    name: str
    parameters: tuple[tuple[str, object], ...]
    where: str

    def __str__(self) -> str:
        given = ",".join(f"{key}={value}" for key, value in self.parameters)
        return f"{self.name}({given})-{self.where}"

    @property
    def right(self) -> fo.Allocation:
        return _solved(self)


@lru_cache
def _solved(case: Case) -> fo.Allocation:
    return fo.solve(INSTANCES[case.where], notions.make(case.name, **dict(case.parameters)))


def cases() -> list[Case]:
    """Every notion, with every variant, on every instance it is defined for."""
    return [
        Case(name, tuple(parameters.items()), where)
        for name in notions.NOTIONS
        for parameters in VARIANTS.get(name, ({},))
        for where in INSTANCES
        if where == "pool" or name not in ONE_SERVER
    ]


@dataclass(frozen=True)
class Spoiled:
    """A spoiled answer: the way, the user that is hurt (or nobody in particular)."""

    way: str
    who: str
    alloc: fo.Allocation

    def __str__(self) -> str:
        return f"{self.way}, {self.who or 'everybody'}"


Way = Callable[[fo.Allocation, int], np.ndarray | None]
"""tasks (N, I) with one user hurt; None where that cannot be done to this one"""


def linear(alloc: fo.Allocation) -> bool:
    """Whether the notion is a linear program, whose optimum a small trade hardly leaves."""
    return alloc.notion["name"] in LINEAR or welfare.alpha_of(alloc.notion) == 0


def _unit(alloc: fo.Allocation, n: int) -> np.ndarray:
    """(I,) what a part is a part of: the user's tasks, or what it could run alone."""
    if not linear(alloc):
        return alloc.tasks[n]
    return np.where(alloc.tasks[n] > 0, alloc.instance.alone[n], 0.0)


def lowered(part: float) -> Way:
    """Some of a user's tasks taken away, and left lying."""

    def way(alloc: fo.Allocation, n: int) -> np.ndarray | None:
        tasks = alloc.tasks.copy()
        tasks[n] = np.maximum(tasks[n] - part * _unit(alloc, n), 0.0)
        return tasks if alloc.totals[n] > 0 else None

    return way


def raised(part: float) -> Way:
    """A user given more, up to what fits, and the others on its servers pressed until they fit."""

    def way(alloc: fo.Allocation, n: int) -> np.ndarray | None:
        inst, tasks = alloc.instance, alloc.tasks.copy()
        more = part * _unit(alloc, n)
        if not more.any():  # one that holds nothing gets some of what it could run alone
            more = part * inst.alone[n]
        most = np.maximum(inst.alone[n], tasks[n])
        tasks[n] = np.minimum(tasks[n] + more, most)
        over = tasks[n].sum() / inst.limit[n]
        tasks[n] /= max(over, 1.0)
        if tasks[n].sum() <= alloc.totals[n] * (1 + part / 10):
            return None
        return pressed(inst, tasks, n)

    return way


def pressed(inst: fo.Instance, tasks: np.ndarray, n: int) -> np.ndarray:
    """Tasks with all but user n scaled down, server by server, where they do not fit."""
    others = np.arange(len(inst.users)) != n
    for i in range(len(inst.servers)):
        demand = inst.demand_by_server[:, i]
        for r in np.flatnonzero(inst.pool[i]):
            own = tasks[n, i] * demand[n, r]
            rest = float(tasks[others, i] @ demand[others, r])
            if rest > 0 and own + rest > inst.pool[i, r]:
                touched = others & (demand[:, r] > 0)
                tasks[touched, i] *= max(inst.pool[i, r] - own, 0.0) / rest * (1 - 1e-15)
    return tasks


def robbed(part: float) -> Way:
    """Some of a user's tasks taken away, and what they leave handed to the heaviest other."""

    def way(alloc: fo.Allocation, n: int) -> np.ndarray | None:
        inst, tasks = alloc.instance, lowered(part)(alloc, n)
        if tasks is None:
            return None
        for i in np.flatnonzero(alloc.tasks[n]):
            there = inst.eligible[:, i] & np.isinf(inst.limit)
            there[n] = False
            if there.any():
                m = int(np.argmax(np.where(there, inst.weight, 0.0)))
                demand = inst.demand_by_server[:, i]
                left = inst.pool[i] - tasks[:, i] @ demand
                room = min(left[r] / demand[m, r] for r in np.flatnonzero(demand[m]))
                tasks[m, i] += max(room, 0.0) * (1 - 1e-12)
        return tasks

    return way


def displaced(alloc: fo.Allocation, n: int) -> np.ndarray | None:
    """A thousandth of a user's tasks moved to another server, those there pressed until it fits;
    what it leaves lies idle."""
    inst, tasks = alloc.instance, alloc.tasks.copy()
    i = int(np.argmax(tasks[n]))
    elsewhere = [j for j in np.flatnonzero(inst.eligible[n]).tolist() if j != i]
    if not elsewhere or tasks[n, i] == 0:
        return None
    j = elsewhere[0]
    amount = min(1e-3 * tasks[n, i], inst.alone[n, j] - tasks[n, j])
    if amount < 1e-4 * tasks[n, i]:
        return None
    tasks[n, i] -= amount
    tasks[n, j] += amount
    return pressed(inst, tasks, n)


WAYS: dict[str, Way] = {
    "lowered by 2e-6": lowered(2e-6),
    "lowered by 1e-3": lowered(1e-3),
    "given nothing": lowered(1.0),
    "robbed of 2e-6": robbed(2e-6),
    "robbed of 1e-3": robbed(1e-3),
    "robbed of all": robbed(1.0),
    "raised by 2e-6": raised(2e-6),
    "raised by 1e-3": raised(1e-3),
    "given five times as much": raised(4.0),
    "on another server": displaced,
}


def unfit(alloc: fo.Allocation) -> Iterator[Spoiled]:
    """Answers that do not fit, by the least amount that is refused, and broken placement."""
    inst = alloc.instance

    def spoiled(way: str, tasks: np.ndarray) -> Spoiled:
        return Spoiled(way, "", changed(alloc, tasks=tasks))

    yield spoiled("capacity exceeded by 2e-9", alloc.tasks * (1 + 2e-9) / alloc.utilisation.max())
    yield spoiled("capacity idle by 2e-6", alloc.tasks * (1 - 2e-6))
    for n in np.flatnonzero(alloc.totals >= inst.limit * (1 - 1e-9)):
        tasks = alloc.tasks.copy()
        tasks[n] *= inst.limit[n] * (1 + 2e-9) / tasks[n].sum()
        yield spoiled("a limit exceeded by 2e-9", pressed(inst, tasks, int(n)))
    for n, i in np.argwhere(~inst.eligible)[:1]:
        tasks = alloc.tasks.copy()
        tasks[n, i] = 1e-12
        yield spoiled("placement broken", tasks)
    n = int(np.argmax(alloc.totals))
    tasks = alloc.tasks.copy()
    tasks[n, int(np.argmin(tasks[n]))] = -1e-12
    yield spoiled("tasks below 0", tasks)


def forgeries(alloc: fo.Allocation, n: int) -> Iterator[tuple[str, dict[str, np.ndarray | None]]]:
    """Prices that a liar would send along with a spoiled answer."""
    own = {
        name: getattr(alloc, name)
        for name in ("prices", "limit_prices", "level_prices")
        if getattr(alloc, name) is not None
    }
    inst, rng = alloc.instance, np.random.default_rng(n)
    yield "none", dict.fromkeys(own)
    changes: dict[str, Callable[[np.ndarray], np.ndarray]] = {
        "zeroed": np.zeros_like,
        "scaled": lambda p: p * 2.0**-40,
        "denormal": lambda p: np.full_like(p, 5e-324),
        "huge": lambda p: np.where(p > 0, 1e300, 0.0),
        "one entry a million times": lambda p: _one(p, rng, 1e6),
        "one entry nothing": lambda p: _one(p, rng, 0.0),
        "drawn": lambda p: rng.random(p.shape),
    }
    for way, change in changes.items():
        yield way, {name: change(prices) for name, prices in own.items()}
    # what proves the answer for other weights: the user hurt is due less, or more
    for factor in (0.1, 10.0):
        weight = inst.weight.copy()
        weight[n] *= factor
        other = _elsewhere(Reweighted(alloc, tuple(weight.tolist())))
        if other is not None:
            same = {
                name: getattr(other, name)
                for name in own
                if getattr(other, name) is not None
                and (name == "level_prices" or getattr(other, name).shape == own[name].shape)
            }
            yield f"of weight times {factor:g}", same


def _one(p: np.ndarray, rng: np.random.Generator, factor: float) -> np.ndarray:
    found = p.copy()
    found.flat[int(rng.integers(p.size))] *= factor
    return found


@dataclass(frozen=True, eq=False)
class Reweighted:
    alloc: fo.Allocation
    weight: tuple[float, ...]


def _elsewhere(asked: Reweighted) -> fo.Allocation | None:
    inst = asked.alloc.instance.replace(weight=list(asked.weight))
    plain = asked.alloc.notion
    try:
        return fo.solve(inst, notions.make(plain["name"], **plain["parameters"]))
    except fo.errors.FairoptError:
        return None


def changed(alloc: fo.Allocation, **changes: np.ndarray | None) -> fo.Allocation:
    """The answer with some of its numbers changed, and no verdict."""
    return alloc.with_(certificate=None, objective=None, equivalent=None, **changes)


def spoils(alloc: fo.Allocation) -> Iterator[Spoiled]:
    """Every way with every user that it can be done to."""
    users = alloc.instance.users
    for who in (*HURT, "gpu"):
        if who not in users:
            continue
        n = users.index(who)
        for way, spoil in WAYS.items():
            if linear(alloc) and way in ("robbed of 2e-6", "raised by 2e-6"):
                continue
            tasks = spoil(alloc, n)
            if tasks is not None:
                yield Spoiled(way, who, changed(alloc, tasks=tasks))
    yield from unfit(alloc)


def forged(alloc: fo.Allocation, who: str) -> Iterator[Spoiled]:
    """One user given five times as much, or a thousandth less, with every forgery of prices."""
    n = alloc.instance.users.index(who)
    for way in ("given five times as much", "lowered by 1e-3"):
        tasks = WAYS[way](alloc, n)
        if tasks is None:
            continue
        for forgery, prices in forgeries(alloc, n):
            yield Spoiled(f"{way}, prices {forgery}", who, changed(alloc, tasks=tasks, **prices))
