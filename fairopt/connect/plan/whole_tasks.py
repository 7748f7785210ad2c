"""Whole tasks of a plan, proved: what is asked of them, exactly, and the key `proof` of the plan.

The plan has every amount exactly, so the proof is the certificate alone, with how each due was
read. `fairopt verify` asks the same question again from the plan's own rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from fairopt.allocation import Allocation
from fairopt.connect.cluster.together import Together
from fairopt.connect.plan.packing import Packed
from fairopt.connect.text.fields import Amounts
from fairopt.errors import UsageError
from fairopt.whole.asking import searched, taken_from
from fairopt.whole.integer import SearchLimits
from fairopt.whole.proof.again import proofs_again
from fairopt.whole.proof.answer import Asked, WholeTasks
from fairopt.whole.proof.placement import Nodes, Placement
from fairopt.whole.proof.problem import NodeRow
from fairopt.whole.proof.zones import Spread
from fairopt.whole.rounding import share_out

if TYPE_CHECKING:
    from fairopt.connect.plan.problem import ClusterProblem


SMALL = 60
"""most pairs of workload and shape of nodes for which a plan proves its whole tasks unasked"""
_UNASKED = SearchLimits(nodes=300, branches=20_000, near=1000, programs=12)


@dataclass(frozen=True)
class Proving:
    """How whole tasks of a plan are proved.

    Parameters
    ----------
    seconds : the search ends then; None: when nothing better is known to be looked for.
    told : called with words on what is done now.
    limits : how far the search goes.
    """

    seconds: float | None = None
    told: Callable[[str], None] | None = None
    limits: SearchLimits | None = None


def chosen(
    problem: ClusterProblem,
    whole: bool | None,
    seconds: float | None = None,
    told: Callable[[str], None] | None = None,
) -> Proving | None:
    """How whole tasks are proved if that is asked, not asked, or (None) not said.

    If nothing is said they are proved on small clusters, no further than ends in about a second;
    by numbers of branches, so that the same files give the same bytes on every machine.
    """
    if whole is None and problem.speed.min() == 1:
        pairs = int(problem.plain.placement.sum())
        return Proving(seconds, told, _UNASKED) if pairs <= SMALL else None
    return Proving(seconds, told) if whole else None


def proved(
    problem: ClusterProblem, answer: Allocation, packed: Packed, how: Proving
) -> tuple[Packed, WholeTasks]:
    """Whole tasks that are no worse than those of the heuristic, with what proves them.

    Raises
    ------
    UsageError : cards of several speeds: a due in output says no number of tasks.
    """
    if np.unique(problem.speed[problem.plain.placement]).size > 1:
        raise UsageError("--whole: found kinds of cards of several speeds; wanted one speed")
    wanted = of(problem, answer)
    begin = fitting(wanted, nodes(wanted, packed.machines))
    found = searched(wanted, begin, how.seconds, how.limits, how.told)
    return _packed(wanted, found.nodes, found.totals), found


def of(problem: ClusterProblem, answer: Allocation) -> Asked:
    """What is asked of whole tasks by a fluid answer of a cluster."""
    return asked(
        answer,
        [problem.demand(n) for n in range(len(problem.users))],
        [(row.name, row.count, row.capacity) for row in problem.shapes],
        [work.asked for work in problem.users],
        problem.bounded,
        [work.together for work in problem.users],
        problem.cluster.cards,
    )


def bound(problem: ClusterProblem, answer: Allocation, packed: Packed) -> Packed:
    """The tasks of the heuristic with gangs uncut and no node above what it may hold of each."""
    wanted = of(problem, answer)
    placed = Placement(wanted.problem, fitting(wanted, nodes(wanted, packed.machines)))
    whole = [min(a, f) for a, f in zip(wanted.problem.asked, wanted.problem.full, strict=True)]
    placed.trim(whole)
    share_out(placed, wanted.problem.whole, wanted.due)
    share_out(placed, wanted.problem.asked, wanted.due)
    return _packed(wanted, placed.nodes(), placed.total)


def _packed(wanted: Asked, placed: Nodes, totals: Sequence[int]) -> Packed:
    machines: list[list[tuple[int, dict[int, int]]]] = [[] for _ in wanted.rows]
    for j, count, tasks in placed:
        machines[j].append((count, wanted.problem.classes[j].by_user(tasks)))
    return Packed(tuple(map(tuple, machines)), np.array(totals))


def replaced(found: WholeTasks, packed: Packed) -> WholeTasks:
    """The answer with other machines; each level with the prices that still prove it."""
    other = WholeTasks(found.asked, nodes(found.asked, packed.machines), stopped=found.stopped)
    if sorted(other.nodes) == sorted(found.nodes):
        return found
    return replace(other, certificate=proofs_again(other, found.certificate))


def asked(
    answer: Allocation,
    demand: Sequence[Amounts],
    shapes: Sequence[tuple[str, int, Amounts]],
    limit: Sequence[int | None],
    bounded: bool,
    together: Sequence[Together],
    cards: Sequence[str] = (),
) -> Asked:
    """What is asked of whole tasks by a fluid answer on shapes of nodes.

    Parameters
    ----------
    demand : exact amounts of a task of each user. shapes : (name, count, exact capacity).
    limit : tasks that each user asks. bounded : whether quotas or ceilings bind.
    together : gangs, and how many tasks of each user a node may hold. The latter are resources of
        their own: every node has so much of them, and what stays and what comes share it.
    cards : resources that come on single cards.
    """
    gang = tuple(own.gang for own in together)
    names = answer.instance.users
    more: dict[str, Fraction] = {}
    needs = [dict(own) for own in demand]
    for name, own, need in zip(names, together, needs, strict=True):
        if own.per_node is not None:
            more[f"tasks of {name}"] = Fraction(own.per_node)
            need[f"tasks of {name}"] = Fraction(1)
        for tag in own.alone:
            more[f"alone: {tag}"] = need[f"alone: {tag}"] = Fraction(1)
    pairs = taken_from(answer, gang)
    if bounded:  # one task more than due could be above a quota: nobody asks for more
        limit = [
            math.floor(d) if a is None else min(a, math.floor(d))
            for (d, _), a in zip(pairs, limit, strict=True)
        ]
    placement = answer.instance.placement
    rows = [
        NodeRow(
            name,
            count,
            {**capacity, **more},
            tuple((n, "", needs[n], None) for n in np.flatnonzero(placement[:, i]).tolist()),
        )
        for i, (name, count, capacity) in enumerate(shapes)
    ]
    return Asked(
        answer.instance.users,
        tuple(rows),
        tuple(d for d, _ in pairs),
        tuple(limit),
        gang,
        tuple(words for _, words in pairs),
        tuple({row.name: row.count} for row in rows),
        cards=tuple(cards),
        at_least=tuple(own.at_least for own in together),
        spreads=tuple(_spreads(together, [name for name, _, _ in shapes])),
    )


def _spreads(together: Sequence[Together], shapes: Sequence[str]) -> Iterator[Spread]:
    """Users that are spread over zones, with the zone of each shape."""
    for n, own in enumerate(together):
        if own.spread is not None:
            at = {name: z for z, (_, there) in enumerate(own.spread.zones) for name in there}
            zone = tuple(at.get(name, -1) for name in shapes)
            yield Spread(n, tuple(name for name, _ in own.spread.zones), zone, own.spread.skew)


def nodes(wanted: Asked, machines: Sequence[Sequence[tuple[int, Mapping[int, int]]]]) -> Nodes:
    """Machines of each shape, (count, {user: tasks}), as nodes of classes, as they are."""
    return tuple(
        (j, count, tuple(own.get(kind.user, 0) for kind in wanted.problem.classes[j].kinds))
        for j, groups in enumerate(machines)
        for count, own in groups
    )


def fitting(wanted: Asked, placed: Nodes) -> Nodes:
    """The nodes with less where a node holds more than it may of some user."""
    classes = wanted.problem.classes
    return tuple((j, count, classes[j].cut(tasks)) for j, count, tasks in placed)


def proof(found: WholeTasks) -> dict[str, Any]:
    """The key `proof` of a plan."""
    from fairopt.whole.proof.judging import judge

    verdict = judge(found)
    return {
        "state": verdict.state,
        "short": verdict.short,
        "least": verdict.least,
        "due": {name: str(d) for name, d in zip(found.asked.users, found.asked.due, strict=True)},
        "certificate": found.certificate.to_dict(),
        "stopped": found.stopped,
    }
