"""What is proved of priority classes, one after another: the records of `classes`."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fairopt.allocation import Allocation
from fairopt.certificates import parts
from fairopt.certificates.proof import Proof, at_place
from fairopt.certificates.question import Question
from fairopt.instance import Bools, Floats


@dataclass(frozen=True)
class Stage:
    """The question of one class, and what is proved.

    Parameters
    ----------
    rank : the class. active : (N,) of it, who can have more than its floor. alloc : the answer as
        this question has it. question : of all users; `part` without those who hold nothing.
    """

    rank: int
    active: Bools
    alloc: Allocation
    question: Question
    part: parts.QuestionPart
    proof: Proof

    def nearer(self) -> dict[str, Floats] | None:
        """Tasks and prices of the point from which the class was judged, as fields of an
        allocation; None if there is none."""
        place = self.proof.found.place
        if place is None:
            return None
        value = np.zeros((len(place.value), self.question.users))
        value[:, self.part.users] = place.value
        unit = place.log_unit
        if np.ndim(unit):
            unit = np.zeros(self.question.users)
            unit[self.part.users] = place.log_unit
        at = self.part.whole(place.columns)
        whole = replace(place, columns=at, value=value, log_unit=unit)
        return at_place(self.question, whole, self.alloc)


@dataclass(frozen=True)
class Classes:
    """What is proved of all classes: off, surely (N,) as of a `Proof`; low, high (N,) the ends of
    what each is due. gap : the largest of a class. stages : in order."""

    off: Floats
    surely: Floats
    low: Floats
    high: Floats
    gap: float
    stages: tuple[Stage, ...]

    @property
    def question(self) -> Question:
        """Of the last class."""
        return self.stages[-1].question

    def ends(self) -> tuple[Floats, Floats]:
        """(N,) the lowest and the highest share of each user that is due."""
        return self.low, self.high


__all__ = ["Classes", "Stage"]
