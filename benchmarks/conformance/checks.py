"""Every vector beside the definition that its product follows; one row a vector."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from benchmarks.conformance import divisions, pools
from benchmarks.conformance.divisions import Asker, Pool
from benchmarks.conformance.pools import vectors
from benchmarks.conformance.preemption import preempted
from fairopt.connect.readers.kueue import QueueNode, QuotaCell
from fairopt.connect.readers.kueue_share import KueueTree
from fairopt.files.quantities import quantity
from fairopt.overtime import rules
from fairopt.overtime.measured import finish_time_fairness
from fairopt.overtime.products import kueue_decay, kueue_usage
from fairopt.overtime.states import KINDS, LedgerState, Memory
from fairopt.overtime.tree import classic, fair_tree


@dataclass(frozen=True)
class Row:
    """A vector: whose it is, what it asks, its name, whether the definition gives it, and words."""

    product: str
    what: str
    name: str
    holds: bool
    words: str = ""


def rows() -> list[Row]:
    """All vectors, in a fixed order. The definition holds where the numbers agree to the digits
    that the source gives; beside a rule of whole units, exactly."""
    return [row for source in SOURCES for row in source()]


def _divided() -> Iterator[Row]:
    own = {"KAI": divisions.kai, "Hadoop": divisions.hadoop, "Armada": divisions.armada}
    for pool in pools.pools():
        if pool.total == 0:
            # Armada: without capacity, the parts by weight are kept
            yield Row(
                pool.source, "division", pool.name, not any(pool.want.values()), "no capacity"
            )
            continue
        found = own[pool.source](pool)
        said = divisions.apart(found, pool.want, pool.total)
        yield Row(pool.source, "division", pool.name, said == "equal", said)


def _armada() -> Iterator[Row]:
    data = vectors("armada")
    for row in data["fair_shares"]:
        whole = sum(q["weight"] for q in row["queues"].values())
        parts = {n: q["weight"] / whole for n, q in row["queues"].items()}
        yield _near("Armada", "part by weight", row["name"], parts, row["fair"])
        by_rounds = _rounds(row)
        words = ""
        if row["total"]:
            alone = {n: _boundless(row, n) for n in row["queues"]}
            off = max(abs(by_rounds[n] - alone[n]) for n in alone)
            words = f"max-min with endless demand is {off:.2g} less" if off > 1e-9 else ""
        found = _near(
            "Armada", "share with no end of demand", row["name"], by_rounds, row["uncapped"]
        )
        yield replace(found, words=found.words or words)
    for row in data["theoretical"]:
        given = row | {"queues": row["queues"] | {"new": {"weight": row["weight"], "demand": 0}}}
        found = {"new": _boundless(given, "new")}
        yield _near("Armada", "share of a newcomer", row["name"], found, {"new": row["want"]}, 1e-6)
    for row in data["error"]:
        short = [max(q["fair"] - q["held"] / row["total"], 0.0) for q in row["queues"].values()]
        yield _near("Armada", "fairness error", row["name"], {"": sum(short)}, {"": row["want"]})
    for row in data["cost"]:
        parts_of = [
            m * row["held"][r] / row["total"][r]
            for r, m in row["multiplier"].items()
            if row["total"][r]
        ]
        found = {"": max(parts_of) / row["weight"]}
        yield _near("Armada", "dominant share", row["name"], found, {"": row["want"]})


def _rounds(row: dict) -> dict[str, float]:
    """Armada's estimate of what each would have with no end of demand: in each round its part of
    what is shared again, without what it left itself; at most ten rounds, until a hundredth is
    left."""
    queues, total = row["queues"], row["total"]
    wants = {n: q["demand"] / total if total else 1.0 for n, q in queues.items()}
    held, spare, found = (dict.fromkeys(queues, 0.0) for _ in range(3))
    done: set[str] = set()
    shared = 1.0
    for _ in range(10):
        if shared <= 0.01:
            break
        active = sum(q["weight"] for n, q in queues.items() if n not in done)
        for n, q in queues.items():
            among = active + (q["weight"] if n in done else 0.0)
            found[n] += q["weight"] / among * (shared - spare[n])
        if not active:
            break
        for n in set(queues) - done:
            held[n] += queues[n]["weight"] / active * shared
        spare = {n: max(held[n] - wants[n], 0.0) for n in queues}
        done |= {n for n, x in spare.items() if x > 0}
        held = {n: min(x, wants[n]) for n, x in held.items()}
        shared = sum(spare.values())
    return found


def _boundless(row: dict, name: str) -> float:
    """What a queue would have if it wanted without end."""
    queues = {n: Asker(q["demand"], 0.0, q["weight"]) for n, q in row["queues"].items()}
    queues[name] = Asker(10 * row["total"], 0.0, queues[name].weight)
    return divisions.armada(Pool("", "", row["total"], queues, {}))[name] / row["total"]


def _kueue() -> Iterator[Row]:
    for case in vectors("kueue_share")["cases"]:
        above = {q["parent"] for q in case["queues"]} - {""} - {c["name"] for c in case["cohorts"]}
        cohorts = [_node(c) for c in case["cohorts"]]
        cohorts += [QueueNode(name, "", Fraction(1), {}) for name in sorted(above)]
        used, asked = ({_pair(a): _amount(a) for a in case[key]} for key in ("used", "asked"))
        queues = {q["name"]: _node(q) for q in case["queues"]}
        tree = KueueTree(queues, {c.name: c for c in cohorts}, {"cq": used})
        for want in case["want"]:
            key = ({"queue": "queue", "cohort": "cohort"}[want["kind"]], want["name"])
            share = tree.share(key, asked if want["name"] == "cq" else None)
            found = (share.shown, share.resource, share.borrowing)
            holds = found == (want["value"], want["resource"], want["borrowing"])
            name = f"{case['name']}: {want['name']}"
            yield Row("Kueue", "share of a node", name, holds, "" if holds else f"{found}")
    facts = vectors("kueue_usage")["facts"]
    for case in facts[0]["decay"]:
        found = kueue_decay(case["old"], case["use"], case["elapsed"], case["half"])
        yield _near("Kueue", "decayed use", case["name"], found, case["want"])
    state, memory = LedgerState(np.zeros(1)), Memory(facts[1]["half"])
    for step in range(1, 6049):
        state = KINDS["average"](
            state, np.array([float(facts[1]["use"]["cpu"])]), facts[1]["step"], memory
        )
        if str(step) in facts[1]["after_steps"]:
            want = {"": facts[1]["after_steps"][str(step)]}
            name, close = f"after {step} steps", facts[1]["tolerance"]
            yield _near("Kueue", "decayed use", name, {"": float(state.amount[0])}, want, close)
    for k, case in enumerate(facts[2]["usage"]):
        found = {
            "": kueue_usage(
                case["consumed"], case["penalty"], case["queue_weight"], case["resource_weight"]
            )
        }
        yield _near("Kueue", "weighted use", case.get("name", str(k)), found, {"": case["want"]})
    for case in facts[3]["penalty"]:
        for r, want in case["by_formula"].items():
            use = np.array([float(case["requested"][r])])
            one = KINDS["average"](
                LedgerState(np.zeros(1)), use, case["sampling"], Memory(case["half"])
            )
            found = {"": float(one.amount[0])}
            yield _near("Kueue", "penalty at admission", r, found, {"": float(want)})


def _preemption() -> Iterator[Row]:
    for case in vectors("kueue_preemption")["cases"]:
        found = preempted(case)
        holds = found == case["want"]
        yield Row("Kueue", "preemption", case["name"], holds, "" if holds else f"{found}")


def _node(given: dict) -> QueueNode:
    limits = {}
    for quota in given["quotas"]:
        kept = [quota.get(key) for key in ("nominal", "borrow", "lend")]
        limits[_pair(quota)] = QuotaCell(*(None if x is None else _number(x) for x in kept))
    return QueueNode(given["name"], given["parent"], _number(given["weight"]), limits)


def _pair(given: dict) -> tuple[str, str]:
    return given["flavor"], given["resource"]


def _amount(given: dict) -> Fraction:
    return Fraction(given["amount"]) / (1000 if given["resource"] == "cpu" else 1)


def _number(text: str) -> Fraction:
    return Fraction(quantity(text))


def _karma() -> Iterator[Row]:
    for run in vectors("karma")["vectors"]:
        users = list(run["demand"])
        for t in range(len(run["demand"][users[0]])):
            wants, before, theirs = (
                np.array([run[key][u][t] for u in users], float)
                for key in ("demand", "credits_before", "allocation")
            )
            promised = np.full(len(users), float(run["guaranteed"]))
            fluid = rules.divide(wants, before, promised, run["total"]).held
            holds = (theirs == np.floor(fluid + 1e-9)) | (theirs == np.ceil(fluid - 1e-9))
            name = f"{run['total']} blocks, {len(users)} users, slice {t + 1}"
            words = "equal" if np.allclose(fluid, theirs) else "rounded"
            yield Row("Karma", "division by credits", name, bool(holds.all()), words)


def _slurm() -> Iterator[Row]:
    data = vectors("slurm")
    tree = {name: tuple(node) for name, node in data["classic"]["tree"].items()}
    found = classic(tree, data["classic"]["usage"])
    for name, want in data["classic"]["effective"].items():
        # printed to four digits
        yield _near("Slurm", "effective use", name, {"": found[name][0]}, {"": want}, 5.1e-5)
    for name, want in data["classic"]["factor"].items():
        given = {"": found[name][1]}
        yield _near("Slurm", "fair-share factor", name, given, {"": want}, 1e-4 * want)
    order, _ = fair_tree(tree, data["classic"]["usage"])
    want = data["fair_tree"]["by_formula_on_the_same_tree"]
    place = {u: 1 - k / len(order) for k, u in enumerate(order)}
    yield _near("Slurm", "fair tree", "order of five users", place, want["fairshare"])


def _condor() -> Iterator[Row]:
    data = vectors("htcondor")
    for fact in data["facts"][:2]:
        old = LedgerState(np.array([float(fact["real"])]))
        found = KINDS["average"](old, np.zeros(1), fact["dt"], Memory(fact["h"]))
        name = f"after {fact['dt']} s of no use"
        yield _near("HTCondor", "real priority", name, {"": found.amount[0]}, {"": fact["want"]})
    steady = LedgerState(np.array([0.5]))
    for _ in range(200):
        steady = KINDS["average"](steady, np.array([10.0]), 1, Memory(2))
    want = {"": data["facts"][2]["want_real"]}
    yield _near("HTCondor", "real priority", "steady use", {"": steady.amount[0]}, want, 1e-5)
    for shares in data["shares"]:
        ratio = shares["want_ratio"]
        queues = {n: Asker(1e9, 0.0, 1 / e) for n, e in shares["effective"].items()}
        pool = Pool("", "", float(sum(ratio.values())), queues, ratio)
        yield _near("HTCondor", "division", "three submitters", divisions.floor(pool), ratio, 1e-6)


def _finish() -> Iterator[Row]:
    data = vectors("finish_time_fairness")
    for name, policy in data["policies"].items():
        jct = np.array(policy["jct"])
        found = finish_time_fairness(
            np.zeros(len(jct)), jct, data["alone"], data["gpus"], contention=data["contention"]
        )
        off = float(np.max(np.abs(found / np.array(policy["rho"]) - 1)))
        words = f"{len(jct)} jobs, at most {off:.1e} apart"
        yield Row("Shockwave", "finish-time fairness", name, off <= 3e-5, words)


def _near(product: str, what: str, name: str, found: dict, want: dict, close: float = 1e-9) -> Row:
    pairs = [(float(found.get(n, 0)), float(x)) for n, x in want.items()]
    off = max((abs(a - b) for a, b in pairs if a != b), default=0.0)
    return Row(product, what, name, off <= close, "" if off <= close else f"{off:.2g} apart")


SOURCES = (_divided, _armada, _kueue, _preemption, _karma, _slurm, _condor, _finish)
