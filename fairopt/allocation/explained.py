"""Why one user gets what it gets, as data that prints as a page of text.

`fairopt.explaining` finds the numbers; here they are only held and put into sentences.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from fairopt import markup

SERVERS = 6
"""most servers named"""
STOPS = 6
"""most stops told"""
PEERS = 4
"""most equal users named"""


class Held(NamedTuple):
    """What a user holds of a resource: the amount, and its part of all there is of it."""

    resource: str
    amount: float
    part: float


class Stop(NamedTuple):
    """A full resource that stops a user: its price, the user's part of it, who holds most of it.

    `resource` and `server` are None where the user's own limit stops it, `resource` alone where its
    limit on that server does. Where a ceiling or a quota
    of its groups does, `server` names it, and nobody is said to hold it. Of a rule of one's own
    `server` is "rule NAME" and `resource` "".
    """

    resource: str | None
    server: str | None
    price: float | None
    own: float
    holders: tuple[tuple[str, float], ...]
    others: int


class Due(NamedTuple):
    """What the notion says about a user's share.

    Parameters
    ----------
    worth : part of the value of all capacity, at the prices, that the user holds; None without.
    weight : its part of all weight; with groups its part of its group's part.
    best : the share that is best for it at the prices (alpha-fair), None for other notions.
    lowest, highest : share at any optimum, as proved; None if unknown.
    rank, of : how many users have a level below its own, of how many.
    limited : how many users are at their own limit.
    """

    worth: float | None
    weight: float
    best: float | None
    lowest: float | None
    highest: float | None
    rank: int
    of: int
    limited: int = 0


class WhatChanges(NamedTuple):
    """What another answer gives the user.

    Parameters
    ----------
    what : the change, in words. tasks, share : of the user after it; gained : tasks gained. With
        modes tasks are output here.
    loser, lost : who loses the largest part of its tasks, and how many; None if nobody loses any.
    certified : whether the other answer is.
    reason : why there is no other answer; "" if there is one.
    """

    what: str
    tasks: float = 0.0
    share: float = 0.0
    gained: float = 0.0
    loser: str | None = None
    lost: float = 0.0
    certified: bool = False
    reason: str = ""


@dataclass(frozen=True)
class Explanation:
    """Why one user gets what it gets; printed, it is a page of text.

    Parameters
    ----------
    user, notion : whom it is about, and the notion as plain data.
    rule : what the notion says, in one line.
    weight, limit, tasks, share, level : its numbers.
    output : with modes, speed times tasks; None without, where it is the tasks.
    places : (server, tasks), the largest first; of a user with modes ("server (mode)", tasks).
    held : what it holds of each resource. due : what it may expect.
    stops : what stops it, the dearest first, and who holds that.
    peers : (user, tasks, share) of equal users.
    changes : what a little more would bring, solved again; empty if it was not tried.
    """

    user: str
    notion: dict[str, Any]
    rule: str
    weight: float
    limit: float
    tasks: float
    share: float
    level: float
    places: tuple[tuple[str, float], ...]
    held: tuple[Held, ...]
    due: Due
    stops: tuple[Stop, ...]
    peers: tuple[tuple[str, float, float], ...]
    changes: tuple[WhatChanges, ...]
    output: float | None = None

    def paragraphs(self) -> list[tuple[str, list[str]]]:
        """(heading, lines) in order."""
        return _paragraphs(self)

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return (
            asdict(self)
            | {
                key: [each._asdict() for each in getattr(self, key)]
                for key in ("held", "stops", "changes")
            }
            | {"due": self.due._asdict()}
        )

    def __str__(self) -> str:
        parts = []
        for heading, lines in self.paragraphs():
            parts += [heading, *(f"  {line}" for line in lines), ""]
        return "\n".join(parts).rstrip("\n")

    def _repr_html_(self) -> str:
        return markup.block(
            *(markup.listing(heading, lines) for heading, lines in self.paragraphs())
        )


def _paragraphs(why: Explanation) -> list[tuple[str, list[str]]]:
    """(heading, lines) in order; the last only if something was solved again."""
    found = [
        (
            f"{why.user} gets {_n(why.tasks)} tasks{_output(why)} (share {_n(why.share)}, "
            f"level {_n(why.level)}, weight {_n(why.weight)}{_limit(why.limit)})",
            _held(why),
        ),
        ("What it is due", _due(why)),
        (
            "What stops it",
            [_stop(stop) for stop in why.stops[:STOPS]]
            + ([f"and {len(why.stops) - STOPS} more"] if len(why.stops) > STOPS else [])
            or ["nothing that is known: no resource that it demands is full everywhere"],
        ),
        ("Equal users", _peers(why)),
    ]
    if why.changes:
        found.append(
            (
                "What a little more would bring (solved again)",
                [_change(change, why.tasks, why.output) for change in why.changes],
            )
        )
    return found


def _held(why: Explanation) -> list[str]:
    first = ", ".join(f"{server} {_n(tasks)}" for server, tasks in why.places[:SERVERS])
    more = f" and {len(why.places) - SERVERS} more" if len(why.places) > SERVERS else ""
    holds = "; ".join(f"{h.resource} {_n(h.amount)}, {_part(h.part)} of all" for h in why.held)
    return [f"on {first}{more}" if first else "on no server", f"holds {holds or 'nothing'}"]


def _due(why: Explanation) -> list[str]:
    due, lines = why.due, [why.rule]
    if due.worth is not None:
        lines.append(
            f"what it holds is worth {_part(due.worth)} of all capacity at the prices; "
            f"its weight is {_part(due.weight)} of all weight"
        )
        if due.limited:
            many = f"{due.limited:,} users are" if due.limited > 1 else "one user is"
            lines.append(f"{many} at a limit, and what that leaves is for the others")
    if due.best is not None and not math.isclose(due.best, why.share, rel_tol=1e-4):
        lines.append(f"at the prices a share of {_n(due.best)} would be best for it")
    lines.append(_rank(due))
    if due.lowest is not None and due.highest is not None:
        lines.append(_interval(due.lowest, due.highest))
    return lines


def _rank(due: Due) -> str:
    if due.rank == 0:
        return f"nobody has a level below its own, of {due.of:,} users"
    return f"{due.rank:,} of {due.of:,} users have a level below its own"


def _interval(lowest: float, highest: float) -> str:
    if not math.isfinite(highest):
        return "its share is not pinned by the proof"
    if highest <= lowest * (1 + 1e-5):
        return f"proved: at any optimum its share is {_n(lowest)}"
    return f"proved: at any optimum its share is between {_n(lowest)} and {_n(highest)}"


def _stop(stop: Stop) -> str:
    if stop.resource is None:
        where = "" if stop.server is None else f" on {stop.server}"
        return f"its own limit{where}" + (f", price {_n(stop.price)}" if stop.price else "")
    price = f", price {_n(stop.price)} a unit" if stop.price else ""
    if not stop.resource:  # a rule of one's own
        return f"{stop.server}" + (f", price {_n(stop.price)}" if stop.price else "")
    if not stop.holders and stop.own == 0:
        return f"{stop.resource}: {stop.server}{price}"
    parts = [f"it holds {_part(stop.own)}", *(f"{u} {_part(part)}" for u, part in stop.holders)]
    if stop.others:
        parts.append(f"{stop.others:,} more users the rest")
    return f"{stop.resource} on {stop.server}: full{price}; {'; '.join(parts)}"


def _peers(why: Explanation) -> list[str]:
    if not why.peers:
        return ["nobody has the same demand, weight, limit and servers"]
    same = [p for p in why.peers if math.isclose(p[2], why.share, rel_tol=1e-6)]
    if len(why.peers) == 1:
        user, _, share = why.peers[0]
        alike = "the same share" if same else f"a share of {_n(share)}"
        return [f"{user}, the only one, has {alike}"]
    first = ", ".join(user for user, _, _ in why.peers[:PEERS])
    more = f" and {len(why.peers) - PEERS} more" if len(why.peers) > PEERS else ""
    count = f"{len(why.peers):,} of them ({first}{more})"
    if len(same) == len(why.peers):
        return [f"{count}: every one has the same share"]
    other = next(p for p in why.peers if p not in same)
    return [f"{count}: {len(same):,} have the same share; {other[0]} has {_n(other[2])}"]


def _change(change: WhatChanges, tasks: float, output: float | None) -> str:
    before, unit = (tasks, "tasks") if output is None else (output, "output")
    if change.reason:
        return f"{change.what}: no answer ({change.reason})"
    part = f" ({100 * change.gained / before:+.2g}%)" if before > 0 else ""
    moved = abs(change.gained) > 1e-7 * max(before, abs(change.tasks), 1e-300)
    gain = f"{change.gained:+.4g} {unit}{part}" if moved else "nothing"
    loses = f"; {change.loser} loses {_n(change.lost)}" if change.loser and moved else ""
    return f"{change.what}: {gain}{loses}" + ("" if change.certified else " (not certified)")


def _output(why: Explanation) -> str:
    return "" if why.output is None else f", output {_n(why.output)}"


def _limit(limit: float) -> str:
    return f", limit {_n(limit)}" if math.isfinite(limit) else ""


def _n(value: float | None) -> str:
    return "-" if value is None else f"{value + 0.0:.6g}"


def _part(value: float) -> str:
    return f"{100 * value:.3g}%"
