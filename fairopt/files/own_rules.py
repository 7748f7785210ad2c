"""Own rules from the tables of a model file, and from rules.csv and rule_terms.csv of a folder.

The way back to tables: `fairopt.instance.rules.records`.

Names are checked by the instance; here it is checked that tables are tables and numbers numbers.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from fairopt import storage
from fairopt.files import cells
from fairopt.instance import Instance
from fairopt.instance.reading import (
    FINITE,
    Faults,
    known_keys,
    listed,
    nearest,
    number,
    table,
    text,
)
from fairopt.instance.rules.records import SENSES, Rule, Term

LISTS = ("users", "servers", "modes")
FILES = ("rules.csv", "rule_terms.csv")
_RULE = ("rule", "sense", "amount")
_TERM = ("rule", "user", "server", "mode", "resource", "times")


def read_rules(given: Any, faults: Faults, place: str = "rules") -> list[Rule] | None:
    """The rules of the tables [rules.NAME]; None if there are none."""
    found = []
    for name, row in table(given, place, faults).items():
        here = f"{place}.{name}"
        row = table(row, here, faults)
        known_keys(row, (*SENSES, "terms"), here, faults)
        amounts = {
            sense: number(row[sense], f"{here}.{sense}", faults, FINITE)
            for sense in SENSES
            if sense in row
        }
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
        for kind in LISTS
        if kind in row
    }
    resource = text(row["resource"], f"{here}.resource", faults) if "resource" in row else None
    times = number(row.get("times", 1.0), f"{here}.times", faults, FINITE)
    return Term(**lists, resource=resource, times=times)


def read_files(folder: Path, faults: Faults) -> list[Rule] | None:
    """The rules of a folder; None if it has none. An empty cell of a term stands for all."""
    if not storage.there(folder / "rules.csv"):
        if storage.there(folder / "rule_terms.csv"):
            faults.add("rules.csv", "no such file", "the rules that rule_terms.csv is about")
        return None
    found: dict[str, dict[str, Any]] = {}
    for line, row in cells.rows(folder, "rules", _RULE, _RULE, faults):
        own = found.setdefault(row["rule"], {"terms": []})
        if row["sense"] in own:
            faults.add(f"rules.csv line {line}", f"{row['rule']} a second time", "every rule once")
        own[row["sense"]] = cells.value(row["amount"])
    if storage.there(folder / "rule_terms.csv"):
        for line, row in cells.rows(folder, "rule_terms", ("rule",), _TERM, faults):
            here = f"rule_terms.csv line {line}"
            if row["rule"] not in found:
                wanted = nearest(row["rule"], found)
                faults.add(here, f"the unknown rule {row['rule']!r}", wanted)
                continue
            found[row["rule"]]["terms"].append(_of_cells(row, here, faults))
    return read_rules(found, faults)


def _of_cells(row: Mapping[str, str], here: str, faults: Faults) -> dict[str, Any]:
    """A term as a table: a cell is a name, or several as in ["A", "B"]."""
    term: dict[str, Any] = {}
    for kind in LISTS:
        cell = row.get(kind[:-1], "")
        if cell.startswith("["):
            try:
                term[kind] = json.loads(cell)
            except (ValueError, RecursionError):
                faults.add(f"{here} {kind[:-1]}", repr(cell), 'a name, or a list as ["A", "B"]')
        elif cell:
            term[kind] = [cell]
    if row.get("resource"):
        term["resource"] = row["resource"]
    times = cells.value(row.get("times", ""))
    return term if times is None else {**term, "times": times}


def contents(inst: Instance) -> Iterator[tuple[str, Iterator[list[Any]]]]:
    """Name and rows of each of FILES that is needed."""
    if inst.rules:
        rules = inst.rules
        yield (
            "rules.csv",
            iter([list(_RULE), *([rule.name, rule.sense, repr(rule.amount)] for rule in rules)]),
        )
        yield (
            "rule_terms.csv",
            iter(
                [
                    list(_TERM),
                    *(
                        [
                            rule.name,
                            *(_cell(getattr(term, kind)) for kind in LISTS),
                            term.resource or "",
                            repr(term.times),
                        ]
                        for rule in rules
                        for term in rule.terms
                    ),
                ]
            ),
        )


def _cell(names: Any) -> str:
    if names is None:
        return ""
    alone = len(names) == 1 and names[0] and not names[0].startswith("[")
    return str(names[0]) if alone else json.dumps(list(names), ensure_ascii=False)


__all__ = ["FILES", "contents", "read_files", "read_rules"]
