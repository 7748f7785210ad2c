"""What a judge says: one `Check` for a single statement, one `Certificate` for an allocation."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

CERTIFIED = "certified"
REFUTED = "refuted"
UNPROVED = "unproved"


@dataclass(frozen=True)
class Check:
    """One statement, judged.

    Parameters
    ----------
    name : the statement, in a few words.
    holds : whether it holds within the tolerance.
    margin : tolerance - residual; negative says by how much it fails.
    tolerance : the residual still accepted.
    witness : the worst place, in words (user, server, resource).
    """

    name: str
    holds: bool
    margin: float
    tolerance: float
    witness: str = ""

    @classmethod
    def of(cls, name: str, residual: float, tolerance: float, witness: str = "") -> Check:
        """A check from its residual: holds when residual <= tolerance; NaN never holds."""
        residual = float(residual)
        return cls(name, residual <= tolerance, tolerance - residual, tolerance, witness)

    @property
    def residual(self) -> float:
        return self.tolerance - self.margin


@dataclass(frozen=True)
class Certificate:
    """The verdict on an allocation, computed from its numbers alone.

    Parameters
    ----------
    verdict : "certified", "refuted" (a better feasible allocation is in hand) or "unproved".
    gap : bound on what can be gained, as an equal relative change of every share.
    residual : the worst user's own relative distance from optimality.
    undetermined : users whose share the proof does not pin.
    checks : every single check.
    intervals : per user (lowest, highest) share that any optimum can give; inf = not determined.
    notes : sentences for `explain`.
    """

    verdict: str
    gap: float
    residual: float
    undetermined: tuple[str, ...] = ()
    checks: tuple[Check, ...] = ()
    intervals: tuple[tuple[float, float], ...] = field(default=(), repr=False)
    notes: tuple[str, ...] = field(default=(), repr=False)

    @property
    def certified(self) -> bool:
        return self.verdict == CERTIFIED

    def explain(self) -> str:
        """The verdict in words: each check, then who is stopped by what and what more is worth."""
        lines = [f"{self.verdict}: gap {self.gap:.2g}, residual {self.residual:.2g}"]
        for check in self.checks:
            mark = "ok  " if check.holds else "FAIL"
            witness = f" ({check.witness})" if check.witness else ""
            lines.append(
                f"  {mark} {check.name}: {check.residual:.2g} <= {check.tolerance:.0e}{witness}"
                if check.holds
                else f"  {mark} {check.name}: {check.residual:.2g} > {check.tolerance:.0e}{witness}"
            )
        lines.extend(f"  {note}" for note in self.notes)
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for files; `intervals` and `notes` are recomputed, never stored."""
        return {
            "verdict": self.verdict,
            "gap": self.gap,
            "residual": self.residual,
            "undetermined": list(self.undetermined),
            "checks": [
                {"name": c.name, "holds": c.holds, "residual": c.residual,
                 "tolerance": c.tolerance, "witness": c.witness}
                for c in self.checks
            ],
        }
