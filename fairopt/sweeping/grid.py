"""A grid: all combinations of values of the notion's parameters and of instance numbers."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from difflib import get_close_matches
from typing import Any

from fairopt.errors import BadInput, FairoptError, Fault
from fairopt.instance import Instance
from fairopt.instance.quotas import Quotas
from fairopt.instance.reading import nearest
from fairopt.notions import NOTIONS, Notion, make
from fairopt.sweeping import axis
from fairopt.sweeping.axis import MOST_POINTS

KINDS = {
    "weight": ("users",),
    "limit": ("users",),
    "count": ("servers",),
    "capacity": ("servers", "resources"),
    "demand": ("users", "resources"),
}
"""numbers of an instance that can be swept: weight.USER, capacity.SERVER.RESOURCE, ..."""
RULE = "rule"
"""the amount of a rule of one's own: rule.NAME"""
_ALL = (*KINDS, *axis.AMOUNTS, RULE)
SHOWN = 20


def grid(
    instance: Instance, notion: Notion, over: Mapping[str, Sequence[Any]]
) -> tuple[list[tuple[Instance, Notion]], list[dict[str, Any]]]:
    """Every combination of values, the last name varying fastest, for `fo.sweep(None, ...)`.

    Parameters
    ----------
    instance, notion : they give the values that are not swept.
    over : name -> values. A name is a parameter of the notion ("t_drf", "alpha"), or weight.USER,
        limit.USER, count.SERVER, capacity.SERVER.RESOURCE or demand.USER.RESOURCE; of groups
        weight.GROUP, and of groups and users guarantee, nominal, borrow, lend or most, as in
        nominal.GROUP.RESOURCE or nominal.GROUP.FLAVOR.RESOURCE; of a rule of one's own its amount,
        rule.NAME.

    Returns
    -------
    The pairs (instance, notion), and for each the swept values by name.

    Raises
    ------
    BadInput : with every unknown name and every value out of range.

    Examples
    --------
    >>> import fairopt as fo
    >>> inst = fo.Instance([[1, 4], [3, 1]], [[9, 18]], users=["A", "B"])
    >>> pairs, parameters = grid(inst, fo.AlphaFair(1), {"weight.A": [1, 2], "alpha": [1, 2]})
    >>> parameters[1]
    {'weight.A': 1, 'alpha': 2}
    >>> fo.sweep(None, pairs, parameters=parameters)
    Sweep(4 points over weight.A, alpha, 4 certified)
    """
    faults = faults_of(instance, notion, over)
    if faults:
        raise BadInput(faults)
    found, labels = [], []
    instances: dict[tuple[Any, ...], Instance] = {}
    own = parameters_of(type(notion))
    base = {name: getattr(notion, name) for name in own}
    for values in itertools.product(*over.values()):
        label = dict(zip(over, values, strict=True))
        numbers = {name: value for name, value in label.items() if name not in own}
        key = tuple(numbers.values())
        if key not in instances:
            instances[key] = _changed(instance, numbers)
        parameters = {**base, **{k: v for k, v in label.items() if k in own}}
        found.append((instances[key], make(notion.name, **parameters)))
        labels.append(label)
    return found, labels


def parameters_of(notion: type[Notion]) -> tuple[str, ...]:
    """Names of the parameters of a notion."""
    return tuple(f.name for f in fields(notion))  # type: ignore[arg-type]


def deduced(names: Sequence[str]) -> str | None:
    """The notion that takes these parameters: the trade-off for t_drf, alpha-fair for alpha."""
    for name in (name for name, notion in NOTIONS.items() if notion.deduced):
        if name in NOTIONS and names and set(names) <= set(parameters_of(NOTIONS[name])):
            return name
    return None


def of_instance(name: str) -> bool:
    """Whether a name is written like a number of the instance, not like a parameter."""
    return "." in name


def faults_of(instance: Instance, notion: Notion, over: Mapping[str, Sequence[Any]]) -> list[Fault]:
    """Every fault of a grid: unknown names, values out of range, too many points."""
    found: list[Fault] = []
    size = math.prod(len(values) for values in over.values())
    if size > MOST_POINTS:
        found.append(Fault("--over", f"{size} combinations", f"at most {MOST_POINTS}"))
    own = parameters_of(type(notion))
    for name, values in over.items():
        wrong = [*_name_faults(instance, notion, own, name)]
        found.extend(wrong or itertools.islice(_value_faults(instance, notion, name, values), 8))
    return found[:SHOWN]


