"""An order of stops, moves and starts in which no node is ever overfull.

Stops come first and starts last, as nothing waits for a start. A move is made as soon as its new
node has room. Where all that are left wait for one another, a pod on such a ring is stopped for a
while: the largest
pods of one node, as few as any node needs to make room for one move. Every node has room for its
arrivals once all that leave it are gone, so this ends.

Of a workload that is spread over zones, a pod comes only where no zone then has too many beside
another; its starts are steps among the moves. Where only that is in the way, a pod of the fullest
zone that must leave is stopped for a while. It ends as well: once all that leave are gone, the
emptiest zone either has room for another pod or has all that it is to have, and then no zone is to
have too many beside it.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from fairopt.connect.cluster.node_room import CardRoom, ZoneCounts
from fairopt.connect.text.fields import Amounts


@dataclass(frozen=True)
class Move:
    """What becomes of one pod.

    Parameters
    ----------
    do : stay, stop, start, move, wait or leave; pause and resume are a move with a gap.
    pod, workload : whose it is. demand : exact amounts of it.
    source, target : the node it runs on and the one it goes to; empty for none.
    why : in words, where the plan has a reason of its own.
    """

    do: str
    pod: str
    workload: str
    demand: Amounts
    source: str = ""
    target: str = ""
    why: str = ""


def in_order(
    moves: Sequence[Move],
    stay: Sequence[Move],
    capacity: Mapping[str, Amounts],
    cards: Sequence[str] = (),
    zones: ZoneCounts | None = None,
) -> list[Move]:
    """The moves in an order, some as a pause and a resume.

    Parameters
    ----------
    moves : stops, moves and starts; what they and `stay` come to fits on every node.
    stay : pods that stay where they are.
    capacity : of every node in service; what leaves others frees nothing.
    cards : resources of which a task takes part of a single card.
    zones : where workloads are spread; without pods yet.
    """
    zones = zones or ZoneCounts({}, {})
    ordered = sorted(moves, key=lambda m: (m.workload, m.pod))
    by_word = {do: [m for m in ordered if m.do == do] for do in ("stop", "move", "start")}
    room = CardRoom(cards, (move.demand for move in [*moves, *stay])) if cards else None
    found = _MoveSteps(capacity, room, zones)
    for move in [*stay, *by_word["move"]]:
        found.take(move.source, move)
    among = [move for move in by_word["start"] if move.workload in zones.spread]
    found.make([*by_word["move"], *among])
    last = [move for move in by_word["start"] if move.workload not in zones.spread]
    return [*by_word["stop"], *found.steps, *last]


class _MoveSteps:
    """The steps so far, with the room that they leave on every node."""

    def __init__(
        self, capacity: Mapping[str, Amounts], cards: CardRoom | None, zones: ZoneCounts
    ) -> None:
        self.capacity, self.cards, self.zones = capacity, cards, zones
        self.there: dict[str, dict[str, Move]] = defaultdict(dict)
        self.room = {node: dict(own) for node, own in capacity.items()}
        self.steps: list[Move] = []
        self.arrive: dict[str, list[Move]] = defaultdict(list)
        self.leave: dict[str, list[Move]] = defaultdict(list)
        self.paused: set[str] = set()

    def take(self, node: str, move: Move, times: int = 1) -> None:
        """What a pod takes off the room of a node, or gives back."""
        if node in self.room:
            own = self.room[node]
            self.zones.put(move.workload, node, times)
            if times > 0:
                self.there[node][move.pod] = move
            else:
                del self.there[node][move.pod]
            for key, amount in move.demand.items():
                own[key] = own.get(key, Fraction(0)) - times * amount

    def fits(self, move: Move, freed: Sequence[Move] = ()) -> bool:
        """Whether the pod has room on its new node, once those that are to be freed are gone."""
        room = self.room[move.target]
        if not all(
            amount <= room.get(key, 0) + sum(own.demand.get(key, Fraction(0)) for own in freed)
            for key, amount in move.demand.items()
        ):
            return False
        if self.cards is None:
            return True
        gone = {own.pod for own in freed}
        there = [own.demand for pod, own in self.there[move.target].items() if pod not in gone]
        return self.cards.lie(self.capacity[move.target], [*there, move.demand])

    def even(self, move: Move) -> bool:
        """Whether no zone has too many of its workload when the pod comes to its new node."""
        runs = move.do == "move" and move.pod not in self.paused
        return self.zones.even(move.workload, move.target, move.source if runs else "")

    def make(self, moves: Sequence[Move]) -> None:
        """Make all moves, and starts."""
        for move in moves:
            self.arrive[move.target].append(move)
            if move.do == "move":
                self.leave[move.source].append(move)
        ready = deque(sorted(self.arrive))
        while any(self.arrive.values()):
            if not ready:
                ready.extend(self._broken())
            node = ready.popleft()
            left = []
            for move in self.arrive[node]:
                if not (self.even(move) and self.fits(move)):
                    left.append(move)
                    continue
                self.take(node, move)
                if move.pod in self.paused:
                    self.steps.append(replace(move, do="resume", source=""))
                else:
                    if move.do == "move":
                        self._gone(move)
                        ready.append(move.source)
                    self.steps.append(move)
                if move.workload in self.zones.spread:
                    ready.extend(self._waiting(move.workload))
            self.arrive[node] = left

    def _waiting(self, workload: str) -> list[str]:
        """Nodes to which pods of a workload are yet to come."""
        return [
            node
            for node, moves in sorted(self.arrive.items())
            if any(move.workload == workload for move in moves)
        ]

    def _gone(self, move: Move) -> None:
        self.leave[move.source].remove(move)
        self.take(move.source, move, -1)

    def _broken(self) -> list[str]:
        """Nodes to which a pod may come, as others were stopped for a while."""
        best: list[Move] | None = None
        waits = None
        for node, moves in sorted(self.arrive.items()):
            offers = self.capacity[node]
            for move in filter(self.even, moves):
                freed: list[Move] = []
                for own in sorted(
                    self.leave[node], key=lambda m: (-_part(m.demand, offers), m.pod)
                ):
                    if self.fits(move, freed) or (best is not None and len(freed) >= len(best)):
                        break
                    freed.append(own)
                if self.fits(move, freed) and (best is None or len(freed) < len(best)):
                    best, waits = freed, move
        if best is None or waits is None:
            return self._evened()
        for own in best:
            self._pause(own, f"makes room for {waits.pod} on {waits.target}")
        return [waits.target, *(node for own in best for node in self._waiting(own.workload))]

    def _evened(self) -> list[str]:
        """The same where only zones are in the way: of the fullest zone a pod that must leave."""
        leaving = [
            (-self.zones.count[move.workload][z], move.workload, move.pod, move)
            for moves in self.leave.values()
            for move in moves
            if (z := self.zones.at(move.workload, move.source)) is not None
        ]
        if not leaving:  # the end does not fit
            raise ValueError("no order: some node is overfull at the end, or some zone uneven")
        move = min(leaving, key=lambda own: own[:3])[3]
        self._pause(move, f"keeps the zones of {move.workload} even")
        return [move.source, *self._waiting(move.workload)]

    def _pause(self, move: Move, why: str) -> None:
        self._gone(move)
        self.paused.add(move.pod)
        self.steps.append(replace(move, do="pause", target="", why=why))


def _part(demand: Amounts, capacity: Amounts) -> Fraction:
    """The largest part of a node that a pod takes."""
    return max((x / capacity[k] for k, x in demand.items() if capacity.get(k)), default=Fraction(0))
