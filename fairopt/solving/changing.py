"""A cluster that changes by name: users and servers come, change and go, rules among them."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from fairopt.errors import BadInput, Fault, UsageError
from fairopt.instance import Bools, Instance
from fairopt.instance.quotas.order import restricted
from fairopt.instance.quotas.plain import kept
from fairopt.instance.quotas.records import Mode, Quotas
from fairopt.instance.quotas.ways import ways_of, within
from fairopt.instance.rules.records import Rule
from fairopt.instance.rules.resolved import given_rules
from fairopt.instance.rules.resolved import restricted as own_restricted
from fairopt.solving import given
from fairopt.solving.given import Amounts

USERS = ("demand", "placement", "weight", "limit", "limit_on", "start")
"""arrays with one row a user"""
AS_IT_IS: Any = object()
"""said of what stays"""


class Changing:
    """The cluster. Every change is checked before anything changes, and none waits for an answer.

    What quotas, modes and rules say of a name holds whenever a user or server of that name is
    there: of one that went it is said again when it comes back.
    """

    def __init__(self, instance: Instance) -> None:
        instance.only_known("change", "Planner")
        if not instance.linear:
            raise UsageError("Planner: found demand that is not linear; wanted demand that is")
        self.resources = instance.resources
        self._state, self._changed = threading.RLock(), True
        self._users, self._servers = list(instance.users), list(instance.servers)
        arrays = {name: getattr(instance, name) for name in (*USERS, "capacity", "count")}
        self._of: dict[str, Any] = {
            name: np.array(array) for name, array in arrays.items() if array is not None
        }
        self._quotas, self._modes, self._rules = instance.quotas, instance.modes, instance.rules

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
            some = self._able().tolist()
            return tuple(name for name, able in zip(self._users, some, strict=True) if not able)

    def add_user(
        self,
        name: str,
        demand: Amounts,
        weight: float = 1.0,
        limit: float = np.inf,
        servers: Iterable[str] | None = None,
        group: str | None = None,
    ) -> None:
        """A user comes, who may run on `servers`, by name; default all there are. It joins `group`,
        if one is named.

        Raises
        ------
        BadInput : the name is taken, or a number or name is wrong; nothing is changed then.
        """
        with self._state:
            given.new("user", name, self._users)
            need, w, most = given.user(self.resources, name, demand, weight, limit)
            where = given.where(f"servers of {name}", servers, self._servers)
            self._join(name, group)
            self._users.append(name)
            row: dict[str, Any] = {"demand": need, "placement": where, "weight": w, "limit": most}
            row |= {"limit_on": np.inf, "start": 0.0}  # of a user that comes, whoever it is
            for key in self._of.keys() & row.keys():
                array = self._of[key]
                new = np.broadcast_to(row[key], (1, *array.shape[1:]))
                self._of[key] = np.concatenate([array, new])
            self._changed = True

    def change_user(
        self,
        name: str,
        demand: Amounts | None = None,
        weight: float | None = None,
        limit: float | None = None,
        servers: Iterable[str] | None = None,
        group: str | None = None,
    ) -> None:
        """A user asks for something else; what is None stays as it is.

        Raises
        ------
        BadInput : no such user, or a number or name is wrong; nothing is changed then.
        """
        with self._state:
            n, of = given.position("user", name, self._users), self._of
            usual = of["demand"][n] if of["demand"].ndim == 2 else of["demand"][n].max(axis=0)
            need, w, most = given.user(
                self.resources,
                name,
                usual if demand is None else demand,
                of["weight"][n] if weight is None else weight,
                of["limit"][n] if limit is None else limit,
            )
            where = of["placement"][n]
            if servers is not None:
                where = given.where(f"servers of {name}", servers, self._servers)
            self._join(name, group)
            of["placement"][n] = where
            if demand is not None:
                of["demand"][n] = need
            of["weight"][n], of["limit"][n] = w, most
            self._changed = True

    def remove_user(self, name: str) -> None:
        """A user goes, with all its tasks. Raises BadInput if there is none of that name."""
        with self._state:
            n = given.position("user", name, self._users)
            del self._users[n]
            for key in self._of.keys() & set(USERS):
                self._of[key] = np.delete(self._of[key], n, 0)
            self._changed = True

    def add_server(
        self,
        name: str,
        capacity: Amounts,
        count: int = 1,
        users: Iterable[str] | None = None,
        like: str | None = None,
    ) -> None:
        """A server comes, on which `users` may run, by name; default all there are. Where demand
        depends on the server, it is that on the server `like`.

        Raises
        ------
        BadInput : the name is taken, or a number or name is wrong; nothing is changed then.
        """
        with self._state:
            given.new("server", name, self._servers)
            offer, machines = given.server(self.resources, name, capacity, count)
            who = given.where(f"users of {name}", users, self._users)
            of = self._of
            if of["demand"].ndim == 3:
                if like is None:
                    wanted = "the name of a server of the same demand"
                    raise BadInput([Fault(f"like of {name}", "None", wanted)])
                there = of["demand"][:, [given.position("server", like, self._servers)]]
                of["demand"] = np.concatenate([of["demand"], there], axis=1)
            self._servers.append(name)
            of["capacity"] = np.vstack([of["capacity"], offer])
            of["count"] = np.append(of["count"], machines)
            of["placement"] = np.hstack([of["placement"], who[:, None]])
            if "limit_on" in of:
                free = np.full((len(who), 1), np.inf)
                of["limit_on"] = np.hstack([of["limit_on"], free])
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
            i, of = given.position("server", name, self._servers), self._of
            offer, machines = given.server(
                self.resources,
                name,
                of["capacity"][i] if capacity is None else capacity,
                int(of["count"][i]) if count is None else count,
            )
            if users is not None:
                of["placement"][:, i] = given.where(f"users of {name}", users, self._users)
            of["capacity"][i], of["count"][i] = offer, machines
            self._changed = True

    def remove_server(self, name: str) -> None:
        """A server goes, with all tasks on it. Raises BadInput if there is none of that name."""
        with self._state:
            i = given.position("server", name, self._servers)
            del self._servers[i]
            for key in ("capacity", "count"):
                self._of[key] = np.delete(self._of[key], i, 0)
            for key in self._of.keys() & {"placement", "limit_on"}:
                self._of[key] = np.delete(self._of[key], i, 1)
            if self._of["demand"].ndim == 3:
                self._of["demand"] = np.delete(self._of["demand"], i, 1)
            self._changed = True

    def change_rules(
        self,
        quotas: Quotas | None = AS_IT_IS,
        modes: Mapping[str, Sequence[Mode]] | None = AS_IT_IS,
        rules: Sequence[Rule] | None = AS_IT_IS,
    ) -> None:
        """Quotas, modes or own rules are these from now on, or none; what is not named stays.

        Raises
        ------
        BadInput : a name or number is wrong; nothing is changed then.
        """
        with self._state:
            faults: list[Fault] = []
            names = {"users": self._users, "servers": self._servers, "resources": self.resources}
            here = self._rules_of(self._users)
            told = {"quotas": quotas, "modes": modes, "rules": rules}
            here |= {key: value for key, value in told.items() if value is not AS_IT_IS}
            found, ways = kept(
                here["quotas"], here["modes"], names, self._of["demand"], self._of["weight"], faults
            )
            own = given_rules(here["rules"], names, ways, found, faults)
            if faults:
                raise BadInput(faults)
            self._quotas = self._quotas if quotas is AS_IT_IS else found
            self._modes = self._modes if modes is AS_IT_IS else ways
            self._rules = self._rules if rules is AS_IT_IS else own
            self._changed = True

    def instance(self) -> Instance:
        """The cluster as it is now, without the users that are set aside.

        Raises
        ------
        UsageError : no server can run any user. BadInput : a rule that says nothing of anybody who
            is left.
        """
        with self._state:
            some = np.flatnonzero(self._able())
            if not len(some):
                raise UsageError(
                    "Planner: found no user that a server can run; wanted one at least"
                )
            users = [self._users[n] for n in some.tolist()]
            rows = {key: a[some] if key in USERS else a for key, a in self._of.items()}
            return Instance(
                **rows,
                users=users,
                servers=list(self._servers),
                resources=self.resources,
                **self._rules_of(users),
            )

    def _rules_of(self, users: Sequence[str]) -> dict[str, Any]:
        """What quotas, modes and rules say of these users and the servers there are."""
        servers = self._servers
        return {
            "quotas": self._quotas and restricted(self._quotas, users, servers),
            "modes": (self._modes and within(self._modes, users, servers)) or None,
            "rules": own_restricted(self._rules, users, servers, self._quotas or Quotas()),
        }

    def _join(self, name: str, group: str | None) -> None:
        if group is None:
            return
        quotas = self._quotas or Quotas()
        given.position("group", group, [one.name for one in quotas.groups])
        self._quotas = replace(quotas, group={**quotas.group, name: group})

    def _able(self) -> Bools:
        """(N,) who can run somewhere: allowed, and nothing that a task needs is missing."""
        if not self._users or not self._servers:
            return np.zeros(len(self._users), bool)
        names = {"users": self._users, "servers": self._servers}
        modes = self._rules_of(self._users)["modes"]
        of = self._of
        ways = ways_of(modes, names, of["demand"], of["placement"], of["capacity"])
        return np.bincount(ways.owner, ways.eligible.any(axis=1), len(self._users)) > 0


__all__ = ["AS_IT_IS", "Changing"]
