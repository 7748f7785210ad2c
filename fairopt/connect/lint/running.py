"""Files in, findings out."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from fairopt import storage
from fairopt.connect.cluster.nodes import Node, node
from fairopt.connect.lint import kueue_rules, model_rules, other_rules, promise_rules
from fairopt.connect.lint.findings import Book, Finding, Lined, Path
from fairopt.connect.readers import kai
from fairopt.connect.readers.kueue import KINDS, Queues
from fairopt.connect.readers.volcano import API, VolcanoQueues
from fairopt.connect.text import reading
from fairopt.connect.text.streams import ITEMS, plain_scalar
from fairopt.errors import MissingExtra
from fairopt.instance.reading import Faults

CONFIGURATION = "config.kueue.x-k8s.io/"


@dataclass
class _Read:
    """What all files hold together."""

    faults: Faults
    book: Book = field(default_factory=Book)
    nodes: list[Node] = field(default_factory=list)
    written: dict[tuple[str, str], Lined] = field(default_factory=dict)
    quotas: list[Lined] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.kueue = Queues(self.faults)
        self.volcano = VolcanoQueues(self.faults)

    def take(self, own: Lined) -> bool:
        """Take an object; whether there is any rule for its kind."""
        before = len(self.faults.found)
        key = _key(own)
        if own.kind == "Node":
            self.nodes.append(node(own.data, own.file, self.faults))
        elif own.kind in KINDS and own.api.startswith("kueue.x-k8s.io/"):
            if own.kind != "Workload" and not self._again(key, own):
                self.kueue.take(own.kind, own.data, own.file)
        elif own.kind == "Queue" and own.api.startswith((API, kai.API)):
            if self._again(key, own):
                return True
            if own.api.startswith(API):
                self.volcano.take("Queue", own.data, own.file)
            else:
                self.volcano.add(kai.queue(own.data, own.file, self.faults))
        elif own.kind == "ResourceQuota":
            self.quotas.append(own)
        elif own.kind == "Configuration" and own.api.startswith(CONFIGURATION):
            other_rules.configuration(own, self.book)
        else:
            return False
        for fault in self.faults.found[before:]:
            _, _, rest = fault.place.partition(f"{key[1]}.")
            path = _path(rest)
            self.book.add("bad-value", own, path, fault.found, fault.wanted)
        del self.faults.found[before:]
        return True

    def _again(self, key: tuple[str, str], own: Lined) -> bool:
        if key in self.written:
            first = self.written[key]
            found = f"the name of {first.file}:{first.line(())}"
            self.book.add("name-twice", own, ("metadata", "name"), found, "a name of its own")
            return True
        self.written[key] = own
        return False


def lint(paths: Sequence[str]) -> tuple[list[Finding], int]:
    """Findings in files, in order of file and line, and how many objects have rules.

    Parameters
    ----------
    paths : files of objects as kubectl prints or people write them, slurm.conf, and models in TOML;
        "-" for standard input. What is said in one may be answered in another: nodes, flavors,
        parents.

    Raises
    ------
    BadInput : a file that cannot be read.
    """
    read, known = _Read(Faults("files")), 0
    for path in paths:
        source = storage.source_name(path)
        with reading.opened(path) as stream:
            content = stream.read()
        if path.endswith(".toml"):
            known += model_rules.check(content.decode("utf-8", "replace"), source, read.book)
            continue
        if any(f"{key}=".encode() in content for key in (*other_rules.SLURM, "ClusterName")):
            other_rules.slurm_conf(content.decode("utf-8", "replace"), source, read.book)
            known += 1
            continue
        known += sum(read.take(own) for own in objects(content, source))
    in_service = [own for own in read.nodes if not own.out]
    there: dict[str, Fraction] = {}
    for own in in_service:
        for resource, amount in own.allocatable.items():
            there[resource] = there.get(resource, Fraction(0)) + own.count * amount
    if read.kueue:
        kueue_rules.check(read.kueue, read.written, in_service, read.book)
    if read.volcano:
        queues = {name: own for (kind, name), own in read.written.items() if kind == "Queue"}
        promise_rules.check(read.volcano, queues, there, read.book)
    for quota in read.quotas:
        other_rules.resource_quota(quota, there, read.book)
    return sorted(set(read.book.found)), known


def _key(own: Lined) -> tuple[str, str]:
    """(kind, name), with the namespace where its kind is in one."""
    meta = own.data.get("metadata")
    meta = meta if isinstance(meta, dict) else {}
    name = str(meta.get("name", ""))
    spaced = own.kind == "LocalQueue"
    return own.kind, f"{meta.get('namespace') or 'default'}/{name}" if spaced else name


def _path(text: str) -> tuple[str | int, ...]:
    """The path that a fault's place names, such as spec.resourceGroups[0].flavors."""
    found: list[str | int] = []
    for part in text.split(".") if text else ():
        name, *numbers = part.replace("]", "").split("[")
        found.append(name)
        found += [int(k) for k in numbers if k.isdigit()]
    return tuple(found)


# Objects of a file with the line of every field, for JSON and YAML alike.
#
# A file is first read as every other command reads it, which refuses tags, aliases, keys given
# twice and deep nesting; only then are its lines looked up. Files above `LARGEST_FILE` have no
# lines.


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
