"""The numbers of a plan's tables beside the same numbers computed again."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from fairopt import criteria
from fairopt.allocation import Allocation
from fairopt.connect.cluster.together import of_row
from fairopt.connect.plan import apart, could_hold, scarcity, status
from fairopt.connect.plan.rows import PlanLists
from fairopt.exact import reaches
from fairopt.files.quantities import written
from fairopt.formulas import parameters
from fairopt.instance import Instance
from fairopt.instance.reading import listed, table

Told = Iterator[tuple[str, Any, Any]]
"""place, what the plan says, what comes out"""
SAME_NUMBER = 1e-9
"""relative difference allowed between a number of the plan and the same number computed again"""


def wrong(numbers: Told) -> list[str]:
    """The places where the plan does not say what comes out."""
    return [place for place, told, computed in numbers if not _same(told, computed)]


def _same(told: Any, computed: Any) -> bool:
    if isinstance(computed, str):
        return bool(told == computed)
    if computed is None or told is None:
        return told is computed
    if isinstance(told, bool) or not isinstance(told, int | float):
        return False
    near = abs(told - computed) <= SAME_NUMBER * max(1e-300, abs(computed))
    return bool(told == computed or (near and np.isfinite(computed)))


def _plain(inst: Instance) -> Instance:
    """The instance without what groups, modes and tasks apart add to it."""
    return inst.replace(quotas=None, modes=None, rules=None, limit_on=None)


def unbound(rows: PlanLists, answer: Allocation) -> Iterator[str]:
    """Workloads that the fluid answer may put on fewer nodes than its whole tasks need: the rows
    that keep tasks apart are asked again of what the plan says binds each workload."""
    inst = answer.instance
    if inst.demand.ndim != 2:
        return
    bound = [of_row(rows.workloads.get(name, {})) for name in inst.users]
    most = apart.limits(inst, bound)
    given = np.full(most.shape, np.inf) if inst.limit_on is None else inst.limit_on
    for n, i in np.argwhere(given > most):
        yield f"{inst.users[n]} on {inst.servers[i]}: at most {most[n, i]:g}"
    for rule in apart.rules(inst, bound):
        if rule not in (inst.rules or ()):
            yield f"{rule.name}: at most {rule.most:g}"


def other_scores(rows: PlanLists, answer: Allocation) -> list[str]:
    """Where modes are not the workload's own demand at the speeds of the kinds of cards."""
    name = parameters.criterion_of(answer.notion)
    if name not in criteria.CRITERIA:
        return [f"the criterion {name!r} is not known"]  # of the others every score is checked
    inst = answer.instance
    speeds = {
        resource: {
            kind: rows.amount(x, f"kinds.{resource}.{kind}")
            for kind, x in table(row.get("speed", {}), f"kinds.{resource}", rows.faults).items()
        }
        for resource, row in rows.kinds.items()
    }
    wrong = []
    for n, user in enumerate(inst.users):
        asks = rows.workloads.get(user, {}).get("demand", {})
        for mode in inst.modes.get(user, ()) if inst.modes else ():
            if tuple(mode.demand or ()) != tuple(inst.demand[n].tolist()):
                wrong.append(f"demand of mode {mode.name} of {user}")
            for server in inst.servers if mode.servers is None else mode.servers:
                kinds = rows.shapes.get(server, {}).get("kinds", {})
                speed = 1.0
                for resource, of in speeds.items():
                    if resource in asks and of:
                        speed *= of.get(kinds.get(resource, ""), max(of.values())) / max(
                            of.values()
                        )
                if rows.kinds and abs(speed - mode.speed) > SAME_NUMBER * mode.speed:
                    wrong.append(f"speed of {user} on {server}")
    return wrong


def other_quotas(data: Mapping[str, Any], rows: PlanLists) -> list[str]:
    """Quotas that are not beside what the shapes have."""
    faulty = []
    for k, given in enumerate(listed(data.get("quotas", []), "quotas", rows.faults)):
        row = table(given, f"quotas[{k}]", rows.faults)
        there = Fraction(0)
        for name, shape in rows.shapes.items():
            has = rows.exact(shape, "capacity", name).get(str(row.get("resource")), Fraction(0))
            there += rows.whole(shape.get("count"), f"{name}.count") * has
        most = rows.exact({"quota": {"most": row.get("most")}}, "quota", f"quotas[{k}]").get("most")
        told = row.get("there"), row.get("above")
        if most is not None and told != (written(there), most > there):
            faulty.append(f"quotas[{k}]")
    return faulty


