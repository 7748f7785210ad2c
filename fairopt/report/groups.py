"""Groups, quotas against nodes, node prices and rounds of an answer, as rows and lines of text."""

from __future__ import annotations

import numpy as np

from fairopt.allocation import Allocation
from fairopt.instance import Instance
from fairopt.report.words import clipped, listed, number

SAME_PRICE = 1e-9
"""prices that differ by at most this part of the largest are the same"""


Told = tuple[list[str], list[list[str]], int]
"""heads and rows of a table, and how many rows are not shown"""


def table(alloc: Allocation, most: int) -> Told:
    """The groups: name by depth, weight, users below, and the sum of their shares."""
    tree = alloc.instance.tree
    nodes = _in_order(alloc.instance)
    heads = ["group", "weight", "users", "share"]
    rows = []
    shown = _shown(len(nodes), most)
    for node in nodes[:shown]:
        below = tree.below(node)
        name = "  " * (len(tree.path(node)) - 2) + clipped(tree.nodes[node])
        share = number(float(alloc.shares[below].sum()))
        rows.append([name, number(float(tree.weight[node])), f"{len(below):,}", share])
    return heads, rows, len(nodes) - shown


def lines(alloc: Allocation) -> list[str]:
    """Where quotas and nodes do not agree, who gets nothing, and what a unit costs where."""
    return [*against_nodes(alloc.instance), *left_out(alloc), *node_prices(alloc)]


def left_out(alloc: Allocation) -> list[str]:
    """The users of later priority classes for whom nothing is left, in words."""
    tree = alloc.instance.tree
    nothing = np.flatnonzero((tree.rank > 0) & (alloc.shares <= 0))
    if not len(nothing):
        return []
    names = [alloc.instance.users[n] for n in nothing.tolist()]
    return [f"of lower priority, nothing is left for {listed(names, 6)}"]


def _shown(size: int, most: int) -> int:
    return size if size <= most else most - 2


def _in_order(instance: Instance) -> list[int]:
    """The groups, each followed by those inside it."""
    tree = instance.tree
    groups = len(tree.nodes) - len(tree.leaf)
    found: list[int] = []

    def visit(node: int) -> None:
        for child in tree.children(node).tolist():
            if child < groups:
                found.append(child)
                visit(child)

    visit(0)
    return found


def against_nodes(instance: Instance) -> list[str]:
    """Where quotas, which are typed, and nodes, which exist, do not agree, in words."""
    lines = []
    for row in instance.tree.quotas if instance.quotas is not None else ():
        there = float(instance.pool[row.servers, row.resource].sum())
        typed = float(row.nominal.sum())
        what = instance.resources[row.resource]
        what += "" if row.flavor is None else f" on {row.flavor}"
        if typed > there * (1 + SAME_PRICE):
            lines.append(
                f"quotas name {number(typed)} {what}, but its nodes have {number(there)}: "
                "not all quotas can be held at once"
            )
        elif typed < there * (1 - SAME_PRICE):
            lines.append(
                f"quotas name {number(typed)} {what} of {number(there)} on its nodes: "
                f"{number(there - typed)} are nobody's and stay unused"
            )
    return lines


def node_prices(alloc: Allocation) -> list[str]:
    """What a unit costs a member of each group: the cluster's price, and what limits of lending
    and borrowing on its path add to it (or take off it)."""
    if alloc.node_prices is None or alloc.prices is None:
        return []
    inst, lines = alloc.instance, []
    groups = len(inst.tree.nodes) - len(inst.tree.leaf)
    for row, price in zip(inst.tree.quotas, alloc.node_prices, strict=True):
        top = float(price.max())
        if top <= 0 or np.ptp(price) <= SAME_PRICE * top:
            continue
        base = float(price[0]) if price[0] > SAME_PRICE * top else 0.0
        apart = np.flatnonzero(np.abs(price - base) > SAME_PRICE * top)
        named = [k for k in apart.tolist() if k < groups] or apart.tolist()
        what = inst.resources[row.resource] + ("" if row.flavor is None else f" on {row.flavor}")
        told = [f"{inst.tree.nodes[k]} {price[k] - base:+.4g}" for k in named]
        lines.append(
            f"quota of {what} costs all {number(base)}, and limits of borrowing and "
            f"lending add: {_few(told, 4)}"
        )
    return lines


def rounds(alloc: Allocation, most: int) -> Told:
    """The rounds of nested max-min: the level t, who was stopped there, and by what."""
    steps = [step for step in alloc.steps if step.get("step") == "round" and step["users"]]
    heads = ["round", "level", "stops", "full"]
    rows = [
        [str(k + 1), number(step["level"]), listed(step["users"], 2), _few(step["full"], 2) or "-"]
        for k, step in enumerate(steps[: _shown(len(steps), most)])
    ]
    return heads, rows, len(steps) - len(rows)


def _few(words: list[str], most: int) -> str:
    more = f" and {len(words) - most} more" if len(words) > most else ""
    return ", ".join(words[:most]) + more


# Own rules of an answer as rows of a table: what each counts, of how much, and its price.


WORDS = {"most": "at most", "least": "at least", "equal": "equal to"}


def rules_table(alloc: Allocation, most: int) -> Told:
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
