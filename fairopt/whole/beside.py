r"""Own rules and limits on servers beside whole tasks: what of them single nodes can keep.

Whole tasks fill nodes one by one, so that their proof knows what a node has and what a user asks
for. A row :math:`\sum_c a_c x_c \le b` is one of these in other words if

- it counts one user, alike wherever a task runs: that is a limit of b / a tasks;
- it counts tasks on one server of a single node: that is a resource of the node, of which it has b
  and a task takes a_c;
- it counts every user alike wherever its tasks run, and so says how many tasks there may be and not
  where: whoever asks for no more than a due that keeps the row keeps it as well.

All else looks at several nodes together, and no node says what is left of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from fairopt.errors import UsageError
from fairopt.exact import as_printed
from fairopt.formulas.lowered import BOUND, PLACE, RULE, Lowered, lower
from fairopt.formulas.row_words import row
from fairopt.instance import Instance, Ints
from fairopt.whole.proof.problem import NodeRow

SIMPLE = 10**9
"""a number that floats made is the fraction of no larger denominator that is the same float, or the
next: 1.5 times 0.1 is 3/20"""
CLOSE = 2.0**-51
"""part by which that may differ"""


@dataclass(frozen=True)
class NodeResource:
    """A rule as a resource of one node.

    Parameters
    ----------
    name : of the rule. amount : what the node has. takes : {(user, mode): amount} of a task.
    """

    name: str
    amount: Fraction
    takes: Mapping[tuple[int, str], Fraction]


@dataclass
class BesideNodes:
    """What nodes and users say of all rules.

    Parameters
    ----------
    most : {user: tasks} that a rule allows it. on : {server: its resources}.
    totals : (name, amount, {user: counted}) of rules that say how many tasks there may be.
    """

    most: dict[int, int] = field(default_factory=dict)
    on: dict[int, list[NodeResource]] = field(default_factory=dict)
    totals: list[tuple[str, Fraction, dict[int, Fraction]]] = field(default_factory=list)

    def of_node(
        self,
        instance: Instance,
        low: Lowered,
        at: Ints,
        each: Sequence[Fraction],
        named: tuple[str, Fraction],
    ) -> bool:
        """Keep a row of columns `at`, by name and amount, as a resource of the one node on which it
        counts; whether there is one."""
        on = np.unique(low.server[at])
        if len(on) > 1 or (len(on) and instance.count[on[0]] > 1):
            return False
        ways, (name, amount) = instance.ways, named
        while name in instance.resources:
            name = f"{name}'"
        takes = {
            (int(ways.owner[k]), ways.name[k]): x
            for k, x in zip(low.way[at].tolist(), each, strict=True)
        }
        for i in on.tolist():
            self.on.setdefault(i, []).append(NodeResource(name, amount, takes))
        return True

    def kept_by(self, tasks: Sequence[int], who: str) -> None:
        """Raise UsageError where these tasks (N,), of which nobody asks for more, break a rule."""
        for name, amount, each in self.totals:
            counted = sum((each.get(n, Fraction(0)) * m for n, m in enumerate(tasks)), Fraction(0))
            if counted > amount:
                raise UsageError(
                    f"{who}: found dues of which {name} counts {float(counted):g}; wanted at most "
                    f"{float(amount):g}"
                )


def beside_nodes(instance: Instance, who: str, due: bool) -> BesideNodes:
    """What nodes and users say of the own rules and limits on servers of an instance.

    Parameters
    ----------
    due : whether nobody asks for more than a due, so that rules may say how many tasks there are.

    Raises
    ------
    UsageError : a rule that nodes cannot keep one by one, or that asks for tasks, for `who`.
    """
    tree = instance.tree
    if not due and (len(tree.guarantees) or tree.own_tasks.any()):
        raise UsageError(f"{who}: found guarantees; wanted an instance without them")
    if not due and tree.quotas:
        raise UsageError(f"{who}: found lending; wanted ceilings, or an instance without it")
    if any(row.flavor is not None for row in tree.quotas):
        raise UsageError(f"{who}: found lending on a flavor, which looks at several nodes together")
    asking = [row.name for row in instance.own_rows if not row.packing]
    if asking:
        raise UsageError(
            f"{who}: found rule {asking[0]}, which less of everything may break; wanted rules that "
            "say how much there may be at the most"
        )
    found = BesideNodes()
    if instance.own_rows or len(tree.bounds) or instance.limit_on is not None:
        low = lower(instance, np.ones(instance.shape[:2]))
        rows, columns = low.matrix.tocsr(), np.bincount(low.owner, minlength=low.shape[0])
        for m in np.flatnonzero(np.isin(low.kind, (BOUND, RULE, PLACE))).tolist():
            entries = slice(rows.indptr[m], rows.indptr[m + 1])
            at = rows.indices[entries]
            each = [simple(x) for x in rows.data[entries].tolist()]
            amount, name = simple(float(low.rhs[m])), row(instance, low, m)
            alike = _alike(low.owner[at].tolist(), each, columns)
            if alike is not None and len(alike) == 1:
                ((n, one),) = alike.items()
                found.most[n] = min(found.most.get(n, int(amount // one)), int(amount // one))
            elif not found.of_node(instance, low, at, each, (name, amount)):
                if alike is None or not due:
                    more = ", or that count tasks alike wherever they run" if due else ""
                    raise UsageError(
                        f"{who}: found {name}, which looks at several nodes together; wanted rules "
                        f"about one user or one node{more}"
                    )
                found.totals.append((name, amount, alike))
    return found


def _alike(
    owner: Sequence[int], each: Sequence[Fraction], columns: Ints
) -> dict[int, Fraction] | None:
    """{user: what a task counts}, where every user's tasks count alike wherever they run; else
    None. `columns` (N,) are the ways to run of each."""
    found: dict[int, Fraction] = {}
    many: dict[int, int] = {}
    for n, x in zip(owner, each, strict=True):
        if found.setdefault(n, x) != x:
            return None
        many[n] = many.get(n, 0) + 1
    return found if all(k == columns[n] for n, k in many.items()) else None


def with_rules(more: Sequence[NodeResource], node: NodeRow) -> NodeRow:
    """A node with its further resources."""
    room = {**node.capacity, **{own.name: own.amount for own in more}}
    kinds = tuple(
        (
            n,
            mode,
            {**need, **{own.name: own.takes[n, mode] for own in more if (n, mode) in own.takes}},
            most,
        )
        for n, mode, need, most in node.kinds
    )
    return NodeRow(node.name, node.count, room, kinds)


def simple(value: float) -> Fraction:
    """A float as the simple fraction that it is meant to be, else as it is printed."""
    near = Fraction(value).limit_denominator(SIMPLE)
    if value and abs(near / Fraction(value) - 1) <= CLOSE:
        return near
    return as_printed(value)


__all__ = ["BesideNodes", "NodeResource", "beside_nodes", "simple", "with_rules"]
