"""Fields of an object of Kubernetes, checked one by one; faults name object and field."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from fairopt.files.quantities import WANTED, NoQuantity, quantity
from fairopt.instance.reading import Faults, shown

Amounts = dict[str, Fraction]
CPU, MEMORY, PODS, GPU, CARD = "cpu", "memory", "pods", "nvidia.com/gpu", "gpu"
"""what Kubernetes calls resources, and what a card is called elsewhere"""
COUNTED = (CPU, MEMORY, "ephemeral-storage", PODS)
REQUESTS = "requests."
"""resources that a ResourceQuota counts by their own name; before that of any other stands this"""
MEGABYTE = 2**20


class CheckedFields:
    """An object, or a table inside it, with the path to it for messages.

    A field that is absent or null is its empty value; one of another kind is a fault and then
    treated as absent, so that the rest is read as well.
    """

    __slots__ = ("data", "faults", "path")

    def __init__(self, data: Mapping[str, Any], path: str, faults: Faults) -> None:
        self.data, self.path, self.faults = data, path, faults

    def at(self, key: str) -> str:
        """The path of a field."""
        return f"{self.path}.{key}"

    def wrong(self, key: str, wanted: str) -> None:
        """Add the fault that the field is not what is wanted."""
        self.faults.add(self.at(key), shown(self.data.get(key)), wanted)

    def table(self, key: str) -> CheckedFields:
        """A table inside."""
        value = self.data.get(key)
        if value is not None and not isinstance(value, Mapping):
            self.wrong(key, "a table")
            value = None
        return CheckedFields(value or {}, self.at(key), self.faults)

    def tables(self, key: str) -> Iterator[CheckedFields]:
        """The tables of a list."""
        for k, value in enumerate(self._listed(key)):
            if isinstance(value, Mapping):
                yield CheckedFields(value, f"{self.at(key)}[{k}]", self.faults)
            else:
                self.faults.add(f"{self.at(key)}[{k}]", shown(value), "a table")

    def text(self, key: str, default: str = "") -> str:
        """A text."""
        value = self.data.get(key)
        if value is None:
            return default
        if isinstance(value, str):
            return value
        self.wrong(key, "a text")
        return default

    def texts(self, key: str) -> tuple[str, ...]:
        """The texts of a list."""
        for k, value in enumerate(given := self._listed(key)):
            if not isinstance(value, str):
                self.faults.add(f"{self.at(key)}[{k}]", shown(value), "a text")
        return tuple(value for value in given if isinstance(value, str))

    def flag(self, key: str) -> bool:
        """True or false."""
        value = self.data.get(key)
        if value is not None and not isinstance(value, bool):
            self.wrong(key, "true or false")
        return value is True

    def strings(self, key: str) -> dict[str, str]:
        """A table of texts, such as labels."""
        inner = self.table(key)
        for name, value in inner.data.items():
            if not isinstance(value, str):
                inner.wrong(name, "a text")
        return {k: v for k, v in inner.data.items() if isinstance(v, str)}

    def amounts(self, key: str) -> Amounts:
        """A table of quantities, without those of 0."""
        inner = self.table(key)
        found: Amounts = {}
        for name, value in inner.data.items():
            try:
                amount = quantity(value)
            except NoQuantity as error:
                self.faults.add(inner.at(name), str(error), WANTED)
                continue
            if amount:
                found[name] = amount
        return found

    def __contains__(self, key: str) -> bool:
        return self.data.get(key) is not None

    def _listed(self, key: str) -> Sequence[Any]:
        value = self.data.get(key)
        if value is None:
            return ()
        if isinstance(value, list | tuple):
            return value
        self.wrong(key, "a list")
        return ()


def named(data: Mapping[str, Any], place: str, faults: Faults, spaced: bool) -> tuple[str, str]:
    """(namespace, name) of an object; ("", "") and a fault where it has no name.

    Parameters
    ----------
    place : where it stands in its file.
    spaced : whether objects of this kind are in namespaces; without one it is `default`.
    """
    meta = CheckedFields(data, place, faults).table("metadata")
    name = meta.text("name")
    if not name or not name.isprintable() or len(name) > 253:
        meta.wrong("name", "a name of at most 253 printable characters")
        return "", ""
    space = (meta.text("namespace") or "default") if spaced else ""
    return space, name
