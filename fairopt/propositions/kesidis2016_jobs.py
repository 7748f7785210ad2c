"""kesidis2016 section 5: what it says of the shape of demand that is not linear.

The amounts are drawn from the seed; the instance only says how many resources there are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from fairopt.allocation.check import Check
from fairopt.formulas.jobs import cpu_pipelined, tail_demand, time_in_turn
from fairopt.instance import Instance
from fairopt.propositions import draws
from fairopt.propositions.statement import Undecided, stated

POOL = draws.Small(users=(1, 1), servers=(1, 1), resources=(2, 4))
CLOSE = 1e-9
Curve = Callable[[float], float]


def _tail(rng: np.random.Generator) -> tuple[Curve, str]:
    theta, mu = rng.uniform(0.1, 5), rng.uniform(0.001, 0.5)
    return lambda x: tail_demand(x, theta, mu), f"theta = {theta:.3g}, mu = {mu:.3g}"


def _affine(rng: np.random.Generator) -> tuple[Curve, str]:
    d, e = rng.uniform(0.1, 2), rng.uniform(0, 2)
    return lambda x: d * x + e, f"{d:.3g} x + {e:.3g}"


def _power(rng: np.random.Generator) -> tuple[Curve, str]:
    d, a = rng.uniform(0.1, 2), rng.uniform(0.05, 1)
    return lambda x: d * x**a, f"{d:.3g} x^{a:.3g}"


CURVES = {
    "tail": (_tail, "(x/D)^(theta D) = mu"),
    "affine": (_affine, "D = d x + e"),
    "power": (_power, "D = d x^a, 0 < a < 1"),
}


@dataclass(frozen=True)
class Shape:
    """A check of a demand curve drawn from the seed: subadditive, or increasing and concave."""

    curve: str
    what: str

    def __call__(self, inst: Instance, seed: int) -> Check:
        rng = np.random.default_rng(seed)
        demand, words = CURVES[self.curve][0](rng)
        x, y = np.exp(rng.uniform(-4, 4, 2)).tolist()
        if self.what == "subadditive":
            whole, parts = demand(x + y), demand(x) + demand(y)
            return Check.of("D(x + y) <= D(x) + D(y)", whole / parts - 1, CLOSE, f"{words}, {x, y}")
        low, high = sorted((demand(x), demand(y)))
        rising = demand(max(x, y)) == high
        middle = demand((x + y) / 2)
        lack = max((low + high) / 2 / middle - 1, 0.0 if rising else 1.0)
        return Check.of("at least the chord, and rising", lack, CLOSE, f"{words}, {x, y}")


for _name, (_, _form) in CURVES.items():
    for _what in ("subadditive", "concave"):
        _said = "subadditive" if _what == "subadditive" else "increasing and concave for x > 0"
        stated(
            name=f"kesidis2016/5-demand-{_name}-{_what}",
            words=f"the demand {_form} is {_said}",
            source="kesidis2016 section 5",
            draw=POOL,
        )(Shape(_name, _what))


@dataclass(frozen=True)
class Convex:
    """A check that halfway between two amounts that keep the promise the promise is kept."""

    resources: int | None

    def __call__(self, inst: Instance, seed: int) -> Check:
        rng = np.random.default_rng(seed)
        many = self.resources or inst.shape[2]
        x = float(np.exp(rng.uniform(-3, 3)))
        one, other = np.exp(rng.uniform(-3, 3, (2, many)))
        # both just keep a time of 1
        one, other = (held * time_in_turn(x, held) for held in (one, other))
        late = time_in_turn(x, (one + other) / 2) - 1
        return Check.of("time halfway", late, CLOSE, f"x = {x:.4g}, {one.round(4).tolist()}")


for _number, _many in (("19", 2), ("20", None)):
    stated(
        name=f"kesidis2016/{_number}-convex",
        words=f"for fixed x the amounts that keep ({_number}) are a convex set",
        source=f"kesidis2016 ({_number})",
        draw=POOL,
    )(Convex(_many))


@stated(
    name="kesidis2016/pipelined-saves",
    words="with RAM for less than a job the pipelined formula needs less CPU than (19), and more "
    "than x / T",
    source="kesidis2016 section 5, between (19) and (20)",
    draw=POOL,
)
def _pipelined(inst: Instance, seed: int) -> Check:
    rng = np.random.default_rng(seed)
    x, time, disk = np.exp(rng.uniform(-1, 1, 3)).tolist()
    ram = x * rng.uniform(0.01, 0.99)
    in_turn, less = (cpu_pipelined(x, time, disk, amount) for amount in (x, ram))
    if not np.isfinite(in_turn):
        raise Undecided("the disk alone takes all the time")
    worst = max(less / in_turn, x / time / less) - 1
    witness = f"x = {x:.4g}, T = {time:.4g}, disk {disk:.4g}, RAM {ram:.4g}"
    return Check.of("x / T < CPU < CPU of (19)", worst, CLOSE, witness)
