"""Known prices for another placement of the same question."""

from __future__ import annotations

from dataclasses import replace

from fairopt.whole.proof import cases, claims, fillings
from fairopt.whole.proof.answer import WholeTasks
from fairopt.whole.proof.certificate import Prices


def proofs_again(answer: WholeTasks, known: Prices) -> Prices:
    """Known prices for another placement: for each of its levels those that prove it together."""
    problem = answer.problem
    found = claims.levels(problem, answer.totals)
    priced = [(own.price, own.budget(problem)) for own in known.prices]
    choices = sorted({own for own in known.levels if own}, key=lambda own: (len(own), own))
    proofs = []
    for k in range(len(found)):
        rows, last = claims.better(problem, found, k)
        same = known.levels[k] if k < len(known.levels) else ()
        proofs.append(
            next(
                (own for own in choices if cases.impossible([priced[p] for p in own], rows, last)),
                same
                if fillings.none_better(problem, [known.prices[p] for p in same], rows, last)
                else (),
            )
        )
    return replace(known, levels=tuple(proofs))
