"""A plan read back from its JSON: its lists by name, its exact amounts as fractions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from fairopt.connect.plan import form
from fairopt.connect.plan.made import SCHEMA
from fairopt.exact import exact
from fairopt.files import mistaken
from fairopt.instance import Floats
from fairopt.instance.reading import Faults, listed, number, shown, table, text


class PlanLists:
    """The lists of a plan by name, of the form of its schema.

    Raises
    ------
    BadInput : with everything that is not of that form.
    """

    def __init__(self, data: Mapping[str, Any], faults: Faults) -> None:
        self.faults = faults
        form.check(data, "", faults)
        faults.stop()
        self.workloads = self._named(data, "workloads", "workload")
        self.shapes = self._named(data, "shapes", "shape")
        self.queues = self._named(data, "queues", "queue")
        self.kinds = self._named(data, "kinds", "resource")

    def _named(self, data: Mapping[str, Any], key: str, word: str) -> dict[str, Mapping[str, Any]]:
        found: dict[str, Mapping[str, Any]] = {}
        for k, given in enumerate(listed(data.get(key, []), key, self.faults)):
            row = table(given, f"{key}[{k}]", self.faults)
            name = text(row.get(word, ""), f"{key}[{k}].{word}", self.faults)
            if name in found:
                self.faults.add(f"{key}[{k}].{word}", f"the name {name!r} twice", "every name once")
            found[name] = row
        return found

    def exact(self, row: Mapping[str, Any], key: str, place: str) -> dict[str, Fraction]:
        """A table of exact amounts."""
        found = {}
        for name, given in table(row.get(key, {}), f"{place}.{key}", self.faults).items():
            amount = _amount(given)
            if amount is None:
                wanted = "an exact amount >= 0, such as '0.25' or '1/3'"
                self.faults.add(f"{place}.{key}.{name}", shown(given), wanted)
            else:
                found[name] = amount
        return found

    def amount(self, value: Any, place: str) -> float:
        """A finite number >= 0."""
        return number(value, place, self.faults)

    def matrix(
        self, rows: Sequence[Any], outer: Sequence[str], inner: Sequence[str], place: str
    ) -> Floats:
        """Tables {column: number} as rows of an array; None is a row of zeros."""
        array = np.zeros((len(outer), len(inner)))
        at = {name: k for k, name in enumerate(inner)}
        for k, (name, row) in enumerate(zip(outer, rows, strict=True)):
            here = f"{place}.{name}"
            for key, value in table(row or {}, here, self.faults).items():
                if key in at:
                    array[k, at[key]] = self.amount(value, f"{here}.{key}")
                else:
                    self.faults.add(f"{here}.{key}", "an unknown name", "a name of the plan")
        return array

    def whole(self, value: Any, place: str) -> int:
        """A whole number >= 0."""
        if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
            return value
        self.faults.add(place, shown(value), "a whole number >= 0")
        return 0


def _amount(given: Any) -> Fraction | None:
    return exact(given) if isinstance(given, str) else None


def loads(content: str, source: str) -> Mapping[str, Any]:
    """A plan from JSON text.

    Raises
    ------
    BadInput : not JSON, or not of this schema.
    """
    faults = Faults(source)
    data = table(mistaken.parsed(content, source, "a plan in JSON"), "file", faults)
    faults.stop()
    if data.get("schema") != SCHEMA:
        faults.add("schema", shown(data.get("schema")), f"the text '{SCHEMA}'")
    faults.stop()
    return data


def frontier(data: Mapping[str, Any], source: str) -> list[Mapping[str, Any]]:
    """The points of `stay.frontier`, their numbers as far as tables and pictures need them.

    Raises
    ------
    BadInput : points that are none.
    """
    faults = Faults(source)
    rows = PlanLists(data, faults)
    stay = table(data.get("stay", {}), "stay", faults)
    found = []
    for k, given in enumerate(listed(stay.get("frontier", []), "stay.frontier", faults)):
        here = f"stay.frontier[{k}]"
        point = table(given, here, faults)
        for key in ("kept", "running", "most", "short"):
            rows.whole(point.get(key), f"{here}.{key}")
        if _amount(point.get("within")) is None:
            faults.add(f"{here}.within", shown(point.get("within")), "a part such as '0.02'")
        found.append(point)
    faults.stop()
    return found
