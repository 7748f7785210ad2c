"""The command line options of the notions, generated from the table NOTIONS."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, fields
from functools import partial
from typing import Any

import click

from fairopt.commands import complete, output
from fairopt.commands.lazy import NotionOption
from fairopt.criteria import CRITERIA
from fairopt.errors import UsageError
from fairopt.files import Model
from fairopt.files.cases import Case
from fairopt.formulas.parameters import OVERS
from fairopt.instance.labels import nearest
from fairopt.notions import NOTIONS, Notion, make

DEFAULT = Case("notion", "proportional")
"""the notion solved when neither the user nor the model names one"""


def parameters_of(notion: type[Notion]) -> dict[str, Field[Any]]:
    """The dataclass fields of a notion, by name."""
    return {f.name: f for f in fields(notion)}  # type: ignore[arg-type]


FLAGS = {"over": "guarantees"}
"""parameters whose option has another name: `fairopt sweep` has an --over of its own"""


def flag(name: str) -> str:
    """The option that sets a parameter."""
    return "--" + FLAGS.get(name, name).replace("_", "-")


def options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add --notion and one option for each parameter that any notion takes."""
    takers: dict[str, list[str]] = {}
    kinds: dict[str, Field[Any]] = {}
    for name, notion in NOTIONS.items():
        for key, field in parameters_of(notion).items():
            takers.setdefault(key, []).append(name)
            kinds.setdefault(key, field)
    for key in reversed(takers):
        command = _option(key, kinds[key], takers[key])(command)
    return click.option(
        "--notion",
        metavar="NAME",
        shell_complete=complete.notions,
        help="A notion of the list below; default the model's own.",
    )(command)


def _option(name: str, field: Field[Any], takers: list[str]) -> Callable[..., Any]:
    help_text = _said(name, NOTIONS[takers[0]])
    if name == "criterion":
        help_text = f"What a share is: one of {', '.join(CRITERIA)}."
    if name == "over":
        help_text = f"How what is left beyond guarantees is divided: {', '.join(OVERS)}."
    if field.default not in (MISSING, None) and not isinstance(field.default, bool):
        help_text += f" Default {field.default}."
    option = partial(click.option, cls=NotionOption, takers=tuple(takers))
    annotation = str(getattr(field.type, "__name__", field.type)).removesuffix(" | None")
    if annotation == "bool":
        return option(flag(name), name, is_flag=True, default=None, help=help_text)
    if annotation.startswith("tuple"):
        return option(flag(name), name, callback=_split, metavar="A,B,...", help=help_text)
    kind = {"float": click.FLOAT, "int": click.INT}.get(annotation, click.STRING)
    return option(flag(name), name, type=kind, metavar=_letter(name), help=help_text)


def _said(name: str, notion: type[Notion]) -> str:
    """What the notion's docstring says of a parameter."""
    text = str(notion.__doc__).partition("Parameters\n")[2]
    found = re.search(rf"^    {name} : (.*?)(?=^    \S|^ *$|\Z)", text, re.M | re.S)
    words = " ".join(found[1].split()).replace("`", "") if found else ""
    return words[:1].upper() + words[1:]


def _split(
    context: click.Context, option: click.Parameter, value: str | None
) -> tuple[str, ...] | None:
    return None if value is None else tuple(part.strip() for part in value.split(","))


def _letter(name: str) -> str:
    return name.split("_")[-1].upper()[:9]


def listed() -> str:
    """The notions with one line each, for the help text."""
    width = max(map(len, NOTIONS))
    return "\n".join(f"  {name:<{width}}  {notion.summary}" for name, notion in NOTIONS.items())


