"""Model files (TOML), folders of CSV files, and the models shipped with the package.

All faults of a file are reported at once, each with its place. The format is described in
docs/model-files.md.
"""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fairopt import storage
from fairopt.errors import BadInput, Fault, UsageError
from fairopt.files import folders
from fairopt.files.cases import Case, Shipped, all_shipped, near_models, read_cases
from fairopt.files.mistaken import taken_for_another
from fairopt.files.tables import arrays_of, tables_of
from fairopt.files.whole import WholeKeys, by_user, read_whole
from fairopt.instance import Instance
from fairopt.instance.quotas.plain import group_tables
from fairopt.instance.reading import (
    AMOUNT,
    POSITIVE,
    WHOLE,
    Faults,
    build,
    by_name,
    known_keys,
    listed,
    names,
    nearest,
    number,
    shown,
    table,
    text,
)

LARGEST_MODEL = 32 * storage.MEBIBYTE
"""most bytes of a file; a larger instance is a folder of CSV files"""

_HEAD = ("title", "source", "resources", "cards", "zones", "case", "dynamics", "cluster")
_OWN_FILE = ("users", "servers", "groups")
"""tables of a model file that are a file of their own in a folder"""
_WHOLE = ("tasks_per_job", "units", "packets_per_flow", "window", "frameworks")
_DYNAMIC_KEYS = ("loads", "mix", "means", "horizon", "away", "gap", "needs", "claims", *_WHOLE)


@dataclass(frozen=True)
class Model:
    """An instance with its source and what is known about its answers.

    Parameters
    ----------
    instance : the cluster.
    cases : what to solve, and the expected answers.
    title, source : of the model; required of shipped models only.
    dynamics : loads, mix, tasks_per_job, horizon of random arrivals, and who is away from when
        until when, as in the file.
    name : the shipped name, or the name of the file.
    whole : what is said of whole tasks: dues, gangs, most tasks on a node.
    cluster : what `fairopt import` keeps beside an instance: nodes by name, what runs where.
    """

    instance: Instance
    cases: tuple[Case, ...] = ()
    title: str = ""
    source: str = ""
    dynamics: dict[str, Any] = field(default_factory=dict)
    name: str = field(default="", compare=False)
    whole: WholeKeys = field(default_factory=WholeKeys)
    cluster: Mapping[str, Any] = field(default_factory=dict)


def read(path: str | os.PathLike[str]) -> Model:
    """Read a model: a TOML file, a folder of CSV files, "-" for stdin, or a shipped name.

    Raises
    ------
    BadInput : with every fault of the file, each with its place.
    UsageError : no file and no shipped model has that name; the message lists the nearest.

    Examples
    --------
    >>> import fairopt as fo
    >>> fo.read("whole/two-sizes").instance
    Instance(2 users, 2 servers, 1 resource, 4 eligible pairs)
    """
    given = os.fspath(path)
    if given == storage.STDIN:
        return _parse(_text(given), "<stdin>", "stdin")
    found = Path(given)
    name = found.stem
    if not os.path.isfile(found / "model.toml") and not os.path.isfile(found):
        shipped = dict(all_shipped())
        if given in shipped:
            name, found = given, shipped[given]
        elif not os.path.exists(found) and not _looks_like_path(given):
            raise UsageError(
                f"model: found {given!r}; wanted a file, or {near_models(given, shipped)}"
            )
    if os.path.isdir(found):
        return _folder(found, name)
    return _parse(_text(found), storage.source_name(found), name)


def models() -> list[Shipped]:
    """Name, title and source of every shipped model, in order of name; `invalid/` left out.

    Examples
    --------
    >>> import fairopt as fo
    >>> [each.name for each in fo.models()][:3]
    ['bonald2015/example-2-4', 'bonald2015/example-2-4-lie', 'bonald2015/example-2-4-overclaim']
    """
    found = []
    for name, path in all_shipped():
        if name.startswith("invalid/"):
            continue
        head = tomllib.loads(_text(path / "model.toml" if path.is_dir() else path))
        found.append(Shipped(name, str(head.get("title", "")), str(head.get("source", ""))))
    return found


