"""The feasible set, stated once for every convex program, and the program a notion makes of it.

Only eligible columns have a variable. Whatever the user's units, programs are scaled: each capacity
constraint reads `... <= 1`, and tasks are counted in units of the user's share.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fairopt.errors import UsageError
from fairopt.formulas.lowered import CAPACITY, LIMIT, Lowered, lower
from fairopt.instance import Bools, Floats, Instance, Ints


@dataclass(frozen=True)
class FeasibleSet:
    """All linear rules of an instance (`formulas.lowered`) as constraints of cvxpy.

    Parameters
    ----------
    y : cvxpy variable (P,), tasks of each column in units of `unit[n] / score`; without modes a
        column is an eligible pair.
    share : cvxpy expression (N,), s_n / unit_n.
    rules : the rows, server by server, each in its typical amount. flows : bounds of what is lent,
        None without.
    pair_unit : (P,) tasks in one unit of y. low : the rules.
    """

    y: Any
    share: Any
    rules: Any
    flows: Any
    pair_unit: Floats
    low: Lowered

    @property
    def constraints(self) -> list[Any]:
        """The cvxpy constraints of the set; y >= 0 is part of the variable."""
        return [self.rules] if self.flows is None else [self.rules, *self.flows]

    @property
    def limited(self) -> Ints:
        """Users who have a limit."""
        return np.asarray(self.low.one[self.low.kind == LIMIT])


def _sparse(entries: Any, shape: tuple[int, int]) -> Any:
    # imported late: judging a small answer needs no sparse matrix
    from scipy.sparse import coo_array, csr_array

    return csr_array(coo_array(entries, shape=shape))


def usage_matrix(instance: Instance) -> tuple[Any, tuple[Ints, Ints]]:
    """(rows, P) part of the capacity one task of each pair uses; server and resource of each row.

    There is a row for each resource of each server that an eligible user demands.
    """
    low = lower(instance, np.ones(instance.shape[:2]))
    at = np.flatnonzero(low.kind == CAPACITY)
    matrix = low.matrix.tocsr()[at, : low.columns].multiply(1.0 / low.unit[at, None])
    return matrix.tocsr(), (low.one[at], low.two[at])


def feasible_set(instance: Instance, score: Floats, unit: Floats) -> FeasibleSet:
    """The feasible set with shares counted in `unit` (N,).

    Parameters
    ----------
    instance : the cluster.
    score : (N, I), share of one task.
    unit : (N,) > 0, a share of about the size expected of each user.

    Examples
    --------
    >>> import numpy as np
    >>> import fairopt as fo
    >>> from fairopt import criteria, program
    >>> inst = fo.Instance([[1, 4], [3, 1]], [[9, 18]])
    >>> space = program.feasible_set(inst, criteria.tasks(inst), np.ones(2))
    >>> space.share.shape
    (2,)
    """
    return ruled_set(lower(instance, score), unit)


def ruled_set(low: Lowered, unit: Floats) -> FeasibleSet:
    """The set of all rules, with shares counted in `unit` (N,)."""
    import cvxpy as cp

    count, flows = low.columns, len(low.low)
    pair_unit = unit[low.owner] / low.score
    y = cp.Variable(count, nonneg=True, name="y")
    order = low.by_server
    rows = low.matrix.multiply(1.0 / low.unit[:, None]).tocsr()[order]
    used = rows[:, :count].multiply(pair_unit[None, :]).tocsr() @ y
    bounds = None
    if flows:
        lent = cp.Variable(flows, name="lent")
        used = used + rows[:, count:] @ lent
        least, most = np.flatnonzero(np.isfinite(low.low)), np.flatnonzero(np.isfinite(low.high))
        bounds = [lent[least] >= low.low[least], lent[most] <= low.high[most]]
    of_user = _sparse((np.ones(count), (low.owner, np.arange(count))), (low.shape[0], count))
    rules = (used <= (low.rhs / low.unit)[order]).set_label("rules")
    return FeasibleSet(y, of_user @ y, rules, bounds, pair_unit, low)


@dataclass(frozen=True)
class Program:
    """A concave objective to maximise over the feasible set; the duals of capacity are prices.

    `definition` holds further constraints that define terms of the objective. The objective may be
    that of the notion times a positive factor, which its `program` then names.

    Examples
    --------
    >>> import numpy as np
    >>> import fairopt as fo
    >>> from fairopt import criteria
    >>> inst = fo.Instance([[1, 4], [3, 1]], [[9, 18]])
    >>> program = fo.ProportionalFair().program(inst, criteria.tasks(inst), np.ones(2))
    >>> program.objective.is_concave()
    True
    """

    objective: Any
    space: FeasibleSet
    definition: list[Any] = field(default_factory=list)

    def tasks(self, instance: Instance) -> Any:
        """The tasks x (N, I) of the instance it was made for, as a cvxpy expression.

        The variables of the problem are tasks in units of shares; this is the same problem read in
        x[n,i], 0 where a user is not eligible. Its `.value` are the tasks once the problem is
        solved, and constraints on it may be added to the problem.

        Raises
        ------
        UsageError : a program of modes, whose variables are not pairs.
        """
        import cvxpy as cp

        n, i = instance.pairs
        if instance.modes is not None or self.space.pair_unit.shape != n.shape:
            raise UsageError("tasks: found a program of modes; wanted one of pairs")
        users, servers, _ = instance.shape
        entries = (self.space.pair_unit, (n * servers + i, np.arange(len(n))))
        flat = _sparse(entries, (users * servers, len(n))) @ self.space.y
        return cp.reshape(flat, (users, servers), order="C")

    def problem(self) -> Any:
        """The cvxpy problem."""
        import cvxpy as cp

        constraints = [*self.space.constraints, *self.definition]
        return cp.Problem(cp.Maximize(self.objective), constraints)


def cp_variable(name: str) -> Any:
    """A scalar cvxpy variable, for notions, which do not import cvxpy."""
    import cvxpy as cp

    return cp.Variable(name=name)


@dataclass(frozen=True)
class Heights:
    """The K quantities ("heights") that a sequence of max-min programs raises, by weight.

    Parameters
    ----------
    space : the feasible set. of : cvxpy expression (K,), the heights. weight : (K,) > 0; the
        levels that are compared are of / weight.
    definition : further constraints that always hold.
    """

    space: FeasibleSet
    of: Any
    weight: Floats
    definition: list[Any] = field(default_factory=list)

    def next_level(self, free: Bools, level: Floats) -> Program:
        """The program of one level: max t, free heights at least weight t, frozen ones kept.

        The multipliers of the first constraint in its `definition` say which heights stop t.

        Parameters
        ----------
        free : (K,) which heights are not frozen. level : (K,) levels of the frozen ones. They are
            kept exactly: any slack in them would be amplified at the next level, by the ratio of
            the multipliers of the frozen heights to those of the free ones.
        """
        import cvxpy as cp

        t = cp.Variable(name="t")
        slope = np.where(free, self.weight, 0.0)
        kept = np.where(free, 0.0, self.weight * level)
        keeps = (self.of >= (slope / slope.max()) * t + kept).set_label("levels")
        return Program(t, self.space, [keeps, *self.definition])
