"""The parameters of every notion and what values they may have, in one table.

Notions check their own parameters by it; `Allocation` and the reader of files check those of a
notion given as plain data. Notions and judges share no code, so the table is imported by both.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from fairopt.criteria import CRITERIA
from fairopt.errors import Fault
from fairopt.formulas import families
from fairopt.formulas.schedulers import SCHEDULERS, SELECTIONS
from fairopt.instance.reading import AMOUNT, POSITIVE, nearest, shown

FILL = "fill:"
"""answers of schedulers are named fill:SCHEDULER"""
DIVISIONS = ("rdm", "tdm")
MIXES = ("demand", "free")
REFILLS = ("refill", "algorithm-1")
BOTTLENECKS = ("levels", "milp", "enumeration")
MEASURES = ("sum", "dominant")
OVERS = ("floor", "above", "proportion")
LARGEST_PARAMETER = 1e150
"""the largest parameter: the product of two of them must not overflow"""
STEEPEST = 1e8
"""the largest g of a trade-off: e^690 is the end of floating point, so that from 7e8 on two levels
one part in a million apart, which no certificate tells from equal, have worths F^-g beyond it"""
TIES = ("lowest", "highest", "random")


class ParameterRange(NamedTuple):
    """What values a parameter may have.

    wanted : in words, for messages. good : the test. needed : True if there is no default.
    """

    wanted: str
    good: Callable[[Any], bool]
    needed: bool = False


def amount(value: Any) -> float | None:
    """`value` as a float if it is a number from 0 to LARGEST_PARAMETER; else None."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if 0 <= number <= LARGEST_PARAMETER else None


def welfare(value: Any) -> float | None:
    """alpha of g: 1 for "log", else `value` as a number >= 0 (also as text, from a command line).

    None if it is neither.
    """
    if isinstance(value, str):
        try:
            value = 1.0 if value == "log" else float(value)
        except ValueError:
            return None
    return amount(value)


def _one_of(known: Collection[str], none: bool = False) -> ParameterRange:
    def good(value: Any) -> bool:
        return (none and value is None) or (isinstance(value, str) and value in known)

    return ParameterRange(f"one of {', '.join(known)}", good)


def _whole(value: Any) -> bool:
    return _seed(value) and bool(value >= 0)


def _order(value: Any) -> bool:
    listed = isinstance(value, list | tuple)
    return value is None or (listed and all(isinstance(name, str) for name in value))


_NUMBER = ParameterRange(
    f"{AMOUNT}, at most {LARGEST_PARAMETER:g}", lambda value: amount(value) is not None
)
_FLAG = ParameterRange("true or false", lambda value: isinstance(value, bool))
_CRITERION = ParameterRange(
    f"one of {', '.join(CRITERIA)}, or a function (instance) -> scores",
    lambda value: value in CRITERIA if isinstance(value, str) else callable(value),
)
_OBJECTIVE = ParameterRange(
    "most-tasks, fewest-tasks or the name of a user",
    lambda value: value is None or isinstance(value, str),
)
_STEEPNESS = ParameterRange(
    f"'log', or alpha as {AMOUNT}, at most {STEEPEST:g} (beyond, worths F^-g of levels a "
    "millionth apart are beyond floating point; max-min is the limit)",
    lambda value: (alpha := welfare(value)) is not None and alpha <= STEEPEST,
)
_OVER = _one_of(OVERS)
RULES: dict[str, dict[str, ParameterRange]] = {
    "throughput": {},
    "proportional": {"criterion": _CRITERION, "over": _OVER},
    "alpha-fair": {
        "alpha": _NUMBER._replace(needed=True),
        "criterion": _CRITERION,
        "weight_inside": _FLAG,
        "over": _OVER,
    },
    "max-min": {"criterion": _CRITERION, "measure": _one_of(MEASURES, none=True), "over": _OVER},
    "tradeoff": {
        "t_pf": _NUMBER,
        "t_drf": _NUMBER,
        "g": _STEEPNESS,
        "equal_across": _FLAG,
        "equal_within": _FLAG,
    },
    "ps-dsf": {
        "division": _one_of(DIVISIONS),
        "order": ParameterRange("a list of server names", _order),
        "method": _one_of(REFILLS),
        "seed": ParameterRange("a whole number >= 0", lambda value: value is None or _whole(value)),
        "objective": _OBJECTIVE,
    },
    "per-server-drf": {},
    "drf-hug": {},
    "equal-m": {"mix": _one_of(MIXES)},
    "sum-m": {},
    "bmf": {"method": _one_of(BOTTLENECKS, none=True), "objective": _OBJECTIVE},
}