def write(model: Model | Instance, path: str | os.PathLike[str]) -> None:
    """Write a model without loss: to a file NAME.toml or "-", otherwise to a folder of CSV files.

    Written whole or not at all.

    Raises
    ------
    UsageError : the folder to write in does not exist, or cannot be written.

    Examples
    --------
    >>> import fairopt as fo
    >>> import tempfile, pathlib
    >>> cluster = fo.Instance([[1, 4], [3, 1]], [[9, 18]], users=["A", "B"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     fo.write(cluster, pathlib.Path(folder) / "two.toml")
    ...     again = fo.read(pathlib.Path(folder) / "two.toml").instance
    >>> again == cluster
    True
    """
    import tomli_w

    if isinstance(model, Instance):
        model = Model(model)
    given = os.fspath(path)
    head = {"title": model.title, "source": model.source}
    head = {key: value for key, value in head.items() if value}
    plain: dict[str, Any] = {**head, "resources": list(model.instance.resources)}
    if model.whole.cards:
        plain["cards"] = list(model.whole.cards)
    if model.whole.zones:
        plain["zones"] = {zone: list(own) for zone, own in model.whole.zones.items()}
    tail: dict[str, Any] = {}
    if model.dynamics:
        tail["dynamics"] = model.dynamics
    if model.cases:
        tail["case"] = [case.to_dict() for case in model.cases]
    if given == storage.STDIN or given.endswith(".toml"):
        tables = tables_of(model.instance)
        for name, row in tables["users"].items():
            row.update(model.whole.of_user(name))
        if model.cluster:
            tail["cluster"] = model.cluster
        storage.write_text(given, tomli_w.dumps({**plain, **tables, **tail}))
    else:
        own = group_tables(model.instance.quotas)
        flavors = {key: own[key] for key in own if key not in _OWN_FILE}
        whole: dict[str, Any] = {"whole": model.whole.by_key()} if model.whole else {}
        every = {**plain, **flavors, **whole, **tail}
        cluster = json.dumps(model.cluster, ensure_ascii=False) + "\n" if model.cluster else ""
        folders.write_folder(model.instance, Path(given), tomli_w.dumps(every), cluster)


def _looks_like_path(given: str) -> bool:
    return given.endswith((".toml", ".csv", ".json")) or given.startswith((".", "/", "~"))


# -- TOML to model ----------------------------------------------------------------------------


def _text(path: str | os.PathLike[str]) -> str:
    return storage.read_text(path, LARGEST_MODEL, "a model file in TOML")


DEEPEST = 16
"""most parts of a dotted key: models need six; the parser's time grows with their square"""
_WORD = r"""(?:"(?:[^"\\\n]|\\.)*+"|'[^'\n]*+'|[A-Za-z0-9_-]++)"""
_TOKEN = re.compile(
    r'"{3}(?:[^\\]|\\.)*?"{3}|'
    r"'{3}.*?'{3}|#[^\n]*+"
    rf"|(?P<key>{_WORD}(?:[ \t]*+\.[ \t]*+{_WORD})*+)|[^\"'#A-Za-z0-9_-]++|.",
    re.DOTALL,
)
"""multi-line texts, comments, dotted keys (also numbers and texts), and anything else"""


def _deep_key(content: str) -> int | None:
    """Position of the first key of more than DEEPEST parts, or None."""
    if all(line.count(".") < DEEPEST for line in content.splitlines()):
        return None
    for token in _TOKEN.finditer(content):
        key = token["key"]
        if key is not None and key.count(".") >= DEEPEST and len(re.findall(_WORD, key)) > DEEPEST:
            return token.start()
    return None


def _toml(content: str, source: str) -> dict[str, Any]:
    deep = _deep_key(content)
    if deep is not None:
        line = content.count("\n", 0, deep) + 1
        found = f"a key of more than {DEEPEST} parts"
        raise BadInput([Fault(f"line {line}", found, "keys of the model format")], source)
    try:
        return tomllib.loads(content)
    except RecursionError:
        fault = Fault("file", "lists or tables nested too deeply", "a model file in TOML")
    except ValueError as error:
        where = re.search(r" \(at (.*)\)$", str(error))
        place = where[1] if where else "file"
        what = re.sub(r" \(at .*\)$", "", str(error))
        fault = taken_for_another(content, "a model file in TOML") or Fault(
            place, f"text that is not TOML ({what})", "a model file in TOML"
        )
    raise BadInput([fault], source)