def _name_faults(
    instance: Instance, notion: Notion, own: Sequence[str], name: str
) -> Iterator[Fault]:
    if name in own:
        return
    if of_instance(name):
        yield from _path_faults(instance, name)
        return
    # a misspelt name may be a parameter of another notion, so all names are searched
    everyone = {key: each.name for each in NOTIONS.values() for key in parameters_of(each)}
    close = [
        f"{key} of {everyone[key]}"
        for key in get_close_matches(name, everyone, 1, 0.6)
        if key not in own
    ]
    known = nearest(name, [*own, *(_pattern(kind) for kind in _ALL)])
    wanted = f"{', '.join([*close, known])} (parameters of {notion.name}, and numbers of the model)"
    yield Fault(f"--over {name}", "an unknown name", wanted)


def _pattern(kind: str) -> str:
    if kind == RULE:
        return "rule.NAME"
    if kind in axis.AMOUNTS:
        return f"{kind}.MEMBER.RESOURCE"
    return ".".join([kind, *(along[:-1].upper() for along in KINDS[kind])])


def _path_faults(instance: Instance, name: str) -> Iterator[Fault]:
    kind = name.split(".")[0]
    if kind not in _ALL:
        wanted = f"one of {', '.join(_pattern(kind) for kind in _ALL)}"
        yield Fault(f"--over {name}", f"{kind!r}", wanted)
    elif (
        _rule(instance, name) is None
        and axis.axis_of(instance, name) is None
        and _position(instance, name) is None
    ):
        rest = name.split(".", 1)[1]
        some = itertools.islice(_all_names(instance, kind), 1000)
        known = [".".join(names) for names in some]
        yield Fault(f"--over {name}", repr(rest), nearest(rest, known))


def _all_names(instance: Instance, kind: str) -> Iterator[tuple[str, ...]]:
    if kind == RULE:
        yield from ((rule.name,) for rule in instance.rules or ())
        return
    if kind in KINDS:
        yield from itertools.product(*(getattr(instance, along) for along in KINDS[kind]))
    if kind not in KINDS or kind == "weight":
        yield from ((name,) for name in axis.names_of(instance, kind))


def _rule(instance: Instance, name: str) -> int | None:
    """Position of the rule that rule.NAME names; None if it names none."""
    kind, _, rest = name.partition(".")
    known = [rule.name for rule in instance.rules or ()]
    return known.index(rest) if kind == RULE and rest in known else None


def _position(instance: Instance, name: str) -> tuple[int, ...] | None:
    """Index of the number in its array; None if it is unknown or, by dots in names, ambiguous."""
    kind, rest = name.split(".", 1)
    if kind not in KINDS:
        return None
    if len(KINDS[kind]) == 1:
        names = getattr(instance, KINDS[kind][0])
        return (names.index(rest),) if rest in names else None
    rows, columns = (getattr(instance, axis) for axis in KINDS[kind])
    found = [
        (rows.index(rest[:k]), columns.index(rest[k + 1 :]))
        for k, mark in enumerate(rest)
        if mark == "." and rest[:k] in rows and rest[k + 1 :] in columns
    ]
    return found[0] if len(found) == 1 else None


def _changed(instance: Instance, numbers: Mapping[str, Any]) -> Instance:
    """The instance with these numbers, validated again."""
    if not numbers:
        return instance
    changes: dict[str, Any] = {}
    for name, value in numbers.items():
        kind = name.split(".")[0]
        k = _rule(instance, name)
        if k is not None:
            rules = list(changes.get("rules", instance.rules) or ())
            amounts: dict[str, Any] = {rules[k].sense: value}
            changes["rules"] = [*rules[:k], replace(rules[k], **amounts), *rules[k + 1 :]]
            continue
        swept = axis.axis_of(instance, name)
        if swept is not None:
            quotas = changes.get("quotas", instance.quotas) or Quotas()
            changes["quotas"] = axis.changed(quotas, swept, value)
            continue
        if kind not in changes:
            # that counts are whole numbers is checked by the instance
            changes[kind] = getattr(instance, kind).astype(float)
        where = _position(instance, name)
        assert where is not None
        if kind == "demand" and instance.demand.ndim == 3:
            changes[kind][where[0], :, where[1]] = value
        else:
            changes[kind][where] = value
    return instance.replace(**changes)


def _value_faults(
    instance: Instance, notion: Notion, name: str, values: Sequence[Any]
) -> Iterator[Fault]:
    """Values that are out of range whatever the other parameters are."""
    own = parameters_of(type(notion))
    base = {key: getattr(notion, key) for key in own}
    for value in values:
        try:
            if name in own:
                make(notion.name, **{**base, name: value})
            elif isinstance(value, str):
                yield Fault(f"--over {name}", repr(value), "a number")
            else:
                _changed(instance, {name: value})
        except BadInput as error:
            said = "; ".join(fault.wanted for fault in error.faults)
            yield Fault(f"--over {name}", _shown(value), said)
        except (FairoptError, TypeError, ValueError) as error:
            yield Fault(f"--over {name}", _shown(value), str(error))


def _shown(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else repr(value)