CRITERION = {"max-min": "drf", "tradeoff": "dominant-share"}
"""default criterion of each notion whose default is not "tasks\""""


def criterion_of(notion: Mapping[str, Any]) -> str:
    """The criterion of a notion given as plain data."""
    kind = families.member(notion)
    return str(kind["parameters"].get("criterion", CRITERION.get(kind["name"], "tasks")))


def names() -> list[str]:
    """Every name that `faults` has rules for."""
    return [*RULES, *(f"{FILL}{name}" for name in SCHEDULERS), f"{FILL}optimum"]


def faults(name: str, given: Mapping[str, Any], scored: bool = False) -> list[Fault]:
    """Every fault of the parameters of the notion `name`.

    Parameters
    ----------
    name : of a notion, or fill:SCHEDULER. Parameters of notions unknown to fairopt are not checked.
    given : the parameters; those left out have their defaults.
    scored : whether scores (N, I) are given too; then the criterion may have any name.
    """
    rules = _filling(name) if name.startswith(FILL) else RULES.get(name)
    if rules is None:
        return []
    found = [
        Fault(key, "an unknown parameter", nearest(key, rules) if rules else "none")
        for key in given
        if key not in rules
    ]
    for key, rule in rules.items():
        if key not in given:
            if rule.needed:
                found.append(Fault(key, "nothing", rule.wanted))
        elif key == "criterion" and scored and isinstance(given[key], str):
            continue
        elif not rule.good(given[key]):
            found.append(Fault(key, words(given[key]), rule.wanted))
    return found or list(_together(name, given))


def _filling(name: str) -> dict[str, ParameterRange]:
    step = ParameterRange(
        f"{POSITIVE}, at most {LARGEST_PARAMETER:g}", lambda value: (amount(value) or 0.0) > 0
    )
    if name == f"{FILL}optimum":
        return {"increment": step}
    tie = _one_of(TIES)
    return {
        "selection": _one_of(SELECTIONS),
        "seed": ParameterRange("a whole number", _seed),
        "increment": step,
        "user_tie": tie,
        "server_tie": tie,
    }


def _seed(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _together(name: str, given: Mapping[str, Any]) -> Iterator[Fault]:
    """Faults of parameters that are allowed one by one but not together."""
    if name == "ps-dsf":
        method, seed = given.get("method", "refill"), given.get("seed")
        timed = given.get("division") == "tdm"
        if timed and (given.get("order") is not None or method != "refill"):
            yield Fault("order, method", "given with tdm", "rdm (tdm has one answer)")
        ordered = timed or method != "refill" or given.get("order") is not None
        if given.get("objective") is not None and ordered:
            yield Fault("objective", "given with tdm, a method or an order", "rdm alone")
        if seed is not None and method != "algorithm-1":
            yield Fault("seed", f"{seed}", "method algorithm-1, or no seed")
    if name == "bmf" and given.get("method") == "levels" and given.get("objective") is not None:
        yield Fault("method", "'levels' with an objective", "milp or enumeration")


def words(value: Any) -> str:
    """A value as a message shows it; of what is not plain data, only the type."""
    if isinstance(value, type):
        return f"the class {value.__name__}"
    if isinstance(value, np.generic):
        value = value.item()
    known = isinstance(value, str | int | float | Mapping | list | tuple | None)
    return shown(value) if known else f"an object of type {type(value).__name__}"
