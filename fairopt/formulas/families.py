"""Families of notions: who judges an answer, found from plain data alone.

A judge never imports a notion. A family bears the name of its most general notion, and no other
notion can claim that name. A notion that is a case of a family says so in its plain data, under
"family"; those shipped are known here as well, so that {"name": "throughput"} is enough in a file.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

OWN = "own"
"""the family of a notion that belongs to none: judged by what can be judged"""
FAMILIES = (
    "alpha-fair", "max-min", "tradeoff", "ps-dsf", "per-server-drf", "bmf", "equal-m", "sum-m", OWN
)  # fmt: skip
SHIPPED: dict[str, dict[str, Any]] = {
    "throughput": {"name": "alpha-fair", "parameters": {"alpha": 0.0}},
    "proportional": {"name": "alpha-fair", "parameters": {"alpha": 1.0}},
    "drf-hug": {"name": "per-server-drf", "parameters": {}},
}
"""notions shipped whose family has another name"""


def member(notion: Mapping[str, Any]) -> dict[str, Any]:
    """What a notion (plain data) is within its family: {"name": family, "parameters"}.

    A name that is known means what it means here, whatever family the data claim. A name that is
    neither known nor says its family is returned as it is: nobody judges it.

    Examples
    --------
    >>> member({"name": "proportional", "parameters": {"criterion": "drf"}})
    {'name': 'alpha-fair', 'parameters': {'criterion': 'drf', 'alpha': 1.0}}
    """
    name, given = notion["name"], notion.get("parameters", {})
    if name in SHIPPED:
        known = SHIPPED[name]
        return {"name": known["name"], "parameters": {**given, **known["parameters"]}}
    family = notion.get("family")
    if family is None or name in FAMILIES or name.startswith("fill:"):
        return {"name": name, "parameters": given}
    return {"name": family["name"], "parameters": family.get("parameters", {})}
