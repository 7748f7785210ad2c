r"""How far each user can be from what it is due in a round from which nothing was taken before.

Prices of a round say what everybody pays at least, :math:`w_m = q_m l_m` for what user m is due.
Let m hold a part :math:`drop_m` of its share that is due to others. What those give up may all go
to one, and so may what rounding leaves open of full rows:

.. math:: up_n = room_n + \frac{1}{w_n} \sum_{m \ne n} w_m\, drop_m

Of several rounds this says nothing: whoever is stopped first takes from those stopped later, as
often as rounds multiply it. Those are proved in fractions alone (`enclosed_search`,
`enclosed_levels`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from fairopt.certificates.tolerance import ROUNDING
from fairopt.instance import Floats, Ints


@dataclass(frozen=True)
class Bounds:
    """How far each user can be from what it is due at the optimum, (N,) parts of what it holds.

    up : it is due at most 1 + up of it. down : at least 1 - down. rounding : of both, beyond that.
    """

    up: Floats
    down: Floats
    rounding: Floats

    @property
    def residual(self) -> Floats:
        """(N,) bound on the logarithm of what is held over what is due."""
        with np.errstate(divide="ignore"):
            far = np.maximum(np.log1p(self.up), -np.log1p(-self.down))
        return np.asarray(far + self.rounding)

    def ends(self, share: Floats) -> tuple[Floats, Floats]:
        """The least and the most that each may be due, for the shares held."""
        with np.errstate(over="ignore", invalid="ignore"):
            low, top = (1 - self.down) * np.exp(-self.rounding), 1 + self.up
            top = np.where(np.isfinite(top), share * top * np.exp(self.rounding), np.inf)
        return share * low, top


class Paid(NamedTuple):
    """What is paid at the prices that prove some users.

    users : whom they prove. own : what each of them pays, w_n, for a rise. who, money : of all that
    pay, w_m, for a rise. gives : the same for a fall, which is less where a limit makes what is
    next dearer.
    """

    users: Ints
    own: Floats
    who: Ints
    money: Floats
    gives: Floats


def of_one_round(room: Floats, drop: Floats, proofs: Sequence[Paid]) -> Bounds:
    """The bounds of all users who are stopped together.

    Parameters
    ----------
    room : (N,) what its own prices leave open. drop : (N,) the part of its share that it holds of
        what is due to others. proofs : the users that prices prove, and what is paid at them.
    """
    up, rounding = room.copy(), np.full(len(room), ROUNDING)
    down = np.where(np.isinf(room), 1.0, np.minimum(drop, 1.0))
    for paid in proofs:
        mine = paid.users
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            given = float(np.where(paid.money > 0, paid.money * down[paid.who], 0.0).sum())
            own = np.where(down[mine] > 0, paid.own * down[mine], 0.0)
            others = np.where(given > own * (1 + 1e-12), given - own, 0.0)
            up[mine] = room[mine] + np.where(others > 0, others / paid.own, 0.0)
            gives = float(paid.gives.sum())
            # nobody asks further: one user may have all that rounding hides
            hidden = ROUNDING * float(paid.money.sum()) / np.fmin(gives, paid.own)
        rounding[mine] = hidden if gives > 0 else ROUNDING
    return Bounds(up, down, rounding)


__all__ = ["Bounds", "Paid", "of_one_round"]
