"""Labelled input: frames, series and dicts are brought into one order of users, servers, resources.

Names that are not given are taken from the labels. Everything that has labels must then have each
name once; plain arrays have no labels and are taken in the order of the names. pandas is not
imported: any object with an index and values is treated as a frame or series.
"""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairopt.errors import BadInput, Fault


def nearest(name: str, known: Iterable[str]) -> str:
    """The names wanted in place of an unknown one, the nearest first."""
    known = list(known)
    close = difflib.get_close_matches(name, known[:10_000], 1, 0.5)
    rest = ", ".join(known[:8]) + (f" and {len(known) - 8} more" if len(known) > 8 else "")
    if close:
        return f"{close[0]}, the nearest of: {rest}" if len(known) > 1 else close[0]
    return f"one of: {rest}" if known else "none"


Given = ArrayLike | Mapping[str, Any]
USERS, SERVERS, RESOURCES = "users", "servers", "resources"
AXES = {
    "demand": (USERS, RESOURCES),
    "capacity": (SERVERS, RESOURCES),
    "placement": (USERS, SERVERS),
    "weight": (USERS,),
    "limit": (USERS,),
    "count": (SERVERS,),
    "tasks": (USERS, SERVERS),
    "prices": (SERVERS, RESOURCES),
    "limit_prices": (USERS,),
    "score": (USERS, SERVERS),
    "demand_fixed": (USERS, RESOURCES),
    "demand_power": (USERS, RESOURCES),
    "floor_prices": (USERS,),
    "limit_on": (USERS, SERVERS),
    "start": (USERS,),
    "limit_on_prices": (USERS, SERVERS),
}
"""the axes of each argument; the first argument with labels names an axis, others must agree"""
BY_SERVER = (USERS, SERVERS, RESOURCES)
DEFAULTS = {
    "placement": 1.0,
    "weight": 1.0,
    "limit": np.inf,
    "count": 1.0,
    "tasks": 0.0,
    "prices": 0.0,
    "limit_prices": 0.0,
    "demand_fixed": 0.0,
    "demand_power": 1.0,
    "floor_prices": 0.0,
    "limit_on": np.inf,
    "start": 0.0,
    "limit_on_prices": 0.0,
}
"""the value of a user or server that a dict leaves out"""
ENTRY = {"demand_power": 1.0, "limit_on": np.inf}
"""the value of an entry that a dict of dicts leaves out, where it is not 0"""
SHOWN = 8


@dataclass(frozen=True, eq=False)
class Labelled:
    """An array whose axes have labels.

    Parameters
    ----------
    values : the array.
    axes : users, servers or resources, for each axis.
    labels : the labels of each axis; None for an axis without labels (entries go by position).
    blank : for each axis, the value of entries left out; None if none may be left out.
    """

    values: NDArray[Any]
    axes: tuple[str, ...]
    labels: tuple[tuple[Any, ...] | None, ...]
    blank: tuple[float | None, ...]

    def of(self, axis: str) -> tuple[tuple[Any, ...], float | None]:
        """Labels and blank of an axis; no labels if the array has no such axis."""
        at = self.axes.index(axis) if axis in self.axes else -1
        return (self.labels[at] or (), self.blank[at]) if at >= 0 else ((), None)


