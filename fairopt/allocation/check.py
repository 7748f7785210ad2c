"""What a judge returns: a `Check` for one statement, a `Certificate` for an allocation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from fairopt import markup

_Ends = tuple[NDArray[np.float64], NDArray[np.float64]]

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
    margin : tolerance - residual; negative if the statement fails.
    tolerance : the largest residual accepted.
    witness : the worst place, in words (user, server, resource).

    Examples
    --------
    >>> import fairopt as fo
    >>> cluster = fo.Instance([[1, 4], [3, 1]], [[9, 18]], users=["A", "B"])
    >>> answer = fo.solve(cluster, fo.ProportionalFair())
    >>> print([check.name for check in answer.certificate.checks if check.holds])
    ['tasks >= 0', 'placement', 'capacity', 'limit', 'gap', 'residual']
    """

    name: str
    holds: bool
    margin: float
    tolerance: float
    witness: str = ""

    @classmethod
    def of(cls, name: str, residual: float, tolerance: float, witness: str = "") -> Check:
        """A check from its residual: it holds if residual <= tolerance; with NaN it does not."""
        residual = float(residual)
        return cls(name, residual <= tolerance, tolerance - residual, tolerance, witness)

    @property
    def residual(self) -> float:
        """How far the statement is from holding exactly: tolerance - margin."""
        return self.tolerance - self.margin


class Intervals(Sequence[tuple[float, float]]):
    """Pairs (lowest, highest), one a user, computed when first read.

    Equal to the tuple of pairs, with the same hash; copies and pickles contain the numbers.

    Parameters
    ----------
    size : how many users.
    ends : computes the lowest (N,) and the highest (N,).
    """

    def __init__(self, size: int, ends: Callable[[], _Ends]) -> None:
        self._size, self._compute = size, ends

    @cached_property
    def ends(self) -> _Ends:
        """lowest (N,) and highest (N,)."""
        lowest, highest = self._compute()
        return np.asarray(lowest, dtype=np.float64), np.asarray(highest, dtype=np.float64)

    @overload
    def __getitem__(self, k: int) -> tuple[float, float]: ...
    @overload
    def __getitem__(self, k: slice) -> tuple[tuple[float, float], ...]: ...
    def __getitem__(self, k: Any) -> Any:
        low, high = self.ends
        if isinstance(k, slice):
            return tuple(zip(low[k].tolist(), high[k].tolist(), strict=True))
        return float(low[k]), float(high[k])

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[tuple[float, float]]:
        low, high = self.ends
        return zip(low.tolist(), high.tolist(), strict=True)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.stack(self.ends, axis=1).astype(dtype or np.float64)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Intervals | tuple):
            return NotImplemented
        return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return (_known_intervals, self.ends)

    def __repr__(self) -> str:
        return f"Intervals({len(self)} users)"


def _known_intervals(lowest: NDArray[np.float64], highest: NDArray[np.float64]) -> Intervals:
    return Intervals(len(lowest), lambda: (lowest, highest))


class Sentences(Sequence[str]):
    """Sentences, computed when first read, because most answers of a sweep are never explained.

    Equal to the tuple of the sentences, with the same hash; copies and pickles contain the tuple.
    """

    def __init__(self, tell: Callable[[], Sequence[str]]) -> None:
        self._tell = tell

    @cached_property
    def lines(self) -> tuple[str, ...]:
        """The sentences, computed at the first call."""
        return tuple(self._tell())

    @overload
    def __getitem__(self, k: int) -> str: ...
    @overload
    def __getitem__(self, k: slice) -> tuple[str, ...]: ...
    def __getitem__(self, k: Any) -> Any:
        return self.lines[k]

    def __len__(self) -> int:
        return len(self.lines)

    def __eq__(self, other: object) -> bool:
        return (
            tuple(other) == self.lines if isinstance(other, Sentences | tuple) else NotImplemented
        )

    def __hash__(self) -> int:
        return hash(self.lines)

    def __reduce__(self) -> tuple[Any, ...]:
        return (tuple, (self.lines,))

    def __repr__(self) -> str:
        return repr(self.lines)


@dataclass(frozen=True)
class Certificate:
    """The verdict on an allocation, computed from its numbers alone.

    Parameters
    ----------
    verdict : "certified"; "refuted" (infeasible, or a better feasible allocation was found, or the
        definition is clearly broken); or "unproved". See docs/maths/prices.md.
    gap : bound on what can be gained, as an equal relative rise of every share.
    residual : the largest relative distance from optimality of any single user.
    undetermined : names of the users whose share the proof does not determine.
    checks : every statement that was checked.
    intervals : for each user the (lowest, highest) share that it has at any optimum; inf if not
        bounded.
    notes : sentences for `explain`.
    tolerance : the largest residual that is certified; another than 1e-6 only where it was asked.
    bounded : whether the residual is a proved bound of how far every share is from every optimum's.

    Examples
    --------
    >>> import fairopt as fo
    >>> cluster = fo.Instance([[1, 4], [3, 1]], [[9, 18]], users=["A", "B"])
    >>> found = fo.solve(cluster, fo.ProportionalFair()).certificate
    >>> found.certified, found.residual < 1e-6
    (True, True)
    """

    verdict: str
    gap: float
    residual: float
    undetermined: tuple[str, ...] = ()
    checks: tuple[Check, ...] = ()
    intervals: Sequence[tuple[float, float]] = field(default=(), repr=False)
    notes: Sequence[str] = field(default=(), repr=False)
    tolerance: float = 1e-6
    bounded: bool = False

    @property
    def certified(self) -> bool:
        """Whether the verdict is "certified"."""
        return self.verdict == CERTIFIED

    @property
    def said(self) -> str:
        """The verdict, and where nothing more was proved the bound that was."""
        if self.verdict == UNPROVED and self.bounded and self.residual <= 1:
            return f"{self.verdict}, every share within {self.residual:.2g}"
        return self.verdict

    @property
    def head(self) -> str:
        """The verdict in one line, with the tolerance where it is not the usual one."""
        within = "" if self.tolerance == 1e-6 else f" within {self.tolerance:.0e}"
        return f"{self.said}{within}: gap {self.gap:.2g}, residual {self.residual:.2g}"

    def explain(self) -> str:
        """The verdict in words: each check, then what stops each user, with its price."""
        lines = [self.head]
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

    def _repr_html_(self) -> str:
        head = self.head
        rows = (
            [
                c.name,
                "yes" if c.holds else "NO",
                f"{c.residual:.2g}",
                f"{c.tolerance:.0e}",
                c.witness,
            ]
            for c in self.checks
        )
        return markup.block(
            markup.line(head),
            markup.table(
                "Checks",
                ["check", "holds", "off by", "allowed", "worst at"],
                rows,
                len(self.checks),
            ),
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain data for files, without `intervals` and `notes`, which are recomputed when read."""
        return {
            "verdict": self.verdict,
            "gap": self.gap,
            "residual": self.residual,
            "undetermined": list(self.undetermined),
            "checks": [
                {
                    "name": c.name,
                    "holds": c.holds,
                    "residual": c.residual,
                    "tolerance": c.tolerance,
                    "witness": c.witness,
                }
                for c in self.checks
            ],
        }
