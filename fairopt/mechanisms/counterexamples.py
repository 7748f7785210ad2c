"""Small counterexamples with round numbers, one for all mechanisms that it refutes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from fairopt import files
from fairopt.allocation import Allocation
from fairopt.errors import UsageError
from fairopt.files.cases import Case
from fairopt.instance import Instance
from fairopt.instance.shrink import DIGITS, rounded, shrink
from fairopt.mechanisms import OWN_PARETO, Cell, Mechanism, judged
from fairopt.properties import NOTION_PROPERTIES
from fairopt.properties.lies import ShareLie, described, in_words, truly_runs
from fairopt.properties.scaling import scaled
from fairopt.properties.searching import proved, remark, worst_loss


@dataclass(frozen=True)
class Change:
    """One change, and how to measure its effect.

    Parameters
    ----------
    kind : the property it may violate.
    found : the change as plain data, as the search gave it.
    """

    kind: str
    found: dict[str, Any]

    def made(self, inst: Instance) -> Instance:
        """The changed instance.

        Raises
        ------
        UsageError : the user it is about, or everything that it changes, was left out.
        """
        if self.kind == "strategy-proof":
            return self._lie(inst).told(inst)
        if self.kind == "scale-invariant":
            return scaled(inst, _position(self.found["user"], inst), self.found["factor"])
        if self.kind == "resource-monotone":
            capacity = inst.capacity.copy()
            for i, r, amount in self._amounts(inst):
                capacity[i, r] = max(capacity[i, r], amount)
            return inst.replace(capacity=capacity)
        left = set(self.found["left"])
        stay = [n for n, user in enumerate(inst.users) if user not in left]
        if not stay or len(stay) == len(inst.users):
            raise UsageError("no user leaves, or no user stays")
        return inst.select(stay, range(len(inst.servers)))

    def residual(self, before: Allocation, after: Allocation) -> tuple[float, str]:
        """By how much the two answers violate the property, and the violation in words."""
        inst = before.instance
        if self.kind == "strategy-proof":
            lie = self._lie(inst)
            runs, truth = truly_runs(inst, lie, after.by_way), float(before.totals[lie.user])
            words = in_words(inst, lie, described(inst, before, lie, after))
            return (runs - truth) / max(runs, truth, 1e-9), words
        if self.kind == "scale-invariant":
            n, factor = _position(self.found["user"], inst), self.found["factor"]
            wanted = before.totals.copy()
            wanted[n] /= factor
            off = np.abs(after.totals - wanted) / np.maximum(np.maximum(wanted, after.totals), 1e-9)
            m = int(off.argmax())
            return float(off[m]), (
                f"with tasks of {self.found['user']} {factor:.6g} times as large {inst.users[m]} "
                f"runs {after.totals[m]:.6g} of them instead of {wanted[m]:.6g}"
            )
        stay = [inst.users.index(user) for user in after.instance.users]
        lost, k = worst_loss(before.totals[stay], after.totals)
        if self.kind == "resource-monotone":
            what = "with " + " and ".join(
                f"{amount:.6g} {inst.resources[r]} on {inst.servers[i]}"
                for i, r, amount in self._amounts(inst)
            )
        else:
            what = "without " + ", ".join(u for u in self.found["left"] if u in inst.users)
        return lost, (
            f"{what} {after.instance.users[k]} runs {after.totals[k]:.6g} tasks "
            f"instead of {before.totals[stay[k]]:.6g}"
        )

    def rounder(self) -> Iterator[Change]:
        """Simpler variants: fewer digits (fewest first), or some servers or growths left out."""
        for digits in DIGITS:
            found = _rounded(self.found, digits)
            if found != self.found:
                yield replace(self, found=found)
        if self.kind == "resource-monotone":
            for server, row in self.found["capacity"].items():
                for resource in row:
                    fewer = {
                        s: {r: a for r, a in rest.items() if (s, r) != (server, resource)}
                        for s, rest in self.found["capacity"].items()
                    }
                    yield replace(self, found={**self.found, "capacity": fewer})

    def _lie(self, inst: Instance) -> ShareLie:
        n = _position(self.found["user"], inst)
        if inst.demand.ndim == 3:
            raise UsageError("a lie by name is about demand that is the same on every server")
        demand = np.array([self.found["demand"].get(r, 0.0) for r in inst.resources])
        return ShareLie(n, demand, np.isin(inst.servers, self.found["servers"]))

    def _amounts(self, inst: Instance) -> list[tuple[int, int, float]]:
        return [
            (inst.servers.index(server), inst.resources.index(resource), amount)
            for server, row in self.found["capacity"].items()
            if server in inst.servers
            for resource, amount in row.items()
            if resource in inst.resources
        ]


def _position(user: str, inst: Instance) -> int:
    if user not in inst.users:
        raise UsageError(f"user {user} was left out")
    return inst.users.index(user)


def _rounded(value: Any, digits: int) -> Any:
    if isinstance(value, dict):
        return {key: _rounded(each, digits) for key, each in value.items()}
    return float(rounded(value, digits)) if isinstance(value, float) else value


LEAST_RESIDUAL = 1e-2
"""least residual while shrinking, unless the violation found is smaller"""
BUDGET = 250
"""instances tried while shrinking"""
CHANGED = {
    "strategy-proof": "lied",
    "scale-invariant": "scaled",
    "resource-monotone": "grown",
    "population-monotone": "left",
}
"""ending of the name of the second model of a pair"""


@dataclass
class Example:
    """A counterexample to one property, and the mechanisms it holds for.

    Parameters
    ----------
    name : of the model. instance : the cluster. change : for properties of a notion, else None.
    answers : for each mechanism its answer, its answer to the changed instance, and the violation
        in words.
    """

    name: str
    instance: Instance
    change: Change | None = None
    answers: list[tuple[Mechanism, Allocation, Allocation | None, str]] = field(
        default_factory=list
    )


def examples(table: dict[str, tuple[Mechanism, dict[str, Cell]]]) -> list[Example]:
    """Counterexamples for every "no" of the table, {label: (mechanism, cells)}.

    A counterexample to an earlier mechanism is used again if it refutes the next one too; otherwise
    the violation that the survey found is shrunk.
    """
    found: list[Example] = []
    for name in next(iter(table.values()))[1]:
        known: list[Example] = []
        for mechanism, cells in table.values():
            cell = cells[name]
            # a failure among all divisions of resources is shown in the column pareto-optimal
            if cell.holds or name == OWN_PARETO:
                continue
            assert cell.instance is not None
            if any(_serves(example, mechanism, name, LEAST_RESIDUAL) for example in known):
                continue
            example = _shrunk(mechanism, name, cell)
            example.name = f"{name}-{len(known) + 1}"
            assert _serves(example, mechanism, name, 0.0)
            known.append(example)
        found += known
    return found


def violation(
    mechanism: Mechanism, name: str, instance: Instance, change: Change | None, strict: bool = False
) -> tuple[float, str, Allocation, Allocation | None] | None:
    """(residual, words, answer, answer after the change); None without certified answers.

    With `strict` only answers of `solve` count, not those of faster methods.
    """
    answer = _answer(instance, mechanism, strict)
    if answer is None:
        return None
    if change is None:
        check = judged(answer, name)
        return check.residual, check.witness, answer, None
    after = _answer(change.made(instance), mechanism, strict)
    if after is None:
        return None
    residual, words = change.residual(answer, after)
    return residual, words + remark(mechanism.notion), answer, after


def _answer(instance: Instance, mechanism: Mechanism, strict: bool) -> Allocation | None:
    """The answer of `solve`; unless strict, that of a faster method where it is not certified."""
    answer = proved(instance, mechanism.notion, full=True)
    return answer if answer is not None or strict else proved(instance, mechanism.notion)


def _serves(example: Example, mechanism: Mechanism, name: str, least: float) -> bool:
    """Whether the example refutes this mechanism too; its answers are then added to it."""
    from fairopt.errors import FairoptError

    try:
        found = violation(mechanism, name, example.instance, example.change, least > 0)
    except FairoptError:
        return False
    if found is None or not found[0] > least:
        return False
    example.answers.append((mechanism, found[2], found[3], found[1]))
    return True


def _shrunk(mechanism: Mechanism, name: str, cell: Cell) -> Example:
    assert cell.instance is not None
    least = min(2 * LEAST_RESIDUAL, 0.5 * cell.residual)
    change = Change(name, cell.found) if name in NOTION_PROPERTIES else None

    # prefer a model that `solve` certifies; the search may have found one that it does not
    first = violation(mechanism, name, cell.instance, change, strict=True)
    strict = first is not None and first[0] > least

    def bad(instance: Instance, change: Change | None = change) -> bool:
        if instance.demand.ndim == 3:
            return False
        found = violation(mechanism, name, instance, change, strict)
        return found is not None and found[0] > least

    small = shrink(cell.instance, bad, BUDGET)
    if change is not None:
        for other in change.rounder():
            if bad(small, other):
                change = other
                break
        small = shrink(small, lambda instance: bad(instance, change), BUDGET // 2)
    return Example("", *_renamed(small, change))


def _renamed(instance: Instance, change: Change | None) -> tuple[Instance, Change | None]:
    """The same with the names u1.., s1.., r1.. in order, also in the change."""
    users = {user: f"u{k}" for k, user in enumerate(instance.users, start=1)}
    servers = {server: f"s{k}" for k, server in enumerate(instance.servers, start=1)}
    resources = {resource: f"r{k}" for k, resource in enumerate(instance.resources, start=1)}
    plain = instance.replace(
        users=list(users.values()),
        servers=list(servers.values()),
        resources=list(resources.values()),
    )
    if change is None:
        return plain, None
    found: dict[str, Any] = {}
    if "user" in change.found:
        found["user"] = users[change.found["user"]]
    if "factor" in change.found:
        found["factor"] = change.found["factor"]
    if "demand" in change.found:
        demand = change.found["demand"]
        found["demand"] = {resources[r]: demand[r] for r in demand if r in resources}
        found["servers"] = [servers[s] for s in change.found["servers"] if s in servers]
    if "capacity" in change.found:
        capacity = change.found["capacity"]
        found["capacity"] = {
            servers[s]: {resources[r]: amount for r, amount in row.items() if r in resources}
            for s, row in capacity.items()
            if s in servers
        }
    if "left" in change.found:
        found["left"] = [users[u] for u in change.found["left"] if u in users]
    return plain, replace(change, found=found)


def save(found: list[Example], folder: Path) -> None:
    """Each example as NAME.toml, and NAME-lied.toml or the like where there is a change."""
    for example in found:
        name = example.name.rpartition("-")[0]
        words = example.answers[0][3]
        title = f"{example.answers[0][0].label} is not {name}: {words}"
        source = "found by search and shrunk (examples/mechanism_table.py)"
        cases = tuple(_case(m, answer, words) for m, answer, _, words in example.answers)
        model = files.Model(example.instance, cases, title, source)
        files.write(model, folder / f"{example.name}.toml")
        if example.change is not None:
            kind = CHANGED[example.change.kind]
            cases = tuple(
                _case(m, after, words)
                for m, _, after, words in example.answers
                if after is not None
            )
            changed = example.change.made(example.instance)
            model = files.Model(changed, cases, f"{title} (what is {kind})", source)
            files.write(model, folder / f"{example.name}-{kind}.toml")


def _case(mechanism: Mechanism, answer: Allocation, words: str) -> Case:
    """A case with the totals expected, where they are unique, and the violation in words."""
    totals = {user: float(x) for user, x in zip(answer.instance.users, answer.totals, strict=True)}
    expect = {"why": words}
    if not remark(mechanism.notion):
        tolerance = 1e-5 * max(totals.values())
        expect = {"totals": totals, "tolerance": tolerance, "why": words}  # type: ignore[dict-item]
    return Case("notion", mechanism.name, mechanism.parameters, expect)


__all__ = ["CHANGED", "Example", "OWN_PARETO", "examples", "save", "violation"]
