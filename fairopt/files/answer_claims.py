"""The certificate that an answer file claims, and numbers that may be infinite."""

from __future__ import annotations

import math
from typing import Any

from fairopt.allocation.check import CERTIFIED, REFUTED, UNPROVED, Certificate, Check
from fairopt.instance.reading import Faults, known_keys, listed, shown, table, text

_BEYOND = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}
"""texts for numbers that JSON lacks; the objective and gaps may be such"""


def any_number(value: Any, place: str, faults: Faults) -> float:
    """A number that may be infinite: a JSON number or one of the texts inf, -inf, nan."""
    if isinstance(value, str) and value in _BEYOND:
        return _BEYOND[value]
    if isinstance(value, bool) or not isinstance(value, int | float):
        faults.add(place, shown(value), "a number, or 'inf'")
        return 0.0
    try:
        return float(value)
    except OverflowError:
        faults.add(place, shown(value), "a number, or 'inf'")
        return 0.0


def claimed(given: Any, faults: Faults) -> Certificate | None:
    """The certificate that the file claims."""
    if given is None:
        return None
    data = table(given, "certificate", faults)
    known_keys(
        data, ("verdict", "gap", "residual", "undetermined", "checks"), "certificate", faults
    )
    verdict = data.get("verdict")
    if verdict not in (CERTIFIED, REFUTED, UNPROVED):
        faults.add("certificate.verdict", shown(verdict), f"{CERTIFIED}, {REFUTED} or {UNPROVED}")
    checks = []
    for k, row in enumerate(listed(data.get("checks", []), "certificate.checks", faults)):
        here = f"certificate.checks[{k}]"
        row = table(row, here, faults)
        known_keys(row, ("name", "holds", "residual", "tolerance", "witness"), here, faults)
        tolerance = any_number(row.get("tolerance", 0.0), f"{here}.tolerance", faults)
        residual = any_number(row.get("residual", "nan"), f"{here}.residual", faults)
        checks.append(
            Check(
                text(row.get("name", ""), f"{here}.name", faults),
                row.get("holds") is True,
                tolerance - residual,
                tolerance,
                text(row.get("witness", ""), f"{here}.witness", faults),
            )
        )
    return Certificate(
        str(verdict),
        any_number(data.get("gap", "nan"), "certificate.gap", faults),
        any_number(data.get("residual", "nan"), "certificate.residual", faults),
        tuple(
            text(u, "certificate.undetermined", faults)
            for u in listed(data.get("undetermined", []), "certificate.undetermined", faults)
        ),
        tuple(checks),
    )
