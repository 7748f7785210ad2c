"""From (instance, notion) to a judged Allocation: the one way."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

from fairopt import criteria, threads
from fairopt.allocation import Allocation
from fairopt.certificates import certify, judged
from fairopt.engines.point import fitted
from fairopt.errors import BadInput, Fault, NotCertified, SolverFailure, UsageError
from fairopt.instance import Floats, Instance
from fairopt.notions import (
    AlphaFair,
    MaxMin,
    Notion,
    ProportionalFair,
    Throughput,
    Tradeoff,
    expected,
)
from fairopt.parameters import words
from fairopt.reduce import reduce as reducing
from fairopt.reduce.rules import rule_of

Way = tuple[str, float, bool, Callable[[int, int], None] | None]
"""how to solve: solver, gap, polish, progress"""
SHARP = 5e-7
"""error of interior levels above which programs are solved instead"""
SOLVERS = ("auto", "interior", "clarabel", "ecos", "scs", "highs")


def solve(
    instance: Instance,
    notion: Notion,
    solver: str = "auto",
    gap: float = 1e-6,
    uncertified: str = "raise",
    polish: bool = True,
    progress: Callable[[int, int], None] | None = None,
    reduce: bool = True,
) -> Allocation:
    """The allocation a notion asks for, with prices and a certificate.

    Identical users and servers are solved as one. Parts that share no server are solved apart; each
    part goes down a ladder of solvers until its answer is certified. Every step is recorded in
    `steps`. Answers are deterministic.

    Parameters
    ----------
    instance : the cluster.
    notion : what fair means.
    solver : "auto", or one solver, which is then tried alone.
    gap : the largest gap and residual accepted (at most 1e-6: what "certified" means).
    uncertified : "raise" NotCertified, which carries the answer, or "return" it marked as such.
    polish : Newton on the optimality conditions after each solver.
    progress : called with (done, of) while a long sequence of programs is solved.
    reduce : merge identical users and servers before solving, exactly, and split the answer after.

    Raises
    ------
    BadInput : an instance or a notion that is none (a text, a class: build it, `fo.MaxMin()`).
    NotCertified : no step gave an answer that the certificate accepts.
    SolverFailure : no step gave an answer at all.
    UsageError : an unknown solver, or one that cannot state the notion.
    MissingExtra : the named solver is not installed.
    """
    check_settings(solver, gap)
    if not isinstance(instance, Instance):
        raise BadInput([Fault("instance", words(instance), "a fairopt.Instance")])
    if not isinstance(notion, Notion):
        raise BadInput([expected(notion)])
    if uncertified not in ("raise", "return"):
        raise UsageError(f"uncertified: found {uncertified!r}; wanted 'raise' or 'return'")
    with threads.one():
        way = solver, gap, polish, progress
        alloc = (_reduced if reduce else _answer)(instance, notion, _score(instance, notion), *way)
        certificate = certify(alloc)
        alloc = alloc.with_(certificate=certificate)
    if (not certificate.certified or max(certificate.gap, certificate.residual) > gap) and (
        uncertified == "raise"
    ):
        raise NotCertified(
            f"{notion.name}: {certificate.verdict}, gap {certificate.gap:.2g}, residual "
            f"{certificate.residual:.2g}; not pinned: {_listed(certificate.undetermined)}",
            alloc,
        )
    return alloc


def check_settings(solver: str, gap: float) -> None:
    """Raise UsageError for settings that no instance and no notion can be solved with."""
    if solver not in SOLVERS:
        raise UsageError(f"solver: found {solver!r}; wanted one of {', '.join(SOLVERS)}")
    if not 0 < gap <= 1e-6:
        raise UsageError(f"gap: found {gap!r}; wanted a number above 0, at most 1e-6")


def _score(instance: Instance, notion: Any) -> Floats | None:
    """(N, I) scores of the notion's criterion; None where it has none."""
    criterion = getattr(notion, "criterion", None)
    return None if criterion is None else criteria.score(instance, criterion)


