"""What stands in the cells of the tables, as text."""

from __future__ import annotations

import math
from typing import Any

from benchmarks.peers.sides import SIDES

Record = dict[str, Any]


def side(record: Record, name: str) -> dict[str, Any]:
    found: dict[str, Any] = next((r for r in record["sides"] if r["side"] == name), {})
    return found


def kind(row: dict[str, Any]) -> str:
    return "ours" if SIDES[row["side"]].ours else "peer"


def size(record: Record) -> str:
    return f"{record['users']:,} x {record['servers']:,} x {record['resources']}"


def capital(words: str) -> str:
    return words[0].upper() + words[1:]


def seconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}"


def small(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.0e}" if 0 < value < math.inf else f"{value:g}"


def ratio(row: dict[str, Any]) -> str:
    return f"{row['ratio']:.2f}" if "ratio" in row else "-"


def cell(text: str) -> str:
    return str(text).replace("|", "/").replace("\n", " ")[:120]
