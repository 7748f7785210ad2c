"""The ways a notion can state its answer, as data; the solving side reads them, whatever the name.

Each is a promise to solve it as it stands by a general solver. Our own engines are other, faster
ways to the same answers, and belong to families, not to notions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fairopt.instance import Floats, Instance
from fairopt.program import Heights, Program

if TYPE_CHECKING:
    from fairopt.notions.notion import Notion

Steps = tuple[dict[str, Any], ...]


@dataclass(frozen=True)
class OneProgram:
    """One convex program, `program(instance, score, unit)`."""

    program: Callable[[Instance, Floats, Floats], Program]


@dataclass(frozen=True)
class Levels:
    """A program a level: the lowest heights as high as can be, who cannot rise frozen, and again.

    Parameters
    ----------
    heights : (instance, score, unit) -> what rises.
    rest : a second sequence, about what the first left: (instance, tasks (N, I)) -> an instance
        whose users rise in it, its heights, and its tasks as a step of the answer. The tasks of
        the answer are those of the first.
    """

    heights: Callable[[Instance, Floats, Floats], Heights]
    rest: Callable[[Instance, Floats], Rest] | None = None


@dataclass(frozen=True)
class Rest:
    """What a first sequence left, as a question of its own, and its answer told as a step."""

    instance: Instance
    heights: Callable[[Instance, Floats, Floats], Heights]
    told: Callable[[Floats], dict[str, Any]]


@dataclass(frozen=True)
class Patterns:
    """A mixed-integer program: who is stopped by what is chosen by booleans.

    Parameters
    ----------
    program : (instance, choose, gain) -> the program, its booleans made by `choose(name, size)`.
        With numbers in their place it is a linear program: the pattern found is solved for again.
    gain : (N,) what a task of each user is worth, to choose among several answers; 0 for any.
    chooses : whether a certain answer is asked for, which only this program finds.
    """

    program: Callable[[Instance, Choose, Floats], Program]
    gain: Floats
    chooses: bool = False


Choose = Callable[[str, int], Any]
"""(name, size) -> that many booleans: cvxpy variables, or numbers once they are known"""


@dataclass(frozen=True)
class SameAs:
    """The same as another notion on another instance.

    Parameters
    ----------
    back : the other's tasks -> tasks (N, I) of this, and steps to tell.
    """

    instance: Instance
    notion: Notion
    back: Callable[[Floats], tuple[Floats, Steps]] = lambda tasks: (tasks, ())


@dataclass(frozen=True)
class Procedure:
    """No program: instance -> tasks (N, I)."""

    tasks: Callable[[Instance], Floats]


Way = OneProgram | Levels | Patterns | SameAs | Procedure
