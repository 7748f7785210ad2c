"""Own rules as plain tables: the form of model files and of answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fairopt.instance.rules.records import Rule, Term


def rule_tables(rules: Sequence[Rule] | None) -> dict[str, dict[str, Any]]:
    """{name: {sense: amount, "terms": [...]}} of each rule."""
    return {
        rule.name: {rule.sense: rule.amount, "terms": [_term(term) for term in rule.terms]}
        for rule in rules or ()
    }


def _term(term: Term) -> dict[str, Any]:
    """A term without what is the default."""
    row: dict[str, Any] = {}
    for kind in ("users", "servers", "modes"):
        if getattr(term, kind) is not None:
            row[kind] = list(getattr(term, kind))
    if term.resource is not None:
        row["resource"] = term.resource
    if term.times != 1:
        row["times"] = term.times
    return row


__all__ = ["rule_tables"]
