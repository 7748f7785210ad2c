"""`How` to solve, as `solve` passes it on, and the `Answer` of an engine, not yet judged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from fairopt.instance import Floats


@dataclass(frozen=True)
class How:
    """Parameters of `solve` that ladders and engines need; see there.

    start : the last answer (an Allocation), where a ladder begins with it; None elsewhere.
    """

    solver: str = "auto"
    gap: float = 1e-6
    polish: bool = True
    progress: Callable[[int, int], None] | None = None
    start: Any = None


@dataclass(frozen=True, eq=False)
class Answer:
    """An answer in the units of the instance.

    Parameters
    ----------
    tasks : (N, I), tasks of user n on the whole row i.
    prices : (I, R) per unit of resource; None if the notion has no prices.
    limit_prices : (N,) per task allowed by the limit; None if the notion has no prices.
    steps : what was done, as plain data (rounds, order, remarks).
    """

    tasks: Floats
    prices: Floats | None = None
    limit_prices: Floats | None = None
    steps: tuple[dict[str, Any], ...] = ()
