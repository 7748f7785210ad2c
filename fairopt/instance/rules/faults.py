"""What can be wrong with own rules: every fault, with its place."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from fairopt.errors import Fault, RuleWarning
from fairopt.instance.labels import nearest
from fairopt.instance.quotas.faults import LARGEST_AMOUNT, shown
from fairopt.instance.quotas.records import Quotas
from fairopt.instance.rules.records import SENSES, Rule, Term

Names = Mapping[str, Sequence[str]]
NUMBER = "a finite number"


def rule_faults(rules: Sequence[Any], names: Names, modes: Any, quotas: Any) -> Iterator[Fault]:
    """The faults of rules given to an instance.

    Parameters
    ----------
    names : users, servers and resources of the instance. modes, quotas : as given to it.
    """
    known = _known(names, modes, quotas)
    seen: set[str] = set()
    for k, rule in enumerate(rules):
        if not isinstance(rule, Rule):
            yield Fault(f"rules[{k}]", f"a {type(rule).__name__}", "fo.Rule")
            continue
        name = rule.name
        if not isinstance(name, str) or not name or not name.isprintable():
            yield Fault(f"rules[{k}]", f"the name {name!r}", "a printable text")
        elif name in seen:
            yield Fault(f"rules[{k}]", f"the name {name!r} a second time", "every name once")
        seen.add(name)
        here = f"rules.{name}"
        given = [sense for sense in SENSES if getattr(rule, sense) is not None]
        if len(given) != 1:
            yield Fault(here, " and ".join(given) or "no amount", f"one of {', '.join(SENSES)}")
        for sense in given:
            if not _number(getattr(rule, sense)):
                yield Fault(f"{here}.{sense}", shown(getattr(rule, sense)), NUMBER)
        for j, term in enumerate(rule.terms):
            yield from _term(term, f"{here}.terms[{j}]", known)


def _known(names: Names, modes: Any, quotas: Any) -> dict[str, dict[str, None]]:
    sound = quotas if isinstance(quotas, Quotas) else Quotas()
    ways = [mode.name for own in (modes or {}).values() for mode in own]
    kinds = {
        "users": [*names["users"], *(group.name for group in sound.groups)],
        "servers": [*names["servers"], *sound.flavors],
        "modes": ways,
        "resource": [*names["resources"], "output"],
    }
    return {kind: dict.fromkeys(known) for kind, known in kinds.items()}


def _term(term: Any, here: str, known: Mapping[str, Mapping[str, None]]) -> Iterator[Fault]:
    if not isinstance(term, Term):
        yield Fault(here, f"a {type(term).__name__}", "fo.Term")
        return
    if not _number(term.times):
        yield Fault(f"{here}.times", shown(term.times), NUMBER)
    for kind, word in (
        ("users", "user or group"),
        ("servers", "server or flavor"),
        ("modes", "mode"),
    ):
        for name in getattr(term, kind) or ():
            if name not in known[kind]:
                found = f"the unknown {word} {name!r}"
                yield Fault(f"{here}.{kind}", found, nearest(str(name), known[kind]))
    if term.resource is not None and term.resource not in known["resource"]:
        found = f"the unknown resource {term.resource!r}"
        yield Fault(f"{here}.resource", found, nearest(str(term.resource), known["resource"]))


def _number(value: Any) -> bool:
    number = isinstance(value, int | float | np.integer | np.floating)
    return (
        number
        and not isinstance(value, bool)
        and abs(value) < LARGEST_AMOUNT
        and math.isfinite(value)
    )


def idle_faults(rules: Sequence[Rule], rows: Sequence[Any]) -> Iterator[Fault]:
    """Rules of which no term meets a running task, where 0 is not allowed; else a warning.

    Parameters
    ----------
    rows : what each rule counts (`resolved.Row`).
    """
    for rule, row in zip(rules, rows, strict=True):
        if len(row.value):
            continue
        b = rule.amount
        if b == 0 or (rule.sense == "most" and b > 0) or (rule.sense == "least" and b < 0):
            said = "no term meets a user where it may run; the rule says nothing"
            warnings.warn(f"rules.{rule.name}: {said}", RuleWarning, stacklevel=4)
        else:
            found = f"{rule.sense} {b:g} of nothing: no term meets a user where it may run"
            yield Fault(f"rules.{rule.name}", found, "terms of eligible users and servers")


__all__ = ["idle_faults", "rule_faults"]
