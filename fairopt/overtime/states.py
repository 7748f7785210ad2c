r"""What a ledger remembers of each user, and what becomes of it after a slice: a row of `KINDS`.

With use a_n of a slice of D hours and beta = 0.5^(D/half):

========  =====================================================================
average   beta z + (1 - beta) a
sum       beta z + D a, compared with the same sum of capacity or of all use
window    sum of D a over the last w slices
credits   z + given - borrowed + grant (see `karma`)
budget    z - D a, never below 0
========  =====================================================================
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from fairopt.instance import Floats


@dataclass(frozen=True)
class LedgerState:
    """What is remembered.

    Parameters
    ----------
    amount : (N,) z. every : () or (N,), what `sum` is compared with. past : the slices of a window.
    """

    amount: Floats
    every: float = 0.0
    past: tuple[Floats, ...] = ()

    @property
    def part(self) -> Floats:
        """(N,) z, of what it is compared with where there is such a thing."""
        return self.amount / self.every if self.every > 0 else self.amount


@dataclass(frozen=True)
class Memory:
    """How a ledger remembers: half-life and window; `kept` by `sum` as all use instead of capacity.

    half : hours, inf: nothing is forgotten. slices : of a window. all_use : see `sum`.
    """

    half: float = np.inf
    slices: int = 1
    all_use: bool = False

    def beta(self, hours: float) -> float:
        """The part that is left after some hours."""
        return float(0.5 ** (max(hours, 0.0) / self.half))


Step = Callable[[LedgerState, Floats, float, Memory], LedgerState]


def average(state: LedgerState, use: Floats, hours: float, memory: Memory) -> LedgerState:
    """beta z + (1 - beta) a."""
    beta = memory.beta(hours)
    return replace(state, amount=beta * state.amount + (1 - beta) * use)


def decayed_sum(state: LedgerState, use: Floats, hours: float, memory: Memory) -> LedgerState:
    """beta z + D a; use in parts of the cluster, so that all capacity is D."""
    beta = memory.beta(hours)
    more = float(use.sum()) if memory.all_use else 1.0
    return replace(
        state, amount=beta * state.amount + hours * use, every=beta * state.every + hours * more
    )


def window(state: LedgerState, use: Floats, hours: float, memory: Memory) -> LedgerState:
    """The sum over the last slices."""
    past = (*state.past, hours * use)[-memory.slices :]
    return replace(state, amount=np.sum(past, axis=0), past=past)


def budget(state: LedgerState, use: Floats, hours: float, memory: Memory) -> LedgerState:
    """What is left of a budget."""
    return replace(state, amount=np.maximum(state.amount - hours * use, 0.0))


KINDS: dict[str, Step] = {
    "average": average,
    "sum": decayed_sum,
    "window": window,
    "budget": budget,
}
"""kind -> the state after a slice; credits change with what is borrowed, in `karma`"""

__all__ = ["KINDS", "Memory", "LedgerState", "average", "budget", "decayed_sum", "window"]
