"""Rules in the order of an instance, and what each of them counts, way by way and server by server.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairopt.errors import Fault
from fairopt.instance.quotas.records import Quotas
from fairopt.instance.quotas.tree import Tree
from fairopt.instance.quotas.ways import Ways
from fairopt.instance.rules.faults import rule_faults
from fairopt.instance.rules.records import Rule, Term

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Row:
    """What a rule counts: value (E,) of a running task of way (E,) on server (E,), not 0; in order
    of ways, then servers. up, down : whether it holds the sum back from above, and from below."""

    name: str
    amount: float
    up: bool
    down: bool
    way: Ints
    server: Ints
    value: Floats

    @property
    def packing(self) -> bool:
        """Whether less of everything keeps the rule, as it does a capacity."""
        return not self.down and bool((self.value >= 0).all()) and self.amount >= 0

    def held(self, way_tasks: Floats) -> tuple[float, float]:
        """What tasks (K, I) count, and the sum of the sizes of what was added."""
        each = self.value * way_tasks[self.way, self.server]
        return float(each.sum()), float(np.abs(each).sum())


def given_rules(
    rules: Any, names: Mapping[str, Sequence[str]], modes: Any, quotas: Any, faults: list[Fault]
) -> tuple[Rule, ...] | None:
    """The rules with positions (of arrays) as names and numbers as floats; None if there are none,
    or one is at fault, which is added to `faults`."""
    if rules is None:
        return None
    if isinstance(rules, str | Mapping) or not isinstance(rules, Sequence):
        faults.append(Fault("rules", f"a {type(rules).__name__}", "a list of fo.Rule"))
        return None
    if not rules:
        return None
    users, servers = names["users"], names["servers"]
    told = [
        replace(rule, terms=[_named(term, users, servers) for term in rule.terms])
        if isinstance(rule, Rule) else rule
        for rule in rules
    ]  # fmt: skip
    wrong = list(rule_faults(told, names, modes, quotas))
    faults.extend(wrong)
    if wrong:
        return None
    return tuple([
        replace(rule, **{rule.sense: float(rule.amount) + 0.0},
                terms=[replace(term, times=float(term.times) + 0.0) for term in rule.terms])
        for rule in told
    ])  # fmt: skip


def _named(term: Any, users: Sequence[str], servers: Sequence[str]) -> Any:
    """The term with the names at the positions of an array."""
    if not isinstance(term, Term):
        return term

    def names(given: Sequence[Any] | None, known: Sequence[str]) -> Sequence[Any] | None:
        if given is None or not any(isinstance(name, int) for name in given):
            return given
        return [known[k] if isinstance(k, int) and k < len(known) else k for k in given]

    return replace(term, users=names(term.users, users), servers=names(term.servers, servers))


def rows_of(
    rules: Sequence[Rule], names: Mapping[str, Sequence[str]], ways: Ways, tree: Tree,
    flavors: Mapping[str, Sequence[str]],
) -> tuple[Row, ...]:  # fmt: skip
    """What each rule counts, where its users may run."""
    look = _Look(names, ways, tree, flavors)
    found = []
    for rule in rules:
        keys, values = [np.zeros(0, np.int64)], [np.zeros(0)]
        for term in rule.terms:
            key, value = look.counted(term)
            keys.append(key)
            values.append(value)
        every, where = np.unique(np.concatenate(keys), return_inverse=True)
        total = np.bincount(where, np.concatenate(values), len(every)).astype(np.float64)
        every, total = every[total != 0], total[total != 0]
        way, server = np.divmod(every, len(names["servers"]))
        up, down = rule.sense != "least", rule.sense != "most"
        found.append(Row(rule.name, rule.amount, up, down, way, server, total))
    return tuple(found)


class _Look:
    """Positions by name, looked up once for all terms."""

    def __init__(
        self, names: Mapping[str, Sequence[str]], ways: Ways, tree: Tree,
        flavors: Mapping[str, Sequence[str]],
    ) -> None:  # fmt: skip
        self.ways, self.tree, self.flavors = ways, tree, flavors
        self.user = {name: n for n, name in enumerate(names["users"])}
        self.server = {name: i for i, name in enumerate(names["servers"])}
        self.resource = {name: r for r, name in enumerate(names["resources"])}
        self.node = {name: v for v, name in enumerate(tree.nodes)}
        self.first = np.searchsorted(ways.owner, np.arange(len(self.user) + 1))

    def counted(self, term: Term) -> tuple[Ints, Floats]:
        """Positions way * I + server of the eligible pairs that a term meets, and what one counts.
        """
        ways, servers = self.ways, self._servers(term)
        way = self._ways(term)
        k, j = np.nonzero(ways.eligible[np.ix_(way, servers)])
        k, i = way[k], servers[j]
        value = np.full(len(k), float(term.times))
        if term.resource in self.resource:
            r = self.resource[term.resource]
            value *= ways.demand[k, r] if ways.demand.ndim == 2 else ways.demand[k, i, r]
        elif term.resource is not None:
            value *= ways.speed[k]
        return k * ways.eligible.shape[1] + i, value

    def _ways(self, term: Term) -> Ints:
        if term.users is None:
            way = np.arange(len(self.ways))
        else:
            users: list[int] = []
            for name in term.users:
                users += [self.user[name]] if name in self.user else self.tree.below(
                    self.node[name]).tolist()  # fmt: skip
            own = [np.arange(self.first[n], self.first[n + 1]) for n in dict.fromkeys(users)]
            way = np.concatenate([np.zeros(0, np.int64), *own])
        if term.modes is None:
            return way
        return way[[self.ways.name[k] in term.modes for k in way.tolist()]]

    def _servers(self, term: Term) -> Ints:
        if term.servers is None:
            return np.arange(len(self.server))
        found: list[int] = []
        for name in term.servers:
            own = [name] if name in self.server else self.flavors[name]
            found += [self.server[server] for server in own]
        return np.array(list(dict.fromkeys(found)), dtype=np.int64)


def restricted(
    rules: Sequence[Rule] | None, users: Sequence[str], servers: Sequence[str], quotas: Quotas
) -> list[Rule] | None:
    """What the rules say of these users and servers only; rules that say nothing of them are left
    out."""
    def kept(given: Sequence[str] | None, here: set[str]) -> Sequence[str] | None:
        return None if given is None else [name for name in given if name in here]

    people = set(users) | {group.name for group in quotas.groups}
    rooms = set(servers) | set(quotas.flavors)
    found = []
    for rule in rules or ():
        terms = [
            replace(term, users=kept(term.users, people), servers=kept(term.servers, rooms))
            for term in rule.terms
        ]
        terms = [term for term in terms if term.users != () and term.servers != ()]
        if terms:
            found.append(replace(rule, terms=terms))
    return found or None


__all__ = ["Row", "given_rules", "restricted", "rows_of"]
