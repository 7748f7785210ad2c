"""The papers' statements as executable checks: PROPOSITIONS is the one table of names.

To add a statement: a function () -> Statement in a module here, and a line in the table.
"""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Iterable
from typing import TYPE_CHECKING

from fairopt.errors import UsageError

if TYPE_CHECKING:
    from fairopt.propositions.counterexamples import made_folder as made_folder
    from fairopt.propositions.counterexamples import replay as replay
    from fairopt.propositions.counterexamples import save as save
    from fairopt.propositions.running import Row as Row
    from fairopt.propositions.running import run as run
    from fairopt.propositions.statement import Hypothesis as Hypothesis
    from fairopt.propositions.statement import Statement as Statement
    from fairopt.propositions.statement import Undecided as Undecided
    from fairopt.propositions.statement import certified as certified

# name -> "module:function", the function giving the Statement of that name
PROPOSITIONS: dict[str, str] = {
    "kesidis2018/definition-1-printed": "kesidis2018_definition:definition_1_printed",
    "kesidis2018/definition-1": "kesidis2018_definition:definition_1",
    "kesidis2018/definition-1-necessary": "kesidis2018_definition:definition_1_necessary",
    "kesidis2018/proposition-1-fills": "kesidis2018:proposition_1_fills",
    "kesidis2018/proposition-1-unique": "kesidis2018:proposition_1_unique",
    "kesidis2018/proposition-2": "kesidis2018:proposition_2",
    "kesidis2018/proposition-2-unique": "kesidis2018:proposition_2_unique",
    "kesidis2018/corollary-1": "kesidis2018:corollary_1",
    "kesidis2018/corollary-1-constant": "kesidis2018:corollary_1_constant",
    "khamse2016/theorem-1": "khamse2016:theorem_1",
    "khamse2016/theorem-2": "khamse2016:theorem_2",
    "khamse2016/corollary-1": "khamse2016:corollary_1",
    "khamse2016/theorem-3-single-resource-fair-rdm": "khamse2016_properties:single_resource_rdm",
    "khamse2016/theorem-3-single-resource-fair-tdm": "khamse2016_properties:single_resource_tdm",
    "khamse2016/theorem-3-bottleneck-fair-rdm": "khamse2016_properties:bottleneck_rdm",
    "khamse2016/theorem-3-bottleneck-fair-tdm": "khamse2016_properties:bottleneck_tdm",
    "khamse2016/theorem-3-envy-free-rdm": "khamse2016_properties:envy_free_rdm",
    "khamse2016/theorem-3-envy-free-tdm": "khamse2016_properties:envy_free_tdm",
    "khamse2016/theorem-3-sharing-incentive-rdm": "khamse2016_properties:sharing_rdm",
    "khamse2016/theorem-3-sharing-incentive-tdm": "khamse2016_properties:sharing_tdm",
    "khamse2016/theorem-3-pareto-optimal-tdm": "khamse2016_properties:pareto_tdm",
    "khamse2016/theorem-3-strategy-proof-tdm": "khamse2016_lies:strategy_proof_tdm",
    "khamse2016/table-1-pareto-optimal-rdm": "khamse2016_properties:pareto_rdm",
    "khamse2016/table-1-strategy-proof-rdm": "khamse2016_lies:strategy_proof_rdm",
    "khamse2016/table-1-sharing-incentive-tsf": "khamse2016_properties:sharing_tsf",
    "khamse2016/unique-rdm": "khamse2016_properties:unique_rdm",
    "khamse2016/lemma-1-printed": "khamse2016_lies:lemma_1_printed",
    "khamse2016/lemma-1": "khamse2016_lies:lemma_1",
    "khamse2016/11": "khamse2016:eleven",
    "khamse2016/46": "khamse2016_lies:forty_six",
    "kesidis2016/claim-1": "kesidis2016:claim_1",
    "kesidis2016/claim-2": "kesidis2016:claim_2",
    "kesidis2016/claim-2-sufficient": "kesidis2016:claim_2_sufficient",
    "kesidis2016/claim-2-subsets": "kesidis2016:claim_2_subsets",
    "kesidis2016/claim-3-printed": "kesidis2016_drf:claim_3_printed",
    "kesidis2016/claim-3": "kesidis2016_drf:claim_3",
    "kesidis2016/claim-4-fills": "kesidis2016:claim_4_fills",
    "kesidis2016/claim-4-max-min": "kesidis2016:claim_4_max_min",
    "kesidis2016/claim-5": "kesidis2016:claim_5",
    "kesidis2016/corollary-1-printed": "kesidis2016_drf:corollary_1_printed",
    "kesidis2016/corollary-1": "kesidis2016_drf:corollary_1",
    "kesidis2016/corollary-2-fills": "kesidis2016:corollary_2_fills",
    "kesidis2016/corollary-2-max-min": "kesidis2016:corollary_2_max_min",
    "kesidis2016/corollary-3": "kesidis2016:corollary_3",
    "bonald2015/proposition-1": "bonald2015:proposition_1",
    "bonald2015/proposition-2-printed": "bonald2015_lies:proposition_2_printed",
    "bonald2015/proposition-2": "bonald2015_lies:proposition_2",
    "bonald2015/proposition-2-best-lie": "bonald2015_lies:proposition_2_best_lie",
    "bonald2015/proposition-2-bound": "bonald2015_lies:proposition_2_bound",
    "bonald2015/proposition-3": "bonald2015:proposition_3",
    "bonald2015/proposition-4": "bonald2015:proposition_4",
    "bonald2015/proposition-5": "bonald2015:proposition_5",
    "bonald2015/example-2.4": "bonald2015_examples:example_lie",
    "bonald2015/example-2.5": "bonald2015:example_family",
    "bonald2015/figure-3": "bonald2015_examples:figure_3",
    "bonald2015/pareto-drf": "bonald2015_properties:pareto_drf",
    "bonald2015/pareto-proportional": "bonald2015_properties:pareto_proportional",
    "bonald2015/pareto-bmf": "bonald2015_properties:pareto_bmf",
    "bonald2015/envy-drf": "bonald2015_properties:envy_drf",
    "bonald2015/envy-bmf": "bonald2015_properties:envy_bmf",
    "bonald2015/sharing-drf": "bonald2015_properties:sharing_drf",
    "bonald2015/sharing-proportional": "bonald2015_properties:sharing_proportional",
    "bonald2015/sharing-bmf": "bonald2015_properties:sharing_bmf",
    "bonald2015/single-resource-drf": "bonald2015_properties:single_resource_drf",
    "bonald2015/single-resource-proportional": "bonald2015_properties:single_resource_proportional",
    "bonald2015/single-resource-bmf": "bonald2015_properties:single_resource_bmf",
    "bonald2015/single-bottleneck-drf": "bonald2015_properties:bottleneck_drf",
    "bonald2015/single-bottleneck-proportional": "bonald2015_properties:bottleneck_proportional",
    "bonald2015/single-bottleneck-bmf": "bonald2015_properties:bottleneck_bmf",
    "bonald2015/strategy-drf": "bonald2015_properties:strategy_drf",
    "bonald2015/strategy-proportional": "bonald2015_properties:strategy_proportional",
    "bonald2015/strategy-bmf": "bonald2015_properties:strategy_bmf",
    "bonald2015/scale-drf": "bonald2015_properties:scale_drf",
    "bonald2015/scale-proportional": "bonald2015_properties:scale_proportional",
    "bonald2015/scale-bmf": "bonald2015_properties:scale_bmf",
    "bonald2015/stability-drf": "bonald2015_stability:stability_drf",
    "bonald2015/stability-proportional": "bonald2015_stability:stability_proportional",
    "bonald2015/stability-bmf": "bonald2015_stability:stability_bmf",
    "bonald2015/drift-drf": "bonald2015_stability:drift_drf",
    "bonald2015/drift-proportional": "bonald2015_stability:drift_proportional",
    "ours/tdm-is-proportional": "ours:tdm_is_proportional",
    "ours/merging-users": "ours:merging_users",
    "ours/merging-servers": "ours:merging_servers",
    "ours/universal-bound": "ours_prices:universal",
    "ours/alpha-fair-bound": "ours_prices:closed_form",
    "ours/share-intervals": "ours_prices:intervals",
    "ours/max-min-rooms": "ours_prices:rooms",
    "ours/tradeoff-bound": "ours_tradeoff:bound",
}

