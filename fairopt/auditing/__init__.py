"""What users hold today beside what a notion says they are due (docs/maths/audit.md)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairopt import criteria
from fairopt.allocation import Allocation
from fairopt.allocation.check import Certificate
from fairopt.auditing.changes import fewest
from fairopt.auditing.reach import Reach, Today, reaches
from fairopt.auditing.rules import Broken, broken
from fairopt.certificates import certify
from fairopt.errors import BadInput, Fault
from fairopt.files.held import HeldTasks, held_of
from fairopt.formulas import families
from fairopt.formulas.entitled import entitled
from fairopt.formulas.lowered import PRICES, Lowered, lower
from fairopt.instance import Floats, Instance, Ints
from fairopt.notions import MaxMin, Notion
from fairopt.solving import solve

DIGITS = 9
"""of what everybody holds of its due, by which rows of a table are in order"""


@dataclass(frozen=True, eq=False)
class Team:
    """One user's line of an audit. Amounts are tasks (with modes: output), unless said.

    Parameters
    ----------
    held, due : today, and under the notion. level : what it holds, as share by weight.
    could_hold : the most it could hold while nobody served before it, or at or below its level,
        loses anything; None if what is held today does not fit the cluster.
    proved : whether prices prove that it could hold no more.
    guaranteed, short : what its guarantee comes to, and by how much it holds less.
    amounts : {resource: (held, due)} of each resource.
    holders : what stops it from holding more today: for each priced resource of a server, who has
        it beyond what they are sure of; by decreasing part.
    """

    user: str
    held: float
    due: float
    level: float
    could_hold: float | None
    proved: bool
    guaranteed: float
    short: float
    amounts: dict[str, tuple[float, float]]
    holders: tuple[Holder, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "user": self.user,
            "held": self.held,
            "due": self.due,
            "difference": self.due - self.held,
            "level": self.level,
            "could_hold": self.could_hold,
            "proved": self.proved,
            "guaranteed": self.guaranteed,
            "short": self.short,
            "amounts": {
                name: {"held": h, "due": d, "difference": d - h}
                for name, (h, d) in self.amounts.items()
            },
            "holders": [holder.to_dict() for holder in self.holders],
        }


@dataclass(frozen=True)
class Holder:
    """Who has of a resource what another user lacks: `amount` of `there`, and the `part` of the
    money, at the prices of the proof, that stands in the way. Prices may not be unique, so this
    is one reading of several."""

    user: str
    server: str
    resource: str
    amount: float
    there: float
    part: float

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return dict(vars(self))


@dataclass(frozen=True, eq=False)
class Audit:
    """The division of today beside the fair one.

    Parameters
    ----------
    instance : the cluster that was asked. notion : as plain data.
    teams : a line for each user, those furthest below their due first.
    answer : what is due, with its certificate. judged : the verdict on today's division.
    moved : fewest tasks to move to what is due; None if that does not fit.
    broken : the rules that today's division breaks.
    """

    instance: Instance
    teams: tuple[Team, ...]
    answer: Allocation
    judged: Certificate
    moved: float | None
    broken: tuple[Broken, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain data, schema fairopt/audit/v1."""
        certificate = self.answer.certificate
        assert certificate is not None
        return {
            "schema": "fairopt/audit/v1",
            "notion": self.answer.notion,
            "teams": [team.to_dict() for team in self.teams],
            "moved": self.moved,
            "broken": [rule.to_dict() for rule in self.broken],
            "today": {
                "verdict": self.judged.verdict,
                "gap": self.judged.gap,
                "residual": self.judged.residual,
            },
            "due": {
                "verdict": certificate.verdict,
                "gap": certificate.gap,
                "residual": certificate.residual,
            },
        }


