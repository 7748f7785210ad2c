"""Why one user gets what it gets: `explain`, behind `Allocation.explain` and `fairopt explain`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from fairopt.allocation import Allocation
from fairopt.allocation.explained import Explanation, Stop, WhatChanges
from fairopt.certificates import certify
from fairopt.errors import FairoptError, UsageError
from fairopt.explaining import facts
from fairopt.formulas import families, welfare
from fairopt.formulas.parameters import FILL
from fairopt.instance import Instance
from fairopt.instance.reading import nearest
from fairopt.notions import NOTIONS, Notion, make


def explain(
    alloc: Allocation,
    user: str,
    again: bool = True,
    progress: Callable[[int, int], None] | None = None,
) -> Explanation:
    """Why one user gets what it gets.

    Parameters
    ----------
    alloc : the answer; it is judged if it was not.
    user : a name of `alloc.instance.users`.
    again : also solve again with a little more of what stops the user, and with more weight.
    progress : called with (done, of) before every solve.

    Raises
    ------
    UsageError : an unknown user; the message names the nearest.

    Examples
    --------
    >>> import fairopt as fo
    >>> answer = fo.solve(fo.read("ghodsi2011/example").instance, fo.MaxMin())
    >>> print(answer.explain("A", again=False))
    A gets 3 tasks (share 0.666667, level 0.666667, weight 1)
      on pool 3
      holds cpu 3, 33.3% of all; memory 12, 66.7% of all
    What it is due
      max-min: nobody's level can rise unless one that is no higher falls
      nobody has a level below its own, of 2 users
      proved: at any optimum its share is 0.666667
    What stops it
      cpu on pool: full; it holds 33.3%; B 66.7%
    Equal users
      nobody has the same demand, weight, limit and servers
    """
    inst = alloc.instance
    inst.only_known("explain")
    if user not in inst.users:
        raise UsageError(f"user: found {user!r}; wanted {nearest(user, inst.users)}")
    if alloc.certificate is None or not len(alloc.certificate.intervals):
        alloc = alloc.with_(certificate=certify(alloc))
    n = inst.users.index(user)
    stops = facts.stops(alloc, n)
    return Explanation(
        user,
        dict(alloc.notion),
        rule(alloc.notion),
        float(inst.weight[n]),
        float(inst.limit[n]),
        float(alloc.totals[n]),
        float(alloc.shares[n]),
        float(alloc.levels[n]),
        tuple(facts.places(alloc, n)),
        tuple(facts.held(alloc, n)),
        facts.due(alloc, n),
        tuple(stops),
        tuple(
            (inst.users[m], float(alloc.totals[m]), float(alloc.shares[m]))
            for m in facts.peers(alloc, n)
        ),
        tuple(changes(alloc, n, stops, progress)) if again else (),
        None if inst.modes is None else float(alloc.outputs[n]),
    )


def rule(notion: Mapping[str, Any]) -> str:
    """What a notion says about a user's share, in one line."""
    name = str(notion["name"])
    alpha = welfare.alpha_of(notion)
    if families.member(notion)["name"] == "max-min":
        return f"{name}: nobody's level can rise unless one that is no higher falls"
    if alpha == 1:
        return f"{name}: what a user holds is worth its part of all weight, at the prices"
    if alpha == 0:
        return f"{name}: tasks go where they weigh most for what they cost; a user may get none"
    if alpha is not None:
        return f"{name}: the larger alpha, the more counts who has little; here it is {alpha:g}"
    known = NOTIONS.get(name)
    return f"{name}: {known.summary}" if known and known.summary else name


# What a little more would bring one user, found by solving again.


MORE = 0.1
"""how much more weight and limit are tried, relative"""
UNIT = (1e-3, 1.0)
"""one more unit of a resource is tried if it is between these parts of what is there, else MORE"""
TRIED = 3
"""most of the resources that stop a user that are tried, the dearest first"""


def notion_of(alloc: Allocation) -> Notion | None:
    """The notion of an answer, to solve again; None for a scheduler or a notion of one's own."""
    name = str(alloc.notion["name"])
    if name.startswith(FILL) or name not in NOTIONS:
        return None
    return make(name, **alloc.notion["parameters"])


