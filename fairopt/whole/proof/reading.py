"""Whole tasks read from a file (fairopt/whole/v1): every amount, count and name is checked."""

from __future__ import annotations

import json
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from fairopt.errors import BadInput
from fairopt.exact import exact
from fairopt.instance.reading import Faults, known_keys, listed, shown, table, text
from fairopt.whole.proof import certificate, running, zones
from fairopt.whole.proof.answer import EXACT, MULTIPLE, SCHEMA, Asked, WholeTasks
from fairopt.whole.proof.problem import NodeRow, Problem
from fairopt.whole.proof.zones import LARGEST_COUNT

_KEYS = ("schema", "parts", "cards", "users", "classes", "certificate", "running", "stopped")
_USER = ("due", "taken", "asked", "gang", "at_least", "spread", "tasks")
_CLASS = ("class", "count", "servers", "capacity", "kinds", "nodes")


def loads(content: str, source: str) -> WholeTasks:
    """An answer from JSON text.

    Raises
    ------
    BadInput : with every fault of the text.
    """
    faults = Faults(source)
    try:
        data = table(json.loads(content), "file", faults)
    except (ValueError, RecursionError) as error:
        faults.add("file", f"text that is not JSON ({type(error).__name__})", "whole tasks in JSON")
        data = {}
    faults.stop()
    return read(data, faults)


def read(data: Mapping[str, Any], faults: Faults) -> WholeTasks:
    """An answer from plain data.

    Raises
    ------
    BadInput : with every fault.
    """
    if data.get("schema") != SCHEMA:
        faults.add("schema", shown(data.get("schema")), f"the text '{SCHEMA}'")
    known_keys(data, _KEYS, "", faults)
    if not isinstance(data.get("parts", True), bool):
        faults.add("parts", shown(data["parts"]), "true or false")
    cards = [
        text(x, f"cards[{k}]", faults)
        for k, x in enumerate(listed(data.get("cards", []), "cards", faults))
    ]
    users = table(data.get("users"), "users", faults)
    due, taken, asked, gang, fewest = [], [], [], [], []
    spreads = []
    classes = listed(data.get("classes"), "classes", faults)
    for name, given in users.items():
        here = f"users.{name}"
        row = table(given, here, faults)
        known_keys(row, _USER, here, faults)
        due.append(amount(row.get("due"), f"{here}.due", faults))
        taken.append(row.get("taken", EXACT))
        if taken[-1] not in (MULTIPLE, EXACT):
            faults.add(f"{here}.taken", shown(taken[-1]), f"'{MULTIPLE}' or '{EXACT}'")
        limit = row.get("asked")
        asked.append(None if limit is None else _count(limit, f"{here}.asked", faults))
        gang.append(_count(row.get("gang", 1), f"{here}.gang", faults, 1))
        fewest.append(_count(row.get("at_least", 1), f"{here}.at_least", faults, 1))
        if "spread" in row:
            at_user = len(due) - 1, len(classes)
            spreads.append(zones.read(row["spread"], *at_user, f"{here}.spread", faults))
    at = {name: n for n, name in enumerate(users)}
    rows, servers = [], []
    for j, given in enumerate(classes):
        own, nodes_of = _row(table(given, f"classes[{j}]", faults), at, f"classes[{j}]", faults)
        rows.append(own)
        servers.append(nodes_of)
    if not users:
        faults.add("users", "none", "at least one")
    if not rows:
        faults.add("classes", "none", "at least one")
    faults.stop()
    found = Asked(
        tuple(users),
        tuple(rows),
        tuple(due),
        tuple(asked),
        tuple(gang),
        tuple(taken),
        tuple(servers),
        bool(data.get("parts", True)),
        tuple(cards),
        tuple(fewest) if max(fewest) > 1 else (),
        tuple(spreads),
    )
    try:
        asked_for = found.problem
    except BadInput as error:
        raise error.within(faults.source) from None
    nodes = [
        node
        for j, given in enumerate(data["classes"])
        for node in _nodes(given, j, asked_for, f"classes[{j}].nodes", faults)
    ]
    proof = certificate.read(data.get("certificate", {}), asked_for, faults, "certificate")
    ran = None
    if "running" in data:
        ran = running.read(data["running"], asked_for, servers, faults, "running")
    faults.stop()
    return WholeTasks(found, tuple(nodes), proof, bool(data.get("stopped", False)), ran)


