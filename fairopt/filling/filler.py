"""`fill`: progressive filling of whole tasks (kesidis2018 section IV)."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from fairopt import criteria as scores
from fairopt import memory
from fairopt.allocation import Allocation
from fairopt.errors import BadInput, Fault, UsageError
from fairopt.filling.cluster import Machines
from fairopt.filling.criteria import CRITERIA
from fairopt.filling.selection import VISITS
from fairopt.filling.user_first import ServerFirst, UserFirst
from fairopt.formulas.schedulers import find
from fairopt.instance import Instance, Ints

TIES = ("lowest", "highest", "random")


class Filler:
    """A scheduler bound to an instance; can be run many times (trials, churn).

    Parameters are those of `fill`.

    Examples
    --------
    >>> import fairopt as fo
    >>> from fairopt.filling import Filler
    >>> import random
    >>> filler = Filler(fo.Instance([[1, 4], [3, 1]], [[9, 18]]), 'drf')
    >>> filler.run(random.Random(0))
    {1: 'no machine fits', 0: 'no machine fits'}
    """

    def __init__(
        self,
        instance: Instance,
        scheduler: str = "rps-dsf",
        selection: str | None = None,
        seed: int = 0,
        increment: float = 1.0,
        user_tie: str = "highest",
        server_tie: str = "lowest",
    ) -> None:
        self.criterion, self.selection = find(scheduler, selection)
        if not (np.isfinite(increment) and increment > 0):
            raise BadInput([Fault("increment", f"{increment}", "a finite number > 0")])
        self.scheduler, self.increment = scheduler, float(increment)
        self.user_tie, self.server_tie = user_tie, server_tie
        users, machines = len(instance.users), int(instance.count.sum(dtype=np.float64))
        # every machine has its residual, shape, row and places in lists of its own
        memory.enough(
            "servers.count",
            machines * 8.0 * (8 + instance.shape[2]),
            f"{machines:,} machines told apart",
        )
        tied = random.Random(f"ties {seed}")
        order = _order("user_tie", user_tie, users, tied)
        rank = np.empty(users, dtype=np.int64)
        rank[order] = np.arange(users)
        machine_order = _order("server_tie", server_tie, machines, tied)
        self.cluster = Machines(instance, self.increment, rank, machine_order)
        rule = CRITERIA[self.criterion]
        if self.cluster.by_server and rule.name == "rdrf":
            raise UsageError("rdrf needs demands that are the same on every server")
        self.rule = rule
        self._server_first = self.selection in VISITS
        self._runner: ServerFirst | None = None
        if self._server_first:
            self._runner = ServerFirst(self.cluster, rule, self.selection)

    def run(
        self,
        draw: random.Random,
        users: list[int] | None = None,
        budget: float = np.inf,
        trace: list[dict[str, Any]] | None = None,
    ) -> dict[int, str]:
        """Fill, from the present state of the cluster; returns the users that stopped, and why.

        Parameters
        ----------
        draw : generator of the random selections.
        users : positions of the users to serve, default all.
        budget : most increments to place.
        trace : a list to which every placement is appended.
        """
        who = list(range(len(self.cluster.units))) if users is None else users
        record = None if trace is None else self._recorder(trace)
        rank = self.cluster.instance.tree.rank if self.cluster.room is not None else None
        if rank is None:
            return self._run(who, budget, record, draw)
        stopped: dict[int, str] = {}
        for one in np.unique(rank[who]).tolist():  # those of a later class take what is left
            before = sum(self.cluster.units)
            stopped |= self._run([n for n in who if rank[n] == one], budget, record, draw)
            budget -= sum(self.cluster.units) - before
        return stopped

    def _run(
        self, who: list[int], budget: float, record: Any, draw: random.Random
    ) -> dict[int, str]:
        """Fill for users of one class."""
        if self._runner is not None:
            return self._runner.run(who, budget, record, draw)
        return UserFirst(self.cluster, self.rule, self.selection).run(who, budget, record)

    def allocation(
        self, seed: int, stopped: dict[int, str], trace: list[dict[str, Any]] | None = None
    ) -> Allocation:
        """The tasks now on the cluster, as an Allocation."""
        c = self.cluster
        names = c.instance.users
        step: dict[str, Any] = {
            "stopped": {names[n]: reason for n, reason in sorted(stopped.items())},
            "machines": c.machines(),
            "exact": c.exact,
        }
        if trace is not None:
            step["trace"] = trace
        notion = {
            "name": f"fill:{self.scheduler}",
            "parameters": {
                "selection": self.selection,
                "seed": seed,
                "increment": self.increment,
                "user_tie": self.user_tie,
                "server_tie": self.server_tie,
            },
        }
        u = scores.score(c.instance, "tasks")
        return Allocation(c.instance, notion, c.tasks(), score=u, steps=(step,))

    def _recorder(self, trace: list[dict[str, Any]]) -> Any:
        inst, c = self.cluster.instance, self.cluster

        def record(user: int, position: int, level: float) -> None:
            trace.append(
                {
                    "user": inst.users[user],
                    "server": inst.servers[c.row[position]],
                    "machine": int(c.number[position]),
                    "level": level,
                }
            )

        return record


def fill(
    instance: Instance,
    scheduler: str = "rps-dsf",
    selection: str | None = None,
    seed: int = 0,
    increment: float = 1.0,
    start: Allocation | None = None,
    user_tie: str = "highest",
    server_tie: str = "lowest",
    trace: bool = False,
) -> Allocation:
    """Give one task at a time to the user of smallest criterion whose task fits; take none back.

    Parameters
    ----------
    instance : the cluster; a row of count k is k machines.
    scheduler : a name of SCHEDULERS.
    selection : a name of SELECTIONS; None is the scheduler's own.
    seed : of the random selections and the random ties.
    increment : tasks given at a time; 1 for whole tasks, small to approach the fluid notion.
    start : an allocation to continue from. The machines of an answer of `fill` are packed as its
        steps say, those of others first-fit in the order of the users.
    user_tie, server_tie : which one wins a tie: the "lowest" or "highest" index in the instance,
        or "random" (one order drawn from the seed). Ties of users are broken first.
    trace : whether to record every placement in steps[0]["trace"]: user, server, machine, and the
        user's criterion ("level") when it was chosen.

    Returns
    -------
    Allocation : notion "fill:<scheduler>"; steps[0] says why each user stopped ("no machine fits",
        "limit reached", "best match is full") and how machines of rows with count > 1 are packed.

    Raises
    ------
    UsageError : an unknown scheduler, selection or tie rule.
    BadInput : a start whose tasks are not whole increments or do not fit; an increment that is
        not a finite number > 0.

    Examples
    --------
    >>> from fairopt.instance import Instance
    >>> inst = Instance([[1, 4], [3, 1]], [[9, 18]], users=["A", "B"])
    >>> done = fill(inst, "drf", trace=True)
    >>> [step["user"] for step in done.steps[0]["trace"]]
    ['B', 'A', 'A', 'B', 'A']
    """
    filler = Filler(instance, scheduler, selection, seed, increment, user_tie, server_tie)
    if start is not None:
        if start.tasks.shape != instance.shape[:2]:
            raise BadInput(
                [
                    Fault(
                        "start",
                        f"tasks of shape {start.tasks.shape}",
                        f"shape {instance.shape[:2]}",
                    )
                ]
            )
        packed = next((s["machines"] for s in start.steps if "machines" in s), None)
        filler.cluster.begin(start.tasks, packed)
    record: list[dict[str, Any]] | None = [] if trace else None
    stopped = filler.run(random.Random(seed), trace=record)
    return filler.allocation(seed, stopped, record)


def _order(name: str, tie: str, size: int, draw: random.Random) -> Ints:
    """Positions, the winner of a tie first."""
    if tie not in TIES:
        raise UsageError(f"{name}: found {tie!r}; wanted one of {', '.join(TIES)}")
    order = np.arange(size)
    if tie == "highest":
        return order[::-1].copy()
    if tie == "random":
        shuffled = order.tolist()
        draw.shuffle(shuffled)
        return np.array(shuffled, dtype=np.int64)
    return order
