"""The ways a notion can state its answer, as data; the solving side reads them, not the name.

Each way but `Procedure` is a program that a general solver can solve as it stands. Our engines are
faster methods for the same answers, and belong to families, not to notions.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar
from weakref import WeakSet

from fairopt.errors import BadInput, Fault
from fairopt.instance import Floats, Instance
from fairopt.program import Heights, Program

Steps = tuple[dict[str, Any], ...]


_ASKED: WeakSet[Any] = WeakSet()
"""methods whose arguments were looked at: a sweep asks for those of thousands of notions"""


class Way:
    """How an answer is stated: one of those below, or `SameAs` another notion (notion.py)."""

    said: ClassVar[str] = "it states no program, and no other way"
    """what is said to who asks a notion of this way for its one program"""


@dataclass(frozen=True)
class OneProgram(Way):
    """One convex program, `program(instance, score, unit)`."""

    program: Callable[[Instance, Floats, Floats], Program]

    def __post_init__(self) -> None:
        if getattr(self.program, "__func__", None) in _ASKED:
            return
        signature = inspect.signature(self.program)
        try:
            signature.bind(None, None, None)
        except TypeError:
            wanted = "program(instance, score, unit)"
            name = getattr(self.program, "__qualname__", "program")
            raise BadInput([Fault(name, f"{name}{signature}", wanted)]) from None
        if inspect.ismethod(self.program):
            _ASKED.add(self.program.__func__)


@dataclass(frozen=True)
class Levels(Way):
    """A program per level: raise the lowest heights; freeze those that cannot rise; repeat.

    `heights(instance, score, unit).next_level(free, level)` is the program of one level.

    Parameters
    ----------
    heights : (instance, score, unit) -> the heights to raise.
    rest : a second sequence over what the first left, if any: (instance, tasks (N, I)) -> Rest.
        The tasks of the answer are those of the first sequence.
    """

    heights: Callable[[Instance, Floats, Floats], Heights]
    rest: Callable[[Instance, Floats], Rest] | None = None
    said: ClassVar[str] = (
        "it states a program a level, .heights(instance, score, unit).next_level(free, level)"
    )


@dataclass(frozen=True)
class Rest:
    """What a first sequence left: its instance, its heights, and its answer as a step."""

    instance: Instance
    heights: Callable[[Instance, Floats, Floats], Heights]
    told: Callable[[Floats], dict[str, Any]]


@dataclass(frozen=True)
class Patterns(Way):
    """A mixed-integer program: booleans choose which resource stops which user.

    Parameters
    ----------
    program : (instance, choose, gain) -> the program, its booleans made by `choose(name, size)`.
        With numbers in place of the booleans it is a linear program: so the pattern found is
        fixed, and the program solved again.
    gain : (N,) gain per task of each user, to choose among several answers; 0 for any answer.
    chooses : whether the objective asks for a certain answer, which only this program finds.
    """

    program: Callable[[Instance, Choose, Floats], Program]
    gain: Floats
    chooses: bool = False
    said: ClassVar[str] = "it states a mixed-integer program, .patterns(instance, choose, gain)"


Choose = Callable[[str, int], Any]
"""(name, size) -> that many booleans: cvxpy variables, or numbers once they are known"""


@dataclass(frozen=True)
class Procedure(Way):
    """No program: instance -> tasks (N, I)."""

    tasks: Callable[[Instance], Floats]
    said: ClassVar[str] = "it states a procedure, .way(instance).tasks(instance)"
