"""YARN's fair scheduler: queues of an allocation file (fair-scheduler.xml).

`minResources` is a floor, `maxResources` a ceiling, `weight` counts among siblings; amounts are
"1024 mb, 4 vcores", "vcores=4, memory-mb=1024", or parts of the cluster such as "50%". The file
has queues and no work: what is asked comes from tables, whose queues are named with or without
`root.`. No document type and no entity is read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import IO, Any
from xml.parsers import expat

from fairopt import storage
from fairopt.connect.cluster.nodes import Node
from fairopt.connect.cluster.record import ClusterRecord
from fairopt.connect.readers.volcano import ROOT, VolcanoQueue, VolcanoQueues
from fairopt.connect.text.fields import CPU, MEGABYTE, MEMORY, Amounts
from fairopt.instance.reading import Faults, shown

LARGEST_FILE = 8 * storage.MEBIBYTE
"""most bytes of a file that is read"""
DEEPEST = 32
WANTED = '"1024 mb, 4 vcores", "vcores=4, memory-mb=1024" or "50%"'
MEMORY_ONLY = "queues of YARN that are divided by memory alone"
_UNITS = {
    "mb": (MEMORY, MEGABYTE),
    "memory-mb": (MEMORY, MEGABYTE),
    "memory": (MEMORY, MEGABYTE),
    "vcores": (CPU, 1),
    "cpu": (CPU, 1),
}
_OLD = re.compile(r"([0-9]+(?:\.[0-9]+)?) *(%)? *(mb|vcores|memory|cpu)", re.ASCII)
_NEW = re.compile(r"([A-Za-z0-9./_-]+) *= *([0-9]+(?:\.[0-9]+)?) *(%)?", re.ASCII)
_ALL = re.compile(r"([0-9]+(?:\.[0-9]+)?) *%", re.ASCII)
_NUMBER = re.compile(r"[0-9]{1,12}(\.[0-9]{1,9})?", re.ASCII)


@dataclass
class Element:
    """An element: its name, its attributes, its line, its text and the elements in it."""

    tag: str
    given: Mapping[str, str]
    line: int
    text: str = ""
    inside: list[Element] = field(default_factory=list)

    def first(self, tag: str) -> Element | None:
        """The first element of a name in it."""
        return next((own for own in self.inside if own.tag == tag), None)


class Refused(Exception):
    """What is found in a file that is not read, with its line."""


def parsed(content: bytes) -> Element:
    """The elements of a file.

    Raises
    ------
    Refused : text that is not XML, a document type or an entity, or nesting that is too deep.
    """
    parser = expat.ParserCreate()
    root = Element("", {}, 0)
    stack = [root]

    def start(tag: str, given: dict[str, str]) -> None:
        if len(stack) > DEEPEST:
            raise Refused(f"line {parser.CurrentLineNumber}: nesting deeper than {DEEPEST}")
        own = Element(tag, given, parser.CurrentLineNumber)
        stack[-1].inside.append(own)
        stack.append(own)

    def end(_: str) -> None:
        stack.pop()

    def text(words: str) -> None:
        stack[-1].text += words

    def refuse(*_: Any) -> None:
        raise Refused(f"line {parser.CurrentLineNumber}: a document type or an entity")

    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler = text
    parser.StartDoctypeDeclHandler = parser.EntityDeclHandler = refuse
    try:
        parser.Parse(content, True)
    except expat.ExpatError as error:
        said = expat.ErrorString(error.code)
        raise Refused(f"line {error.lineno}: text that is not XML ({said})") from None
    return root


@dataclass
class Yarn:
    """Queues of allocation files; `into` makes queues of them once the nodes are known."""

    faults: Faults
    queues: dict[str, tuple[str, Element]] = field(default_factory=dict)
    policy: str = "fair"

    def __bool__(self) -> bool:
        return bool(self.queues)

    def take(self, stream: IO[bytes], source: str) -> None:
        """Take one file."""
        content = stream.read(LARGEST_FILE + 1)
        try:
            if len(content) > LARGEST_FILE:
                raise Refused(f"more than {LARGEST_FILE // storage.MEBIBYTE} MiB")
            root = parsed(content)
        except Refused as error:
            self.faults.add(source, str(error), "an allocation file of YARN, XML without a DTD")
            return
        top = root.first("allocations")
        if top is None:
            self.faults.add(source, "no <allocations>", "an allocation file of YARN")
            return
        policy = top.first("defaultQueueSchedulingPolicy")
        self.policy = policy.text.strip().lower() if policy else self.policy
        for own in _queues(top):
            name = own.given.get("name", "")
            self._queue(own, "" if name == ROOT else ROOT, source)

    def _queue(self, own: Element, above: str, source: str) -> None:
        name = own.given.get("name", "").strip()
        place = f"{source}: line {own.line}"
        if not name or "." in name or not name.isprintable():
            self.faults.add(place, shown(name), "the name of a queue, without points")
            return
        full = f"{above}.{name}" if above else name
        if full in self.queues:
            self.faults.add(place, f"the queue {full!r} a second time", "every queue once")
        self.queues[full] = (place, own)
        for inner in _queues(own):
            self._queue(inner, full, source)

    def into(self, queues: VolcanoQueues, nodes: list[Node]) -> None:
        """Add the queues: floors, ceilings and weights, parts of the nodes in service."""
        there: Amounts = {}
        for node in nodes:
            for key, amount in node.allocatable.items() if not node.out else ():
                there[key] = there.get(key, Fraction(0)) + node.count * amount
        for name, (place, own) in self.queues.items():
            queues.queues[name] = VolcanoQueue(
                name,
                "" if name == ROOT else name.rpartition(".")[0],
                self._weight(own, place),
                0,
                self._amounts(own, "minResources", place, there),
                {},
                self._amounts(own, "maxResources", place, there),
            )

    def _weight(self, own: Element, place: str) -> Fraction:
        given = own.first("weight")
        text = given.text.strip() if given else "1"
        if _NUMBER.fullmatch(text) and Fraction(text):
            return Fraction(text)
        self.faults.add(f"{place}.weight", shown(text), "a number > 0")
        return Fraction(1)

    def _amounts(self, own: Element, key: str, place: str, there: Amounts) -> Amounts:
        given = own.first(key)
        text = " ".join(given.text.split()) if given else ""
        found: Amounts = {}
        whole = _ALL.fullmatch(text)
        if whole:
            return {name: x * Fraction(whole[1]) / 100 for name, x in there.items()}
        for part in filter(None, (part.strip() for part in text.split(","))):
            new, old = _NEW.fullmatch(part), _OLD.fullmatch(part.lower())
            if new:
                word, number, percent = new[1], new[2], new[3]
            elif old:
                word, number, percent = old[3], old[1], old[2]
            else:
                self.faults.add(f"{place}.{key}", shown(text), WANTED)
                return {}
            name, unit = _UNITS.get(word, (word, 1))
            part_of = there.get(name, Fraction(0)) * Fraction(number) / 100
            found[name] = part_of if percent else Fraction(number) * unit
        return found

    def joined(self, base: ClusterRecord) -> ClusterRecord:
        """The cluster with its work in queues, named in full.

        Raises
        ------
        BadInput : work of a queue that the file has not, and every fault before.
        """
        for work in base.workloads:
            full = work.queue if work.queue in self.queues else f"{ROOT}.{work.queue}"
            if full not in self.queues:
                wanted = f"one of {', '.join(sorted(self.queues)[:8])}"
                self.faults.add(f"work of {work.name}", f"the queue {work.queue!r}", wanted)
            work.queue = full
        self.faults.found.sort()
        self.faults.stop()
        alone = sorted(name for name in self.queues if self._policy(name) == "fair")
        return replace(
            base,
            workloads=sorted(base.workloads, key=lambda w: (w.queue, w.name)),
            beyond={**base.beyond, **({MEMORY_ONLY: alone} if alone else {})},
        )

    def _policy(self, name: str) -> str:
        own = self.queues[name][1].first("schedulingPolicy")
        return own.text.strip().lower() if own else self.policy


def _queues(own: Element) -> Iterator[Element]:
    return (each for each in own.inside if each.tag in ("queue", "pool"))
