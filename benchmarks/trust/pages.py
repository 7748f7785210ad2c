"""The page of the campaign, from its rows."""

from __future__ import annotations

from collections import Counter
from typing import Any

from benchmarks.trust.draws import DECADES, FAMILIES, KINDS

HEAD = """\
# Trust: answers tried, wrong, refused, crashed

{tried:,} small instances (2 to 5 users, 1 to 3 servers and resources), drawn from seeds: every
family of notions, every kind of instance, weights or demands (by turns, or both over half of them)
over 0, 6 and 12 decades. Made by

```sh
OPENBLAS_NUM_THREADS=1 python -m benchmarks.trust --write docs/results/trust.md
```

- *tried*: instances asked; all of them have an answer.
- *wrong*: certified, and further from its reference than 1.01e-6 where that is a proved optimum,
  than 1e-5 elsewhere. No reference is an answer of ours. Alpha-fairness: a path of 160 decimals
  that proves every share of every optimum to 15 digits (`tests/oracles/optimum.py`). Exact
  fractions for throughput, equal-m, sum-m and all levels of max-min, with and without rules; the
  definition in plain loops for PS-DSF, DRF on every server and bottleneck max fairness; for the
  trade-off the answer with nothing merged, and for every fourth seed on at most two servers that of
  a general solver. For all: whether the answer fits, in fractions.
- *refused*: no answer that the certificate accepts; exit code 4, never passed off as right.
- *crashed*: any other error, a warning of arithmetic, or no answer in half a minute.

Kinds beside the ordinary ones: *parallel*, two rows of demand at an angle of 1e-1.5 to 1e-7; *just
full*, a row that is used up at the optimum, or up to 1e-8, and has no price; *binds nobody*, a
ceiling of 99 times all that there is, a group that weighs what its members do, or a quota that may
be lent at will. Families beside the notions: groups, ceilings, lending and guarantees (*rules*),
several ways to run a task (*modes*), priority classes beside all that (*classes*), users in
partitions, and answers from the one before a change (*start*). Forged answers have a page of their
own: [forged](forged.md).

"""

WORDS = {
    "proof": "a proved optimum",
    "another method": "no optimum was proved: the answer of another method",
    "linear program": "no optimum was proved: a linear program of what each user could have",
    "nothing": "of classes, where those before leave nothing to some: none, but that it fits",
}


def page(rows: list[dict[str, Any]]) -> str:
    """Markdown: by family and decades, by kind, and every wrong or crashed instance."""
    lines = [HEAD.format(tried=len(rows)), "## By family and decades\n\n"]
    lines.append(
        "| family | tried |"
        + "".join(f" wrong {d} | refused {d} | crashed {d} |" for d in DECADES)
        + "\n"
    )
    lines.append("|---|" + "---:|" * (1 + 3 * len(DECADES)) + "\n")
    found = Counter((r["family"], r["decades"], r["outcome"]) for r in rows)
    tried = Counter((r["family"], r["decades"]) for r in rows)
    for family in FAMILIES:
        total = sum(tried[family, d] for d in DECADES)
        if not total:
            continue
        cells = "".join(
            f" {_share(found[family, d, outcome], tried[family, d])} |"
            for d in DECADES
            for outcome in ("wrong", "refused", "crashed")
        )
        lines.append(f"| {family} | {total:,} |{cells}\n")
    cells = "".join(
        f" {_share(sum(found[f, d, o] for f in FAMILIES), sum(tried[f, d] for f in FAMILIES))} |"
        for d in DECADES
        for o in ("wrong", "refused", "crashed")
    )
    lines.append(f"| **all** | {len(rows):,} |{cells}\n")
    lines.append("\n## By kind of instance\n\n| kind | tried | wrong | refused | crashed |\n")
    lines.append("|---|---:|---:|---:|---:|\n")
    by_kind = Counter((r["kind"], r["outcome"]) for r in rows)
    for kind in KINDS:
        total = sum(n for (k, _), n in by_kind.items() if k == kind)
        if total:
            cells = " | ".join(str(by_kind[kind, o]) for o in ("wrong", "refused", "crashed"))
            lines.append(f"| {kind} | {total:,} | {cells} |\n")
    lines.append("\n## What alpha-fair answers were held against\n\n| reference | answers |\n")
    lines.append("|---|---:|\n")
    held = Counter(
        r["reference"] for r in rows if r["family"].startswith("alpha-fair") and r.get("reference")
    )
    lines += [f"| {WORDS.get(by, by)} | {count:,} |\n" for by, count in held.most_common()]
    lines.append("\n## Wrong and crashed\n\n")
    bad = [r for r in rows if r["outcome"] in ("wrong", "crashed")]
    if not bad:
        lines.append("None.\n")
    for r in bad[:40]:
        lines.append(
            f"- {r['outcome']}: {r['word']} (`--only '{r['family']}' --kind '{r['kind']}' "
            f"--decades {r['decades']} --seed {r['seed']}`)\n"
        )
    if len(bad) > 40:
        lines.append(f"- and {len(bad) - 40} more\n")
    return "".join(lines)


def _share(count: int, of: int) -> str:
    """A count, and in per cent where there are any."""
    return f"{count} ({100 * count / of:.2g} %)" if count else "0"
