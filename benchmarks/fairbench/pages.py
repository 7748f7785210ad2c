"""The page of a run, all of it made from the records, the references and the entrants' files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.fairbench import tables
from benchmarks.fairbench.entrants import FROM_THE_README, SHIPPED
from benchmarks.fairbench.picture import draw
from benchmarks.fairbench.scoring import EXACT, FAIR, FITS
from benchmarks.fairbench.tables import Record, called

HERE = Path(__file__).resolve().parent


def write(
    folder: Path,
    records: list[Record],
    lines: dict[str, Any],
    limit: float,
    journal: list[Record],
) -> list[Path]:
    """fairbench.md and fairbench.svg in a folder; their paths.

    records : of the instances that are the page's subject. lines : references by instance.
    journal : all records; those of other instances have sections of their own.
    """
    folder.mkdir(parents=True, exist_ok=True)
    page, picture = folder / "fairbench.md", folder / "fairbench.svg"
    draw([r for r in records if r["outcome"] != "absent"], picture)
    page.write_text("\n".join(text(records, lines, limit, journal)) + "\n", encoding="utf-8")
    return [page, picture]


def text(
    records: list[Record], lines: dict[str, Any], limit: float, journal: list[Record]
) -> list[str]:
    """The lines of the page."""
    count, exact = tables.unaided(records, lines)
    missing = sorted({called(r["entrant"]) for r in records if r["outcome"] == "absent"})
    out = [
        "# fairbench: entrants beside proved answers",
        "",
        *_measured(records, lines, limit),
        "",
        *tables.table(records, limit),
        "",
        f"Where the candidate was ours, our distance is 0 by construction. On the {count} "
        f"instances whose reference fairopt had no part in, exact are: {exact}.",
        "",
        "The adapters are ours, and what a solver's own authors would write may be faster; general "
        "solvers run with their default tolerances.",
        "",
    ]
    if missing:
        out += [f"Not installed where this was measured, and not scored: {', '.join(missing)}.", ""]
    out += [
        "```{figure} fairbench.svg",
        ":alt: Performance profiles of the entrants, for alpha-fairness and for max-min",
        "",
        "Performance profiles: which part of the instances is solved or exact within so many times "
        "the seconds of a processor of the fastest that solves it. Times under a millisecond count "
        "as one.",
        "```",
        "",
        "## By family",
        "",
        "Instances solved or exact, of those asked.",
        "",
        *tables.families(records),
        "",
        "## What each got wrong",
        "",
        f"The {tables.WORST} worst of each entrant's answers not solved; *gap* is the equal part "
        "by which all shares together fall short, which hides what happens to one user.",
        "",
        *tables.wrong(records),
        "",
        "## Who proves it",
        "",
        "Prices that come with an alpha-fair answer prove how far every user is at most from its "
        "optimum, whoever solved (`benchmarks/fairbench/proof.py`). A reader who has no reference "
        "has only this.",
        "",
        *tables.proved(records),
        "",
        *_others(records, lines, limit, journal),
        *_adapter(),
        "",
        _about(journal),
    ]
    return out


def _measured(records: list[Record], lines: dict[str, Any], limit: float) -> list[str]:
    """What was asked, how it was timed, what the references are, and what the words mean."""
    names = list({r["name"]: None for r in records})
    levels = sum(name.endswith("max-min") for name in names)
    proofs = [lines[name]["proof"] for name in names]
    ours = sum(lines[name]["candidate"] == "ours" for name in names)
    whole = " --all" if len(names) == len(lines) else ""
    days = sorted({r["day"] for r in records if r["outcome"] != "absent"})
    return [
        f"{len(tables.by_entrant(records))} entrants, each a file of at most forty lines with "
        "`solve(problem) -> tasks[, prices]`; `benchmarks/fairbench/README.md` says how to enter. "
        "All of this page is written by",
        "",
        f"    python -m benchmarks.fairbench{whole} --write docs/results \\",
        "        --journal benchmarks/fairbench/runs.jsonl",
        "",
        "which runs what the journal does not have. Without `--journal` everything is run anew; "
        "entrants whose libraries are in another environment are run there with `--python`.",
        "",
        f"{len(names)} of {len(lines)} instances ({len(names) - levels} alpha-fair, {levels} "
        f"max-min), {limit:g} s a run, each in a process of its own with one thread, one timed at "
        f"a time; imports and a toy are not timed. {_busy(records, limit)} Measured "
        + (f"on {days[0]}." if len(days) == 1 else f"from {days[0]} to {days[-1]}."),
        "",
        f"Of the {len(names)} reference answers, {proofs.count('fractions')} are exact fractions, "
        f"{proofs.count('digits')} optima of a path in 160 decimals that ends in a proof, "
        f"{proofs.count('duality')} proved by weak duality and {proofs.count('linear programs')} "
        f"by a linear program a user (HiGHS). For the last two kinds ({ours}) the candidate was an "
        "answer of fairopt; the proof, which believes nothing of it, is what is kept: every "
        "optimum is within what it says. This favours fairopt in one way: an instance whose "
        "candidate could not be proved to 1e-5 is not in the set.",
        "",
        f"- *exact*: fits to {FITS:g}, and the worst user's share is within {EXACT:g} (and what "
        "the reference is proved to) of the reference.",
        f"- *solved*: the same within {FAIR:g}. *far*: it fits, and somebody is further off.",
        f"- *overrun*: a row is overrun by more than {FITS:g}. *failed*: an error or no answer. "
        f"*late*: none in {limit:g} s. *cannot*: the entrant says that it cannot state the notion.",
        f"- *mean s*: shifted geometric mean (shift {tables.SHIFT:g} s) over all instances asked; "
        f"what is not exact or solved counts as {limit:g} s. Next to it the same of the seconds of "
        "a processor, by which the rows are ordered (of DeDe, whose work is done by processes that "
        "it starts, only its own), and of the clock without those that the entrant cannot state.",
        "- *distance*: the worst user's relative distance from the reference, after the answer "
        "is cut to fit.",
        "- *MB*: what the solve adds to the process's peak memory.",
    ]


def _busy(records: list[Record], limit: float) -> str:
    """How much of a processor timed processes had, which says whether the machine was shared."""
    # chosen by the processor: by the clock, runs that had to wait would be chosen
    timed = [r for r in records if r.get("processor", 0) > 0.1]
    if not timed:
        return ""
    part = float(np.median([r["processor"] / r["seconds"] for r in timed]))
    said = f"A timed process had {100 * part:.0f} % of a processor (median of runs), so that "
    if part > 0.9:
        return said + "little else ran on the machine."
    return said + (
        f"**the machine was shared**: times of the clock are about {1 / part:.1f} times those of a "
        f"machine of its own, and {limit:g} s were often no more than {limit * part:.1f} s of a "
        "processor: *late* says little here. The order of the table and the profiles are of "
        "seconds of a processor and hardly depend on it; distances do not."
    )


def _others(
    records: list[Record], lines: dict[str, Any], limit: float, journal: list[Record]
) -> list[str]:
    """Entrants that were asked every instance, and what the others were asked beside the page's."""
    journal = [r for r in journal if r["outcome"] != "absent"]
    subject = {r["name"] for r in records}
    if len(subject) == len(lines):
        return []
    asked = tables.by_entrant(journal)
    done = [r for own in asked.values() if len(own) == len(lines) for r in own]
    out = []
    if done:
        count, exact = tables.unaided(done, lines)
        out += [
            "## All instances",
            "",
            f"The entrants that were asked all {len(lines)} (`--all`).",
            "",
            *tables.table(done, limit),
            "",
            f"On the {count} whose reference fairopt had no part in, exact are: {exact}.",
            "",
            *tables.families(done),
            "",
        ]
    finished = {r["entrant"] for r in done}
    more = [r for r in journal if r["entrant"] not in finished and r["name"] not in subject]
    if more:
        out += [
            "## Further instances",
            "",
            "Asked of entrants that were not asked all, beside the table at the top.",
            "",
            *tables.table(more, limit),
            "",
            *tables.families(more),
            "",
        ]
    return out


def _adapter() -> list[str]:
    """The entrant that was written from the README, and how long that took."""
    name, words = FROM_THE_README
    code = (HERE / "entrants" / f"{name}.py").read_text(encoding="utf-8").rstrip()
    return [
        f"## An adapter, in {len(code.splitlines())} lines",
        "",
        f"{SHIPPED[name]}, the whole file. {words}",
        "",
        "```{code-block} python",
        code,
        "```",
    ]


def _about(journal: list[Record]) -> str:
    """Versions of the libraries of the runs; where they differ, each of them."""
    seen: dict[str, set[str]] = {}
    for record in journal:
        for library, version in record.get("uses", {}).items():
            seen.setdefault(library, set()).add(version)
    said = (f"{library} {' and '.join(sorted(found))}" for library, found in sorted(seen.items()))
    return f"Libraries of these runs: {', '.join(said)}."
