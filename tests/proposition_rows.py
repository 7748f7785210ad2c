"""Rows of the table of statements, tried: what is meant to be found is found, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping

from fairopt.propositions import PROPOSITIONS, find
from fairopt.propositions.trials import chunk

Row = tuple[str, str]
"""name, and the hypothesis broken on purpose"""


def rows_of(*papers: str) -> list[Row]:
    """Every statement of these papers, as it is and without each of its hypotheses."""
    return [
        (name, without)
        for name in PROPOSITIONS
        if name.startswith(tuple(f"{paper}/" for paper in papers))
        for without in ("", *find(name).breakable())
    ]


def try_row(row: Row, found: Mapping[Row, int | tuple[int, int]], held: int) -> None:
    """Try a row; `found` has the trials, up to N or from M to N, where a counterexample is."""
    trials = found.get(row, held)
    start, stop = trials if isinstance(trials, tuple) else (0, trials)
    counted = chunk(find(row[0]), row[1], 0, start, stop)
    if row in found:
        assert counted["violated"] > 0
    else:
        assert counted["violated"] == 0, counted["worst"]
        assert counted["held"] >= held / 2, counted["undecided"]
