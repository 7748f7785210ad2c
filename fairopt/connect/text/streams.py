"""Objects out of a stream of JSON or YAML, one at a time, within bounded time and memory.

Both languages are read as events, so that a list of a gigabyte is never in memory at once, and so
that nothing but texts, numbers, lists and tables can come out: YAML tags and aliases are refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from typing import IO, Any

from fairopt.errors import BadInput, Fault, MissingExtra

DEEPEST = 64
"""deepest nesting of lists and tables; objects of Kubernetes need about twenty"""
BUFFER = 2**18
ITEMS = "items"

_INTEGER = re.compile(r"[-+]?(0|[1-9][0-9]{0,18})", re.ASCII)
_NUMBER = re.compile(
    r"[-+]?(\.[0-9]{1,40}|[0-9]{1,40}(\.[0-9]{0,40})?)([eE][-+]?[0-9]{1,4})?", re.ASCII
)
_LONG = 4000
_DIGITS = re.compile(rb"[0-9]{%d}" % _LONG)
_WORDS = {"true": True, "false": False, "null": None, "~": None, "": None}

Found = tuple[str, Any, str]
"""where an object stands in the file, the object, and the kind of the list it is in"""
Event = tuple[str, Any]


class Unreadable(Exception):
    """The stream cannot be read on: where, what was found and what was wanted."""

    def __init__(self, place: str, found: str, wanted: str) -> None:
        self.fault = Fault(place, found, wanted)
        super().__init__(str(self.fault))


def objects(stream: IO[bytes], first: bytes, source: str) -> Iterator[Found]:
    """The objects of a stream: the items of every list in it, and every object on its own.

    Parameters
    ----------
    stream : bytes of JSON or YAML. A document is a List (items), a list, or one object; one
        document after another is read.
    first : the first bytes of the stream, from which the language is told.
    source : what messages call the stream.

    Raises
    ------
    BadInput : text that is neither JSON nor YAML, is nested too deeply, has tags or aliases, or a
        key twice; with the place.
    MissingExtra : a library of the extra `connect` is not installed.
    """
    json = first.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"[")
    try:
        yield from _built(_json(stream) if json else _yaml(stream))
    except Unreadable as error:
        raise BadInput([error.fault], source) from None


# -- events of the two languages: start_map, map_key, end_map, start_array, end_array, value ------


def _json(stream: IO[bytes]) -> Iterator[Event]:
    try:
        import ijson
    except ImportError:
        raise MissingExtra("reading JSON needs ijson: pip install 'fairopt[connect]'") from None
    events: Any = ijson.sendable_list()
    parser = ijson.basic_parse_coro(events, multiple_values=True, use_float=False)
    tail = b""
    try:
        while chunk := stream.read(BUFFER):
            # at numbers of thousands of digits Python refuses and the parser crashes
            if _DIGITS.search(tail + chunk):
                raise Unreadable("", "a number of thousands of digits", "a number of fewer digits")
            tail = chunk[-_LONG:]
            try:
                parser.send(chunk)
            finally:
                yield from events  # those before an error say where it is
                del events[:]
        parser.close()
        yield from events
    except (ijson.JSONError, ValueError) as error:
        said = " ".join(str(error).split("\n")[0].split())
        raise Unreadable("", f"text that is not JSON ({said[:120]})", "JSON") from None


def _yaml(stream: IO[bytes]) -> Iterator[Event]:
    try:
        import yaml
    except ImportError:
        raise MissingExtra("reading YAML needs PyYAML: pip install 'fairopt[connect]'") from None
    # only events are taken: nothing is constructed, so nothing in a file can be executed
    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    in_table: list[bool] = []
    key_next: list[bool] = []
    try:
        event: Any
        for event in yaml.parse(stream, Loader=loader):
            kind = type(event).__name__
            if kind == "AliasEvent":
                raise Unreadable(_line(event), "an alias (*)", "YAML without aliases")
            if getattr(event, "tag", None) is not None:
                raise Unreadable(_line(event), f"the tag {event.tag}", "YAML without tags")
            key = bool(in_table) and in_table[-1] and key_next[-1]
            if kind in ("MappingStartEvent", "SequenceStartEvent"):
                if key:
                    raise Unreadable(_line(event), "a list or table as a key", "a text as a key")
                _toggle(in_table, key_next)
                table = kind == "MappingStartEvent"
                in_table.append(table)
                key_next.append(True)
                yield ("start_map" if table else "start_array"), None
            elif kind in ("MappingEndEvent", "SequenceEndEvent"):
                key_next.pop()
                yield ("end_map" if in_table.pop() else "end_array"), None
            elif kind == "ScalarEvent":
                _toggle(in_table, key_next)
                if key:
                    yield "map_key", event.value
                else:
                    yield "value", plain_scalar(event.value) if event.implicit[0] else event.value
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = "" if mark is None else f"line {mark.line + 1}, column {mark.column + 1}"
        said = getattr(error, "problem", None) or getattr(error, "reason", None) or "not YAML"
        if "nesting depth" in said:  # newer releases count themselves, and stop earlier
            raise Unreadable(place, "deeper nesting", WANTED_DEPTH) from None
        raise Unreadable(place, f"text that is not YAML ({said})", "JSON or YAML") from None


def _toggle(in_table: list[bool], key_next: list[bool]) -> None:
    """After a key comes a value, after a value a key."""
    if in_table and in_table[-1]:
        key_next[-1] = not key_next[-1]


def _line(event: Any) -> str:
    return f"line {event.start_mark.line + 1}"


def plain_scalar(text: str) -> Any:
    """A plain scalar of YAML: null, true, false, a number as it is written, else text."""
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text):
        return int(text)
    return Decimal(text) if _NUMBER.fullmatch(text) else text


# -- objects of events ---------------------------------------------------------------------------


def _built(events: Iterator[Event]) -> Iterator[Found]:
    """Objects as they are closed: items of lists at once, others at their document's end."""
    document = 0
    stack: list[Any] = []
    keys: list[str | None] = []
    key: str | None = None
    holder: Any = None
    streamed = -1
    """depth at which finished values are given away instead of being kept"""
    count = 0
    try:
        for event, value in events:
            # what is open stands on a stack, and items leave as they end: a list of any length
            # takes no more memory than one item
            if event == "map_key":
                if value in holder:
                    raise Unreadable("", f"the key {value!r} twice", "every key once")
                key = value
                continue
            if event == "start_map" or event == "start_array":
                depth = len(stack)
                if depth >= DEEPEST:
                    raise Unreadable("", "deeper nesting", WANTED_DEPTH)
                if (
                    streamed < 0
                    and event == "start_array"
                    and (depth == 0 or (depth == 1 and key == ITEMS))
                ):
                    streamed, count = depth + 1, 0
                stack.append(holder)
                keys.append(key)
                holder, key = ({} if event == "start_map" else []), None
                continue
            if event == "end_map" or event == "end_array":
                value = holder
                holder, key = stack.pop(), keys.pop()
                depth = len(stack)
                if depth == streamed - 1 and event == "end_array":
                    streamed, value = -2, ()
            else:
                depth = len(stack)
            if depth == streamed and type(holder) is list:
                listed = stack[1].get("kind", "") if streamed == 2 else ""
                yield f"{_document(document)}items[{count}]", value, str(listed)
                count += 1
            elif depth == 0:
                if streamed == -1 or (isinstance(value, dict) and streamed != -2):
                    yield _document(document) or "file", value, ""
                elif isinstance(value, dict):
                    yield f"{_document(document)}list", {**value, ITEMS: ()}, ""
                document, streamed, holder, key = document + 1, -1, None, None
            elif type(holder) is list:
                holder.append(value)
            else:
                holder[key] = value
    except Unreadable as error:
        if error.fault.place:
            raise
        place = _place(document, keys, key)
        if streamed > 0:
            inside = _path(keys[streamed:], key)
            place = f"{_document(document)}items[{count}]{'.' if inside else ''}{inside}"
        raise Unreadable(place[:120], error.fault.found, error.fault.wanted) from None


def _document(number: int) -> str:
    return f"document {number + 1}: " if number else ""


def _place(document: int, keys: list[str | None], key: str | None) -> str:
    return f"{_document(document)}{_path(keys, key) or 'the start'}"


def _path(keys: list[str | None], key: str | None) -> str:
    return ".".join(k for k in (*keys, key) if k is not None)


WANTED_DEPTH = f"at most {DEEPEST} levels of lists and tables"
