"""Own rules of an answer as rows of a table: what each counts, of how much, and its price."""

from __future__ import annotations

from fairopt.allocation import Allocation
from fairopt.report.groups import Told
from fairopt.report.words import clipped, number

WORDS = {"most": "at most", "least": "at least", "equal": "equal to"}


def table(alloc: Allocation, most: int) -> Told:
    """A row for each rule: its name, what it says, what its terms count and, where prices are one
    for all, its price and its part of all money."""
    inst = alloc.instance
    by_way = alloc.by_way
    heads = ["rule", "says", "counts"]
    if alloc.rule_prices is not None:
        heads += ["price", "of all money"]
    shown = len(inst.own_rows) if len(inst.own_rows) <= most else most - 2
    rows = []
    for j, row in enumerate(inst.own_rows[:shown]):
        assert inst.rules is not None
        used, _ = row.held(by_way)
        cells = [
            clipped(row.name),
            f"{WORDS[inst.rules[j].sense]} {number(row.amount)}",
            number(used),
        ]
        if alloc.rule_prices is not None:
            price = float(alloc.rule_prices[j])
            # what is asked is paid for, out of what the rest brings
            money = (price if row.up else -price) * row.amount / float(inst.weight.sum())
            cells += [number(price), f"{100 * money:.3g}%"]
        rows.append(cells)
    return heads, rows, len(inst.own_rows) - shown


def sentences(alloc: Allocation, most: int) -> list[str]:
    """What one unit more of the dearest rules is worth: prices are scaled to the sum of weights, so
    it is as good as an equal relative rise of every share by price over that sum."""
    if alloc.rule_prices is None:
        return []
    rules, weight = alloc.instance.rules or (), float(alloc.instance.weight.sum())
    prices = alloc.rule_prices.tolist()
    found = []
    for j in sorted(range(len(rules)), key=lambda j: -abs(prices[j]))[:most]:
        if prices[j]:
            what = {"most": "more allowed", "least": "less asked"}.get(
                rules[j].sense, "more" if prices[j] > 0 else "less"
            )
            part = f"{100 * abs(prices[j]) / weight:.3g} %"
            found.append(
                f"One unit {what} by rule {clipped(rules[j].name)} is as good as {part} more for "
                "everybody."
            )
    return found


__all__ = ["sentences", "table"]
