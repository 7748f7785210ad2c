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
- *wrong*: certified, and more than 1e-5 (relative) from its reference. References: exact fractions
  for throughput, equal-m, sum-m and all levels of max-min; the definition in plain loops for
  PS-DSF, DRF on every server and bottleneck max fairness; for alpha-fairness and the trade-off the
  answer with nothing merged, and for every fourth seed on at most two servers that of a general
  solver. For all: whether the answer fits, in fractions.
- *refused*: no answer that the certificate accepts; exit code 4, never passed off as right.
- *crashed*: any other error, a warning of arithmetic, or no answer in half a minute.

"""

LEFT = """
## What is left, and why

- Refused, alpha-fair (25: 19 of them under limits, 22 at alpha 50 and 100, 5 at equal weights):
  users whose money is 1e-12 and less of that of others, to which a steep alpha comes by limits
  alone. Most are solved by asking the lighter users alone about what the others leave
  (`fairopt.solving.remainder`); not where the heavier ones could stand on several servers alike and
  stand where the lighter ones need them, or where limits tie the two together. Wanted were 0.3 %
  at 6 decades and 2 % at 12: alpha 50 and 100 have 0.63 % at 6, alpha 100 has 2.5 % at 12, all
  others keep it.
- Refused, max-min (2 at 12 decades): ties that the rounding of scores decides.
- Refused, trade-off (2 at 12 decades): penalties that outweigh the welfare of light users by more
  than floating point tells apart.

Found by this campaign and mended: answers at alpha >= 10 that were certified although a user at its
limit stood in the way of others, or a rich one could have had 10 % more. The earlier page had one
wrong answer in 20,790, of a user of 1e-12 of all money; since the judge proves where the optimum is
([prices](../maths/prices.md)), there is none.
"""


def page(rows: list[dict[str, Any]]) -> str:
    """Markdown: by family and decades, by kind, and every wrong or crashed instance."""
    lines = [HEAD.format(tried=len(rows)), "## By family and decades\n\n"]
    lines.append("| family | tried |" + "".join(
        f" wrong {d} | refused {d} | crashed {d} |" for d in DECADES) + "\n")  # fmt: skip
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
    lines.append(LEFT)
    return "".join(lines)


def _share(count: int, of: int) -> str:
    """A count, and in per cent where there are any."""
    return f"{count} ({100 * count / of:.2g} %)" if count else "0"
