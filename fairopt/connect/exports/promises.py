"""What each queue is due as the promise of its queue in Volcano and KAI: merge patches.

Volcano's `deserved` and KAI's `quota` are given first and lent while idle. The promise of a queue
becomes what its whole tasks take; a queue above others promises at least what these do, where it
promises anything of a resource. Queues that nobody asks for work in stay as they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from fairopt.connect.exports import taking
from fairopt.connect.exports.originals import Object, name_of, originals
from fairopt.connect.readers import kai
from fairopt.connect.readers.volcano import API, MOST_WEIGHT, ROOT
from fairopt.connect.text.fields import PODS, Amounts
from fairopt.errors import UsageError
from fairopt.exact import as_printed
from fairopt.files.quantities import quantity, written

UNLIMITED = kai.UNLIMITED


def volcano(plan: Mapping[str, Any], paths: Sequence[str]) -> tuple[list[Object], list[str]]:
    """Patches of Volcano's queues: `deserved`, and `weight` where the plan was made with another.

    Returns
    -------
    The patches, and what is worth saying of them.

    Raises
    ------
    UsageError : no queue of Volcano in the files. BadInput : a plan that is damaged.
    """
    given = _queues(paths, API, "Volcano")
    due, weights = _due(plan), _weights(plan)
    specs = {name: own.get("spec") or {} for name, own in given.items()}
    parents = {name: str(spec.get("parent") or ROOT) for name, spec in specs.items()}
    now = {name: _amounts(spec.get("deserved")) for name, spec in specs.items()}
    kept = {
        name: _amounts((spec.get("guarantee") or {}).get("resource"))
        for name, spec in specs.items()
    }
    wanted: dict[str, Amounts] = {}
    for name in _upwards(parents):
        own = dict(now[name])
        if name in due:
            named = {*own, *(r for r in due[name] if r != PODS)}
            own = {r: due[name].get(r, Fraction(0)) for r in named}
        for resource, amount in kept[name].items():  # no less is promised than is kept
            if own:
                own[resource] = max(own.get(resource, Fraction(0)), amount)
        below = [wanted[child] for child in given if parents[child] == name and child in wanted]
        for resource in own:
            inside = sum((each.get(resource, Fraction(0)) for each in below), Fraction(0))
            own[resource] = max(own[resource], inside)
        wanted[name] = own
    made, notes = [], []
    for name, own in given.items():
        spec: Object = {}
        changed = {r: x for r, x in wanted[name].items() if now[name].get(r) != x}
        if changed and name != ROOT:
            spec["deserved"] = {r: taking.quantity_of(r, x) for r, x in sorted(changed.items())}
        weight = weights.get(name)
        if weight is not None and weight != Fraction(str(specs[name].get("weight") or 1)):
            if weight.denominator == 1 and weight <= MOST_WEIGHT:
                spec["weight"] = int(weight)
            else:
                notes.append(f"queue {name}: Volcano takes whole weights, not {written(weight)}")
        if spec:
            made.append(_patch(own, spec))
    return made, notes


def of_kai(plan: Mapping[str, Any], paths: Sequence[str]) -> tuple[list[Object], list[str]]:
    """Patches of KAI's queues: quotas of GPUs, cores and memory, and weights as of `volcano`."""
    given = _queues(paths, kai.API, "KAI")
    due, weights = _due(plan), _weights(plan)
    specs = {name: own.get("spec") or {} for name, own in given.items()}
    parents = {name: str(spec.get("parentQueue") or ROOT) for name, spec in specs.items()}
    now: dict[str, dict[str, Fraction | None]] = {}
    for name, spec in specs.items():
        resources = spec.get("resources") or {}
        now[name] = {key: _quota(resources.get(key) or {}) for key in kai.RESOURCES}
    wanted: dict[str, dict[str, Fraction | None]] = {}
    for name in _upwards(parents):
        own = dict(now[name])
        if name in due:
            for key, (resource, unit) in kai.RESOURCES.items():
                own[key] = due[name].get(resource, Fraction(0)) / unit
        below = [wanted[child] for child in given if parents[child] == name]
        for key, value in own.items():
            if value is not None and below:
                inside = sum((each[key] or Fraction(0) for each in below), Fraction(0))
                own[key] = max(value, inside)
        wanted[name] = own
    made = []
    for name, each in given.items():
        changes: Object = {}
        for key in kai.RESOURCES:
            value = wanted[name][key]
            if value is not None and value != now[name][key]:
                changes[key] = {"quota": _number(value)}
            row = (specs[name].get("resources") or {}).get(key) or {}
            before, weight = row.get("overQuotaWeight"), weights.get(name)
            # the plan has one weight a queue; 0 says that nothing beyond the quota is wanted
            if before and weight is not None and weight != _weight_now(specs[name]):
                changes.setdefault(key, {})["overQuotaWeight"] = _number(weight)
        if changes:
            made.append(_patch(each, {"resources": changes}))
    return made, []


def _queues(paths: Sequence[str], api: str, words: str) -> dict[str, Object]:
    found = originals(paths, lambda version, kind: version.startswith(api) and kind == "Queue")
    if not found:
        raise UsageError(f"found no Queue of {words} in the files; wanted those that were planned")
    return {name_of(own): own for own in found}


def _due(plan: Mapping[str, Any]) -> dict[str, Amounts]:
    """What whole tasks take, of every queue that asks for anything."""
    taken = taking.by_queue(taking.whole(plan))
    return {str(row["queue"]): taken.get(str(row["queue"]), {}) for row in plan["queues"]}


def _weights(plan: Mapping[str, Any]) -> dict[str, Fraction]:
    return {str(row["queue"]): as_printed(row["weight"]) for row in plan["queues"]}


def _weight_now(spec: Mapping[str, Any]) -> Fraction:
    rows = (spec.get("resources") or {}).values()
    shares = [Fraction(str((row or {}).get("overQuotaWeight") or 0)) for row in rows]
    return max(shares, default=Fraction(0)) or Fraction(1)


def _upwards(parents: Mapping[str, str]) -> list[str]:
    """All queues, each after those below it."""
    depth: dict[str, int] = {}
    for name in parents:
        at, steps = name, 0
        while at in parents and steps <= len(parents):
            at, steps = parents[at], steps + 1
        depth[name] = steps
    return sorted(parents, key=lambda name: (-depth[name], name))


def _amounts(given: Any) -> Amounts:
    return {name: quantity(x) for name, x in (given or {}).items()}


def _quota(row: Mapping[str, Any]) -> Fraction | None:
    """A quota of KAI; None for one without bound."""
    value = row.get("quota")
    return None if value == UNLIMITED else Fraction(str(value or 0))


def _number(amount: Fraction) -> int | float:
    return int(amount) if amount.denominator == 1 else float(amount)


def _patch(own: Object, spec: Object) -> Object:
    head = {"apiVersion": own["apiVersion"], "kind": own["kind"]}
    return {**head, "metadata": {"name": name_of(own)}, "spec": spec}