def changes(
    alloc: Allocation,
    n: int,
    stops: Sequence[Stop],
    progress: Callable[[int, int], None] | None = None,
) -> list[WhatChanges]:
    """What user n gets with more of what stops it, and with 10% more weight; one solve each."""
    notion = notion_of(alloc)
    if notion is None:
        return []
    inst = alloc.instance
    tried: list[tuple[str, Instance]] = []
    # one server a resource: on others of the same price the same would come out
    first: dict[str | None, Stop] = {}
    for stop in stops:
        if stop.server is None or stop.server in inst.servers:  # not a ceiling or a quota
            key = stop.resource if stop.resource or stop.server is None else f"limit {stop.server}"
            first.setdefault(key, stop)
        elif stop.resource == "":
            first.setdefault(stop.server, stop)
    dearest = list(first.values())
    for stop in dearest[:TRIED]:
        if stop.server is None:
            limit = np.array(inst.limit)
            limit[n] *= 1 + MORE
            tried.append(("with a limit 10% higher", inst.replace(limit=limit)))
            continue
        if stop.resource is None:
            assert inst.limit_on is not None
            most = np.array(inst.limit_on)
            most[n, inst.servers.index(stop.server)] *= 1 + MORE
            words = f"with a limit 10% higher on {stop.server}"
            tried.append((words, inst.replace(limit_on=most)))
            continue
        if stop.resource == "":
            tried += _looser(inst, stop.server.removeprefix("rule "))
            continue
        i, r = inst.servers.index(stop.server), inst.resources.index(stop.resource)
        there = float(inst.pool[i, r])
        unit = 1.0 if UNIT[0] * there <= 1.0 <= UNIT[1] * there else MORE * there
        capacity = np.array(inst.capacity)
        capacity[i, r] = (there + unit) / float(inst.count[i])
        words = f"with {'one unit' if unit == 1.0 else '10%'} more {stop.resource} on {stop.server}"
        tried.append((words, inst.replace(capacity=capacity)))
    weight = np.array(inst.weight)
    weight[n] *= 1 + MORE
    tried.append(("with 10% more weight", inst.replace(weight=weight)))
    found = []
    for k, (words, other) in enumerate(tried):
        if progress is not None:
            progress(k, len(tried))
        found.append(_change(alloc, n, words, other, notion))
    return found


def _looser(inst: Instance, name: str) -> list[tuple[str, Instance]]:
    """A rule of one's own that allows one unit more, or asks one less (10% where that is less or
    most of it); none of `equal`, which does neither."""
    rules = list(inst.rules or ())
    k = [rule.name for rule in rules].index(name)
    rule = rules[k]
    if rule.sense == "equal":
        return []
    there = abs(rule.amount)
    unit = 1.0 if there == 0 or UNIT[0] * there <= 1.0 <= UNIT[1] * there else MORE * there
    more, sign = ("more allowed", 1) if rule.sense == "most" else ("less asked", -1)
    amounts: dict[str, Any] = {rule.sense: rule.amount + sign * unit}
    rules[k] = replace(rule, **amounts)
    words = f"with {'one unit' if unit == 1.0 else '10%'} {more} by rule {name}"
    return [(words, inst.replace(rules=rules))]


def _change(alloc: Allocation, n: int, words: str, other: Instance, notion: Notion) -> WhatChanges:
    from fairopt.solving import solve

    try:
        answer = solve(other, notion, uncertified="return")
    except FairoptError as error:
        return WhatChanges(words, reason=" ".join(str(error).split()))
    gained = float(answer.outputs[n] - alloc.outputs[n])
    before = np.maximum(alloc.outputs, 1e-300)
    part = (alloc.outputs - answer.outputs) / before
    part[n] = 0.0
    m = int(part.argmax())
    loses = part[m] > 1e-6 and alloc.outputs[m] > 0
    certified = answer.certificate is not None and answer.certificate.certified
    return WhatChanges(
        words,
        float(answer.outputs[n]),
        float(answer.shares[n]),
        gained,
        alloc.instance.users[m] if loses else None,
        float(alloc.outputs[m] - answer.outputs[m]) if loses else 0.0,
        certified,
    )


__all__ = ["Explanation", "explain"]
