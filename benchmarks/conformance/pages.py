"""The page: what was checked, who agrees with whom, and every difference with its reason."""

from __future__ import annotations

from collections import Counter

from benchmarks.conformance import divisions
from benchmarks.conformance.checks import Row, rows
from benchmarks.conformance.divisions import RULES, Overpromised, Pool
from benchmarks.conformance.pools import pools, vectors

FOLLOWS = {
    ("KAI", "division"): "promises first, whatever there is; the rest by weight, in whole units, "
    "by priority: [max-min above promises](../maths/guarantees.md), rounded",
    ("Hadoop", "division"): "one ratio for all: max-min of amount over weight, floors and most",
    ("Armada", "division"): "weighted max-min, cut to demand",
    ("Armada", "part by weight"): "weight over all weights",
    ("Armada", "share with no end of demand"): "an estimate in rounds (below)",
    ("Armada", "share of a newcomer"): "its max-min share if it wanted without end",
    (
        "Armada",
        "fairness error",
    ): "sum of what each lacks of its share; what is above is not counted",
    ("Armada", "dominant share"): "largest part of a counted resource, times its multiplier, over "
    "the weight",
    ("Kueue", "share of a node"): "largest part of what can be lent that is borrowed, over the "
    "weight; thousandths, rounded up ([what products mean](../how-to/what-products-mean.md))",
    ("Kueue", "decayed use"): "old use halves each half-life, present use comes in",
    ("Kueue", "weighted use"): "sum over resources by weight, over the queue's weight",
    ("Kueue", "penalty at admission"): "one sampling step of the same average",
    ("Kueue", "preemption"): "who borrows most by share and weight gives way, while the newcomer's "
    "share stays at most its new one, then below its old one",
    ("Karma", "division by credits"): "two max-min programs in credits, in whole blocks",
    ("Slurm", "effective use"): "own use, and the parent's by shares (classic)",
    ("Slurm", "fair-share factor"): "2^(-use/shares)",
    ("Slurm", "fair tree"): "shares over use among siblings, depth first",
    ("HTCondor", "real priority"): "use averaged over a half-life",
    ("HTCondor", "division"): "in inverse ratio of effective priority",
    ("Shockwave", "finish-time fairness"): "time taken over time alone among as many",
}
FILES = (
    "kai_division",
    "hadoop",
    "armada",
    "kueue_share",
    "kueue_usage",
    "kueue_preemption",
    "karma",
    "slurm",
    "htcondor",
    "finish_time_fairness",
)


