r"""Own linear rules, as plain records by name.

.. math:: \sum_{n,i,k} a_{n,i,k}\, x_{n,i,k} \ \{\le, \ge, =\}\ b

with x the running tasks of way k of user n on server i. A record holds what was given; the instance
that it is given to checks all of them at once and resolves the names (`Instance.own_rows`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

SENSES = ("most", "least", "equal")


@dataclass(frozen=True)
class Term:
    """Which running tasks a rule counts, and how much each of them counts; terms that meet add up.

    Parameters
    ----------
    users : of these users or groups; a name alone is a list of one. None: all.
    servers : on these servers or flavors. None: all.
    modes : in modes of these names. None: all ways, those of users without modes too.
    resource : each task counts `times` what it takes of this resource, or of its "output" (its
        speed; a resource of that name comes first). None: each counts `times`.
    times : any finite number, in units of the rule's amount per task (or per unit of resource).

    Examples
    --------
    >>> import fairopt as fo
    >>> pool = fo.Instance([[1, 4], [3, 1]], [[9, 18]], users=["A", "B"],
    ...                    resources=["cpu", "memory"])
    >>> rule = fo.Rule("few", most=4, terms=[fo.Term(["A"]), fo.Term(["B"], times=2)])
    >>> found = fo.solve(pool.replace(rules=[rule]), fo.ProportionalFair())
    >>> float(round(found.totals @ [1, 2], 6))
    4.0
    """

    users: Sequence[str] | None = None
    servers: Sequence[str] | None = None
    modes: Sequence[str] | None = None
    resource: str | None = None
    times: float = 1.0

    def __post_init__(self) -> None:
        for name in ("users", "servers", "modes"):
            given = getattr(self, name)
            if given is not None:
                listed = (given,) if isinstance(given, str) else tuple(given)
                object.__setattr__(self, name, listed)


@dataclass(frozen=True)
class Rule:
    """A rule of one's own: what its terms count is at most, at least, or equal to an amount.

    Parameters
    ----------
    name : no other rule of the instance has it.
    most, least, equal : the amount, any finite number; exactly one of them is given.
    terms : what counts (`Term`); terms that meet the same task add up.

    Examples
    --------
    >>> carbon = Rule("carbon", most=30, terms=[Term(servers=["hydro"]),
    ...                                         Term(servers=["coal"], times=3)])
    >>> carbon.sense, carbon.amount
    ('most', 30)
    >>> Rule.of("link", {("A", "x"): 1.0, ("B", "y"): 2.0}, most=4).terms[1]
    Term(users=('B',), servers=('y',), modes=None, resource=None, times=2.0)
    """

    name: str
    most: float | None = None
    least: float | None = None
    equal: float | None = None
    terms: Sequence[Term] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "terms", tuple(self.terms))

    @property
    def sense(self) -> str:
        """Which of "most", "least" and "equal" is given; "" unless it is one."""
        given = [sense for sense in SENSES if getattr(self, sense) is not None]
        return given[0] if len(given) == 1 else ""

    @property
    def amount(self) -> float:
        """The amount b."""
        found: float = getattr(self, self.sense)
        return found

    @classmethod
    def of(
        cls,
        name: str,
        coefficients: Any,
        most: float | None = None,
        least: float | None = None,
        equal: float | None = None,
    ) -> Rule:
        """A rule from its coefficients: what each running task counts.

        Parameters
        ----------
        coefficients : {(user, server): number}, or of tasks in one mode alone
            {(user, server, mode): number}; a frame of users by servers, or an array (N, I) in the
            order of the instance; where nothing is said, or 0, a task does not count.
        most, least, equal : as of a rule.
        """
        if isinstance(coefficients, Mapping):
            cells = [(*pair, value) for pair, value in coefficients.items()]
        elif hasattr(coefficients, "stack") and hasattr(coefficients, "columns"):
            cells = [
                (user, server, value)
                for user, row in zip(coefficients.index, coefficients.to_numpy(), strict=True)
                for server, value in zip(coefficients.columns, row, strict=True)
            ]
        else:
            array = np.asarray(coefficients, dtype=np.float64)
            cells = [(n, i, array[n, i]) for n, i in zip(*np.nonzero(array), strict=True)]
            cells = [(int(n), int(i), value) for n, i, value in cells]
        terms = [
            Term((user,), (server,), mode or None, times=float(value))
            for user, server, *mode, value in cells
            if value
        ]
        return cls(name, most, least, equal, terms)


__all__ = ["SENSES", "Rule", "Term"]
