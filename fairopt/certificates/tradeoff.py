"""The judge of trade-off answers (kesidis2016 (16)), soft and hard forms."""

from __future__ import annotations

import numpy as np

from fairopt.allocation import Allocation
from fairopt.allocation.check import CERTIFIED, REFUTED, UNPROVED, Certificate, Check, Told
from fairopt.certificates import fair
from fairopt.certificates.feasibility import feasibility, shrink
from fairopt.certificates.proof import measure as prove_fair
from fairopt.certificates.tradeoff_bound import Proof
from fairopt.certificates.tradeoff_guess import guessed
from fairopt.certificates.tradeoff_hard import equalities
from fairopt.certificates.tradeoff_proof import prove
from fairopt.certificates.tradeoff_sheet import Sheet
from fairopt.certificates.tradeoff_witness import better
from fairopt.certificates.universal import universal_bound
from fairopt.certificates.words import listed, notes
from fairopt.formulas.penalties import Terms
from fairopt.instance import BLOCK, Floats, remembered

TOLERANCE = 1e-6
"""largest gap and residual of a certified answer"""


def measure(alloc: Allocation) -> tuple[float, float]:
    """(gap, largest residual of a user) of an answer with prices."""
    if (plain := _unpenalised(alloc)) is not None:
        return prove_fair(plain)
    sheet, proof = _examined(alloc)
    return sheet.gap(proof.rise), float(proof.residual.max())


def _unpenalised(alloc: Allocation) -> Allocation | None:
    """The same answer of the alpha-fair notion that it is without penalties and hard forms, its
    weight inside; None where there are any."""
    terms = Terms.of(alloc.notion)
    if terms != Terms.free(terms.alpha):
        return None
    notion = {"name": "alpha-fair", "parameters": {
        "alpha": terms.alpha, "weight_inside": True, "criterion": "dominant-share"}}  # fmt: skip
    found: Allocation = remembered(alloc, "_unpenalised", lambda: Allocation(
        alloc.instance, notion, alloc.tasks, alloc.prices, alloc.limit_prices, score=alloc.score
    ))  # fmt: skip
    return found


def keeps_equalities(alloc: Allocation) -> bool:
    """Whether the answer, with prices, keeps the hard forms that its notion asks for."""
    return all(check.holds for check in equalities(_examined(alloc)[0]))


def _examined(alloc: Allocation) -> tuple[Sheet, Proof]:
    """What prices prove of an answer; kept with a small one, since `judge` follows `measure`.
    """
    def examine() -> tuple[Sheet, Proof]:
        sheet = Sheet(alloc, Terms.of(alloc.notion), shrink(alloc))
        return sheet, proved(sheet)

    if alloc.tasks.size > BLOCK:
        return examine()
    found: tuple[Sheet, Proof] = remembered(alloc, "_trade_off_proof", examine)
    return found


def proved(sheet: Sheet, other: Sheet | None = None) -> Proof:
    """The better of the two bounds, at prices scaled so that they cost sum gradient times share.

    When that does not certify, other scales are tried: the bound is convex in the scale. `other`
    is a better answer, which sets the first scale and whose pulls are tried too.
    """
    _, budget = sheet.priced
    if not (0 < budget < np.inf):
        return Proof(np.inf, np.full(sheet.users, np.inf))
    with np.errstate(over="ignore", invalid="ignore", divide="ignore", under="ignore"):
        money = (other or sheet).money()
        scale = max(money, 1e-12 * float(sheet.v @ sheet.held)) / budget
        proof = prove(sheet, scale, other)
        if sheet.gap(proof.rise) > TOLERANCE:
            low, high, golden = -3.0, 3.0, (5**0.5 - 1) / 2
            for _ in range(40):
                a, b = high - golden * (high - low), low + golden * (high - low)
                first = prove(sheet, scale * np.exp(a), other)
                second = prove(sheet, scale * np.exp(b), other)
                low, high = (low, b) if first.rise < second.rise else (a, high)
                proof = min(proof, first, second, key=lambda p: p.rise)
            proof = Proof(min(proof.rise, _tangent(sheet)), proof.residual)
    return proof


def _bounded(alloc: Allocation, terms: Terms, found: Floats, sheet: Sheet) -> float:
    """The gap at prices guessed for a better answer: a tighter bound than at those of `alloc`."""
    best = alloc.with_(tasks=found, prices=None, limit_prices=None, objective=None)
    priced = guessed(best, terms)
    near = Sheet(priced, terms, shrink(priced), sheet.size)
    same = alloc.with_(prices=priced.prices, limit_prices=priced.limit_prices)
    return sheet.gap(proved(Sheet(same, terms, sheet.shrink, sheet.size), near).rise)


def _tangent(sheet: Sheet) -> float:
    """The universal bound at the answer's slopes (docs/maths/prices.md); inf for the hard forms."""
    if sheet.terms.equal_across or sheet.terms.equal_within or (sheet.level <= 0).any():
        return np.inf
    alloc = sheet.alloc
    assert alloc.prices is not None
    held = np.maximum(alloc.tasks, 0.0) * sheet.shrink
    slopes = sheet.gradient() * sheet.u
    return universal_bound(alloc.instance, slopes, held, alloc.prices, alloc.limit_prices)


def judge(alloc: Allocation) -> Certificate:
    """Certified: feasible, and gap and every user's residual at most 1e-6 at the given prices.

    Without prices they are guessed. Refuted: not feasible, or a better feasible allocation was
    found and compared in NumPy.
    """
    if (plain := _unpenalised(alloc)) is not None:
        return fair.judge(plain)
    terms = Terms.of(alloc.notion)
    unpriced = False
    if alloc.prices is None or not (
        alloc.prices.any() or (alloc.limit_prices is not None and alloc.limit_prices.any())
    ):
        alloc, unpriced = guessed(alloc, terms), True
    sheet, proof = _examined(alloc)
    factor = sheet.shrink
    kept = (*feasibility(alloc), *equalities(sheet))
    gap, residual = sheet.gap(proof.rise), proof.residual
    worst = int(np.argmax(residual))
    users = alloc.instance.users
    checks = (
        *kept,
        Check.of("gap", gap, TOLERANCE, "an equal rise of every share"),
        Check.of("residual", residual[worst], TOLERANCE, users[worst]),
    )
    loose = tuple(name for name, own in zip(users, residual, strict=True) if not own <= TOLERANCE)
    verdict = CERTIFIED if all(c.holds for c in checks) else UNPROVED
    words: list[str] = []
    if not all(c.holds for c in kept):
        verdict = REFUTED
        scaled = f": it needs to be scaled by {factor:.9g} to fit" if factor < 1 else ""
        words.append(f"not feasible{scaled}")
    elif gap > TOLERANCE:
        found, rise = better(alloc, terms)
        lost = sheet.gap(rise)
        if unpriced and lost > TOLERANCE:
            gap = min(gap, _bounded(alloc, terms, found, sheet))
            checks = (*checks[:-2], Check.of("gap", gap, TOLERANCE, checks[-2].witness), checks[-1])
        checks = (*checks, Check.of("no better allocation", lost, TOLERANCE, "every share at once"))
        if lost > TOLERANCE:
            verdict = REFUTED
            words.append(
                f"a better feasible allocation exists: its objective is worth {100 * lost:.4g} % "
                f"more of every share, and none is worth more than {100 * gap:.4g} %"
            )
            words.append("it is, user by user and server by server: " + listed(alloc, found))
    told = Told(lambda: (*words, *notes(alloc)))
    return Certificate(verdict, gap, float(residual[worst]), loose, checks, (), told)