def page() -> tuple[str, int]:
    """The text, and how many vectors their definition does not give."""
    found = rows()
    missed = [row for row in found if not row.holds]
    divided = [pool for pool in pools() if pool.total > 0]
    out = [
        "# Conformance: what schedulers' own tests say",
        "",
        f"{len(found)} vectors (inputs and expected numbers, carried over as facts, no code) from "
        "the tests and manuals of seven products and a published simulation. Each is held to a "
        "definition written here; the divisions among them are also asked of every other product's "
        "rule and of two notions of fairopt. Made, and exit code 4 if a vector is missed, by",
        "",
        "```sh",
        "python -m benchmarks.conformance --write docs/results/conformance.md",
        "```",
        "",
        "## Which definition each follows",
        "",
        "| product | what | vectors | given by the definition | the definition |",
        "|---|---|---:|---:|---|",
    ]
    for (product, what), many in Counter((r.product, r.what) for r in found).items():
        held = sum(r.holds for r in found if (r.product, r.what) == (product, what))
        out.append(f"| {product} | {what} | {many} | {held} | {FOLLOWS[product, what]} |")
    out.append(f"| **all** | | {len(found)} | {len(found) - len(missed)} | |")
    out += [
        "",
        "## Where they agree with each other",
        "",
        f"The {len(divided)} divisions of one pool with something in it, each asked of every rule. "
        "*Equal*: the numbers that the vector's own product expects. *Rounded*: less than one unit "
        "apart, where one of the two gives whole units only. *More than there is*: what is "
        "promised does not fit, so no division keeps it.",
        "",
        "| vectors of | rule | equal | rounded | apart | more than there is |",
        "|---|---|---:|---:|---:|---:|",
    ]
    reasons: Counter[tuple[str, str, str]] = Counter()
    shown: dict[tuple[str, str, str], str] = {}
    for source in ("KAI", "Hadoop", "Armada"):
        own = [pool for pool in divided if pool.source == source]
        for rule in RULES:
            said = [compared(pool, rule) for pool in own]
            kinds = Counter("apart" if "apart" in s else s for s in said)
            cells = [kinds[k] for k in ("equal", "rounded", "apart", "more than there is")]
            out.append(f"| {source} | {rule} | " + " | ".join(map(str, cells)) + " |")
            for pool, words in zip(own, said, strict=True):
                if "apart" in words or words == "more than there is":
                    key = source, rule, why(pool, rule)
                    reasons[key] += 1
                    shown.setdefault(key, f"{pool.name}: {words}")
    out += [
        "",
        "So KAI divides as *max-min above promises* and Hadoop as *max-min over floors*: a queue "
        "with a promise of 2 and one without share 8 units 5 to 3 in the first and 4 to 4 in the "
        "second. Without promises all five rules are one.",
        "",
        "## Every difference, and why",
        "",
        "| vectors of | rule | how many | why | for example |",
        "|---|---|---:|---|---|",
    ]
    for (source, rule, reason), many in sorted(reasons.items()):
        words = shown[source, rule, reason].replace("|", "/")
        out.append(f"| {source} | {rule} | {many} | {reason} | {words} |")
    out += ["", *_armada(found), "", *_mended(), "", "## Sources", ""]
    for name in FILES:
        out.append(f"- `tests/vectors/{name}.json`: {vectors(name)['source'].split(':')[0]}.")
    out += [
        "",
        "Not among them: Kueue's tests of preemption without fair sharing, where priorities and "
        "quotas decide and shares are not asked, and what KAI computes with a memory of use (its "
        "tests have none; `kai.json` has five by its rules).",
    ]
    if missed:
        out += ["", "## Missed", ""]
        out += [f"- {r.product}, {r.what}, {r.name}: {r.words}" for r in missed]
    return "\n".join(out) + "\n", len(missed)


def compared(pool: Pool, rule: str) -> str:
    """How a rule's answer stands beside what is expected."""
    try:
        return divisions.apart(RULES[rule](pool), pool.want, pool.total)
    except Overpromised:
        return "more than there is"


def why(pool: Pool, rule: str) -> str:
    """The reason of a difference, from the vector itself."""
    queues = pool.queues.values()
    promised = sum(min(q.floor, q.most) for q in queues)
    if promised > pool.total:
        return "promises are more than there is: KAI gives them all the same"
    if any(not q.weight for q in queues) and rule in ("hadoop", "armada"):
        return "a queue of weight 0 has its promise and no more"
    if len({q.priority for q in queues}) > 1 and rule in ("hadoop", "armada"):
        return "priorities come before weights in KAI, and are unknown to this rule"
    if rule == "armada" and promised:
        return "promises are unknown to this rule"
    if promised:
        return "a promise is a floor to one and a first part to the other"
    return "not explained"


def _armada(found: list[Row]) -> list[str]:
    generous = [r for r in found if "endless" in r.words]
    out = [
        "## One number that is not what its words say",
        "",
        "Armada's *uncapped* share is documented as what a queue would have if it wanted without "
        "end. It is an estimate in rounds: what others leave in later rounds is counted, though "
        "they would leave less if the queue wanted more. Our restatement of the rounds gives all "
        f"its vectors; max-min with that queue's demand without end gives all but {len(generous)}:",
        "",
    ]
    return out + [f"- {r.name}: {r.words}, as a part of the pool." for r in generous]


def _mended() -> list[str]:
    return [
        "## What was mended here",
        "",
        "Carrying KAI's vectors over found one fault of ours: `kai_division` gave nothing of what "
        "is left when that was less than one GPU. It goes to the largest remainder now, as in KAI.",
    ]
