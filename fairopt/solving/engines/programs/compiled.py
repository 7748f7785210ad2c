"""Programs of the trade-off compiled once and solved for many penalties.

Building such a program takes seven times as long as solving it. The weights of the penalties are
cvxpy Parameters; a change of anything else needs a new program: alpha cannot be a Parameter, and
weights, capacities and demands change the units of every row.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

from fairopt.instance import Floats, Instance
from fairopt.notions import Tradeoff
from fairopt.program import Program

KEPT = 8
"""programs kept per thread; a sweep alternates between at most four shapes of one instance"""
_here = threading.local()


@dataclass(frozen=True)
class Compiled(Program):
    """A program whose cvxpy problem is built once; `penalty` holds its Parameters t_pf, t_drf."""

    whole: Any = None
    penalty: tuple[Any, Any] = (0.0, 0.0)

    def problem(self) -> Any:
        """The cvxpy problem, built once."""
        return self.whole


def tradeoff(notion: Tradeoff, instance: Instance, score: Floats, unit: Floats) -> Compiled:
    """The program of a trade-off with its penalties set; built if this thread has none like it.

    It keeps nothing of an earlier answer, so that every point is solved without a warm start.

    Parameters
    ----------
    notion, instance, score, unit : as of `Tradeoff.program`.
    """
    programs: OrderedDict[Any, Compiled] = _here.__dict__.setdefault("programs", OrderedDict())
    given = notion.t_pf, notion.t_drf
    # a penalty of 0 is left out of the program; without both it may be a linear program
    shape = tuple(t > 0 for t in given)
    key = (
        instance.digest(),
        score.tobytes(),
        unit.tobytes(),
        shape,
        notion.g,
        notion.equal_across,
        notion.equal_within,
    )
    if key not in programs:
        programs[key] = _built(notion, instance, score, unit, shape)
        while len(programs) > KEPT:
            programs.popitem(last=False)
    programs.move_to_end(key)
    found = programs[key]
    for parameter, t in zip(found.penalty, given, strict=True):
        if t > 0:
            parameter.value = t
    for variable in found.whole.variables():
        variable.save_value(None)
    return found


def _built(
    notion: Tradeoff, instance: Instance, score: Floats, unit: Floats, shape: tuple[bool, ...]
) -> Compiled:
    import cvxpy as cp

    names = "t_pf", "t_drf"
    t_pf, t_drf = (
        cp.Parameter(nonneg=True, name=name) if there else 0.0
        for name, there in zip(names, shape, strict=True)
    )
    program = notion.program(instance, score, unit, (t_pf, t_drf))
    return Compiled(
        program.objective, program.space, program.definition, program.problem(), (t_pf, t_drf)
    )
