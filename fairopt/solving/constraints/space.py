"""What constraints of one's own are written in, and how they are read: rows, and curves."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairopt.errors import BadInput, Fault, MissingExtra, SolverFailure
from fairopt.formulas.parameters import words
from fairopt.instance import Floats, Instance
from fairopt.instance.rules import Rule

Given = Callable[["Space"], Mapping[str, Any]]


@dataclass(frozen=True)
class Space:
    """What constraints are written in: cvxpy expressions tasks (N, I), running tasks, 0 where a
    user may not run, and share (N,). `variable` (K, I) has a row for each way (`Instance.ways`)."""

    instance: Instance
    tasks: Any
    share: Any
    variable: Any
    by_way: Any

    def mode(self, user: str, name: str) -> Any:
        """(I,) running tasks of a user in one of its modes.

        Raises
        ------
        BadInput : no such user or mode.
        """
        ways, users = self.instance.ways, self.instance.users
        known = [(users[n], mode) for n, mode in zip(ways.owner.tolist(), ways.name, strict=True)]
        if (user, name) not in known:
            own = ", ".join([mode for who, mode in known if who == user and mode])
            raise BadInput(
                [Fault("mode", f"{user!r}, {name!r}", f"a user and its mode {own}".strip())]
            )
        return self.by_way[known.index((user, name))]

    @classmethod
    def of(cls, instance: Instance, score: Floats) -> Space:
        """The space of an instance under these scores (N, I)."""
        try:
            import cvxpy as cp
        except ImportError as error:
            raise MissingExtra("constraints need cvxpy: pip install 'fairopt[cvxpy]'") from error
        ways = instance.ways
        x = cp.Variable(ways.eligible.shape, nonneg=True, name="tasks")
        by_way = cp.multiply(ways.eligible.astype(float), x)
        of_user = (ways.owner == np.arange(instance.shape[0])[:, None]).astype(float)
        worth = np.where(ways.eligible, score[ways.owner] * ways.speed[:, None], 0.0)
        tasks = by_way if instance.modes is None else of_user @ by_way
        share = of_user @ cp.sum(cp.multiply(worth, x), axis=1)
        return cls(instance, tasks, share, x, by_way)


@dataclass(frozen=True)
class Curve:
    """An entry of a convex constraint: name, the cvxpy expression g, and which entry of it, over
    tasks (K, I) by way."""

    name: str
    expression: Any
    space: Space
    entry: int

    def at(self, tasks: Floats) -> tuple[float, Floats]:
        """g and its gradient (N, I)."""
        variable = self.space.variable
        variable.value = np.asarray(tasks)
        value = np.asarray(self.expression.value, dtype=np.float64).ravel(order="F")[self.entry]
        slope = self.expression.grad[variable]
        if slope is None:
            raise SolverFailure(f"constraint {self.name}: no gradient at the answer")
        column = _dense(slope).reshape(tasks.size, -1)[:, self.entry]
        return float(value), column.reshape(tasks.shape, order="F")

    def size(self, tasks: Floats) -> float:
        """What a part of it that is missed is measured against."""
        value, slope = self.at(tasks)
        return float(np.abs(slope * tasks).sum() + abs((slope * tasks).sum() - value)) or 1.0

    def tangent(self, tasks: Floats, k: int) -> Rule:
        """The tangent at these tasks, as a rule."""
        value, slope = self.at(tasks)
        name = f"{self.name} (tangent{'' if k == 1 else f' {k}'})"
        return _rule(self.space.instance, name, slope, most=float((slope * tasks).sum() - value))


def _rule(instance: Instance, name: str, counts: Floats, **amount: Any) -> Rule:
    """The rule of what tasks (K, I) by way count."""
    if instance.modes is None:
        return Rule.of(name, counts, **amount)
    ways, users, servers = instance.ways, instance.users, instance.servers
    told = {
        (users[ways.owner[k]], servers[i], *([ways.name[k]] if ways.name[k] else [])): counts[k, i]
        for k, i in np.argwhere(counts).tolist()
    }
    return Rule.of(name, told, **amount)


def _dense(matrix: Any) -> Floats:
    full = matrix.toarray() if hasattr(matrix, "toarray") else matrix
    return np.asarray(full, dtype=np.float64)


def read(given: Given, space: Space) -> tuple[list[Rule], list[Curve]]:
    """The affine constraints as rules, and the convex ones entry by entry.

    Raises
    ------
    BadInput : with every constraint that is not convex, has variables of its own or is another
        cone, by its name.
    """
    import cvxpy as cp

    told = given(space)
    if not isinstance(told, Mapping):
        raise BadInput([Fault("constraints", words(told), "a dict of cvxpy constraints by name")])
    rules: list[Rule] = []
    curves: list[Curve] = []
    faults: list[Fault] = []
    for name, constraint in told.items():
        here = f"constraints.{name}"
        kinds = (cp.constraints.Inequality, cp.constraints.Equality)
        if not isinstance(constraint, (*kinds, cp.constraints.Zero, cp.constraints.NonPos)):
            wanted = "a cvxpy constraint with <=, >= or =="
            faults.append(Fault(here, f"a {type(constraint).__name__}", wanted))
            continue
        other = [each.name() for each in constraint.variables() if each is not space.variable]
        if other:
            wanted = "tasks and share of the space alone"
            faults.append(Fault(here, f"the variable {other[0]} of its own", wanted))
        elif not constraint.is_dcp():
            faults.append(
                Fault(
                    here,
                    "a constraint that is not convex by cvxpy's rules (DCP)",
                    "an affine or convex one",
                )
            )
        elif constraint.expr.is_affine():
            equal = isinstance(constraint, cp.constraints.Equality | cp.constraints.Zero)
            rules += _affine(name, constraint.expr, space, "equal" if equal else "most")
        else:
            size = int(constraint.expr.size)
            curves += [
                Curve(name if size == 1 else f"{name} {k + 1}", constraint.expr, space, k)
                for k in range(size)
            ]
    if faults:
        raise BadInput(faults)
    return rules, curves


def _affine(name: str, expression: Any, space: Space, sense: str) -> list[Rule]:
    """A rule for each entry, from value and gradient at 0."""
    shape = space.variable.shape
    space.variable.value = np.zeros(shape)
    value = np.asarray(expression.value, dtype=np.float64).ravel(order="F")
    found = expression.grad.get(space.variable) if expression.variables() else None
    slope = np.zeros((shape[0] * shape[1], len(value))) if found is None else _dense(found)
    slope = slope.reshape(shape[0] * shape[1], len(value))
    many = len(value) > 1
    amounts: list[dict[str, Any]] = [{sense: -float(b) + 0.0} for b in value]
    return [
        _rule(
            space.instance,
            f"{name} {k + 1}" if many else name,
            slope[:, k].reshape(shape, order="F"),
            **amounts[k],
        )
        for k in range(len(value))
    ]
