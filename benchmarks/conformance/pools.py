"""The divisions among the vectors: KAI's, Hadoop's and Armada's, in one form."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from benchmarks.conformance.divisions import Asker, Pool

FOLDER = Path(__file__).resolve().parents[2] / "tests" / "vectors"


def vectors(name: str) -> dict[str, Any]:
    """A file of vectors."""
    found: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    return found


def kai() -> list[Pool]:
    """A step over what is deserved starts from what each queue holds."""
    found = []
    for row in vectors("kai_division")["vectors"]:
        over = row["step"] == "over quota"
        queues = {
            name: Asker(
                min(q["request"], float(q["max"])),
                q["fair"] if over else q["deserved"],
                q["weight"],
                q["priority"],
            )
            for name, q in row["queues"].items()
        }
        held = sum(q["fair"] for q in row["queues"].values()) if over else 0.0
        name = f"{row['name']} ({row['resource']})"
        found.append(Pool("KAI", name, row["total"] + held, queues, row["want"], True))
    return found


def hadoop() -> list[Pool]:
    """Schedulables by number."""
    found = []
    for row in vectors("hadoop")["vectors"]:
        queues = {
            str(k): Asker(q.get("max", math.inf), q.get("min", 0.0), q.get("weight", 1.0))
            for k, q in enumerate(row["schedulables"])
        }
        want = {str(k): float(x) for k, x in enumerate(row["want"])}
        found.append(Pool("Hadoop", row["name"], row["total"], queues, want, True))
    return found


def armada() -> list[Pool]:
    """Fair shares cut to demand, as amounts."""
    found = []
    for row in vectors("armada")["fair_shares"]:
        total = row["total"]
        queues = {n: Asker(q["demand"], 0.0, q["weight"]) for n, q in row["queues"].items()}
        want = {n: x * total for n, x in row["capped"].items()}
        found.append(Pool("Armada", row["name"], total, queues, want))
    return found


def pools() -> list[Pool]:
    """All of them."""
    return kai() + hadoop() + armada()
