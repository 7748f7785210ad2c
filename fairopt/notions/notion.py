"""What every notion of fairness is: frozen parameters, a name, and one way to its answer."""

from __future__ import annotations

from abc import ABC
from dataclasses import fields
from typing import Any, ClassVar

from fairopt import criteria, parameters
from fairopt.errors import BadInput


class Notion(ABC):
    """A notion of fairness, as data. Subclasses are frozen dataclasses, one a file.

    A notion states its answer in exactly one of three ways: `program` (one convex program),
    `steps` (a sequence of programs) or `procedure` (NumPy).
    """

    name: ClassVar[str]
    """the name on the command line and in files"""
    summary: ClassVar[str]
    """one line: what it maximises, and the source equation"""

    def __post_init__(self) -> None:
        """Refuse parameters out of range (`fairopt.parameters`).

        Raises
        ------
        BadInput : with every fault, by the parameter's name.
        """
        given = {f.name: getattr(self, f.name) for f in fields(self)}  # type: ignore[arg-type]
        found = parameters.faults(self.name, given)
        if found:
            raise BadInput(found)

    def plain(self) -> dict[str, Any]:
        """{"name", "parameters"}: what files and certificates see; parameters at None left out."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}  # type: ignore[arg-type]
        if "criterion" in values:
            values["criterion"] = criteria.name_of(values["criterion"])
        return {
            "name": self.name,
            "parameters": {k: v for k, v in values.items() if v is not None},
        }
