"""An operator's objects as they are written, so that a patch repeats what it does not change."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

from fairopt import storage
from fairopt.connect.readers.tables import begins
from fairopt.connect.text import reading
from fairopt.connect.text.streams import ITEMS
from fairopt.errors import MissingExtra, UsageError

Object = dict[str, Any]
SLURM = (b"NodeName=", b"Account|")
"""how files of Slurm begin, which hold no objects, as tables do"""


def originals(paths: Sequence[str], wanted: Callable[[str, str], bool]) -> list[Object]:
    """The objects of files that are wanted, in their order.

    Parameters
    ----------
    wanted : called with (apiVersion, kind).

    Raises
    ------
    BadInput : a file that cannot be read. UsageError : standard input, which is read twice.
    """
    if storage.STDIN in paths:
        raise UsageError("found standard input; wanted files, as they are read twice")
    found: list[Object] = []
    for path in paths:
        with reading.opened(path) as stream:
            first = reading.head(stream).removeprefix(b"\xef\xbb\xbf")
            if begins(first) or first.startswith(SLURM):
                continue
            for _, data, _ in reading.objects(stream, storage.source_name(path)):
                for own in _single(data):
                    if wanted(str(own.get("apiVersion", "")), str(own.get("kind", ""))):
                        found.append(plain(own))
    return found


def name_of(own: Mapping[str, Any]) -> str:
    """The name of an object that was read before without a fault."""
    return str(own["metadata"]["name"])


def plain(value: Any) -> Any:
    """The value with numbers as YAML and JSON write them; decimal ones stay what they were."""
    if isinstance(value, Mapping):
        return {key: plain(own) for key, own in value.items()}
    if isinstance(value, list | tuple):
        return [plain(own) for own in value]
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else str(value)
    return value


def text(made: Sequence[Object], head: Sequence[str] = ()) -> str:
    """Objects as YAML, after lines of remarks.

    Raises
    ------
    MissingExtra : without PyYAML.
    """
    try:
        import yaml
    except ImportError:
        raise MissingExtra("YAML needs PyYAML: pip install 'fairopt[connect]'") from None
    remarks = "".join(f"# {line}\n" if line else "#\n" for line in head)
    if not made:
        return remarks + "# nothing changes\n"
    body = yaml.safe_dump_all(made, sort_keys=False, default_flow_style=False)
    return f"{remarks}---\n{body}"


def _single(data: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(data, Mapping):
        if str(data.get("kind", "")).endswith("List") and isinstance(data.get(ITEMS), list | tuple):
            for own in data[ITEMS]:
                yield from _single(own)
        else:
            yield data
