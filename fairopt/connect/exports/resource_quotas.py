"""What each namespace is due as its ResourceQuota, with the pods that the plan does not divide.

A quota counts every pod of its namespace, those of DaemonSets as well, so that what these take is
added. Where files with quotas are given, the amounts these name are patched; a namespace without
one gets a quota of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from fairopt.connect.exports import taking
from fairopt.connect.exports.originals import Object, name_of, originals
from fairopt.connect.text.fields import COUNTED, PODS, REQUESTS
from fairopt.errors import BadInput, Fault
from fairopt.files.quantities import quantity

NAME = "fairopt"


def quotas(plan: Mapping[str, Any], paths: Sequence[str] = ()) -> list[Object]:
    """Patches of quotas that files hold, and new ones for namespaces without one.

    Parameters
    ----------
    plan : as `plan_rows.loads` reads it; its queues are namespaces.

    Raises
    ------
    BadInput : a plan whose queues are no namespaces, or that is damaged.
    """
    use = taking.by_queue(taking.whole(plan))
    fault = Fault("plan", "queues of Kueue", "a plan whose queues are namespaces")
    if "kueue" in plan:
        raise BadInput([fault])
    for row in plan["undivided"]:
        space, mark, _ = str(row["pod"]).partition("/")
        if mark and space in use:
            for resource, amount in row["request"].items():
                mine = use[space]
                mine[resource] = mine.get(resource, Fraction(0)) + Fraction(amount)
    given = [
        own
        for own in originals(paths, lambda _, kind: kind == "ResourceQuota")
        if not {"scopes", "scopeSelector"} & (own.get("spec") or {}).keys()
    ]
    made, covered = [], set()
    for own in given:
        space = str(own["metadata"].get("namespace") or "default")
        if space not in use:
            continue
        covered.add(space)
        hard = (own.get("spec") or {}).get("hard") or {}
        changed = {}
        for key, value in hard.items():
            resource = key.removeprefix(REQUESTS)
            counted = key in COUNTED or key.startswith(REQUESTS)
            amount = use[space].get(resource, Fraction(0))
            if counted and quantity(value) != amount:
                changed[key] = taking.quantity_of(resource, amount)
        if changed:
            made.append(_object(name_of(own), space, changed))
    for space in sorted(use.keys() - covered):
        hard = {
            resource if resource == PODS else f"{REQUESTS}{resource}": taking.quantity_of(
                resource, amount
            )
            for resource, amount in sorted(use[space].items())
            if amount
        }
        if hard:
            made.append(_object(NAME, space, hard))
    return made


def _object(name: str, space: str, hard: Mapping[str, str]) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": name, "namespace": space},
        "spec": {"hard": dict(hard)},
    }
