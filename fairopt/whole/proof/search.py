"""The most that a node can hold, by a bounded search in integers: what every proof rests on.

max sum p_k a_k over whole numbers 0 <= a_k <= u_k with sum a_k d_k <= c. Kinds are taken in the
order of worth for their load under one weight per resource, the *hint* (any weights are right,
those of the linear program make the bound tight). A branch is cut where a bound on a single
resource, or on the hint's row with its caps, says that it holds nothing better; and where what it
took does not lie on the node's cards.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import mul
from typing import Any, NamedTuple

from fairopt.whole.proof import cards as on_cards
from fairopt.whole.proof.cards import Cards, Lying, Unsure

LIMIT = 300_000
"""branches looked at before the search gives up"""


class TooLong(Exception):
    """The search was given up: nothing is proved.

    `best` is the most worth it had found, `tasks` how many of each item make it up, if anything.
    """

    def __init__(self, best: int, tasks: tuple[int, ...] | None) -> None:
        self.best, self.tasks = best, tasks
        super().__init__("the search was given up")


Item = tuple[int, tuple[int, ...], int]
"""worth, need by resource, most of it"""
_Alive = tuple[int, int]
"""an item by rank, and how many of it fit"""
_Chosen = tuple[int, int, Any] | None
"""the last item taken, how many of it, and those before"""


class _OpenItem(NamedTuple):
    """An item that fewer are to be tried of: what was there before it, and items after it."""

    alive: list[_Alive]
    left: tuple[int, ...]
    value: int
    lying: Lying
    chosen: _Chosen
    item: int
    tasks: int


def most(
    items: Sequence[Item],
    room: Sequence[int],
    hint: Sequence[int] = (),
    above: int | None = None,
    limit: int = LIMIT,
    cards: Sequence[Cards] = (),
    there: Lying = (),
) -> tuple[int, tuple[int, ...] | None]:
    """The largest worth that fits, and how many of each item make it up.

    Parameters
    ----------
    items : (worth, need, most) in whole numbers; those of worth 0 or less are never taken.
    room : (R,) of the node. hint : (R,) weights >= 0; () for none.
    above : only something better is looked for; the second is then None where there is nothing.
    limit : most branches. cards : of the node. there : what lies on them already.

    Raises
    ------
    TooLong : more than `limit` branches would be needed, or one node's cards were given up.
    """
    best = -1 if above is None else above
    found: tuple[int, ...] | None = None
    own = _useful(items, room)
    if not own:
        return (max(best, 0), (0,) * len(items)) if best < 0 else (best, None)
    ranked = _Ranked(own, room, hint)
    worth, need = ranked.worth, ranked.need
    value, branches = 0, 0
    left: tuple[int, ...] = tuple(room)
    lying = there or ((),) * len(cards)
    alive = ranked.fitting(ranked.all, left)
    chosen: _Chosen = None
    stack: list[_OpenItem] = []
    seen: dict[tuple[int, tuple[int, ...], Lying], int] = {}
    while True:
        branches += 1
        if branches > limit:
            raise TooLong(best, found)
        if value > best:
            best = value
            found = ranked.taken(chosen, len(items))
        go = bool(alive) and not ranked.cut(alive, left, best - value)
        if go and seen.get((alive[0][0], left, lying), -1) < value:
            k, fit = alive[0]
            seen[k, left, lying] = value
            if cards:
                try:
                    fit = on_cards.most(cards, lying, need[k], fit)
                except Unsure:
                    raise TooLong(best, found) from None
            stack.append(_OpenItem(alive[1:], left, value, lying, chosen, k, fit + 1))
        while stack and not stack[-1].tasks:
            stack.pop()
        if not stack:
            return best, found
        # one task less of the last item that was branched on
        top = stack[-1]
        k, m = top.item, top.tasks - 1
        stack[-1] = top._replace(tasks=m)
        alive, left, value, lying, chosen = top.alive, top.left, top.value, top.lying, top.chosen
        if m:
            left = tuple(c - m * x for c, x in zip(left, need[k], strict=True))
            value += m * worth[k]
            lying = on_cards.more(cards, lying, need[k], m)
            chosen = k, m, chosen
            alive = ranked.fitting(alive, left)


def root_bound(items: Sequence[Item], room: Sequence[int], hint: Sequence[int] = ()) -> int:
    """A worth that the search rules out anything above of at its first branch."""
    own = _useful(items, room)
    if not own:
        return 0
    ranked = _Ranked(own, room, hint)
    return ranked.bound(ranked.fitting(ranked.all, room), tuple(room))


def _useful(items: Sequence[Item], room: Sequence[int]) -> list[tuple[Item, int]]:
    """Items worth something that fit, with their places, most worth first.

    One is left out that another is at least as good as in everything, if a node never holds as
    many of that other as its own cap.
    """
    some = []
    for k, (worth, need, cap) in enumerate(items):
        if worth > 0 and cap > 0:
            fit = min((c // x for c, x in zip(room, need, strict=True) if x), default=cap)
            if fit > 0:
                some.append((worth, need, min(cap, fit), cap >= fit and any(need), k))
    some.sort(key=lambda own: (-own[0], own[1], own[4]))
    kept: list[tuple[Item, int]] = []
    free: list[tuple[int, ...]] = []
    for worth, need, cap, uncapped, k in some:
        if any(all(a <= b for a, b in zip(other, need, strict=True)) for other in free):
            continue
        kept.append(((worth, need, cap), k))
        if uncapped:
            free.append(need)
    return kept


class _Ranked:
    """Items in the order of the search, with what bounds need."""

    def __init__(
        self, own: list[tuple[Item, int]], room: Sequence[int], hint: Sequence[int]
    ) -> None:
        size = len(room)
        weights = [tuple(int(r == s) for s in range(size)) for r in range(size) if room[r] > 0]
        if any(hint):
            weights.append(tuple(hint))
        main = weights[-1] if weights else (0,) * size

        def order(item: tuple[Item, int]) -> tuple[float, int, int]:
            load = _dot(main, item[0][1])
            return (-ratio(item[0][0], load), -item[0][0], item[1])

        own = sorted(own, key=order)
        self.worth = [item[0][0] for item in own]
        self.need = [item[0][1] for item in own]
        self.cap = [item[0][2] for item in own]
        self.place = [item[1] for item in own]
        self.main = main
        self.load = [_dot(main, need) for need in self.need]
        self.all = list(enumerate(self.cap))
        self.rows = [(w, self._best(w)) for w in reversed(weights)]

    def _best(self, weights: tuple[int, ...]) -> list[tuple[int, int] | None]:
        """For each k the best worth for a load among items k and later; None: no bound."""
        top: tuple[int, int] | None = (0, 1)
        found: list[tuple[int, int] | None] = [top]
        for k in range(len(self.worth) - 1, -1, -1):
            load = _dot(weights, self.need[k])
            if top is not None:
                if load == 0:
                    top = None
                elif self.worth[k] * top[1] > top[0] * load:
                    top = (self.worth[k], load)
            found.append(top)
        return found[::-1]

    def fitting(self, some: Sequence[_Alive], left: Sequence[int]) -> list[_Alive]:
        """Of these items those that fit in what is left, and how many of each do."""
        found = []
        for k, most_of in some:
            fit = most_of
            for c, x in zip(left, self.need[k], strict=True):
                if x and c < fit * x:
                    fit = c // x
                    if not fit:
                        break
            if fit:
                found.append((k, fit))
        return found

    def cut(self, alive: Sequence[_Alive], left: tuple[int, ...], most: int) -> bool:
        """Whether these items are worth at most `most` in what is left."""
        if self._all(alive) <= most or self._filled(alive, left) <= most:
            return True
        for weights, best in self.rows:
            top = best[alive[0][0]]
            if top is not None and _dot(weights, left) * top[0] < (most + 1) * top[1]:
                return True
        return False

    def bound(self, alive: Sequence[_Alive], left: tuple[int, ...]) -> int:
        """The least of the bounds."""
        found = min(self._all(alive), self._filled(alive, left))
        for weights, best in self.rows:
            top = best[alive[0][0]] if alive else None
            if top is not None:
                found = min(found, _dot(weights, left) * top[0] // top[1])
        return found

    def _all(self, alive: Sequence[_Alive]) -> int:
        return sum(self.worth[k] * fit for k, fit in alive)

    def _filled(self, alive: Sequence[_Alive], left: tuple[int, ...]) -> int:
        """The main row filled in order with parts of items: exact for that row and the caps."""
        space, value = _dot(self.main, left), 0
        for k, fit in alive:
            load = self.load[k] * fit
            if load <= space:
                value += self.worth[k] * fit
                space -= load
            else:
                return value + space * self.worth[k] // self.load[k]
        return value

    def taken(self, chosen: _Chosen, size: int) -> tuple[int, ...]:
        """Numbers by item as given."""
        found = [0] * size
        while chosen is not None:
            k, m, chosen = chosen
            found[self.place[k]] = m
        return tuple(found)


def _dot(a: Sequence[int], b: Sequence[int]) -> int:
    return sum(map(mul, a, b))


def ratio(worth: int, load: int) -> float:
    """Worth for a load, only to order items by: what is beyond floats comes first."""
    try:
        return worth / load if load else float("inf")
    except OverflowError:
        return float("inf")
