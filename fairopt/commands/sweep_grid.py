"""From --over to points: every fault of every option in one message."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fairopt.commands import notion_names, notion_options
from fairopt.errors import BadInput, Fault, UsageError
from fairopt.files import Model
from fairopt.instance import Instance
from fairopt.notions import NOTIONS, Notion
from fairopt.sweeping.axis import Axis, axes_of
from fairopt.sweeping.grid import deduced, faults_of, grid, of_instance, parameters_of

TRIED = 50
"""most values of the swept parameters tried, until the notion accepts one"""


def points(
    model: Model, over: Sequence[str], name: str | None, case: int | None, given: Mapping[str, Any]
) -> tuple[list[tuple[Instance, Notion]], list[dict[str, Any]]]:
    """The points of the grid, and for each the swept values by name.

    Raises
    ------
    BadInput : everything wrong with --over, together.
    UsageError : no --over, or options that no notion takes.
    """
    if not over:
        raise UsageError("--over: found none; wanted at least one, as in --over alpha=0.5,1,2")
    axes, faults = axes_of(over)
    if name is not None:
        swept = {axis.name for axis in axes}
        name, named = notion_names.meant(name, given)
        given = {key: value for key, value in named.items() if key in given or key not in swept}
    for axis in axes:
        if axis.name in given:
            flag = notion_options.flag(axis.name)
            faults.append(Fault(f"--over {axis.name}", f"{flag} beside it", "one of the two"))
    axes = [axis for axis in axes if axis.name not in given]
    try:
        notion = _notion(model, axes, name, case, given, faults)
    except UsageError as error:
        if not faults:
            raise
        faults.append(Fault("notion", "options that make none", str(error)))
        notion = None
    values = {axis.name: axis.values for axis in axes}
    if notion is not None:
        faults.extend(faults_of(model.instance, notion, values))
    if faults:
        raise BadInput(faults)
    assert notion is not None
    return grid(model.instance, notion, values)


def _notion(
    model: Model,
    axes: Sequence[Axis],
    name: str | None,
    case: int | None,
    given: Mapping[str, Any],
    faults: list[Fault],
) -> Notion | None:
    """The notion with the given parameters, and the first swept values that it accepts."""
    everyone = {key for notion in NOTIONS.values() for key in parameters_of(notion)}
    own = [axis for axis in axes if axis.name in everyone and not of_instance(axis.name)]
    if name is None and case is None:
        name = _meant(model, [axis.name for axis in own], given, faults)
    if name is not None and name in NOTIONS:
        takes = parameters_of(NOTIONS[name])
        own = [axis for axis in own if axis.name in takes]
    wrong: BadInput | None = None
    for k in range(min(TRIED, max((len(axis.values) for axis in own), default=1))):
        first = {axis.name: axis.values[min(k, len(axis.values) - 1)] for axis in own}
        try:
            return notion_options.chosen(model, name, case, {**given, **first})
        except BadInput as error:
            wrong = wrong or error
    assert wrong is not None
    faults.extend(Fault(f"--over {f.place}", f.found, f.wanted) for f in wrong.faults)
    return None


def _meant(
    model: Model, swept: Sequence[str], given: Mapping[str, Any], faults: list[Fault]
) -> str | None:
    """The notion that takes the swept and given parameters; None means the model's own."""
    first = next((c for c in model.cases if c.kind == "notion"), notion_options.DEFAULT)
    names = [*swept, *given]
    if first.name in NOTIONS and set(names) <= set(parameters_of(NOTIONS[first.name])):
        return None
    meant = deduced(names)
    if meant is None and swept:
        faults.append(
            Fault("--over", ", ".join(names), "parameters of one notion; name it with --notion")
        )
    return meant
