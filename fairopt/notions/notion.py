"""What every notion of fairness is: frozen parameters, a name, and a way to its answer, as data."""

from __future__ import annotations

import re
from abc import ABC
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from typing import Any, ClassVar

from fairopt import criteria
from fairopt.criteria import Criterion
from fairopt.errors import BadInput, UsageError
from fairopt.formulas import families, parameters
from fairopt.instance import Floats, Instance
from fairopt.notions.way import OneProgram, Steps, Way
from fairopt.program import Program

WEIGHT, POWER, HEAVIEST = "weight", "power", "heaviest"
"""how merged users share tasks: by phi; by phi^(1/alpha); all to a user of largest weight"""

UNSAID = {"over": "floor"}
"""parameters that plain data leave out at their default: older answers do not have them"""


@cache
def _names(kind: type) -> tuple[str, ...]:
    """Parameters of a class of notions: a sweep asks for those of thousands of notions."""
    return tuple(f.name for f in fields(kind)) if is_dataclass(kind) else ()


@dataclass(frozen=True)
class Merging:
    """How equal users and servers may be solved as one, exactly (docs/maths/reduction.md).

    Parameters
    ----------
    users : WEIGHT, POWER or HEAVIEST.
    servers : whether servers of equal or proportional capacity may be merged.
    alone_matters : the notion compares with gamma, the most tasks a user could run alone, so a
        resource may be dropped only if gamma does not change.
    alpha : the exponent of POWER and HEAVIEST.
    inside : the notion that is solved with the merged weights, if it is another (POWER, alpha > 1).
    """

    users: str = WEIGHT
    servers: bool = True
    alone_matters: bool = False
    alpha: float = 1.0
    inside: Notion | None = None


@dataclass(frozen=True)
class SameAs(Way):
    """The same as another notion on another instance.

    Parameters
    ----------
    back : tasks of the other notion -> tasks (N, I) of this one, and steps of the answer.
    """

    said: ClassVar[str] = (
        "it is another notion on another instance, .way(instance).notion and .instance"
    )
    instance: Instance
    notion: Notion
    back: Callable[[Floats], tuple[Floats, Steps]] = lambda tasks: (tasks, ())


_UNSAID_OF_A_WAY: dict[str, Any] = {
    "family": families.OWN,
    "merging": None,
    "unique": False,
    "gradient": None,
}
"""what a class has that brings a program, or another way, and says nothing about these"""


def _brought(way: Any) -> bool:
    """Whether a program or way is somebody's own, and none of those that come with fairopt."""
    return way is not None and not getattr(way, "__module__", "").startswith("fairopt.notions.")


class Notion(ABC):
    """A notion of fairness, as data. Subclasses are frozen dataclasses, one a file.

    One that states a `program` needs nothing else: it is solved by general solvers. With
    `gradient(instance, tasks (N, I)) -> (N, I)`, the derivative of its concave objective by each
    task, its answers are judged by prices; without, feasible answers are returned as `unproved`.

    A class that brings a program, or another way, is a notion of its own, whatever it inherits
    from: its program is what is solved. It is judged as a member of a family only if it says so.

    Examples
    --------
    >>> import fairopt as fo
    >>> isinstance(fo.AlphaFair(2), fo.notions.Notion), fo.AlphaFair(2).family
    (True, 'alpha-fair')
    """

    name: ClassVar[str]
    """the name on the command line and in files; default from the name of the class"""
    summary: ClassVar[str] = ""
    """one line: what it maximises, and the source equation"""
    family: ClassVar[str] = families.OWN
    """who judges it, and which of our engines solve it; see `fairopt.formulas.families`"""
    compared: ClassVar[tuple[dict[str, Any], ...]] = ({},)
    """parameters it is shown with in a comparison of all notions"""
    deduced: ClassVar[bool] = False
    """whether the command line chooses it when only parameters that it takes are given"""
    fluid: ClassVar[bool] = False
    """whether it is shown for comparison with the schedulers of whole tasks"""
    gradient: Any = None
    criterion: Criterion = "tasks"
    """the score u[n,i] that shares are measured in"""

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        if "name" not in cls.__dict__:
            cls.name = re.sub(r"(?<!^)(?=[A-Z])", "-", cls.__name__).lower()
        if any(_brought(cls.__dict__.get(way)) for way in ("program", "way")):
            # what was true of the parent's program is not known of this one, unless it is said
            for name, unsaid in _UNSAID_OF_A_WAY.items():
                if name not in cls.__dict__:
                    setattr(cls, name, unsaid)
            if "way" not in cls.__dict__:
                cls.way = Notion.way  # type: ignore[method-assign]

    def __post_init__(self) -> None:
        """Refuse parameters out of range, its own and its family's (`fairopt.formulas.parameters`).

        Raises
        ------
        BadInput : with every fault, by the parameter's name.
        """
        own = {name: getattr(self, name) for name in self._fields()}
        read = {name: getattr(self, name) for name in self._read() if hasattr(self, name)}
        found = parameters.faults(self.name, own)
        if self.name not in parameters.RULES:
            found = parameters.faults(self.family, read)
        if found:
            raise BadInput(found)

    def program(self, instance: Instance, score: Floats, unit: Floats) -> Program:
        """The convex program, if the notion is stated by one.

        Parameters
        ----------
        instance : the cluster. score : (N, I), share of one task.
        unit : (N,) > 0, a share of about the expected size, to scale the program.
        """
        way = self.way(instance)
        said = Way.said if isinstance(way, OneProgram) else way.said
        raise UsageError(f"notion {self.name}: {said}")

    def way(self, instance: Instance) -> Way:
        """How the answer is stated; by default as the one `program`."""
        return OneProgram(self.program)

    @property
    def judgeless(self) -> bool:
        """Whether only feasibility can be judged: the notion has no family and no gradient."""
        return self.family == families.OWN and self.gradient is None

    def slope(self, instance: Instance, tasks: Floats) -> tuple[Floats, ...]:
        """(gradient (N, I) at the tasks,) for the judge; () if the notion states none."""
        return () if self.gradient is None else (self.gradient(instance, tasks),)

    @property
    def unique(self) -> bool:
        """Whether the answer's totals are the only ones."""
        return False

    @property
    def merging(self) -> Merging | None:
        """How equal users and servers may be merged; None if they may not."""
        return None

    def plain(self) -> dict[str, Any]:
        """{"name", "parameters"}: what files and certificates see; parameters at None left out.

        A notion that the judging side does not know by name adds its "family", and those of its
        attributes that the family's judge reads.
        """
        plain: dict[str, Any] = {"name": self.name, "parameters": self._values(self._fields())}
        if self.name not in parameters.RULES:
            plain["family"] = {"name": self.family, "parameters": self._values(self._read())}
        return plain

    def _fields(self) -> list[str]:
        return list(_names(type(self)))

    def _read(self) -> list[str]:
        """Parameters of its family, which the family's judge reads."""
        return list(parameters.RULES.get(self.family, ("criterion",)))

    def _values(self, names: list[str]) -> dict[str, Any]:
        """Attributes by name, without those at None; the criterion by its name."""
        values = {name: getattr(self, name) for name in names if hasattr(self, name)}
        if "criterion" in values:
            values["criterion"] = criteria.name_of(values["criterion"])
        return {
            key: value
            for key, value in values.items()
            if value is not None and UNSAID.get(key) != value
        }
