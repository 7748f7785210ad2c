"""Objects of a file with the line of every field, for JSON and YAML alike.

A file is first read as every other command reads it, which refuses tags, aliases, keys given twice
and deep nesting; only then are its lines looked up. Files above `LARGEST_FILE` have no lines.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from typing import Any

from fairopt import storage
from fairopt.connect.lint.findings import Lined, Path
from fairopt.connect.text import reading
from fairopt.connect.text.streams import ITEMS, plain_scalar
from fairopt.errors import MissingExtra

LARGEST_FILE = 8 * storage.MEBIBYTE
"""most bytes of a file whose lines are looked up"""


def objects(content: bytes, source: str) -> list[Lined]:
    """The objects of a file, items of lists one by one.

    Raises
    ------
    BadInput : neither JSON nor YAML, or not what `streams.objects` takes.
    """
    stream = io.BufferedReader(io.BytesIO(content))
    data = [own for _, own, _ in reading.objects(stream, source)]
    if len(content) <= LARGEST_FILE:
        found = [Lined(source, own, lines) for own, lines in _composed(content)]
        if found:
            return found
    return [Lined(source, own, {}) for each in data for own in _items(each)]


def _items(data: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(data, Mapping):
        listed = data.get(ITEMS)
        if str(data.get("kind", "")).endswith("List") and isinstance(listed, list | tuple):
            for own in listed:
                yield from _items(own)
        else:
            yield data


def _composed(content: bytes) -> Iterator[tuple[Mapping[str, Any], dict[Path, int]]]:
    try:
        import yaml
    except ImportError:
        raise MissingExtra("lines of files need PyYAML: pip install 'fairopt[connect]'") from None
    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        roots = list(yaml.compose_all(content, Loader=loader))
    except yaml.YAMLError:  # JSON that is no YAML, such as one with tabs
        return
    for root in roots:
        yield from _objects(root)


def _objects(node: Any) -> Iterator[tuple[Mapping[str, Any], dict[Path, int]]]:
    kind = type(node).__name__
    if kind == "SequenceNode":
        for own in node.value:
            yield from _objects(own)
    elif kind == "MappingNode":
        keys = {key.value: value for key, value in node.value}
        listed = keys.get(ITEMS)
        name = keys["kind"].value if "kind" in keys else ""
        if str(name).endswith("List") and type(listed).__name__ == "SequenceNode":
            yield from _objects(listed)
        else:
            lines: dict[Path, int] = {(): node.start_mark.line + 1}
            yield _built(node, (), lines), lines


def _built(node: Any, path: Path, lines: dict[Path, int]) -> Any:
    kind = type(node).__name__
    if kind == "MappingNode":
        found = {}
        for key, value in node.value:
            here = (*path, key.value)
            lines[here] = key.start_mark.line + 1
            found[key.value] = _built(value, here, lines)
        return found
    if kind == "SequenceNode":
        listed = []
        for k, value in enumerate(node.value):
            lines[*path, k] = value.start_mark.line + 1
            listed.append(_built(value, (*path, k), lines))
        return listed
    return plain_scalar(node.value) if not node.style else node.value
