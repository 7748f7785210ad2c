"""What `solve` asks of a way to the answer, and what an engine hands back, not yet judged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from fairopt.instance import Floats


@dataclass(frozen=True)
class How:
    """How to solve: as of `solve`, whose parameters these are."""

    solver: str = "auto"
    gap: float = 1e-6
    polish: bool = True
    progress: Callable[[int, int], None] | None = None


@dataclass(frozen=True, eq=False)
class Answer:
    """An answer in the user's units.

    Parameters
    ----------
    tasks : (N, I), tasks of user n on the whole row i.
    prices : (I, R) per unit of resource; None where the notion has none.
    limit_prices : (N,) per task allowed; None where the notion has none.
    steps : what was done, as plain data (rounds, order, remarks).
    """

    tasks: Floats
    prices: Floats | None = None
    limit_prices: Floats | None = None
    steps: tuple[dict[str, Any], ...] = ()
