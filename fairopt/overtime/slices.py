"""Slice by slice: what is due by each slice alone and by a ledger, kept in a journal.

A line of the journal is of the slices up to it: of another log, cluster or policy it has another
key.
"""

from __future__ import annotations

import hashlib

import numpy as np

from fairopt.files.journal import Journal
from fairopt.instance import Floats, Instance
from fairopt.notions import Notion
from fairopt.overtime.ledger import Ledger

SCHEMA = "fairopt/replay-slices/v1"
FIELDS = ("alone", "ledger")


class Slices:
    """A ledger that goes from slice to slice.

    Parameters
    ----------
    alone : whether each slice alone is divided too; else it is 0.
    """

    def __init__(
        self,
        instance: Instance,
        book: Ledger,
        notion: Notion,
        length: float,
        journal: Journal,
        alone: bool = True,
    ) -> None:
        self.instance, self.book, self.notion = instance, book, notion
        self.length, self.journal, self.alone = length, journal, alone
        self.state, self.plain = book.start(instance), Ledger.of("slice")
        asked = (instance.digest(), book, notion.plain(), length, *(() if alone else ("ledger",)))
        self.chain = hashlib.sha256(repr(asked).encode())
        self.known: dict[bytes, Floats] = {}
        """what a slice alone gives, by what is wanted"""

    def next(self, wanted: Floats, held: Floats | None) -> tuple[Floats, Floats]:
        """(K, I) due by the slice alone, and by the ledger, in the next slice, of each way.

        Parameters
        ----------
        wanted : (N,) tasks at once. held : (K, I), which the ledger remembers; None: what is due.
        """
        self.chain.update(wanted.tobytes() + (b"" if held is None else held.tobytes()))
        line = self.chain.hexdigest()
        kept = self.journal.known.get(line)
        if kept is not None and self.book.kind != "credits":
            alone, ledger = (_kept(kept[k], self.instance) for k in FIELDS)
            self.known[wanted.tobytes()] = alone
            if self.book.rule != "none":
                self._remember(ledger if held is None else held)
            return alone, ledger
        none = self.book.rule == "none"
        alone = self._by_itself(wanted) if self.alone or none else _none(self.instance)
        ledger = alone if none else self._by_ledger(wanted, held)
        self.journal.add(line, alone=_entries(alone), ledger=_entries(ledger))
        return alone, ledger

    def _by_itself(self, wanted: Floats) -> Floats:
        """Slices in which all want the same are divided once."""
        key = wanted.tobytes()
        if key not in self.known:
            nothing = self.plain.start(self.instance)
            self.known[key] = self.plain.due(
                nothing, self.instance, wanted, self.length, self.notion
            )
        return self.known[key]

    def _by_ledger(self, wanted: Floats, held: Floats | None) -> Floats:
        found, after = self.book.division(
            self.state, self.instance, wanted, self.length, self.notion
        )
        if held is None or self.book.kind == "credits":
            self.state = after
        else:
            self._remember(held)
        return found

    def _remember(self, had: Floats) -> None:
        self.state = self.book.after(self.state, self.instance, had, self.length)


def _entries(tasks: Floats) -> list[tuple[int, int, float]]:
    """What is not 0 of tasks (K, I)."""
    n, i = np.nonzero(tasks)
    return list(zip(n.tolist(), i.tolist(), tasks[n, i].tolist(), strict=True))


def _none(instance: Instance) -> Floats:
    return np.zeros((len(instance.ways), len(instance.servers)))


def _kept(entries: list[tuple[int, int, float]], instance: Instance) -> Floats:
    found = _none(instance)
    for n, i, x in entries:
        found[n, i] = x
    return found


__all__ = ["FIELDS", "SCHEMA", "Slices"]
