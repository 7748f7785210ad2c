"""Which properties max-min keeps under trees, guarantees, ceilings, lending and priorities.

A "no" names a shipped model that shows it (`NO`, replayed by tests/mechanisms/test_quotas.py). A
"yes" is what a search on random pools did not refute: whole numbers, up to five users of up to
three resources, divided by the oracle of the tests, lending by `fairopt.solve`. Run as

    OPENBLAS_NUM_THREADS=1 python benchmarks/mechanisms_quotas.py

it writes docs/results/mechanisms-quotas.md; with a number, only that many instances of each kind,
and nothing is written.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from tests.oracles.ruled import KINDS, TRIED, searched  # noqa: E402

PAGE = ROOT / "docs" / "results" / "mechanisms-quotas.md"
COUNT = 200
"""instances of each kind; a tenth of them for lending, which is solved in full"""
PROPERTIES = {
    "POR": "Pareto optimal within the rules: nobody can have more while the rules and all others' "
    "tasks are kept",
    "PO": "Pareto optimal among all divisions of the pool",
    "SI": "sharing incentive: a user has at least its part of its group's part of the pool",
    "GP": "a group's dominant share is at least the group's part, unless all its members are at "
    "their limits",
    "EF": "no envy between siblings of one class",
    "SP": "strategy-proof: no user runs more by claiming another demand",
    "RM": "resource-monotone: more capacity makes nobody lose",
    "PM": "population-monotone: nobody loses when a user leaves",
}
PLAIN = {"RM": "resource-monotone-1", "PM": "quotas-population-monotone"}
"""counterexamples to max-min without any rule, which every mechanism here contains"""
NO = {
    ("tree, sum", "GP"): "quotas/h9",
    **{
        (f"guarantees, {over}", name): model
        for over in ("floor", "above", "proportion")
        for name, model in {
            "SI": "quotas/g1",
            "EF": "quotas/g1",
            "GP": "counterexamples/quotas-group-guarantee",
        }.items()
    },
    ("guarantees, floor", "SP"): "counterexamples/quotas-bundle",
    ("guarantees, above", "SP"): "counterexamples/quotas-bundle",
    ("guarantees, proportion", "SP"): "counterexamples/quotas-proportion-bundle",
    ("ceilings", "PO"): "counterexamples/quotas-ceiling",
    ("ceilings", "SI"): "counterexamples/quotas-ceiling",
    ("ceilings", "EF"): "counterexamples/quotas-ceiling",
    ("ceilings", "GP"): "quotas/c1",
    ("lending and borrowing", "PO"): "quotas/g5-no-borrow",
    **{("lending and borrowing", name): "quotas/g7" for name in ("SI", "EF", "GP")},
    ("priority classes", "SI"): "counterexamples/quotas-priority",
    ("priority classes", "GP"): "counterexamples/quotas-priority",
    **{
        (label, name): f"counterexamples/{model}"
        for label in KINDS
        for name, model in PLAIN.items()
    },
    ("tree, sum", "PM"): "quotas/h9",
    ("guarantees, proportion", "RM"): "counterexamples/quotas-proportion",
    ("guarantees, proportion", "PM"): "counterexamples/quotas-proportion",
    ("lending and borrowing", "PM"): "quotas/g5",
}
"""(mechanism, property) -> the model that refutes it"""
SHOWS = {
    "quotas/h9": "n1 needs cpu and gpu, its sibling is a group of one user of each. By `sum` the "
    "group has 1/3 of each resource, its part is 1/2; when n21 leaves, n1 falls from 2/3 to 1/2",
    "quotas/g1": "C has 3, 2 or 4/3 of 12 GPUs, its part is 4, and it envies A its 6, 7 or 8",
    "counterexamples/quotas-group-guarantee": "A in g is guaranteed 9 of 12 GPUs; h, of the same "
    "weight, has 3, 3/2 or 0, its part is 6",
    "counterexamples/quotas-bundle": "A needs cpu alone and is promised 6 GPUs. By claiming both "
    "it runs 6 tasks (floor) or 8 (above) instead of 4 (`-lied`)",
    "counterexamples/quotas-proportion-bundle": "the same lie makes A run 8 tasks instead of 0 "
    "(`-lied`)",
    "counterexamples/quotas-ceiling": "A may have 3 of 12 GPUs and B wants 4: 5 idle, A's part "
    "is 6, and with B's it would run 4",
    "quotas/c1": "the organisation's part is 8 of 12 GPUs, its ceiling 6",
    "quotas/g5-no-borrow": "research may not borrow, and 30 of 100 GPUs idle",
    "quotas/g7": "a runs 4 and b 3 of 12 GPUs, each due 6, their organisation all 12; b may not "
    "borrow more, and envies a",
    "quotas/g5": "research leaves and takes its quota of 60 with it: production falls "
    "from 80 to 40",
    "counterexamples/quotas-priority": "A is served first and takes all, B's part and its group's "
    "is half",
    "counterexamples/resource-monotone-1": "without any rule: with twice the r1 u1 runs 1/2 of a "
    "task instead of 2/3 (`-grown`)",
    "counterexamples/quotas-population-monotone": "without any rule: A needs gpu, B both, C cpu. "
    "When A leaves, B takes more cpu and C runs 8 tasks instead of 9 (`-left`)",
    "counterexamples/quotas-proportion": "the same under equal bundles (`-left`); with twice the "
    "GPUs too C runs 8 tasks instead of 9 (`-grown`)",
}
"""model -> what it shows"""
TEXT = (
    "# Properties under trees, guarantees, ceilings, lending and priorities",
    "",
    "Written by `benchmarks/mechanisms_quotas.py`; the notions without rules are in",
    "[mechanisms and properties](mechanisms.md). Max-min by the criterion `drf` on one pool, with",
    "[trees](../maths/trees.md) and [quotas](../maths/guarantees.md). **no** is proved by the",
    "counterexample of that number; yes means that the search below found none.",
    "",
)
MIDDLE = (
    "What the rows mean: guarantees are bundles of resources, ceilings and quotas bind as they",
    "are, priority classes follow one another. Every mechanism but `proportion` contains max-min",
    "without rules, so what refutes that refutes it. Without rules population",
    "monotonicity on one pool fails only where somebody needs none of a resource;",
    "[that table](mechanisms.md) says yes for max-min because its search met no such case.",
    "Over several servers the sharing incentive fails by `drf` without any rule",
    "(`counterexamples/sharing-incentive-3`).",
    "",
    "Guarantees in tasks are not in the table. They reward a lie at once: `quotas/g4` and",
    "`quotas/g4-lie`, where A holds 10 of 12 GPUs by claiming 5/2 a task instead of 6.",
    "",
    "Alpha-fairness in a tree has its weights multiplied down: `quotas/h2` gives C1 less than its",
    "part (1250/9 of 300 GPUs) though 1B and 1C want more.",
    "",
    "## Counterexamples",
    "",
)
SEARCHED = (
    f"Refuted of tried, on {COUNT} random pools of each kind ({COUNT // 10} for lending, which is",
    "solved in full): two to five users, one to three resources, whole numbers, groups of random",
    "depth and weight, limits; demands may be 0, and bundles name every resource. On each pool",
    f"{TRIED} lies of one user, {TRIED} growths of capacity, each departure of one user. Changes",
    "after which the guarantees do not fit are left out. Where a no has few or none here, bundles",
    "that leave out a resource, or a rarer case, are needed.",
)


def page(count: int) -> str:
    """The results as a page; fails where a search refutes a yes."""
    found = {label: searched(label, count) for label in KINDS}
    refuted = [
        (label, name)
        for label, cells in found.items()
        for name, (_, wrong, _) in cells.items()
        if wrong and (label, name) not in NO
    ]
    assert not refuted, refuted
    models = list(dict.fromkeys(NO.values()))
    row = [f"| {' | '.join(['mechanism', *PROPERTIES])} |", "|---" * (len(PROPERTIES) + 1) + "|"]
    lines = [*TEXT, *row]
    for label in KINDS:
        marks = [
            f"**no** {models.index(NO[label, name]) + 1}" if (label, name) in NO else "yes"
            for name in PROPERTIES
        ]
        lines.append(f"| {' | '.join([label, *marks])} |")
    lines += ["", *(f"- {name}: {words}." for name, words in PROPERTIES.items()), "", *MIDDLE]
    lines += [f"{k}. `{model}`: {SHOWS[model]}." for k, model in enumerate(models, 1)]
    lines += ["", "## What was searched", "", *SEARCHED, "", *row]
    for label, cells in found.items():
        numbers = ["{1} of {0}".format(*cells.get(name, (0, 0))) for name in PROPERTIES]
        lines.append(f"| {' | '.join([label, *numbers])} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(page(int(sys.argv[1])))
    else:
        PAGE.write_text(page(COUNT), encoding="utf-8")
