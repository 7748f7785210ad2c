"""Files taken for one another: what a text is that is not of the kind wanted, and what reads it."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from typing import Any

from fairopt.errors import BadInput, Fault

START = 100_000
"""characters of a text that are looked at"""
READERS = {
    "allocation": "fairopt verify",
    "whole": "fairopt verify",
    "plan": "fairopt verify",
    "sweep": "fairopt report",
    "compare": "fairopt report",
    "replay": "fairopt verify",
}
"""what reads a saved result, by its schema"""


def taken_for_another(
    content: str, wanted: str, tables: bool = True, results: bool = True
) -> Fault | None:
    """The fault of a text that is of another known kind; None if it is of none.

    Parameters
    ----------
    content : the text of the file, whole or its beginning.
    wanted : what the reader wants, as "a model file in TOML".
    tables : a table in CSV is another kind; no where one is wanted, of whatever columns.
    results : what fairopt wrote is another kind; no where it is cut, and no JSON any more.

    Examples
    --------
    >>> print(taken_for_another("[users.a]\\n[servers.b]\\n", "an answer in JSON"))
    file: found a model in TOML; wanted an answer in JSON (models are read by `fairopt solve`)
    """
    start = content[:START].lstrip("\ufeff \t\r\n")
    kinds = *([_result] if results else []), _kubernetes, *([_table] if tables else []), _model
    for kind in kinds:
        found = kind(start)
        if found is not None:
            what, reader = found
            return Fault("file", what, f"{wanted} ({reader})")
    return None


def parsed(content: str, source: str, wanted: str) -> Any:
    """The plain data of a result in JSON.

    Parameters
    ----------
    content, source : the text and what messages call it. wanted : as of `taken_for_another`.

    Raises
    ------
    BadInput : no JSON, or objects of Kubernetes.
    """
    try:
        data = json.loads(content)
    except (ValueError, RecursionError) as error:
        where = f", line {error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        what = f"text that is not JSON ({type(error).__name__}{where})"
        other = taken_for_another(content, wanted, results=False) or Fault("file", what, wanted)
        raise BadInput([other], source) from None
    if isinstance(data, Mapping) and "schema" not in data:
        fault = taken_for_another(content, wanted)
        if fault is not None:
            raise BadInput([fault], source)
    return data


def is_kubernetes(content: str) -> bool:
    """Whether a text holds objects of Kubernetes, told from its beginning."""
    return _kubernetes(content[:START].lstrip("\ufeff \t\r\n")) is not None


def _result(start: str) -> tuple[str, str] | None:
    schema = re.match(r'\{\s*"schema"\s*:\s*"fairopt/([a-z-]+)/v\d+"', start)
    if schema is None:
        return None
    reader = READERS.get(schema[1])
    what = f"what fairopt wrote ({schema[1]})"
    return what, f"it is read by `{reader}`" if reader else "it is a result, not an input"


def _kubernetes(start: str) -> tuple[str, str] | None:
    keys = r'^\s*"apiVersion"\s*:' if start.startswith("{") else r"^(?:- )?apiVersion:"
    if not re.search(keys, start.replace("{", "{\n"), flags=re.M):
        return None
    return "objects of Kubernetes", "these are read by `fairopt plan` and `fairopt import`"


def _table(start: str) -> tuple[str, str] | None:
    lines = [line for line in start.splitlines()[:20] if line.strip()]
    columns = lines[0].split(",") if lines else []
    named = all(re.fullmatch(r'\s*"?[A-Za-z_][\w ./:-]*"?\s*', cell) for cell in columns)
    if len(columns) < 2 or len(lines) < 2 or not named:
        return None
    # the last of the lines may be cut
    if any(line.count(",") != len(columns) - 1 for line in lines[1:-1] or lines[1:]):
        return None
    shown = ", ".join(cell.strip(' "') for cell in columns[:4]) + (", ..." * (len(columns) > 4))
    reader = "tables are read as a folder with model.toml, users.csv and servers.csv"
    return f"a table in CSV ({shown})", reader


def _model(start: str) -> tuple[str, str] | None:
    if len(start) == START:
        return None
    try:
        keys = set(tomllib.loads(start))
    except (ValueError, RecursionError):
        return None
    if not {"users", "servers"} <= keys:
        return None
    return "a model in TOML", "models are read by `fairopt solve`"


__all__ = ["is_kubernetes", "parsed", "taken_for_another"]
