"""A proposition as data: its words, its hypotheses, random instances, and a check."""

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
    """The trial does not decide the statement: no certified answer, or a premise not met.

    Examples
    --------
    >>> from fairopt import propositions
    >>> issubclass(propositions.Undecided, Exception)
    True
    """


@dataclass(frozen=True)
class Hypothesis:
    """A condition on the instances of a statement.

    Parameters
    ----------
    name : a few words, or its number in the source, such as "(14)".
    holds : whether an instance meets it.
    without : a generator of instances that can break it; None if it is not to be broken.

    Examples
    --------
    >>> from fairopt import propositions
    >>> two = propositions.Hypothesis('two users', lambda inst: len(inst.users) == 2)
    >>> import fairopt as fo
    >>> two.holds(fo.Instance([[1], [2]], [[1]]))
    True
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
    source : the paper, and the statement's number in it.
    draw : (random generator) -> a small instance; drawn again until the hypotheses hold.
    check : (instance, seed) -> Check. Random allocations depend on the seed alone. It raises
        Undecided where the trial decides nothing, such as for want of a `certified` answer. It is
        not told whether a hypothesis is broken.
    hypotheses : conditions on the instances; each may be broken on purpose.
    reading : "printed" if the text is judged as printed and a corrected statement exists,
        "corrected" for that one, else "".
    notion : the notion that the check solves, if it is one; named in a saved counterexample.

    Examples
    --------
    >>> from fairopt import propositions
    >>> propositions.find('kesidis2018/proposition-2').source
    'kesidis2018 Proposition 2, (15), (16)'
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
        """Names of the hypotheses that can be broken, by a generator of such instances."""
        return tuple(h.name for h in self.hypotheses if h.without is not None)

    def generator(self, without: str = "") -> Draw:
        """The generator of instances for all hypotheses, or for all but `without`."""
        for hypothesis in self.hypotheses:
            if hypothesis.name == without and hypothesis.without is not None:
                return hypothesis.without
        return self.draw

    def meets(self, instance: Instance, without: str = "") -> bool:
        """Whether all hypotheses hold; or all but `without`, and that one does not."""
        return all(h.holds(instance) == (h.name != without) for h in self.hypotheses)


REGISTRY: dict[str, Statement] = {}
"""statements of the modules imported so far, by name"""


def stated(
    name: str,
    words: str,
    source: str,
    draw: Draw,
    hypotheses: tuple[Hypothesis, ...] = (),
    reading: str = "",
    notion: Notion | None = None,
) -> Callable[[CheckerT], CheckerT]:
    """Register the decorated check as a statement; parameters as in `Statement`."""

    def register(check: CheckerT) -> CheckerT:
        assert name not in REGISTRY, f"{name} is stated twice"
        REGISTRY[name] = Statement(name, words, source, draw, check, hypotheses, reading, notion)
        return check

    return register


def certified(instance: Instance, notion: Notion, reduce: bool = True) -> Allocation:
    """The certified answer of a notion; `reduce` as in `solve`.

    Raises
    ------
    Undecided : no answer is certified.

    Examples
    --------
    >>> from fairopt import propositions
    >>> import fairopt as fo
    >>> inst = fo.Instance([[1, 4], [3, 1]], [[9, 18]])
    >>> found = propositions.certified(inst, fo.ProportionalFair())
    >>> found.certificate.verdict
    'certified'
    """
    from fairopt.solving import solve

    try:
        return solve(instance, notion, reduce=reduce)
    except FairoptError as error:
        raise Undecided(f"{notion.name}: {type(error).__name__}") from error
