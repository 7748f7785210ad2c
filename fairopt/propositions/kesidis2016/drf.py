r"""kesidis2016: Claim 3 (weighted DRF in one pool) and Corollary 1 (nonlinear demand).

Claim 3, with b = B / max_r B and B[n,r] = d[n,r] / s_r:

.. math:: \alpha_n = \phi_n \Big/ \max_r \sum_m \phi_m b_{m,r}

The paper prints 1/phi in place of phi. That is no error but the convention of its section 2.2,
where weighted DRF makes alpha_n phi_n equal; (1), (11) and every other formula divide by phi.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from fairopt.allocation.check import Check
from fairopt.formulas.jobs import cpu_pipelined, tail_demand, time_in_turn
from fairopt.instance import Floats, Instance
from fairopt.notions import MaxMin, PerServerDRF
from fairopt.propositions import draws
from fairopt.propositions.kesidis2016.dominant import best
from fairopt.propositions.statement import Hypothesis, Undecided, stated
from fairopt.solving import solve

ONE_POOL = draws.Small(users=(2, 4), servers=(1, 1))
POSITIVE = Hypothesis(
    "positive demand",
    draws.positive_demand,
    draws.Small(users=(2, 4), servers=(1, 1), resources=(2, 3), zero_demand=0.5),
)
UNBROKEN = Hypothesis(POSITIVE.name, POSITIVE.holds)
"""a hypothesis that is not broken on purpose: once is enough"""
ROUNDS = 2000
"""most steps of the iteration to the fixed point of Corollary 1"""
READ_AS = {"-printed": "1/phi", "": "phi"}
"""the weight w of the formula, by the ending of the statement's name"""
CONVENTION = {"-printed": "alpha_n phi_n is equal (section 2.2)", "": "alpha_n / phi_n is equal"}
"""what weighted DRF means then"""


def closed_form(part: Floats, pull: Floats) -> Floats:
    """(N,) dominant shares pull_n / max_r sum_m pull_m b[m,r] for B `part` (N, R)."""
    b = part / part.max(axis=1, keepdims=True)
    return np.asarray(pull / (pull @ b).max())


def weighed(inst: Instance, name: str) -> Instance:
    """The instance whose weights, in the sense of all other formulas, say what is meant by it.

    In the convention of section 2.2 a user of weight phi is one of weight 1/phi elsewhere.
    """
    return inst.replace(weight=1.0 / inst.weight) if name == "-printed" else inst


def pulls(inst: Instance, name: str) -> Floats:
    """(N,) the weight w of the formula: 1/phi as printed, phi in the other convention."""
    return 1.0 / inst.weight if name == "-printed" else inst.weight


@dataclass(frozen=True)
class Claim3:
    """A check: the closed form against certified lexicographic max-min in its own convention."""

    reading: str

    def __call__(self, inst: Instance, seed: int) -> Check:
        del seed  # nothing is drawn
        drf = best(weighed(inst, self.reading), MaxMin("dominant-share")).shares
        form = closed_form(inst.demand / inst.pool[0], pulls(inst, self.reading))
        apart = np.abs(form - drf) / np.maximum(form, drf)
        n = int(apart.argmax())
        weight = ", ".join(f"{x:.4g}" for x in inst.weight)
        witness = (
            f"weights ({weight}): {inst.users[n]} has a dominant share of {drf[n]:.6g} under DRF, "
            f"{form[n]:.6g} by the formula"
        )
        return Check.of("the closed form", float(apart[n]), 1e-5, witness)


for _reading, _weight in READ_AS.items():
    stated(
        name=f"kesidis2016/claim-3{_reading}",
        words="weighted DRF in one pool has dominant shares w_n / max_r sum_m w_m b[m,r], "
        f"w = {_weight}, where weighted means that {CONVENTION[_reading]}",
        source="kesidis2016 Claim 3",
        draw=ONE_POOL,
        hypotheses=(UNBROKEN,) if _reading else (POSITIVE,),
        notion=MaxMin("dominant-share"),
    )(Claim3(_reading))


def bent(inst: Instance, rng: np.random.Generator) -> Instance:
    """The pool with powers, or affine demand whose set-up is below what DRF gives, or both."""
    part = inst.weight / inst.weight.sum()
    own, shape = part[:, None] * inst.pool[0], inst.demand.shape
    power, fixed = np.ones(shape), np.zeros(shape)
    if rng.random() < 0.5:
        power = rng.uniform(0.3, 1.0, shape)
    elif rng.random() < 0.5:  # as printed for M/M/1: D(x) = x + 1/q, in units of d
        fixed = own * rng.uniform(0.0, 0.5, shape)
    else:
        power = rng.uniform(0.5, 1.0, shape)
        fixed = own * rng.uniform(0.0, 0.5, shape)
    return Instance(
        inst.demand,
        inst.pool,
        weight=inst.weight,
        users=inst.users,
        demand_power=power,
        demand_fixed=fixed,
    )


@dataclass(frozen=True)
class Corollary1:
    """A check: the fixed point against the certified answer, which is found without a formula."""

    reading: str

    def __call__(self, inst: Instance, seed: int) -> Check:
        pool = bent(inst, np.random.default_rng(seed))
        fixed = shares(pool, fixed_point(pool, pulls(inst, self.reading)))
        fair = shares(pool, solve(weighed(pool, self.reading), PerServerDRF()).totals)
        apart = np.abs(fixed - fair) / np.maximum(fixed, fair)
        n = int(apart.argmax())
        witness = (
            f"{inst.users[n]} (weight {inst.weight[n]:.4g}) has a dominant share of {fair[n]:.6g} "
            f"under max-min, {fixed[n]:.6g} at the fixed point"
        )
        return Check.of("the closed form at the fixed point", float(apart[n]), 1e-5, witness)


def shares(pool: Instance, tasks: Floats) -> Floats:
    """(N,) dominant shares max_r D[n,r](x_n) / c_r."""
    return np.asarray((pool.taken(tasks) / pool.pool[0]).max(axis=1))


def fixed_point(pool: Instance, pull: Floats) -> Floats:
    """(N,) tasks x such that Claim 3 for the demand D(x)/x of one task gives x again."""
    x = pool.within((pull / pull.sum())[:, None] * pool.pool[0])
    for _ in range(ROUNDS):
        if not (np.isfinite(x).all() and (x > 0).all()):
            break
        each = pool.taken(x) / pool.pool[0] / x[:, None]
        new = closed_form(each, pull) / each.max(axis=1)
        if np.abs(new / x - 1).max() <= 1e-12:
            return np.asarray(new)
        x = new
    raise Undecided("no fixed point was found")


for _reading, _weight in READ_AS.items():
    stated(
        name=f"kesidis2016/corollary-1{_reading}",
        words=f"with subadditive demand D(x) the fixed point of Claim 3 (w = {_weight}) is the "
        f"max-min of dominant shares, weighted so that {CONVENTION[_reading]}",
        source="kesidis2016 Corollary 1",
        draw=draws.Small(users=(2, 4), servers=(1, 1), resources=(1, 3)),
        hypotheses=(UNBROKEN,),
    )(Corollary1(_reading))


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
class CurveShape:
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
        )(CurveShape(_name, _what))


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