_PUBLIC = {
    "Statement": "statement",
    "Hypothesis": "statement",
    "Undecided": "statement",
    "certified": "statement",
    "run": "running",
    "Row": "running",
    "replay": "counterexamples",
    "save": "counterexamples",
    "made_folder": "counterexamples",
}

__all__ = ["PROPOSITIONS", "find", "selected", *_PUBLIC]


def find(name: str) -> Statement:
    """The statement of that name.

    Raises
    ------
    UsageError : no statement has that name; the nearest are named.
    """
    if name not in PROPOSITIONS:
        raise UsageError(f"proposition: found {name!r}; {_nearest(name)}")
    module, function = PROPOSITIONS[name].split(":")
    made = getattr(importlib.import_module(f"fairopt.propositions.{module}"), function)()
    assert made.name == name, f"{function} makes {made.name}"
    statement: Statement = made
    return statement


def selected(names: Iterable[str] | None = None) -> tuple[str, ...]:
    """Names of the table in its order: all, those given, or all of a work ("kesidis2018").

    Raises
    ------
    UsageError : a name is unknown.
    """
    if names is None:
        return tuple(PROPOSITIONS)
    wanted: set[str] = set()
    for name in names:
        of = {known for known in PROPOSITIONS if known == name or known.startswith(f"{name}/")}
        if not of:
            raise UsageError(f"proposition: found {name!r}; {_nearest(name)}")
        wanted |= of
    return tuple(name for name in PROPOSITIONS if name in wanted)


def _nearest(name: str) -> str:
    works = list(dict.fromkeys(known.partition("/")[0] for known in PROPOSITIONS))
    close = difflib.get_close_matches(name, [*PROPOSITIONS, *works], 3, 0.4)
    close += [known for known in PROPOSITIONS if name and name in known and known not in close]
    if close:
        return f"wanted a known one (nearest: {', '.join(close[:3])})"
    return f"wanted a name that `fairopt propositions --list` shows, or a work: {', '.join(works)}"


if not TYPE_CHECKING:  # a checker that sees this function takes every misspelt name for Any

    def __getattr__(name: str) -> object:
        if name in _PUBLIC:
            return getattr(importlib.import_module(f"fairopt.propositions.{_PUBLIC[name]}"), name)
        raise AttributeError(f"module 'fairopt.propositions' has no attribute {name!r}")
