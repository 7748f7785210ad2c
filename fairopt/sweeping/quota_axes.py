"""Axes of groups and quotas: weight.GROUP, nominal.GROUP.gpu, most.GROUP.FLAVOR.gpu, ..."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

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


__all__ = ["AMOUNTS", "QuotaAxis", "axis_of", "changed", "names_of"]
