"""The trade-off as the paper prints it: a user without tasks on a server is not in its variance.

So read, the objective (16) of kesidis2016 is not continuous, and the best answer may remove users
from servers. On small instances every such choice is tried (docs/maths/tradeoff.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from fairopt.allocation import Allocation
from fairopt.errors import Infeasible, UsageError
from fairopt.instance import Instance, Ints
from fairopt.notions import Tradeoff
from fairopt.solving import solve

MOST_CHOICES = 4096
"""largest number of choices that are tried"""


@dataclass(frozen=True)
class Support:
    """The best choice of the pairs (user, server) that may have tasks.

    Parameters
    ----------
    allocation : the certified answer on the instance without the dropped pairs.
    value : its objective. base : the objective if no pair is dropped.
    dropped : (user, server) names of the pairs removed; empty if dropping none is best.
    tried : the number of choices solved.
    """

    allocation: Allocation
    value: float
    base: float
    dropped: tuple[tuple[str, str], ...]
    tried: int

    @property
    def pays(self) -> bool:
        """Whether dropping a pair gives a larger objective, by more than the gaps of the proofs."""
        return self.value > self.base + 1e-6 * max(1.0, abs(self.base))

    def explain(self) -> str:
        """The result in words."""
        if not self.pays:
            return f"dropping nobody is best: objective {self.base:.6g} ({self.tried} choices)"
        who = ", ".join(f"{user} from {server}" for user, server in self.dropped)
        return (
            f"dropping {who} pays: objective {self.value:.6g} instead of {self.base:.6g} "
            f"({self.tried} choices)"
        )


def best_support(instance: Instance, notion: Tradeoff) -> Support:
    """The best answer of the trade-off over all choices of the users allowed on each server.

    Every set of pairs that leaves each user a server is solved and certified, with V_i over the
    users left. That is exactly the paper's objective, whose V_i is over the users with tasks.

    Parameters
    ----------
    instance : small; at most 4096 choices of pairs (12 pairs, or more where users have few).
    notion : the trade-off; t_pf, t_drf, g and the hard forms as given.

    Raises
    ------
    UsageError : too many choices, or a notion that is not a Tradeoff.
    Infeasible : under the hard forms all shares are zero, whatever is dropped.

    Examples
    --------
    >>> import fairopt as fo
    >>> inst = fo.Instance([[1.0], [1.0]], [[1.0], [9.0]], users=["a", "b"])
    >>> fo.best_support(inst, fo.Tradeoff(t_drf=1)).pays
    False
    """
    if not isinstance(notion, Tradeoff):
        raise UsageError(f"notion: found {notion!r}; wanted a Tradeoff")
    choices = [_subsets(np.flatnonzero(row)) for row in instance.eligible]
    count = float(np.prod([float(len(c)) for c in choices]))
    if count > MOST_CHOICES:
        raise UsageError(
            f"instance: found {count:.3g} choices of pairs; wanted at most {MOST_CHOICES}"
        )
    best: Allocation | None = None
    base, tried = -np.inf, 0
    for chosen in product(*choices):
        placement = np.zeros_like(instance.eligible)
        for n, servers in enumerate(chosen):
            placement[n, list(servers)] = True
        try:
            found = solve(instance.replace(placement=placement), notion)
        except Infeasible:
            continue
        tried += 1
        assert found.objective is not None
        if (placement == instance.eligible).all():
            base = found.objective
        if best is None or found.objective > _value(best) + 1e-9 * max(1.0, abs(_value(best))):
            best = found
    if best is None:
        raise Infeasible("the hard forms leave nothing but zero, whoever is dropped")
    gone = np.argwhere(instance.eligible & ~best.instance.eligible)
    dropped = tuple((instance.users[n], instance.servers[i]) for n, i in gone)
    return Support(best, _value(best), base, dropped, tried)


def _value(alloc: Allocation) -> float:
    assert alloc.objective is not None
    return alloc.objective


def _subsets(servers: Ints) -> list[tuple[int, ...]]:
    """All non-empty subsets of the servers, the whole set first."""
    found: list[tuple[int, ...]] = [()]
    for server in servers:
        found += [(*some, int(server)) for some in found]
    return sorted(found[1:], key=len, reverse=True)