def workloads(rows: PlanLists, answer: Allocation, proved: bool = False) -> Told:
    """The numbers of the workloads, and the sentence of each that is in the fluid answer; `proved`:
    whether the plan's proof of whole tasks holds."""
    inst = answer.instance
    at = {name: n for n, name in enumerate(inst.users)}
    plain = _plain(inst)
    stops, held_back = scarcity.blocks(answer, plain), scarcity.held_back(answer, plain)
    for name, row in rows.workloads.items():
        n, asked, whole = at.get(name), row["asked"], row["whole"]
        due = 0.0 if n is None else float(answer.totals[n])
        yield f"{name}.due", row["due"], due
        yield f"{name}.level", row["level"], 0.0 if n is None else float(answer.levels[n])
        yield f"{name}.loss", row["loss"], max(due - whole, 0.0)
        on = rows.matrix([row["held_on"]], (name,), inst.servers, "held_on").sum()
        yield f"{name}.held", row["held"], on + float(row["held_out"])
        if n is None:
            yield f"{name}.status", row["status"], status.STUCK
            yield f"{name}.weight", row["weight"], 0.0
            continue
        back, gang = held_back.get(name, ()), row.get("gang", 1)
        found = status.status(asked, due, whole, stops.get(name, ()), back, gang, proved)
        yield f"{name}.status", row["status"], found.word
        yield f"{name}.says", row["says"], found.says
        yield f"{name}.weight", row["weight"], float(inst.weight[n])
        limit = float(inst.limit[n])
        yield f"{name}.asked", asked, limit if np.isfinite(limit) else None


def held_out(data: Mapping[str, Any], rows: PlanLists, users: Collection[str]) -> list[str]:
    """Whether tasks on nodes out of service are those of the list of these nodes.

    What workloads that can run nowhere hold is all counted as held out, wherever it is.
    """
    there = sum(row["held"] for row in data["out"])
    out = {name: row["held_out"] for name, row in rows.workloads.items()}
    least = sum(tasks for name, tasks in out.items() if name in users)
    if least <= there <= sum(out.values()):
        return []
    return [f"{least} tasks on nodes out of service, which hold {there}"]


def queues(rows: PlanLists, answer: Allocation) -> Told:
    """The numbers of the queues."""
    inst = answer.instance
    at = {name: n for n, name in enumerate(inst.users)}
    for queue in {row["queue"] for row in rows.workloads.values()} ^ rows.queues.keys():
        yield f"queue {queue}", "a row", "a row for every queue with workloads, and no other"
    for queue, row in rows.queues.items():
        own = {name: w for name, w in rows.workloads.items() if w["queue"] == queue}
        for key in ("held", "due", "whole"):
            yield f"{queue}.{key}", row[key], float(sum(w[key] for w in own.values()))
        asked = [w["asked"] for w in own.values()]
        yield f"{queue}.asked", row["asked"], None if None in asked else sum(asked)
        users = [at[name] for name in own if name in at]
        if users:
            yield f"{queue}.weight", row["weight"], _weight(inst, users)
        for key, amount in row["guaranteed"].items():
            yield f"{queue}.guaranteed.{key}", amount, None
        yield from _could_hold(rows, answer, queue, row.get("could_hold"))
        yield f"{queue}.share", row["share"], float(answer.shares[users].sum())
        if inst.demand.ndim == 2:
            more = [answer.totals[at[n]] - own[n].get("held", 0) for n in own if n in at]
            change = np.array(more) @ inst.demand[users] if users else np.zeros(inst.shape[2])
            held = [own[n].get("held", 0) for n in own if n in at]
            size = (answer.totals[users] + held) @ inst.demand[users] if users else change
            for r, key in enumerate(inst.resources):
                told = table(row.get("difference", {}), f"{queue}.difference", rows.faults).get(key)
                # a small difference of large amounts keeps their rounding
                fine = (
                    isinstance(told, int | float) and abs(told - change[r]) <= SAME_NUMBER * size[r]
                )
                yield f"{queue}.difference.{key}", change[r] if fine else told, float(change[r])


def _weight(inst: Instance, users: list[int]) -> float:
    """The weight of a queue: of the group of its users, or divided among them where none is."""
    quotas = inst.quotas
    names = set() if quotas is None else {quotas.group.get(inst.users[n]) for n in users}
    weights = {} if quotas is None else {group.name: group.weight for group in quotas.groups}
    if len(names) == 1 and (name := names.pop()) is not None:
        return float(weights[name])
    return float(inst.weight[users].sum())


def other_form(data: Mapping[str, Any], rows: PlanLists, answer: Allocation) -> list[str]:
    """What is said of the whole plan and is not so."""
    inst = answer.instance
    wrong = [] if list(data["resources"]) == list(inst.resources) else ["resources"]
    owner = [rows.workloads.get(name, {}).get("queue") for name in inst.users]
    if data["nested"] != (inst.quotas is not None or len(set(owner)) == len(owner)):
        wrong.append("nested")
    seen: set[str] = set()
    for name, row in rows.shapes.items():
        # of a model the nodes have no names but that of their row, of counted tables none
        named = len(row["nodes"]) in (0, row["count"]) or row["nodes"] == [name]
        if not named or seen & set(row["nodes"]):
            wrong.append(f"nodes of {name}")
        seen |= set(row["nodes"])
    return wrong


