"""A certificate in words that need no other page to be understood."""

from __future__ import annotations

import math
from typing import Any

from fairopt.allocation import Allocation
from fairopt.allocation.check import CERTIFIED, REFUTED, Certificate
from fairopt.formulas.parameters import FILL

MOST_NAMED = 100
"""most users named that the proof does not pin"""
PRICED = ("alpha-fair", "tradeoff", "sum-m", "own")
"""families whose gap is that of an objective, proved by prices"""

HEAD = {
    CERTIFIED: "Certified: this answer is proved.",
    REFUTED: "Refuted: this is not the answer that its notion asks for.",
}
AGAIN = (
    "The proof was computed again when this page was made, from the tasks and prices alone, "
    "without a solver."
)


def words(alloc: Allocation) -> dict[str, Any]:
    """Verdict, sentences and checks of a judged answer, as plain data."""
    found = alloc.certificate
    assert found is not None
    return {
        "verdict": found.verdict,
        "gap": finite(found.gap),
        "residual": finite(found.residual),
        "sentences": [*sentences(found, str(alloc.kind["name"])), AGAIN],
        "checks": [
            {
                "name": c.name,
                "holds": c.holds,
                "residual": finite(c.residual),
                "tolerance": finite(c.tolerance),
                "witness": c.witness,
            }
            for c in found.checks
        ],
        "undetermined": list(found.undetermined[:MOST_NAMED]),
        "undetermined_count": len(found.undetermined),
    }


def sentences(found: Certificate, family: str) -> list[str]:
    """What the verdict means, a sentence each."""
    head = HEAD.get(found.verdict, "Unproved: nobody knows whether this answer is right.")
    lines = [head]
    if found.verdict == REFUTED:
        broken = [check.name for check in found.checks if not check.holds]
        lines.append(f"What fails: {', '.join(broken)}." if broken else "")
    elif family.startswith(FILL) and found.verdict == CERTIFIED:
        lines.append(
            "Tasks are whole, they fit machine by machine, and no further task fits. That the "
            "scheduler kept its own order is not proved."
        )
    elif math.isfinite(found.gap):
        if family in PRICED:
            lines.append(
                "The prices prove that no other allocation is better than this one by more than "
                f"an equal rise of every share by {part(found.gap)}."
            )
        else:
            lines.append(
                "Every condition of the notion would hold exactly if no level changed by more "
                f"than {part(found.gap)}."
            )
        lines.append(
            f"No single user is further than {part(found.residual)} from what the notion gives it."
        )
    else:
        lines.append("No bound on its distance from the right answer could be proved.")
    if found.verdict == CERTIFIED and found.undetermined:
        several = len(found.undetermined) > 1
        lines.append(
            f"{len(found.undetermined):,} {'users have' if several else 'user has'} a share that "
            "is not the only one possible: other right answers give other shares."
        )
    return [line for line in lines if line]


def part(value: float) -> str:
    """A relative amount in words; below 1e-12 it is rounding."""
    return "one part in 1e12" if value <= 1e-12 else f"{value:.1e} of it"


def finite(value: float) -> float | None:
    """The number; None where it is not finite, which JSON has no word for."""
    return float(value) if math.isfinite(value) else None
