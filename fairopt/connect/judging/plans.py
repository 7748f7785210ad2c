"""Judge a plan from its JSON alone: the fluid answer by its certificate, whole tasks node by node.

Nothing that can be worked out again is believed. The fluid answer is judged as any answer; the
exact amounts must be those of its instance; every machine is counted and filled in fractions; and
every number of the tables is computed again from these.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from fairopt import files
from fairopt.allocation import Allocation
from fairopt.allocation.check import Certificate, Check
from fairopt.certificates import certify
from fairopt.connect.cluster.together import Together, of_row
from fairopt.connect.judging import recomputed
from fairopt.connect.judging.moves import judge_moves
from fairopt.connect.judging.recomputed import wrong
from fairopt.connect.judging.staying import judge_stay
from fairopt.connect.judging.whole_tasks import JudgedWhole, judge_whole, off_cards, question
from fairopt.connect.plan.rows import PlanLists
from fairopt.errors import BadInput
from fairopt.instance.reading import Faults, listed, table
from fairopt.whole.proof.judging import PROVED
from fairopt.whole.proof.staying import Stays


@dataclass(frozen=True)
class JudgedPlan:
    """The verdict on a plan.

    Parameters
    ----------
    certificate : that of the fluid answer.
    checks : what was checked of everything else.
    whole, stays : what is proved of whole tasks, and of those that stay where they run, if the
        plan says anything of it.
    """

    certificate: Certificate
    checks: tuple[Check, ...]
    whole: JudgedWhole | None = None
    stays: Stays | None = None

    @property
    def certified(self) -> bool:
        """Whether the fluid answer is certified and all checks hold."""
        return self.certificate.certified and all(check.holds for check in self.checks)

    def explain(self) -> str:
        """The verdict in words, a line for each check."""
        lines = ["the fluid answer:", *self.certificate.explain().splitlines(), "the plan:"]
        for check in self.checks:
            witness = f" ({check.witness})" if check.witness else ""
            lines.append(f"  {'ok  ' if check.holds else 'FAIL'} {check.name}{witness}")
        if self.whole is not None:
            lines += ["whole tasks:", f"  {self.whole.verdict.explain()}"]
        if self.stays is not None:
            lines.append(f"moves: {self.stays.explain()}")
        return "\n".join(lines)

    def plain(self) -> dict[str, Any]:
        """The verdict as plain data."""
        return {
            "schema": "fairopt/plan-verdict/v1",
            "certified": self.certified,
            "answer": self.certificate.verdict,
            **({} if self.whole is None else {"whole": self.whole.verdict.plain()}),
            **({} if self.stays is None else {"stays": self.stays.plain()}),
            "checks": [
                {"name": check.name, "holds": check.holds, "witness": check.witness}
                for check in self.checks
            ],
        }


def judge(data: Mapping[str, Any], source: str = "plan") -> JudgedPlan:
    """Judge a plan.

    Raises
    ------
    BadInput : with every fault of a plan that lacks what is needed to judge it.
    """
    faults = Faults(source)
    rows = PlanLists(data, faults)
    faults.stop()
    try:
        answer = files.loads(json.dumps(data["answer"]), source)
    except BadInput as error:
        raise error.within(f"{source}: answer") from None
    with np.errstate(all="ignore"):  # of absurd numbers: what they give is not what the plan says
        checks = _checks(data, rows, answer)
    faults.stop()
    certificate = certify(answer)
    whole = stays = None
    if data.keys() & {"proof", "stay", "cards"}:
        cards = data.get("cards", ())
        wanted, machines = question(rows, answer.with_(certificate=certificate), cards)
        if cards:
            checks.append(_check("tasks lie on single cards", off_cards(wanted, machines)))
        if "proof" in data:
            whole = judge_whole(data, rows, wanted, machines)
            checks.append(_check("whole tasks: dues as they are, and no false proof", whole.wrong))
        if "stay" in data:
            placed = [[own for k, own in each for _ in range(k)] for each in machines]
            stays, wrong_stay = judge_stay(data, rows, wanted, placed)
            checks.append(_check("what stays: as it runs, and no false bound", wrong_stay))
    if "moves" in data:
        words = "moves: every pod once, no node overfull at any step, the plan at the end"
        checks.append(_check(words, judge_moves(data, rows)))
    faults.stop()
    return JudgedPlan(certificate, tuple(checks), whole, stays)


def _checks(data: Mapping[str, Any], rows: PlanLists, answer: Allocation) -> list[Check]:
    """All but the certificate of the fluid answer."""
    proof = data.get("proof")
    proved = isinstance(proof, Mapping) and proof.get("state") == PROVED
    checks = [
        _exact_is_given(rows, answer),
        _check("scores are those of the criterion", recomputed.other_scores(rows, answer)),
        *_placed(rows, answer),
        _check("the fluid answer keeps tasks apart", recomputed.unbound(rows, answer)),
        _check(
            "resources, nodes and queues as in the answer",
            recomputed.other_form(data, rows, answer),
        ),
        _check(
            "tasks on nodes out of service", recomputed.held_out(data, rows, answer.instance.users)
        ),
        _check(
            "workloads as in the fluid answer", wrong(recomputed.workloads(rows, answer, proved))
        ),
        _check("queues as their workloads", wrong(recomputed.queues(rows, answer))),
    ]
    rows.faults.stop()  # the lists of machines are sound from here on
    checks.append(_check("quotas beside what is there", recomputed.other_quotas(data, rows)))
    checks.append(_check("shapes as in the answer", wrong(recomputed.shapes(rows, answer))))
    return checks


def _check(name: str, found: Iterable[str]) -> Check:
    wrong = list(found)
    more = f" and {len(wrong) - 1} more" if len(wrong) > 1 else ""
    witness = f"{wrong[0]}{more}" if wrong else ""
    return Check(name, not wrong, -float(len(wrong)), 0.0, witness)


def _exact_is_given(rows: PlanLists, answer: Allocation) -> Check:
    """Exact amounts, rounded once, are those of the instance, and the names are its own."""
    inst = answer.instance
    faulty = [f"{name} is no workload" for name in inst.users if name not in rows.workloads]
    faulty += [f"{name} is no shape" for name in inst.servers if name not in rows.shapes]
    faulty += [f"{name} is no server" for name in rows.shapes if name not in inst.servers]
    for names, given, key, amounts in (
        (inst.users, rows.workloads, "demand", inst.demand),
        (inst.servers, rows.shapes, "capacity", inst.capacity),
    ):
        if amounts.ndim != 2:
            faulty.append("demand by server")
            continue
        for name, floats in zip(names, amounts, strict=True):
            exact = rows.exact(given.get(name, {}), key, name)
            for resource, x in zip(inst.resources, floats, strict=True):
                if float(exact.get(resource, 0)) != x:
                    faulty.append(f"{key} of {name}: {resource}")
    for i, name in enumerate(inst.servers):
        if rows.shapes.get(name, {}).get("count") != inst.count[i]:
            faulty.append(f"count of {name}")
    return _check("exact amounts are those of the fluid answer", faulty)


def _placed(rows: PlanLists, answer: Allocation) -> Iterator[Check]:
    """Every machine of every shape, in fractions: counted, within its capacity, where allowed."""
    inst = answer.instance
    users = {name: n for n, name in enumerate(inst.users)}
    demand = {name: rows.exact(row, "demand", name) for name, row in rows.workloads.items()}
    counted, over, barred = [], [], []
    total = dict.fromkeys(rows.workloads, 0)
    for i, server in enumerate(inst.servers):
        row = rows.shapes.get(server, {})
        capacity = rows.exact(row, "capacity", server)
        machines = 0
        for k, given in enumerate(
            listed(row.get("machines", []), f"{server}.machines", rows.faults)
        ):
            place = f"{server}.machines[{k}]"
            own = table(given, place, rows.faults)
            count = rows.whole(own.get("count"), f"{place}.count")
            machines += count
            used: dict[str, Fraction] = {}
            for name, given_tasks in table(own.get("tasks", {}), place, rows.faults).items():
                tasks = rows.whole(given_tasks, f"{place}.tasks.{name}")
                if name not in users or not inst.placement[users[name], i]:
                    barred.append(f"{name} on {server}")
                    continue
                total[name] = total.get(name, 0) + tasks * count
                for key, amount in demand.get(name, {}).items():
                    used[key] = used.get(key, Fraction(0)) + tasks * amount
            over += [f"{key} of {place}" for key, x in used.items() if x > capacity.get(key, 0)]
        if machines != inst.count[i]:
            counted.append(f"{server}: {machines} of {inst.count[i]}")
        names = row.get("nodes")
        if isinstance(names, list) and len(set(map(str, names))) < len(names):
            counted.append(f"{server}: a node twice")
    sums = [name for name, row in rows.workloads.items() if total[name] != row.get("whole")]
    above = [n for n, k in users.items() if total.get(n, 0) > inst.limit[k]]
    yield _check("every machine is listed once", counted)
    yield _check("whole tasks fit on every machine", over)
    yield _check("whole tasks run only where they may", barred)
    yield _check("whole tasks of each workload add up", sums)
    yield _check("nobody has more whole tasks than it asked", above)
    bound = {name: of_row(row) for name, row in rows.workloads.items()}
    if any(bound.values()):
        yield _check("gangs are whole, and tasks apart where they must be", _apart(rows, bound))


def _apart(rows: PlanLists, bound: Mapping[str, Together]) -> Iterator[str]:
    """Gangs that are cut, and machines with more of a workload or a tag than they may hold."""
    for name, own in bound.items():
        if rows.workloads[name]["whole"] % own.gang:
            yield f"{name} in gangs of {own.gang}"
        if 0 < rows.workloads[name]["whole"] < own.at_least:
            yield f"{name} with fewer than {own.at_least}"
    for name, own in bound.items():
        if own.spread is not None:
            tasks = {
                server: sum(x["count"] * x["tasks"].get(name, 0) for x in row.get("machines", []))
                for server, row in rows.shapes.items()
            }
            if own.spread.uneven(tasks):
                yield f"{name} over {own.spread.key}"
    for server, row in rows.shapes.items():
        for k, given in enumerate(row.get("machines", [])):
            there = {name: m for name, m in given["tasks"].items() if name in bound}
            tags = Counter({tag: 0 for own in bound.values() for tag in own.alone})
            for name, m in there.items():
                tags.update(dict.fromkeys(bound[name].alone, m))
                most = bound[name].per_node
                if most is not None and m > most:
                    yield f"{name} on {server}.machines[{k}]"
            yield from (f"{tag} on {server}.machines[{k}]" for tag, m in tags.items() if m > 1)