def _could_hold(rows: PlanLists, answer: Allocation, queue: str, told: Any) -> Told:
    """What the queue could hold is no more than its prices prove."""
    if told is None:
        return
    inst = answer.instance
    place = f"queue {queue}.could_hold"
    told = table(told, place, rows.faults)
    work = [rows.workloads.get(name, {}) for name in inst.users]
    owner = [str(row.get("queue")) for row in work]
    weight = {name: rows.amount(row.get("weight"), name) for name, row in rows.queues.items()}
    held = rows.matrix([row.get("held_on") for row in work], inst.users, inst.servers, "held_on")
    given = told.get("prices", {})
    prices = rows.matrix(
        [table(given, place, rows.faults).get(name) for name in inst.servers],
        inst.servers,
        inst.resources,
        f"{place}.prices",
    )
    keep = rows.matrix([told.get("keep")], ("keep",), inst.users, place)[0]
    if rows.faults or not set(owner) <= weight.keys() or min(weight.values()) <= 0:
        yield f"{queue}.could_hold", None, 0.0
        return
    plain = _plain(inst)
    share = could_hold.held_share(plain, answer.score, held)
    floor = np.where(could_hold.kept(owner, weight, share, queue), share, 0.0)
    own = np.array([name == queue for name in owner])
    most = could_hold.bound(plain, answer.score, own, floor, prices, keep)
    yield f"{queue}.could_hold.share", told.get("share"), most
    # it is no less than what the queue holds, or its prices prove something impossible
    possible = told["share"] >= float(share[own].sum()) * (1 - 1e-6)
    yield f"{queue}.could_hold.share", 1.0 if possible else 0.0, 1.0
    # tasks of that share, each of which counts something between the least and the most
    each = answer.score[own][inst.eligible[own]]
    least, most = told["share"] / each.max(), told["share"] / each.min()
    fits = least * (1 - 1e-6) <= told["tasks"] <= most * (1 + 1e-6)
    yield f"{queue}.could_hold.tasks", 1.0 if fits else 0.0, 1.0
    if "mix" in told:
        mix = rows.matrix([told["mix"]], ("mix",), inst.users, place)[0]
        own_mix = abs(mix[own].sum() - told["tasks"]) <= 1e-6 * max(told["tasks"], 1.0)
        yield f"{queue}.could_hold.mix", 1.0 if own_mix and not mix[~own].any() else 0.0, 1.0


def shapes(rows: PlanLists, answer: Allocation) -> Told:
    """The numbers of the shapes."""
    inst = answer.instance
    prices = scarcity.prices(answer)
    plain = _plain(inst) if inst.demand.ndim == 2 else inst
    use = scarcity.use(answer, plain)
    demand = {name: rows.exact(rows.workloads.get(name, {}), "demand", name) for name in inst.users}
    for i, server in enumerate(inst.servers):
        row = rows.shapes.get(server, {})
        for key, floats in (("use", use[i]), ("price", prices[i])):
            told = table(row.get(key, {}), f"{server}.{key}", rows.faults)
            for resource, x in zip(inst.resources, floats, strict=True):
                yield f"{server}.{key}.{resource}", told.get(resource), float(x)
        yield from _left(rows, answer, i, demand)


def _left(
    rows: PlanLists, answer: Allocation, i: int, demand: Mapping[str, Mapping[str, Fraction]]
) -> Told:
    """What whole tasks leave idle on a shape, and what of it no waiting task can use."""
    inst = answer.instance
    server = inst.servers[i]
    row = rows.shapes.get(server, {})
    capacity = rows.exact(row, "capacity", server)
    waiting = [
        demand[name]
        for n, name in enumerate(inst.users)
        if inst.placement[n, i] and rows.workloads.get(name, {}).get("whole", 0) < inst.limit[n]
    ]
    zero = dict.fromkeys(inst.resources, Fraction(0))
    idle, stranded = dict(zero), dict(zero)
    for machines in row.get("machines", []):
        count = machines.get("count", 0)
        room = {key: capacity.get(key, Fraction(0)) for key in zero}
        for name, tasks in machines.get("tasks", {}).items():
            for key, amount in demand.get(name, {}).items():
                room[key] = room.get(key, Fraction(0)) - tasks * amount
        fits = any(all(reaches(room[key], x) for key, x in need.items()) for need in waiting)
        for key in zero:
            idle[key] += count * room[key]
            stranded[key] += count * room[key] if waiting and not fits else 0
    for what, amounts in (("idle", idle), ("stranded", stranded)):
        told = table(row.get(what, {}), f"{server}.{what}", rows.faults)
        for key, amount in amounts.items():
            yield f"{server}.{what}.{key}", told.get(key), written(amount)
