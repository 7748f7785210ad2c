"""Own rules from the tables of a model file; the way back: `fairopt.instance.rules.plain`.

Names are checked by the instance; here it is checked that tables are tables and numbers numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fairopt.instance.reading import FINITE, Faults, known_keys, listed, number, table, text
from fairopt.instance.rules.records import SENSES, Rule, Term

LISTS = ("users", "servers", "modes")


def read_rules(given: Any, faults: Faults, place: str = "rules") -> list[Rule] | None:
    """The rules of the tables [rules.NAME]; None if there are none."""
    found = []
    for name, row in table(given, place, faults).items():
        here = f"{place}.{name}"
        row = table(row, here, faults)
        known_keys(row, (*SENSES, "terms"), here, faults)
        amounts = {
            sense: number(row[sense], f"{here}.{sense}", faults, FINITE)
            for sense in SENSES if sense in row
        }  # fmt: skip
        terms = [
            _term(term, f"{here}.terms[{k}]", faults)
            for k, term in enumerate(listed(row.get("terms", []), f"{here}.terms", faults))
        ]
        found.append(Rule(name, **amounts, terms=terms))
    return found or None


def _term(given: Any, here: str, faults: Faults) -> Term:
    row: Mapping[str, Any] = table(given, here, faults)
    known_keys(row, (*LISTS, "resource", "times"), here, faults)
    lists = {
        kind: [
            text(name, f"{here}.{kind}[{k}]", faults)
            for k, name in enumerate(listed(row[kind], f"{here}.{kind}", faults))
        ]
        for kind in LISTS if kind in row
    }  # fmt: skip
    resource = text(row["resource"], f"{here}.resource", faults) if "resource" in row else None
    times = number(row.get("times", 1.0), f"{here}.times", faults, FINITE)
    return Term(**lists, resource=resource, times=times)


__all__ = ["read_rules"]
