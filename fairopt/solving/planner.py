"""A cluster that changes, and its answer again and again, moving as few tasks as it can."""

from __future__ import annotations

import threading
from collections.abc import Iterable

import numpy as np

from fairopt import threads
from fairopt.allocation import Allocation
from fairopt.certificates.tolerance import TOLERANCE
from fairopt.errors import BadInput, Fault, UsageError
from fairopt.formulas.parameters import words
from fairopt.instance import Bools, Floats, Instance
from fairopt.notions import Notion
from fairopt.solving import given, solve
from fairopt.solving import near as nearby
from fairopt.solving.given import Amounts


class Planner:
    """A cluster in a scheduler's loop: change it by name, ask for the answer again.

    An answer begins from the last one and, of all optimal answers, is the one that stops and starts
    the fewest tasks (`solve`, `start=` and `near=`). It is certified like any other. Methods may be
    called from several threads; while one answer is computed, changes go on, and the next has them.

    Parameters
    ----------
    instance : the cluster at the beginning; one demand (N, R) of a task wherever it runs, without
        quotas, modes, rules or limits on servers.
    notion : max-min, or alpha-fairness.
    near : whether tasks are left where they run; otherwise only shares matter.
    last : what runs now, if anything does.
    sparse : whether tasks are left on few pairs of user and server: at first, and without `near` in
        every answer, on at most as many as there are users and full rows; with `near` answers go on
        from there. Max-min does so by itself where `near` is asked.

    Raises
    ------
    BadInput, UsageError : an instance or notion that is something else.

    Examples
    --------
    >>> import fairopt as fo
    >>> cluster = fo.Instance([[1.0], [1.0]], [[4.0], [4.0]], users=["a", "b"], servers=["x", "y"])
    >>> planner = fo.Planner(cluster, fo.MaxMin())
    >>> planner.answer().totals.round(6).tolist()
    [4.0, 4.0]
    >>> planner.change_user("a", weight=3)
    >>> planner.answer().totals.round(6).tolist()
    [6.0, 2.0]
    """

    def __init__(
        self,
        instance: Instance,
        notion: Notion,
        near: bool = True,
        last: Allocation | None = None,
        sparse: bool = False,
    ) -> None:
        if not isinstance(instance, Instance):
            raise BadInput([Fault("instance", words(instance), "a fairopt.Instance")])
        if not isinstance(notion, Notion) or notion.family not in ("alpha-fair", "max-min"):
            raise UsageError(f"notion: found {words(notion)}; wanted max-min or alpha-fairness")
        plain = instance.plain and instance.linear and instance.demand.ndim == 2
        if not plain or instance.limit_on is not None:
            raise UsageError(
                "Planner: found demand by server or not linear, or quotas, modes, rules or limits "
                "on servers; wanted a plain instance with one demand of each user"
            )
        self.notion, self.near, self.sparse = notion, near, sparse
        self.resources = instance.resources
        self._state, self._solving = threading.RLock(), threading.Lock()
        self._users, self._servers = list(instance.users), list(instance.servers)
        self._demand, self._weight = np.array(instance.demand), np.array(instance.weight)
        self._limit, self._placement = np.array(instance.limit), np.array(instance.placement)
        self._capacity, self._count = np.array(instance.capacity), np.array(instance.count)
        self._last, self._start, self._changed = last, last, True

    @property
    def users(self) -> tuple[str, ...]:
        """The users there are now, those set aside included."""
        with self._state:
            return tuple(self._users)

    @property
    def servers(self) -> tuple[str, ...]:
        """The servers there are now."""
        with self._state:
            return tuple(self._servers)

    @property
    def aside(self) -> tuple[str, ...]:
        """Users that no server can run now: they are not in the answer, and come back by
        themselves when a server comes that may run them."""
        with self._state:
            some = np.asarray(self._eligible().any(axis=1))
            return tuple(
                name for name, able in zip(self._users, some.tolist(), strict=True) if not able
            )

    @property
    def last(self) -> Allocation | None:
        """The last answer, or what was said to run."""
        with self._state:
            return self._last

    def add_user(
        self,
        name: str,
        demand: Amounts,
        weight: float = 1.0,
        limit: float = np.inf,
        servers: Iterable[str] | None = None,
    ) -> None:
        """A user comes, who may run on `servers`, by name; default all there are.

        Raises
        ------
        BadInput : the name is taken, or a number or name is wrong; nothing is changed then.
        """
        with self._state:
            given.new("user", name, self._users)
            need, w, most = given.user(self.resources, name, demand, weight, limit)
            where = given.where(f"servers of {name}", servers, self._servers)
            self._users.append(name)
            self._demand = np.vstack([self._demand, need])
            self._weight, self._limit = np.append(self._weight, w), np.append(self._limit, most)
            self._placement = np.vstack([self._placement, where])
            self._changed = True

    def change_user(
        self,
        name: str,
        demand: Amounts | None = None,
        weight: float | None = None,
        limit: float | None = None,
        servers: Iterable[str] | None = None,
    ) -> None:
        """A user asks for something else; what is None stays as it is.

        Raises
        ------
        BadInput : no such user, or a number or name is wrong; nothing is changed then.
        """
        with self._state:
            n = given.position("user", name, self._users)
            need, w, most = given.user(
                self.resources,
                name,
                self._demand[n] if demand is None else demand,
                self._weight[n] if weight is None else weight,
                self._limit[n] if limit is None else limit,
            )
            if servers is not None:
                self._placement[n] = given.where(f"servers of {name}", servers, self._servers)
            self._demand[n], self._weight[n], self._limit[n] = need, w, most
            self._changed = True

    def remove_user(self, name: str) -> None:
        """A user goes, with all its tasks. Raises BadInput if there is none of that name."""
        with self._state:
            n = given.position("user", name, self._users)
            del self._users[n]
            self._demand, self._placement = (
                np.delete(self._demand, n, 0),
                np.delete(self._placement, n, 0),
            )
            self._weight, self._limit = np.delete(self._weight, n), np.delete(self._limit, n)
            self._changed = True

    def add_server(
        self,
        name: str,
        capacity: Amounts,
        count: int = 1,
        users: Iterable[str] | None = None,
    ) -> None:
        """A server comes, on which `users` may run, by name; default all there are.

        Raises
        ------
        BadInput : the name is taken, or a number or name is wrong; nothing is changed then.
        """
        with self._state:
            given.new("server", name, self._servers)
            offer, machines = given.server(self.resources, name, capacity, count)
            who = given.where(f"users of {name}", users, self._users)
            self._servers.append(name)
            self._capacity = np.vstack([self._capacity, offer])
            self._count = np.append(self._count, machines)
            self._placement = np.hstack([self._placement, who[:, None]])
            self._changed = True

    def change_server(
        self,
        name: str,
        capacity: Amounts | None = None,
        count: int | None = None,
        users: Iterable[str] | None = None,
    ) -> None:
        """A server offers something else; what is None stays as it is.

        Raises
        ------
        BadInput : no such server, or a number or name is wrong; nothing is changed then.
        """
        with self._state:
            i = given.position("server", name, self._servers)
            offer, machines = given.server(
                self.resources,
                name,
                self._capacity[i] if capacity is None else capacity,
                int(self._count[i]) if count is None else count,
            )
            if users is not None:
                self._placement[:, i] = given.where(f"users of {name}", users, self._users)
            self._capacity[i], self._count[i] = offer, machines
            self._changed = True

    def remove_server(self, name: str) -> None:
        """A server goes, with all tasks on it. Raises BadInput if there is none of that name."""
        with self._state:
            i = given.position("server", name, self._servers)
            del self._servers[i]
            self._capacity, self._count = (
                np.delete(self._capacity, i, 0),
                np.delete(self._count, i),
            )
            self._placement = np.delete(self._placement, i, 1)
            self._changed = True

    def instance(self) -> Instance:
        """The cluster as it is now, without the users that are set aside.

        Raises
        ------
        UsageError : no server can run any user.
        """
        with self._state:
            some = np.flatnonzero(self._eligible().any(axis=1))
            if not len(some):
                raise UsageError(
                    "Planner: found no user that a server can run; wanted one at least"
                )
            return Instance(
                self._demand[some],
                self._capacity,
                self._placement[some],
                self._weight[some],
                self._limit[some],
                self._count,
                [self._users[n] for n in some.tolist()],
                list(self._servers),
                self.resources,
            )

    def answer(self) -> Allocation:
        """The answer to the cluster as it is now; the last one if nothing changed.

        `steps` begin with {"step": "aside", "users": names} where users are set aside, and end with
        what moves (docs/how-to/few-moves.md).

        Raises
        ------
        UsageError : no server can run any user.
        NotCertified, SolverFailure, Infeasible : as `solve`; the last answer is kept.
        """
        with self._solving:
            with self._state:
                last, start, aside = self._last, self._start, self.aside
                if not self._changed and last is not None:
                    return last
                now = self.instance()
                self._changed = False
            try:
                begins = start is not None and self._begins(start)
                begun = solve(now, self.notion, start=start if begins else None)
                held = self._held(now, last)
                found = begun
                if held is not None:
                    held = nearby.checked(held, now, self.notion)
                    with threads.one():
                        found = nearby.answer(begun, begun.score, held, TOLERANCE)
            except BaseException:
                with self._state:
                    self._changed = True
                raise
            if aside:
                found = found.with_(steps=({"step": "aside", "users": list(aside)}, *found.steps))
            with self._state:
                # an alpha-fair answer of few pairs is no good start: the one before it is kept
                alpha_fair = self.notion.family == "alpha-fair"
                self._last, self._start = found, begun if alpha_fair else found
            return found

    def _held(self, now: Instance, last: Allocation | None) -> Allocation | Floats | None:
        """What the answer is to be near to: nothing where few pairs are wanted; None for anywhere.

        Max-min begins with few pairs, as the simplex method then moves few.
        """
        if self.sparse and not self.near:
            return np.zeros(now.shape[:2])
        if last is None and self.near and (self.sparse or self.notion.family == "max-min"):
            return np.zeros(now.shape[:2])
        return last if self.near else None

    def _begins(self, last: Allocation) -> bool:
        """Whether the last answer can be a start: of the same notion, with prices."""
        return last.notion == self.notion.plain() and last.prices is not None

    def _eligible(self) -> Bools:
        """(N, I) where each user's task fits: allowed, and nothing that it needs is missing."""
        lacking = (self._demand > 0).astype(np.float64) @ (self._capacity <= 0).T
        found: Bools = self._placement & (lacking == 0)
        return found
