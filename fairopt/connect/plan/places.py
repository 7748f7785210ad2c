"""On which shapes of nodes a workload may run, and where on none, why, in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from fairopt.connect.cluster.record import Workload
from fairopt.connect.cluster.shapes import Offers, Shape
from fairopt.connect.cluster.together import Zones
from fairopt.files.quantities import short


def places_of(work: Workload, offers: Offers, which: int) -> tuple[list[bool], str]:
    """On which shapes a task fits; and if on none, why, in words."""
    rows = offers.rows
    by_rule = [not row.refused[which] for row in rows]
    fits = [ok and fits for ok, fits in zip(by_rule, offers.fits(work.demand), strict=True)]
    if any(fits):
        return fits, ""
    total = sum(row.count for row in rows)
    if not any(by_rule):
        return fits, f"no eligible node: {_emptied_by([row.refused[which] for row in rows], rows)}"
    left = [row for row, ok in zip(rows, by_rule, strict=True) if ok]
    nodes = f"the {sum(row.count for row in left)} eligible of {total} nodes"
    for key, amount in work.demand.items():
        most = max(row.capacity.get(key, Fraction(0)) for row in left)
        if not most:
            return fits, f"no eligible node: none of {nodes} offers {key}"
        if most < amount:
            asked, there = short(key, float(amount)), short(key, float(most))
            return fits, f"task larger than any node: it asks {asked} {key}, {nodes} offer {there}"
    return fits, f"task larger than any node: none of {nodes} offers all it asks at once"


def in_zones(
    work: Workload, spread: Zones, rows: Sequence[Shape], places: list[bool], why: str
) -> tuple[Workload, list[bool], str]:
    """The workload with the shapes of its zones, and what of its places is in a zone."""
    zone = [dict(row.labels).get(spread.key) for row in rows]
    zones = tuple(
        (name, tuple(row.name for row, own in zip(rows, zone, strict=True) if own == name))
        for name, _ in spread.zones
    )
    work = replace(work, together=replace(work.together, spread=replace(spread, zones=zones)))
    known = {name for name, _ in zones}
    places = [fits and own in known for fits, own in zip(places, zone, strict=True)]
    if not any(places) and not why:
        why = f"no eligible node: none has the label {spread.key}, over which it is spread"
    return work, places, why


def _emptied_by(refusals: Sequence[tuple[str, ...]], rows: Sequence[Shape]) -> str:
    """The rule that took the last nodes away, rules taken in their order."""
    left = list(range(len(rows)))
    order = dict.fromkeys(words for own in refusals for words in own)
    for words in sorted(order, key=lambda w: (w.startswith("taint"), w.startswith("node aff"), w)):
        rest = [i for i in left if words not in refusals[i]]
        if not rest:
            before = sum(rows[i].count for i in left)
            total = sum(row.count for row in rows)
            return f"{words} keeps it off the last {before} of {total} nodes in service"
        left = rest
    return "no rule leaves any"