def _parse(content: str, source: str, name: str) -> Model:
    data = _toml(content, source)
    faults = Faults(source)
    known_keys(data, (*_HEAD, "servers", "users", "groups", "flavors", "rules"), "", faults)
    arrays = arrays_of(data, faults)
    return _model(data, faults, name, arrays)


def _model(data: Mapping[str, Any], faults: Faults, name: str, arrays: Mapping[str, Any]) -> Model:
    users, servers, resources = (
        {key: k for k, key in enumerate(arrays[kind])} for kind in ("users", "servers", "resources")
    )
    cases = read_cases(data.get("case", []), users, servers, resources, faults)
    title = text(data.get("title", ""), "title", faults)
    source = text(data.get("source", ""), "source", faults)
    dynamics = _dynamics(data.get("dynamics", {}), users, resources, faults)
    whole = read_whole(data, servers, resources, faults)
    cluster = table(data.get("cluster", {}), "cluster", faults)
    return Model(build(faults, **arrays), cases, title, source, dynamics, name, whole, cluster)


def _dynamics(
    given: Any, users: Mapping[str, int], resources: Mapping[str, int], faults: Faults
) -> dict[str, Any]:
    data = table(given, "dynamics", faults)
    known_keys(data, _DYNAMIC_KEYS, "dynamics", faults)
    for k, each in enumerate(listed(data.get("loads", []), "dynamics.loads", faults)):
        number(each, f"dynamics.loads[{k}]", faults, POSITIVE)
    by_name(data.get("mix", {}), users, "user", "dynamics.mix", faults, AMOUNT)
    by_name(data.get("means", {}), users, "user", "dynamics.means", faults, POSITIVE)
    for key in ("needs", "claims"):
        by_name(data.get(key, {}), resources, "resource", f"dynamics.{key}", faults, AMOUNT)
    for key, wanted in (("horizon", POSITIVE), ("gap", AMOUNT), *((k, WHOLE) for k in _WHOLE)):
        if key in data:
            number(data[key], f"dynamics.{key}", faults, wanted)
    for user, both in table(data.get("away", {}), "dynamics.away", faults).items():
        here = f"dynamics.away.{user}"
        if user not in users:
            faults.add(here, "an unknown user", nearest(user, users))
        times = [number(t, here, faults) for t in listed(both, here, faults)]
        if len(times) != 2 or not times[0] < times[1]:
            faults.add(here, shown(both), "two times, leaves < returns")
    return dict(data)


def _folder(folder: Path, name: str) -> Model:
    faults = Faults(folder.name or str(folder))
    if not (folder / "model.toml").is_file():
        faults.add(
            "model.toml", "no such file in the folder", "a model file, or a folder with model.toml"
        )
        faults.stop()
    data = _toml(_text(folder / "model.toml"), f"{folder.name}/model.toml")
    for key in _OWN_FILE:
        if key in data:
            faults.add(key, "a table in model.toml", f"the file {key}.csv")
    head = {k: v for k, v in data.items() if k not in _OWN_FILE}
    known_keys(head, (*_HEAD, "flavors", "whole"), "", faults)
    if (folder / "cluster.json").is_file():
        data = {**data, "cluster": _cluster(folder / "cluster.json")}
    if "resources" not in data:
        faults.add("resources", "none", "at least one")
    resources = names(data["resources"], "resources", faults) if "resources" in data else {}
    arrays = folders.read_folder(folder, resources, faults, data.get("flavors"))
    people = by_user(data.get("whole", {}), arrays["users"], faults)
    return _model({**data, "users": people}, faults, name, arrays)


def _cluster(path: Path) -> Any:
    """What `fairopt import` kept beside a folder; `fairopt plan` reads it further."""
    content = storage.read_text(path, LARGEST_MODEL, "what fairopt import wrote, in JSON")
    try:
        return json.loads(content)
    except (ValueError, RecursionError) as error:
        fault = Fault("file", f"text that is not JSON ({error})", "what fairopt import wrote")
        raise BadInput([fault], path.name) from None


__all__ = ["Case", "Model", "models", "read", "write"]
