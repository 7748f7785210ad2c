"""The table of mechanisms as a page of the documentation."""

from __future__ import annotations

from fairopt.mechanisms import OWN_PARETO, SHORT, Cell, Mechanism
from fairopt.mechanisms.counterexamples import CHANGED, Example

_HEAD = """\
# Mechanisms and properties

Which mechanism has which property, found by search: Table I of khamse2016 (Khamse-Ashari et al.,
Per-Server Dominant-Share Fairness, arXiv 1611.00404, 2016), for every notion here. **no** is
proved: the number points to a counterexample below, a model that replays it. yes means that no
violation was found; the last table says how much was tried.

{how}

"""
_LEGEND = """
SI sharing incentive (khamse2016: a part by weight of every server), PSI its form for one pool
(bonald2015: Bonald and Roberts, Multi-resource fairness, SIGMETRICS 2015), EF envy-freeness, PO
Pareto optimality among the allocations that the mechanism can make (time division for `ps-dsf
(tdm)`), POR Pareto optimality among all divisions of the resources, BF bottleneck fairness, SRF
single-resource fairness, SBF single-bottleneck fairness (one pool), NJC no justified complaints, SP
strategy-proofness, SC scale invariance, RM resource monotonicity, PM population monotonicity; see
[properties](../maths/properties.md). C-DRFH is `max-min (drf)`, TSF `max-min (tsf)`. Rows marked
(pool) are surveyed on single servers. RDM, BMF and throughput may have several answers: a no is
about the answers of `solve`. A dash: with a score that depends on the server, shares are unique but
tasks are not, so there is no single answer to compare with another.
Max-min with trees, guarantees, ceilings, lending and priorities has a
[table of its own](mechanisms-quotas.md), which also refutes PM for `max-min (drf)` where somebody
needs none of a resource.
"""


def text(
    table: dict[str, tuple[Mechanism, dict[str, Cell]]], found: list[Example], how: str
) -> str:
    """The page, in Markdown.

    Parameters
    ----------
    table : {label: (mechanism, cells)}. found : the counterexamples.
    how : a sentence with the seed, the trials and the command.
    """
    lines = [_HEAD.format(how=how)]
    lines.append(_row(["mechanism", *SHORT.values()]))
    lines.append(_row(["---"] * (len(SHORT) + 1)))
    for label, (_, cells) in table.items():
        marks = [
            _no(label, name, found) if not cell.holds else "yes" if cell.instances else "-"
            for name, cell in cells.items()
        ]
        lines.append(_row([f"`{label}`", *marks]))
    lines += [_LEGEND, "## Counterexamples\n"]
    lines.append(
        "`fairopt solve counterexamples/NAME --case K --json | fairopt check -` shows each; where "
        "a lie or a change is needed, the second model has it, and the true numbers are given.\n"
    )
    for example in found:
        lines.append(f"### {example.name}\n")
        models = [f"`counterexamples/{example.name}`"]
        if example.change is not None:
            models.append(f"`counterexamples/{example.name}-{CHANGED[example.change.kind]}`")
        lines.append(f"{' and '.join(models)}\n")
        for k, (mechanism, _, _, words) in enumerate(example.answers, start=1):
            lines.append(f"{k}. `{mechanism.label}`: {words}")
        lines.append("")
    lines += ["## What was tried for a yes\n", "Instances (and lies or changes of them).\n"]
    lines.append(_row(["mechanism", *SHORT.values()]))
    lines.append(_row(["---"] * (len(SHORT) + 1)))
    for label, (_, cells) in table.items():
        lines.append(_row([f"`{label}`", *(_tried(cell) for cell in cells.values())]))
    skipped = sum(cell.unproved for _, cells in table.values() for cell in cells.values())
    lines.append(
        f"\nAnswers that were not certified count neither for a yes nor for a no: {skipped} in "
        "all searches together.\n"
    )
    return "\n".join(lines)


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _no(label: str, name: str, found: list[Example]) -> str:
    """The word no, with the number of the counterexample."""
    wanted = "pareto-optimal" if name == OWN_PARETO else name
    for example in found:
        if example.name.rpartition("-")[0] == wanted and any(
            mechanism.label == label for mechanism, *_ in example.answers
        ):
            return f"**no** {example.name.rpartition('-')[2]}"
    raise LookupError(f"{label}, {name}: no counterexample")


def _tried(cell: Cell) -> str:
    if not cell.holds or not cell.instances:
        return "-"
    return f"{cell.instances} ({cell.tried})" if cell.tried else str(cell.instances)
