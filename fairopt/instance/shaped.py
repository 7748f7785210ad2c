"""What an instance is given as arrays and names of their final shapes; what is none is a fault."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairopt import memory
from fairopt.errors import BadInput, Fault
from fairopt.instance.fields import CURVES
from fairopt.instance.sealing import frozen

_Floats = NDArray[np.float64]
_Arrays = tuple[_Floats, _Floats, NDArray[np.bool_], _Floats, _Floats, NDArray[np.int64]]


def shaped(
    demand: ArrayLike,
    capacity: ArrayLike,
    placement: ArrayLike | None,
    weight: ArrayLike | None,
    limit: ArrayLike | None,
    count: ArrayLike | None,
    faults: list[Fault],
) -> _Arrays:
    """The six arrays with their final shapes and types.

    Entries of placement and count that make no sense are added to `faults` and replaced by true and
    1, so that the checks go on.

    Raises
    ------
    BadInput : something is not an array of numbers or has a wrong shape, so that nothing else can
        be checked.
    """
    wrong: list[Fault] = []
    d, c = _array("demand", demand, wrong), _array("capacity", capacity, wrong)
    if d is not None and d.ndim not in (2, 3):
        wanted = "(users, resources) or (users, servers, resources)"
        wrong.append(Fault("demand", f"shape {d.shape}", wanted))
        d = None
    if c is not None and c.ndim != 2:
        wrong.append(Fault("capacity", f"shape {c.shape}", "(servers, resources)"))
        c = None
    users = None if d is None else d.shape[0]
    servers, resources = (None, None) if c is None else c.shape
    for name, size in (("users", users), ("servers", servers), ("resources", resources)):
        if size == 0:
            wrong.append(Fault(name, "none", "at least one"))
    if d is not None and resources is not None and d.shape[-1] != resources:
        wrong.append(Fault("demand", f"{d.shape[-1]} resources", f"{resources}, as in capacity"))
    if d is not None and d.ndim == 3 and servers is not None and d.shape[1] != servers:
        wrong.append(Fault("demand", f"{d.shape[1]} servers", f"{servers}, as in capacity"))
    arrays = [
        _filled(name, value, shape, default, wrong)
        for name, value, shape, default in (
            ("placement", placement, (users, servers), True),
            ("weight", weight, (users,), 1.0),
            ("limit", limit, (users,), np.inf),
            ("count", count, (servers,), 1.0),
        )
    ]
    if wrong or d is None or c is None:
        raise BadInput(wrong)
    delta, phi, most, machines = arrays
    if delta.dtype != np.bool_:
        odd = ~((delta == 0.0) | (delta == 1.0))
        faults.extend(
            Fault(f"placement[{n},{i}]", f"{delta[n, i]:g}", "true or false")
            for n, i in np.argwhere(odd)
        )
        delta = (delta != 0.0) | odd
    bad = ~((machines >= 1) & (machines == np.floor(machines)) & (machines < 2**53))
    faults.extend(
        Fault(f"count[{i}]", f"{machines[i]:g}", "a whole number >= 1") for i in np.flatnonzero(bad)
    )
    machines = np.where(bad, 1.0, machines)
    # + 0.0 turns -0.0 into 0.0: equal instances have equal bytes
    return (
        d + 0.0,
        c + 0.0,
        np.array(delta, dtype=np.bool_),
        phi + 0.0,
        most + 0.0,
        machines.astype(np.int64),
    )


def curve(
    name: str, given: ArrayLike | None, shape: tuple[int, int], faults: list[Fault]
) -> _Floats | None:
    """The array given; None for none, or one that is at fault."""
    if given is None:
        return None
    array = _filled(name, given, shape, CURVES[name], faults)
    return array if array.shape == shape else None


def on_server(
    given: ArrayLike | None, shape: tuple[int, int], faults: list[Fault]
) -> _Floats | None:
    """The limits on servers (N, I), sealed; None for none, or where they are at fault."""
    if given is None:
        return None
    array = _filled("limit_on", given, shape, np.inf, faults)
    return frozen(array + 0.0) if array.shape == shape else None


def already(given: ArrayLike | None, users: int, faults: list[Fault]) -> _Floats | None:
    """The shares already had (N,), sealed; None for none, or where they are at fault."""
    if given is None:
        return None
    array = _filled("start", given, (users,), 0.0, faults)
    return frozen(array + 0.0) if array.shape == (users,) else None


def _array(name: str, given: ArrayLike, faults: list[Fault]) -> _Floats | None:
    """The numbers given as floats (not copied if they are); None, and a fault added, if faulty."""
    try:
        if np.any(getattr(given, "mask", False)) and isinstance(given, np.ndarray):
            raise TypeError("entries that are masked")  # below the mask NumPy finds numbers
        raw = np.asarray(given)
        if raw.dtype.kind not in "biufO":  # NumPy would read numbers out of text and dates
            raise TypeError(f"entries of type {raw.dtype}")
        if raw.dtype.kind == "O" and any(isinstance(entry, str) for entry in raw.flat):
            raise TypeError("text among the numbers")
        with np.errstate(all="raise"):
            return np.asarray(raw, dtype=np.float64)
    except (TypeError, ValueError, FloatingPointError, OverflowError) as error:
        faults.append(Fault(name, f"something that is no array of numbers ({error})", "numbers"))
        return None


def _filled(
    name: str,
    given: ArrayLike | None,
    shape: tuple[int | None, ...],
    default: float | bool,
    faults: list[Fault],
) -> NDArray[Any]:
    """The array given, or one filled with the default; sizes not yet known (None) are not checked.

    If the default is true or false, arrays of bool stay so.
    """
    array: NDArray[Any] | None
    if default is True and isinstance(given, np.ndarray) and given.dtype == np.bool_:
        array = given
    else:
        array = None if given is None else _array(name, given, faults)
    if array is None:
        sizes = [size or 0 for size in shape]
        told = f"{' x '.join(f'{size:,}' for size in sizes)} entries"
        each = 1 if default is True else 8
        memory.enough(name, float(np.prod(sizes, dtype=float)) * each, told)
        return np.full(sizes, default)
    known = None not in shape
    if array.ndim != len(shape) or (known and array.shape != shape):
        wanted = f"shape {shape}" if known else f"{len(shape)} dimensions"
        faults.append(Fault(name, f"shape {array.shape}", wanted))
    return array


def named(
    kind: str, given: Sequence[str] | None, letter: str, size: int, faults: list[Fault]
) -> tuple[str, ...]:
    """The names given; letter1, letter2, ... if none are given or they are faulty."""

    def default() -> tuple[str, ...]:
        return tuple([f"{letter}{k}" for k in range(1, size + 1)])

    if given is None:
        return default()
    if isinstance(given, str) or not np.iterable(given):
        found = f"the text {given!r}" if isinstance(given, str) else repr(given)
        faults.append(Fault(kind, found, "a list of names"))
        return default()
    names = list(given)
    if len(names) == size and _all_good(names):
        return tuple(names)
    if len(names) != size:
        faults.append(Fault(kind, f"{len(names)} names", f"{size}"))
    seen: set[str] = set()
    for k, name in enumerate(names):
        if not isinstance(name, str) or not name or not name.isprintable():
            faults.append(Fault(f"{kind}[{k}]", f"the name {name!r}", "a printable text"))
        elif name in seen:
            found = f"the name {name!r} a second time"
            faults.append(Fault(f"{kind}[{k}]", found, "every name once"))
        else:
            seen.add(str(name))
    return tuple(str(name) for name in names) if len(names) == size else default()


def _all_good(names: list[Any]) -> bool:
    """Whether all are printable texts, none empty and none twice; `named` finds which is not."""
    return (
        set(map(type, names)) == {str}
        and all(names)
        and len(set(names)) == len(names)
        and "".join(names).isprintable()
    )


__all__ = ["already", "curve", "named", "on_server", "shaped"]
