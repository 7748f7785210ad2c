"""The answer of an instance without rules: by its family's ladder or engine, or as the notion
states it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fairopt import criteria
from fairopt.allocation import Allocation
from fairopt.errors import BadInput, Fault, UsageError
from fairopt.formulas import curves
from fairopt.formulas.parameters import words
from fairopt.instance import Floats, Instance
from fairopt.notions import Notion, on_its_own
from fairopt.notions.notion import SameAs
from fairopt.notions.way import Levels, OneProgram, Patterns, Procedure, Way
from fairopt.solving.engines.point import Answer, How, fitted
from fairopt.solving.reduce import Reduction
from fairopt.solving.reduce import reduce as reducing

SOLVERS = ("auto", "interior", "clarabel", "ecos", "scs", "highs")
Ladder = Callable[[Instance, Any, Floats, How], Allocation]
Engine = Callable[[Instance, Any], Answer]


def _alpha_fair() -> Ladder:
    from fairopt.solving.alpha_fair import alpha_fair

    return alpha_fair


def _max_min() -> Ladder:
    from fairopt.solving.levels import ladder

    return ladder


def _tradeoff() -> Ladder:
    from fairopt.solving.tradeoff import tradeoff

    return tradeoff


LADDERS = {"alpha-fair": _alpha_fair, "max-min": _max_min, "tradeoff": _tradeoff}
"""family -> what imports the ladder: it tries engines and the notion's program in turn"""


def _ps_dsf() -> Engine:
    from fairopt.solving.engines.water.ps_dsf import solve

    return solve


def _per_server() -> Engine:
    from fairopt.solving.engines.water.per_server import solve

    return solve


def _one_pool() -> Engine:
    from fairopt.solving.engines.water.one_pool import solve

    return solve


def _equal() -> Engine:
    from fairopt.solving.engines.programs.common_tasks import solve_equal

    return solve_equal


def _sum() -> Engine:
    from fairopt.solving.engines.programs.common_tasks import solve_sum

    return solve_sum


ENGINES = {
    "ps-dsf": _ps_dsf,
    "per-server-drf": _per_server,
    "bmf": _one_pool,
    "equal-m": _equal,
    "sum-m": _sum,
}
"""family -> what imports the engine that computes the answer faster than the program"""


def scores(instance: Instance, notion: Notion) -> Floats:
    """(N, I) scores of the notion's criterion."""
    return criteria.score(instance, notion.criterion)


def reduced(instance: Instance, notion: Notion, score: Floats, how: How) -> Allocation:
    """The answer of the reduced problem, split among the users and servers of the original."""
    if notion.merging is None:
        return answer(instance, notion, score, how)
    if notion.family == "alpha-fair" and not on_its_own(notion):
        from fairopt.solving.alpha_fair import at_once

        found = at_once(instance, notion, score, how)
        if found is not None:
            return found
    small = reducing(instance, notion, score)
    assert small.score is not None
    found = answer(small.instance, small.notion, small.score, how)
    return split(found, instance, notion, score, small) if small.steps else found


def split(
    found: Allocation, instance: Instance, notion: Notion, score: Floats, small: Reduction
) -> Allocation:
    """The answer of the reduced problem, split among the users and servers of the original."""
    tasks, p, mu, levels = small.expand(
        found.tasks, found.prices, found.limit_prices, found.level_prices
    )
    # prices of the original are scaled to sum phi; merged users may have another sum of weights
    money = float(instance.weight.sum() / small.instance.weight.sum())
    p, mu = (None if price is None else price * money for price in (p, mu))
    return Allocation(
        instance, notion, tasks, p, mu, levels, score, steps=small.renamed(found.steps)
    )


def answer(instance: Instance, notion: Notion, score: Floats, how: How) -> Allocation:
    """The answer by the ladder or engine of the notion's family, else by the notion's program."""
    way = notion.way(instance)
    if isinstance(way, SameAs):
        other = answer(way.instance, way.notion, scores(way.instance, way.notion), how)
        return _brought_back(instance, notion, score, way, other, how.polish)
    engines = not on_its_own(notion)
    if engines and notion.family in LADDERS:
        return LADDERS[notion.family]()(instance, notion, score, how)
    if isinstance(way, Procedure):
        _only_auto(how, notion, ("auto",))
        tasks = fitted(instance, np.asarray(way.tasks(instance), dtype=np.float64), within=1e-10)
        return Allocation(instance, notion, tasks, score=score, steps=({"step": "procedure"},))
    chosen = isinstance(way, Patterns) and way.chooses
    if engines and how.solver == "auto" and notion.family in ENGINES and not chosen:
        found = ENGINES[notion.family]()(instance, notion)
        # a small server may be overfull by the rounding of totals that are 1e12 times its own
        tasks = fitted(instance, found.tasks, within=1e-10)
        return Allocation(
            instance, notion, tasks, found.prices, found.limit_prices, steps=found.steps
        )
    return _stated(instance, notion, score, way, how)


def _stated(instance: Instance, notion: Notion, score: Floats, way: Way, how: How) -> Allocation:
    """The answer by general solvers, from the way that the notion states (`notions.way`)."""
    from fairopt.solving import stated

    able = ("highs",) if isinstance(way, Patterns) else SOLVERS[2:]
    _only_auto(how, notion, ("auto", *able))
    try:
        if isinstance(way, Levels):
            return stated.levels(instance, notion, score, way, how)
        if isinstance(way, Patterns):
            return stated.patterns(instance, notion, score, way, how)
        if isinstance(way, OneProgram):
            return stated.one_program(instance, notion, score, way, how)
    except BadInput as error:
        raise error.within(notion.name) from error
    raise BadInput([Fault(f"way of {notion.name}", words(way), "a fairopt.notions.way.Way")])


def _only_auto(how: How, notion: Notion, able: tuple[str, ...]) -> None:
    """Raise UsageError if a solver is named that is not among those able to solve the notion."""
    if how.solver not in able:
        raise UsageError(
            f"solver: found {how.solver!r}; {notion.name} is solved by {', '.join(able)}"
        )


def bent(instance: Instance, notion: Notion, score: Floats, how: How) -> Allocation:
    """The answer where demand is not linear, of notions that have one (`formulas.curves`)."""
    if notion.name == curves.DRF:
        from fairopt.solving.engines.water import curved

        _only_auto(how, notion, ("auto",))
        found = curved.solve(instance)
        return Allocation(instance, notion, found.tasks, score=score, steps=found.steps)
    rest = reduced(curves.after_setup(instance), notion, score, how)
    return Allocation(
        instance,
        notion,
        rest.tasks,
        rest.prices,
        rest.limit_prices,
        rest.level_prices,
        score,
        steps=({"step": "demand_fixed of everybody taken off the pool"}, *rest.steps),
    )


def _brought_back(
    instance: Instance, notion: Notion, score: Floats, way: SameAs, other: Allocation, polish: bool
) -> Allocation:
    """The other notion's answer as an answer of this notion; that of PS-DSF is improved.

    It has no prices: those found are prices of the other problem's resources.
    """
    tasks, told = way.back(other.tasks)
    steps = (*other.steps, *told)
    if polish and notion.family == "ps-dsf":
        from fairopt.solving.engines.water.ps_dsf import close

        tasks, step = close(instance, tasks)
        steps = (*steps, step)
    return Allocation(instance, notion, tasks, score=score, steps=steps)
