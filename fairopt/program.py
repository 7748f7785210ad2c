"""The feasible set, stated once for every convex program, and the program a notion makes of it.

Only eligible pairs (user, server) have a variable. Whatever the user's units, programs are scaled:
each capacity constraint reads `... <= 1`, and tasks are counted in units of the user's share.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fairopt.errors import UsageError
from fairopt.formulas.lowered import Lowered, lower
from fairopt.instance import Bools, Floats, Instance, Ints


@dataclass(frozen=True)
class FeasibleSet:
    """x >= 0 on eligible pairs, sum_n d[n,r] x[n,i] <= count_i c[i,r], sum_i x[n,i] <= limit_n.

    Parameters
    ----------
    y : cvxpy variable (P,), tasks of each eligible pair in units of `unit[n] / u[n,i]`.
    share : cvxpy expression (N,), s_n / unit_n.
    capacity, limits : the two cvxpy constraints (limits None where nobody has one).
    rows : server and resource of each capacity row. limited : users of the limit rows.
    pair_unit : (P,) tasks in one unit of y.
    """

    y: Any
    share: Any
    capacity: Any
    limits: Any
    rows: tuple[Ints, Ints]
    limited: Ints
    pair_unit: Floats

    @property
    def constraints(self) -> list[Any]:
        """The cvxpy constraints of the set; y >= 0 is part of the variable."""
        return [self.capacity] if self.limits is None else [self.capacity, self.limits]


def _sparse(entries: Any, shape: tuple[int, int]) -> Any:
    # imported late: judging a small answer needs no sparse matrix
    from scipy.sparse import coo_array, csr_array

    return csr_array(coo_array(entries, shape=shape))


def usage_matrix(instance: Instance) -> tuple[Any, tuple[Ints, Ints]]:
    """(rows, P) part of the capacity one task of each pair uses; server and resource of each row.

    There is a row for each resource of each server that an eligible user demands.
    """
    _, i = instance.pairs
    pair, r = np.nonzero(instance.pair_demand)
    resources = instance.shape[2]
    keys, row = np.unique(i[pair] * resources + r, return_inverse=True)
    use = instance.pair_demand[pair, r] / instance.pool[i[pair], r]
    matrix = _sparse((use, (row, pair)), (len(keys), len(i)))
    return matrix, (keys // resources, keys % resources)


def limit_matrix(instance: Instance) -> tuple[Any, Ints]:
    """(users with a limit, P) part of its user's limit one task of each pair uses; those users."""
    n, _ = instance.pairs
    limited = np.flatnonzero(np.isfinite(instance.limit))
    position = np.full(instance.shape[0], -1)
    position[limited] = np.arange(len(limited))
    pair = np.flatnonzero(position[n] >= 0)
    entries = (1.0 / instance.limit[n[pair]], (position[n[pair]], pair))
    return _sparse(entries, (len(limited), len(n))), limited


def feasible_set(instance: Instance, score: Floats, unit: Floats) -> FeasibleSet | RuledSet:
    """The feasible set with shares counted in `unit` (N,); a `RuledSet` where there are own rules
    or limits on servers, with the same `y`, `share` and `pair_unit`.

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
    if instance.plain:
        return pair_set(instance, score, unit)
    return ruled_set(lower(instance, score), unit)


def pair_set(instance: Instance, score: Floats, unit: Floats) -> FeasibleSet:
    """The feasible set of an instance without own rules; parameters as of `feasible_set`."""
    import cvxpy as cp

    n, i = instance.pairs
    pair_unit = unit[n] / score[n, i]
    y = cp.Variable(len(n), nonneg=True, name="y")
    usage, rows = usage_matrix(instance)
    capacity = (usage.multiply(pair_unit[None, :]).tocsr() @ y <= 1).set_label("capacity")
    most, limited = limit_matrix(instance)
    limits = None
    if len(limited):
        limits = (most.multiply(pair_unit[None, :]).tocsr() @ y <= 1).set_label("limit")
    entries = (np.ones(len(n)), (n, np.arange(len(n))))
    of_user = _sparse(entries, (instance.shape[0], len(n)))
    return FeasibleSet(y, of_user @ y, capacity, limits, rows, limited, pair_unit)


@dataclass(frozen=True)
class RuledSet:
    """All linear rules of an instance with groups, quotas or modes (`formulas.lowered`).

    Parameters
    ----------
    y : cvxpy variable (P,), tasks of each column in units of `unit[n] / score`.
    share : cvxpy expression (N,), s_n / unit_n.
    rules : the rows, each in its typical amount. flows : bounds of what is lent, None without.
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


def ruled_set(low: Lowered, unit: Floats) -> RuledSet:
    """The set of all rules, with shares counted in `unit` (N,)."""
    import cvxpy as cp

    count, flows = low.columns, len(low.low)
    pair_unit = unit[low.owner] / low.score
    y = cp.Variable(count, nonneg=True, name="y")
    rows = low.matrix.multiply(1.0 / low.unit[:, None]).tocsr()
    used = rows[:, :count].multiply(pair_unit[None, :]).tocsr() @ y
    bounds = None
    if flows:
        lent = cp.Variable(flows, name="lent")
        used = used + rows[:, count:] @ lent
        least, most = np.flatnonzero(np.isfinite(low.low)), np.flatnonzero(np.isfinite(low.high))
        bounds = [lent[least] >= low.low[least], lent[most] <= low.high[most]]
    of_user = _sparse((np.ones(count), (low.owner, np.arange(count))), (low.shape[0], count))
    rules = (used <= low.rhs / low.unit).set_label("rules")
    return RuledSet(y, of_user @ y, rules, bounds, pair_unit, low)


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
    space: FeasibleSet | RuledSet
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

    space: FeasibleSet | RuledSet
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
