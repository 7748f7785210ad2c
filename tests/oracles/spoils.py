"""Every way of spoiling a right answer of nested max-min that its judge is meant to catch."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import fairopt as fo
from fairopt.formulas.entitled import entitled


def told(answer: fo.Allocation) -> list[dict]:
    """The rounds as plain data."""
    return [{**each, "prices": dict(each["prices"])} for each in answer.rounds]


def ways(answer: fo.Allocation, rng: np.random.Generator) -> Iterator[tuple[str, fo.Allocation]]:
    """Spoiled answers by name. What would not change the answer is left out."""
    rounds = told(answer)
    holders = np.flatnonzero(answer.totals > 0)
    if not len(holders):
        return
    n = int(rng.choice(holders))

    def less(user, part):
        tasks = answer.tasks.copy()
        tasks[user] *= 1 - part
        return tasks

    def at(k, **changes):
        return [*rounds[:k], {**rounds[k], **changes}, *rounds[k + 1 :]]

    yield "a user robbed of 2e-6", answer.with_(tasks=less(n, 2e-6))
    yield "everybody robbed of 1e-5", answer.with_(tasks=answer.tasks * (1 - 1e-5))
    yield "1e-8 too much of everything", answer.with_(tasks=answer.tasks * (1 + 1e-8))
    tree = answer.instance.tree
    groups = [g for g in range(1, len(tree.nodes)) if g not in tree.leaf]
    for g in groups[:1]:
        below = np.intersect1d(tree.below(g), holders)
        if len(below):
            yield "a group robbed of 1e-5", answer.with_(tasks=less(below, 1e-5))
    floor = entitled(answer.instance, answer.score, answer.kind).floor
    for user in np.flatnonzero((floor > 0) & (answer.shares <= floor * (1 + 1e-9)))[:1]:
        yield "a floor missed by 1e-6", answer.with_(tasks=less(user, 1e-6))
    for scale in (1.0, 1e-310, 1e300):
        forged = [_priced(each, lambda v, s=scale: rng.random(v.shape) * s) for each in rounds]
        yield (
            f"robbed of 1 %, prices forged times {scale:g}",
            answer.with_(tasks=less(n, 0.01), rounds=forged),
        )
    if tree.quotas:
        forged = [
            _priced(each, lambda v: v + 10 * rng.random(v.shape), "node_prices") for each in rounds
        ]
        yield "robbed of 1 %, node prices forged", answer.with_(tasks=less(n, 0.01), rounds=forged)
    k = int(rng.choice([k for k, each in enumerate(rounds) if each["users"]]))
    yield "a round dropped", answer.with_(rounds=rounds[:k] + rounds[k + 1 :])
    yield "somebody left out of a round", answer.with_(rounds=at(k, users=rounds[k]["users"][1:]))
    t = rounds[k]["t"]
    if t:
        yield "t too high by 1e-5", answer.with_(rounds=at(k, t=t * (1 + 1e-5)))
    if k and t != rounds[k - 1]["t"]:
        swapped = [*rounds[: k - 1], rounds[k], rounds[k - 1], *rounds[k + 1 :]]
        yield "two rounds swapped", answer.with_(rounds=swapped)
        if rounds[k - 1]["users"]:
            both = (*rounds[k - 1]["users"], *rounds[k]["users"])
            merged = [*rounds[: k - 1], {**rounds[k], "users": both}, *rounds[k + 1 :]]
            yield "two rounds merged", answer.with_(rounds=merged)


def _priced(each, change, only=None):
    prices = {
        name: change(value) if only in (None, name) else value
        for name, value in each["prices"].items()
    }
    return {**each, "prices": prices}
