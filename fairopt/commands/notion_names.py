"""Other names that people type for a notion, and which notion is meant by them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fairopt.commands import output
from fairopt.errors import UsageError
from fairopt.instance.labels import nearest
from fairopt.notions import NOTIONS

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
