"""A row of the table that trials fill: what they say about one statement."""

from __future__ import annotations

from dataclasses import dataclass, field

from fairopt.files import Model
from fairopt.propositions.trials import label


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