def _reduced(
    instance: Instance, notion: Any, score: Floats | None, *way: *Way
) -> Allocation:
    """The answer of the smaller problem, split among the users and servers of this one."""
    if rule_of(notion) is None:
        return _answer(instance, notion, score, *way)
    small = reducing(instance, notion, score)
    found = _answer(small.instance, small.notion, small.score, *way)
    if not small.steps:
        return found
    tasks, p, mu, levels = small.expand(
        found.tasks, found.prices, found.limit_prices, found.level_prices
    )
    # all resources and limits together cost sum phi, whatever the weights of the smaller problem
    money = float(instance.weight.sum() / small.instance.weight.sum())
    p, mu = (None if price is None else price * money for price in (p, mu))
    return Allocation(
        instance, notion, tasks, p, mu, levels, score, steps=small.renamed(found.steps)
    )


def _answer(
    instance: Instance,
    notion: Any,
    score: Floats | None,
    solver: str,
    gap: float,
    polish: bool,
    progress: Callable[[int, int], None] | None = None,
) -> Allocation:
    """The answer by the notion's own way: a program, an equal program, a sequence, a procedure."""
    if isinstance(notion, (Throughput, ProportionalFair, AlphaFair)):
        from fairopt.fair import alpha_fair

        assert score is not None
        return alpha_fair(instance, notion, score, solver, gap, polish)
    if isinstance(notion, Tradeoff):
        from fairopt.trading import tradeoff

        return tradeoff(instance, notion, solver, gap, polish)
    reduced = getattr(notion, "reduces_to", lambda _: None)(instance)
    if reduced is not None:
        same, simple = reduced
        other = _answer(same, simple, _score(same, simple), solver, gap, polish)
        # the prices are of the other problem's resources
        return _closed(instance, notion, other.tasks, other.steps, polish)
    if isinstance(notion, MaxMin):
        assert score is not None
        return _levels(instance, notion, score, solver, progress)
    path = getattr(notion, "procedure_path", None)
    if path is None:
        raise UsageError(f"notion {notion.name}: no way to solve it is known")
    if solver != "auto":
        raise UsageError(f"solver: found {solver!r}; {notion.name} is a procedure, wanted auto")
    module, function = path.split(":")
    answer = getattr(importlib.import_module(module), function)(instance, notion)
    # totals 1e12 times what a small server runs leave it rounding of their size
    tasks = fitted(instance, answer.tasks, within=1e-10)
    return Allocation(
        instance, notion, tasks, answer.prices, answer.limit_prices,
        level_prices=getattr(answer, "level_prices", None), steps=answer.steps,
    )  # fmt: skip


def _closed(
    instance: Instance, notion: Any, tasks: Floats, steps: tuple[dict[str, Any], ...], polish: bool
) -> Allocation:
    """The answer of an equal problem, brought to rounding where the notion knows how."""
    path = getattr(notion, "closing_path", None)
    if polish and path is not None:
        module, function = path.split(":")
        tasks, step = getattr(importlib.import_module(module), function)(instance, tasks)
        steps = (*steps, step)
    return Allocation(instance, notion, tasks, steps=steps)


def _levels(
    instance: Instance,
    notion: MaxMin,
    score: Floats,
    solver: str,
    progress: Callable[[int, int], None] | None,
) -> Allocation:
    from fairopt.lexicographic import max_min

    if solver not in ("auto", "interior", "highs"):
        raise UsageError(f"solver: found {solver!r}; notion max-min wants auto, interior or highs")
    # levels of the interior method, settled with more care, and programs, until the judge agrees
    ways = ("auto", "careful", "programs") if solver == "auto" else (solver,)
    tried: list[dict[str, Any]] = []
    best: Allocation | None = None
    error = np.inf
    for way in ways:
        try:
            found = max_min(instance, notion, score, way, progress)
        except SolverFailure as fault:
            if solver != "auto":
                raise
            tried.append({"step": way, "failed": str(fault)})
            continue
        alloc = Allocation(
            instance, notion, found.tasks, level_prices=found.level_prices, score=score,
            steps=(*tried, *found.steps),
        )  # fmt: skip
        certificate = judged(alloc)
        worst = max(certificate.gap, certificate.residual)
        if best is None or worst < error:
            best, error = alloc, worst
        if error <= SHARP:
            break
        tried.append({"step": way, "gap": certificate.gap, "residual": certificate.residual})
    if best is None:
        raise SolverFailure("; ".join(str(step["failed"]) for step in tried))
    return best


def _listed(names: tuple[str, ...], most: int = 8) -> str:
    if not names:
        return "nobody"
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
