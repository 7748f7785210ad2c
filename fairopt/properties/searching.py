"""The search for a violation: structured starts, random ones, then Nelder-Mead from the best."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from fairopt.allocation import Allocation
from fairopt.allocation.check import Check
from fairopt.errors import FairoptError, UsageError
from fairopt.instance import Floats, Instance
from fairopt.notions import Notion

TOLERANCE = 1e-4
"""a smaller relative change may be due to the tolerances of two certified answers"""
REACH = 5.0
"""amounts are changed by factors from exp(-REACH) to exp(REACH)"""
_STARTS, _RANDOM = 0.6, 0.75
"""parts of the trials after which the structured starts, and the random starts, end"""

Point = tuple[Any, Floats]
"""what is fixed while the optimiser runs, and the numbers it moves"""
Value = Callable[[Any, Floats], float | None]
"""how bad a point is (above 0 is a violation); None without a certified answer"""


@dataclass(frozen=True)
class Searched(Check):
    """A statement about a notion on one instance, searched for a violation.

    A violation compares two certified answers. That none was found is no proof.

    Parameters
    ----------
    tried : number of changes of the instance that were tried.
    unproved : how many of them had no certified answer and were ignored.
    found : the worst change, as plain data.

    Examples
    --------
    >>> import fairopt as fo
    >>> from fairopt import properties
    >>> inst = fo.Instance([[1, 4], [3, 1]], [[9, 18]])
    >>> found = properties.scale_invariant(inst, fo.ProportionalFair(), trials=2)
    >>> found.holds, found.tried
    (True, 2)
    """

    tried: int = 0
    unproved: int = 0
    found: dict[str, Any] = field(default_factory=dict)


_TOLD: ContextVar[Callable[[int, int], None] | None] = ContextVar("told", default=None)


@contextmanager
def told(progress: Callable[[int, int], None] | None) -> Iterator[None]:
    """Searches inside call `progress` with (tried, trials) before every trial."""
    before = _TOLD.set(progress)
    try:
        yield
    finally:
        _TOLD.reset(before)


class _TrialsSpent(Exception):
    """All trials are used up."""


class PointSearch:
    """Looks for the point of largest value, with a fixed number of trials.

    Parameters
    ----------
    value : the function to maximise. trials : how often to call it, at least 1.
    seed : of the random starts.
    """

    def __init__(self, value: Value, trials: int, seed: int) -> None:
        if trials < 1:
            raise UsageError(f"trials: found {trials}; wanted a whole number >= 1")
        self.value, self.trials = value, trials
        self.rng = np.random.default_rng(seed)
        self.tried = self.unproved = 0
        self.known: list[tuple[float, Point]] = []

    def run(
        self, starts: Sequence[Point], draw: Callable[[np.random.Generator], Point] | None
    ) -> tuple[float, Point | None]:
        """(value, point) of the worst point found; None where no answer was certified.

        `starts` are tried first, thinned evenly when there are too many; then points of `draw`;
        then the optimiser runs from the worst so far. Without `draw` only the starts are tried.
        """
        most = self.trials if draw is None else max(1, int(_STARTS * self.trials))
        if len(starts) > most:
            kept = np.unique(np.linspace(0, len(starts) - 1, most).round().astype(int))
            starts = [starts[k] for k in kept]
        with suppress(_TrialsSpent):
            for point in starts:
                self._try(*point)
            if draw is not None:
                while self.tried < _RANDOM * self.trials:
                    self._try(*draw(self.rng))
                self._climb()
                while True:
                    self._try(*draw(self.rng))
        return max(self.known, key=lambda pair: pair[0], default=(0.0, None))

    def said(self, name: str, residual: float, witness: str, found: dict[str, Any]) -> Searched:
        """The check for the result of this search; a residual below 0 counts as 0."""
        residual = max(residual, 0.0)
        return Searched(
            name,
            residual <= TOLERANCE,
            TOLERANCE - residual,
            TOLERANCE,
            witness,
            self.tried,
            self.unproved,
            found,
        )

    def _climb(self) -> None:
        """Nelder-Mead from the worst points so far, the worst first; one for each fixed part."""
        from scipy.optimize import minimize

        best: dict[str, tuple[float, Point]] = {}
        for value, point in sorted(self.known, key=lambda pair: -pair[0]):
            if point[1].size:
                best.setdefault(repr(point[0]), (value, point))
        each = max(20, (self.trials - self.tried) // 3)
        for _, (what, numbers) in best.values():
            # a start exactly at the truth (0) would give a simplex of size 0
            simplex = np.vstack([numbers, numbers + 0.2 * np.eye(numbers.size)])
            options: Any = {
                "initial_simplex": simplex,
                "maxfev": each,
                "xatol": 1e-5,
                "fatol": 1e-9,
            }
            minimize(partial(self._below, what), numbers, method="Nelder-Mead", options=options)

    def _below(self, what: Any, numbers: Floats) -> float:
        return -self._try(what, numbers)

    def _try(self, what: Any, numbers: Floats) -> float:
        if self.tried >= self.trials:
            raise _TrialsSpent
        self.tried += 1
        if (told := _TOLD.get()) is not None:
            told(self.tried, self.trials)
        numbers = np.clip(np.array(numbers, dtype=np.float64), -REACH, REACH)
        value = self.value(what, numbers)
        if value is None:
            self.unproved += 1
            return -1.0
        self.known.append((value, (what, numbers)))
        return value


def proved(instance: Instance, notion: Notion, full: bool = False) -> Allocation | None:
    """The certified answer, or None, also where the notion does not take the changed instance.

    With `full` it is that of `solve`, otherwise perhaps one by a faster method.
    """
    from fairopt.properties.quick import quick
    from fairopt.solving import solve

    # the faster methods know no rules of groups
    answer = quick(instance, notion) if instance.plain and not full else None
    if answer is not None:
        return answer
    try:
        answer = solve(instance, notion, uncertified="return")
    except FairoptError:
        return None
    assert answer.certificate is not None
    return answer if answer.certificate.certified else None


def truth_of(instance: Instance, notion: Notion) -> Allocation:
    """The answer for the true instance; raises what `solve` raises, NotCertified included."""
    from fairopt.solving import solve

    instance.only_known("properties", "a property of a notion")
    instance.only_linear("a property of a notion")
    return solve(instance, notion)


def remark(notion: Notion) -> str:
    """A remark for the witness where the notion's answer is not unique, else ""."""
    varies = "; this notion may have other answers: the finding is about those of solve"
    return "" if notion.unique else varies


def worst_loss(before: Floats, after: Floats) -> tuple[float, int]:
    """(largest part of its tasks that a user loses, which user) for totals (N,)."""
    lost = np.where(before > 0, (before - after) / np.where(before > 0, before, 1.0), -1.0)
    n = int(lost.argmax())
    return float(lost[n]), n
