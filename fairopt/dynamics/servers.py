r"""PS-DSF kept by every server on its own while users leave and return (khamse2016 V, Figure 6).

Every round (a second in the paper) each server i refills itself once, knowing of the others only
how many tasks its users have there:

.. math:: \frac{x_n}{\phi_n \gamma_{n,i}} \text{ is water-filled on } i \text{ given }
          \sum_{j \ne i} x_{n,j}

A user that leaves takes its tasks along at once; what it leaves is shared again from round to
round. Nothing promises that this settles. One server after the other, on fresh news, it does on
Figure 6; all at once, on the news of the last round, it never does: two states alternate.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fairopt.allocation import Allocation
from fairopt.allocation.check import Certificate
from fairopt.certificates import certify
from fairopt.dynamics import needed
from fairopt.errors import BadInput, Fault
from fairopt.formulas.parameters import amount, words
from fairopt.instance import Bools, Floats, Instance, Ints, sealed
from fairopt.instance.reading import nearest
from fairopt.notions import Notion, PerServerDominantShare
from fairopt.solving.engines.water.per_server import per_server_drf
from fairopt.solving.engines.water.refill import refill_server

ORDERS = ("in-turn", "at-once", "random")
"""who acts when: in the order of the instance, all on the news of the last round, or in an order
drawn anew every round"""
SETTLED = 1e-5
"""states that differ by no more than this part of any user's tasks are taken for the last one"""
LONGEST = 12
"""longest cycle of rounds looked for"""
SAME_STATE = 1e-9
"""states that differ by no more than this part of any user's tasks are the same"""

Away = Mapping[str, Sequence[int]]
"""user -> (the round before which it leaves, the round before which it returns)"""


@dataclass(frozen=True)
class Phase:
    """Rounds during which the same users are there.

    Parameters
    ----------
    begin, end : states begin, ..., end - 1 of the run; in the first the servers know of the change.
    away : names of the users that are not there.
    settled : the first state from which all are the last one, within `SETTLED`; None where not
        even the last two are.
    period : rounds after which the last state comes again (`SAME_STATE`); 1 where it stands still,
        None where no period up to `LONGEST` is seen.
    certificate : the judge's verdict on the last state as an answer to PS-DSF of those present.
    """

    begin: int
    end: int
    away: tuple[str, ...]
    settled: int | None
    period: int | None
    certificate: Certificate


@dataclass(frozen=True, eq=False)
class OverTime:
    """What every user had, and how much was used, after every round.

    Parameters
    ----------
    instance : the cluster with all its users.
    tasks : (T + 1, N, I), tasks at the start and after each of T rounds.
    present : (T + 1, N), who was there.
    phases : one a time between two changes of who is there.

    Examples
    --------
    >>> import fairopt as fo
    >>> from fairopt import dynamics
    >>> found = dynamics.by_themselves(fo.Instance([[1, 4], [3, 1]], [[9, 18], [6, 6]]), rounds=5)
    >>> found.tasks.shape, len(found.phases)
    ((6, 2, 2), 1)
    """

    instance: Instance
    tasks: Floats
    present: Bools
    phases: tuple[Phase, ...]

    @cached_property
    def totals(self) -> Floats:
        """(T + 1, N) tasks of each user."""
        return sealed(self.tasks.sum(axis=2))

    @cached_property
    def used(self) -> Floats:
        """(T + 1, I, R) part of each resource in use; 0 where the row has none."""
        return sealed(np.array([_part(self.instance, x) for x in self.tasks]))

    def exactly(self, notion: Notion) -> tuple[Allocation, ...]:
        """The notion's answer for those present, one a phase: shares recomputed at once."""
        from fairopt.solving import solve

        return tuple(solve(present_only(self.instance, p.away), notion) for p in self.phases)


def by_themselves(
    instance: Instance,
    rounds: int = 30,
    away: Away | None = None,
    order: str = "in-turn",
    delay: int = 0,
    damping: float = 0.0,
    seed: int = 0,
) -> OverTime:
    """Servers that keep PS-DSF each on its own, from DRF on each server.

    Parameters
    ----------
    rounds : how often every server acts, at least 1.
    away : who is away from which round until which, {"n4": (10, 20)}: not there in rounds 10 to 19.
    order : "in-turn", "at-once" or "random".
    delay : news of the others is up to this many rounds old; the age is drawn at every turn.
    damping : part of the way to the refilled state that is not gone, >= 0 and < 1.
    seed : of the orders and ages drawn.

    Raises
    ------
    BadInput : with everything that is wrong with the arguments.

    Notes
    -----
    No capacity is exceeded at any time: a server divides what it has. On old news a user's total
    may exceed its limit until the servers hear of one another.

    References
    ----------
    khamse2016 section V and Figure 6.

    Examples
    --------
    >>> import fairopt as fo
    >>> from fairopt import dynamics
    >>> found = dynamics.by_themselves(fo.Instance([[1, 4], [3, 1]], [[9, 18], [6, 6]]), rounds=5)
    >>> found.tasks[-1].round(3)
    array([[4.286, 0.   ],
           [0.857, 2.   ]])
    """
    instance.only_plain("servers by themselves")
    leave, back = _checked(instance, rounds, away or {}, order, delay, damping, seed)
    users, servers, _ = instance.shape
    needed.check(float(rounds) * servers * users, 1, 16.0 * rounds * users * servers, "rounds")
    part, rng = instance.part_of_row(), np.random.default_rng(seed)
    round_of = np.arange(rounds + 1)
    present = ~((round_of[:, None] >= leave) & (round_of[:, None] < back))
    x = np.zeros(instance.shape[:2])
    x[present[0]] = per_server_drf(present_only(instance, _away(instance, present[0])))
    states = [x]
    # where nothing is drawn, the same tasks of the same users lead to the same tasks
    after: dict[bytes, Floats] = {}
    for now in range(1, rounds + 1):
        x = np.where(present[now][:, None], x, 0.0)
        known = after.get(x.tobytes() + present[now].tobytes())
        if known is not None:
            x = known
            states.append(x)
            continue
        before = x.copy()
        turns = list(range(len(instance.servers)))
        if order == "random":
            rng.shuffle(turns)
        for i in turns:
            age = int(rng.integers(delay + 1)) if delay else 0
            news = before if order == "at-once" else x
            if age:
                news = states[max(now - age, 0)]
            filled = _refilled(instance, part, news, i, present[now])
            x[:, i] = damping * x[:, i] + (1.0 - damping) * filled
        states.append(x.copy())
        if order != "random" and not delay:
            after[before.tobytes() + present[now].tobytes()] = states[-1]
    tasks = np.array(states)
    starts = [0, *(np.flatnonzero((present[1:] != present[:-1]).any(axis=1)) + 1), rounds + 1]
    phases = [
        _phase(instance, tasks, int(a), int(b), _away(instance, present[a]))
        for a, b in zip(starts, starts[1:], strict=False)
    ]
    return OverTime(instance, sealed(tasks), sealed(present), tuple(phases))


