"""Rules for quotas in a model file of fairopt (TOML): groups, guarantees, ceilings, lending.

Only what can be read off the file is asked; whether guarantees fit together on single servers is
decided by solving.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from fairopt.connect.exports.taking import told
from fairopt.connect.lint.findings import Book, Lined, Path
from fairopt.errors import BadInput, Fault
from fairopt.files.quantities import NoQuantity, quantity

Cell = tuple[str | None, str]
"""a flavor, None for all servers, and a resource"""
KINDS = ("guarantee", "nominal", "borrow", "lend", "most")
_KEY = r"""(?:"[^"]*"|'[^']*'|[A-Za-z0-9_-]+)"""
_KEYS = rf"{_KEY}(?:\s*\.\s*{_KEY})*"
_HEAD, _LINE = re.compile(rf"\s*\[\[?\s*({_KEYS})\s*\]"), re.compile(rf"\s*({_KEYS})\s*=")


@dataclass
class Member:
    """A group or a user: what is said of it, by flavor and resource."""

    own: Lined
    parent: str | None
    amounts: dict[str, dict[Cell, Fraction]] = field(default_factory=dict)
    weight: Any = 1

    def of(self, kind: str, cell: Cell) -> Fraction | None:
        """An amount; None where nothing is said."""
        return self.amounts.get(kind, {}).get(cell)


def check(content: str, source: str, book: Book) -> int:
    """Add what is found in a model; how many groups, users and flavors there are.

    Raises
    ------
    BadInput : no TOML.
    """
    try:
        data = tomllib.loads(content)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        fault = Fault("file", f"text that is no TOML ({error})", "a model file in TOML")
        raise BadInput([fault], source) from None
    lines = _lines(content)
    members = dict(_members(data, lines, source, book))
    flavors = _tables(data.get("flavors"))
    there = _there(data, flavors)
    _names(data, members, flavors, lines, source, book)
    if _circle(members, book):
        return len(members) + len(flavors)
    for name, member in members.items():
        if member.weight == 0:
            found, fix = "0: served after everybody else", "a weight above 0, unless that is meant"
            book.add("weight-0", member.own, ("weight",), found, fix)
        for cell in dict.fromkeys(c for kind in KINDS for c in member.amounts.get(kind, {})):
            _limits(members, name, cell, there, book)
    for cell in sorted(
        {c for own in members.values() for k in ("guarantee", "nominal") for c in own.amounts[k]},
        key=lambda c: (c[0] or "", c[1]),
    ):
        _promises(members, cell, there, book)
    return len(members) + len(flavors)


def _lines(content: str) -> dict[Path, int]:
    """The line of every key that begins one, by its path."""
    found: dict[Path, int] = {}
    above: Path = ()
    for k, line in enumerate(content.splitlines(), 1):
        head, key = _HEAD.match(line), _LINE.match(line)
        if head:
            above = _path(head[1])
            found.setdefault(above, k)
        elif key:
            found.setdefault((*above, *_path(key[1])), k)
    return found


def _path(text: str) -> Path:
    return tuple(part.strip().strip("\"'") for part in re.findall(_KEY, text))


def _tables(given: Any) -> dict[str, Mapping[str, Any]]:
    rows = given.items() if isinstance(given, Mapping) else ()
    return {name: row for name, row in rows if isinstance(row, Mapping)}


def _lined(kind: str, where: str, name: str, lines: Mapping[Path, int], source: str) -> Lined:
    """A member as an object with the lines of its fields."""
    size = 2
    own = {path[size:]: k for path, k in lines.items() if path[:size] == (where, name)}
    if () not in own:
        own[()] = min(own.values(), default=lines.get((where,), 0))
    return Lined(source, {"kind": kind, "metadata": {"name": name}}, own)


