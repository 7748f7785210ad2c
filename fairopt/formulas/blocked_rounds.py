"""What stops users of nested max-min: what has a price in the round that froze them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from fairopt.formulas import blocked_rules
from fairopt.formulas.blocked import Blocked
from fairopt.instance import Floats, Instance

KINDS = ("prices", "limit_prices", "bound_prices", "node_prices", "rule_prices", "limit_on_prices")


def each_blocked(
    inst: Instance, way_tasks: Floats, rounds: Sequence[Mapping[str, Any]]
) -> Iterator[Blocked]:
    """What stops each user, in order, without prices: those of two rounds do not compare.

    A full resource, ceiling or quota without a price in the user's round does not stop it; a user
    for whom nothing is left by that is stopped by all that is full.
    """
    kept: dict[str, list[Blocked]] = {}
    for each in rounds:
        prices = {kind: each["prices"].get(kind) for kind in KINDS}
        members = set(each["users"])
        for stop in blocked_rules.each_blocked(inst, way_tasks, **prices):
            if stop.user in members and (stop.resource is None or stop.price != 0):
                kept.setdefault(stop.user, []).append(stop._replace(price=None))
    plain = blocked_rules.each_blocked(inst, way_tasks)
    for user, stops in groupby(plain, key=lambda stop: stop.user):
        yield from kept.get(user, stops)
