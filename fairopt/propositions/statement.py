"""What a proposition is, as data: its words, its hypotheses, random instances, and one check."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from fairopt.allocation import Allocation
from fairopt.allocation.check import Check
from fairopt.errors import FairoptError
from fairopt.instance import Instance
from fairopt.notions import Notion

Draw = Callable[[np.random.Generator], Instance]
Checker = Callable[[Instance, int], Check]
CheckerT = TypeVar("CheckerT", bound=Checker)


class Undecided(Exception):
    """The trial says nothing about the statement: no certified answer, a premise not met."""


@dataclass(frozen=True)
class Hypothesis:
    """What a statement asks of an instance.

    Parameters
    ----------
    name : in a few words or as the source numbers it, "(14)".
    holds : whether an instance meets it.
    without : a generator whose instances can break it; None where breaking it shows nothing.
    """

    name: str
    holds: Callable[[Instance], bool]
    without: Draw | None = None


@dataclass(frozen=True)
class Statement:
    """A numbered statement, made executable.

    Parameters
    ----------
    name : "work/statement".
    words : the statement.
    source : the work and its number there.
    draw : a random small instance from a generator; those that miss a hypothesis are drawn again.
    check : (instance, seed) -> Check. Random allocations come from the seed alone. A statement
        about an allocation solves it (`certified`); it raises Undecided where the trial says
        nothing. It never knows what is expected.
    hypotheses : what the instances meet; each may be broken on purpose.
    reading : "printed" where the printed text is judged and a better one exists, "corrected" for
        the better one, else "".
    notion : what the check solves, if one notion: named in a saved counterexample.
    """

    name: str
    words: str
    source: str
    draw: Draw
    check: Checker
    hypotheses: tuple[Hypothesis, ...] = ()
    reading: str = ""
    notion: Notion | None = None

    def breakable(self) -> tuple[str, ...]:
        """Names of the hypotheses that have a generator of instances without them."""
        return tuple(h.name for h in self.hypotheses if h.without is not None)

    def generator(self, without: str = "") -> Draw:
        """The generator of instances that meet all hypotheses, or all but one."""
        for hypothesis in self.hypotheses:
            if hypothesis.name == without and hypothesis.without is not None:
                return hypothesis.without
        return self.draw

    def meets(self, instance: Instance, without: str = "") -> bool:
        """All hypotheses hold; or all but `without`, which does not."""
        return all(h.holds(instance) == (h.name != without) for h in self.hypotheses)


REGISTRY: dict[str, Statement] = {}
"""every statement of the modules imported so far, by name"""


def stated(
    name: str,
    words: str,
    source: str,
    draw: Draw,
    hypotheses: tuple[Hypothesis, ...] = (),
    reading: str = "",
    notion: Notion | None = None,
) -> Callable[[CheckerT], CheckerT]:
    """Register the check that follows as a statement; parameters as of `Statement`."""

    def register(check: CheckerT) -> CheckerT:
        assert name not in REGISTRY, f"{name} is stated twice"
        REGISTRY[name] = Statement(name, words, source, draw, check, hypotheses, reading, notion)
        return check

    return register


def certified(instance: Instance, notion: Notion, reduce: bool = True) -> Allocation:
    """The certified answer of a notion; `reduce` as in `solve`.

    Raises
    ------
    Undecided : there is none.
    """
    from fairopt.solving import solve

    try:
        return solve(instance, notion, reduce=reduce)
    except FairoptError as error:
        raise Undecided(f"{notion.name}: {type(error).__name__}") from error