def _members(
    data: Mapping[str, Any], lines: Mapping[Path, int], source: str, book: Book
) -> Iterator[tuple[str, Member]]:
    for kind, where, above in (("group", "groups", "parent"), ("user", "users", "group")):
        for name, row in _tables(data.get(where)).items():
            own = _lined(kind, where, name, lines, source)
            parent = row.get(above)
            member = Member(own, str(parent) if parent else None, weight=row.get("weight", 1))
            parts: list[tuple[str | None, Mapping[str, Any]]] = [(None, row)]
            parts += list(_tables(row.get("on")).items())
            for what in KINDS:
                rows = member.amounts[what] = {}
                for flavor, part in parts:
                    given = part.get(what)
                    for resource, value in given.items() if isinstance(given, Mapping) else ():
                        amount = _amount(value)
                        if amount is None:
                            path = _where(what, (flavor, resource))
                            wanted = "a number >= 0, or a quantity such as 64Gi"
                            book.add("bad-value", own, path, repr(value), wanted)
                        elif amount != "inf":
                            rows[flavor, resource] = Fraction(amount)
            yield name, member


def _amount(value: Any) -> Fraction | str | None:
    """An amount >= 0, "inf" without bound, None for what is none."""
    if isinstance(value, float) and value == float("inf"):
        return "inf"
    try:
        amount = quantity(value if isinstance(value, str) else repr(value))
    except (NoQuantity, ValueError):
        return None
    return amount if amount >= 0 and not isinstance(value, bool) else None


def _there(data: Mapping[str, Any], flavors: Mapping[str, Any]) -> dict[Cell, Fraction]:
    """What all servers, and those of each flavor, have of each resource."""
    found: dict[Cell, Fraction] = {}
    for name, row in _tables(data.get("servers")).items():
        count = row.get("count", 1)
        given = row.get("capacity")
        for resource, value in given.items() if isinstance(given, Mapping) else ():
            amount = _amount(value)
            if not isinstance(amount, Fraction) or not isinstance(count, int):
                continue
            own = [
                flavor for flavor, said in flavors.items() if name in (said.get("servers") or ())
            ]
            for flavor in (None, *own):
                cell = flavor, resource
                found[cell] = found.get(cell, Fraction(0)) + count * amount
    return found


def _where(kind: str, cell: Cell) -> Path:
    flavor, resource = cell
    return (*(("on", flavor) if flavor is not None else ()), kind, resource)


def _names(
    data: Mapping[str, Any],
    members: Mapping[str, Member],
    flavors: Mapping[str, Mapping[str, Any]],
    lines: Mapping[Path, int],
    source: str,
    book: Book,
) -> None:
    """Names that nothing has, and flavors that nobody can use."""
    groups, servers = _tables(data.get("groups")), _tables(data.get("servers"))
    used = {c[0] for own in members.values() for k in KINDS for c in own.amounts[k]}
    for member in members.values():
        if member.parent is not None and member.parent not in groups:
            key = "parent" if member.own.kind == "group" else "group"
            found = f"the group {member.parent!r}, which the file has not"
            book.add("unknown-name", member.own, (key,), found, "a group that there is")
    for name, row in flavors.items():
        own = _lined("flavor", "flavors", name, lines, source)
        some = row.get("servers") or []
        unknown = [server for server in some if server not in servers]
        for server in unknown:
            found = f"the server {server!r}, which the file has not"
            book.add("unknown-name", own, ("servers",), found, "a server that there is")
        if len(unknown) == len(some):
            fix = "name servers, or take the flavor away"
            book.add("flavor-without-nodes", own, ("servers",), "no server is of it", fix)
        if name not in used:
            fix = "amounts of a group or user on it, or take it away"
            book.add("flavor-unused", own, (), "no group and no user says anything on it", fix)


def _circle(members: Mapping[str, Member], book: Book) -> bool:
    circle = False
    for name, member in members.items():
        chain, at = [name], member.parent or ""
        while at in members and at not in chain:
            chain.append(at)
            at = members[at].parent or ""
        if at == name:
            circle = True
            if name == min(chain):
                found = f"the circle {' -> '.join([*chain, name])}"
                book.add("cycle", member.own, ("parent",), found, "take one parent away")
    return circle


