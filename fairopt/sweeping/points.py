"""The points of a sweep as plain data, and the key of each for the resume file."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from functools import cache
from importlib import metadata
from typing import Any, NamedTuple

from fairopt import criteria, fast
from fairopt.errors import BadInput, FairoptError, Fault, UsageError
from fairopt.instance import Instance
from fairopt.notions import NOTIONS, Notion, expected, make

LIBRARIES = ("numpy", "scipy", "cvxpy", "clarabel", "ecos", "scs", "highspy", "numba")
"""libraries whose version may change the last digits of an answer"""
_NATIVE = {type(None), bool, int, float, str}


class SweepPoint(NamedTuple):
    """One solve of a sweep.

    `order` is sent to a worker: the notion as plain data, or the notion itself if it contains a
    callable or class of the user; `key` is then None.
    """

    instance: Instance
    digest: str
    notion: Notion
    order: Any
    plain: dict[str, Any]
    parameters: dict[str, Any]
    key: str | None


def points_of(
    instance: Instance | None,
    wanted: Iterable[Any],
    parameters: Iterable[Mapping[str, Any]] | None,
    settings: Mapping[str, Any],
) -> list[SweepPoint]:
    """The points of a sweep in input order.

    Raises
    ------
    BadInput : an entry that is neither a notion nor a pair (instance, notion), or another number
        of `parameters` than of points.
    """
    pairs: list[tuple[Instance, Notion]] = []
    faults: list[Fault] = []
    for k, entry in enumerate(wanted):
        pair = isinstance(entry, tuple) and len(entry) == 2
        inst, notion = entry if pair else (instance, entry)
        if isinstance(inst, Instance) and isinstance(notion, Notion):
            pairs.append((inst, notion))
        elif isinstance(notion, Notion) and inst is None:
            faults.append(
                Fault(
                    f"notions[{k}]",
                    "a notion without an instance",
                    "(instance, notion), as sweep got no instance",
                )
            )
        else:
            fault = expected(notion)
            wanted = f"{fault.wanted}, or (instance, notion)"
            faults.append(Fault(f"notions[{k}]", fault.found, wanted))
    labels = None if parameters is None else [dict(each) for each in parameters]
    if labels is not None and not faults and len(labels) != len(pairs):
        faults.append(Fault("parameters", f"{len(labels)}", f"one per point, {len(pairs)}"))
    if faults:
        raise BadInput(faults[:20])
    digests: dict[int, str] = {}
    found: list[SweepPoint] = []
    for k, (inst, notion) in enumerate(pairs):
        if id(inst) not in digests:
            digests[id(inst)] = inst.digest()
        plain = native(notion.plain())
        own = keyable(notion, plain)
        digest = digests[id(inst)]
        key = key_of(digest, plain, settings) if own else None
        label = native(labels[k]) if labels is not None else dict(plain["parameters"])
        found.append(SweepPoint(inst, digest, notion, plain if own else notion, plain, label, key))
    return found


def keyable(notion: Notion, plain: Mapping[str, Any]) -> bool:
    """Whether name and parameters define the notion: it has no callable or class of the user."""
    if NOTIONS.get(notion.name) is not type(notion):
        return False
    criterion = getattr(notion, "criterion", None)
    if callable(criterion) and criterion not in criteria.CRITERIA.values():
        return False
    return _comes_back(notion, plain)


def _comes_back(notion: Notion, plain: Mapping[str, Any]) -> bool:
    try:
        return bool(native(rebuilt(plain).plain()) == plain)
    except FairoptError:
        return False


def rebuilt(plain: Mapping[str, Any]) -> Notion:
    """The notion with this plain data."""
    parameters = {k: tuple(v) if isinstance(v, list) else v for k, v in plain["parameters"].items()}
    return make(plain["name"], **parameters)


def refuse_unkeyed(points: Iterable[SweepPoint]) -> None:
    """Raise UsageError if a point has no key, so that a resume file cannot identify it."""
    without = [(k, p) for k, p in enumerate(points) if p.key is None]
    if without:
        k, point = without[0]
        raise UsageError(
            f"resume: notions[{k}] ({point.plain['name']}) holds a function or a class of your "
            "own, whose text no file can stand for; name a criterion of fairopt.criteria, or "
            "sweep without resume"
        )


def key_of(digest: str, plain: Mapping[str, Any], settings: Mapping[str, Any]) -> str:
    """SHA-256 of instance, notion, settings, whether loops are compiled, and the versions of
    fairopt and of the solvers."""
    compiled = {"compiled": True} if fast.often() else {}
    content = {
        "instance": digest,
        "notion": plain,
        "settings": {**settings, **compiled},
        "versions": versions(),
    }
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


@cache
def versions() -> dict[str, str]:
    """Versions, in this process, of fairopt and of every library that affects an answer."""
    from fairopt import __version__

    found = {"fairopt": __version__}
    for name in LIBRARIES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = "none"
    return found


def native(value: Any) -> Any:
    """The value with lists in place of tuples and Python numbers in place of NumPy's."""
    if type(value) in _NATIVE:
        return value
    if isinstance(value, Mapping):
        return {str(k): native(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [native(v) for v in value]
    if hasattr(value, "tolist"):  # a NumPy number or array
        return native(value.tolist())
    if isinstance(value, (bool, int, float, str)):
        return value
    return repr(value)
