"""`fo.whole`: whole tasks of an instance for what everybody is due, with their proof."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from fairopt.allocation import Allocation
from fairopt.errors import BadInput, Fault, UsageError
from fairopt.exact import as_printed, exact
from fairopt.instance import Instance
from fairopt.whole import levels, shortage
from fairopt.whole.beside import NodeResource, beside_nodes, with_rules
from fairopt.whole.found import Found
from fairopt.whole.held import held_by, part, stayed
from fairopt.whole.integer import SearchLimits
from fairopt.whole.master import Clock
from fairopt.whole.proof.answer import EXACT, MULTIPLE, Asked, WholeTasks
from fairopt.whole.proof.placement import Nodes, Placement
from fairopt.whole.proof.problem import NodeRow
from fairopt.whole.proof.zones import Spread

ROUNDING = 1e-9
"""a due in floating point of an answer that is not certified is known to this part"""
KNOWN = 1e-6
"""no due is taken to be known to less than this part: what certified means"""


def whole(
    instance: Instance,
    due: Allocation | Mapping[str, Any] | Sequence[Any],
    asked: Mapping[str, int] | Sequence[int | None] | None = None,
    gang: Mapping[str, int] | Sequence[int] | None = None,
    per_node: Mapping[str, int] | None = None,
    cards: Sequence[str] = (),
    at_least: Mapping[str, int] | Sequence[int] | None = None,
    spread: Mapping[str, int] | None = None,
    zones: Mapping[str, Sequence[str]] | None = None,
    held: WholeTasks | Mapping[str, Any] | None = None,
    cost: Mapping[str, int] | None = None,
    within: Fraction | str | float = 0,
    fewest: bool = False,
    seconds: float | None = None,
    limits: SearchLimits | None = None,
    told: Callable[[str], None] | None = None,
) -> WholeTasks:
    """Whole tasks on single nodes, as near to what everybody is due as they go, and the proof.

    First the parts min(1, m_n / w_n) of whole gangs due w_n are as large as they can be, lowest
    first; then the parts min(1, m_n / d_n) of all that is due; then whatever still fits is used.

    Parameters
    ----------
    instance : the cluster. Its limits are what is asked, if `asked` is not given.
    due : tasks of each user: an answer of any notion, or exact numbers (whole numbers, fractions,
        texts such as "5/3"), by name or in order. A due of an answer is known to the part that its
        certificate proves: if a whole number of gangs lies within, it is that.
    asked : most tasks, None for no limit. gang : tasks that run together or not at all, default 1.
    per_node : {user: most of its tasks on one node}.
    cards : resources of which 1 is a card: a task takes part of a single one, or whole ones.
    at_least : fewest tasks with which a user runs at all, default 1 (minMember of a pod group).
    spread : {user: s}: no zone has more than s tasks of it more than another (maxSkew).
    zones : {zone: its servers}; a user that is spread does not run on servers of none.
    held : what runs now, of which as much as can be found stays where it is, with a bound: the last
        answer, or {server: {user: tasks}}, of several nodes a list of these. `seconds` count for
        each of the two searches.
    cost : {user: of moving one of its tasks}, 1 where it is not named.
    within : part of its tasks of the answer that everybody may miss for it.
    fewest : only as few tasks short as can be, whoever misses them: no levels.
    seconds : the search ends then with the best so far; without it answers are the same everywhere.
    limits : how far the search goes. told : called with words on what is done now.

    Raises
    ------
    BadInput : a due below 0 or not finite, a gang that is no whole number above 0, an unknown name.
    UsageError : demand that is not linear, or an answer of another instance.

    Examples
    --------
    >>> inst = Instance([[3], [2]], [[10]], users=["A", "B"], resources=["cpu"])
    >>> found = whole(inst, ["5/3", "5/2"])
    >>> found.totals, found.short
    ((2, 2), 0)

    Examples
    --------
    >>> import fairopt as fo
    >>> pool = fo.Instance([[1, 4], [3, 1]], [[9, 18]], users=["A", "B"],
    ...                    resources=["cpu", "memory"])
    >>> found = fo.whole(pool, fo.solve(pool, fo.ProportionalFair()))
    >>> found.totals
    (4, 1)
    """
    wanted = asking(instance, due, asked, gang, per_node, cards, at_least, spread, zones)
    if held is None:
        return searched(wanted, None, seconds, limits, told, fewest)
    runs, less = held_by(held, wanted), part(within)
    found = searched(wanted, None, seconds, limits, told, fewest)
    return stayed(found, runs, cost, less, seconds, limits, told)


def searched(
    wanted: Asked,
    begin: Nodes | None = None,
    seconds: float | None = None,
    limits: SearchLimits | None = None,
    told: Callable[[str], None] | None = None,
    fewest: bool = False,
) -> WholeTasks:
    """The best whole tasks found for what is asked, beginning with nodes of a heuristic."""
    clock = Clock(seconds)
    search = Found(wanted.problem, limits or SearchLimits(), clock, told, fewest)
    try:
        shortage.fewest(search, None if begin is None else Placement(wanted.problem, begin))
        if not fewest:
            levels.climb(search)
        stopped = clock.over
    except KeyboardInterrupt:  # what was found until now is worth having, with its bound
        stopped = True
        clock.stop()
    search.spare()
    return WholeTasks(wanted, search.best.nodes(), search.certificate(), stopped)


def asking(
    instance: Instance,
    due: Allocation | Mapping[str, Any] | Sequence[Any],
    asked: Mapping[str, int] | Sequence[int | None] | None = None,
    gang: Mapping[str, int] | Sequence[int] | None = None,
    per_node: Mapping[str, int] | None = None,
    cards: Sequence[str] = (),
    at_least: Mapping[str, int] | Sequence[int] | None = None,
    spread: Mapping[str, int] | None = None,
    zones: Mapping[str, Sequence[str]] | None = None,
    who: str = "whole tasks",
    free: bool = False,
) -> Asked:
    """What is asked, exactly; equal rows of nodes as one class. See `whole`.

    Parameters
    ----------
    who : asks, in words. free : whether users ask for more than they are due, which is nothing.
    """
    instance.only_known("whole", who)
    if not instance.linear:
        raise UsageError("whole tasks: found demand that is not linear; wanted linear demand")
    if isinstance(due, Allocation) and due.instance.names != instance.names:
        raise UsageError("whole tasks: found an answer of other users or servers; wanted one of it")
    beside = beside_nodes(instance, who, due=not free)
    users = instance.users
    faults: list[Fault] = []
    gangs = [
        _whole(x, f"gang.{u}", 1, faults)
        for u, x in zip(users, _each(gang, users, 1, "gang", faults), strict=True)
    ]
    least = [
        _whole(x, f"at_least.{u}", 1, faults)
        for u, x in zip(users, _each(at_least, users, 1, "at_least", faults), strict=True)
    ]
    limit = [None if math.isinf(x) else math.floor(x) for x in instance.limit.tolist()]
    if asked is not None:
        limit = [
            None if x is None else _whole(x, f"asked.{u}", 0, faults)
            for u, x in zip(users, _each(asked, users, None, "asked", faults), strict=True)
        ]
    for n, k in beside.most.items():
        own = limit[n]
        limit[n] = k if own is None else min(own, k)
    most = {u: _whole(x, f"per_node.{u}", 1, faults) for u, x in (per_node or {}).items()}
    faults += [Fault(f"per_node.{u}", "an unknown user", "a user") for u in most if u not in users]
    skews = {u: _whole(x, f"spread.{u}", 1, faults) for u, x in (spread or {}).items()}
    faults += [Fault(f"spread.{u}", "an unknown user", "a user") for u in skews if u not in users]
    zone_of: dict[str, str] = {}
    for zone, there in (zones or {}).items():
        for key in there:
            if key not in instance.servers:
                faults.append(Fault(f"zones.{zone}", f"the unknown server {key!r}", "a server"))
            elif key in zone_of:
                faults.append(Fault(f"zones.{zone}", f"{key!r} again", "a server in one zone"))
            zone_of[key] = zone
    if skews and not zones:
        faults.append(Fault("zones", "none", "{zone: servers}, over which tasks are spread"))
    faults += [
        Fault("cards", repr(key), "a resource") for key in cards if key not in instance.resources
    ]
    if isinstance(due, Allocation):
        pairs = taken_from(due, gangs)
    else:
        pairs = [
            (_exact(x, f"due.{u}", faults), EXACT)
            for u, x in zip(users, _each(due, users, None, "due", faults), strict=True)
        ]
    if faults:
        raise BadInput(faults)
    quotas = instance.quotas
    bound = quotas is not None and bool(quotas.quotas or quotas.bounds)
    if not free and (bound or beside.totals):
        # one task more than due could be above a ceiling: nobody asks for more
        at_most = [
            math.floor(d) if a is None else min(a, math.floor(d))
            for (d, _), a in zip(pairs, limit, strict=True)
        ]
        beside.kept_by(at_most, who)
        limit = list(at_most)
    rows, servers = _classes(instance, most, zone_of if skews else {}, beside.on)
    named = tuple(zones or ())
    of = [zone_of.get(next(iter(own))) for own in servers]
    zone_at = tuple(-1 if own is None else named.index(own) for own in of)
    return Asked(
        users,
        rows,
        tuple(d for d, _ in pairs),
        tuple(limit),
        tuple(gangs),
        tuple(words for _, words in pairs),
        servers,
        cards=tuple(cards),
        at_least=tuple(least) if max(least) > 1 else (),
        spreads=tuple(
            Spread(n, named, zone_at, skews[user]) for n, user in enumerate(users) if user in skews
        ),
    )


def taken_from(answer: Allocation, gang: Sequence[int]) -> list[tuple[Fraction, str]]:
    """What each user is due in an answer, exactly, and how it was read.

    A due d is known to a factor e^(+-r), r the proved residual: the smallest multiple of the gang
    within is taken if there is one, else the number itself.
    """
    proof = answer.certificate
    part = proof.residual if proof is not None and proof.certified else ROUNDING
    part = min(max(part, ROUNDING), KNOWN)
    return [taken(float(d), k, part) for d, k in zip(answer.totals, gang, strict=True)]


def taken(due: float, gang: int, part: float) -> tuple[Fraction, str]:
    """A due known to a factor e^(+-part): a multiple of the gang within, else the number."""
    if not (math.isfinite(due) and due >= 0):
        raise BadInput([Fault("due", str(due), "a finite number >= 0")])
    multiple = gang * math.ceil(due * math.exp(-part) / gang)
    if multiple <= due * math.exp(part):
        return Fraction(multiple), MULTIPLE
    return Fraction(due), EXACT


def _classes(
    instance: Instance,
    per_node: Mapping[str, int],
    zones: Mapping[str, str],
    more: Mapping[int, Sequence[NodeResource]],
) -> tuple[tuple[NodeRow, ...], tuple[dict[str, int], ...]]:
    """Rows of nodes with their kinds, those alike as one, and the servers of each; `more` are
    further resources of servers, by position, each of one node that is like no other."""
    found: dict[Any, tuple[NodeRow, dict[str, int]]] = {}
    known: dict[tuple[float, ...], dict[str, Fraction]] = {}
    keys = instance.resources

    def amounts(row: Any) -> dict[str, Fraction]:
        floats = tuple(row.tolist())
        if floats not in known:
            known[floats] = {key: as_printed(x) for key, x in zip(keys, floats, strict=True) if x}
        return known[floats]

    for i, server in enumerate(instance.servers):
        kinds = []
        for n, user in enumerate(instance.users):
            for mode, need in _ways(instance, n, i):
                kinds.append((n, mode, amounts(need), per_node.get(user)))
        count = int(instance.count[i])
        if i in more:
            node = NodeRow(server, count, amounts(instance.capacity[i]), tuple(kinds))
            found[server] = with_rules(more[i], node), {server: count}
            continue
        own_kinds = tuple((n, m, id(d)) for n, m, d, _ in kinds)
        alike = tuple(instance.capacity[i].tolist()), own_kinds, zones.get(server)
        if alike in found:
            row, servers = found[alike]
            servers[server] = count
            found[alike] = NodeRow(row.name, row.count + count, row.capacity, row.kinds), servers
        else:
            own = NodeRow(server, count, amounts(instance.capacity[i]), tuple(kinds))
            found[alike] = own, {server: count}
    return tuple(row for row, _ in found.values()), tuple(own for _, own in found.values())


def _ways(instance: Instance, n: int, i: int) -> list[tuple[str, Any]]:
    """(mode, demand) of the ways in which a task of user n may run on server i."""
    base = instance.demand[n] if instance.demand.ndim == 2 else instance.demand[n, i]
    modes = instance.modes.get(instance.users[n]) if instance.modes else None
    if not modes:
        return [("", base)] if instance.placement[n, i] and base.any() else []
    if any(mode.speed != modes[0].speed for mode in modes):
        raise UsageError(
            f"whole tasks: found modes of {instance.users[n]} at several speeds, of which a due in "
            "output says no number of tasks; wanted modes of one speed"
        )
    import numpy as np

    return [
        (mode.name, base if mode.demand is None else np.asarray(mode.demand))
        for mode in modes
        if instance.placement[n, i]
        and (mode.servers is None or instance.servers[i] in mode.servers)
    ]


def _each(
    given: Any, users: Sequence[str], default: Any, what: str, faults: list[Fault]
) -> list[Any]:
    """A value for each user, from a table by name or a sequence."""
    if given is None:
        return [default] * len(users)
    if isinstance(given, Mapping):
        faults += [
            Fault(f"{what}.{key}", "an unknown user", "a user") for key in given if key not in users
        ]
        return [given.get(name, default) for name in users]
    some = list(given)
    if len(some) != len(users):
        faults.append(Fault(what, f"{len(some)} values", f"{len(users)}, one for each user"))
        return [default] * len(users)
    return some


def _whole(given: Any, place: str, low: int, faults: list[Fault]) -> int:
    if isinstance(given, bool) or not (hasattr(given, "__index__") or isinstance(given, float)):
        faults.append(Fault(place, repr(given), f"a whole number >= {low}"))
        return low
    if not (math.isfinite(given) and given == math.floor(given) and given >= low):
        faults.append(Fault(place, str(given), f"a whole number >= {low}"))
        return low
    return int(given)


def _exact(given: Any, place: str, faults: list[Fault]) -> Fraction:
    found = exact(given)
    if found is None:
        faults.append(Fault(place, repr(given), "a finite number >= 0, such as 2 or '5/3'"))
    return found or Fraction(0)
