"""The work of a worker: a trial, a chunk of trials, and the shrinking of a counterexample.

Every trial is drawn from (statement, broken hypothesis, seed, number of the trial), so results do
not depend on chunks and workers. They are returned as plain data.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fairopt.allocation.check import Check
from fairopt.errors import FairoptError
from fairopt.files import Model
from fairopt.files.own_rules import read_rules
from fairopt.instance import Instance
from fairopt.instance.reading import Faults
from fairopt.instance.rules.records import rule_tables
from fairopt.propositions.statement import Statement, Undecided
from fairopt.propositions.table import find

ATTEMPTS = 200
"""most instances drawn for a trial until one meets the hypotheses"""
BUDGET = 300
"""most checks for shrinking one counterexample"""


@dataclass(frozen=True)
class Trial:
    """The outcome of one trial; if it was not decided, `check` is None and `reason` says why."""

    instance: Instance | None
    seed: int
    check: Check | None
    reason: str = ""

    @property
    def violated(self) -> bool:
        """Whether the check was decided and failed."""
        return self.check is not None and not self.check.holds


def label(name: str, without: str) -> str:
    """The label of a row of the table."""
    return f"{name} without {without}" if without else name


def trial(statement: Statement, without: str, seed: int, number: int) -> Trial:
    """Trial `number` of a statement, or of a statement without one of its hypotheses.

    Raises
    ------
    RuntimeError : the check raised an unexpected error; the message names the trial.
    """
    word = hashlib.sha256(label(statement.name, without).encode()).digest()[:8]
    entropy = [int.from_bytes(word, "little"), seed, number]
    state = np.random.SeedSequence(entropy).generate_state(2)
    rng, own = np.random.default_rng(int(state[0])), int(state[1])
    draw = statement.generator(without)
    try:
        for _ in range(ATTEMPTS):
            instance = draw(rng)
            if statement.meets(instance, without):
                return judged(statement, instance, own)
    except Exception as error:
        where = f"{label(statement.name, without)}, trial {number} of seed {seed}"
        raise RuntimeError(f"{where}: {type(error).__name__}: {error}") from error
    return Trial(None, own, None, "no instance met the hypotheses")


def judged(statement: Statement, instance: Instance, seed: int) -> Trial:
    """Apply the statement's check to an instance; with a solver error or NaN it is undecided."""
    try:
        check = statement.check(instance, seed)
    except Undecided as error:
        return Trial(instance, seed, None, str(error))
    except FairoptError as error:
        return Trial(instance, seed, None, type(error).__name__)
    if math.isnan(check.margin):
        return Trial(instance, seed, None, "a check that is not a number")
    return Trial(instance, seed, check)


def chunk(
    statement: Statement | str, without: str, seed: int, start: int, stop: int
) -> dict[str, Any]:
    """Run trials start..stop-1 and count their outcomes.

    Returns
    -------
    dict : held, violated, undecided {reason: count}, worst [margin, trial, witness] or None,
        smallest [size, trial] of the counterexamples or None.
    """
    found = resolved(statement)
    held, violated = 0, 0
    undecided: dict[str, int] = {}
    worst: list[Any] | None = None
    smallest: list[int] | None = None
    for number in range(start, stop):
        one = trial(found, without, seed, number)
        if one.check is None or one.instance is None:
            undecided[one.reason] = undecided.get(one.reason, 0) + 1
            continue
        margin = one.check.margin
        if worst is None or margin < worst[0]:
            worst = [margin, number, one.check.witness]
        if one.violated:
            violated += 1
            size = math.prod(one.instance.shape)
            smallest = min(smallest or [size, number], [size, number])
        else:
            held += 1
    return {
        "held": held,
        "violated": violated,
        "undecided": undecided,
        "worst": worst,
        "smallest": smallest,
    }


def shrunk(
    statement: Statement | str, without: str, seed: int, number: int, budget: int = BUDGET
) -> dict[str, Any]:
    """The counterexample of trial `number`, shrunk while it stays a counterexample.

    Returns
    -------
    dict : instance (its fields as lists), seed of the check, trial, margin, tolerance, witness.
    """
    from fairopt.instance.shrink import shrink

    found = resolved(statement)
    first = trial(found, without, seed, number)
    assert first.instance is not None and first.violated

    def still_bad(instance: Instance) -> bool:
        return found.meets(instance, without) and judged(found, instance, first.seed).violated

    instance = shrink(first.instance, still_bad, budget)
    last = judged(found, instance, first.seed)
    check = last.check
    if check is None or check.holds:  # the shrunk instance is none: keep the original
        instance, check = first.instance, first.check
    assert check is not None
    return {
        "instance": plain(instance),
        "seed": first.seed,
        "trial": number,
        "margin": check.margin,
        "tolerance": check.tolerance,
        "witness": check.witness,
    }


def plain(instance: Instance) -> dict[str, Any]:
    """The fields of an instance as lists, and own rules as tables; `built` is the way back."""
    fields = {name: getattr(instance, name) for name in instance.__dataclass_fields__}
    fields["rules"] = rule_tables(instance.rules) or None
    return {
        name: value.tolist()
        if isinstance(value, np.ndarray)
        else value
        if isinstance(value, dict)
        else list(value)
        for name, value in fields.items()
        if value is not None  # no quotas, no modes
    }


def built(told: Mapping[str, Any]) -> Instance:
    """The instance of which these are the fields (`plain`)."""
    faults = Faults("instance")
    rules = read_rules(told.get("rules", {}), faults)
    faults.stop()
    return Instance(**{**told, "rules": rules})


def resolved(statement: Statement | str) -> Statement:
    """The statement itself, or that of the table by its name, which is what workers are sent."""
    if isinstance(statement, Statement):
        return statement
    return find(statement)


# A row of the table that trials fill: what they say about one statement.


@dataclass(frozen=True)
class TrialRow:
    """The result of the trials of a statement, or of it without one of its hypotheses.

    Parameters
    ----------
    name, words, source, reading : of the statement.
    without : the hypothesis broken on purpose; "" if all are met.
    trials : number of trials. held, violated : how many of them.
    undecided : number of undecided trials, by reason.
    margin, witness : of the worst decided trial; margin None if no trial was decided.
    counterexample : the smallest found, shrunk, as a model to replay; None if none was found.

    Examples
    --------
    >>> from fairopt import propositions
    >>> (row, *_) = propositions.run(['kesidis2018/definition-1-printed'], trials=5)
    >>> row.label, row.trials
    ('kesidis2018/definition-1-printed', 5)
    """

    name: str
    words: str
    source: str
    reading: str
    without: str
    trials: int
    held: int
    violated: int
    undecided: dict[str, int] = field(default_factory=dict)
    margin: float | None = None
    witness: str = ""
    counterexample: Model | None = None

    @property
    def label(self) -> str:
        """The name of the statement, with the hypothesis that is broken."""
        return label(self.name, self.without)

    @property
    def refuted(self) -> bool:
        """Whether a counterexample was found although all hypotheses were met."""
        return self.violated > 0 and not self.without
