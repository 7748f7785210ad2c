"""An axis of a grid, written NAME=VALUES: a list, or a range that includes both ends."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

from fairopt.errors import Fault
from fairopt.instance import Instance
from fairopt.instance.quotas import Bound, Guarantee, Quota, Quotas

AMOUNTS = ("guarantee", "nominal", "borrow", "lend", "most")
"""numbers by member (a group or user), perhaps a flavor, and resource"""


class QuotaAxis(NamedTuple):
    """What is swept: a kind of AMOUNTS, or "weight" of a group (without a resource)."""

    kind: str
    member: str
    flavor: str | None
    resource: str


def axis_of(instance: Instance, name: str) -> QuotaAxis | None:
    """The axis that a name says; None if it says none, or by dots in names several."""
    kind, _, rest = name.partition(".")
    if kind == "weight":
        return QuotaAxis(kind, rest, None, "") if rest in _groups(instance) else None
    found = list(_read(instance, kind, rest)) if kind in AMOUNTS else []
    return found[0] if len(found) == 1 else None


def _read(instance: Instance, kind: str, rest: str) -> Iterator[QuotaAxis]:
    """Every reading of MEMBER.RESOURCE or MEMBER.FLAVOR.RESOURCE; names may have dots."""
    quotas = Quotas() if instance.quotas is None else instance.quotas
    members = {*_groups(instance), *instance.users}
    for resource in instance.resources:
        head = rest.removesuffix(f".{resource}")
        if head == rest:
            continue
        for flavor in (None, *quotas.flavors):
            member = head if flavor is None else head.removesuffix(f".{flavor}")
            if member in members and (flavor is None or member != head):
                axis = QuotaAxis(kind, member, flavor, resource)
                if kind not in ("borrow", "lend") or _lent(quotas, axis):
                    yield axis


def _lent(quotas: Quotas, axis: QuotaAxis) -> bool:
    """Whether anybody has a nominal amount there, without which nothing is lent."""
    return any(row.flavor == axis.flavor and row.resource == axis.resource for row in quotas.quotas)


def names_of(instance: Instance, kind: str) -> Iterator[str]:
    """What may stand behind the kind: GROUP of a weight, else MEMBER.RESOURCE and by flavor."""
    if kind == "weight":
        yield from _groups(instance)
    else:
        for member in (*_groups(instance), *instance.users):
            for resource in instance.resources:
                for flavor in ("", *(instance.quotas.flavors if instance.quotas else ())):
                    path = ".".join(part for part in (member, flavor, resource) if part)
                    if axis_of(instance, f"{kind}.{path}") is not None:
                        yield path


def changed(quotas: Quotas, axis: QuotaAxis, value: Any) -> Quotas:
    """The quotas with one number changed; what they are is checked by the instance."""
    if axis.kind == "weight":
        groups = [replace(g, weight=value) if g.name == axis.member else g for g in quotas.groups]
        return replace(quotas, groups=groups)
    where = axis.member, axis.resource, axis.flavor
    if axis.kind == "guarantee":
        rest = [row for row in quotas.guarantees if _where(row) != where]
        new = Guarantee(axis.member, axis.resource, value, axis.flavor)
        return replace(quotas, guarantees=[*rest, new])
    if axis.kind == "most":
        bounds = [row for row in quotas.bounds if _where(row) != where]
        return replace(
            quotas, bounds=[*bounds, Bound(axis.member, axis.resource, value, axis.flavor)]
        )
    own = [row for row in quotas.quotas if _where(row) == where]
    old = own[0] if own else Quota(axis.member, axis.resource, 0.0, flavor=axis.flavor)
    others = [row for row in quotas.quotas if _where(row) != where]
    return replace(quotas, quotas=[*others, replace(old, **{axis.kind: value})])


def _where(row: Guarantee | Bound | Quota) -> tuple[str, str, str | None]:
    return row.member, row.resource, row.flavor


def _groups(instance: Instance) -> list[str]:
    return [] if instance.quotas is None else [group.name for group in instance.quotas.groups]


MOST_POINTS = 1_000_000
"""most points on an axis, and in a grid"""
FORMS = "START:STOP:COUNT, log:START:STOP:COUNT or a list A,B,C"


class Axis(NamedTuple):
    """A name and its values in order: all numbers, or all texts if one is not a number."""

    name: str
    values: tuple[Any, ...]


def axes_of(texts: Iterable[str]) -> tuple[list[Axis], list[Fault]]:
    """The axes, in order, and every fault in their texts.

    Examples
    --------
    >>> axes_of(["t_drf=0:1:3", "alpha=log:0.1:10:3", "t_pf=0,1"])[0]
    [Axis(name='t_drf', values=(0.0, 0.5, 1.0)), Axis(name='alpha', values=(0.1, 1.0, 10.0)),
     Axis(name='t_pf', values=(0.0, 1.0))]
    """
    axes: list[Axis] = []
    faults: list[Fault] = []
    for text in texts:
        name, equals, values = (part.strip() for part in text.partition("="))
        place = f"--over {name or '?'}"
        if not equals or not name or not values:
            faults.append(Fault("--over", repr(text), f"NAME=VALUES, VALUES {FORMS}"))
            continue
        if any(axis.name == name for axis in axes):
            faults.append(Fault(place, "this name a second time", "every name once"))
        before = len(faults)
        found = _range(values, place, faults) if ":" in values else _list(values, place, faults)
        if len(faults) == before:
            axes.append(Axis(name, found))
    return axes, faults


def _list(text: str, place: str, faults: list[Fault]) -> tuple[Any, ...]:
    parts = [part.strip() for part in text.split(",")]
    if not all(parts):
        faults.append(Fault(place, repr(text), "a value between every two commas"))
        return ()
    if len(parts) > MOST_POINTS:
        faults.append(Fault(place, f"{len(parts)} values", f"at most {MOST_POINTS}"))
        return ()
    numbers = [_number(part) for part in parts]
    if any(x is not None and math.isnan(x) for x in numbers):
        faults.append(Fault(place, repr(text), "numbers, not nan"))
    # texts such as drf,tsf are checked by the notion
    return tuple(parts if None in numbers else numbers)


def _range(text: str, place: str, faults: list[Fault]) -> tuple[float, ...]:
    parts = text.split(":")
    log = parts[0].strip() == "log"
    parts = parts[1:] if log else parts
    start, stop, count = [_number(part) for part in parts] if len(parts) == 3 else [None] * 3
    if start is None or stop is None or count is None:
        faults.append(Fault(place, repr(text), FORMS))
        return ()
    before = len(faults)
    if not (math.isfinite(start) and math.isfinite(stop)):
        faults.append(Fault(place, repr(text), "finite ends"))
    elif log and not (start > 0 and stop > 0):
        faults.append(Fault(place, repr(text), "both ends > 0 on a logarithmic range"))
    if not (2 <= count <= MOST_POINTS and count == int(count)):
        faults.append(
            Fault(
                place, f"a count of {parts[2].strip()}", f"a whole number from 2 to {MOST_POINTS}"
            )
        )
    if len(faults) > before:
        return ()
    return tuple(_spread(start, stop, int(count), log))


def _spread(start: float, stop: float, count: int, log: bool) -> Iterable[float]:
    """`count` values from start to stop, both ends exact."""
    low, high = (math.log10(start), math.log10(stop)) if log else (start, stop)
    last = count - 1
    yield start
    for k in range(1, last):
        # this form gives 0.3 for 0:1:11, where steps of 0.1 give 0.30000000000000004
        at = low * ((last - k) / last) + high * (k / last)
        yield 10.0**at if log else at
    yield stop


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


__all__ = ["AMOUNTS", "QuotaAxis", "axis_of", "changed", "names_of"]