def _limits(
    members: Mapping[str, Member],
    name: str,
    cell: Cell,
    there: Mapping[Cell, Fraction],
    book: Book,
) -> None:
    """What one member is promised, may use, borrow and lend of one cell."""
    own, resource = members[name], cell[1]
    have = there.get(cell, Fraction(0))
    most, floor = own.of("most", cell), own.of("guarantee", cell)
    if most is not None and floor is not None and floor > most:
        found = f"{told(resource, floor)}, above its ceiling of {told(resource, most)}"
        path = _where("guarantee", cell)
        book.add("promise-over-limit", own.own, path, found, f"at most {told('', most)}")
    above = members.get(own.parent or "")
    theirs = above.of("most", cell) if above is not None else None
    if most == 0:
        found = "a ceiling of 0: nothing that needs it ever runs"
        book.add("never-runs", own.own, _where("most", cell), found, "more, or no demand for it")
    elif most is not None and most >= (have if theirs is None else min(have, theirs)):
        has = "the servers have" if theirs is None or have <= theirs else "its group may use"
        limit = have if theirs is None else min(have, theirs)
        found = f"{told(resource, most)}; {has} {told(resource, limit)}"
        path = _where("most", cell)
        book.add("limit-never-binds", own.own, path, found, "take it away, or less")
    mine = own.of("nominal", cell) or Fraction(0)
    lend, borrow = own.of("lend", cell), own.of("borrow", cell)
    if lend is not None and lend >= mine:
        found = f"{told(resource, lend)} of {told(resource, mine)}, all there is"
        path = _where("lend", cell)
        book.add("limit-never-binds", own.own, path, found, f"less than {told('', mine)}, or none")
    if borrow is None:
        return
    lent = Fraction(0)
    for other, member in members.items():
        nominal = member.of("nominal", cell)
        if other != name and nominal is not None:
            most_lent = member.of("lend", cell)
            lent += nominal if most_lent is None else min(nominal, most_lent)
    path = _where("borrow", cell)
    if borrow > lent:
        found = f"{told(resource, borrow)}, though others can lend at most {told(resource, lent)}"
        fix = f"at most {told(resource, lent)}, or more nominal (or lend) beside it"
        book.add("cannot-borrow", own.own, path, found, fix)
    elif borrow == lent and lent:
        found = f"{told(resource, borrow)}, all that others can lend"
        book.add("limit-never-binds", own.own, path, found, "take it away, or less")
    if not borrow and not mine:
        found = "nothing of its own, and it borrows none"
        book.add("never-runs", own.own, path, found, "a nominal amount, or more to borrow")


def _promises(
    members: Mapping[str, Member], cell: Cell, there: Mapping[Cell, Fraction], book: Book
) -> None:
    """What siblings are promised together, beside what their group or the servers have."""
    flavor, resource = cell
    for kind in ("guarantee", "nominal"):
        # what members bring along adds up over the whole tree; guarantees are those of siblings
        siblings = kind == "guarantee"
        above_all = dict.fromkeys([None, *(own.parent for own in members.values() if siblings)])
        for parent in above_all:
            rows = [
                (name, amount)
                for name, own in members.items()
                if (own.parent == parent or not siblings) and (amount := own.of(kind, cell))
            ]
            total = sum((x for _, x in rows), Fraction(0))
            if not rows:
                continue
            largest = members[min(rows, key=lambda row: (-row[1], row[0]))[0]]
            listed = ", ".join(f"{name} {told('', x).strip()}" for name, x in rows)
            on = "" if flavor is None else f" on {flavor}"
            above = members.get(parent or "")
            said = None if above is None else above.of(kind, cell)
            if parent is None and total > there.get(cell, Fraction(0)):
                have = told(resource, there.get(cell, Fraction(0)))
                found = f"{told(resource, total)}{on} in all ({listed}); the servers have {have}"
                path = _where(kind, cell)
                book.add("promise-over-nodes", largest.own, path, found, f"at most {have} together")
            elif said is not None and total > said:
                has = told(resource, said)
                found = f"{told(resource, total)}{on} below {parent} ({listed}); it has {has}"
                path, fix = _where(kind, cell), f"at most {has} together, or more for {parent}"
                book.add("promise-over-parent", largest.own, path, found, fix)
