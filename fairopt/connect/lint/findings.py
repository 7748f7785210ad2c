"""What a linter finds: where, what, why it cannot be meant, and what would mend it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

ERROR, WARNING = "error", "warning"
Path = tuple[str | int, ...]

CODES: dict[str, tuple[str, str]] = {
    "bad-value": (ERROR, "a field that cannot be read, or that its scheduler refuses"),
    "cycle": (ERROR, "queues or cohorts above themselves"),
    "unknown-name": (ERROR, "a name that nothing in the files has"),
    "name-twice": (ERROR, "two objects of one name"),
    "limit-without-cohort": (ERROR, "a limit of borrowing or lending where nobody can lend"),
    "promise-over-limit": (ERROR, "more is promised than the same queue may use"),
    "promise-over-parent": (ERROR, "more is promised below a queue than it has itself"),
    "promise-over-nodes": (WARNING, "more is promised than the nodes have"),
    "flavor-without-nodes": (WARNING, "a flavor that nobody can use: no node is of it"),
    "flavor-unused": (WARNING, "a flavor that nobody can use: no queue lists it"),
    "flavor-overlap": (WARNING, "nodes that count for two flavors of one resource"),
    "limit-never-binds": (WARNING, "a limit that nothing can reach"),
    "cannot-borrow": (WARNING, "more may be borrowed than others can lend"),
    "never-runs": (WARNING, "a queue that can never use what it lists"),
    "weight-0": (WARNING, "a weight of 0: served after everybody else"),
    "half-life-0": (WARNING, "a half-life of 0: no memory, or one that never fades"),
}
"""code -> (severity, what it is)"""


@dataclass(frozen=True, order=True)
class Finding:
    """One finding; `line` is 0 where the file has no lines, such as a very large one."""

    file: str
    line: int
    code: str
    place: str
    found: str
    fix: str

    @property
    def severity(self) -> str:
        """Whether a scheduler refuses it, or it is only not what anybody can mean."""
        return CODES[self.code][0]

    def plain(self) -> dict[str, Any]:
        """The finding as plain data."""
        return {
            "file": self.file,
            "line": self.line,
            "severity": self.severity,
            "code": self.code,
            "place": self.place,
            "found": self.found,
            "fix": self.fix,
        }


@dataclass(frozen=True)
class Lined:
    """An object with the lines of its fields."""

    file: str
    data: Mapping[str, Any]
    lines: Mapping[Path, int]

    @property
    def kind(self) -> str:
        """Its kind."""
        return str(self.data.get("kind", ""))

    @property
    def api(self) -> str:
        """Its apiVersion."""
        return str(self.data.get("apiVersion", ""))

    @property
    def name(self) -> str:
        """Its name, with the namespace it is in."""
        meta = self.data.get("metadata")
        meta = meta if isinstance(meta, Mapping) else {}
        space, name = meta.get("namespace"), str(meta.get("name", ""))
        return f"{space}/{name}" if space else name

    def line(self, path: Path) -> int:
        """The line of a field; of what it is in, where it is not written."""
        while path not in self.lines and path:
            path = path[:-1]
        return self.lines.get(path, 0)


@dataclass
class Book:
    """Findings, collected."""

    found: list[Finding] = field(default_factory=list)

    def add(self, code: str, own: Lined, path: Path, found: str, fix: str) -> None:
        """Add a finding at a field of an object."""
        assert code in CODES
        words = "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in path)
        place = f"{own.kind} {own.name}{words}"
        self.found.append(Finding(own.file, own.line(path), code, place, found, fix))