def chosen(model: Model, name: str | None, case: int | None, given: Mapping[str, Any]) -> Notion:
    """The notion that the options name; where they name none, the notion of the model's case.

    Parameters
    ----------
    model : the default is its first case that names a notion.
    name : --notion.
    case : --case, counted from 1.
    given : the parameters set on the command line, by Python name.

    Raises
    ------
    UsageError : an option that the notion does not take, or a case that names no notion.
    BadInput : a parameter out of range.
    """
    if name is not None and case is not None:
        raise UsageError("--notion and --case exclude each other: a case names its own notion")
    if name is not None:
        name, given = meant(name, given)
        base = Case("notion", name)
    elif case is not None:
        base = _case(model, case)
    else:
        base = next((c for c in model.cases if c.kind == "notion"), DEFAULT)
        if base.name in NOTIONS and set(given) - set(parameters_of(NOTIONS[base.name])):
            # --alpha 2 needs no --notion
            takers = [
                n
                for n, notion in NOTIONS.items()
                if notion.deduced and set(given) <= set(parameters_of(notion))
            ]
            base = Case("notion", takers[0]) if takers else base
    if base.name in NOTIONS:
        takes = parameters_of(NOTIONS[base.name])
        wrong = [flag(key) for key in given if key not in takes]
        needed = [
            flag(k)
            for k, f in takes.items()
            if f.default is MISSING and k not in {**base.parameters, **given}
        ]
        if wrong:
            known = ", ".join(map(flag, takes)) or "no option of its own"
            raise UsageError(f"{', '.join(wrong)}: {base.name} does not take it; it takes {known}")
        if needed:
            raise UsageError(f"{base.name} needs {', '.join(needed)}")
    return make(base.name, **{**base.parameters, **given})


def _case(model: Model, number: int) -> Case:
    if not 1 <= number <= len(model.cases):
        count = len(model.cases)
        raise UsageError(f"--case: found {number}; the model has {count or 'no'} cases, from 1")
    case = model.cases[number - 1]
    if case.kind != "notion":
        raise UsageError(f"--case: case {number} is {case.kind} {case.name!r}; wanted a notion")
    return case


# Other names that people type for a notion, and which notion is meant by them.


OTHERS: dict[str, tuple[str, dict[str, Any]]] = {
    "drf": ("max-min", {"criterion": "drf"}),
    "drfh": ("max-min", {"criterion": "drf"}),
    "cdrfh": ("max-min", {"criterion": "drf"}),
    "dominantresourcefairness": ("max-min", {"criterion": "drf"}),
    "tsf": ("max-min", {"criterion": "tsf"}),
    "tasksharefairness": ("max-min", {"criterion": "tsf"}),
    "cdrf": ("max-min", {"criterion": "cdrf"}),
    "mmf": ("max-min", {}),
    "maxminfair": ("max-min", {}),
    "maxminfairness": ("max-min", {}),
    "leximin": ("max-min", {}),
    "egalitarian": ("max-min", {}),
    "pf": ("proportional", {}),
    "proportionalfairness": ("proportional", {}),
    "nash": ("proportional", {}),
    "nashwelfare": ("proportional", {}),
    "nsw": ("proportional", {}),
    "ceei": ("proportional", {}),
    "alpha": ("alpha-fair", {}),
    "alphafairness": ("alpha-fair", {}),
    "utilitarian": ("throughput", {}),
    "efficiency": ("throughput", {}),
    "maxthroughput": ("throughput", {}),
    "rdm": ("ps-dsf", {"division": "rdm"}),
    "tdm": ("ps-dsf", {"division": "tdm"}),
    "perserver": ("per-server-drf", {}),
    "hug": ("drf-hug", {}),
    "bottleneck": ("bmf", {}),
    "bottleneckmaxfairness": ("bmf", {}),
}
"""name in small letters without signs -> the notion meant, with its parameters"""


def meant(name: str, given: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The notion meant by a name, with the parameters; said on stderr if it is another name.

    Parameters
    ----------
    name : as typed. given : parameters typed, which go before those that the name implies.

    Raises
    ------
    UsageError : nobody knows the name; the message names the nearest, or the scheduler meant.
    """
    if name in NOTIONS:
        return name, dict(given)
    bare = _bare(name)
    known: dict[str, tuple[str, dict[str, Any]]] = dict(OTHERS)
    for key, notion in NOTIONS.items():
        known |= {_bare(key): (key, {}), _bare(notion.__name__): (key, {})}
    found = known.get(bare)
    if found is None:
        from fairopt.formulas.schedulers import SCHEDULERS

        if name in SCHEDULERS:
            raise UsageError(
                f"--notion: {name} is a scheduler of whole tasks; "
                f"type fairopt fill MODEL --scheduler {name}"
            )
        raise UsageError(f"--notion: found {name!r}; wanted {nearest(name, NOTIONS)}")
    key, implied = found
    parameters = {**implied, **given}
    flags = "".join(f" --{k.replace('_', '-')} {v}" for k, v in implied.items() if k not in given)
    output.remark(f"fairopt: {name} is solved as --notion {key}{flags}")
    return key, parameters


def _bare(name: str) -> str:
    """The letters and digits of a name, small."""
    return "".join(letter for letter in name.lower() if letter.isalnum())