def present_only(instance: Instance, away: Sequence[str]) -> Instance:
    """The instance without the users away."""
    stay = [n for n, name in enumerate(instance.users) if name not in away]
    return instance.select(stay, range(len(instance.servers)))


def _refilled(instance: Instance, part: Floats, news: Floats, i: int, present: Bools) -> Floats:
    """(N,) tasks on server i once it has refilled itself, by what it has heard of the others."""
    heard = np.where(present[:, None], news, 0.0)
    members = np.flatnonzero(instance.eligible[:, i] & present)
    heard[:, i] = 0.0
    if len(members):
        refill_server(instance, part, heard, i, members)
    filled: Floats = heard[:, i]
    # beside totals 1e9 times its own a small server's levels are rounded: it hands out what it has
    filled /= max(1.0, float((filled @ part[:, i]).max()))
    return filled


def _part(instance: Instance, tasks: Floats) -> Floats:
    pool = instance.pool
    return np.divide(instance.used(tasks), pool, out=np.zeros_like(pool), where=pool > 0)


def _away(instance: Instance, present: Bools) -> tuple[str, ...]:
    return tuple(instance.users[n] for n in np.flatnonzero(~present))


def _phase(instance: Instance, tasks: Floats, begin: int, end: int, away: tuple[str, ...]) -> Phase:
    """What became of the states begin, ..., end - 1."""
    stay = [n for n, name in enumerate(instance.users) if name not in away]
    here = tasks[begin:end, stay]
    last = here[-1]
    total = last.sum(axis=1)
    apart = (np.abs(here - last) / np.where(total > 0, total, 1.0)[:, None]).max(axis=(1, 2))
    far = np.flatnonzero(apart > SETTLED)
    settled = begin + int(far[-1]) + 1 if len(far) else begin
    again = np.flatnonzero(apart[-2 : -LONGEST - 2 : -1] <= SAME_STATE)
    answer = Allocation(present_only(instance, away), PerServerDominantShare(), last)
    return Phase(
        begin,
        end,
        away,
        settled if settled < end - 1 else None,
        int(again[0]) + 1 if len(again) else None,
        certify(answer),
    )


def _checked(
    instance: Instance, rounds: int, away: Away, order: str, delay: int, damping: float, seed: int
) -> tuple[Ints, Ints]:
    """(N,) first and last round of each user's absence; every wrong argument is named."""
    faults = []
    for name, value, least in (("rounds", rounds, 1), ("delay", delay, 0), ("seed", seed, 0)):
        if not _whole(value) or value < least:
            faults.append(Fault(name, words(value), f"a whole number >= {least}"))
    if order not in ORDERS:
        faults.append(Fault("order", words(order), f"one of {', '.join(ORDERS)}"))
    part = amount(damping)
    if part is None or part >= 1:
        faults.append(Fault("damping", words(damping), "a number >= 0 and < 1"))
    leave, back = np.zeros((2, len(instance.users)), dtype=np.int64)
    for user, times in away.items():
        if user not in instance.users:
            faults.append(Fault(f"away.{user}", "an unknown user", nearest(user, instance.users)))
        elif len(times) != 2 or not all(map(_whole, times)) or not 0 <= times[0] < times[1]:
            wanted = "two whole numbers, 0 <= leaves < returns"
            faults.append(Fault(f"away.{user}", words(list(times)), wanted))
        else:
            n = instance.users.index(user)
            leave[n], back[n] = times
    if not faults and rounds > 0:
        gone = [(leave <= t) & (t < back) for t in {0, *leave.tolist()} if t <= rounds]
        if any(all_gone.all() for all_gone in gone):
            faults.append(Fault("away", "all users at the same time", "somebody there"))
    if faults:
        raise BadInput(faults)
    return leave, back


def _whole(value: object) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)
