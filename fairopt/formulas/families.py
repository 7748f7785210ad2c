"""Families of notions: which judge an answer goes to, found from the notion's plain data alone.

Judges never import notions. A family has the name of its most general notion ("alpha-fair"), and
no other notion may use that name. A notion that is a special case of a family says so in its plain
data, under "family". The families of the notions that come with fairopt are listed here as well,
so that {"name": "throughput"} is enough in a file.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

OWN = "own"
"""the family of notions without a family: judged by feasibility, and by prices if possible"""
FAMILIES = (
    "alpha-fair",
    "max-min",
    "tradeoff",
    "ps-dsf",
    "per-server-drf",
    "bmf",
    "equal-m",
    "sum-m",
    OWN,
)
SHIPPED: dict[str, dict[str, Any]] = {
    "throughput": {"name": "alpha-fair", "parameters": {"alpha": 0.0}},
    "proportional": {"name": "alpha-fair", "parameters": {"alpha": 1.0}},
    "drf-hug": {"name": "per-server-drf", "parameters": {}},
}
"""notions of fairopt whose family has another name than they have"""


def member(notion: Mapping[str, Any]) -> dict[str, Any]:
    """The notion (plain data) as a member of its family: {"name": family, "parameters"}.

    For the name of a notion of fairopt the family is the one listed here, whatever family the data
    claim. Any other notion without a "family" is returned as it is, and has no judge of its own.

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
