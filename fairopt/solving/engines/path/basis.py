"""What is asked along a path: users, floors and weights at the present exponent."""

from __future__ import annotations

import numpy as np

from fairopt.formulas import welfare
from fairopt.formulas.lowered import Lowered
from fairopt.instance import Bools, Floats
from fairopt.solving.engines.path.frame import Frame
from fairopt.solving.engines.path.state import StateLayout

EASY, STEEP = 3.0, 2.5
"""largest exponent to begin at; that from which a share may be more than is due at its value"""


class Basis:
    """A question, in units in which everything is about 1.

    Parameters
    ----------
    log_w : (N,) log W. floor : (N,) sigma. added : whether g is of s - sigma. unit : (N,) > 0, a
        share of about the size expected. active : (N,) who counts; others keep their floors.
    """

    def __init__(
        self,
        low: Lowered,
        log_w: Floats,
        alpha: float,
        floor: Floats,
        added: bool,
        unit: Floats,
        active: Bools,
    ) -> None:
        self.frame, self.active = Frame(low, unit), active
        self.floor = floor / unit
        above = active & added
        self.base = np.where(above, self.floor, 0.0)
        self.steep = alpha >= STEEP
        self.layout = StateLayout(self.frame, (floor > 0) & ~above, active, self.steep)
        self.target, self.begins = alpha, min(alpha, EASY)
        self.log_phi, self.log_unit = log_w / alpha if alpha else log_w, np.log(unit)
        self.free = np.ones(len(unit), dtype=bool)
        self.at(self.begins)

    # -- exponents -----------------------------------------------------------------------------

    def at(self, alpha: float) -> None:
        """Weights at an exponent: W^(1/alpha) is kept while alpha grows."""
        self.alpha = alpha
        log_w = (alpha or 1.0) * self.log_phi + (1 - alpha) * self.log_unit
        self.log_w = np.where(self.active, log_w, 0.0)
        self.log_true = self.log_w

    def level(self, share: Floats) -> None:
        """A common factor of W, so that all money is 1."""
        some = self.active & self.free
        some = some if some.any() else self.active
        money = (self.log_w + (1 - self.alpha) * np.log(share))[some]
        self.log_w = self.log_w - welfare.log_sum_exp(money)
        self.log_true = self.log_w

    def due(self, value: Floats) -> Floats:
        """(N,) the share that users have at these values of a unit of it."""
        return np.asarray(np.exp(np.minimum((self.log_w - np.log(value)) / self.alpha, 690.0)))