def by_name(
    arrays: Mapping[str, Given | None], names: Mapping[str, Sequence[str] | None]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """(arrays, names): the arrays, those with labels put in the order of the names, and the names.

    Parameters
    ----------
    arrays : by their names, keys of AXES.
    names : users, servers and resources; None for those to be taken from the labels.

    Raises
    ------
    BadInput : labels that are not texts, occur twice, are unknown or are missing; all are listed.
    """
    result = dict(arrays)
    faults: list[Fault] = []
    perhaps = {k: v for k, v in arrays.items() if not (v is None or type(v) is np.ndarray)}
    found = {key: _labelled(key, given, faults) for key, given in perhaps.items()}
    labelled = {key: each for key, each in found.items() if each is not None}
    if not labelled and not faults:
        return result, dict(names)
    faults.extend(fault for key, each in labelled.items() for fault in _faults(key, each))
    if faults:
        raise BadInput(faults)
    order = {
        axis: _named(axis, labelled) if given is None else _texts(given)
        for axis, given in names.items()
    }
    for key, each in labelled.items():
        result[key] = _ordered(key, each, order, faults)
    if faults:
        raise BadInput(faults)
    return result, {axis: order[axis] if names[axis] is None else names[axis] for axis in names}


def _faults(key: str, each: Labelled) -> Iterable[Fault]:
    """Faults of labels that are not texts or occur twice."""
    for axis, labels in zip(each.axes, each.labels, strict=True):
        odd = [label for label in labels or () if not isinstance(label, str)]
        if odd:
            yield Fault(f"{key}.{axis}", f"labels like {odd[0]!r}", "texts, as names are")
            continue
        twice = [label for label, times in Counter(labels or ()).items() if times > 1]
        if twice:
            yield Fault(f"{key}.{axis}", f"{_some(twice)} a second time", "every label once")


def _named(axis: str, labelled: Mapping[str, Labelled]) -> list[str] | None:
    """Names from the first argument with labels; if it may leave some out, from the others too."""
    names: dict[str, None] = {}
    for each in labelled.values():
        labels, blank = each.of(axis)
        names.update(dict.fromkeys(labels))
        if labels and blank is None:
            break
    return list(names) or None


def _ordered(
    key: str, each: Labelled, order: Mapping[str, list[str] | None], faults: list[Fault]
) -> NDArray[Any]:
    """The values with every labelled axis in the order of its names."""
    values = each.values
    # a user left out of a dict of dicts has the blank value of users on every server
    for at in reversed(range(len(each.axes))):
        axis, labels, blank = each.axes[at], each.labels[at], each.blank[at]
        names = order[axis]
        if labels is None or names is None:
            continue
        where, known = {label: k for k, label in enumerate(labels)}, set(names)
        unknown = [label for label in labels if label not in known]
        missing = [name for name in names if name not in where]
        if unknown:
            faults.append(Fault(f"{key}.{axis}", f"the unknown {_some(unknown)}", _some(names)))
        if missing and blank is None:
            faults.append(Fault(f"{key}.{axis}", f"nothing for {_some(missing)}", _some(names)))
        if unknown or (missing and blank is None):
            continue
        if missing:
            shape = (*values.shape[:at], 1, *values.shape[at + 1 :])
            values = np.concatenate([values, np.full(shape, blank)], axis=at)
        values = np.take(values, [where.get(name, len(labels)) for name in names], axis=at)
    return values


# -- what is given ---------------------------------------------------------------------------------


def _labelled(key: str, given: Any, faults: list[Fault]) -> Labelled | None:
    """A frame, a series or a dict with its labels; None if it has none or has a wrong shape."""
    if isinstance(given, Mapping):
        return _of_dict(key, given, faults)
    if not hasattr(given, "to_numpy"):
        return None
    index, columns = getattr(given, "index", None), getattr(given, "columns", None)
    if key == "demand" and columns is not None and getattr(index, "nlevels", 1) == 2 and len(given):
        return _by_server(given, faults)
    values, axes = given.to_numpy(), AXES[key]
    if values.ndim != len(axes):
        return None
    labels = tuple([_labels(axis) for axis in (index, columns)[: values.ndim]])
    return Labelled(values, axes, labels, (None,) * values.ndim)


def _labels(axis: Any) -> tuple[Any, ...] | None:
    """The labels of an axis; None for the default numbering 0, 1, 2, ... of pandas."""
    labels = () if axis is None else tuple(axis)
    return None if labels == tuple(range(len(labels))) else labels


def _by_server(frame: Any, faults: list[Fault]) -> Labelled | None:
    """Demand by server, from a frame with a row for each (user, server)."""
    where = {pair: k for k, pair in enumerate(frame.index)}
    users, servers = (tuple(dict.fromkeys(names)) for names in zip(*where, strict=True))
    missing = [pair for pair in product(users, servers) if pair not in where]
    if missing:
        faults.append(Fault("demand", f"no row for {_some(missing)}", "every user and server"))
    if len(where) < len(frame.index):
        faults.append(Fault("demand", "a user and server a second time", "every pair once"))
    if faults:
        return None
    rows = [where[pair] for pair in product(users, servers)]
    values = frame.to_numpy()[rows].reshape(len(users), len(servers), -1)
    return Labelled(values, BY_SERVER, (users, servers, _labels(frame.columns)), (None,) * 3)


def _of_dict(key: str, given: Mapping[Any, Any], faults: list[Fault]) -> Labelled | None:
    """A dict by name, of numbers or of dicts by name; placement: the servers each user may use."""
    if key == "placement":
        rows = {user: _texts(row) for user, row in given.items()}
        faults.extend(
            Fault(f"placement.{user}", repr(given[user]), "a list of servers")
            for user, row in rows.items()
            if row is None
        )
        given = {user: dict.fromkeys(row or (), 1.0) for user, row in rows.items()}
    cells: dict[tuple[Any, ...], Any] = {(name,): value for name, value in given.items()}
    labels = [tuple(given)]
    while cells and all(isinstance(value, Mapping) for value in cells.values()):
        labels.append(tuple(dict.fromkeys(name for value in cells.values() for name in value)))
        cells = {(*at, name): x for at, value in cells.items() for name, x in value.items()}
    axes = BY_SERVER if key == "demand" and len(labels) == 3 else AXES[key]
    if len(labels) != len(axes):
        wanted = "a dict by name" + " of dicts by name" * (len(axes) - 1)
        faults.append(Fault(key, "a dict of another form", wanted))
        return None
    left_out = ENTRY.get(key, 0.0)
    blank = DEFAULTS.get(key), left_out, left_out
    values = np.full([len(names) for names in labels], left_out, dtype=object)
    where = [{name: k for k, name in enumerate(names)} for names in labels]
    for at, value in cells.items():
        values[tuple([places[name] for places, name in zip(where, at, strict=True)])] = value
    return Labelled(values, axes, tuple(labels), blank[: len(axes)])


def _texts(names: Any) -> list[str] | None:
    """`names` as a list if it is a list of texts; else None."""
    if isinstance(names, str) or not np.iterable(names):
        return None
    found = list(names)
    return found if all(isinstance(name, str) for name in found) else None


def _some(names: Sequence[Any]) -> str:
    """The first few names."""
    shown = [name if isinstance(name, str) else "/".join(map(str, name)) for name in names[:SHOWN]]
    return ", ".join(shown) + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")
