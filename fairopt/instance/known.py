"""Which features know which of the rules that an instance may have, and the refusal of the others.

A field of `Fields` that may be None is a rule: it limits tasks, or changes what is compared. A
feature knows the rules of its row and asks `Fields.only_known` at its door, so that any other is
refused by name. So a new rule is refused everywhere until its name is written into a row, which is
done when the feature knows it (CONTRIBUTING.md, "Add a kind of rule").
"""

from __future__ import annotations

from dataclasses import fields
from functools import cache
from typing import Any

KNOWN: dict[str, tuple[str, ...]] = {
    # the instance itself
    "select": ("quotas", "modes", "rules", "limit_on", "start"),
    "parts": ("modes", "limit_on", "start"),
    "alike": ("quotas", "modes", "rules", "limit_on", "start"),
    # answers: solved, judged, written
    "solve": ("quotas", "modes", "rules", "limit_on", "start"),
    "judge": ("quotas", "modes", "rules", "limit_on", "start"),
    "write": ("quotas", "modes", "rules", "limit_on", "start"),
    # notions of somebody's own, and those that know limits of single users alone
    "own": ("rules", "limit_on"),
    "limits": ("quotas", "rules", "limit_on"),
    "kkt": ("quotas", "modes", "rules", "limit_on"),
    # shares already had; the last answer; a cluster that changes by name
    "had": ("quotas", "modes", "rules", "limit_on", "start"),
    "again": ("quotas", "modes", "rules", "limit_on", "start"),
    "change": ("quotas", "modes", "rules", "limit_on", "start"),
    # what is done with answers
    "properties": ("quotas", "modes", "rules", "limit_on", "start"),
    "explain": ("quotas", "modes", "rules", "limit_on", "start"),
    "audit": ("quotas", "modes", "rules", "limit_on", "start"),
    "fill": ("quotas", "rules", "limit_on"),
    "whole": ("quotas", "modes", "rules", "limit_on", "start"),
    "horizon": ("quotas", "modes", "start"),
    "plan": ("quotas", "modes", "rules", "limit_on", "start"),
}
"""feature -> the rules that it knows. `parts` and `alike` refuse none: with a rule that they do not
know an instance is one part, and no two users or servers are alike"""


@cache
def rules_of(kind: Any) -> tuple[str, ...]:
    """The fields of a class of instances that may be None, in order."""
    return tuple(own.name for own in fields(kind) if "None" in str(own.type))


__all__ = ["KNOWN", "rules_of"]
