"""An answer from the answer before a change, judged; whether a start may be used at all."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairopt.allocation import Allocation
from fairopt.certificates import certify
from fairopt.certificates.proof import nearer, searched_once
from fairopt.errors import BadInput, Fault
from fairopt.formulas.parameters import words
from fairopt.instance import Floats, Instance
from fairopt.notions import Notion, on_its_own
from fairopt.solving import answering, levels_again, renamed
from fairopt.solving.best import normalised, priced
from fairopt.solving.engines.again import matching
from fairopt.solving.engines.point import AlphaQuestion, fitted
from fairopt.solving.reduce import reduce as reducing

CLOSE = 1e-8
"""largest gap and residual of an answer from a start; any other is solved anew"""
COLD = "solved anew"
BASIS = "used: its basis"
"""of max-min with few pairs: its levels are solved as without a start, from the last basis"""
SOON = 6_000
"""pairs of merged users and servers up to which max-min is solved as soon as a start of many more
pairs is read"""
FEW_COLUMNS = 5_000
"""columns beside rules up to which the path is as fast as what goes on from a start"""
FEWER = 4
"""so many times fewer pairs of merged users and servers are searched before all of them are"""


def checked(start: Any, instance: Instance, notion: Notion) -> Allocation:
    """The start, if it is an answer of the same notion about the same resources.

    Raises
    ------
    BadInput : with what is wrong, all at once. UsageError : rules beside which a start is not
        known.
    """
    instance.only_known("again", "start")
    if not isinstance(start, Allocation):
        raise BadInput([Fault("start", words(start), "a fairopt.Allocation, the last answer")])
    faults = []
    if start.notion != notion.plain():
        faults.append(Fault("start.notion", _told(start.notion), _told(notion.plain())))
    if sorted(start.instance.resources) != sorted(instance.resources):
        faults.append(Fault("start.instance.resources", _listed(start.instance), _listed(instance)))
    if faults:
        raise BadInput(faults)
    return start


def answer(
    instance: Instance, notion: Notion, score: Floats, gap: float, start: Allocation | None
) -> tuple[Allocation | None, tuple[dict[str, Any], ...]]:
    """The answer from the start, or None if it must be solved anew; and the step that tells it."""
    if start is None:
        return None, ()
    ruled = begins(instance, notion, start)
    if ruled and (notion.family == "max-min" or _worthwhile(instance)):
        return None, ()
    step: dict[str, Any] = {"step": "start", "status": "used"}
    why = "few columns beside rules" if ruled else _unused(instance, notion, start)
    if why:
        return None, ({**step, "status": f"not used, {COLD}: {why}"},)
    # users and servers that are alike are led to the answer as one, like an answer without a start
    small = reducing(instance, notion, score)
    assert small.score is not None
    levels = notion.family == "max-min"
    pairs = small.instance.placement.size
    if levels and pairs < SOON and pairs * FEWER <= instance.placement.size:
        few = "few once those alike are one"
        return None, ({**step, "status": f"not used: {few}, {COLD}"},)
    begin = renamed.merged(start, small) if small.steps else start
    lead = _levels if levels else _alpha_fair
    alloc, status = lead(small.instance, small.notion, small.score, begin, step)
    if alloc is None:
        basis = levels and levels_again.at_vertex(small.instance, begin)
        return None, ({**step, "status": BASIS if basis else f"{status}, {COLD}"},)
    if small.steps:
        if not levels and pairs * FEWER <= instance.placement.size:
            alloc = _nearer(alloc)
        alloc = answering.split(alloc, instance, notion, score, small)
    if not levels:
        searched_once(alloc, min(gap, CLOSE))
    return _close(alloc, step, gap)


def _levels(
    instance: Instance, notion: Notion, score: Floats, start: Allocation, step: dict[str, Any]
) -> tuple[Allocation | None, str]:
    """The max-min answer to which the start leads, or None and why."""
    return levels_again.again(instance, notion, score, start), "not used"


def _alpha_fair(
    instance: Instance, notion: Notion, score: Floats, start: Allocation, step: dict[str, Any]
) -> tuple[Allocation | None, str]:
    """The alpha-fair answer to which the start leads, or None and why."""
    from fairopt.solving.engines.again import prices_first

    alpha, inside = float(getattr(notion, "alpha", 0)), bool(getattr(notion, "weight_inside", 0))
    question = AlphaQuestion.of(instance, score, alpha, inside)
    assert start.prices is not None
    begin = None
    if prices_first.applies(question):
        begin = matching.matched(question, start.tasks, start.prices, start.instance)
    if begin is None:
        return None, "not used"
    found = prices_first.follow(question, begin)
    step["rounds"], step["steps"] = found.rounds, found.steps
    if found.point is None:
        return None, "too far away"
    p, mu = found.point.prices(instance)
    if not (np.isfinite(p).all() and np.isfinite(mu).all()):  # of alpha 100 beyond floats
        return None, "too far away"
    return priced(instance, notion, found.point.tasks(instance), p, mu, score), ""


def _nearer(alloc: Allocation) -> Allocation:
    """The point nearby that a search finds, or the answer as it is where it finds none."""
    searched_once(alloc)
    found = nearer(alloc)
    if found is None:
        return alloc
    p, mu = normalised(alloc.instance, found["prices"], found["limit_prices"])
    tasks = fitted(alloc.instance, found["tasks"])
    return alloc.with_(tasks=tasks, prices=p, limit_prices=mu)


def _close(
    alloc: Allocation, step: dict[str, Any], gap: float
) -> tuple[Allocation | None, tuple[dict[str, Any], ...]]:
    """The answer with its certificate, if it is as close as one without a start."""
    alloc = alloc.with_(certificate=certify(alloc))
    proof = alloc.certificate
    assert proof is not None
    step["gap"], step["residual"] = proof.gap, proof.residual
    if not (proof.certified and max(proof.gap, proof.residual) <= min(gap, CLOSE)):
        return None, ({**step, "status": f"not close enough, {COLD}"},)
    return alloc, (step,)


def goes_on(instance: Instance, start: Allocation, told: tuple[dict[str, Any], ...]) -> bool:
    """Whether a ladder begins with the start: beside rules, where `answer` leaves it to the
    ladder; and of max-min where the start was no answer, as its models begin from its basis."""
    plain = instance.plain and start.instance.plain
    told_levels = start.level_prices is not None and bool(np.any(start.level_prices))
    return not told or (plain and told_levels and _many(instance))


def _many(instance: Instance) -> bool:
    return instance.shape[0] * instance.shape[1] >= levels_again.FEWEST


def _worthwhile(instance: Instance) -> bool:
    """Whether there is enough to solve beside rules that a start may be faster."""
    return int(np.count_nonzero(instance.ways.eligible)) > FEW_COLUMNS


def begins(instance: Instance, notion: Notion, start: Allocation) -> bool:
    """Whether the ladder beside rules begins with the start itself."""
    ruled = not instance.plain and instance.linear and instance.start is None
    alike = start.instance.linear and start.instance.start is None
    if not (ruled and alike) or on_its_own(notion):
        return False
    if notion.family == "max-min":
        return bool(start.rounds)
    return (
        notion.family == "alpha-fair" and start.rounds is None and getattr(notion, "alpha", 0) != 0
    )


def _unused(instance: Instance, notion: Notion, start: Allocation) -> str:
    """Why a start is of no use to this notion or instance; empty if it is."""
    if notion.family not in ("alpha-fair", "max-min") or on_its_own(notion):
        return "only alpha-fair notions and max-min begin from a start"
    if not (instance.plain and instance.linear and start.instance.plain and start.instance.linear):
        return "quotas, modes or demand that is not linear"
    given = start.level_prices if notion.family == "max-min" else start.prices
    if given is None or not given.any():
        return "it has no prices"
    return ""


def _told(plain: Any) -> str:
    """A notion in words: its name and its parameters."""
    given = ", ".join(f"{key} {value!r}" for key, value in plain.get("parameters", {}).items())
    return f"{plain['name']!r}" + (f" with {given}" if given else "")


def _listed(instance: Instance) -> str:
    return ", ".join(instance.resources)
