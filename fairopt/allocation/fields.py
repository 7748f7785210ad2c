"""Checks of what an answer is given: shapes, signs, finite numbers, names of rounds, its notion."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fairopt import criteria
from fairopt.errors import BadInput, Fault
from fairopt.formulas import families, parameters
from fairopt.formulas.parameters import words
from fairopt.instance import Floats, Instance, is_sealed, sealed
from fairopt.instance.labels import nearest
from fairopt.instance.quotas.records import Table

ROUND = ("t", "jump", "priority", "users", "prices")
Round = Mapping[str, Any]


def shapes(instance: Instance) -> dict[str, tuple[int, ...]]:
    """The shape of each kind of prices, by its name."""
    n, i, r = instance.shape
    bounds, nodes = (0,), (0, n + 1)
    if instance.quotas is not None:
        bounds = (len(instance.tree.bounds),)
        nodes = (len(instance.tree.quotas), len(instance.tree.nodes))
    return {
        "prices": (i, r),
        "limit_prices": (n,),
        "bound_prices": bounds,
        "node_prices": nodes,
        "floor_prices": (n,),
        "rule_prices": (len(instance.own_rows),),
        "limit_on_prices": (0, 0) if instance.limit_on is None else (n, i),
    }


def checked(
    name: str,
    given: ArrayLike | None,
    shape: tuple[int | None, ...],
    faults: list[Fault],
    signed: bool = False,
) -> Floats | None:
    """The array given, sealed, with 0.0 for -0.0; None, and a fault added, if it is faulty."""
    if given is None:
        return None
    try:
        array = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        faults.append(Fault(name, f"something that is no array ({error})", "numbers"))
        return None
    if array.shape != shape and not _fits(array.shape, shape):
        faults.append(Fault(name, f"shape {array.shape}", f"shape {shape}"))
    elif array.size:
        least, most = float(array.min()), float(array.max())
        if not (math.isfinite(least) and math.isfinite(most)):
            faults.append(Fault(name, "NaN or infinity", "finite numbers"))
        elif least < 0 and not signed:
            faults.append(Fault(name, f"{least:g}", "numbers >= 0"))
    # an array taken over from another answer is sealed already
    return array if is_sealed(array) else sealed(array + 0.0)


def signs(name: str, instance: Instance, given: Floats, faults: list[Fault]) -> None:
    """Add a fault for each price below 0 of a rule that is not `equal`."""
    for row, price in zip(instance.own_rows, given.tolist(), strict=True):
        if price < 0 and not (row.up and row.down):
            faults.append(Fault(f"{name}.{row.name}", f"{price:g}", "a number >= 0"))


def _fits(found: tuple[int, ...], wanted: tuple[int | None, ...]) -> bool:
    """Whether a shape is the one wanted, where None is any length."""
    alike = (w is None or a == w for a, w in zip(found, wanted, strict=False))
    return len(found) == len(wanted) and all(alike)


def running(
    instance: Instance, tasks: Floats | None, ways: Floats | None, faults: list[Fault]
) -> Floats | None:
    """(N, I) tasks: with modes, the sum over each user's modes; those given must agree with it."""
    if instance.modes is None:
        if ways is not None:
            faults.append(Fault("way_tasks", "tasks by mode", "none: no user has modes"))
        if tasks is None and not faults:
            faults.append(Fault("tasks", "nothing", "tasks of each user on each server"))
        return tasks
    if ways is None or faults:
        if not faults:
            faults.append(Fault("way_tasks", "nothing", "tasks of each mode: users have modes"))
        return tasks
    total = sealed(instance.ways.running(ways))
    if tasks is not None:
        off = np.abs(tasks - total) > 1e-9 * np.abs(ways).max(initial=0.0)
        for n, i in np.argwhere(off)[:20]:
            place = f"tasks.{instance.users[n]}.{instance.servers[i]}"
            wanted = f"{total[n, i]:.9g}, the sum over its modes"
            faults.append(Fault(place, f"{tasks[n, i]:.9g}", wanted))
    return total


def told(
    instance: Instance, rounds: Sequence[Round] | None, faults: list[Fault]
) -> tuple[Round, ...] | None:
    """The rounds given, with sealed arrays; None for none, or where one is at fault."""
    if rounds is None:
        return None
    if isinstance(rounds, Mapping | str) or not isinstance(rounds, Sequence):
        faults.append(Fault("rounds", f"a {type(rounds).__name__}", "a list of rounds"))
        return None
    return tuple(_round(instance, each, f"rounds[{k}]", faults) for k, each in enumerate(rounds))


