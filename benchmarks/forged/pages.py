"""The page of the forged answers, from its rows."""

from __future__ import annotations

from collections import Counter
from typing import Any

HEAD = """\
# Forged answers

Certified is a theorem: whatever the tasks and prices of an answer are, and whoever made them,
every user's share is within a millionth of every optimum's. {questions:,} questions whose optimum
is proved apart to 15 digits, each asked of the solver and of the judge: our own answer, the truth
handed over, and {forged:,} answers that are wrong on purpose. Made by

```sh
{commands}
```

- *parallel*: rows of demand that are parallel but for 1e-1.5 to 1e-7. *just full*: a row that is
  full at the optimum, up to 1e-8, and has no price. *light*: users of 1e-5 to 1e-13 of the money.
  *steep*: alpha .1 and 10 to 100 over all kinds of the [trust](trust.md) campaign. *rules*: groups,
  ceilings, lending, guarantees. *one price*, *decades*: 480 users of one price for all servers, and
  600 that are read in passes, of weights over up to nine decades, or one as heavy as a million.
- asked whole; beside a ceiling of 99 times all that there is, a group that weighs what its members
  do, or a quota that may be lent at will, which bind nobody; in partitions; as a trade-off without
  penalties.
- forged: one user or a pair moved by 2e-6 to 86 %, prices tilted along the rows and tasks as they
  ask, the lightest user moved; each at the right prices, the forged ones, and those that fit the
  forged tasks best.
- *certified and wrong*: off by more than 1.01e-6 and certified. *proved wrong*: refuted.

"""


COMMAND = "OPENBLAS_NUM_THREADS=1 python -m benchmarks.forged"


def page(rows: list[dict[str, Any]], options: tuple[str, ...] = ("",)) -> str:
    """Markdown: own answers, truths and forged answers by source and by how they were asked.

    Parameters
    ----------
    options : of the runs that made the rows.
    """
    some = [row for row in rows if row["asked"]]
    total = Counter(_verdicts(some))
    count = sum(total[v] for v in ("certified", "refuted", "unproved"))
    commands = "\n".join(f"{COMMAND} {given}".rstrip() for given in options)
    lines = [HEAD.format(questions=len(some), forged=count, commands=commands)]
    for title, name in (("By source", "source"), ("By how it is asked", "how")):
        lines.append(f"## {title}\n\n")
        lines.append(
            f"| {name} | questions | own certified | own certified and wrong | truths certified "
            "| truths refuted | forged | certified and wrong | proved wrong | unproved | ms |\n"
        )
        lines.append("|---|" + "---:|" * 10 + "\n")
        for value in dict.fromkeys(row[name] for row in some):
            lines.append(_line(value, [row for row in some if row[name] == value]))
        lines.append(_line("**all**", some) + "\n")
    lines.append("## Certified and wrong, or refuted and right\n\n")
    bad = [(row, word, off) for row in some for word, off in row["wrong"]]
    lines += (
        ["None.\n"]
        if not bad
        else [
            f"- {word}: {off:.2g} (`--source '{row['source']}' --how '{row['how']}' --seed "
            f"{row['seed']}`)\n"
            for row, word, off in bad[:40]
        ]
    )
    if len(bad) > 40:
        lines.append(f"- and {len(bad) - 40} more\n")
    return "".join(lines)


def _verdicts(rows: list[dict[str, Any]]) -> Counter[str]:
    found: Counter[str] = Counter()
    for row in rows:
        found.update(row["forged"])
    return found


def _line(name: str, rows: list[dict[str, Any]]) -> str:
    forged = _verdicts(rows)
    count = sum(forged[v] for v in ("certified", "refuted", "unproved"))
    own = Counter(row["own"][0] for row in rows)
    own_wrong = sum(any(word == "own answer" for word, _ in row["wrong"]) for row in rows)
    truth = Counter(row["truth"][0] for row in rows)
    cells = (
        f"{len(rows):,}",
        _part(own["certified"], len(rows)),
        str(own_wrong),
        _part(truth["certified"], len(rows)),
        str(truth["refuted"]),
        f"{count:,}",
        str(forged["certified"]),
        _part(forged["refuted"], count),
        _part(forged["unproved"], count),
        f"{sorted(row['milliseconds'] for row in rows)[len(rows) // 2]:.1f}",
    )
    return f"| {name} | {' | '.join(cells)} |\n"


def _part(count: int, of: int) -> str:
    return f"{count:,} ({100 * count / of:.1f} %)" if of else "0"
