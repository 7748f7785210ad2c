"""What a user gains who claims other requirements, while others come and go (bonald2015, Figure 3).

The user holds `claimed` per unit of the rate it is given and can use `true` only, so that of a rate
phi it gets phi min_j claimed_j / true_j done. A short transaction sees the others as they are
without it: its mean service rate is 1 / E[1 / phi] over their own law. A long one is always there:
E[phi] over the law of the others beside it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fairopt.dynamics.markov import STATES, Chains, checked, grown, rates_on, service_rates
from fairopt.dynamics.rates import notion_of
from fairopt.errors import BadInput, Fault
from fairopt.instance import Floats

FARTHEST = 5.0
"""a lie claims at most so many dominant requirements more of each resource"""
GRID = 11
ROUNDS = 6


@dataclass(frozen=True)
class Lie:
    """Mean service rates of one user, told the truth and lied to.

    Parameters
    ----------
    claimed : (R,) what it claims.
    short_true, short_lie : of a short transaction. long_true, long_lie : of one always there.

    Examples
    --------
    >>> from fairopt import dynamics
    >>> others = dynamics.Others([[1, 0.5]], [0.25], 'pf')
    >>> round(others.lie([0, 1], [2 / 3, 1]).short_gain, 4)
    0.0976
    """

    claimed: tuple[float, ...]
    short_true: float
    short_lie: float
    long_true: float
    long_lie: float

    @property
    def short_gain(self) -> float:
        """Relative gain of a short transaction."""
        return self.short_lie / self.short_true - 1.0

    @property
    def long_gain(self) -> float:
        """Relative gain of a transaction that is always there."""
        return self.long_lie / self.long_true - 1.0

    def plain(self) -> dict[str, Any]:
        """As plain data, with the gains."""
        return {
            "claimed": list(self.claimed),
            "short_true": self.short_true,
            "short_lie": self.short_lie,
            "short_gain": self.short_gain,
            "long_true": self.long_true,
            "long_lie": self.long_lie,
            "long_gain": self.long_gain,
        }


class Others:
    """The classes that come and go, and what a user among them gets.

    Parameters
    ----------
    requirements (K, R), loads (K,), notion, means, edge, flow, most : as of `service_rates`.

    Examples
    --------
    >>> from fairopt import dynamics
    >>> others = dynamics.Others([[1, 0.5]], [0.25], 'pf')
    >>> others.lie([0, 1], [2 / 3, 1]).short_gain > 0
    True
    """

    def __init__(
        self,
        requirements: Any,
        loads: Any,
        notion: Any,
        means: Any = None,
        *,
        edge: float = 1e-9,
        flow: float = 1e-9,
        most: int = STATES,
    ) -> None:
        self.part, self.rho, self.mean = checked(requirements, loads, means, edge, flow, None, most)
        self.notion, self.edge, self.flow, self.most = notion_of(notion), edge, flow, most
        alone = service_rates(
            self.part, self.rho, self.notion, self.mean, edge=edge, flow=flow, most=most
        )
        self.alone = alone.chance

    def short(self, true: Floats, claimed: Floats) -> float:
        """Mean service rate of a short transaction that needs `true` and claims `claimed`."""
        phi = rates_on(self.alone.shape, self.part, self.notion, claimed)[:, -1]
        return float(useful(true, claimed) / (self.alone.ravel() @ (1.0 / phi)))

    def long(self, true: Floats, claimed: Floats) -> float:
        """Mean service rate of a transaction that is always there."""
        chains = Chains(self.part, self.rho, self.mean, self.notion, None, guest=claimed)
        chance = grown(chains, self.edge, self.flow, self.most).chance
        phi = rates_on(chance.shape, self.part, self.notion, claimed)[:, -1]
        return float(useful(true, claimed) * (chance.ravel() @ phi))

    def lie(self, true: Any, claimed: Any) -> Lie:
        """What a user that needs `true` (R,) gets if it says so, and if it claims `claimed` (R,).

        Raises
        ------
        BadInput : no finite numbers >= 0, one a resource; nothing needed; a claim of none of what
            is needed.
        """
        need, claim = self._user(true, "true"), self._user(claimed, "claimed")
        if not useful(need, claim) > 0:
            found = "a claim of none of a resource that is needed"
            raise BadInput([Fault("claimed", found, "some of all that is needed")])
        return Lie(
            tuple(claim.tolist()),
            self.short(need, need),
            self.short(need, claim),
            self.long(need, need),
            self.long(need, claim),
        )

    def best_lie(self, true: Any) -> Lie:
        """The claim found by which a short transaction gains most.

        From each resource in turn the claim is raised, one resource after another, to where the
        gain is largest: on a grid first, then between its points. A claim of less is one of more of
        the rest, as units do not matter. The truth is among the claims tried.
        """
        need = self._user(true, "true")
        truth, dominant = self.short(need, need), float(need.max())
        best, found = np.zeros(len(need)), truth
        for first in range(len(need)):
            more, rate = np.zeros(len(need)), truth
            for turn in range(ROUNDS * len(need)):
                j = (first + turn) % len(need)
                before, (more[j], rate) = rate, self._along(need, more, j, dominant)
                if turn >= len(need) and rate <= before * (1 + 1e-9):
                    break
            if rate > found * (1 + 1e-9):
                best, found = more.copy(), rate
        return self.lie(need, need + dominant * best)

    def _along(self, need: Floats, more: Floats, j: int, dominant: float) -> tuple[float, float]:
        """The best raise of what is claimed of resource j, the others held, and its rate."""
        from scipy.optimize import minimize_scalar

        def rate(raised: float) -> float:
            claim = more.copy()
            claim[j] = raised
            return self.short(need, need + dominant * claim)

        grid = np.array([0.0, *np.geomspace(0.01, FARTHEST, GRID)])
        values = [rate(float(x)) for x in grid]
        k = int(np.argmax(values))
        ends = float(grid[max(k - 1, 0)]), float(grid[min(k + 1, len(grid) - 1)])
        fine = minimize_scalar(
            lambda x: -rate(x), bounds=ends, method="bounded", options={"xatol": 1e-5}
        )
        if -fine.fun > values[k] * (1 + 1e-9):
            return float(fine.x), float(-fine.fun)
        return float(grid[k]), float(values[k])

    def _user(self, given: Any, place: str) -> Floats:
        values = np.asarray(given, dtype=np.float64)
        resources = self.part.shape[1]
        if (
            values.shape != (resources,)
            or not np.isfinite(values).all()
            or ((values < 0).any() or not values.any())
        ):
            wanted = f"{resources} finite numbers >= 0, one > 0"
            raise BadInput([Fault(place, f"{given}", wanted)])
        return values


def useful(true: Floats, claimed: Floats) -> float:
    """The work done per unit of the rate given, min_j claimed_j / true_j over what is needed."""
    needed = true > 0
    return float((claimed[needed] / true[needed]).min())
