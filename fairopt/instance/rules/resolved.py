"""Rules in the order of an instance, and what each counts, way by way and server by server."""

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
class RuleRow:
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
    told = [_by_name(rule, users, servers) for rule in rules]
    wrong = list(rule_faults(told, names, modes, quotas))
    faults.extend(wrong)
    if wrong:
        return None
    return tuple([_as_floats(rule) for rule in told])


def _as_floats(rule: Rule) -> Rule:
    """The rule with floats, without -0.0."""
    terms = [
        term
        if type(term.times) is float and term.times
        else replace(term, times=float(term.times) + 0.0)
        for term in rule.terms
    ]
    amounts: dict[str, Any] = {rule.sense: float(rule.amount) + 0.0}
    return replace(rule, **amounts, terms=terms)


def _by_name(rule: Any, users: Sequence[str], servers: Sequence[str]) -> Any:
    """The rule with names for the positions of an array."""
    if not isinstance(rule, Rule):
        return rule

    def names(given: Sequence[Any] | None, known: Sequence[str]) -> Sequence[Any] | None:
        if given is None:
            return given
        return [known[k] if isinstance(k, int) and k < len(known) else k for k in given]

    def numbered(given: Sequence[Any] | None) -> bool:
        return given is not None and any(isinstance(name, int) for name in given)

    if not any(
        isinstance(term, Term) and (numbered(term.users) or numbered(term.servers))
        for term in rule.terms
    ):
        return rule
    return replace(
        rule,
        terms=[
            replace(term, users=names(term.users, users), servers=names(term.servers, servers))
            if isinstance(term, Term)
            else term
            for term in rule.terms
        ],
    )


def rows_of(
    rules: Sequence[Rule],
    names: Mapping[str, Sequence[str]],
    ways: Ways,
    tree: Tree,
    flavors: Mapping[str, Sequence[str]],
) -> tuple[RuleRow, ...]:
    """What each rule counts, where its users may run."""
    look = _Look(names, ways, tree, flavors)
    found = []
    for rule in rules:
        keys, values = [np.zeros(0, np.int64)], [np.zeros(0)]
        one, more = look.single(rule.terms)
        keys.append(one[0])
        values.append(one[1])
        for term in more:
            key, value = look.counted(term)
            keys.append(key)
            values.append(value)
        every, where = np.unique(np.concatenate(keys), return_inverse=True)
        total = np.bincount(where, np.concatenate(values), len(every)).astype(np.float64)
        every, total = every[total != 0], total[total != 0]
        way, server = np.divmod(every, len(names["servers"]))
        up, down = rule.sense != "least", rule.sense != "most"
        found.append(RuleRow(rule.name, rule.amount, up, down, way, server, total))
    return tuple(found)


class _Look:
    """Positions by name, looked up once for all terms."""

    def __init__(
        self,
        names: Mapping[str, Sequence[str]],
        ways: Ways,
        tree: Tree,
        flavors: Mapping[str, Sequence[str]],
    ) -> None:
        self.ways, self.tree, self.flavors = ways, tree, flavors
        self.user = {name: n for n, name in enumerate(names["users"])}
        self.server = {name: i for i, name in enumerate(names["servers"])}
        self.resource = {name: r for r, name in enumerate(names["resources"])}
        self.node = {name: v for v, name in enumerate(tree.nodes)}
        self.first = np.searchsorted(ways.owner, np.arange(len(self.user) + 1))

    def single(self, terms: Sequence[Term]) -> tuple[tuple[Ints, Floats], list[Term]]:
        """The same of all terms of one user without modes on one server, many at a time; and the
        other terms."""
        own: list[tuple[int, int, float]] = []
        simple: list[Term] = []
        other: list[Term] = []
        for term in terms:
            users, servers = term.users, term.servers
            if (
                users is not None
                and servers is not None
                and len(users) == len(servers) == 1
                and term.resource is None
                and term.modes is None
                and users[0] in self.user
                and servers[0] in self.server
            ):
                own.append((self.user[users[0]], self.server[servers[0]], term.times))
                simple.append(term)
            else:
                other.append(term)
        if not own:
            return (np.zeros(0, np.int64), np.zeros(0)), other
        n, i, times = (np.array(part) for part in zip(*own, strict=True))
        count = self.first[n + 1] - self.first[n]
        many = np.flatnonzero(count > 1)
        if len(many):  # each mode counts
            other += [simple[k] for k in many.tolist()]
            keep = count == 1
            n, i, times = n[keep], i[keep], times[keep]
        way = self.first[n]
        on = self.ways.eligible[way, i]
        key = way * self.ways.eligible.shape[1] + i
        return (key[on].astype(np.int64), times[on].astype(np.float64)), other

    def counted(self, term: Term) -> tuple[Ints, Floats]:
        """Positions way * I + server of the eligible pairs of a term, and what one counts."""
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
                users += (
                    [self.user[name]]
                    if name in self.user
                    else self.tree.below(self.node[name]).tolist()
                )
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


__all__ = ["RuleRow", "given_rules", "restricted", "rows_of"]
