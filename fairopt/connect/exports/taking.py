"""What the whole tasks of a plan take, queue by queue, in exact amounts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from fractions import Fraction
from math import floor
from typing import Any

from fairopt import files
from fairopt.connect.plan.rows import PlanLists
from fairopt.connect.text.fields import CPU, MEMORY, Amounts
from fairopt.files.quantities import short, written
from fairopt.instance.reading import Faults, listed, table

Taken = dict[tuple[str, str], Amounts]
"""{(queue, shape): {resource: amount}}"""
_BINARY = ((2**40, "Ti"), (2**30, "Gi"), (2**20, "Mi"), (2**10, "Ki"))


def whole(plan: Mapping[str, Any]) -> Taken:
    """What whole tasks take on each shape of nodes.

    Raises
    ------
    BadInput : a plan that is damaged, or whose whole tasks are above its nodes.
    """
    faults = Faults("plan")
    rows = PlanLists(plan, faults)
    demand = {name: rows.exact(row, "demand", name) for name, row in rows.workloads.items()}
    queue = {name: str(row.get("queue", "")) for name, row in rows.workloads.items()}
    found: Taken = {}
    for shape, row in rows.shapes.items():
        total: Amounts = {}
        for k, given in enumerate(listed(row.get("machines", []), f"{shape}.machines", faults)):
            here = f"{shape}.machines[{k}]"
            machine = table(given, here, faults)
            count = rows.whole(machine.get("count"), f"{here}.count")
            for name, tasks in table(machine.get("tasks", {}), f"{here}.tasks", faults).items():
                if name not in demand:
                    faults.add(f"{here}.tasks.{name}", "an unknown workload", "one of the plan")
                    continue
                many = count * rows.whole(tasks, f"{here}.tasks.{name}")
                own = found.setdefault((queue[name], shape), {})
                for resource, amount in demand[name].items() if many else ():
                    own[resource] = own.get(resource, Fraction(0)) + many * amount
                    total[resource] = total.get(resource, Fraction(0)) + many * amount
        capacity = rows.exact(row, "capacity", shape)
        machines = rows.whole(row.get("count"), f"{shape}.count")
        for resource, amount in total.items():
            there = machines * capacity.get(resource, Fraction(0))
            if amount > there:
                faults.add(
                    f"{shape}, {resource}",
                    f"{written(amount)} in whole tasks",
                    f"at most {written(there)}, what its nodes have",
                )
    faults.stop()
    return {key: own for key, own in found.items() if own}


def fluid(plan: Mapping[str, Any]) -> Taken:
    """What the divided answer takes on each shape, down to whole units of each resource."""
    answer = files.loads(json.dumps(plan["answer"]), "plan: answer")
    rows = PlanLists(plan, Faults("plan"))
    found: Taken = {}
    for n, user in enumerate(answer.instance.users):
        row = rows.workloads[user]
        demand = rows.exact(row, "demand", user)
        for i, shape in enumerate(answer.instance.servers):
            # within rounding of the answer, so that what binds there is not exceeded
            tasks = Fraction(float(answer.tasks[n, i])) * (1 - Fraction(1, 10**8))
            own = found.setdefault((str(row["queue"]), shape), {})
            for resource, amount in demand.items() if tasks > 0 else ():
                own[resource] = own.get(resource, Fraction(0)) + tasks * amount
    return {
        key: {r: rounded for r, x in own.items() if (rounded := _down(r, x))}
        for key, own in found.items()
    }


def by_queue(taken: Taken) -> dict[str, Amounts]:
    """What each queue takes on all nodes together."""
    found: dict[str, Amounts] = {}
    for (queue, _), own in taken.items():
        mine = found.setdefault(queue, {})
        for resource, amount in own.items():
            mine[resource] = mine.get(resource, Fraction(0)) + amount
    return found


def quantity_of(resource: str, amount: Fraction) -> str:
    """An amount as a quantity of Kubernetes, without loss: 250m, 64Gi, 12."""
    if amount.denominator == 1:
        if resource == MEMORY or resource.endswith("storage"):
            for size, unit in _BINARY:
                if amount and amount % size == 0:
                    return f"{amount // size}{unit}"
        return str(amount)
    if (amount * 1000).denominator == 1:
        return f"{amount * 1000}m"
    return written(amount)


def told(resource: str, amount: Fraction) -> str:
    """An amount in a sentence; whole numbers with all their digits."""
    plain = amount.denominator == 1 and amount < 10**7
    words = str(amount) if plain else short(resource, float(amount))
    return f"{words} {resource}"


def _down(resource: str, amount: Fraction) -> Fraction:
    fine = 1000 if resource == CPU else 1
    return Fraction(floor(amount * fine), fine)
