"""Whole tasks that stay where they ran: the nodes that keep most of what they held."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import groupby
from typing import Any

from fairopt.errors import BadInput, Fault, UsageError
from fairopt.exact import exact
from fairopt.instance.reading import Faults
from fairopt.whole.integer import SearchLimits
from fairopt.whole.proof import running, staying
from fairopt.whole.proof.again import proofs_again
from fairopt.whole.proof.answer import Asked, WholeTasks
from fairopt.whole.proof.running import Running
from fairopt.whole.proof.staying import Held


def held_by(given: WholeTasks | Mapping[str, Any], wanted: Asked) -> Held:
    """What runs on each node, of the last answer or by server.

    Raises
    ------
    BadInput : an unknown name, other than a number for each node, no whole number.
    """
    rows: dict[str, Any] = dict(given) if isinstance(given, Mapping) else {}
    if isinstance(given, WholeTasks):
        servers, users = {name for own in wanted.servers for name in own}, set(wanted.users)
        for name, count, own in given.machines():
            if name in servers:  # what is gone runs no more
                left = {user: m for user, m in own.items() if user in users}
                rows.setdefault(name, []).extend([left] * count)
    faults = Faults("whole tasks")
    found = running.by_class(rows, wanted.users, wanted.servers, "held", faults)
    faults.stop()
    return found


def stayed(
    found: WholeTasks,
    held: Held,
    cost: Mapping[str, int] | None = None,
    within: Fraction = Fraction(0),
    seconds: float | None = None,
    limits: SearchLimits | None = None,
    told: Callable[[str], None] | None = None,
) -> WholeTasks:
    """The answer on nodes that keep as much as was found, with the prices that bound it.

    Parameters
    ----------
    cost : of moving a task of a user, 1 where it is not named.
    within : part of its tasks of the answer that everybody may miss.
    """
    # imported late, as it imports the solvers
    from fairopt.whole.stay import keep

    problem, users = found.problem, found.asked.users
    for own in problem.classes:
        if len({kind.user for kind in own.kinds}) < len(own.kinds):
            raise UsageError("held: found a user with several modes; wanted one way to run a task")
    faults = Faults("whole tasks")
    costs = tuple(
        running.whole((cost or {}).get(name, 1), f"cost.{name}", faults, running.LARGEST_COST)
        for name in users
    )
    for name in (cost or {}).keys() - set(users):
        faults.add(f"cost.{name}", "an unknown user", "a user")
    if not 0 <= within <= 1:
        faults.add("within", str(within), "a part from 0 to 1")
    faults.stop()
    floor = tuple(staying.floors(problem, found.totals, within))
    question = staying.staying(problem, held, floor, costs)
    plain: list[list[dict[int, int]]] = [[] for _ in problem.classes]
    for j, count, tasks in found.nodes:
        plain[j] += [problem.classes[j].by_user(tasks)] * count
    begin = [[plain[j][i] for j, i in which] for which in question.members]
    nodes, prices = keep(question, begin, seconds, limits, told)
    placed = tuple(
        (j, len(list(alike)), tuple(own.get(kind.user, 0) for kind in problem.classes[j].kinds))
        for j, each in enumerate(question.nodewise(nodes))
        for own, alike in groupby(each)
    )
    other = replace(found, nodes=placed, running=Running(held, costs, floor, prices))
    return replace(other, certificate=proofs_again(other, found.certificate))


def part(given: Fraction | str | float) -> Fraction:
    """A part, exactly.

    Raises
    ------
    BadInput : no number >= 0.
    """
    found = exact(given)
    if found is None:
        wanted = "a part from 0 to 1, such as .02 or '1/50'"
        raise BadInput([Fault("within", repr(given), wanted)])
    return found