def audit(
    instance: Instance,
    held: HeldTasks | Mapping[str, Any] | list[Mapping[str, Any]],
    notion: Notion | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Audit:
    """Judge a division of today: what each user holds, is due, and could hold.

    Parameters
    ----------
    instance : the cluster.
    held : {user: {server: tasks}}, rows of user, server, tasks, or what `files.read_held` read. A
        row without a server counts tasks that wait: with any of these, nobody is taken to want
        more than it holds and waits for.
    notion : of what is due; default MaxMin().
    progress : called with (done, of) while the programs of what users could hold are solved.

    Raises
    ------
    BadInput : faults of `held`; nobody holds or waits for anything. UsageError : rules that an
        audit does not know.
    NotCertified, SolverFailure : as of `solve`.

    Examples
    --------
    >>> import fairopt as fo
    >>> cluster = fo.Instance([[1, 4], [3, 1]], [[9, 18]], users=["A", "B"])
    >>> found = fo.audit(cluster, {"A": {"s1": 3}, "B": {"s1": 2}}, fo.ProportionalFair())
    >>> for team in found.teams:
    ...     print(team.user, team.held, round(team.due, 3), round(team.could_hold, 3))
    A 3.0 4.091 3.0
    B 2.0 1.636 3.0
    """
    instance.only_known("audit")
    notion = MaxMin() if notion is None else notion
    given = held if isinstance(held, HeldTasks) else held_of(held, instance)
    instance, way_tasks = _wanted(instance, given)
    answer = solve(instance, notion)
    ways = instance.ways
    score = criteria.score(instance, notion.criterion)
    unit = score[ways.owner] * ways.speed[:, None]
    inside = np.where(ways.eligible, way_tasks, 0.0)
    share = ways.running(inside * unit).sum(axis=1)
    output = ways.output(way_tasks).sum(axis=1)
    floor = _floors(instance, notion, score)
    system = lower(instance, score)
    weight = instance.weight if instance.tree.flat else instance.tree.normalised
    today = Today(system, share, floor, share / weight, instance.tree.rank)
    found = reaches(today, progress)
    use = ways.taken(way_tasks), ways.taken(answer.by_way)
    due = answer.outputs
    teams = []
    for n, name in enumerate(instance.users):
        reach = found[n]
        amounts = {
            r: (float(use[0][n, :, k].sum()), float(use[1][n, :, k].sum()))
            for k, r in enumerate(instance.resources)
        }
        teams.append(
            Team(
                name,
                float(output[n]),
                float(due[n]),
                float(today.level[n]),
                None if reach is None else _output(system, reach, instance, n),
                reach is not None and reach.proved,
                float(floor[n]),
                float(max(0.0, floor[n] - share[n])),
                amounts,
                () if reach is None else tuple(_holders(today, n, reach, use[0], instance)),
            )
        )
    with np.errstate(divide="ignore", invalid="ignore"):
        # those of the same part stay in the order of the model, whatever the last digit is
        part = np.round(np.where(due > 0, output / due, np.inf), DIGITS)
        order = np.argsort(part, kind="stable")
    moved = fewest(system, inside[system.way, system.server], answer.shares)
    strays = float((way_tasks - inside).sum())
    mine = Allocation(
        instance,
        notion,
        ways.running(way_tasks),
        level_prices=answer.level_prices,
        **_proof(answer, way_tasks),
    )
    return Audit(
        instance,
        tuple([teams[n] for n in order]),
        answer,
        certify(mine),
        None if moved is None else moved[0] + strays / 2,
        tuple(broken(instance, way_tasks, share, floor)),
    )


def _wanted(instance: Instance, held: HeldTasks) -> tuple[Instance, Floats]:
    """The instance in which nobody wants more than it holds and waits for, if that is said."""
    if held.pending is None:
        return instance, held.way_tasks
    asked = instance.ways.running(held.way_tasks).sum(axis=1) + held.pending
    users = np.flatnonzero(asked > 0)
    if not len(users):
        raise BadInput([Fault("held", "nobody who holds or waits for a task", "at least one")])
    most = np.minimum(instance.limit, np.where(asked > 0, asked, np.inf))
    smaller = instance.replace(limit=most)
    if len(users) < len(asked):
        smaller = smaller.select(users, np.arange(len(instance.servers)))
    return smaller, held.way_tasks[np.isin(instance.ways.owner, users)]


def _floors(instance: Instance, notion: Notion, score: Floats) -> Floats:
    """(N,) what guarantees come to, in shares."""
    if instance.quotas is None:
        return np.zeros(len(instance.users))
    return entitled(instance, score, families.member(notion.plain())).floor


def _proof(answer: Allocation, way_tasks: Floats) -> dict[str, Any]:
    """The prices of an answer, and tasks by mode, for a division of the same instance."""
    found = {name: getattr(answer, name) for name in (*PRICES, "floor_prices")}
    return {**found, "way_tasks": None if answer.way_tasks is None else way_tasks}


def _output(system: Lowered, found: Reach, instance: Instance, user: int) -> float:
    """Tasks, with modes output, of one user in the division that reaches what it could hold."""
    own = system.owner == user
    return float((found.tasks[own] * instance.ways.speed[system.way[own]]).sum())


def _holders(
    today: Today, user: int, found: Reach, use: Floats, instance: Instance
) -> list[Holder]:
    """Who has what the user lacks, at the prices of its reach."""
    price = today.system.named(found.price).capacity
    above = np.flatnonzero(today.above(user))
    money = use[above] * price
    paid = money.sum(axis=(1, 2))
    sure = np.minimum(_cheapest(today.system, found.price)[above] * today.floor[above], paid)
    money *= np.where(paid > 0, 1 - sure / np.where(paid > 0, paid, 1.0), 0.0)[:, None, None]
    total = float(money.sum())
    if not total > 0:
        return []
    entries: Ints = np.argwhere(money > 1e-9 * total)
    holders = [
        Holder(
            instance.users[above[m]],
            instance.servers[i],
            instance.resources[r],
            float(use[above[m], i, r]),
            float(instance.pool[i, r]),
            float(money[m, i, r]) / total,
        )
        for m, i, r in entries.tolist()
    ]
    return sorted(holders, key=lambda h: -h.part)


def _cheapest(system: Lowered, price: Floats) -> Floats:
    """(N,) cheapest price of a unit of share."""
    cheapest = np.full(system.shape[0], np.inf)
    np.minimum.at(cheapest, system.owner, system.cost(price) / system.score)
    return np.where(np.isfinite(cheapest), np.maximum(cheapest, 0.0), 0.0)


__all__ = ["Audit", "Holder", "Team", "audit"]
