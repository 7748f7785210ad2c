"""kesidis2016: Claims 1, 2, 4 and 5, Corollaries 2 and 3.

Claim 3 and Corollary 1 are in `kesidis2016_drf`.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from fairopt.allocation.check import Check
from fairopt.instance import Floats, Instance
from fairopt.notions import AlphaFair, MaxMin, ProportionalFair
from fairopt.propositions import draws
from fairopt.propositions.kesidis2016.dominant import THIRTY_THREE, TWENTY_SEVEN, OneDominant, best
from fairopt.propositions.linear import excess
from fairopt.propositions.statement import Hypothesis, Undecided, certified, stated

ALPHAS = (0.5, 1.0, 2.0, 5.0)
NO_LIMITS = Hypothesis("no limits", draws.no_limits, draws.Small(limits=0.8))
EQUAL = 1e-6
"""relative tolerance for equal levels"""


def _drawn_alpha(seed: int) -> float:
    return float(np.random.default_rng(seed).choice(ALPHAS))


@dataclass(frozen=True)
class AsMaxMin:
    """A check: maximisers of sum phi_n g_a(U_n) have the max-min levels, for a random a.

    Parameters
    ----------
    criteria : names of criteria of U_n; each trial draws one.
    """

    criteria: tuple[str, ...]

    def __call__(self, inst: Instance, seed: int) -> Check:
        alpha = _drawn_alpha(seed)
        criterion = self.criteria[seed % len(self.criteria)]
        level = certified(inst, AlphaFair(alpha, criterion, weight_inside=True)).levels
        mmf = best(inst, MaxMin(criterion)).levels
        apart = np.abs(level - mmf) / np.maximum(level, mmf)
        n = int(apart.argmax())
        witness = (
            f"{criterion}: level of {inst.users[n]} is {level[n]:.6g} for alpha {alpha:g}, "
            f"{mmf[n]:.6g} for max-min"
        )
        return Check.of("max-min levels", float(apart[n]), 1e-4, witness)


@dataclass(frozen=True)
class Fills:
    """A check: the maximiser of sum phi_n g_a(U_n) fills a resource on every usable server."""

    criterion: str

    def __call__(self, inst: Instance, seed: int) -> Check:
        alpha = _drawn_alpha(seed)
        found = certified(inst, AlphaFair(alpha, self.criterion, weight_inside=True))
        usable = inst.eligible.any(axis=0)
        free = np.where(usable, 1 - found.utilisation.max(axis=1), 0.0)
        i = int(free.argmax())
        witness = f"alpha {alpha:g}: {free[i]:.4g} of every resource of {inst.servers[i]} is free"
        return Check.of("a full resource in every pool", max(float(free[i]), 0.0), 1e-5, witness)


# -- Claim 1 -----------------------------------------------------------------------------------


def one_resource(inst: Instance) -> bool:
    """There is one resource."""
    return inst.shape[2] == 1


stated(
    name="kesidis2016/claim-1",
    words="with a single resource the maximiser of sum phi_n g(F_n) is weighted max-min fair, "
    "whatever concave g",
    source="kesidis2016 Claim 1",
    draw=draws.Small(resources=(1, 1)),
    hypotheses=(
        Hypothesis("one resource", one_resource, draws.Small(users=(2, 3), resources=(2, 3))),
    ),
)(AsMaxMin(("drf", "dominant-share")))


# -- Claim 2 -----------------------------------------------------------------------------------


def all_usable(inst: Instance) -> bool:
    """Every server can be used by somebody."""
    return bool(inst.eligible.any(axis=0).all())


ONE = Hypothesis("one resource", one_resource)
SPARSE = draws.Small(users=(2, 3), servers=(2, 4), resources=(1, 1), density=0.3)
USABLE = Hypothesis("every server is usable", all_usable, SPARSE)
NARROW = draws.Small(users=(3, 5), servers=(2, 4), resources=(1, 1), density=0.5)
WIDE = draws.Small(users=(2, 4), servers=(1, 3), resources=(1, 1), density=0.9)


def margin(inst: Instance, most: int) -> float:
    """Least margin of the condition over groups of at most `most` users, in capacity / sum phi."""
    s, phi, users = inst.pool[:, 0], inst.weight, inst.shape[0]
    least = np.inf
    for size in range(1, min(most, users - 1) + 1):
        for group in combinations(range(users), size):
            reached = inst.eligible[list(group)].any(axis=0)
            mine = phi[list(group)].sum()
            own, rest = s[reached].sum() / mine, s[~reached].sum() / (phi.sum() - mine)
            least = min(least, float(own - rest))
    return least * float(phi.sum() / s.sum())


def _spread(inst: Instance) -> tuple[float, str]:
    """1 - lowest / highest of the max-min levels, and the levels in words."""
    level = best(inst, MaxMin("drf")).levels
    listed = ", ".join(f"{x:.6g}" for x in level)
    return float(1 - level.min() / level.max()), f"max-min levels ({listed})"


@stated(
    name="kesidis2016/claim-2",
    words="with a single resource max-min is proportional to phi only if min_n "
    "sum_i delta[n,i] s_i / phi_n - sum_i (1 - delta[n,i]) s_i / sum_{m != n} phi_m >= 0",
    source="kesidis2016 Claim 2",
    draw=WIDE,
    hypotheses=(ONE, USABLE),
    notion=MaxMin(),
)
def _necessary(inst: Instance, seed: int) -> Check:
    del seed  # nothing is drawn
    apart, witness = _spread(inst)
    if apart > EQUAL:
        raise Undecided("max-min is not proportional")
    missing = max(-margin(inst, 1), 0.0)
    return Check.of("the condition", missing, 1e-5, f"{witness}, condition {-missing:.4g}")


@stated(
    name="kesidis2016/claim-2-sufficient",
    words="with a single resource max-min is proportional to phi if the condition of Claim 2, "
    "which the paper says is necessary, holds for every user",
    source="kesidis2016 Claim 2, its converse, which the paper does not state",
    draw=NARROW,
    hypotheses=(ONE, Hypothesis(USABLE.name, all_usable)),
    notion=MaxMin(),
)
def _sufficient(inst: Instance, seed: int) -> Check:
    del seed
    condition = margin(inst, 1)
    if condition < 0:
        raise Undecided("the condition does not hold")
    apart, witness = _spread(inst)
    return Check.of("proportional", apart, 1e-5, f"{witness}, condition {condition:.4g}")


@stated(
    name="kesidis2016/claim-2-subsets",
    words="with a single resource max-min is proportional to phi iff the condition of Claim 2 "
    "holds for every proper subset of users taken as one",
    source="kesidis2016 Claim 2, over subsets (ours)",
    draw=NARROW,
    hypotheses=(ONE, USABLE),
    notion=MaxMin(),
)
def _equivalent(inst: Instance, seed: int) -> Check:
    del seed
    condition = margin(inst, len(inst.users))
    apart, witness = _spread(inst)
    if abs(condition) < 1e-5:
        raise Undecided("the condition is at its threshold")
    off = apart if condition > 0 else (-condition if apart <= EQUAL else 0.0)
    return Check.of("proportional iff", off, 1e-5, f"{witness}, condition {condition:.4g}")


# -- Claim 4, Corollary 2 ----------------------------------------------------------------------


stated(
    name="kesidis2016/claim-4-fills",
    words="a maximiser of sum phi_n g(x_n/phi_n) fills a resource in every pool",
    source="kesidis2016 Claim 4",
    draw=draws.Small(zero_demand=0.2),
    hypotheses=(NO_LIMITS,),
)(Fills("tasks"))


stated(
    name="kesidis2016/claim-4-max-min",
    words="with (27) a maximiser of sum phi_n g(x_n/phi_n) is the unique max-min of x_n/phi_n",
    source="kesidis2016 Claim 4, (27)",
    draw=OneDominant(equal=True),
    hypotheses=(TWENTY_SEVEN,),
    notion=MaxMin("tasks"),
)(AsMaxMin(("tasks",)))


stated(
    name="kesidis2016/corollary-2-fills",
    words="a maximiser of sum phi_n g(F_n) fills a resource in every pool",
    source="kesidis2016 Corollary 2",
    draw=draws.Small(zero_demand=0.2),
    hypotheses=(NO_LIMITS,),
)(Fills("dominant-share"))


stated(
    name="kesidis2016/corollary-2-max-min",
    words="with (33) a maximiser of sum phi_n g(F_n) is the unique max-min of F_n",
    source="kesidis2016 Corollary 2, (33)",
    draw=OneDominant(),
    hypotheses=(THIRTY_THREE,),
    notion=MaxMin("dominant-share"),
)(AsMaxMin(("dominant-share",)))


# -- Claim 5, Corollary 3 ----------------------------------------------------------------------


@stated(
    name="kesidis2016/claim-5",
    words="x* maximising sum phi_n g_a(x_n) is uniquely (phi,a)-proportionally fair: "
    "sum phi_n (x_n - x*_n)/(x*_n)^a <= 0 for every feasible x",
    source="kesidis2016 Claim 5",
    draw=draws.Small(zero_demand=0.2, limits=0.2),
)
def _tasks_fair(inst: Instance, seed: int) -> Check:
    return _fair(inst, seed, _drawn_alpha(seed), "tasks")


@stated(
    name="kesidis2016/corollary-3",
    words="x* maximising sum phi_n log F_n is uniquely (phi,1) F-proportionally fair: "
    "sum phi_n (F_n - F*_n)/F*_n <= 0 for every feasible F",
    source="kesidis2016 Corollary 3",
    draw=draws.Small(zero_demand=0.2, limits=0.2),
    notion=ProportionalFair("dominant-share"),
)
def _shares_fair(inst: Instance, seed: int) -> Check:
    return _fair(inst, seed, 1.0, "dominant-share")


def _fair(inst: Instance, seed: int, alpha: float, criterion: str) -> Check:
    """At x* no feasible point has a positive linear form; at any other point x* has one."""
    star = certified(inst, AlphaFair(alpha, criterion))
    gain = excess(inst, _form(inst, star.score, star.shares, alpha), star.tasks)
    # unique: at a point with other shares, x* itself has a positive linear form
    missed, rng = 0.0, np.random.default_rng(seed)
    for part in (1.0, 0.1):
        other = part * draws.scattered(inst, rng) + (1 - part) * star.tasks
        share = (star.score * other).sum(axis=1)
        form = _form(inst, star.score, share, alpha)
        apart = float(np.abs(share / star.shares - 1).max())
        if apart > 1e-3 and (form * star.tasks).sum() <= (form * other).sum():
            missed = max(missed, apart)
    witness = (
        f"alpha {alpha:g}: best linear form {gain:.2g} above; another point that is fair too "
        f"{missed:.2g} away"
    )
    return Check.of("proportionally fair", max(gain, missed), 1e-5, witness)


def _form(inst: Instance, score: Floats, share: Floats, alpha: float) -> Floats:
    """(N, I) phi_n u[n,i] / s_n^a, the largest factor 1."""
    log_slope = np.log(inst.weight) - alpha * np.log(share)
    return np.asarray(score * np.exp(log_slope - log_slope.max())[:, None])