def _row(
    given: Mapping[str, Any], at: Mapping[str, int], place: str, faults: Faults
) -> tuple[NodeRow, dict[str, int]]:
    known_keys(given, _CLASS, place, faults)
    name = text(given.get("class", ""), f"{place}.class", faults)
    count = _count(given.get("count"), f"{place}.count", faults)
    servers = {
        key: _count(x, f"{place}.servers.{key}", faults)
        for key, x in table(given.get("servers", {name: count}), f"{place}.servers", faults).items()
    }
    if sum(servers.values()) != count:
        faults.add(f"{place}.servers", f"{sum(servers.values())} nodes", f"{count}, the count")
    kinds, seen = [], set()
    for k, one in enumerate(listed(given.get("kinds"), f"{place}.kinds", faults)):
        here = f"{place}.kinds[{k}]"
        own = table(one, here, faults)
        known_keys(own, ("user", "mode", "demand", "per_node"), here, faults)
        user, mode = own.get("user"), text(own.get("mode", ""), f"{here}.mode", faults)
        if not isinstance(user, str) or user not in at or (user, mode) in seen:
            faults.add(f"{here}.user", shown(user), "a user, each with a mode once")
            continue
        seen.add((user, mode))
        most = own.get("per_node")
        most = None if most is None else _count(most, f"{here}.per_node", faults)
        kinds.append((at[user], mode, amounts(own.get("demand"), f"{here}.demand", faults), most))
        if not any(kinds[-1][2].values()):
            faults.add(f"{here}.demand", "nothing", "some amount above 0")
    return NodeRow(
        name, count, amounts(given.get("capacity"), place, faults), tuple(kinds)
    ), servers


def _nodes(
    given: Mapping[str, Any], j: int, asked: Problem, place: str, faults: Faults
) -> list[tuple[int, int, tuple[int, ...]]]:
    own = asked.classes[j]
    at = {(asked.users[kind.user], kind.mode): k for k, kind in enumerate(own.kinds)}
    found = []
    for g, one in enumerate(listed(given.get("nodes"), place, faults)):
        here = f"{place}[{g}]"
        row = table(one, here, faults)
        known_keys(row, ("count", "tasks"), here, faults)
        count = _count(row.get("count"), f"{here}.count", faults)
        tasks = [0] * len(own.kinds)
        for k, entry in enumerate(listed(row.get("tasks"), f"{here}.tasks", faults)):
            three = listed(entry, f"{here}.tasks[{k}]", faults)
            key = tuple(three[:2])
            if len(three) != 3 or not all(isinstance(x, str) for x in key) or key not in at:
                faults.add(
                    f"{here}.tasks[{k}]", f"{three[:2]}", "[user, mode, tasks] of what runs here"
                )
                continue
            tasks[at[key]] += _count(three[2], f"{here}.tasks[{k}]", faults)
        found.append((j, count, tuple(tasks)))
    return found


def amount(given: Any, place: str, faults: Faults) -> Fraction:
    """An exact number >= 0: a whole number, or a text such as "5/3" or "0.25"; no float."""
    found = None if isinstance(given, float) else exact(given)
    if found is None:
        faults.add(place, shown(given), "an exact number >= 0, such as 2 or '5/3'")
    return found or Fraction(0)


def amounts(given: Any, place: str, faults: Faults) -> dict[str, Fraction]:
    """A table of exact amounts by resource."""
    return {
        key: amount(x, f"{place}.{key}", faults) for key, x in table(given, place, faults).items()
    }


def _count(given: Any, place: str, faults: Faults, low: int = 0) -> int:
    whole = isinstance(given, int) and not isinstance(given, bool)
    if whole and low <= given <= LARGEST_COUNT:
        return int(given)
    faults.add(place, shown(given), f"a whole number from {low} to {LARGEST_COUNT:.0e}")
    return low
