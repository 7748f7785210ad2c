"""Rules for queues of Volcano and KAI: promises, ceilings, parents and weights."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from fairopt.connect.exports.taking import told
from fairopt.connect.lint.findings import Book, Lined, Path
from fairopt.connect.readers import kai
from fairopt.connect.readers.volcano import ROOT, VolcanoQueue, VolcanoQueues

Amounts = Mapping[str, Fraction]
FIELDS: dict[str, Path] = {
    "deserved": ("spec", "deserved"),
    "guarantee": ("spec", "guarantee", "resource"),
    "capability": ("spec", "capability"),
}


def check(given: VolcanoQueues, written: Mapping[str, Lined], there: Amounts, book: Book) -> None:
    """Add what is found.

    Parameters
    ----------
    given : what was read. written : the objects by name.
    there : what the nodes in service have; empty where no file has any.
    """
    queues = given.queues
    if _parents(given, written, book):
        return
    for name, own in queues.items():
        here = written[name]
        for resource, most in own.capability.items():
            for key in ("deserved", "guarantee"):
                amount = getattr(own, key).get(resource)
                if amount is not None and amount > most:
                    found = f"{told(resource, amount)}, above its limit of {told(resource, most)}"
                    path = _path(given, name, key, resource)
                    book.add("promise-over-limit", here, path, found, f"at most {told('', most)}")
            _ceiling(given, written, name, resource, there, book)
        _weight(given, own, here, book)
    for name in (ROOT, *queues):
        _below(given, written, name, there, book)


def _parents(given: VolcanoQueues, written: Mapping[str, Lined], book: Book) -> bool:
    circle = False
    key = "parentQueue" if given.kai else "parent"
    for name, own in given.queues.items():
        chain, at = [name], own.parent
        if at and at != ROOT and at not in given.queues:
            found = f"the queue {at!r}, which no file has"
            book.add("unknown-name", written[name], ("spec", key), found, "a Queue that there is")
        while at in given.queues and at not in chain:
            chain.append(at)
            at = given.queues[at].parent
        if at == name:
            circle = True
            if name == min(chain):
                found = f"the circle {' -> '.join([*chain, name])}"
                fix = "take away the parent of one of them"
                book.add("cycle", written[name], ("spec", key), found, fix)
    return circle


def _ceiling(
    given: VolcanoQueues,
    written: Mapping[str, Lined],
    name: str,
    resource: str,
    there: Amounts,
    book: Book,
) -> None:
    """A ceiling no lower than the nodes, or than the ceiling above it."""
    own = given.queues[name]
    most, path = own.capability[resource], _path(given, name, "capability", resource)
    if given.kai and own.deserved.get(resource) == most:
        return  # a quota without anything beyond it, and no limit of its own
    have = there.get(resource, Fraction(0))
    if there and most >= have:
        found = f"{told(resource, most)}; all nodes have {told(resource, have)}"
        book.add("limit-never-binds", written[name], path, found, "take it away, or less")
        return
    above = given.queues.get(own.parent)
    theirs = above.capability.get(resource) if above is not None else None
    if theirs is not None and most >= theirs:
        found = f"{told(resource, most)}; its parent may use {told(resource, theirs)}"
        book.add("limit-never-binds", written[name], path, found, "take it away, or less")


def _weight(given: VolcanoQueues, own: VolcanoQueue, here: Lined, book: Book) -> None:
    spec = here.data.get("spec") or {}
    if own.name not in given.kai:
        return  # Volcano refuses a weight of 0, which reading has said
    for key in kai.RESOURCES:
        row = (spec.get("resources") or {}).get(key) or {}
        limit, quota = row.get("limit"), row.get("quota")
        if row.get("overQuotaWeight") == 0 and quota != -1 and limit not in (None, 0, quota):
            found = f"0, though its limit of {limit} lets it use more than its quota"
            path = ("spec", "resources", key, "overQuotaWeight")
            fix = "a weight above 0, or a limit that is the quota"
            book.add("weight-0", here, path, found, fix)


def _below(
    given: VolcanoQueues, written: Mapping[str, Lined], name: str, there: Amounts, book: Book
) -> None:
    """What the queues right below promise together, beside what their parent or the nodes have."""
    below = [own for own in given.queues.values() if own.parent == name and own.name != ROOT]
    parent = given.queues.get(name)
    for key in ("deserved", "guarantee"):
        for resource in sorted({r for own in below for r in getattr(own, key)}):
            rows = [(own, getattr(own, key).get(resource, Fraction(0))) for own in below]
            total = sum((x for _, x in rows), Fraction(0))
            largest = min(rows, key=lambda row: (-row[1], row[0].name))[0].name
            path = _path(given, largest, key, resource)
            listed = ", ".join(f"{own.name} {told('', x).strip()}" for own, x in rows if x)
            said = getattr(parent, key).get(resource) if parent is not None else None
            if name != ROOT and said is not None and total > said:
                has = told(resource, said)
                found = f"{told(resource, total)} below {name} ({listed}); it has {has}"
                fix = f"at most {has} together, or more for {name}"
                book.add("promise-over-parent", written[largest], path, found, fix)
            elif name == ROOT and there and total > there.get(resource, Fraction(0)):
                have = told(resource, there.get(resource, Fraction(0)))
                found = f"{told(resource, total)} in all ({listed}); the nodes have {have}"
                book.add(
                    "promise-over-nodes", written[largest], path, found, f"at most {have} together"
                )


def _path(given: VolcanoQueues, name: str, key: str, resource: str) -> Path:
    """Where an amount is written."""
    if name not in given.kai:
        return (*FIELDS[key], resource)
    short = next(k for k, (r, _) in kai.RESOURCES.items() if r == resource)
    return "spec", "resources", short, "limit" if key == "capability" else "quota"
