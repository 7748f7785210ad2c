"""The table of the page on placement: one row a case."""

from __future__ import annotations

from benchmarks.peers.cells import Record, cell, seconds, side, size, small
from benchmarks.peers.running import TIGHT
from benchmarks.peers.sides import DENSE, OURS, SIDES


def table(records: list[Record]) -> list[str]:
    """One row a case: ours, what the dense algebra alone takes, the peers."""
    names = dict.fromkeys(row["side"] for record in records for row in record["sides"])
    peers = [name for name in names if not SIDES[name].ours]
    heads = [
        "users x servers x resources",
        "placement",
        "pairs",
        "fairopt s",
        "gap",
        "residual",
        "peak MB",
        "over the dense algebra",
        *(f"{name}, times ours" for name in peers),
    ]
    lines = [
        "*Over the dense algebra*: our whole call in times of the factorisations and products of "
        "its linear algebra alone; below 300 users these are lost in the calls, and not shown. "
        f"Peers whose gap is above {TIGHT:g} are in brackets. *Servers not alike*: their sizes "
        "spread over a decade, each resource by a factor of two beside.",
        "",
        f"| {' | '.join(heads)} |",
        "|---" * len(heads) + "|",
    ]
    for record in records:
        mine, dense = side(record, OURS), side(record, DENSE)
        cells = [size(record), record["words"], f"{record['pairs']:,}"]
        if "wall" not in mine:
            lines.append("| " + " | ".join([*cells, cell(mine.get("failed", "-"))]) + " |")
            continue
        cells += [
            seconds(mine["wall"]),
            small(mine.get("gap")),
            small(mine.get("residual")),
            f"{mine['peak']:,.0f}",
        ]
        cells.append(f"{mine['wall'] / dense['wall']:.2f}" if "wall" in dense else "-")
        cells += [_beside(side(record, name)) for name in peers]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def _beside(row: Record) -> str:
    """A peer's time as a multiple of ours, in brackets if its answer is not close."""
    if "ratio" not in row:
        return cell(row.get("failed", "-"))
    return f"{row['ratio']:.1f}" if row.get("gap", 1.0) <= TIGHT else f"({row['ratio']:.1f})"
