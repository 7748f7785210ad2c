"""Conditions of optimality as tables of text: every pair, every row, and how far they hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from fairopt.allocation import Allocation
from fairopt.kkt import tables
from fairopt.kkt.table import Column, ConditionsTable
from fairopt.report.tables import WHOLE, Page, headline, table_text, verdict_text
from fairopt.report.words import clipped, number

ROWS = 16
"""most pairs, and most rows, shown of a table"""
LEVELS = 4
"""most levels shown"""
TEXT = ("user", "server", "resource", "bottleneck", "full")
"""columns of words"""


def kkt_text(alloc: Allocation, title: str = "", accepted: bool = True, whole: bool = False) -> str:
    """The tables of an answer, under what was solved and above the verdict."""
    page = WHOLE if whole else Page(ROWS)
    found = tables(alloc)
    lines = [*([title] if title else []), headline(alloc)]
    most = len(found) if whole else LEVELS
    for table in found[:most]:
        lines += ["", *_one(table, page)]
    if len(found) > most:
        lines += ["", f"... {len(found) - most} more levels (--whole shows them)"]
    return "\n".join([*lines, "", verdict_text(alloc, accepted)])


def _one(table: ConditionsTable, page: Page) -> list[str]:
    lines = [table.title, table.condition, "", *_grid(table.pairs, page)]
    if table.factor is not None:
        lines += ["", f"lambda = {number(table.factor)} x price, per unit of the resource"]
    else:
        lines.append("")
    lines += _grid(table.rows, page)
    worst = table.worst()
    if worst:
        lines.append("")
        lines.append("over all: " + "; ".join(f"{k} {_part(v)}" for k, v in worst.items()))
    return lines + list(table.notes)


def _part(value: float) -> str:
    """By how much a condition fails; less than 1e-12 is rounding."""
    return "nowhere" if value <= 1e-12 else f"by {value:.1e}"


def _grid(columns: Mapping[str, Column], page: Page) -> list[str]:
    head = list(columns)
    size = len(columns[head[0]])
    shown = size if size <= page.rows else page.rows - 2
    rows = [[_cell(columns[name][k]) for name in head] for k in range(shown)]
    left = tuple(k for k, name in enumerate(head) if name in TEXT)
    heads = [clipped(name) for name in head]
    return table_text(heads, rows, size - shown, left, page.width).split("\n")


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, str):
        return clipped(value)
    return number(float(value)) if np.isfinite(value) else "-"