def _round(instance: Instance, given: Any, place: str, faults: list[Fault]) -> Round:
    if not isinstance(given, Mapping):
        faults.append(Fault(place, f"a {type(given).__name__}", f"{{{', '.join(ROUND)}}}"))
        return Table()
    _known(given, ROUND, place, faults)
    users = given.get("users", ())
    if isinstance(users, str) or not isinstance(users, Sequence):
        faults.append(Fault(f"{place}.users", f"a {type(users).__name__}", "names of users"))
        users = ()
    known = set(instance.users)
    for name in users:
        if not isinstance(name, str) or name not in known:
            wanted = nearest(str(name), instance.users)
            faults.append(Fault(f"{place}.users", f"the unknown user {name!r}", wanted))
    prices = given.get("prices", {})
    if not isinstance(prices, Mapping):
        faults.append(Fault(f"{place}.prices", f"a {type(prices).__name__}", "prices by kind"))
        prices = {}
    shape = shapes(instance)
    _known(prices, tuple(shape), f"{place}.prices", faults)
    arrays = {
        name: checked(f"{place}.prices.{name}", prices[name], of, faults, name == "rule_prices")
        for name, of in shape.items()
        if prices.get(name) is not None
    }
    own = arrays.get("rule_prices")
    if own is not None and own.shape == shape["rule_prices"]:
        signs(f"{place}.prices.rule_prices", instance, own, faults)
    return Table(
        {
            "t": _number(given.get("t"), f"{place}.t", math.inf, faults),
            "jump": _number(given.get("jump", 0.0), f"{place}.jump", 1.0, faults),
            "priority": int(
                _number(given.get("priority", 0), f"{place}.priority", 2.0**53, faults)
            ),
            "users": tuple(users),
            "prices": Table(arrays),
        }
    )


def _known(given: Round, known: tuple[str, ...], place: str, faults: list[Fault]) -> None:
    for key in given:
        if key not in known:
            wanted = nearest(str(key), known)
            faults.append(Fault(f"{place}.{key}", "an unknown key", wanted))


def _number(value: Any, place: str, most: float, faults: list[Fault]) -> float:
    """A finite number from 0 to `most`; 0, and a fault added, for anything else."""
    number = isinstance(value, int | float | np.floating) and not isinstance(value, bool)
    # compared before it is turned into a float, which a huge whole number cannot be
    if number and 0 <= value <= min(most, sys.float_info.max):
        return float(value)
    wanted = "a finite number >= 0" if most > 1 else "a number from 0 to 1"
    faults.append(Fault(place, repr(value), wanted))
    return 0.0


def unsound(score: Floats, inst: Instance) -> float | None:
    """A score of an eligible pair that is none; None if all are."""
    for users in inst.blocks():
        bad = inst.eligible[users] > criteria.sound(score[users])
        if bad.any():
            return float(score[users][bad][0])
    return None


def same(one: Any, two: Any) -> bool:
    """Whether two lists of rounds, or parts of them, are equal, arrays included."""
    if isinstance(one, Mapping) and isinstance(two, Mapping):
        return one.keys() == two.keys() and all(same(one[key], two[key]) for key in one)
    if isinstance(one, tuple) and isinstance(two, tuple):
        return len(one) == len(two) and all(map(same, one, two))
    if isinstance(one, np.ndarray) or isinstance(two, np.ndarray):
        return np.array_equal(one, two)
    return bool(one == two)


__all__ = ["Round", "checked", "running", "same", "shapes", "signs", "told", "unsound"]


def plain_notion(notion: Any, scored: bool, faults: list[Fault]) -> dict[str, Any]:
    """{"name", "parameters"} of a notion, or of plain data, whose parameters are checked."""
    if isinstance(notion, Mapping):
        name, given = notion.get("name"), notion.get("parameters", {})
        if isinstance(name, str) and isinstance(given, Mapping):
            if name.startswith(parameters.FILL) and name not in parameters.names():
                faults.append(Fault("notion.name", words(name), nearest(name, parameters.names())))
            wrong = parameters.faults(name, given, scored)
            faults.extend(replace(f, place=f"notion.parameters.{f.place}") for f in wrong)
            plain = {k: v for k, v in given.items() if v is not None}
            return {"name": name, "parameters": plain, **_family(notion, scored, faults)}
    elif hasattr(notion, "plain") and not isinstance(notion, type):
        found: dict[str, Any] = notion.plain()
        return found
    wanted = "a notion such as fo.MaxMin(), or {'name': 'max-min', 'parameters': {}}"
    raise BadInput([Fault("notion", words(notion), wanted)])


def _family(notion: Mapping[str, Any], scored: bool, faults: list[Fault]) -> dict[str, Any]:
    """{"family": ...} if the plain data name a family; its parameters are checked as well."""
    if "family" not in notion:
        return {}
    kind = notion["family"]
    given = kind.get("parameters", {}) if isinstance(kind, Mapping) else None
    if not isinstance(given, Mapping) or kind.get("name") not in families.FAMILIES:
        wanted = f"{{'name': one of {', '.join(families.FAMILIES)}}}"
        raise BadInput([Fault("notion.family", words(kind), wanted)])
    wrong = parameters.faults(kind["name"], given, scored)
    faults.extend(replace(f, place=f"notion.family.parameters.{f.place}") for f in wrong)
    return {"family": {"name": kind["name"], "parameters": dict(given)}}
