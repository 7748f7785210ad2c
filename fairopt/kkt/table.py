"""A table of conditions as data: a line for every pair, and a line for every constraint."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairopt.instance import Floats

NO_PRICES = "kkt: this answer has no prices; `fairopt solve` keeps them in its answers"

Column = Sequence[Any] | Floats


@dataclass(frozen=True)
class ConditionsTable:
    """The conditions at one optimum, or at one level.

    Parameters
    ----------
    title : the program, in the papers' letters.
    condition : what holds of every line of `pairs`, in words and letters.
    pairs : column -> entries. "user" and "server" come first, then "x" (tasks).
    rows : column -> entries. "server" and "resource" come first; a user's limit has the server
        "limit of" and the user as its resource.
    factor : multiplier = factor x normalised price; None where there are no prices.
    duals : (I, R) multipliers per unit of resource; None where there are none.
    notes : what else is to be known of these numbers.
    """

    title: str
    condition: str
    pairs: Mapping[str, Column]
    rows: Mapping[str, Column]
    factor: float | None = None
    duals: Floats | None = None
    notes: tuple[str, ...] = ()

    def plain(self) -> dict[str, Any]:
        """The table as JSON data."""
        return {
            "title": self.title,
            "condition": self.condition,
            "factor": self.factor,
            "pairs": _listed(self.pairs),
            "rows": _listed(self.rows),
            "notes": list(self.notes),
        }

    def worst(self) -> dict[str, float]:
        """How far the conditions are from holding, each relative to what it is made of.

        "nu < 0": a task cheaper than its gain; "nu x > 0": tasks where one costs more than its
        gain, as a part of all that is paid; "slack x lambda > 0": money for what is not full, as a
        part of all money. Only those that the table has the numbers for.
        """
        found: dict[str, float] = {}
        if "nu" in self.pairs:
            nu, gain, x = (np.asarray(self.pairs[k], dtype=float) for k in ("nu", "gain", "x"))
            if "phi M" in self.pairs:  # (9): nu belongs to what is held above the common level
                x = np.maximum(x - np.asarray(self.pairs["phi M"], dtype=float), 0.0)
            size = np.maximum(gain, np.abs(nu))
            found["nu < 0"] = float((-nu / np.where(size > 0, size, 1.0)).max(initial=0.0))
            paid = float(((gain + np.maximum(nu, 0.0)) * x).sum())
            found["nu x > 0"] = float((np.maximum(nu, 0.0) * x).sum()) / (paid or 1.0)
        if "lambda" in self.rows:
            slack, dual, there = (
                np.asarray(self.rows[k], dtype=float) for k in ("slack", "lambda", "capacity")
            )
            money = float((there * dual).sum()) or 1.0
            found["slack x lambda > 0"] = float((np.maximum(slack, 0.0) * dual).sum()) / money
        return found


def _listed(columns: Mapping[str, Column]) -> dict[str, list[Any]]:
    return {name: np.asarray(each).tolist() for name, each in columns.items()}
